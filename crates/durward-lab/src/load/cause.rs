//! Why a request failed.

use std::fmt;
use std::io::{self, ErrorKind};

use super::http::Fault;

/// Why a request failed, as records tell it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
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
    /// A head, or a body that is looked at, beyond the limits.
    TooLong,
    /// TLS could not be agreed on.
    Tls,
    /// No way to the address.
    Unreachable,
    /// A value that the request needs was never captured: it was not sent.
    NoCapture,
    /// It was under way when the run was cut short.
    CutShort,
    /// This machine refused: no more ports or files.
    Machine(ErrorKind),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Status(status) => write!(f, "status {status}"),
            Cause::WrongAnswer(what) => write!(f, "wrong answer: {what}"),
            Cause::Timeout => f.write_str("timeout"),
            Cause::Refused => f.write_str("refused"),
            Cause::Closed => f.write_str("closed"),
            Cause::NotHttp => f.write_str("not HTTP"),
            Cause::TooLong => f.write_str("answer too long"),
            Cause::Tls => f.write_str("TLS"),
            Cause::Unreachable => f.write_str("unreachable"),
            Cause::CutShort => f.write_str("cut short"),
            Cause::NoCapture => f.write_str("capture missing"),
            Cause::Machine(kind) => write!(f, "this machine: {kind}"),
        }
    }
}

impl From<Fault> for Cause {
    fn from(fault: Fault) -> Cause {
        match fault {
            Fault::NotHttp => Cause::NotHttp,
            Fault::TooLong => Cause::TooLong,
            Fault::Closed => Cause::Closed,
        }
    }
}

impl From<&io::Error> for Cause {
    fn from(error: &io::Error) -> Cause {
        if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
            return Cause::Tls;
        }
        let kind = error.kind();
        if kind == ErrorKind::ConnectionRefused {
            Cause::Refused
        } else if matches!(
            kind,
            ErrorKind::ConnectionReset
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
                | ErrorKind::ConnectionAborted
                | ErrorKind::WriteZero
        ) {
            Cause::Closed
        } else if matches!(
            kind,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown
        ) {
            Cause::Unreachable
        } else if kind == ErrorKind::TimedOut {
            Cause::Timeout
        } else if kind == ErrorKind::InvalidData {
            Cause::Tls
        } else {
            Cause::Machine(kind)
        }
    }
}
