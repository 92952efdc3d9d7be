//! Why a request failed.

use std::fmt;
use std::io::{self, ErrorKind};

use super::wire::AnswerFault;

/// Why a request failed, as records tell it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FailureCause {
    /// An answer with this status, which is none of those expected.
    Status(u16),
    /// An answer that does not say what it should: what was looked at.
    WrongAnswer(String),
    /// No whole answer in time.
    Timeout,
    /// The connection was refused.
    Refused,
    /// The connection was closed or reset before the answer was whole.
    Closed,
    /// What came is not HTTP.
    NotHttp,
    /// What came is not HTTP/2, or breaks its rules.
    NotHttp2,
    /// The server did not choose HTTP/2 when TLS was agreed on (ALPN).
    NoHttp2,
    /// The server reset the stream, with this error code of HTTP/2.
    Reset(u32),
    /// The server gave up the connection, with this error code of HTTP/2.
    GoAway(u32),
    /// What came is not RSocket, or breaks its rules.
    NotRsocket,
    /// The request failed, with this error code of RSocket.
    Rsocket(u32),
    /// The server gave up the connection, with this error code of RSocket.
    RsocketClosed(u32),
    /// Nothing came for longer than the connection's lifetime.
    Silent,
    /// What came is not a message of SAPL.
    NotSapl,
    /// The answer is not an event stream.
    NoEvents,
    /// A stream ended before it was to.
    Ended,
    /// A head, or a body that is looked at, beyond the limits.
    TooLong,
    /// TLS could not be agreed on.
    Tls,
    /// No way to the address.
    Unreachable,
    /// A value that the request needs was never captured: it was not sent.
    NoCapture,
    /// The request cannot be written: a captured value makes a path or header that is none.
    Unwritable,
    /// It was under way when the run was cut short.
    CutShort,
    /// This machine refused: no more ports or files.
    Machine(ErrorKind),
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureCause::Status(status) => write!(f, "status {status}"),
            FailureCause::WrongAnswer(what) => write!(f, "wrong answer: {what}"),
            FailureCause::Timeout => f.write_str("timeout"),
            FailureCause::Refused => f.write_str("refused"),
            FailureCause::Closed => f.write_str("closed"),
            FailureCause::NotHttp => f.write_str("not HTTP"),
            FailureCause::NotHttp2 => f.write_str("not HTTP/2"),
            FailureCause::NoHttp2 => f.write_str("no HTTP/2 by ALPN"),
            FailureCause::Reset(code) => write!(f, "RST_STREAM {}", ErrorCode(HTTP2_CODES, *code)),
            FailureCause::GoAway(code) => write!(f, "GOAWAY {}", ErrorCode(HTTP2_CODES, *code)),
            FailureCause::NotRsocket => f.write_str("not RSocket"),
            FailureCause::Rsocket(code) => write!(f, "RSocket {}", ErrorCode(RSOCKET_CODES, *code)),
            FailureCause::RsocketClosed(code) => {
                write!(f, "RSocket closed: {}", ErrorCode(RSOCKET_CODES, *code))
            }
            FailureCause::Silent => f.write_str("keep-alive unanswered"),
            FailureCause::NotSapl => f.write_str("not a message of SAPL"),
            FailureCause::NoEvents => f.write_str("no event stream"),
            FailureCause::Ended => f.write_str("stream ended"),
            FailureCause::TooLong => f.write_str("answer too long"),
            FailureCause::Tls => f.write_str("TLS"),
            FailureCause::Unreachable => f.write_str("unreachable"),
            FailureCause::CutShort => f.write_str("cut short"),
            FailureCause::Unwritable => f.write_str("request cannot be written"),
            FailureCause::NoCapture => f.write_str("capture missing"),
            FailureCause::Machine(kind) => write!(f, "this machine: {kind}"),
        }
    }
}

/// Error codes of HTTP/2 by name (RFC 9113, 7).
const HTTP2_CODES: &[(u32, &str)] = &[
    (0x0, "NO_ERROR"),
    (0x1, "PROTOCOL_ERROR"),
    (0x2, "INTERNAL_ERROR"),
    (0x3, "FLOW_CONTROL_ERROR"),
    (0x4, "SETTINGS_TIMEOUT"),
    (0x5, "STREAM_CLOSED"),
    (0x6, "FRAME_SIZE_ERROR"),
    (0x7, "REFUSED_STREAM"),
    (0x8, "CANCEL"),
    (0x9, "COMPRESSION_ERROR"),
    (0xa, "CONNECT_ERROR"),
    (0xb, "ENHANCE_YOUR_CALM"),
    (0xc, "INADEQUATE_SECURITY"),
    (0xd, "HTTP_1_1_REQUIRED"),
];

/// Error codes of RSocket by name (protocol 1.0, "Error Codes").
const RSOCKET_CODES: &[(u32, &str)] = &[
    (0x001, "INVALID_SETUP"),
    (0x002, "UNSUPPORTED_SETUP"),
    (0x003, "REJECTED_SETUP"),
    (0x004, "REJECTED_RESUME"),
    (0x101, "CONNECTION_ERROR"),
    (0x102, "CONNECTION_CLOSE"),
    (0x201, "APPLICATION_ERROR"),
    (0x202, "REJECTED"),
    (0x203, "CANCELED"),
    (0x204, "INVALID"),
];

/// An error code by its name, or as a number where it has none.
struct ErrorCode(&'static [(u32, &'static str)], u32);

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.iter().find(|(code, _)| *code == self.1) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "error {:#x}", self.1),
        }
    }
}

impl From<AnswerFault> for FailureCause {
    fn from(fault: AnswerFault) -> FailureCause {
        match fault {
            AnswerFault::NotHttp => FailureCause::NotHttp,
            AnswerFault::TooLong => FailureCause::TooLong,
            AnswerFault::Closed => FailureCause::Closed,
        }
    }
}

impl From<&io::Error> for FailureCause {
    fn from(error: &io::Error) -> FailureCause {
        if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            // Some servers choose nothing, others end the handshake.
            let refused = rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol);
            return if *inner == refused { FailureCause::NoHttp2 } else { FailureCause::Tls };
        }
        let kind = error.kind();
        if kind == ErrorKind::ConnectionRefused {
            FailureCause::Refused
        } else if matches!(
            kind,
            ErrorKind::ConnectionReset
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
                | ErrorKind::ConnectionAborted
                | ErrorKind::WriteZero
        ) {
            FailureCause::Closed
        } else if matches!(
            kind,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown
        ) {
            FailureCause::Unreachable
        } else if kind == ErrorKind::TimedOut {
            FailureCause::Timeout
        } else if kind == ErrorKind::InvalidData {
            FailureCause::Tls
        } else {
            FailureCause::Machine(kind)
        }
    }
}
