//! A server of the same parts (hyper, tokio) that answers everything with the same body: what a validation would cost if
//! there were nothing to it but HTTP.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use durward_lab::process::{thread_id, time_of_thread};

/// A bare server on a thread of its own; it ends when dropped.
#[derive(Debug)]
pub struct Bare {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// By which the system knows the thread, where it tells.
    id: Option<u32>,
}

impl Bare {
    /// Starts one on a free port of this machine. Its thread runs on the cores of the one that calls this.
    ///
    /// # Errors
    /// No port or no thread can be had.
    pub fn start(body: &[u8]) -> io::Result<Bare> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let body = Bytes::copy_from_slice(body);
        let (tell, told) = mpsc::channel();
        let thread = thread::Builder::new().name("bare".to_owned()).spawn(move || {
            // Whoever started the thread waits for it.
            let _ = tell.send(thread_id());
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    // Whoever asks sees that nobody accepts.
                    _ = accept(listener, body) => {}
                }
            });
        })?;
        let id = told.recv().unwrap_or(None);
        Ok(Bare { address, stop: Some(stop), thread: Some(thread), id })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How long its thread ran on a core so far; `None` where the system does not tell.
    pub(super) fn ran(&self) -> Option<Duration> {
        time_of_thread(self.id?)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: std::net::TcpListener, body: Bytes) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let body = body.clone();
        tokio::spawn(async move {
            let service =
                service_fn(|_: Request<Incoming>| std::future::ready(Ok::<_, Infallible>(answer(&body))));
            let connection = http1::Builder::new()
                .header_read_timeout(None)
                .serve_connection(TokioIo::new(stream), service);
            // A connection that breaks off is seen by whoever asked on it.
            let _ = connection.await;
        });
    }
}

fn answer(body: &Bytes) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(body.clone()));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
