//! TLS, where this build has it (cargo feature `tls`), and the refusal to do without where it does not.

use std::fmt;
use std::path::PathBuf;

/// Why a connection was not encrypted.
#[derive(Debug)]
pub enum NotAccepted {
    /// The caller did not finish in time.
    TooSlow,
    /// The caller speaks something else, or may not call.
    Failed(std::io::Error),
}

/// Certificates that are shown to callers, and what callers must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificates {
    /// The chain, PEM.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
    /// Whose certificates callers must show, PEM. Nobody's, where there is none.
    pub client_authorities: Option<PathBuf>,
    /// What names these files, for messages: the files are `SECTION.certificate`, `SECTION.key` and `SECTION.client_authorities`.
    pub section: &'static str,
    /// The protocols that are spoken, as ALPN names them. None, where it has no name.
    pub protocols: &'static [&'static str],
}

/// Why certificates or authorities cannot be used: the operator's mistake. It is shown with the file and the setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError(pub(crate) String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

impl fmt::Display for NotAccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAccepted::TooSlow => f.write_str("the caller did not finish in time"),
            NotAccepted::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotAccepted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            NotAccepted::TooSlow => None,
            NotAccepted::Failed(error) => Some(error),
        }
    }
}

/// Which servers are believed to be who they say.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// Those that the system's authorities vouch for, and those of a file; and what names the file, for messages.
    Authorities(Option<&'a std::path::Path>, &'static str),
    /// Those that the authorities of a file vouch for, and nobody else; and what names the file, for messages.
    Only(&'a std::path::Path, &'static str),
    /// All: whoever can read along can answer, too.
    DangerAnybody,
}

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod acceptor;
#[cfg(feature = "tls")]
mod connector;

#[cfg(not(feature = "tls"))]
pub use absent::{Acceptor, Connector};
#[cfg(feature = "tls")]
pub use acceptor::Acceptor;
#[cfg(feature = "tls")]
pub use connector::Connector;
