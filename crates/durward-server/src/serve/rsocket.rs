//! Accepting connections of RSocket, over TCP, TLS and Unix sockets: one loop for each worker and socket.

use std::io;
use std::net::{SocketAddr, TcpListener};
#[cfg(unix)]
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use durward_common::base::metrics::Metrics;
use durward_common::base::socket::prepare;
use durward_settings::ServerSettings;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::state::note_not_accepted;
use crate::surfaces::rsocket::Surface;
use durward_net::tls::Acceptor;

/// How long to wait after an accept that failed, usually because files ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How many refused connections at once get an error frame; further ones are closed at once.
const REFUSALS_MAX: usize = 64;

/// How long sending that error frame may take.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(1);

/// A socket that is listened on.
pub(crate) enum Listener {
    /// Perhaps encrypted.
    Tcp(TcpListener, Option<Acceptor>),
    /// A path in the file system.
    #[cfg(unix)]
    Unix(UnixListener),
}

impl Listener {
    /// The same socket, for another worker.
    ///
    /// # Errors
    /// Files ran out.
    pub(crate) fn try_clone(&self) -> io::Result<Listener> {
        match self {
            Listener::Tcp(listener, tls) => Ok(Listener::Tcp(listener.try_clone()?, tls.clone())),
            #[cfg(unix)]
            Listener::Unix(listener) => listener.try_clone().map(Listener::Unix),
        }
    }
}

/// Listens on a path. A socket that a server left behind is replaced; one that somebody listens on is not.
///
/// # Errors
/// A path that is in use, is something else, or cannot be made.
#[cfg(unix)]
pub(crate) fn listen_on_path(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    if is_socket
        && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// # Errors
/// Always: this system has no such sockets.
#[cfg(not(unix))]
pub(crate) fn listen_on_path(_: &Path) -> io::Result<std::convert::Infallible> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// What connections are served with, and how.
#[derive(Clone)]
pub(crate) struct Served {
    surface: Arc<Surface>,
    metrics: Arc<Metrics>,
    /// How long a client may take to encrypt, and to take what is written.
    header_time_max: Duration,
    taking_time_max: Duration,
    shutdown_time_max: Duration,
}

impl Served {
    pub(crate) fn new(surface: &Arc<Surface>, metrics: &Arc<Metrics>, settings: &ServerSettings) -> Served {
        Served {
            surface: Arc::clone(surface),
            metrics: Arc::clone(metrics),
            header_time_max: settings.header_time_max(),
            taking_time_max: settings.request_time_max(),
            shutdown_time_max: settings.shutdown_time_max(),
        }
    }
}

/// Accepts and serves until the server stops, then waits for its connections, for as long as the settings say. Gives
/// how many were cut off.
///
/// # Errors
/// A socket that the runtime does not take.
pub(crate) async fn work(
    listeners: Vec<Listener>,
    served: &Served,
    stopping: watch::Receiver<bool>,
) -> io::Result<()> {
    // Every connection holds a sender; when all are gone, so are the connections.
    let (alive, mut all_gone) = mpsc::channel::<()>(1);
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let mut loops = tokio::task::JoinSet::new();
    for listener in listeners {
        let door = Door {
            served: served.clone(),
            stopping: stopping.clone(),
            alive: alive.clone(),
            refusals: Arc::clone(&refusals),
        };
        match listener {
            Listener::Tcp(listener, tls) => {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                loops.spawn(door.accept_tcp(listener, tls));
            }
            #[cfg(unix)]
            Listener::Unix(listener) => {
                let listener = tokio::net::UnixListener::from_std(listener)?;
                loops.spawn(door.accept_unix(listener));
            }
        }
    }
    drop(alive);
    loops.join_all().await;
    if timeout(served.shutdown_time_max, all_gone.recv()).await.is_err() {
        tracing::warn!("requests under way did not end in time and are cut off");
    }
    Ok(())
}

/// What every connection needs.
struct Door {
    served: Served,
    stopping: watch::Receiver<bool>,
    alive: mpsc::Sender<()>,
    refusals: Arc<Semaphore>,
}

impl Door {
    async fn accept_tcp(mut self, listener: tokio::net::TcpListener, tls: Option<Acceptor>) {
        loop {
            let accepted = tokio::select! {
                biased;
                _ = self.stopping.wait_for(|is_stopping| *is_stopping) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, client)) => self.start_tcp(stream, client, tls.clone()),
                Err(error) => pause(&error).await,
            }
        }
    }

    #[cfg(unix)]
    async fn accept_unix(mut self, listener: tokio::net::UnixListener) {
        loop {
            let accepted = tokio::select! {
                biased;
                _ = self.stopping.wait_for(|is_stopping| *is_stopping) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => self.start(None, async move { Some(stream) }),
                Err(error) => pause(&error).await,
            }
        }
    }

    fn start_tcp(&self, stream: TcpStream, client: SocketAddr, tls: Option<Acceptor>) {
        prepare(&stream, self.served.taking_time_max);
        match tls {
            None => self.start(Some(client), async move { Some(stream) }),
            Some(tls) => {
                let Served { metrics, header_time_max, .. } = self.served.clone();
                self.start(Some(client), async move {
                    let accepted = tls.accept(stream, header_time_max).await;
                    accepted.inspect_err(|why| note_not_accepted(&metrics, client, why)).ok()
                });
            }
        }
    }

    /// Gives a connection its task.
    fn start<S>(&self, client: Option<SocketAddr>, stream: impl Future<Output = Option<S>> + Send + 'static)
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let surface = Arc::clone(&self.served.surface);
        let (stopping, alive) = (self.stopping.clone(), self.alive.clone());
        match surface.place() {
            Some(place) => {
                self.served.metrics.rsocket_connection("accepted");
                tokio::spawn(async move {
                    if let Some(stream) = stream.await {
                        surface.serve(stream, client, Some(place), stopping).await;
                    }
                    drop(alive);
                });
            }
            None => {
                self.served.metrics.rsocket_connection("refused");
                if let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() {
                    tokio::spawn(async move {
                        let refused = async {
                            if let Some(stream) = stream.await {
                                surface.serve(stream, client, None, stopping).await;
                            }
                        };
                        let _ = timeout(REFUSAL_TIME_MAX, refused).await;
                        drop((permit, alive));
                    });
                }
            }
        }
    }
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    sleep(ACCEPT_PAUSE).await;
}
