//! Sends the figures of a run to servers that keep series: Prometheus remote write, and OpenTelemetry over OTLP/HTTP.
//!
//! A thread of its own sends. What it cannot deliver in time is dropped and counted: the run never waits for it.

mod client;
mod measures;
mod otlp;
mod remote_write;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use client::{PushClient, PushRefusal};
use measures::PointCounters;

use crate::record::MeasuredPoint;
use crate::run::{RunPosition, RunSecond, RunWatcher};

/// Batches that wait: one a second, so two minutes of them.
const QUEUE: usize = 120;
/// So many batches go in one request.
const BATCHES_PER_REQUEST: usize = 30;
/// How long is waited before a request is tried again; each time twice as long.
const AGAIN: Duration = Duration::from_millis(500);
/// How often the end looks whether all was sent.
const LOOK: Duration = Duration::from_millis(10);
/// A request is tried so often.
const TRIES: u32 = 4;

/// How figures are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushProtocol {
    /// Prometheus remote write 1.0: to the URL as it is, `http://host:9090/api/v1/write`.
    RemoteWrite,
    /// OTLP/HTTP with protobuf: to the URL with `/v1/metrics` behind it, unless it ends so.
    Otlp,
}

impl PushProtocol {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            PushProtocol::RemoteWrite => "remote write",
            PushProtocol::Otlp => "OTLP",
        }
    }
}

/// Where figures are sent.
#[derive(Clone)]
pub struct PushDestination {
    /// How.
    pub protocol: PushProtocol,
    /// An `http` or `https` URL without credentials.
    pub url: String,
    /// The value of the header `Authorization`, which is said nowhere.
    pub authorization: Option<String>,
    /// What this run is called there: the label `run`.
    pub run: String,
    /// The time in milliseconds since 1970: the clock of whoever calls.
    pub now_unix_ms: fn() -> u64,
}

impl fmt::Debug for PushDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Destination({}, {})", self.protocol.as_str(), self.url)
    }
}

/// Told, once, that something could not be delivered, on the thread that sends.
pub type PushNotice = Box<dyn Fn(&str) + Send>;

/// Figures on their way; call [`Push::finish`] in the end.
#[derive(Debug)]
pub struct Push {
    url: String,
    protocol: PushProtocol,
    counts: Arc<DeliveryCounts>,
    thread: JoinHandle<()>,
    watcher: PushWatcher,
}

/// Puts the figures of a run into the queue.
#[derive(Clone)]
pub struct PushWatcher {
    queue: SyncSender<MetricBatch>,
    counts: Arc<DeliveryCounts>,
    measures: PointCounters,
    now_unix_ms: fn() -> u64,
}

impl fmt::Debug for PushWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PushWatcher")
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryOutcome {
    /// How, and to where.
    pub to: String,
    /// Batches that were taken: one a second, and one a point.
    pub delivered: u64,
    /// Batches that were dropped.
    pub dropped: u64,
    /// Why the last of those was.
    pub problem: Option<String>,
}

/// In words.
impl fmt::Display for DeliveryOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.delivered + self.dropped;
        write!(f, "{}: {} of {all} batches delivered", self.to, self.delivered)?;
        if self.dropped > 0 {
            write!(f, ", {} dropped", self.dropped)?;
        }
        self.problem.as_ref().filter(|_| self.dropped > 0).map_or(Ok(()), |why| write!(f, ": {why}"))
    }
}

/// Why nothing can be sent to a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushError(String);

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PushError {}

/// One value of one series.
#[derive(Clone, Debug, PartialEq)]
struct SeriesValue {
    name: &'static str,
    kind: ValueKind,
    /// Beside that of the run: in the order of their names.
    labels: Vec<(&'static str, String)>,
    value: f64,
}

/// What a value says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    /// How something is now.
    Gauge,
    /// What was counted since the point began.
    Counter,
}

/// The values of one moment.
#[derive(Clone, Debug, PartialEq)]
struct MetricBatch {
    at_unix_ms: u64,
    measures: Vec<SeriesValue>,
}

#[derive(Debug, Default)]
struct DeliveryCounts {
    delivered: AtomicU64,
    dropped: AtomicU64,
    problem: Mutex<Option<String>>,
}

impl DeliveryCounts {
    fn drop_of(&self, count: usize, why: &str) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
    }
}

impl Push {
    /// Begins. Nothing is sent until there is something to send.
    ///
    /// # Errors
    /// A URL that is none or holds credentials, certificates that cannot be read, a thread that the system refuses.
    pub fn start(destination: PushDestination, say: PushNotice) -> Result<Push, PushError> {
        let client = PushClient::new(&destination)?;
        let (queue, waiting) = sync_channel(QUEUE);
        let counts = Arc::new(DeliveryCounts::default());
        let counted = Arc::clone(&counts);
        let PushDestination { protocol, url, run, now_unix_ms, .. } = destination;
        let started_unix_ms = now_unix_ms();
        let encode = move |batches: &[MetricBatch]| match protocol {
            PushProtocol::RemoteWrite => remote_write::request(&run, batches),
            PushProtocol::Otlp => otlp::request(&run, started_unix_ms, batches),
        };
        let deliver = move || deliver(&waiting, &client, &encode, &counted, &say);
        let thread = thread::Builder::new().name("lab-push".to_owned()).spawn(deliver);
        let thread = thread.map_err(|error| PushError(format!("cannot send: {error}")))?;
        let measures = PointCounters::default();
        let watcher = PushWatcher { queue, counts: Arc::clone(&counts), measures, now_unix_ms };
        Ok(Push { url, protocol, counts, thread, watcher })
    }

    /// What puts figures into the queue.
    pub fn watcher(&self) -> PushWatcher {
        self.watcher.clone()
    }

    /// Sends what still waits, for no longer than `within`, and tells what came of all. Watchers must have been dropped.
    pub fn finish(self, within: Duration) -> DeliveryOutcome {
        let Push { url, protocol, counts, thread, watcher } = self;
        let PushWatcher { queue, measures, .. } = watcher;
        // The thread ends when nobody can put anything into the queue.
        drop(queue);
        let begun = Instant::now();
        while !thread.is_finished() && begun.elapsed() < within {
            thread::sleep(LOOK);
        }
        let is_over = thread.is_finished();
        let problem = counts.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut delivery = DeliveryOutcome {
            to: format!("{} to {url}", protocol.as_str()),
            delivered: counts.delivered.load(Ordering::Relaxed),
            dropped: counts.dropped.load(Ordering::Relaxed),
            problem,
        };
        if !is_over {
            delivery.dropped = measures.batches().saturating_sub(delivery.delivered);
            delivery.problem.get_or_insert_with(|| "no answer in time".to_owned());
        }
        delivery
    }
}

impl PushWatcher {
    fn put(&self, measures: Vec<SeriesValue>) {
        self.measures.count_batch();
        let batch = MetricBatch { at_unix_ms: (self.now_unix_ms)(), measures };
        match self.queue.try_send(batch) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.counts.drop_of(1, "it takes less than there is"),
            Err(TrySendError::Disconnected(_)) => self.counts.drop_of(1, "nothing is sent any more"),
        }
    }
}

impl RunWatcher for PushWatcher {
    fn begin(&mut self, place: &RunPosition) {
        let measures = self.measures.begin(place);
        self.put(measures);
    }

    fn second(&mut self, place: &RunPosition, moment: &RunSecond) {
        let measures = self.measures.second(place, moment);
        self.put(measures);
    }

    fn end(&mut self, place: &RunPosition, point: &MeasuredPoint) {
        let measures = measures::of_point(place, point);
        self.put(measures);
    }
}

/// Sends what is put into the queue until nobody can put anything into it.
fn deliver(
    waiting: &Receiver<MetricBatch>,
    client: &PushClient,
    encode: &dyn Fn(&[MetricBatch]) -> Vec<u8>,
    counts: &DeliveryCounts,
    say: &PushNotice,
) {
    let mut has_said = false;
    while let Ok(first) = waiting.recv() {
        let mut batches = vec![first];
        batches.extend(waiting.try_iter().take(BATCHES_PER_REQUEST - 1));
        match send(client, &encode(&batches)) {
            Ok(()) => drop(counts.delivered.fetch_add(batches.len() as u64, Ordering::Relaxed)),
            Err(problem) => {
                counts.drop_of(batches.len(), &problem);
                if !std::mem::replace(&mut has_said, true) {
                    say(&problem);
                }
            }
        }
    }
}

/// Sends one request, and again where that may help.
fn send(client: &PushClient, body: &[u8]) -> Result<(), String> {
    let mut pause = AGAIN;
    for attempt in 1.. {
        match client.send(body) {
            Ok(()) => return Ok(()),
            Err(PushRefusal::Final(problem)) => return Err(problem),
            Err(PushRefusal::Passing(problem)) if attempt >= TRIES => return Err(problem),
            Err(PushRefusal::Passing(_)) => {
                thread::sleep(pause);
                pause *= 2;
            }
        }
    }
    Ok(())
}
