//! The thread that sends: batches, each again for a while where the collector says so.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use durward_net::connect::Connector;
use durward_net::http::{HttpClient, read_within};
use durward_net::tls::Trust;
use durward_net::url::Url;
use durward_session::read_secret;
use durward_settings::{ConfigError, OtlpSettings};
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri};
use tokio::runtime::{self, Runtime};
use tokio::time::timeout;

use super::document::{self, Envelope};
use super::{DecisionSpan, LogRecord, RequestSpan};
use crate::base::metrics::Metrics;
use crate::base::traces::Traces;

/// How often a batch is sent before it is given up, where the collector cannot take it now.
const TRIES: u32 = 3;

/// How long before it is sent again; twice as long after each try.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// How long a connection to the collector is kept.
const IDLE_TIME_MAX: Duration = Duration::from_secs(60);

/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What an entry of the queue costs beside its text.
const ITEM_BYTES: usize = 64;

/// Of what an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Traces,
    Logs,
}

impl Signal {
    const ALL: [Signal; 2] = [Signal::Traces, Signal::Logs];

    const fn as_str(self) -> &'static str {
        match self {
            Signal::Traces => "traces",
            Signal::Logs => "logs",
        }
    }

    /// Where it is sent, below the address of the collector.
    const fn path(self) -> &'static str {
        match self {
            Signal::Traces => "v1/traces",
            Signal::Logs => "v1/logs",
        }
    }
}

enum Message {
    Item(Signal, String),
    /// What came before this is to be sent, or given up, before the answer.
    Flush(SyncSender<()>),
}

/// The way to the sending thread. The thread ends when this is dropped.
pub struct Telemetry {
    sender: Sender<Message>,
    queued_bytes: Arc<AtomicUsize>,
    queue_bytes_max: usize,
    sends_traces: bool,
    sends_logs: bool,
    traces: Arc<Traces>,
    metrics: Arc<Metrics>,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").finish_non_exhaustive()
    }
}

impl Telemetry {
    /// Sends to the collector that the settings name; `None` where they name none, or nothing to send.
    ///
    /// # Errors
    /// Files that cannot be read or used, a thread that cannot be started.
    pub fn open(
        settings: &OtlpSettings,
        traces: &Arc<Traces>,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Arc<Telemetry>>, ConfigError> {
        let Some(endpoint) = settings.endpoint.as_deref().filter(|_| settings.traces || settings.logs) else {
            return Ok(None);
        };
        let (sender, receiver) = channel();
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let outbox = Outbox {
            collector: Collector::new(endpoint, settings)?,
            envelope: Envelope::new(settings),
            batch_max: settings.batch_max,
            batch_time: settings.batch_time(),
            queued_bytes: Arc::clone(&queued_bytes),
            metrics: Arc::clone(metrics),
        };
        start(outbox, receiver).map_err(not_started)?;
        Ok(Some(Arc::new(Telemetry {
            sender,
            queued_bytes,
            queue_bytes_max: settings.queue_bytes_max,
            sends_traces: settings.traces,
            sends_logs: settings.logs,
            traces: Arc::clone(traces),
            metrics: Arc::clone(metrics),
        })))
    }

    /// Whether traces are sent.
    pub fn sends_traces(&self) -> bool {
        self.sends_traces
    }

    /// Whether lines of the log are sent.
    pub fn sends_logs(&self) -> bool {
        self.sends_logs
    }

    /// A request was answered. One whose caller does not record its trace is not told.
    pub fn request(&self, span: &RequestSpan<'_>) {
        if self.sends_traces && span.trace.own.is_sampled() {
            self.put(Signal::Traces, document::request(span));
        }
    }

    /// A decision was told.
    pub fn decision(&self, span: &DecisionSpan<'_>) {
        if self.sends_traces && span.trace.own.is_sampled() {
            self.put(Signal::Traces, document::decision(span, self.traces.span()));
        }
    }

    /// A line of the decision log; whether or not its trace is recorded.
    pub fn log(&self, record: &LogRecord<'_>) {
        if self.sends_logs {
            self.put(Signal::Logs, document::log(record));
        }
    }

    fn put(&self, signal: Signal, item: String) {
        let bytes = item.len() + ITEM_BYTES;
        let queued = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = queued.saturating_add(bytes) <= self.queue_bytes_max;
        if !has_room || self.sender.send(Message::Item(signal, item)).is_err() {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.metrics.otlp_items(signal.as_str(), "dropped", 1);
        }
    }

    /// Waits until what was told so far is sent, or the time is over.
    pub fn flush(&self, time_max: Duration) {
        let (done, wait) = sync_channel(1);
        if self.sender.send(Message::Flush(done)).is_err() || wait.recv_timeout(time_max).is_err() {
            tracing::warn!("not all traces and logs could be sent to the collector");
        }
    }
}

/// Starts the thread that sends. Its runtime is made and dropped in it: where `open` is called another one may run.
fn start(outbox: Outbox, receiver: Receiver<Message>) -> io::Result<()> {
    let (tells, told) = sync_channel(1);
    thread::Builder::new().name("otlp".into()).spawn(move || {
        match runtime::Builder::new_current_thread().enable_io().enable_time().build() {
            Ok(runtime) => {
                // `start` waits for it.
                let _ = tells.send(Ok(()));
                outbox.work(&runtime, &receiver);
            }
            Err(error) => {
                let _ = tells.send(Err(error));
            }
        }
    })?;
    told.recv().unwrap_or_else(|_| Err(io::Error::other("its thread ended at once")))
}

fn not_started(error: io::Error) -> ConfigError {
    ConfigError::of_setting("otlp", format!("cannot be started: {error}"))
}

/// What waits in the thread, and where it goes.
struct Outbox {
    collector: Collector,
    envelope: Envelope,
    batch_max: usize,
    batch_time: Duration,
    queued_bytes: Arc<AtomicUsize>,
    metrics: Arc<Metrics>,
}

/// Items of one batch, those of each signal apart.
#[derive(Default)]
struct Batch {
    traces: Vec<String>,
    logs: Vec<String>,
}

impl Batch {
    fn of(&mut self, signal: Signal) -> &mut Vec<String> {
        match signal {
            Signal::Traces => &mut self.traces,
            Signal::Logs => &mut self.logs,
        }
    }

    /// Whoever waits for a flush.
    fn take(&mut self, message: Message) -> Option<SyncSender<()>> {
        match message {
            Message::Item(signal, item) => {
                self.of(signal).push(item);
                None
            }
            Message::Flush(done) => Some(done),
        }
    }

    fn is_full(&self, max: usize) -> bool {
        self.traces.len() >= max || self.logs.len() >= max
    }
}

impl Outbox {
    fn work(mut self, runtime: &Runtime, receiver: &Receiver<Message>) {
        while let Ok(first) = receiver.recv() {
            let mut batch = Batch::default();
            let mut flushed = batch.take(first);
            let until = Instant::now() + self.batch_time;
            while flushed.is_none() && !batch.is_full(self.batch_max) {
                match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(message) => flushed = batch.take(message),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
            }
            for signal in Signal::ALL {
                let items = std::mem::take(batch.of(signal));
                if !items.is_empty() {
                    self.send(runtime, signal, &items);
                }
            }
            // Nobody waits any more: fine.
            flushed.map(|done| done.send(()));
        }
    }

    fn send(&mut self, runtime: &Runtime, signal: Signal, items: &[String]) {
        let body = match signal {
            Signal::Traces => self.envelope.traces(items),
            Signal::Logs => self.envelope.logs(items),
        };
        let rejected = self.collector.send(runtime, signal, body.into()).unwrap_or(items.len());
        let rejected = rejected.min(items.len());
        self.metrics.otlp_items(signal.as_str(), "sent", (items.len() - rejected) as u64);
        self.metrics.otlp_items(signal.as_str(), "failed", rejected as u64);
        let bytes = items.iter().map(|item| item.len() + ITEM_BYTES).sum();
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Who takes batches.
struct Collector {
    http: HttpClient,
    traces: Uri,
    logs: Uri,
    headers: HeaderMap,
    answer_time_max: Duration,
    /// So that a collector that is gone is reported once and not once per batch.
    is_broken: bool,
}

/// Why a batch was not taken.
enum NotTaken {
    /// It may be at another time.
    Now(String),
    Never(String),
}

impl Collector {
    fn new(endpoint: &str, settings: &OtlpSettings) -> Result<Collector, ConfigError> {
        let trust = Trust::Authorities(settings.authorities.as_deref(), "otlp.authorities");
        let connector = Connector::trusting(trust, settings.answer_time_max())
            .map_err(|error| ConfigError::of_setting("otlp.authorities", error.to_string()))?;
        let uri = |signal: Signal| {
            let address = format!("{}/{}", endpoint.trim_end_matches('/'), signal.path());
            let uri = Url::read(&address).and_then(|url| url.uri("http", "https"));
            uri.map_err(|error| ConfigError::of_setting("otlp.endpoint", format!("cannot be used: {error}")))
        };
        let (traces, logs) = (uri(Signal::Traces)?, uri(Signal::Logs)?);
        let headers = headers(settings.headers_path.as_deref())?;
        Ok(Collector {
            http: HttpClient::new(connector, IDLE_TIME_MAX, 2),
            traces,
            logs,
            headers,
            answer_time_max: settings.answer_time_max(),
            is_broken: false,
        })
    }

    /// How many items of a batch were rejected; `None` where all were lost.
    fn send(&mut self, runtime: &Runtime, signal: Signal, body: Bytes) -> Option<usize> {
        let mut pause = RETRY_PAUSE;
        let mut tries = 1;
        let sent = loop {
            match runtime.block_on(self.post(signal, body.clone())) {
                Err(NotTaken::Now(reason)) if tries >= TRIES => break Err(reason),
                Err(NotTaken::Now(_)) => {
                    thread::sleep(pause);
                    pause *= 2;
                    tries += 1;
                }
                Err(NotTaken::Never(reason)) => break Err(reason),
                Ok(rejected) => break Ok(rejected),
            }
        };
        match &sent {
            Ok(_) => self.is_broken = false,
            Err(reason) if !self.is_broken => {
                tracing::warn!(
                    signal = signal.as_str(),
                    reason,
                    "the collector does not take what it is sent"
                );
                self.is_broken = true;
            }
            Err(reason) => {
                tracing::debug!(
                    signal = signal.as_str(),
                    reason,
                    "the collector does not take what it is sent"
                );
            }
        }
        sent.ok()
    }

    async fn post(&self, signal: Signal, body: Bytes) -> Result<usize, NotTaken> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = match signal {
            Signal::Traces => self.traces.clone(),
            Signal::Logs => self.logs.clone(),
        };
        *request.headers_mut() = self.headers.clone();
        let ask = async {
            let answer = self.http.send(request).await.map_err(|error| NotTaken::Now(error.to_string()))?;
            let status = answer.status();
            let text = read_within(answer.into_body(), ANSWER_BYTES_MAX).await;
            let text = text.map_err(|error| NotTaken::Now(error.to_string()))?;
            match status {
                StatusCode::OK => Ok(rejected(signal, &text)),
                // OTLP, "OTLP/HTTP Response": these, and no others, may be tried again.
                StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT => Err(NotTaken::Now(format!("HTTP {}", status.as_u16()))),
                status => Err(NotTaken::Never(format!("HTTP {}", status.as_u16()))),
            }
        };
        let late = |_| NotTaken::Now("no answer within the time allowed".to_owned());
        timeout(self.answer_time_max, ask).await.map_err(late)?
    }
}

/// How many items the collector did not take, by its own account.
fn rejected(signal: Signal, text: &[u8]) -> usize {
    let Ok(answer) = serde_json::from_slice::<serde_json::Value>(text) else { return 0 };
    let name = match signal {
        Signal::Traces => "rejectedSpans",
        Signal::Logs => "rejectedLogRecords",
    };
    let count = answer.get("partialSuccess").and_then(|partial| partial.get(name));
    let count = count.and_then(|count| count.as_u64().or_else(|| count.as_str()?.parse().ok()));
    if let Some(count) = count.filter(|count| *count > 0) {
        tracing::warn!(signal = signal.as_str(), count, "the collector rejected part of what it was sent");
    }
    count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

/// The fields of every request, those of the operator's file among them.
fn headers(path: Option<&Path>) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("durward/", env!("CARGO_PKG_VERSION"))));
    let Some(path) = path else { return Ok(headers) };
    let wrong = |message: String| ConfigError::of_setting("otlp.headers_path", message);
    let text = read_secret(path).map_err(|error| wrong(error.to_string()))?;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        // Values may be secrets: they are not repeated.
        let bad = || wrong(format!("line {} is no `name: value`", number + 1));
        let (name, value) = line.split_once(':').ok_or_else(bad)?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
