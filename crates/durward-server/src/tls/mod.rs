//! TLS, where this build has it (cargo feature `tls`), and the refusal to do without where it does not.

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

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod present;

#[cfg(not(feature = "tls"))]
pub(crate) use absent::Acceptor;
#[cfg(feature = "tls")]
pub(crate) use present::Acceptor;
