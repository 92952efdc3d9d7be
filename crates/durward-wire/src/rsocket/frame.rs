//! Frames of RSocket 1.0: bytes into [`Frame`]s and back. Knows no connection and no state.
//!
//! Over TCP a frame is a length of three bytes, a stream id of four, six bits of type, ten bits of flags, and what the
//! type says (protocol 1.0, "Framing"). Payloads are slices of the bytes read, never copies.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes that announce a frame's length.
pub const LENGTH_BYTES: usize = 3;

/// Longest frame that the length before it can announce.
pub const FRAME_BYTES_MAX: usize = 0xFF_FFFF;

/// Stream id, type and flags.
pub const HEADER_BYTES: usize = 6;

/// A client that asks for this many takes all there is (`2^31 - 1`, the most that can be asked for).
pub const UNBOUNDED: u32 = 0x7FFF_FFFF;

/// The bits of the flags, by what they mean. Some bits mean different things in different types.
pub mod flag {
    /// A frame that need not be understood.
    pub const IGNORE: u16 = 0x200;
    /// Metadata comes before the data.
    pub const METADATA: u16 = 0x100;
    /// More fragments of this payload follow (requests and payloads).
    pub const FOLLOWS: u16 = 0x080;
    /// The sender wants an answer (keep-alive).
    pub const RESPOND: u16 = 0x080;
    /// The client can resume (setup).
    pub const RESUME: u16 = 0x080;
    /// The client honours leases (setup).
    pub const LEASE: u16 = 0x040;
    /// The last of a stream.
    pub const COMPLETE: u16 = 0x040;
    /// There is a payload, empty or not.
    pub const NEXT: u16 = 0x020;
}

/// The types of frames that are written or told apart here.
pub(crate) mod kind {
    pub(crate) const SETUP: u16 = 0x01;
    pub(crate) const LEASE: u16 = 0x02;
    pub(crate) const KEEPALIVE: u16 = 0x03;
    pub(crate) const REQUEST_RESPONSE: u16 = 0x04;
    pub(crate) const REQUEST_FNF: u16 = 0x05;
    pub(crate) const REQUEST_STREAM: u16 = 0x06;
    pub(crate) const REQUEST_CHANNEL: u16 = 0x07;
    pub(crate) const REQUEST_N: u16 = 0x08;
    pub(crate) const CANCEL: u16 = 0x09;
    pub(crate) const PAYLOAD: u16 = 0x0A;
    pub(crate) const ERROR: u16 = 0x0B;
    pub(crate) const METADATA_PUSH: u16 = 0x0C;
    pub(crate) const RESUME: u16 = 0x0D;
}

/// Why a frame ends a stream or a connection (protocol 1.0, "Error Codes").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ErrorCode {
    /// The setup cannot be read.
    InvalidSetup = 0x0001,
    /// The setup asks for what is not there.
    UnsupportedSetup = 0x0002,
    /// The setup is refused: wrong credentials, too many connections.
    RejectedSetup = 0x0003,
    /// There is nothing to resume.
    RejectedResume = 0x0004,
    /// The connection ends at once.
    ConnectionError = 0x0101,
    /// The connection ends when its streams have.
    ConnectionClose = 0x0102,
    /// The request failed.
    ApplicationError = 0x0201,
    /// The request was not looked at: a limit.
    Rejected = 0x0202,
    /// The request was given up.
    Canceled = 0x0203,
    /// The request makes no sense.
    Invalid = 0x0204,
}

/// What a requester expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interaction {
    /// One payload.
    Response,
    /// Nothing.
    FireAndForget,
    /// Payloads, as many as were asked for.
    Stream,
    /// Payloads in both directions.
    Channel,
}

/// Metadata and data of a frame, as slices of the bytes received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// What the frame says of its data; `None` where the flag is not set, which differs from empty.
    pub metadata: Option<Bytes>,
    /// The data.
    pub data: Bytes,
}

/// How a client wants to talk. MIME types are read over: no answer depends on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Major version of the protocol.
    pub major: u16,
    /// Minor version of the protocol.
    pub minor: u16,
    /// Milliseconds between keep-alives.
    pub keep_alive_ms: u32,
    /// Milliseconds without an answer after which the other side is dead.
    pub lifetime_ms: u32,
    /// Whether the client wants to resume broken connections.
    pub resumes: bool,
    /// Whether the client waits for leases.
    pub leases: bool,
    /// Metadata holds the credentials.
    pub payload: Payload,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The first of a connection.
    Setup(Setup),
    /// A sign of life.
    KeepAlive {
        /// Whether it is to be answered.
        respond: bool,
        /// To be sent back with the answer.
        data: Bytes,
    },
    /// The first of a stream.
    Request {
        /// The new stream.
        stream: u32,
        /// What is expected.
        interaction: Interaction,
        /// How many payloads may be sent at first; 1 where one is expected, 0 where none is.
        demand: u32,
        /// Whether the payload goes on in payload frames.
        follows: bool,
        /// The route and the question.
        payload: Payload,
    },
    /// More payloads may be sent.
    RequestN {
        /// The stream.
        stream: u32,
        /// How many more.
        demand: u32,
    },
    /// Nothing more is wanted.
    Cancel {
        /// The stream.
        stream: u32,
    },
    /// A payload, or a fragment of one.
    Payload {
        /// The stream.
        stream: u32,
        /// Whether the payload goes on in further frames.
        follows: bool,
        /// Whether it is the last of the stream.
        complete: bool,
        /// Whether there is a payload at all.
        next: bool,
        /// The payload.
        payload: Payload,
    },
    /// A stream failed, or with stream 0 the connection.
    Error {
        /// The stream.
        stream: u32,
        /// An [`ErrorCode`], or a number of the application's.
        code: u32,
        /// The reason, UTF-8.
        message: Bytes,
    },
    /// An attempt to resume.
    Resume,
    /// A frame that a responder has no use for but knows: a lease, metadata.
    Unused,
    /// A frame of a type that does not exist.
    Unknown {
        /// Whether it may be passed over.
        ignorable: bool,
    },
}

/// A frame that breaks off, or says something impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameError {
    /// What is wrong.
    pub message: &'static str,
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for FrameError {}

/// The length of the frame that `input` begins with, without the bytes that announce it; `None` while they are not
/// all there.
///
/// ```
/// use durward_wire::rsocket::frame::announced_length;
///
/// assert_eq!(announced_length(&[0, 1, 2, 9]), Some(258));
/// assert_eq!(announced_length(&[0, 1]), None);
/// ```
pub fn announced_length(input: &[u8]) -> Option<usize> {
    match input {
        [high, middle, low, ..] => {
            Some(usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low))
        }
        _ => None,
    }
}

/// Takes the next whole frame, without its length, off `input`.
pub fn split(input: &mut BytesMut) -> Option<Bytes> {
    let length = announced_length(input)?;
    if input.len() < LENGTH_BYTES + length {
        return None;
    }
    input.advance(LENGTH_BYTES);
    Some(input.split_to(length).freeze())
}

impl Frame {
    /// Reads a frame, its length taken off.
    ///
    /// # Errors
    /// Bytes that end before the frame does, or a stream frame on stream 0.
    pub fn read(mut bytes: Bytes) -> Result<Frame, FrameError> {
        let input = &mut bytes;
        let stream = take_u32(input)? & UNBOUNDED;
        let word = input.try_get_u16().map_err(|_| ENDED)?;
        let (kind, flags) = (word >> 10, word & 0x3FF);
        match kind {
            kind::SETUP => Ok(Frame::Setup(setup(input, flags)?)),
            kind::KEEPALIVE => {
                // The position counts only for those who resume.
                input.try_get_u64().map_err(|_| ENDED)?;
                Ok(Frame::KeepAlive { respond: flags & flag::RESPOND != 0, data: bytes })
            }
            kind::REQUEST_RESPONSE => request(input, stream, flags, Interaction::Response),
            kind::REQUEST_FNF => request(input, stream, flags, Interaction::FireAndForget),
            kind::REQUEST_STREAM => request(input, stream, flags, Interaction::Stream),
            kind::REQUEST_CHANNEL => request(input, stream, flags, Interaction::Channel),
            kind::REQUEST_N => Ok(Frame::RequestN { stream, demand: take_u32(input)? & UNBOUNDED }),
            kind::CANCEL => Ok(Frame::Cancel { stream }),
            kind::PAYLOAD => Ok(Frame::Payload {
                stream,
                follows: flags & flag::FOLLOWS != 0,
                complete: flags & flag::COMPLETE != 0,
                next: flags & flag::NEXT != 0,
                payload: payload(input, flags)?,
            }),
            kind::ERROR => Ok(Frame::Error { stream, code: take_u32(input)?, message: bytes }),
            kind::LEASE | kind::METADATA_PUSH => Ok(Frame::Unused),
            kind::RESUME => Ok(Frame::Resume),
            _ => Ok(Frame::Unknown { ignorable: flags & flag::IGNORE != 0 }),
        }
    }
}

const ENDED: FrameError = FrameError { message: "a frame ends too early" };

fn take_u32(input: &mut Bytes) -> Result<u32, FrameError> {
    input.try_get_u32().map_err(|_| ENDED)
}

fn take(input: &mut Bytes, length: usize) -> Result<Bytes, FrameError> {
    if input.len() < length { Err(ENDED) } else { Ok(input.split_to(length)) }
}

fn setup(input: &mut Bytes, flags: u16) -> Result<Setup, FrameError> {
    let major = input.try_get_u16().map_err(|_| ENDED)?;
    let minor = input.try_get_u16().map_err(|_| ENDED)?;
    let keep_alive_ms = take_u32(input)? & UNBOUNDED;
    let lifetime_ms = take_u32(input)? & UNBOUNDED;
    let resumes = flags & flag::RESUME != 0;
    if resumes {
        let length = input.try_get_u16().map_err(|_| ENDED)?;
        take(input, length.into())?;
    }
    for _mime_type in ["metadata", "data"] {
        let length = input.try_get_u8().map_err(|_| ENDED)?;
        take(input, length.into())?;
    }
    let leases = flags & flag::LEASE != 0;
    Ok(Setup { major, minor, keep_alive_ms, lifetime_ms, resumes, leases, payload: payload(input, flags)? })
}

fn request(
    input: &mut Bytes,
    stream: u32,
    flags: u16,
    interaction: Interaction,
) -> Result<Frame, FrameError> {
    let demand = match interaction {
        Interaction::Response => 1,
        Interaction::FireAndForget => 0,
        Interaction::Stream | Interaction::Channel => take_u32(input)? & UNBOUNDED,
    };
    let payload = payload(input, flags)?;
    Ok(Frame::Request { stream, interaction, demand, follows: flags & flag::FOLLOWS != 0, payload })
}

fn payload(input: &mut Bytes, flags: u16) -> Result<Payload, FrameError> {
    let metadata = if flags & flag::METADATA == 0 {
        None
    } else {
        let length = announced_length(input).ok_or(ENDED)?;
        input.advance(LENGTH_BYTES);
        Some(take(input, length)?)
    };
    Ok(Payload { metadata, data: std::mem::take(input) })
}
