//! Hello, Acknowledge and Error (Part 6, 7.1.2.3 to 7.1.2.5). Reverse connections are not supported.

use opcua_types::StatusCode;

use super::chunk::CHUNK_HEADER_BYTES;
use super::limits::{BUFFER_BYTES_MIN, MessageLimits, TransportLimits};
use super::reader::WireReader;
use crate::error::Error;

/// The longest endpoint URL (Part 6, 7.1.2.3).
pub const ENDPOINT_URL_BYTES_MAX: usize = 4_096;

/// The longest Hello: header, five numbers, a URL and its length.
pub const HELLO_BYTES_MAX: usize = CHUNK_HEADER_BYTES + 20 + 4 + ENDPOINT_URL_BYTES_MAX;

/// The longest reason in an Error message (Part 6, 7.1.2.5).
const REASON_BYTES_MAX: usize = 4_096;

/// The version of the connection protocol; there is no other.
const PROTOCOL_VERSION: u32 = 0;

/// What a client begins a connection with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelloMessage {
    /// The largest chunk that the client receives.
    pub receive_buffer_bytes: u32,
    /// The largest chunk that the client sends.
    pub send_buffer_bytes: u32,
    /// The largest message that the client takes as a response.
    pub limits: MessageLimits,
    /// The endpoint that the client wants.
    pub endpoint_url: String,
}

/// What a server answers to [`HelloMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledge {
    /// The largest chunk that the server receives.
    pub receive_buffer_bytes: u32,
    /// The largest chunk that the server sends.
    pub send_buffer_bytes: u32,
    /// The largest message that the server takes as a request.
    pub limits: MessageLimits,
}

/// What a side sends before it closes a connection for a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorMessage {
    /// The code.
    pub status: StatusCode,
    /// A reason for people.
    pub reason: String,
}

fn message(kind: &[u8; 4], fields: &[u32], text: Option<&str>) -> Vec<u8> {
    let length = CHUNK_HEADER_BYTES + 4 * fields.len() + text.map_or(0, |text| 4 + text.len());
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(kind);
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
    for field in fields {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    if let Some(text) = text {
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

fn check_buffers(receive: u32, send: u32) -> Result<(), Error> {
    if receive < BUFFER_BYTES_MIN || send < BUFFER_BYTES_MIN {
        return Err(Error::new(
            StatusCode::BadConnectionRejected,
            format!(
                "buffers of {receive} and {send} bytes are offered; at least {BUFFER_BYTES_MIN} are needed"
            ),
        ));
    }
    Ok(())
}

impl HelloMessage {
    /// The Hello of a client that keeps to these limits.
    pub fn new(limits: &TransportLimits, endpoint_url: &str) -> HelloMessage {
        HelloMessage {
            receive_buffer_bytes: limits.receive_buffer_bytes,
            send_buffer_bytes: limits.send_buffer_bytes,
            limits: limits.receive,
            endpoint_url: endpoint_url.to_owned(),
        }
    }

    /// The whole message.
    pub fn encode(&self) -> Vec<u8> {
        let fields = [
            PROTOCOL_VERSION,
            self.receive_buffer_bytes,
            self.send_buffer_bytes,
            self.limits.message_bytes_max,
            self.limits.chunk_count_max,
        ];
        message(b"HELF", &fields, Some(&self.endpoint_url))
    }

    /// Reads what follows the chunk header. A client may speak a later version of the protocol: the server answers with its own.
    ///
    /// # Errors
    /// Truncated, buffers smaller than the standard's minimum, or a URL longer than its maximum.
    pub fn decode(body: &[u8]) -> Result<HelloMessage, Error> {
        let mut reader = WireReader::new(body);
        let _version = reader.u32()?;
        let (receive, send) = (reader.u32()?, reader.u32()?);
        let limits = MessageLimits::of_peer(reader.u32()?, reader.u32()?);
        let endpoint_url = reader.text()?;
        check_buffers(receive, send)?;
        if endpoint_url.len() > ENDPOINT_URL_BYTES_MAX {
            return Err(Error::new(StatusCode::BadTcpEndpointUrlInvalid, "the endpoint URL is too long"));
        }
        Ok(HelloMessage {
            receive_buffer_bytes: receive,
            send_buffer_bytes: send,
            limits,
            endpoint_url: endpoint_url.to_owned(),
        })
    }
}

impl Acknowledge {
    /// What a server with these limits answers: never more than either side offered.
    pub fn negotiate(limits: &TransportLimits, hello: &HelloMessage) -> Acknowledge {
        Acknowledge {
            receive_buffer_bytes: limits.receive_buffer_bytes.min(hello.send_buffer_bytes),
            send_buffer_bytes: limits.send_buffer_bytes.min(hello.receive_buffer_bytes),
            limits: limits.receive,
        }
    }

    /// The whole message.
    pub fn encode(&self) -> Vec<u8> {
        let fields = [
            PROTOCOL_VERSION,
            self.receive_buffer_bytes,
            self.send_buffer_bytes,
            self.limits.message_bytes_max,
            self.limits.chunk_count_max,
        ];
        message(b"ACKF", &fields, None)
    }

    /// Reads what follows the chunk header, as the client that sent `hello`.
    ///
    /// # Errors
    /// Truncated, buffers smaller than the standard's minimum, or larger than asked for.
    pub fn decode(body: &[u8], hello: &HelloMessage) -> Result<Acknowledge, Error> {
        let mut reader = WireReader::new(body);
        let _version = reader.u32()?;
        let (receive, send) = (reader.u32()?, reader.u32()?);
        let limits = MessageLimits::of_peer(reader.u32()?, reader.u32()?);
        check_buffers(receive, send)?;
        if receive > hello.send_buffer_bytes || send > hello.receive_buffer_bytes {
            return Err(Error::new(
                StatusCode::BadConnectionRejected,
                "the server acknowledges larger buffers than were offered",
            ));
        }
        Ok(Acknowledge { receive_buffer_bytes: receive, send_buffer_bytes: send, limits })
    }
}

impl ErrorMessage {
    /// The whole message; a longer reason than the standard allows is cut.
    pub fn encode(&self) -> Vec<u8> {
        let end = self.reason.floor_char_boundary(REASON_BYTES_MAX);
        message(b"ERRF", &[self.status.bits()], Some(self.reason.get(..end).unwrap_or_default()))
    }

    /// Reads what follows the chunk header.
    ///
    /// # Errors
    /// Truncated, or a reason that is longer than the standard allows.
    pub fn decode(body: &[u8]) -> Result<ErrorMessage, Error> {
        let mut reader = WireReader::new(body);
        let status = StatusCode::from(reader.u32()?);
        let reason = reader.byte_string()?.unwrap_or_default();
        if reason.len() > REASON_BYTES_MAX {
            return Err(Error::decoding("the reason of an error message is too long"));
        }
        Ok(ErrorMessage { status, reason: String::from_utf8_lossy(reason).into_owned() })
    }
}

impl From<ErrorMessage> for Error {
    fn from(message: ErrorMessage) -> Error {
        let reason = message.reason.chars().filter(|c| !c.is_control()).collect::<String>();
        let why = if reason.is_empty() { "" } else { ": " };
        Error::new(message.status, format!("the peer closed the connection{why}{reason}"))
    }
}
