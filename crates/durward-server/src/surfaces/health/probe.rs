//! `/metrics` and `/health` on a socket of their own, for programs whose own socket speaks another protocol.
//!
//! One request for each connection, few connections, little time: whoever looks comes every few seconds, and nobody else may hold up the
//! program.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use durward_common::surfaces::http::negotiate::{Offer, choose};
use durward_common::surfaces::http::{Answer, text_answer, text_of};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Connections at once. Further ones are closed.
const CONNECTIONS_MAX: usize = 16;
/// How long a connection may take, from its first byte to its last.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of a request.
const REQUEST_BYTES_MAX: usize = 16 * 1024;
/// How long to wait after an accept that failed, usually because files ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What is looked at.
pub trait Probed: Send + Sync + 'static {
    /// All metrics, as [`metrics_text`] writes them.
    fn metrics(&self) -> String;

    /// Whether the program can do its work.
    fn health(&self) -> ProbedHealth;
}

/// Whether a program can do its work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbedHealth {
    /// What is missing, each with what to do. Nothing: it is ready.
    pub missing: Vec<String>,
    /// What else operators read.
    pub details: Map<String, Value>,
}

/// Metrics as Prometheus reads them.
pub fn metrics_text(registry: &Registry) -> String {
    let mut text = String::with_capacity(8 * 1024);
    // Writing into a `String` cannot fail.
    let _ = encode(&mut text, registry);
    text
}

/// Answers `GET /metrics` and `GET /health` for ever. `/health` is 200 where nothing is missing, and 503 otherwise.
pub async fn serve_probe(listener: TcpListener, probed: Arc<dyn Probed>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let probed = Arc::clone(&probed);
        tokio::spawn(async move {
            let _ = timeout(CONNECTION_TIME_MAX, connection(stream, probed)).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, probed: Arc<dyn Probed>) {
    let service = service_fn(|request: Request<Incoming>| {
        let answer = answer(&*probed, &request);
        async { Ok::<_, Infallible>(answer) }
    });
    let served = http1::Builder::new()
        .header_read_timeout(None)
        .keep_alive(false)
        .max_buf_size(REQUEST_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection for metrics failed");
    }
}

fn answer<B>(probed: &dyn Probed, request: &Request<B>) -> Response<Full<Bytes>> {
    match request.uri().path() {
        _ if !matches!(*request.method(), Method::GET | Method::HEAD) => {
            let mut answer = refused(StatusCode::METHOD_NOT_ALLOWED, "there is only GET\n");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            answer
        }
        "/metrics" => metrics_answer(request.headers(), probed.metrics()),
        "/health" => health(probed.health()),
        _ => refused(StatusCode::NOT_FOUND, "there is /metrics, and /health\n"),
    }
}

/// Metrics in the form that whoever asks prefers.
pub(super) fn metrics_answer(headers: &HeaderMap, text: String) -> Answer {
    const OPEN_METRICS: Offer =
        Offer { main: "application", sub: "openmetrics-text", version: Some("1.0.0") };
    const PLAIN: Offer = Offer { main: "text", sub: "plain", version: Some("0.0.4") };
    // Older scrapers ask for `text/plain`; they read the same lines.
    match choose(text_of(headers, &ACCEPT), &[OPEN_METRICS, PLAIN]) {
        Some(PLAIN) => text_answer("text/plain; version=0.0.4; charset=utf-8", text),
        _ => text_answer("application/openmetrics-text; version=1.0.0; charset=utf-8", text),
    }
}

fn health(health: ProbedHealth) -> Response<Full<Bytes>> {
    let ProbedHealth { missing, details } = health;
    let (status, word) = match missing.is_empty() {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "waiting"),
    };
    let mut all = Map::new();
    all.insert("status".to_owned(), json!(word));
    all.insert("missing".to_owned(), json!(missing));
    all.extend(details);
    all.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    let text = serde_json::to_string_pretty(&all).unwrap_or_default() + "\n";
    let mut answer = text_answer("application/json", text);
    *answer.status_mut() = status;
    answer
}

fn refused(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut answer = text_answer("text/plain; charset=utf-8", text);
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Lacks what its name says, if it has one.
    struct Program(&'static str);

    impl Probed for Program {
        fn metrics(&self) -> String {
            metrics_text(&Registry::default())
        }

        fn health(&self) -> ProbedHealth {
            let missing = (!self.0.is_empty()).then(|| self.0.to_owned()).into_iter().collect();
            ProbedHealth { missing, details: Map::from_iter([("nodes".to_owned(), json!(3))]) }
        }
    }

    async fn ask(program: Program, request: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve_probe(listener, Arc::new(program)));
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{request} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        serving.abort();
        answer
    }

    #[tokio::test]
    async fn a_program_is_ready_or_says_what_is_missing() {
        let ready = ask(Program(""), "GET /health").await;
        assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
        assert!(ready.contains("\"status\": \"ready\"") && ready.contains("\"nodes\": 3"), "{ready}");
        let waiting = ask(Program("a server"), "GET /health").await;
        assert!(waiting.starts_with("HTTP/1.1 503 ") && waiting.contains("\"a server\""), "{waiting}");
    }

    #[tokio::test]
    async fn metrics_are_told_and_nothing_else() {
        let metrics = ask(Program(""), "GET /metrics").await;
        assert!(metrics.starts_with("HTTP/1.1 200 ") && metrics.ends_with("# EOF\n"), "{metrics}");
        assert!(ask(Program(""), "GET /").await.starts_with("HTTP/1.1 404 "));
        assert!(ask(Program(""), "POST /metrics").await.starts_with("HTTP/1.1 405 "));
    }
}
