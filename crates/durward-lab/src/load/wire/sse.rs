//! Takes event streams (WHATWG HTML, 9.2, "Server-sent events") apart into their events. No socket, no clock.

use std::collections::VecDeque;

use super::reader::{AnswerFault, BODY_BYTES_MAX};

/// The events of one stream, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct SseEvents {
    /// The beginning of a line.
    line: Vec<u8>,
    /// Data of the event that is not whole.
    data: Vec<u8>,
    has_data: bool,
    /// Whether the last byte was a carriage return, which a line feed may belong to.
    was_return: bool,
    has_begun: bool,
    whole: VecDeque<Vec<u8>>,
}

impl SseEvents {
    /// Takes bytes of the body.
    ///
    /// # Errors
    /// An event that is longer than any answer may be.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), AnswerFault> {
        let mut rest = bytes;
        while let Some((byte, more)) = rest.split_first() {
            if std::mem::take(&mut self.was_return) && *byte == b'\n' {
                rest = more;
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.line.extend_from_slice(rest);
                break;
            };
            let (line, ended) = rest.split_at(end);
            self.line.extend_from_slice(line);
            self.was_return = ended.first() == Some(&b'\r');
            self.end_line();
            rest = ended.get(1..).unwrap_or_default();
        }
        if self.line.len() + self.data.len() > BODY_BYTES_MAX { Err(AnswerFault::TooLong) } else { Ok(()) }
    }

    /// The data of the next whole event.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        self.whole.pop_front()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        // A byte order mark before the first line means nothing.
        let mut text = line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        if text.is_empty() {
            // An event without data is none.
            if std::mem::take(&mut self.has_data) {
                self.whole.push_back(std::mem::take(&mut self.data));
            }
        } else if let Some(data) = text.strip_prefix(b"data") {
            // `data: x`, `data:x`, `data`; another field may begin with the same letters.
            let value = match data.strip_prefix(b":") {
                Some(value) => value.strip_prefix(b" ").unwrap_or(value),
                None if data.is_empty() => data,
                None => return,
            };
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value);
        }
        // The line's memory serves for the next one.
        self.line = line;
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a text, however it is cut.
    fn read(text: &str) -> Vec<String> {
        let mut first = None;
        for size in [1, 2, 3, text.len().max(1)] {
            let mut events = SseEvents::default();
            text.as_bytes().chunks(size).for_each(|part| events.feed(part).unwrap());
            let all: Vec<String> =
                std::iter::from_fn(|| events.next()).map(|data| String::from_utf8(data).unwrap()).collect();
            assert_eq!(first.get_or_insert(all.clone()), &all, "{size}");
        }
        first.unwrap()
    }

    #[test]
    fn events_are_read_however_they_come() {
        for (text, events) in [
            ("data:{\"decision\":\"PERMIT\"}\n\n", &["{\"decision\":\"PERMIT\"}"][..]),
            ("data: a\n\ndata:b\r\n\r\ndata: c\r\r", &["a", "b", "c"]),
            (": keep-alive\n\nevent: x\nid: 1\ndata: one\ndata: two\n\n", &["one\ntwo"]),
            ("\u{feff}data: marked\n\n", &["marked"]),
            ("data\n\n", &[""]),
            ("database: x\n\nretry: 3\n\n", &[]),
            ("data:  two blanks\n\n", &[" two blanks"]),
            ("data: never ended\n", &[]),
            ("", &[]),
        ] {
            assert_eq!(read(text), events, "{text:?}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_too_long() {
        let mut events = SseEvents::default();
        let part = vec![b'x'; 1 << 20];
        let result = (0..17).try_for_each(|_| events.feed(&part));
        assert_eq!(result, Err(AnswerFault::TooLong));
    }
}
