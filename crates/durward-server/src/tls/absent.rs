//! A build without TLS: nothing can be accepted, because nothing can be set up.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

use super::{NotAccepted, Purpose, Trust};
use crate::base::settings::TlsSettings;

/// Has no values.
#[derive(Clone, Debug)]
pub(crate) enum Acceptor {}

impl Acceptor {
    /// # Errors
    /// Always: a server that is told to encrypt must not start unencrypted.
    pub(crate) fn new(_: &TlsSettings, purpose: Purpose) -> Result<Acceptor, String> {
        Err(format!(
            "`[{}]` is set, and this build has no TLS; build it with the feature `tls`, or put a proxy with TLS in front",
            purpose.section()
        ))
    }

    pub(crate) async fn accept(&self, _: TcpStream, _: Duration) -> Result<TcpStream, NotAccepted> {
        match *self {}
    }
}

/// Encrypts nothing.
pub(crate) struct Connector;

impl Connector {
    /// # Errors
    /// Authorities: they would be of no use.
    pub(crate) fn new(trust: Trust<'_>) -> Result<Connector, String> {
        match trust {
            Trust::Authorities(None, _) | Trust::DangerAnybody => Ok(Connector),
            Trust::Authorities(Some(_), setting) => {
                Err(format!("`{setting}` is set, and this build has no TLS; build it with the feature `tls`"))
            }
        }
    }

    /// # Errors
    /// Always: what is to be encrypted must not be sent unencrypted.
    pub(crate) async fn connect(&self, _: TcpStream, _: &str) -> io::Result<TcpStream> {
        Err(io::Error::other("this build has no TLS; build it with the feature `tls`"))
    }
}
