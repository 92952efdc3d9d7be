//! A real HTTP server of few words, which remembers what it was asked.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) type Body = BoxBody<Bytes, Infallible>;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        let of_name = self.headers.iter().filter(|(own, _)| own == name);
        of_name.map(|(_, value)| value.as_str()).collect()
    }
}

pub(crate) type Answering = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

/// Ends when it is dropped.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Service {
    pub(crate) async fn start(answer: impl Fn(Seen) -> Answering + Send + Sync + 'static) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (answer, notes) = (Arc::new(answer), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, notes) = (Arc::clone(&answer), Arc::clone(&notes));
                connections.spawn(async move {
                    let service = service_fn(move |request| {
                        let (answer, notes) = (Arc::clone(&answer), Arc::clone(&notes));
                        async move {
                            let seen = note(request).await;
                            notes.lock().unwrap().push(seen.clone());
                            Ok::<_, Infallible>(answer(seen).await)
                        }
                    });
                    let builder = hyper::server::conn::http1::Builder::new();
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Service { address, seen, task }
    }

    /// One that always gives the same.
    pub(crate) async fn saying(status: u16, content_type: &'static str, body: &'static str) -> Service {
        Service::start(move |_| Box::pin(async move { response(status, content_type, body) })).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn note(request: Request<Incoming>) -> Seen {
    let headers = request.headers().iter();
    let headers = headers
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let (method, target) = (request.method().to_string(), request.uri().to_string());
    let headers = headers.collect();
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Seen { method, target, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

pub(crate) fn response(status: u16, content_type: &str, body: impl Into<Bytes>) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", content_type);
    response.body(Full::new(body.into()).boxed()).unwrap()
}
