//! TLS, where this build has it (cargo feature `tls`), and the refusal to do without where it does not.

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
