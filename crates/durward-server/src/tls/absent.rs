//! A build without TLS: nothing can be accepted, because nothing can be set up.

use std::net::SocketAddr;

use tokio::net::TcpStream;

use super::Purpose;
use crate::settings::TlsSettings;
use crate::state::Shared;

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

    pub(crate) async fn accept(&self, _: TcpStream, _: SocketAddr, _: &Shared) -> Option<TcpStream> {
        match *self {}
    }
}
