//! Accepting connections: one loop for each worker, all on one socket, so that whoever is free takes the next.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::connection;
use super::state::{Http, note_not_accepted};
use crate::base::socket::prepare;
use durward_net::tls::Acceptor;

/// How many connections the system keeps until they are accepted: a burst of a thousand users fits.
const BACKLOG: u32 = 1024;

/// How long to wait after an accept that failed, usually because files ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How many refused connections at once get the time to read the reason; further ones are closed at once.
const REFUSALS_MAX: usize = 64;

/// How long a refused connection may take to read why.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(1);

/// Sent to a connection too many, without a look at what it asks.
const HTTP1_REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: application/problem+json\r\nContent-Length: 109\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"too many connections; try again\"}\n";

/// The same to a client of HTTP/2: empty SETTINGS, which come first, then GOAWAY: ENHANCE_YOUR_CALM, and no request was looked at, so that
/// each may be sent again (RFC 9113, 6.8).
const HTTP2_REFUSAL: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11];

/// # Errors
/// An address that is in use or not ours.
pub(crate) fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restart must not wait for connections of the last run to be forgotten.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)?.into_std()
}

/// One connection counted; the count goes down when it is dropped.
struct Open(Arc<Http>);

impl Open {
    /// Counts one more, if there may be one more.
    fn new(http: &Arc<Http>) -> Option<Open> {
        let open = Open(Arc::clone(http));
        http.metrics.connections_open.inc();
        let others = http.connections.fetch_add(1, Ordering::Relaxed);
        (others < http.connections_max.load(Ordering::Relaxed)).then_some(open)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
        self.0.metrics.connections_open.dec();
    }
}

/// Accepts and serves until the server stops, then waits for its connections, for as long as the settings say.
pub(crate) async fn work(
    listener: std::net::TcpListener,
    tls: Option<Acceptor>,
    http: Arc<Http>,
    mut stopping: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    // Every connection holds a sender; when all are gone, so are the connections.
    let (alive, mut all_gone) = mpsc::channel::<()>(1);
    let refusals = Arc::new(tokio::sync::Semaphore::new(REFUSALS_MAX));
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => start(stream, client, tls.as_ref(), &http, &stopping, &alive, &refusals),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop((listener, alive));
    if timeout(http.settings.server.shutdown_time_max(), all_gone.recv()).await.is_err() {
        tracing::warn!("requests under way did not end in time and are cut off");
    }
    Ok(())
}

/// Gives a connection its task.
fn start(
    stream: TcpStream,
    client: SocketAddr,
    tls: Option<&Acceptor>,
    http: &Arc<Http>,
    stopping: &watch::Receiver<bool>,
    alive: &mpsc::Sender<()>,
    refusals: &Arc<tokio::sync::Semaphore>,
) {
    let Some(open) = Open::new(http) else {
        http.metrics.connection("refused");
        http.metrics.limit_hit("server.connections_max");
        if let (Ok(permit), None) = (Arc::clone(refusals).try_acquire_owned(), tls) {
            tokio::spawn(async move {
                let _ = timeout(REFUSAL_TIME_MAX, refuse(stream)).await;
                drop(permit);
            });
        }
        return;
    };
    http.metrics.connection("accepted");
    prepare(&stream, http.settings.server.request_time_max());
    let (http, stopping, alive) = (Arc::clone(http), stopping.clone(), alive.clone());
    match tls.cloned() {
        None => tokio::spawn(async move {
            connection::serve(stream, client, http, stopping).await;
            drop((open, alive));
        }),
        Some(tls) => tokio::spawn(async move {
            match tls.accept(stream, http.settings.server.header_time_max()).await {
                Ok(stream) => connection::serve(stream, client, http, stopping).await,
                Err(why) => note_not_accepted(&http.metrics, client, &why),
            }
            drop((open, alive));
        }),
    };
}

/// Says why, in the version that the caller speaks, then takes what the caller sends until it goes, so that it is not cut off before
/// it has read that. Who says nothing for a while is told in HTTP/1.1.
async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    let mut bytes = [0; 1024];
    let first = timeout(REFUSAL_TIME_MAX / 4, stream.read(&mut bytes)).await;
    let count = first.unwrap_or(Ok(0))?;
    let is_http2 = bytes.get(..count).is_some_and(|first| first.starts_with(connection::PREFACE));
    stream.write_all(if is_http2 { HTTP2_REFUSAL } else { HTTP1_REFUSAL }).await?;
    stream.shutdown().await?;
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}
