//! The answers of the null server: as little as each protocol allows.

use memchr::memmem;

/// What is answered over HTTP/1.1.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
/// Requests that do not end within this are not answered.
const LEFT_BYTES_MAX: usize = 32 << 20;
/// How a connection of HTTP/2 begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty frame of settings: the server's preface.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const SETTINGS_ACK: &[u8] = &[0, 0, 0, 4, 1, 0, 0, 0, 0];
/// A head of status 200 and `content-type: application/json` (RFC 7541: entry 8; a literal that is not indexed, name 31).
const HEAD: &[u8] = b"\x88\x0f\x10\x10application/json";
/// A decision, PERMIT, as SAPL writes it.
const PERMIT: &[u8] = &[8, 1];

/// One connection's protocol.
#[derive(Debug, Default)]
pub(super) struct NullProtocol {
    /// `None` until the first bytes tell it.
    protocol: Option<NullProtocolState>,
    /// Bytes that are no whole request yet.
    left: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NullProtocolState {
    Http1 {
        /// Bytes of a body still to come.
        body: usize,
    },
    Http2,
    Rsocket,
}

impl NullProtocol {
    /// Takes bytes and appends an answer for each whole request; whether the connection goes on.
    pub(super) fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let mut joined = std::mem::take(&mut self.left);
        let mut bytes = bytes;
        if !joined.is_empty() {
            joined.extend_from_slice(bytes);
            bytes = &joined;
        }
        let rest = match self.begin(bytes, out) {
            Some((NullProtocolState::Http1 { body }, rest)) => {
                let (body, rest) = http1(body, rest, out);
                self.protocol = Some(NullProtocolState::Http1 { body });
                rest
            }
            Some((NullProtocolState::Http2, rest)) => http2(rest, out),
            Some((NullProtocolState::Rsocket, rest)) => rsocket(rest, out),
            None => bytes,
        };
        self.left.extend_from_slice(rest);
        self.left.len() <= LEFT_BYTES_MAX
    }

    /// Tells the protocol; `None` where more bytes must come.
    fn begin<'b>(&mut self, bytes: &'b [u8], out: &mut Vec<u8>) -> Option<(NullProtocolState, &'b [u8])> {
        if let Some(protocol) = self.protocol {
            return Some((protocol, bytes));
        }
        let (protocol, rest) = match bytes {
            [] => return None,
            // Frames of RSocket begin with their length, and no setup is so long that it would be a letter.
            [0, ..] => (NullProtocolState::Rsocket, bytes),
            _ if PREFACE.starts_with(bytes.get(..PREFACE.len()).unwrap_or(bytes)) => {
                let rest = bytes.get(PREFACE.len()..)?;
                out.extend_from_slice(SETTINGS);
                (NullProtocolState::Http2, rest)
            }
            _ => (NullProtocolState::Http1 { body: 0 }, bytes),
        };
        self.protocol = Some(protocol);
        Some((protocol, rest))
    }
}

/// Answers whole requests of HTTP/1.1. What is missing of the last one's body, and the beginning of a head.
fn http1<'b>(mut body: usize, mut bytes: &'b [u8], out: &mut Vec<u8>) -> (usize, &'b [u8]) {
    loop {
        let skipped = body.min(bytes.len());
        body -= skipped;
        bytes = bytes.get(skipped..).unwrap_or_default();
        let Some(end) = memmem::find(bytes, b"\r\n\r\n") else { return (body, bytes) };
        let (head, rest) = bytes.split_at(end + 4);
        body = content_length(head);
        bytes = rest;
        out.extend_from_slice(ANSWER);
    }
}

/// The generator writes the header in this letter case.
fn content_length(head: &[u8]) -> usize {
    let Some(at) = memmem::find(head, b"\r\nContent-Length: ") else { return 0 };
    let digits = head.get(at + 18..).unwrap_or_default();
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0_usize, |number, digit| number.saturating_mul(10).saturating_add(usize::from(digit - b'0')))
}

/// Answers whole requests of HTTP/2. No header is looked at, so none has to be unpacked; no answer is so long that a window
/// would hold it back.
fn http2<'b>(mut bytes: &'b [u8], out: &mut Vec<u8>) -> &'b [u8] {
    const END_STREAM: u8 = 1;
    let mut received = 0_usize;
    while let [high, middle, low, kind, flags, stream @ ..] = bytes {
        let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
        let (Some((stream, after)), true) = (stream.split_at_checked(4), bytes.len() >= 9 + length) else {
            break;
        };
        let (payload, rest) = after.split_at(length);
        bytes = rest;
        match (*kind, *flags) {
            // DATA and HEADERS.
            (0 | 1, flags) => {
                received += if *kind == 0 { length } else { 0 };
                if flags & END_STREAM != 0 {
                    answer_http2(stream, out);
                }
            }
            // SETTINGS, unless it is an acknowledgement.
            (4, 0) => out.extend_from_slice(SETTINGS_ACK),
            // PING, unless it is an answer.
            (6, 0) => {
                out.extend_from_slice(&[0, 0, 8, 6, 1, 0, 0, 0, 0]);
                out.extend_from_slice(payload);
            }
            _ => {}
        }
    }
    if let Some(received) = u32::try_from(received).ok().filter(|received| *received > 0) {
        // WINDOW_UPDATE of the connection: as much again may be sent.
        out.extend_from_slice(&[0, 0, 4, 8, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&received.to_be_bytes());
    }
    bytes
}

fn answer_http2(stream: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, u8::try_from(HEAD.len()).unwrap_or(0), 1, 4]);
    out.extend_from_slice(stream);
    out.extend_from_slice(HEAD);
    out.extend_from_slice(&[0, 0, 2, 0, 1]);
    out.extend_from_slice(stream);
    out.extend_from_slice(b"{}");
}

/// Answers requests of RSocket, and streams with their first item.
fn rsocket<'b>(mut bytes: &'b [u8], out: &mut Vec<u8>) -> &'b [u8] {
    while let [high, middle, low, rest @ ..] = bytes {
        let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
        let Some((frame, after)) = rest.split_at_checked(length) else { break };
        bytes = after;
        let [s0, s1, s2, s3, kind, flags, payload @ ..] = frame else { continue };
        // Flags of the answer, behind the six bits of its type, PAYLOAD: next and complete, or next.
        let flags_of_answer = match (kind >> 2, flags & 0x80) {
            (0x04, _) => 0x60,
            (0x06, _) => 0x20,
            // A sign of life that wants one.
            (0x03, 0x80) => {
                out.extend_from_slice(&[
                    0,
                    0,
                    u8::try_from(6 + payload.len()).unwrap_or(14),
                    0,
                    0,
                    0,
                    0,
                    0x0c,
                    0,
                ]);
                out.extend_from_slice(payload);
                continue;
            }
            _ => continue,
        };
        out.extend_from_slice(&[0, 0, 6 + 2, *s0, *s1, *s2, *s3, 0x28, flags_of_answer]);
        out.extend_from_slice(PERMIT);
    }
    bytes
}
