//! The record of decisions: one line of JSON for each decision that somebody was told, whichever way they asked, written
//! by a thread of its own.
//!
//! Deciding never waits for it: what is not yet written is bounded in bytes, and what does not fit is dropped and
//! counted (`durward_decision_log_lines_total{result="dropped"}`).

mod account;
mod attributes;
mod held;
mod line;
mod mask;
mod recorder;
mod writer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use durward_pdp::record::{Record, Recording};
use durward_pdp::{Request, ResultOf};
use smol_str::SmolStr;

use crate::base::metrics::Metrics;
use crate::base::settings::{DecisionLogSettings, LogTarget};
use account::trace;
pub(crate) use account::{Account, Caller};
use attributes::Written;
use durward_pdp::sapl::{Decision, Subscription};
use line::Style;
pub(crate) use recorder::Recorder;
use writer::Writer;

/// Why a multi-subscription without subscriptions is answered INDETERMINATE.
pub(crate) const NOTHING_ASKED: &str = "the multi-subscription has no subscriptions";

/// The way by which somebody was told a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// `/pdp`.
    Xacml,
    /// `/api/pdp`, answered once.
    Http,
    /// `/api/pdp`, answered with events.
    Sse,
    Rsocket,
    /// OpenAM's `/json/policies`.
    Openam,
    /// `/access/v1`.
    Authzen,
    /// `/doors/kubernetes`.
    Kubernetes,
    /// `/doors/rabbitmq`.
    Rabbitmq,
    /// `/doors/emqx`.
    Emqx,
    /// OPA's data API.
    Opa,
    /// The auth callout of NATS.
    #[cfg(feature = "nats")]
    Nats,
    /// `/doors/nginx`.
    Nginx,
    /// `/doors/caddy`.
    Caddy,
    /// `/doors/traefik`.
    Traefik,
    /// `/doors/haproxy`.
    Haproxy,
    /// `envoy.service.auth.v3.Authorization/Check`.
    Envoy,
    /// `/doors/envoy`.
    EnvoyHttp,
}

impl Surface {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Surface::Xacml => "xacml",
            Surface::Http => "http",
            Surface::Sse => "sse",
            Surface::Rsocket => "rsocket",
            Surface::Openam => "openam",
            Surface::Authzen => "authzen",
            Surface::Kubernetes => "kubernetes",
            Surface::Rabbitmq => "rabbitmq",
            Surface::Emqx => "emqx",
            Surface::Opa => "opa",
            #[cfg(feature = "nats")]
            Surface::Nats => "nats",
            Surface::Nginx => "nginx",
            Surface::Caddy => "caddy",
            Surface::Traefik => "traefik",
            Surface::Haproxy => "haproxy",
            Surface::Envoy => "envoy",
            Surface::EnvoyHttp => "envoy-http",
        }
    }
}

/// One decision that somebody was told.
pub(crate) struct Entry {
    pub(crate) time: SystemTime,
    pub(crate) surface: Surface,
    /// What was called there.
    pub(crate) route: &'static str,
    pub(crate) request_id: SmolStr,
    /// `None` over a socket that has no addresses.
    pub(crate) client: Option<SocketAddr>,
    /// Whose policies decided.
    pub(crate) tenant: SmolStr,
    /// The name that goes with the caller's credentials, where credentials are looked at.
    pub(crate) caller: Option<SmolStr>,
    /// How long it took, where it was asked for; `None` where it was told because something had changed.
    pub(crate) duration: Option<Duration>,
    pub(crate) record: Arc<Record>,
    pub(crate) answer: LoggedAnswer,
    /// How long the text is that its caller sent, and that the entry holds: what it is made of counts beside that.
    pub(crate) bytes: usize,
}

/// What was decided, and about what.
pub(crate) enum LoggedAnswer {
    Result {
        /// With the first result of a request.
        request: Option<Box<Request>>,
        result: Box<ResultOf>,
        /// Which result it is, from 1, and how many there are.
        part: (usize, usize),
    },
    Decision {
        /// The caller's name for the subscription, where there are several.
        id: Option<SmolStr>,
        subscription: LoggedSubscription,
        decision: Arc<Decision>,
    },
}

/// A subscription, as far as it may be written.
#[derive(Clone)]
pub(crate) enum LoggedSubscription {
    /// Nothing was asked, or nothing is known of it.
    Nothing,
    /// To be written with its decision, the only one.
    Once(Box<Subscription>),
    /// Written when it came; there may be many decisions.
    Always(Arc<Written>),
}

enum Message {
    /// With what was counted for it.
    Entry(Box<Entry>, usize),
    /// Everything before this is to be on its way to the disk before the answer.
    Flush(SyncSender<()>),
}

/// The way to the writing thread. The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct DecisionLog {
    sender: Sender<Message>,
    queued_bytes: Arc<AtomicUsize>,
    queue_bytes_max: usize,
    metrics: Arc<Metrics>,
    style: Arc<Style>,
    pub(crate) recording: Recording,
}

impl DecisionLog {
    /// Opens the log, if one is asked for.
    ///
    /// # Errors
    /// A file that cannot be opened for appending: a log that is asked for and not there is no start.
    pub(crate) fn open(
        settings: &DecisionLogSettings,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<DecisionLog>, std::io::Error> {
        let writer = match settings.target() {
            LogTarget::Off => return Ok(None),
            LogTarget::Stdout => Writer::stdout(),
            LogTarget::File(path) => Writer::file(path)?,
        };
        let style = Arc::new(Style::new(settings));
        let (sender, receiver) = channel::<Message>();
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let desk = Desk {
            style: Arc::clone(&style),
            writer,
            queued: Arc::clone(&queued_bytes),
            metrics: Arc::clone(metrics),
        };
        thread::Builder::new().name("decision-log".into()).spawn(move || desk.work(&receiver))?;
        Ok(Some(DecisionLog {
            sender,
            queued_bytes,
            queue_bytes_max: settings.queue_bytes_max,
            metrics: Arc::clone(metrics),
            style,
            recording: Recording { policies: settings.policies },
        }))
    }

    /// Hands an entry to the writing thread, or drops it.
    pub(crate) fn record(&self, entry: Entry) {
        let bytes = entry.held(self.queue_bytes_max);
        let queued = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = queued.saturating_add(bytes) <= self.queue_bytes_max;
        if !has_room || self.sender.send(Message::Entry(Box::new(entry), bytes)).is_err() {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.metrics.log_lines("dropped", 1);
        }
    }

    /// Waits until what was recorded so far is written, or the time is over.
    pub(crate) fn flush(&self, time_max: Duration) {
        let (done, wait) = sync_channel(1);
        if self.sender.send(Message::Flush(done)).is_err() || wait.recv_timeout(time_max).is_err() {
            tracing::warn!("the decision log could not be written to its end");
        }
    }
}

/// Where lines are written.
struct Desk {
    style: Arc<Style>,
    writer: Writer,
    queued: Arc<AtomicUsize>,
    metrics: Arc<Metrics>,
}

impl Desk {
    fn work(mut self, receiver: &Receiver<Message>) {
        while let Ok(message) = receiver.recv() {
            self.take(message);
            // Whatever else waits goes out with the same write.
            while let Ok(message) = receiver.try_recv() {
                self.take(message);
            }
            self.flush();
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Entry(entry, bytes) => {
                let done = self.writer.write(&self.style.line(&entry));
                self.count(done);
                self.queued.fetch_sub(bytes, Ordering::Relaxed);
            }
            Message::Flush(done) => {
                self.flush();
                // Nobody waits any more: fine.
                let _ = done.send(());
            }
        }
    }

    fn flush(&mut self) {
        let done = self.writer.flush();
        self.count(done);
    }

    fn count(&self, done: writer::Done) {
        self.metrics.log_lines("written", done.written);
        self.metrics.log_lines("failed", done.failed);
    }
}
