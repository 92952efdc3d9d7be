//! Reads answers of HTTP/1.1 (RFC 9112) as their bytes come. No socket, no clock.

use httparse::{Response, Status};

use super::super::answer::LoadAnswer;
use super::sse::SseEvents;

/// The longest head of an answer.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Most headers of an answer.
const HEADERS_MAX: usize = 64;
/// The longest body that is kept for checks and captures; longer ones are read through where nothing looks at them.
pub(crate) const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What is looked at in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerWants {
    /// Whether the body is kept.
    pub(crate) body: bool,
    /// Names of headers whose values are kept.
    pub(crate) headers: Vec<String>,
    /// Whether the request was HEAD, whose answers have no body.
    pub(crate) is_head: bool,
    /// Whether an event stream is taken apart into its events.
    pub(crate) events: bool,
}

/// Why bytes are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerFault {
    /// They are not HTTP.
    NotHttp,
    /// The head, or a body that is looked at, is too long.
    TooLong,
    /// They ended too early.
    Closed,
}

/// Reads one answer after the other.
#[derive(Debug, Default)]
pub(crate) struct AnswerReader {
    state: AnswerState,
    /// Bytes that came and could not be used yet.
    left: Vec<u8>,
    /// The answer: the body as far as it came.
    pub(crate) answer: LoadAnswer,
    /// Whether the connection may be used again.
    pub(crate) is_kept: bool,
    /// The events of an event stream, where the answer is one and they are wanted.
    pub(crate) events: Option<Box<SseEvents>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AnswerState {
    #[default]
    Head,
    /// So many bytes of the body are missing.
    Length(u64),
    ChunkSize,
    /// So many bytes of the chunk are missing, and its line end.
    Chunk(u64),
    ChunkEnd,
    Trailer,
    UntilClose,
    Done,
}

impl AnswerReader {
    /// Prepares for the next answer.
    pub(crate) fn begin(&mut self) {
        self.state = AnswerState::Head;
        self.left.clear();
        self.answer.begin();
        self.events = None;
    }

    /// Whether the whole answer came.
    pub(crate) fn is_done(&self) -> bool {
        self.state == AnswerState::Done
    }

    /// Gives back memory that a large answer took.
    pub(crate) fn shrink(&mut self) {
        const KEPT_BYTES: usize = 1024;
        if self.answer.body.capacity() > KEPT_BYTES {
            self.answer.body = Vec::new();
        }
        if self.left.capacity() > KEPT_BYTES {
            self.left = Vec::new();
        }
    }

    /// Takes bytes; `true` when the answer is whole. Bytes behind it make the connection one that is not kept.
    ///
    /// # Errors
    /// Bytes that are no answer.
    pub(crate) fn feed(&mut self, bytes: &[u8], wants: &AnswerWants) -> Result<bool, AnswerFault> {
        if self.left.is_empty() {
            let used = self.read(bytes, wants)?;
            self.left.extend_from_slice(bytes.get(used..).unwrap_or_default());
        } else {
            let mut all = std::mem::take(&mut self.left);
            all.extend_from_slice(bytes);
            let used = self.read(&all, wants)?;
            all.drain(..used);
            self.left = all;
        }
        let is_done = self.state == AnswerState::Done;
        self.is_kept &= !is_done || self.left.is_empty();
        Ok(is_done)
    }

    /// The other side closed; `Ok` where that is the end of the answer.
    pub(crate) fn close(&mut self) -> Result<(), AnswerFault> {
        self.is_kept = false;
        if self.state != AnswerState::UntilClose {
            return Err(AnswerFault::Closed);
        }
        self.state = AnswerState::Done;
        Ok(())
    }

    /// Reads as much as there is; how many bytes were used.
    fn read(&mut self, bytes: &[u8], wants: &AnswerWants) -> Result<usize, AnswerFault> {
        let mut used = 0;
        loop {
            let rest = bytes.get(used..).unwrap_or_default();
            let step = match self.state {
                AnswerState::Head => self.read_head(rest, wants)?,
                AnswerState::Length(missing) => {
                    self.read_body(rest, missing, wants, AnswerState::Length, AnswerState::Done)?
                }
                AnswerState::Chunk(missing) => {
                    self.read_body(rest, missing, wants, AnswerState::Chunk, AnswerState::ChunkEnd)?
                }
                AnswerState::ChunkSize => self.read_chunk_size(rest)?,
                AnswerState::ChunkEnd => self.read_line(rest, |line| {
                    if line.is_empty() { Ok(AnswerState::ChunkSize) } else { Err(AnswerFault::NotHttp) }
                })?,
                AnswerState::Trailer => self.read_line(rest, |line| {
                    Ok(if line.is_empty() { AnswerState::Done } else { AnswerState::Trailer })
                })?,
                AnswerState::UntilClose => {
                    self.keep(rest, wants)?;
                    Some(rest.len()).filter(|count| *count > 0)
                }
                AnswerState::Done => None,
            };
            match step {
                Some(count) => used += count,
                None => return Ok(used),
            }
        }
    }

    /// How many bytes the head took; `None` where more must come.
    fn read_head(&mut self, bytes: &[u8], wants: &AnswerWants) -> Result<Option<usize>, AnswerFault> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = Response::new(&mut headers);
        let length = match response.parse(bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) if bytes.len() > HEAD_BYTES_MAX => return Err(AnswerFault::TooLong),
            Ok(Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(AnswerFault::TooLong),
            Err(_) => return Err(AnswerFault::NotHttp),
        };
        let status = response.code.unwrap_or(0);
        // 100 and 103 come before the answer proper.
        if (100..200).contains(&status) && status != 101 {
            return Ok(Some(length));
        }
        self.answer.status = status;
        self.is_kept = response.version == Some(1);
        let (mut content_length, mut is_chunked) = (None, false);
        for header in response.headers.iter() {
            let name = header.name;
            if name.eq_ignore_ascii_case("content-length") {
                let text = std::str::from_utf8(header.value).map_err(|_| AnswerFault::NotHttp)?;
                content_length = Some(text.trim().parse().map_err(|_| AnswerFault::NotHttp)?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                is_chunked = header.value.to_ascii_lowercase().ends_with(b"chunked");
            } else if name.eq_ignore_ascii_case("connection") {
                let value = header.value.to_ascii_lowercase();
                self.is_kept = (self.is_kept && value != b"close") || value == b"keep-alive";
            }
        }
        self.answer.headers = wants.headers.iter().map(|name| value_of(response.headers, name)).collect();
        if wants.events && is_event_stream(status, value_of(response.headers, "content-type").as_deref()) {
            self.events = Some(Box::default());
        }
        self.state = match content_length {
            _ if wants.is_head || status == 204 || status == 304 => AnswerState::Done,
            _ if is_chunked => AnswerState::ChunkSize,
            Some(0) => AnswerState::Done,
            Some(length) => AnswerState::Length(length),
            None => AnswerState::UntilClose,
        };
        Ok(Some(length))
    }

    fn read_body(
        &mut self,
        bytes: &[u8],
        missing: u64,
        wants: &AnswerWants,
        more: fn(u64) -> AnswerState,
        then: AnswerState,
    ) -> Result<Option<usize>, AnswerFault> {
        let count = usize::try_from(missing).unwrap_or(usize::MAX).min(bytes.len());
        if count == 0 {
            return Ok(None);
        }
        self.keep(bytes.get(..count).unwrap_or_default(), wants)?;
        let missing = missing - count as u64;
        self.state = if missing == 0 { then } else { more(missing) };
        Ok(Some(count))
    }

    fn read_chunk_size(&mut self, bytes: &[u8]) -> Result<Option<usize>, AnswerFault> {
        match httparse::parse_chunk_size(bytes) {
            Ok(Status::Complete((used, 0))) => {
                self.state = AnswerState::Trailer;
                Ok(Some(used))
            }
            Ok(Status::Complete((used, size))) => {
                self.state = AnswerState::Chunk(size);
                Ok(Some(used))
            }
            Ok(Status::Partial) if bytes.len() > HEAD_BYTES_MAX => Err(AnswerFault::TooLong),
            Ok(Status::Partial) => Ok(None),
            Err(_) => Err(AnswerFault::NotHttp),
        }
    }

    /// A line without its end, which decides what follows.
    fn read_line(
        &mut self,
        bytes: &[u8],
        then: impl Fn(&[u8]) -> Result<AnswerState, AnswerFault>,
    ) -> Result<Option<usize>, AnswerFault> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > HEAD_BYTES_MAX { Err(AnswerFault::TooLong) } else { Ok(None) };
        };
        let line = bytes.get(..end).unwrap_or_default();
        self.state = then(line.strip_suffix(b"\r").unwrap_or(line))?;
        Ok(Some(end + 1))
    }

    fn keep(&mut self, bytes: &[u8], wants: &AnswerWants) -> Result<(), AnswerFault> {
        if let Some(events) = &mut self.events {
            return events.feed(bytes);
        }
        if !wants.body {
            return Ok(());
        }
        if self.answer.body.len() + bytes.len() > BODY_BYTES_MAX {
            return Err(AnswerFault::TooLong);
        }
        self.answer.body.extend_from_slice(bytes);
        Ok(())
    }
}

/// Whether an answer is an event stream.
pub(crate) fn is_event_stream(status: u16, media: Option<&str>) -> bool {
    let media = media.and_then(|media| media.split(';').next()).unwrap_or_default();
    (200..300).contains(&status) && media.trim().eq_ignore_ascii_case("text/event-stream")
}

fn value_of(headers: &[httparse::Header<'_>], name: &str) -> Option<String> {
    let header = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    Some(String::from_utf8_lossy(header.value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants() -> AnswerWants {
        AnswerWants { body: true, headers: vec!["x-a".into()], ..AnswerWants::default() }
    }

    /// What is read, however the bytes are cut: status, body, kept, header.
    fn read(text: &str, wants: &AnswerWants) -> Result<(u16, String, bool, Option<String>), AnswerFault> {
        let mut first = None;
        for size in [1, 2, 7, text.len().max(1)] {
            let mut reader = AnswerReader::default();
            reader.begin();
            let mut is_done = false;
            let result: Result<(), AnswerFault> = text.as_bytes().chunks(size).try_for_each(|part| {
                is_done |= reader.feed(part, wants)?;
                Ok(())
            });
            let result = result.and_then(|()| if is_done { Ok(()) } else { reader.close() });
            let body = String::from_utf8(reader.answer.body.clone()).unwrap();
            let result = result
                .map(|()| (reader.answer.status, body, reader.is_kept, reader.answer.headers[0].clone()));
            assert_eq!(first.get_or_insert(result.clone()), &result, "{size}");
        }
        first.unwrap()
    }

    #[test]
    fn answers_are_read_however_they_come() {
        let table = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\nhi", (200, "hi", true, Some("b"))),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", (200, "", false, None)),
            ("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx", (200, "x", false, None)),
            (
                "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 1\r\n\r\nx",
                (200, "x", true, None),
            ),
            ("HTTP/1.1 204 No\r\nx-a: 1\r\n\r\n", (204, "", true, Some("1"))),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 C\r\ncontent-length: 1\r\n\r\ny",
                (201, "y", true, None),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: t\r\n\r\n",
                (200, "abc0123456789", true, None),
            ),
            ("HTTP/1.1 200 OK\r\n\r\nall of it", (200, "all of it", false, None)),
        ];
        for (text, (status, body, is_kept, header)) in table {
            let expected = (status, body.to_owned(), is_kept, header.map(str::to_owned));
            assert_eq!(read(text, &wants()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_answer_is_a_fault() {
        for (text, fault) in [
            ("SSH-2.0-OpenSSH\r\n", AnswerFault::NotHttp),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", AnswerFault::NotHttp),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", AnswerFault::NotHttp),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", AnswerFault::NotHttp),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", AnswerFault::Closed),
            ("HTTP/1.1 200 O", AnswerFault::Closed),
            ("", AnswerFault::Closed),
        ] {
            let mut reader = AnswerReader::default();
            reader.begin();
            let result = reader.feed(text.as_bytes(), &wants()).and_then(|_| reader.close());
            assert_eq!(result, Err(fault), "{text}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n", "y".repeat(70_000));
        let mut reader = AnswerReader::default();
        assert_eq!(reader.feed(long.as_bytes(), &wants()), Err(AnswerFault::TooLong));
    }

    #[test]
    fn bytes_behind_an_answer_end_the_connection() {
        let mut reader = AnswerReader::default();
        reader.begin();
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK";
        assert_eq!(reader.feed(text, &AnswerWants::default()), Ok(true));
        assert!(!reader.is_kept && reader.answer.body.is_empty());
    }

    #[test]
    fn heads_have_no_body() {
        let mut reader = AnswerReader::default();
        let wants = AnswerWants { is_head: true, ..AnswerWants::default() };
        assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", &wants), Ok(true));
    }
}
