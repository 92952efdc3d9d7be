//! Connections to services: TCP, and TLS over it where the address says so.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use crate::tls::{Connector as Tls, TlsError, Trust};

/// After how long a silence the system asks whether the other side is still there: a cut cable must not hold a place for
/// ever.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// Where to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Whether TLS is spoken there.
    pub is_encrypted: bool,
    /// A name or an address; the latter without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Endpoint { host, port, .. } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// A connection that is being opened. In memory of its own, so that opening it is compiled here and not in every crate that waits.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send + 'a>>;

/// Opens connections.
#[derive(Clone)]
pub struct Connector(Arc<Inner>);

struct Inner {
    tls: Tls,
    time_max: Duration,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("time_max", &self.0.time_max).finish_non_exhaustive()
    }
}

impl Connector {
    /// A connector that believes the system's authorities, and those of the file that `sources.authorities` names. Connecting may take
    /// so long, TLS included.
    ///
    /// # Errors
    /// Authorities that cannot be read.
    pub fn new(authorities: Option<&Path>, time_max: Duration) -> Result<Connector, TlsError> {
        Connector::trusting(Trust::Authorities(authorities, "sources.authorities"), time_max)
    }

    /// A connector that believes whom it is told to.
    ///
    /// # Errors
    /// Authorities that cannot be read.
    pub fn trusting(trust: Trust<'_>, time_max: Duration) -> Result<Connector, TlsError> {
        Ok(Connector(Arc::new(Inner { tls: Tls::new(trust)?, time_max })))
    }

    /// Connects to a path in the file system.
    ///
    /// # Errors
    /// Nobody listens there, or may not be spoken to.
    #[cfg(unix)]
    pub async fn connect_unix(&self, path: &Path) -> io::Result<Stream> {
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "connecting took too long");
        let stream = timeout(self.0.time_max, tokio::net::UnixStream::connect(path)).await.map_err(late)?;
        Ok(Stream(Box::new(stream?)))
    }

    /// Connects to a service.
    ///
    /// # Errors
    /// A name that is not known, a service that does not answer or is not who it says, or one that is too slow.
    pub fn connect<'a>(&'a self, endpoint: &'a Endpoint) -> Connecting<'a> {
        Box::pin(async {
            let connect = self.connect_patiently(endpoint);
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "connecting took too long");
            timeout(self.0.time_max, connect).await.map_err(late)?
        })
    }

    async fn connect_patiently(&self, endpoint: &Endpoint) -> io::Result<Stream> {
        let tcp = self.connect_tcp(&endpoint.host, endpoint.port).await?;
        if endpoint.is_encrypted { self.secure(tcp, &endpoint.host).await } else { Ok(Stream(Box::new(tcp))) }
    }

    /// Connects without TLS and without a limit of time, for protocols that ask for TLS in their own words first: [`Connector::secure`] is
    /// what they do then.
    ///
    /// # Errors
    /// A name that is not known, or a service that does not answer.
    pub async fn connect_tcp(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let tcp = TcpStream::connect((host, port)).await?;
        tcp.set_nodelay(true)?;
        SockRef::from(&tcp).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
        Ok(tcp)
    }

    /// Speaks TLS from here on, with a service of this name.
    ///
    /// # Errors
    /// A service that is not who it says, or speaks something else; a build without TLS.
    pub fn secure<'a>(&'a self, tcp: TcpStream, host: &'a str) -> Connecting<'a> {
        Box::pin(async move { Ok(Stream(Box::new(self.0.tls.connect(tcp, host).await?))) })
    }
}

/// Whether a name or address is this machine's own, so that nobody reads along on the way.
pub fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// A connection of either kind.
pub struct Stream(Box<dyn Duplex>);

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream(..)")
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(task, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(task)
    }
}

/// hyper's pool of connections opens them with this.
#[derive(Debug)]
pub struct Pooled(TokioIo<Stream>);

impl Connection for Pooled {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl hyper::rt::Read for Pooled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(task, buffer)
    }
}

impl hyper::rt::Write for Pooled {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(task)
    }
}

impl Service<Uri> for Connector {
    type Response = Pooled;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Pooled>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let no_host = || io::Error::new(io::ErrorKind::InvalidInput, "an address without a host");
            let host = uri.host().ok_or_else(no_host)?.trim_start_matches('[').trim_end_matches(']');
            let is_encrypted = uri.scheme_str() == Some("https");
            let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
            let endpoint = Endpoint { is_encrypted, host: host.to_owned(), port };
            Ok(Pooled(TokioIo::new(connector.connect(&endpoint).await?)))
        })
    }
}
