//! TLS, where this build has it (cargo feature `tls`), and the refusal to do without where it does not.

/// Why a connection was not encrypted.
#[derive(Debug)]
pub(crate) enum NotAccepted {
    /// The caller did not finish in time.
    TooSlow,
    /// The caller speaks something else, or may not call.
    Failed(std::io::Error),
}

/// What a certificate is shown for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `[server.tls]`.
    Http,
    /// `[rsocket.tls]`.
    Rsocket,
}

impl Purpose {
    /// The section of its settings.
    pub(crate) const fn section(self) -> &'static str {
        match self {
            Purpose::Http => "server.tls",
            Purpose::Rsocket => "rsocket.tls",
        }
    }
}

/// Which servers are believed to be who they say.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trust<'a> {
    /// Those that the system's authorities vouch for, and those of a file; and what names the file, for messages.
    Authorities(Option<&'a std::path::Path>, &'static str),
    /// All: whoever can read along can answer, too.
    DangerAnybody,
}

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod connector;
#[cfg(feature = "tls")]
mod present;

#[cfg(not(feature = "tls"))]
pub(crate) use absent::{Acceptor, Connector};
#[cfg(feature = "tls")]
pub(crate) use connector::Connector;
#[cfg(feature = "tls")]
pub(crate) use present::Acceptor;
