//! A connection's bytes: plain, or through TLS.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// How TLS is spoken to a node.
#[derive(Clone, Debug)]
pub(super) struct TlsEndpoint {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
}

/// A socket that does not block.
#[derive(Debug)]
pub(super) enum NonblockingSocket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl NonblockingSocket {
    /// Begins to connect.
    pub(super) fn connect(address: SocketAddr, tls: Option<&TlsEndpoint>) -> io::Result<NonblockingSocket> {
        let socket = TcpStream::connect(address)?;
        match tls {
            None => Ok(NonblockingSocket::Plain(socket)),
            Some(tls) => {
                let connection = ClientConnection::new(Arc::clone(&tls.config), tls.name.clone())
                    .map_err(io::Error::other)?;
                Ok(NonblockingSocket::Tls(Box::new(StreamOwned::new(connection, socket))))
            }
        }
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self, NonblockingSocket::Tls(_))
    }

    /// Whether TLS, once agreed on, agreed on this protocol as well (ALPN); a plain socket agrees on anything.
    pub(super) fn has_agreed_on(&self, protocol: &[u8]) -> bool {
        match self {
            NonblockingSocket::Plain(_) => true,
            NonblockingSocket::Tls(stream) => {
                stream.conn.is_handshaking() || stream.conn.alpn_protocol() == Some(protocol)
            }
        }
    }

    fn socket(&mut self) -> &mut TcpStream {
        match self {
            NonblockingSocket::Plain(socket) => socket,
            NonblockingSocket::Tls(stream) => &mut stream.sock,
        }
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(self.socket(), token, Interest::READABLE | Interest::WRITABLE)
    }

    /// Whether the connection is there; an error where it never will be.
    pub(super) fn is_connected(&mut self) -> io::Result<bool> {
        let socket = self.socket();
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        if socket.peer_addr().is_err() {
            return Ok(false);
        }
        // Small requests must not wait for acknowledgements of earlier ones.
        socket.set_nodelay(true)?;
        Ok(true)
    }

    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            NonblockingSocket::Plain(socket) => socket.read(into),
            NonblockingSocket::Tls(stream) => stream.read(into),
        }
    }

    pub(super) fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            NonblockingSocket::Plain(socket) => socket.write(from),
            NonblockingSocket::Tls(stream) => {
                let written = stream.write(from)?;
                match stream.flush() {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
                    Ok(()) | Err(_) => Ok(written),
                }
            }
        }
    }

    /// Writes what TLS still holds.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            NonblockingSocket::Plain(_) => Ok(()),
            NonblockingSocket::Tls(stream) => stream.flush(),
        }
    }
}
