//! Requests of HTTP/1.1 that are read out of a connection's bytes: each is what two other readers say of the same bytes. One is the
//! HTTP library's own parser of heads; one goes by lines, as RFC 9112 does, and takes only what it is sure of. What is said of the first
//! bytes is upheld, whatever follows them.

use durward_wire::http1::{DirectRequest, Message};

/// Small, so that inputs reach them.
const FIELDS_MAX: usize = 8;
const HEAD_BYTES_MAX: usize = 512;

/// Every beginning of an input is read: more than this would take long, and say nothing new.
const BYTES_MAX: usize = 2 * HEAD_BYTES_MAX;

/// What may follow on a connection.
const NEXT: [&[u8]; 4] =
    [b"\0", b"\n", b"\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"];

pub(crate) fn run(input: &[u8]) {
    let input = &input[..input.len().min(BYTES_MAX)];
    let whole = read(input);
    for end in 0..input.len() {
        let part = read(&input[..end]);
        assert!(is_upheld(part, end, whole), "{end} bytes: {part:?}, all: {whole:?}");
    }
    for next in NEXT {
        let longer = [input, next].concat();
        let more = read(&longer);
        assert!(is_upheld(whole, input.len(), more), "{whole:?}, with more bytes: {more:?}");
    }
}

/// Whether what was said of the first bytes still holds with more of them.
fn is_upheld(part: Message<'_>, part_bytes: usize, whole: Message<'_>) -> bool {
    match (part, whole) {
        (Message::Incomplete, _) => true,
        // Its body has come.
        (Message::Other(Some(end)), Message::Direct(_, whole_end)) => end == whole_end && part_bytes < end,
        (Message::Direct(..) | Message::Other(_), _) => part == whole,
    }
}

/// Reads, and compares with the other readers.
fn read(bytes: &[u8]) -> Message<'_> {
    let message = Message::read::<FIELDS_MAX>(bytes, HEAD_BYTES_MAX);
    match head_bytes(bytes) {
        Some(count) => {
            let head = Head::read(&bytes[..count]);
            let head = head.filter(|head| count <= HEAD_BYTES_MAX && head.fields.len() <= FIELDS_MAX);
            let expected = head.map_or(Message::Other(None), |head| {
                head.compare_with_the_library(bytes, count);
                head.message(bytes, count)
            });
            assert_eq!(message, expected);
        }
        // No request yet, and perhaps never one.
        None if bytes.len() <= HEAD_BYTES_MAX => {
            assert!(matches!(message, Message::Incomplete | Message::Other(None)), "{message:?}");
        }
        None => assert_eq!(message, Message::Other(None)),
    }
    message
}

/// How many bytes the head is, if its end has come: an empty line, which may also stand before the first (RFC 9112, 2.2).
fn head_bytes(bytes: &[u8]) -> Option<usize> {
    let (mut end, mut is_begun) = (0, false);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        let is_empty = matches!(line, b"\r\n" | b"\n");
        if is_empty && is_begun {
            return Some(end);
        }
        is_begun |= !is_empty;
    }
    None
}

/// A head, line by line.
struct Head<'b> {
    method: &'b str,
    target: &'b str,
    fields: Vec<(&'b str, &'b [u8])>,
}

impl<'b> Head<'b> {
    /// `None` where one line is not what RFC 9112 (3, 5) says; one that is folded is not.
    fn read(head: &'b [u8]) -> Option<Head<'b>> {
        let lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut lines = lines.filter(|line| !line.is_empty());
        let words: Vec<&str> = std::str::from_utf8(lines.next()?).ok()?.split(' ').collect();
        let &[method, target, "HTTP/1.1"] = words.as_slice() else { return None };
        let is_target = !target.is_empty() && !target.bytes().any(|byte| byte.is_ascii_control());
        if !is_token(method.as_bytes()) || !is_target {
            return None;
        }
        let fields = lines.map(field).collect::<Option<Vec<_>>>()?;
        Some(Head { method, target, fields })
    }

    /// The parser that hyper uses finds the same head at the start of these bytes.
    fn compare_with_the_library(&self, bytes: &[u8], count: usize) {
        let mut headers = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        assert_eq!(request.parse(bytes), Ok(httparse::Status::Complete(count)));
        let line = (request.method, request.path, request.version);
        assert_eq!(line, (Some(self.method), Some(self.target), Some(1)));
        let fields: Vec<(&str, &[u8])> =
            request.headers.iter().map(|header| (header.name, header.value)).collect();
        assert_eq!(fields, self.fields);
    }

    /// What may be done with the request whose head this is, which ends after so many bytes.
    fn message(&self, bytes: &'b [u8], head_bytes: usize) -> Message<'b> {
        let Some(end) = self.body_bytes().and_then(|count| head_bytes.checked_add(count)) else {
            return Message::Other(None);
        };
        let request = bytes.get(head_bytes..end).and_then(|body| self.direct(body));
        request.map_or(Message::Other(Some(end)), |request| Message::Direct(request, end))
    }

    /// How many bytes follow the head (RFC 9112, 6.3), where nothing but one `Content-Length` or none says so.
    fn body_bytes(&self) -> Option<usize> {
        let unclear = ["transfer-encoding", "trailer", "upgrade", "expect"];
        if self.method == "CONNECT" || unclear.iter().any(|name| self.has(name)) {
            return None;
        }
        match self.values("content-length").as_slice() {
            [] => Some(0),
            [digits] if digits.iter().all(u8::is_ascii_digit) => {
                std::str::from_utf8(digits).ok()?.parse().ok()
            }
            _ => None,
        }
    }

    /// The request, where whatever else is said of it can be passed over.
    fn direct(&self, body: &'b [u8]) -> Option<DirectRequest<'b>> {
        let stays = |value: &&[u8]| value.eq_ignore_ascii_case(b"keep-alive");
        let is_usual = self.method == "POST"
            && self.has("content-length")
            && self.values("host").len() == 1
            && self.values("connection").iter().all(stays)
            && !self.has("te")
            && !self.has("content-encoding");
        if !is_usual {
            return None;
        }
        Some(DirectRequest {
            path: self.target,
            content_type: self.text("content-type")?,
            accept: self.text("accept")?,
            authorization: self.text("authorization")?,
            request_id: self.text("x-request-id")?,
            body,
        })
    }

    /// The value of a field, if there is one; `None` where there are several, or it is more than visible characters and blanks.
    fn text(&self, name: &str) -> Option<Option<&'b str>> {
        match self.values(name).as_slice() {
            [] => Some(None),
            [value] if value.iter().all(|byte| byte.is_ascii() && is_value(*byte)) => {
                Some(std::str::from_utf8(value).ok())
            }
            _ => None,
        }
    }

    fn has(&self, name: &str) -> bool {
        !self.values(name).is_empty()
    }

    fn values(&self, name: &str) -> Vec<&'b [u8]> {
        let named = self.fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        named.map(|(_, value)| *value).collect()
    }
}

/// A name, a colon at once, and a value between blanks (RFC 9112, 5).
fn field(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is_field = is_token(name) && value.iter().all(|byte| is_value(*byte));
    is_field.then_some((std::str::from_utf8(name).ok()?, value.trim_ascii()))
}

/// RFC 9110, 5.6.2.
fn is_token(text: &[u8]) -> bool {
    !text.is_empty()
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// RFC 9110, 5.5: no control character but the tab.
fn is_value(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}
