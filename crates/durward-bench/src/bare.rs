//! A server of the same parts (hyper, tokio) that reads every request and answers it with the same bytes: the cost of HTTP alone.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use durward_lab::process::{thread_id, time_of_thread};

use crate::server::http::head;

/// How long a server may take to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

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
    /// Starts one on a free port of this machine, which answers with this body of JSON. Its thread runs on the cores of the one
    /// that calls this.
    ///
    /// # Errors
    /// No port or no thread can be had.
    pub fn start(body: &[u8]) -> io::Result<Bare> {
        let fields = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        Bare::answering(fields, body)
    }

    /// The same, which answers with the fields and the body of an answer of HTTP/1.1.
    fn like(head: &str, body: &[u8]) -> io::Result<Bare> {
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value.trim()).ok()?))
        };
        let fields: Option<HeaderMap> = head.lines().skip(1).map(field).collect();
        let mut fields = fields.ok_or(io::ErrorKind::InvalidData)?;
        // The library writes these itself.
        fields.remove(DATE);
        fields.remove(CONTENT_LENGTH);
        Bare::answering(fields, body)
    }

    /// The same, which answers as a server did to this request of HTTP/1.1.
    ///
    /// # Errors
    /// The server is not reached, or answers nonsense; no port or no thread can be had.
    pub fn like_answer_of(server: SocketAddr, request: &[u8]) -> io::Result<Bare> {
        let mut stream = std::net::TcpStream::connect(server)?;
        stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
        stream.write_all(request)?;
        let mut input = Vec::new();
        let head = loop {
            let mut some = [0; 4096];
            let count = stream.read(&mut some)?;
            input.extend_from_slice(some.get(..count).unwrap_or_default());
            match head(&input).map_err(io::Error::other)? {
                Some(head) if input.len() >= head.bytes + head.body_bytes => break head,
                _ if count == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
        };
        let (text, body) = input.split_at(head.bytes);
        Bare::like(str::from_utf8(text).map_err(io::Error::other)?.trim_end(), body)
    }

    fn answering(fields: HeaderMap, body: &[u8]) -> io::Result<Bare> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let answer = CannedAnswer { fields, body: Bytes::copy_from_slice(body) };
        let (tell, told) = mpsc::channel();
        let thread = thread::Builder::new().name("bare".to_owned()).spawn(move || {
            // Whoever started the thread waits for it.
            let _ = tell.send(thread_id());
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    // Whoever asks sees that nobody accepts.
                    _ = accept(listener, answer) => {}
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
    pub(crate) fn ran(&self) -> Option<Duration> {
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

/// What is answered to everything.
#[derive(Clone)]
struct CannedAnswer {
    fields: HeaderMap,
    body: Bytes,
}

async fn accept(listener: std::net::TcpListener, said: CannedAnswer) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let said = said.clone();
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| answer(&said, request));
            let connection = http1::Builder::new()
                .header_read_timeout(None)
                .serve_connection(TokioIo::new(stream), service);
            // A connection that breaks off is seen by whoever asked on it.
            let _ = connection.await;
        });
    }
}

async fn answer(said: &CannedAnswer, request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    request.into_body().collect().await?;
    let mut answer = Response::new(Full::new(said.body.clone()));
    answer.headers_mut().clone_from(&said.fields);
    Ok(answer)
}
