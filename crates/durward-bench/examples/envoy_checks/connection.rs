//! One connection of HTTP/2, with frames written by hand (RFC 9113, RFC 7541): it costs whoever asks a fraction of what a library costs the server.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use durward_wire::ext_authz::CHECK;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEAD_BYTES: usize = 9;

/// What a server may have sent of answers before it hears of their having been read.
const WINDOW_MAX: u32 = 0x7fff_ffff;

/// What the server may be sent at first (RFC 9113, 6.9.2).
const WINDOW_FIRST: u32 = 65_535;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// A connection on which the same message is asked over and over.
pub(crate) struct Connection {
    stream: TcpStream,
    message: Vec<u8>,
    /// Bytes of frames that have not come whole.
    input: Vec<u8>,
    out: Vec<u8>,
    next_stream: u32,
    /// How much of messages may be sent.
    window: u64,
    /// What was received since the server was told.
    received: u32,
    /// The message that came first, which each answer has to be.
    answer: Vec<u8>,
    seen: Seen,
}

/// How many have come.
#[derive(Clone, Copy, Default)]
struct Seen {
    messages: u64,
    ends: u64,
}

impl Connection {
    /// Connects and asks once.
    pub(crate) fn open(address: SocketAddr, message: Vec<u8>) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut connection = Connection {
            stream,
            message,
            input: Vec::new(),
            out: PREFACE.to_vec(),
            next_stream: 1,
            window: WINDOW_FIRST.into(),
            received: 0,
            answer: Vec::new(),
            seen: Seen::default(),
        };
        connection.put_frame(SETTINGS, 0, 0, &[]);
        connection.put_frame(WINDOW_UPDATE, 0, 0, &(WINDOW_MAX - WINDOW_FIRST).to_be_bytes());
        connection.put_call();
        while connection.seen.ends == 0 {
            connection.exchange()?;
        }
        Ok(connection)
    }

    /// The message that was answered first.
    pub(crate) fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// Asks for so long, with so many calls at a time; how many were answered.
    pub(crate) fn ask(&mut self, streams: u64, time: Duration) -> io::Result<u64> {
        let (begun, before) = (Instant::now(), self.seen.ends);
        let mut asked = before;
        let mut is_over = false;
        while !is_over || self.seen.ends < asked {
            while !is_over && asked - self.seen.ends < streams && self.window >= self.message.len() as u64 {
                self.put_call();
                asked += 1;
            }
            self.exchange()?;
            is_over = is_over || begun.elapsed() >= time;
        }
        match self.seen {
            Seen { messages, ends } if messages == ends => Ok(ends - before),
            Seen { messages, ends } => {
                Err(io::Error::other(format!("{messages} messages in {ends} answers")))
            }
        }
    }

    /// Sends what there is to send, and takes what has come.
    fn exchange(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        let mut some = [0; 64 * 1024];
        let count = self.stream.read(&mut some)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(some.get(..count).unwrap_or_default());
        let mut rest = input.as_slice();
        while let Some((frame, behind)) = frame(rest) {
            self.take(&frame)?;
            rest = behind;
        }
        let left = input.len() - rest.len();
        input.drain(..left);
        self.input = input;
        Ok(())
    }

    fn take(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let Frame { kind, flags, stream, payload } = *frame;
        match kind {
            DATA => {
                if self.answer.is_empty() {
                    self.answer = payload.to_vec();
                } else if self.answer != payload {
                    return Err(io::Error::other("an answer is another one than the first"));
                }
                self.seen.messages += 1;
                self.seen.ends += u64::from(flags & END_STREAM);
                self.received += u32::try_from(payload.len()).unwrap_or(0);
                if self.received > WINDOW_MAX / 4 {
                    let received = std::mem::take(&mut self.received).to_be_bytes();
                    self.put_frame(WINDOW_UPDATE, 0, 0, &received);
                }
            }
            HEADERS => self.seen.ends += u64::from(flags & END_STREAM),
            SETTINGS if flags & ACK == 0 => self.put_frame(SETTINGS, ACK, 0, &[]),
            PING if flags & ACK == 0 => self.put_frame(PING, ACK, 0, payload),
            WINDOW_UPDATE if stream == 0 => {
                let more = payload.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
                self.window += u64::from(more & WINDOW_MAX);
            }
            RST_STREAM | GOAWAY => {
                return Err(io::Error::other(format!("the server gives up: frame {kind}, {payload:02x?}")));
            }
            _ => {}
        }
        Ok(())
    }

    fn put_call(&mut self) {
        let stream = self.next_stream;
        self.next_stream += 2;
        self.window -= self.message.len() as u64;
        let fields = if stream == 1 { first_fields() } else { LATER_FIELDS.to_vec() };
        self.put_frame(HEADERS, END_HEADERS, stream, &fields);
        let message = std::mem::take(&mut self.message);
        self.put_frame(DATA, END_STREAM, stream, &message);
        self.message = message;
    }

    fn put_frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap_or(0).to_be_bytes();
        self.out.extend_from_slice(length.get(1..).unwrap_or_default());
        self.out.extend_from_slice(&[kind, flags]);
        self.out.extend_from_slice(&stream.to_be_bytes());
        self.out.extend_from_slice(payload);
    }
}

struct Frame<'b> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'b [u8],
}

/// The first frame, if it is whole, and what stands behind it.
fn frame(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let (head, behind) = bytes.split_first_chunk::<FRAME_HEAD_BYTES>()?;
    let [high, middle, low, kind, flags, a, b, c, d] = *head;
    let length = u32::from_be_bytes([0, high, middle, low]);
    let (payload, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
    let stream = u32::from_be_bytes([a, b, c, d]) & WINDOW_MAX;
    Some((Frame { kind, flags, stream, payload }, behind))
}

/// `:method: POST` and `:scheme: http`, of the static table.
const POST: u8 = 0x83;
const HTTP: u8 = 0x86;

/// The fields of a call, which the server is to keep in its table.
fn first_fields() -> Vec<u8> {
    let mut fields = vec![POST, HTTP];
    for (index, name, value) in [
        (4, "", CHECK),
        (1, "", "durward"),
        (31, "", "application/grpc"),
        (0, "te", "trailers"),
        (0, "grpc-timeout", "5000m"),
    ] {
        fields.push(0x40 | index);
        if index == 0 {
            put_text(&mut fields, name);
        }
        put_text(&mut fields, value);
    }
    fields
}

/// The same by their places in the table, the newest of which is 62.
const LATER_FIELDS: [u8; 7] = [POST, HTTP, 0x80 | 66, 0x80 | 65, 0x80 | 64, 0x80 | 63, 0x80 | 62];

/// A text of less than 127 bytes.
fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(u8::try_from(text.len()).unwrap_or(0));
    out.extend_from_slice(text.as_bytes());
}
