//! A build without TLS: nothing can be accepted, because nothing can be set up.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

use super::{Certificates, NotAccepted, TlsError, Trust};

/// Has no values.
#[derive(Clone, Debug)]
pub enum Acceptor {}

impl Acceptor {
    /// # Errors
    /// Always: a server that is told to encrypt must not start unencrypted.
    pub fn new(files: Certificates) -> Result<Acceptor, TlsError> {
        Err(TlsError(format!(
            "`[{}]` is set, and this build has no TLS; build it with the feature `tls`, or put a proxy with TLS in front",
            files.section
        )))
    }

    /// # Errors
    /// None: there is nobody to ask.
    pub async fn accept(&self, _: TcpStream, _: Duration) -> Result<TcpStream, NotAccepted> {
        match *self {}
    }
}

/// Encrypts nothing.
#[derive(Debug)]
pub struct Connector;

impl Connector {
    /// # Errors
    /// Authorities: they would be of no use.
    pub fn new(trust: Trust<'_>) -> Result<Connector, TlsError> {
        match trust {
            Trust::Authorities(None, _) | Trust::DangerAnybody => Ok(Connector),
            Trust::Authorities(Some(_), setting) | Trust::Only(_, setting) => Err(TlsError(format!(
                "`{setting}` is set, and this build has no TLS; build it with the feature `tls`"
            ))),
        }
    }

    /// # Errors
    /// Always: what is to be encrypted must not be sent unencrypted.
    pub async fn connect(&self, _: TcpStream, _: &str) -> io::Result<TcpStream> {
        Err(io::Error::other("this build has no TLS; build it with the feature `tls`"))
    }
}
