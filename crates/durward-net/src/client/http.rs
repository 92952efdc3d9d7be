//! SAPL's decisions over HTTP: `decide-once`, and `decide` as an event stream.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use durward_subscription::{Decision, Subscription};
use durward_wire::sapl::json::subscription_text;
use durward_wire::sse::{Event, Events};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Method, Response, StatusCode};
use tokio::time::timeout;

use super::server_address::Base;
use super::{ANSWER_BYTES_MAX, ClientError, Common, SILENCE_MAX, legible};
use crate::http::{HttpClient as Pool, HttpError, read_within};

/// Most bytes of a refusal that are read.
const REASON_BYTES_MAX: usize = 64 * 1024;

/// How long a connection is kept for the next question.
const IDLE_TIME_MAX: Duration = Duration::from_secs(10);

/// Asks over HTTP.
pub(super) struct HttpClient {
    base: Base,
    pool: Pool,
    authorization: Option<HeaderValue>,
    answer_time_max: Duration,
    stream: Option<EventStream>,
}

/// A stream of decisions.
struct EventStream {
    body: Incoming,
    events: Events,
    /// Read, and not given yet.
    waiting: VecDeque<Event>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("base", &self.base).finish_non_exhaustive()
    }
}

impl HttpClient {
    pub(super) fn new(base: Base, common: Common) -> Result<HttpClient, ClientError> {
        let no_header = |_| ClientError::Settings("the credentials cannot stand in a header".into());
        let authorization = match common.credentials.header() {
            Some(header) => {
                let mut value = HeaderValue::from_str(&header).map_err(no_header)?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        let pool = Pool::new(common.connector, IDLE_TIME_MAX, 1);
        let answer_time_max = common.answer_time_max;
        Ok(HttpClient { base, pool, authorization, answer_time_max, stream: None })
    }

    pub(super) async fn decide_once(&mut self, subscription: &Subscription) -> Result<Decision, ClientError> {
        let ask = async {
            let answer = self.send("decide-once", "application/json", subscription).await?;
            let body = self.read(answer.into_body(), ANSWER_BYTES_MAX).await?;
            self.decision(&body)
        };
        timeout(self.answer_time_max, ask).await.unwrap_or_else(|_| Err(self.late()))
    }

    pub(super) async fn watch(&mut self, subscription: &Subscription) -> Result<(), ClientError> {
        self.stream = None;
        let ask = self.send("decide", "text/event-stream", subscription);
        let answer = timeout(self.answer_time_max, ask).await.unwrap_or_else(|_| Err(self.late()))?;
        let kind =
            answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !kind.to_ascii_lowercase().starts_with("text/event-stream") {
            return Err(self.server("the answer is no event stream"));
        }
        let events = Events::new(ANSWER_BYTES_MAX);
        self.stream = Some(EventStream { body: answer.into_body(), events, waiting: VecDeque::new() });
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<Option<Decision>, ClientError> {
        let Some(stream) = &mut self.stream else { return Ok(None) };
        let next = stream.next().await;
        let decision = match next {
            // Recorded of SAPL: `event: shutdown`, then the end.
            Ok(Some(event)) if event.name == b"shutdown" => Ok(None),
            Ok(Some(event)) => self.decision(&event.data).map(Some),
            Ok(None) => Err(self.network("the stream ends")),
            Err(reason) => Err(self.network(&reason)),
        };
        if !matches!(decision, Ok(Some(_))) {
            self.stream = None;
        }
        decision
    }

    /// An answer that is a good one.
    async fn send(
        &self,
        route: &str,
        accept: &'static str,
        subscription: &Subscription,
    ) -> Result<Response<Incoming>, ClientError> {
        let mut request = hyper::Request::new(Full::new(Bytes::from(subscription_text(subscription))));
        *request.uri_mut() = self.base.route(route)?;
        *request.method_mut() = Method::POST;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        let answer = self.pool.send(request).await.map_err(|error| self.network(&error.cause()))?;
        if answer.status() == StatusCode::OK { Ok(answer) } else { Err(self.refusal(answer).await) }
    }

    /// What a server means that does not answer.
    async fn refusal(&self, answer: Response<Incoming>) -> ClientError {
        let status = answer.status();
        let later =
            answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok().map(str::to_owned));
        let said = self.read(answer.into_body(), REASON_BYTES_MAX).await.map(|body| reason(&body));
        let mut message = format!("{}: HTTP {}", self.base, status.as_u16());
        if let Ok(said) = said
            && !said.is_empty()
        {
            message.push_str(&format!(": {said}"));
        }
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ClientError::Credentials(message),
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => ClientError::Question(message),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                let later = later.map(|seconds| format!("; it says when to ask again: {seconds}"));
                ClientError::Busy(message + &later.unwrap_or_default())
            }
            _ => ClientError::Server(message),
        }
    }

    async fn read(&self, body: Incoming, bytes_max: usize) -> Result<Vec<u8>, ClientError> {
        read_within(body, bytes_max).await.map_err(|error| match error {
            HttpError::Network(_) => self.network(&error.cause()),
            HttpError::TooLarge(_) => self.server(&error.to_string()),
        })
    }

    fn decision(&self, text: &[u8]) -> Result<Decision, ClientError> {
        Decision::from_json(text).map_err(|error| self.server(&format!("the answer is no decision: {error}")))
    }

    fn late(&self) -> ClientError {
        self.network(&format!("no answer within {:?}", self.answer_time_max))
    }

    fn network(&self, reason: &str) -> ClientError {
        ClientError::Network(format!("{}: {reason}", self.base))
    }

    fn server(&self, reason: &str) -> ClientError {
        ClientError::Server(format!("{}: {reason}", self.base))
    }
}

impl EventStream {
    /// The next event; `None` where the stream ends.
    async fn next(&mut self) -> Result<Option<Event>, String> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            let frame = timeout(SILENCE_MAX, self.body.frame()).await;
            let frame = frame.map_err(|_| format!("nothing was heard for {} s", SILENCE_MAX.as_secs()))?;
            let Some(frame) = frame else { return Ok(None) };
            let Ok(bytes) = frame.map_err(|error| HttpError::from(error).cause())?.into_data() else {
                continue;
            };
            let waiting = &mut self.waiting;
            let read = self.events.read_each(&bytes, |event| waiting.push_back(event));
            read.map_err(|_| format!("an event has more than {ANSWER_BYTES_MAX} bytes"))?;
        }
    }
}

/// What the body of a refusal says, in one line: the member `error` of SAPL's bodies, `detail` or `title` of others.
fn reason(body: &[u8]) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let member = |name| Some(json.as_ref()?.get(name)?.as_str()?.to_owned());
    let said = ["message", "detail", "title", "error"].into_iter().find_map(member);
    let text = said.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    legible(&text)
}
