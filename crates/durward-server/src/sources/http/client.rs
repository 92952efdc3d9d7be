//! Sends requests and reads answers, within limits of time, size and number.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use durward_pdp::Value;
use durward_pdp::ir::json;
use durward_pdp::stream::Publisher;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{Response, StatusCode};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::events::Events;
use super::request::{Expects, Request};
use crate::base::settings::SourceSettings;
use crate::sources::connect::Connector;

/// How long a connection is kept for the next request.
const IDLE_TIME_MAX: Duration = Duration::from_secs(60);
/// How many connections to one service are kept.
const IDLE_MAX: usize = 8;

/// Asks services.
pub(in crate::sources) struct Client {
    pub(super) connector: Connector,
    pool: legacy::Client<Connector, Full<Bytes>>,
    pub(super) answer_time_max: Duration,
    requests: Semaphore,
    streams: Arc<Semaphore>,
}

impl Client {
    pub(in crate::sources) fn new(connector: Connector, settings: &SourceSettings) -> Client {
        let pool = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME_MAX)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector.clone());
        Client {
            connector,
            pool,
            answer_time_max: settings.answer_time_max(),
            requests: Semaphore::new(settings.requests_max.min(Semaphore::MAX_PERMITS)),
            streams: Arc::new(Semaphore::new(settings.streams_max.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Asks, and publishes the answer; for an event stream, what comes until it ends.
    pub(super) async fn run(&self, request: Request, publisher: &Publisher) -> Result<(), String> {
        if request.expects == Expects::Events {
            return self.follow(request, publisher).await;
        }
        publisher.publish(Ok(self.ask(request).await?));
        Ok(())
    }

    /// Asks for one value.
    ///
    /// # Errors
    /// What went wrong, with the service but without path, query and credentials.
    pub(in crate::sources) async fn ask(&self, request: Request) -> Result<Value, String> {
        let _permit = self.requests.acquire().await.map_err(|_| "durward is stopping")?;
        let service = request.endpoint().to_string();
        let (expects, bytes_max) = (request.expects, request.answer_bytes_max);
        let ask = async {
            let answer = self.send(request).await?;
            let decode = charset(&answer);
            Ok((decode, read(answer.into_body(), bytes_max).await?))
        };
        let answer = timeout(self.answer_time_max, ask).await;
        let answer = answer.unwrap_or_else(|_| Err("no answer within the time allowed".into()));
        let value = answer.and_then(|(decode, bytes)| match expects {
            Expects::Json => of_json(&bytes),
            Expects::Text | Expects::Events => Ok(Value::Text(decode(&bytes).into())),
        });
        value.map_err(|reason: String| format!("{service}: {reason}"))
    }

    async fn follow(&self, request: Request, publisher: &Publisher) -> Result<(), String> {
        let _permit = self.stream_permit()?;
        let service = request.endpoint().to_string();
        self.follow_to_end(request, publisher).await.map_err(|reason| format!("{service}: {reason}"))
    }

    async fn follow_to_end(&self, request: Request, publisher: &Publisher) -> Result<(), String> {
        let bytes_max = request.answer_bytes_max;
        let answer = timeout(self.answer_time_max, self.send(request)).await;
        let mut body = answer.map_err(|_| "no answer within the time allowed")??.into_body();
        let mut events = Events::new(bytes_max);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| told(&error))?;
            let Ok(bytes) = frame.into_data() else { continue };
            let event = events.read(&bytes).map_err(|_| too_large(bytes_max))?;
            if let Some(event) = event {
                publisher.publish(of_json(&event).map_err(super::fault));
            }
        }
        Ok(())
    }

    /// A place among the streams.
    pub(super) fn stream_permit(&self) -> Result<OwnedSemaphorePermit, String> {
        let full = |_| "too many event streams and WebSockets are open; see `sources.streams_max`".to_owned();
        Arc::clone(&self.streams).try_acquire_owned().map_err(full)
    }

    /// The answer, if it is a good one. Redirects are not followed, with or without credentials, as in SAPL's engine.
    async fn send(&self, request: Request) -> Result<Response<Incoming>, String> {
        let mut message = hyper::Request::new(Full::new(request.body.clone().unwrap_or_default()));
        *message.uri_mut() = request.url.uri("http", "https")?;
        *message.method_mut() = request.method;
        *message.headers_mut() = request.headers;
        let answer = self.pool.request(message).await.map_err(|error| told(&error))?;
        match answer.status() {
            status if status.is_redirection() => {
                Err(format!("HTTP {}: redirects are not followed; ask the new address", status.as_u16()))
            }
            status if status >= StatusCode::BAD_REQUEST => Err(format!("HTTP {}", status.as_u16())),
            _ => Ok(answer),
        }
    }
}

/// All of a body.
async fn read(mut body: Incoming, bytes_max: usize) -> Result<Vec<u8>, String> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large(bytes_max));
    }
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| told(&error))?;
        let Ok(bytes) = frame.into_data() else { continue };
        if all.len() + bytes.len() > bytes_max {
            return Err(too_large(bytes_max));
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all)
}

pub(super) fn too_large(bytes_max: usize) -> String {
    format!("more than {bytes_max} bytes; raise `maxResponseBytes` or `sources.answer_bytes_max`")
}

/// A text of JSON; a blank one is no value.
pub(super) fn of_json(bytes: &[u8]) -> Result<Value, String> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Undefined);
    }
    json::read(bytes).map_err(|error| format!("no JSON: {error}"))
}

/// How the text of an answer is written: ISO 8859-1 where it says so, otherwise UTF-8.
fn charset(answer: &Response<Incoming>) -> fn(&[u8]) -> String {
    let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_latin = content_type.unwrap_or_default().split(';').skip(1).any(|parameter| {
        let parameter = parameter.trim().to_ascii_lowercase();
        matches!(parameter.replace('"', "").as_str(), "charset=iso-8859-1" | "charset=latin1")
    });
    if is_latin {
        |bytes| bytes.iter().copied().map(char::from).collect()
    } else {
        |bytes| String::from_utf8_lossy(bytes).into_owned()
    }
}

/// What went wrong, down to the cause; none of the crates below puts addresses or header fields into it.
pub(crate) fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}
