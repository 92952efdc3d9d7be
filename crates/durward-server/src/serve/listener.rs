//! Accepting connections: one loop for each worker, all on one socket, so that whoever is free takes the next.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[cfg(any(target_os = "android", target_os = "linux"))]
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::base::settings::ServerSettings;
use crate::serve::connection;
use crate::serve::state::Shared;

/// How many connections the system keeps until they are accepted: a burst of a thousand users fits.
const BACKLOG: u32 = 1024;

/// How long to wait after an accept that failed, usually because files ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How many refused connections are given the time to read why at once; further ones are just closed.
const REFUSALS_MAX: usize = 64;

/// How long a refused connection may take to read why.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(1);

/// Sent to a connection too many, without a look at what it asks.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: application/problem+json\r\nContent-Length: 109\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"too many connections; try again\"}\n";

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

/// What holds for every connection over TCP. Failing changes nothing else.
pub(crate) fn prepare(stream: &TcpStream, settings: &ServerSettings) {
    // Answers are written whole: waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    // The system takes what is written whether or not anybody is there any more, and by itself gives up a quarter of
    // an hour later. Streams of events write rarely, so only this finds those whose readers went without a word.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    let _ = SockRef::from(stream).set_tcp_user_timeout(Some(settings.request_time_max()));
    #[cfg(not(any(target_os = "android", target_os = "linux")))]
    let _ = settings;
}

/// Whether the system gave a connection up because what was written was not taken in time. It tells a reason from
/// further down where it heard one, such as that nobody knows the way.
pub(crate) fn is_given_up(error: &io::Error) -> bool {
    use io::ErrorKind::{HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(error.kind(), TimedOut | HostUnreachable | NetworkUnreachable)
}

/// One connection counted; the count goes down when it is dropped.
struct Open(Arc<Shared>);

impl Open {
    /// Counts one more, if there may be one more.
    fn new(shared: &Arc<Shared>) -> Option<Open> {
        let open = Open(Arc::clone(shared));
        shared.metrics.connections_open.inc();
        let others = shared.connections.fetch_add(1, Ordering::Relaxed);
        (others < shared.settings.server.connections_max).then_some(open)
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
    tls: Option<crate::tls::Acceptor>,
    shared: Arc<Shared>,
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
            Ok((stream, client)) => {
                start(stream, client, tls.as_ref(), &shared, &stopping, &alive, &refusals)
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop((listener, alive));
    if timeout(shared.settings.server.shutdown_time_max(), all_gone.recv()).await.is_err() {
        tracing::warn!("requests under way did not end in time and are cut off");
    }
    Ok(())
}

/// Gives a connection its task.
fn start(
    stream: TcpStream,
    client: SocketAddr,
    tls: Option<&crate::tls::Acceptor>,
    shared: &Arc<Shared>,
    stopping: &watch::Receiver<bool>,
    alive: &mpsc::Sender<()>,
    refusals: &Arc<tokio::sync::Semaphore>,
) {
    let Some(open) = Open::new(shared) else {
        shared.metrics.connection("refused");
        shared.metrics.limit_hit("connections_max");
        if let (Ok(permit), None) = (Arc::clone(refusals).try_acquire_owned(), tls) {
            tokio::spawn(async move {
                let _ = timeout(REFUSAL_TIME_MAX, refuse(stream)).await;
                drop(permit);
            });
        }
        return;
    };
    shared.metrics.connection("accepted");
    prepare(&stream, &shared.settings.server);
    let (shared, stopping, alive) = (Arc::clone(shared), stopping.clone(), alive.clone());
    match tls.cloned() {
        None => tokio::spawn(async move {
            connection::serve(stream, client, shared, stopping).await;
            drop((open, alive));
        }),
        Some(tls) => tokio::spawn(async move {
            if let Some(stream) = tls.accept(stream, client, &shared).await {
                connection::serve(stream, client, shared, stopping).await;
            }
            drop((open, alive));
        }),
    };
}

/// Says why, then takes what the caller sends until it goes, so that it is not cut off before it has read that.
async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(REFUSAL).await?;
    stream.shutdown().await?;
    let mut ignored = [0; 1024];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}

#[cfg(all(test, any(target_os = "android", target_os = "linux")))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_stops_to_acknowledge_is_given_up_in_the_time_for_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (_client, accepted) = tokio::join!(connecting, listener.accept());
        let (stream, _) = accepted.unwrap();
        let settings = ServerSettings { request_time_ms_max: 1234, ..ServerSettings::default() };
        prepare(&stream, &settings);
        let time = SockRef::from(&stream).tcp_user_timeout().unwrap();
        assert_eq!(time, Some(Duration::from_millis(1234)));
    }
}
