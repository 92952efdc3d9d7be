//! TLS, where this build has it (cargo feature `tls`).

use std::net::SocketAddr;

use tokio::net::TcpStream;

use crate::settings::TlsSettings;
use crate::state::Shared;

/// Turns a connection into an encrypted one.
#[derive(Clone, Debug)]
pub(crate) enum Acceptor {}

impl Acceptor {
    /// # Errors
    /// Always: without the feature, a server that is told to encrypt must not start unencrypted.
    pub(crate) fn new(_: &TlsSettings) -> Result<Acceptor, String> {
        Err("`[server.tls]` is set, and this build has no TLS; build it with `--features tls`, or put a proxy with \
             TLS in front"
            .into())
    }

    pub(crate) async fn accept(&self, _: TcpStream, _: SocketAddr, _: &Shared) -> Option<TcpStream> {
        match *self {}
    }
}
