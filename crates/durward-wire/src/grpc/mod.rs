//! gRPC over HTTP/2 as bytes: messages behind their prefix, status codes, timeouts (`PROTOCOL-HTTP2.md` of the gRPC project).
//!
//! ```text
//! Length-Prefixed-Message: 1 byte: 0, or 1 if compressed | 4 bytes: length, the highest first | the message
//! ```
//!
//! Nothing is compressed: a message that is gets refused, as the protocol asks of whoever does not know an encoding.

pub mod health;

use std::fmt;
use std::time::Duration;

use bytes::{BufMut, BytesMut};

/// What stands before a message.
pub const PREFIX_BYTES: usize = 5;

/// The media type of calls and answers; subtypes behind `+` are of other encodings of messages.
pub const MEDIA_TYPE: &str = "application/grpc";

/// How a call ended, as `grpc-status` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// As it was asked to.
    Ok,
    /// What was asked cannot be read.
    InvalidArgument,
    /// What was asked for is not there.
    NotFound,
    /// It was too much.
    ResourceExhausted,
    /// There is no such method, or it does not know how the message is written.
    Unimplemented,
    /// The bytes are no call.
    Internal,
    /// Not now.
    Unavailable,
}

impl Code {
    /// Its number.
    pub const fn number(self) -> u8 {
        match self {
            Code::Ok => 0,
            Code::InvalidArgument => 3,
            Code::NotFound => 5,
            Code::ResourceExhausted => 8,
            Code::Unimplemented => 12,
            Code::Internal => 13,
            Code::Unavailable => 14,
        }
    }

    /// Its number in digits.
    pub const fn as_str(self) -> &'static str {
        match self {
            Code::Ok => "0",
            Code::InvalidArgument => "3",
            Code::NotFound => "5",
            Code::ResourceExhausted => "8",
            Code::Unimplemented => "12",
            Code::Internal => "13",
            Code::Unavailable => "14",
        }
    }
}

/// Why bytes are not the messages that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// There is none.
    Missing,
    /// It ends too soon.
    Incomplete,
    /// It is compressed.
    Compressed,
    /// Its first byte is neither 0 nor 1.
    UnknownFlag,
    /// It is longer than a message may be.
    TooLong,
    /// There are several, where one is asked for.
    Several,
}

impl FrameError {
    /// The status by which a call ends that had such bytes.
    pub const fn code(self) -> Code {
        match self {
            FrameError::Missing | FrameError::Incomplete | FrameError::UnknownFlag | FrameError::Several => {
                Code::Internal
            }
            FrameError::Compressed => Code::Unimplemented,
            FrameError::TooLong => Code::ResourceExhausted,
        }
    }

    /// What is wrong.
    pub const fn as_str(self) -> &'static str {
        match self {
            FrameError::Missing => "the call has no message",
            FrameError::Incomplete => "a message ends too soon",
            FrameError::Compressed => "the message is compressed; send it with `grpc-encoding: identity`",
            FrameError::UnknownFlag => "a message begins with neither 0 nor 1",
            FrameError::TooLong => "a message is too long",
            FrameError::Several => "the call has several messages, and takes one",
        }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for FrameError {}

/// Takes the first message off these bytes; `None` where nothing is left. What follows it is not looked at.
///
/// # Errors
/// Bytes that are no message, or one beyond the limit.
pub fn next_message<'b>(bytes: &mut &'b [u8], bytes_max: usize) -> Result<Option<&'b [u8]>, FrameError> {
    let Some((flag, rest)) = bytes.split_first() else { return Ok(None) };
    match flag {
        0 => {}
        1 => return Err(FrameError::Compressed),
        _ => return Err(FrameError::UnknownFlag),
    }
    let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Err(FrameError::Incomplete) };
    let length = u32::from_be_bytes(*length);
    let length = usize::try_from(length).ok().filter(|length| *length <= bytes_max);
    let Some((message, rest)) =
        length.ok_or(FrameError::TooLong).map(|length| rest.split_at_checked(length))?
    else {
        return Err(FrameError::Incomplete);
    };
    *bytes = rest;
    Ok(Some(message))
}

/// The message of a call that has one and no more.
///
/// # Errors
/// Bytes that are anything else, or a message beyond the limit.
///
/// ```
/// use durward_wire::grpc::{FrameError, read_one};
///
/// assert_eq!(read_one(b"\0\0\0\0\x02hi", 100), Ok(&b"hi"[..]));
/// assert_eq!(read_one(b"\0\0\0\0\x02hi", 1), Err(FrameError::TooLong));
/// assert_eq!(read_one(b"", 100), Err(FrameError::Missing));
/// ```
pub fn read_one(mut bytes: &[u8], bytes_max: usize) -> Result<&[u8], FrameError> {
    let message = next_message(&mut bytes, bytes_max)?.ok_or(FrameError::Missing)?;
    if bytes.is_empty() { Ok(message) } else { Err(FrameError::Several) }
}

/// Appends the message that `write` appends, with its prefix.
pub fn put_message(out: &mut BytesMut, write: impl FnOnce(&mut BytesMut)) {
    let at = out.len();
    out.put_bytes(0, PREFIX_BYTES);
    write(out);
    // What is written here is far below 4 GiB; a length that is wrong ends the call at the other side.
    let length = u32::try_from(out.len() - at - PREFIX_BYTES).unwrap_or(u32::MAX);
    if let Some(room) = out.get_mut(at + 1..at + PREFIX_BYTES) {
        room.copy_from_slice(&length.to_be_bytes());
    }
}

/// `grpc-timeout`: up to eight digits and a unit. `None` for anything else.
///
/// ```
/// use std::time::Duration;
/// use durward_wire::grpc::timeout;
///
/// assert_eq!(timeout("200m"), Some(Duration::from_millis(200)));
/// assert_eq!(timeout("200"), None);
/// ```
pub fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if !(1..=8).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// A text as `grpc-message` has it: everything but visible characters and blanks is escaped, and so is `%`.
pub fn message(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | ..=0x1f | 0x7f.. => crate::percent::escape(byte, &mut escaped),
            _ => escaped.push(char::from(byte)),
        }
    }
    escaped
}
