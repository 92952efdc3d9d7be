//! Requests of HTTP/1.1 that a server may answer before its HTTP library reads them (RFC 9110, RFC 9112).
//!
//! They are read with the parser that the library uses. Everything else is handed to the library unchanged: only the library refuses. So
//! what is read here means one thing only, and where it ends is certain.

use std::mem::MaybeUninit;

/// A request that has come as a whole, and whose head holds nothing that would change how it is to be read or answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectRequest<'b> {
    /// As it was sent, a query included.
    pub path: &'b str,
    /// `Content-Type`.
    pub content_type: Option<&'b str>,
    /// `Accept`.
    pub accept: Option<&'b str>,
    /// `Authorization`.
    pub authorization: Option<&'b str>,
    /// `X-Request-Id`.
    pub request_id: Option<&'b str>,
    /// As many bytes as `Content-Length` says.
    pub body: &'b [u8],
}

/// What the next bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'b> {
    /// A request that may be answered directly, and how many bytes it is.
    Direct(DirectRequest<'b>, usize),
    /// Part of a head.
    Incomplete,
    /// A request for the library, or no request. How many bytes it is in all, where that is certain; perhaps they have not all come.
    Other(Option<usize>),
}

impl Message<'_> {
    /// Reads the next request of a connection: with a head of so many bytes and fields at most.
    ///
    /// ```
    /// use durward_wire::http1::Message;
    ///
    /// let bytes = b"POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}POST";
    /// let Message::Direct(request, length) = Message::read::<8>(bytes, 400) else { panic!() };
    /// assert_eq!((request.path, request.body, length), ("/pdp", &b"{}"[..], bytes.len() - 4));
    /// ```
    pub fn read<const FIELDS_MAX: usize>(bytes: &[u8], head_bytes_max: usize) -> Message<'_> {
        let mut fields = [const { MaybeUninit::uninit() }; FIELDS_MAX];
        let mut head = httparse::Request::new(&mut []);
        let head_bytes = match head.parse_with_uninit_headers(bytes, &mut fields) {
            Ok(httparse::Status::Complete(count)) if count <= head_bytes_max => count,
            Ok(httparse::Status::Partial) if bytes.len() <= head_bytes_max => return Message::Incomplete,
            Ok(_) | Err(_) => return Message::Other(None),
        };
        let (Some(method), Some(path), Some(1)) = (head.method, head.path, head.version) else {
            return Message::Other(None);
        };
        let fields = Fields::read(head.headers);
        let end = head_bytes.checked_add(fields.body_bytes.unwrap_or(0));
        let (true, Some(end)) = (fields.is_bounded && method != "CONNECT", end) else {
            return Message::Other(None);
        };
        match bytes.get(head_bytes..end) {
            Some(body)
                if method == "POST"
                    && fields.is_plain
                    && fields.hosts == 1
                    && fields.body_bytes.is_some() =>
            {
                let Fields { content_type, accept, authorization, request_id, .. } = fields;
                let request = DirectRequest { path, content_type, accept, authorization, request_id, body };
                Message::Direct(request, end)
            }
            _ => Message::Other(Some(end)),
        }
    }
}

/// The fields of a head that count.
struct Fields<'b> {
    hosts: usize,
    content_type: Option<&'b str>,
    accept: Option<&'b str>,
    authorization: Option<&'b str>,
    request_id: Option<&'b str>,
    body_bytes: Option<usize>,
    /// Whether `Content-Length` alone says where the request ends, and nothing is said before its body is sent (RFC 9112, 6.3).
    is_bounded: bool,
    /// Whether all of it is understood here.
    is_plain: bool,
}

impl<'b> Fields<'b> {
    fn read(headers: &[httparse::Header<'b>]) -> Fields<'b> {
        let mut fields = Fields {
            hosts: 0,
            content_type: None,
            accept: None,
            authorization: None,
            request_id: None,
            body_bytes: None,
            is_bounded: true,
            is_plain: true,
        };
        for header in headers {
            fields.see(header.name, header.value);
        }
        fields
    }

    fn see(&mut self, name: &str, value: &'b [u8]) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        // Most names are told apart by their length.
        match name.len() {
            4 if is("host") => self.hosts += 1,
            6 if is("accept") => self.is_plain &= is_first(&mut self.accept, value),
            12 if is("content-type") => self.is_plain &= is_first(&mut self.content_type, value),
            12 if is("x-request-id") => self.is_plain &= is_first(&mut self.request_id, value),
            13 if is("authorization") => self.is_plain &= is_first(&mut self.authorization, value),
            14 if is("content-length") => {
                let count = length(value).filter(|_| self.body_bytes.is_none());
                self.is_bounded &= count.is_some();
                self.body_bytes = count;
            }
            10 if is("connection") => self.is_plain &= value.eq_ignore_ascii_case(b"keep-alive"),
            16 if is("content-encoding") => self.is_plain = false,
            2 if is("te") => self.is_plain = false,
            6 if is("expect") => self.is_bounded = false,
            7 if is("upgrade") || is("trailer") => self.is_bounded = false,
            17 if is("transfer-encoding") => self.is_bounded = false,
            _ => {}
        }
    }
}

/// Keeps a field that is text; whether it is, and was not there before.
fn is_first<'b>(slot: &mut Option<&'b str>, value: &'b [u8]) -> bool {
    let text = std::str::from_utf8(value).ok().filter(|text| is_field_text(text));
    text.is_some() && slot.replace(text.unwrap_or_default()).is_none()
}

/// Whether a header field can be read as text: visible characters of ASCII, blanks and tabs.
fn is_field_text(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

/// The number of a `Content-Length`: digits alone (RFC 9110, 8.6).
fn length(value: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(value).ok()?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Message<'_> {
        Message::read::<8>(text.as_bytes(), 400)
    }

    #[test]
    fn a_usual_request_is_read_as_a_whole() {
        let text = "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nUser-Agent: any\r\n\
                    Authorization: Bearer t\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}";
        let two = format!("{text}{text}");
        let expected = DirectRequest {
            path: "/pdp",
            content_type: Some("application/json"),
            accept: None,
            authorization: Some("Bearer t"),
            request_id: None,
            body: b"{}",
        };
        assert_eq!(read(&two), Message::Direct(expected, text.len()));
        for end in 1..text.len() - 2 {
            let part = read(&text[..end]);
            assert_eq!(part, Message::Incomplete, "{end}");
        }
        assert_eq!(read(&text[..text.len() - 1]), Message::Other(Some(text.len())));
    }

    #[test]
    fn what_means_more_than_it_says_is_the_librarys() {
        let with = |fields: &str| format!("POST /pdp HTTP/1.1\r\n{fields}\r\n{{}}");
        let plain = "Host: x\r\nContent-Length: 2\r\n";
        assert!(matches!(read(&with(plain)), Message::Direct(..)));
        // Where these end is certain, and the connection can go on directly.
        for fields in [
            "Content-Length: 2\r\n",
            "Host: x\r\nHost: y\r\nContent-Length: 2\r\n",
            "Host: x\r\n",
            "Host: x\r\nContent-Length: 2\r\nConnection: close\r\n",
            "Host: x\r\nContent-Length: 2\r\nConnection: keep-alive, x-a\r\n",
            "Host: x\r\nContent-Length: 2\r\nTE: trailers\r\n",
            "Host: x\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n",
            "Host: x\r\nContent-Length: 2\r\nAccept: a\r\nAccept: b\r\n",
            "Host: x\r\nContent-Length: 2\r\nAuthorization: Basic \u{e9}\r\n",
        ] {
            let text = with(fields);
            let end = if fields.contains("Length") { text.len() } else { text.len() - 2 };
            assert_eq!(read(&text), Message::Other(Some(end)), "{fields}");
        }
        // Where these end is not, or whoever sends them waits.
        for fields in [
            "Host: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n",
            "Host: x\r\nContent-Length: 2, 2\r\n",
            "Host: x\r\nContent-Length: +2\r\n",
            "Host: x\r\nContent-Length:\r\n",
            "Host: x\r\nContent-Length: 99999999999999999999999\r\n",
            "Host: x\r\nContent-Length: 18446744073709551615\r\n",
            "Host: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n",
            "Host: x\r\nTransfer-Encoding: chunked\r\n",
            "Host: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n",
            "Host: x\r\nContent-Length: 2\r\nUpgrade: h2c\r\n",
            "Host: x\r\nContent-Length: 2\r\nTrailer: x\r\n",
            "Host : x\r\nContent-Length: 2\r\n",
            "Host: x\r\n Content-Length: 2\r\nContent-Length: 2\r\n",
            "1: 1\r\n2: 2\r\n3: 3\r\n4: 4\r\n5: 5\r\n6: 6\r\n7: 7\r\nHost: x\r\nContent-Length: 2\r\n",
        ] {
            assert_eq!(read(&with(fields)), Message::Other(None), "{fields}");
        }
    }

    #[test]
    fn other_methods_versions_and_protocols_are_the_librarys() {
        assert_eq!(read("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET"), Message::Other(Some(27)));
        for text in [
            "POST /pdp HTTP/1.0\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
            "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
            "\u{16}\u{3}\u{1}",
            "POST /pdp\r\n\r\n",
        ] {
            assert_eq!(read(text), Message::Other(None), "{text}");
        }
        let long = format!("POST /pdp HTTP/1.1\r\nHost: {}", "x".repeat(400));
        assert_eq!(read(&long), Message::Other(None), "more than a head may have");
        let long = format!("{long}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(read(&long), Message::Other(None), "more than a head may have");
    }
}
