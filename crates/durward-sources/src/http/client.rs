//! Sends requests and reads answers, within limits of time, size and number.

use std::sync::Arc;
use std::time::Duration;

use durward_net::connect::Connector;
use durward_net::http::{HttpClient, HttpError, read_within};
use durward_net::trace;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::{Fault, json};
use durward_pdp::stream::Publisher;
use durward_pdp::{SourceError, Value};
use durward_wire::sse::Events;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::request::{Expects, Request};
use crate::settings::SourceSettings;

/// How long a connection is kept for the next request.
const IDLE_TIME_MAX: Duration = Duration::from_secs(60);
/// How many connections to one service are kept.
const IDLE_MAX: usize = 8;

/// Asks services.
pub(crate) struct Client {
    http: HttpClient,
    pub(super) answer_time_max: Duration,
    requests: Semaphore,
    streams: Arc<Semaphore>,
}

impl Client {
    pub(crate) fn new(connector: Connector, settings: &SourceSettings) -> Client {
        Client {
            http: HttpClient::new(connector, IDLE_TIME_MAX, IDLE_MAX),
            answer_time_max: settings.answer_time_max(),
            requests: Semaphore::new(settings.requests_max.min(Semaphore::MAX_PERMITS)),
            streams: Arc::new(Semaphore::new(settings.streams_max.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// What opens connections.
    pub(super) fn connector(&self) -> &Connector {
        self.http.connector()
    }

    /// Asks, and publishes the answer; for an event stream, what comes until it ends.
    pub(super) async fn run(&self, request: Request, publisher: &Publisher) -> Result<(), SourceError> {
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
    pub(crate) async fn ask(&self, request: Request) -> Result<Value, SourceError> {
        let stopping = |_| SourceError::new("durward is stopping");
        let _permit = self.requests.acquire().await.map_err(stopping)?;
        let service = request.endpoint().to_string();
        let (expects, bytes_max) = (request.expects, request.answer_bytes_max);
        let ask = async {
            let answer = self.send(request).await?;
            let decode = charset(&answer);
            let bytes = read_within(answer.into_body(), bytes_max).await.map_err(|error| reason(&error))?;
            Ok((decode, bytes))
        };
        let answer = timeout(self.answer_time_max, ask).await;
        let answer = answer.unwrap_or_else(|_| Err("no answer within the time allowed".into()));
        let value = answer.and_then(|(decode, bytes)| match expects {
            Expects::Json => of_json(&bytes).map_err(|fault| fault.message),
            Expects::Text | Expects::Events => Ok(Value::Text(decode(&bytes).into())),
        });
        value.map_err(|reason: String| SourceError::new(format!("{service}: {reason}")))
    }

    async fn follow(&self, request: Request, publisher: &Publisher) -> Result<(), SourceError> {
        let _permit = self.stream_permit()?;
        let service = request.endpoint().to_string();
        let failed = |reason: String| SourceError::new(format!("{service}: {reason}"));
        self.follow_to_end(request, publisher).await.map_err(failed)
    }

    async fn follow_to_end(&self, request: Request, publisher: &Publisher) -> Result<(), String> {
        let bytes_max = request.answer_bytes_max;
        let answer = timeout(self.answer_time_max, self.send(request)).await;
        let mut body = answer.map_err(|_| "no answer within the time allowed")??.into_body();
        let mut events = Events::new(bytes_max);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| HttpError::from(error).to_string())?;
            let Ok(bytes) = frame.into_data() else { continue };
            let event = events.read(&bytes).map_err(|_| too_large(bytes_max))?;
            if let Some(event) = event {
                publisher.publish(of_json(&event));
            }
        }
        Ok(())
    }

    /// A place among the streams.
    pub(super) fn stream_permit(&self) -> Result<OwnedSemaphorePermit, SourceError> {
        let message = "too many event streams and WebSockets are open; see `sources.streams_max`";
        let full = |_| SourceError::new(message);
        Arc::clone(&self.streams).try_acquire_owned().map_err(full)
    }

    /// The answer, if it is a good one. Redirects are not followed, with or without credentials, as in SAPL's engine.
    async fn send(&self, request: Request) -> Result<Response<Incoming>, String> {
        let mut message = hyper::Request::new(Full::new(request.body.clone().unwrap_or_default()));
        *message.uri_mut() = request.url.uri("http", "https").map_err(|error| error.to_string())?;
        *message.method_mut() = request.method;
        *message.headers_mut() = request.headers;
        trace::pass_on(message.headers_mut());
        let answer = self.http.send(message).await.map_err(|error| error.to_string())?;
        match answer.status() {
            status if status.is_redirection() => {
                Err(format!("HTTP {}: redirects are not followed; ask the new address", status.as_u16()))
            }
            status if status >= StatusCode::BAD_REQUEST => Err(format!("HTTP {}", status.as_u16())),
            _ => Ok(answer),
        }
    }
}

/// What went wrong, with the setting that says so.
fn reason(error: &HttpError) -> String {
    match error {
        HttpError::Network(_) => error.to_string(),
        HttpError::TooLarge(bytes_max) => too_large(*bytes_max),
    }
}

pub(super) fn too_large(bytes_max: usize) -> String {
    format!("more than {bytes_max} bytes; raise `maxResponseBytes` or `sources.answer_bytes_max`")
}

/// A text of JSON; a blank one is no value.
pub(super) fn of_json(bytes: &[u8]) -> Evaluated<Value> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Undefined);
    }
    json::read(bytes).map_err(|error| Fault::processing(format!("no JSON: {error}")))
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
