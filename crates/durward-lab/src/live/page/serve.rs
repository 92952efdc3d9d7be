//! Takes connections for the page, as many as it can afford.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};

use super::PageShared;
use super::answer::answer;
use super::stream::StallTimeout;

/// Connections at once; more are closed at once.
const CONNECTIONS_MAX: usize = 64;
/// A head must be whole within this, and a kept connection asks again within it.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// A head has no more bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// What is waited where no connection can be taken: no more files.
const PAUSE: Duration = Duration::from_millis(200);

/// What every connection needs.
#[derive(Clone, Debug)]
pub(super) struct PageServer {
    shared: Arc<PageShared>,
    host: Arc<str>,
}

impl PageServer {
    /// `host` is the name that the page was asked for at.
    pub(super) fn new(shared: Arc<PageShared>, host: String) -> PageServer {
        PageServer { shared, host: host.into() }
    }
}

/// Serves until `stopped`, which is when its other end is dropped. Connections end with the runtime.
pub(super) async fn serve(listener: TcpListener, server: PageServer, mut stopped: oneshot::Receiver<()>) {
    // It does not block, so it fails only where the runtime is none.
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let socket = tokio::select! {
            _ = &mut stopped => return,
            taken = listener.accept() => match taken {
                Ok((socket, _)) => socket,
                Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let server = server.clone();
            tokio::spawn(async move {
                connection(socket, server).await;
                drop(place);
            });
        }
    }
}

async fn connection(socket: TcpStream, server: PageServer) {
    // Events are small, and must not wait for one another.
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| {
        let answer = answer(&request, &server.shared, &server.host);
        async move { Ok::<_, Infallible>(answer) }
    });
    // Whoever breaks the protocol or goes away ends only their own connection.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(StallTimeout::new(socket)), service)
        .await;
}
