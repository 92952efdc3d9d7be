//! Accepting connections: one loop for each worker, all on one socket, so that whoever is free takes the next. A connection too many is
//! told so, unless it asks for health, metrics or administration.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use durward_common::base::socket::prepare;
use durward_settings::SurfaceSet;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::connection;
use super::places::{ConnectionPlace, NoPlace, ReservedPlace};
use super::state::{Http, Peer, note_not_accepted};
use durward_net::tls::Acceptor;

/// How many connections the system keeps until they are accepted: a burst of a thousand users fits.
const BACKLOG: u32 = 1024;

/// How long to wait after an accept that failed, usually because files ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long a refused connection may take to read why.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(1);

/// How a request begins that is answered also where there are too many connections: whoever looks after the server must get through.
const ON_RESERVE: [&[u8]; 5] =
    [b"GET /health/", b"HEAD /health/", b"GET /metrics", b"HEAD /metrics", b"POST /v1/admin/"];

/// And how if it is about health, for which there are places that nothing else has.
const HEALTH: [&[u8]; 2] = [b"GET /health/", b"HEAD /health/"];

/// How much is read to see that.
const FIRST_READ_BYTES: usize = 4 * 1024;

/// Sent to a connection too many.
const HTTP1_REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: application/problem+json\r\nContent-Length: 109\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"too many connections; try again\"}\n";

/// The same to a client of HTTP/2: empty SETTINGS, which come first, then GOAWAY: ENHANCE_YOUR_CALM, and no request was looked at, so that
/// each may be sent again (RFC 9113, 6.8).
const HTTP2_REFUSAL: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11];

/// A socket that is listened on.
pub(super) struct Listener {
    pub(super) socket: std::net::TcpListener,
    pub(super) door: Door,
}

/// What becomes of connections over one socket.
#[derive(Clone)]
pub(super) struct Door {
    pub(super) tls: Option<Acceptor>,
    /// Whether callers show certificates.
    pub(super) is_authenticated: bool,
    /// What is answered.
    pub(super) surfaces: SurfaceSet,
}

impl Listener {
    /// The same socket, for another worker.
    ///
    /// # Errors
    /// Files ran out.
    pub(super) fn try_clone(&self) -> io::Result<Listener> {
        Ok(Listener { socket: self.socket.try_clone()?, door: self.door.clone() })
    }
}

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

/// Accepts and serves until the server stops, then waits for its connections, for as long as the settings say.
pub(super) async fn work(
    listener: Listener,
    http: Arc<Http>,
    mut stopping: watch::Receiver<bool>,
) -> io::Result<()> {
    let Listener { socket, door } = listener;
    let listener = TcpListener::from_std(socket)?;
    // Every connection holds a sender; when all are gone, so are the connections.
    let (alive, mut all_gone) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => start(stream, client, &door, &http, &stopping, &alive),
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
    door: &Door,
    http: &Arc<Http>,
    stopping: &watch::Receiver<bool>,
    alive: &mpsc::Sender<()>,
) {
    let door = door.clone();
    let place = match http.connections.take(client.ip(), Instant::now()) {
        Ok(place) => place,
        Err(NoPlace(setting)) => {
            http.metrics.connection("refused");
            http.metrics.limit_hit(setting);
            if let Some(reserved) = http.connections.reserve(client.ip()) {
                prepare(&stream, http.settings.server.request_time_max());
                tokio::spawn(without_place(stream, client, door, Arc::clone(http), reserved));
            }
            return;
        }
    };
    http.metrics.connection("accepted");
    prepare(&stream, http.settings.server.request_time_max());
    let (http, stopping, alive) = (Arc::clone(http), stopping.clone(), alive.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = place.ended() => {
                http.metrics.connection("displaced");
                tracing::debug!(%client, "an idle connection made room for another one");
            }
            () = serve(stream, client, door, &http, stopping, &place) => {}
        }
        drop((place, alive));
    });
}

/// Serves a connection that has a place.
async fn serve(
    stream: TcpStream,
    client: SocketAddr,
    door: Door,
    http: &Arc<Http>,
    stopping: watch::Receiver<bool>,
    place: &ConnectionPlace,
) {
    let (own, activity) = (Arc::clone(http), Arc::clone(&place.activity));
    let peer = Peer { address: client, has_certificate: door.is_authenticated, surfaces: door.surfaces };
    let Some(tls) = door.tls else {
        return connection::serve_as(stream, peer, own, stopping, activity).await;
    };
    match tls.accept(stream, http.settings.server.header_time_max()).await {
        Ok(stream) => {
            if door.is_authenticated {
                place.activity.authenticate();
            }
            connection::serve_as(stream, peer, own, stopping, activity).await;
        }
        Err(why) => note_not_accepted(&http.metrics, client, &why),
    }
}

/// Answers a connection that has no place, on the reserve.
async fn without_place(
    stream: TcpStream,
    client: SocketAddr,
    door: Door,
    http: Arc<Http>,
    mut reserved: ReservedPlace,
) {
    let peer = Peer { address: client, has_certificate: door.is_authenticated, surfaces: door.surfaces };
    // Whether the client hears it does not matter any more.
    let _ = match door.tls {
        None => on_reserve(stream, peer, &http, &mut reserved).await,
        Some(tls) => match tls.accept(stream, REFUSAL_TIME_MAX).await {
            Ok(stream) => on_reserve(stream, peer, &http, &mut reserved).await,
            Err(why) => {
                note_not_accepted(&http.metrics, client, &why);
                Ok(())
            }
        },
    };
    drop(reserved);
}

/// Answers one request that the reserve is for, and refuses all others in the version that the caller speaks. Who says nothing for a
/// while is told in HTTP/1.1.
async fn on_reserve<S>(
    mut stream: S,
    peer: Peer,
    http: &Arc<Http>,
    reserved: &mut ReservedPlace,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut bytes = BytesMut::with_capacity(FIRST_READ_BYTES);
    let first = timeout(REFUSAL_TIME_MAX / 4, stream.read_buf(&mut bytes)).await;
    first.unwrap_or(Ok(0))?;
    let begins_with = |beginnings: &[&[u8]]| beginnings.iter().any(|beginning| bytes.starts_with(beginning));
    if begins_with(&HEALTH) || begins_with(&ON_RESERVE) && reserved.take_for_others() {
        let served = connection::serve_one(stream, bytes.freeze(), peer, http);
        // Requests for these are small: whoever is slow must not keep the reserve from others.
        let _ = timeout(http.settings.server.header_time_max(), served).await;
        return Ok(());
    }
    let is_http2 = bytes.starts_with(connection::PREFACE);
    let refusal = if is_http2 { HTTP2_REFUSAL } else { HTTP1_REFUSAL };
    timeout(REFUSAL_TIME_MAX, refuse(stream, refusal)).await.unwrap_or(Ok(()))
}

/// Says why, then takes what the caller sends until it goes, so that it is not cut off before it has read that.
async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, refusal: &[u8]) -> io::Result<()> {
    stream.write_all(refusal).await?;
    stream.shutdown().await?;
    let mut bytes = [0; 1024];
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}
