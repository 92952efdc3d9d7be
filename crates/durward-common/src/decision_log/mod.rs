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
mod results;
mod writer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use durward_net::trace::Trace;
use durward_settings::{DecisionLogSettings, LogTarget, LoggedDecisions};

use durward_pdp::record::{Record, Recording};
use durward_pdp::{Request, ResultOf};
use smol_str::SmolStr;

use crate::base::metrics::Metrics;
use crate::telemetry::{DecisionSpan, LogRecord, Telemetry, Told};
use account::trace;
pub use account::{Account, Caller};
use attributes::Written;
use durward_pdp::sapl::{Decision, Outcome, Subscription};
use line::Style;
pub use recorder::Recorder;
pub use results::DecidedRequest;
use writer::Writer;

/// Why a multi-subscription without subscriptions is answered INDETERMINATE.
pub const NOTHING_ASKED: &str = "the multi-subscription has no subscriptions";

/// The way by which somebody was told a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// `/pdp`.
    Xacml,
    /// `/api/pdp`, answered once.
    Http,
    /// `/api/pdp`, answered with events.
    Sse,
    /// SAPL's decisions over RSocket.
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
    /// Its name in the log.
    pub const fn as_str(self) -> &'static str {
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
pub struct Entry {
    /// When it was told.
    pub time: SystemTime,
    /// Where it was told.
    pub surface: Surface,
    /// What was called there.
    pub route: &'static str,
    /// The id of the request, which the answer has too.
    pub request_id: SmolStr,
    /// The trace of the request.
    pub trace: Trace,
    /// `None` over a socket that has no addresses.
    pub client: Option<SocketAddr>,
    /// Whose policies decided.
    pub tenant: SmolStr,
    /// The name that goes with the caller's credentials, where credentials are looked at.
    pub caller: Option<SmolStr>,
    /// How long it took, where it was asked for; `None` where it was told because something had changed.
    pub duration: Option<Duration>,
    /// Which policies decided, and why.
    pub record: Arc<Record>,
    /// What was told.
    pub answer: LoggedAnswer,
    /// How long the text is that its caller sent, and that the entry holds: what it is made of counts beside that.
    pub bytes: usize,
}

/// What was decided, and about what.
pub enum LoggedAnswer {
    /// A result of XACML.
    Result {
        /// With the first result of a request.
        request: Option<Box<Request>>,
        /// What was answered.
        result: Box<ResultOf>,
        /// Which result it is, from 1, and how many there are.
        part: (usize, usize),
    },
    /// A decision of SAPL.
    Decision {
        /// The caller's name for the subscription, where there are several.
        id: Option<SmolStr>,
        /// What was asked.
        subscription: LoggedSubscription,
        /// What was answered.
        decision: Arc<Decision>,
    },
    /// A plan, in the place of a decision.
    Plan(Box<LoggedPlan>),
}

impl LoggedAnswer {
    /// What was asked in SAPL's words.
    fn subscription(&self) -> Option<&LoggedSubscription> {
        match self {
            LoggedAnswer::Result { .. } => None,
            LoggedAnswer::Decision { subscription, .. } => Some(subscription),
            LoggedAnswer::Plan(plan) => Some(&plan.subscription),
        }
    }
}

/// What rows are permitted, or why that could not be said.
pub struct LoggedPlan {
    /// What was asked.
    pub subscription: LoggedSubscription,
    /// Which rows the plan lets through.
    pub kind: PlanKind,
    /// The name of the columns.
    pub columns: SmolStr,
    /// The dialect that the filter is written in.
    pub dialect: &'static str,
    /// Whether the filter lets through what decisions permit, and no less.
    pub is_exact: bool,
}

/// What a plan comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// Every row.
    All,
    /// The rows that a filter lets through.
    Filter,
    /// No row.
    None,
    /// There is none.
    Failed,
}

impl Entry {
    /// What was decided, in the words that both languages share.
    fn outcome(&self) -> Outcome {
        match &self.answer {
            LoggedAnswer::Result { result, .. } => results::outcome_of(result.decision),
            LoggedAnswer::Decision { decision, .. } => decision.outcome,
            LoggedAnswer::Plan(plan) => match plan.kind {
                PlanKind::All | PlanKind::Filter => Outcome::Permit,
                PlanKind::None => Outcome::Deny,
                PlanKind::Failed => Outcome::Indeterminate,
            },
        }
    }
}

/// A subscription, as far as it may be written.
#[derive(Clone)]
pub enum LoggedSubscription {
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
pub struct DecisionLog {
    sender: Sender<Message>,
    queued_bytes: Arc<AtomicUsize>,
    queue_bytes_max: usize,
    metrics: Arc<Metrics>,
    style: Arc<Style>,
    decisions: LoggedDecisions,
    /// Whether decisions that have no line are told to a collector.
    sends_spans: bool,
    /// What is recorded of each decision.
    pub recording: Recording,
}

impl DecisionLog {
    /// Opens the log, if one is asked for, or a collector is told decisions.
    ///
    /// # Errors
    /// A file that cannot be opened for appending: a log that is asked for and not there is no start.
    pub fn open(
        settings: &DecisionLogSettings,
        telemetry: Option<&Arc<Telemetry>>,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<DecisionLog>, std::io::Error> {
        let writer = match settings.target() {
            LogTarget::Off if telemetry.is_none() => return Ok(None),
            LogTarget::Off => None,
            LogTarget::Stdout => Some(Writer::stdout()),
            LogTarget::File(path) => Some(Writer::file(path)?),
        };
        let sends_spans = telemetry.is_some_and(|telemetry| telemetry.sends_traces());
        let style = Arc::new(Style::new(settings));
        let (sender, receiver) = channel::<Message>();
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let desk = Desk {
            style: Arc::clone(&style),
            decisions: settings.decisions,
            writer,
            telemetry: telemetry.cloned(),
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
            decisions: settings.decisions,
            sends_spans,
            // Spans name the policies that applied.
            recording: Recording { policies: settings.policies || sends_spans },
        }))
    }

    /// Whether a decision has a line.
    fn writes(&self, outcome: Outcome) -> bool {
        is_kept(self.decisions, outcome)
    }

    /// Hands an entry to the writing thread, or drops it. One that nobody is told is passed over.
    pub fn record(&self, entry: Entry) {
        if !self.sends_spans && !self.writes(entry.outcome()) {
            return;
        }
        let bytes = entry.held(self.queue_bytes_max);
        let queued = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = queued.saturating_add(bytes) <= self.queue_bytes_max;
        if !has_room || self.sender.send(Message::Entry(Box::new(entry), bytes)).is_err() {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.metrics.log_lines("dropped", 1);
        }
    }

    /// Waits until what was recorded so far is written, or the time is over.
    pub fn flush(&self, time_max: Duration) {
        let (done, wait) = sync_channel(1);
        if self.sender.send(Message::Flush(done)).is_err() || wait.recv_timeout(time_max).is_err() {
            tracing::warn!("the decision log could not be written to its end");
        }
    }
}

/// Whether the log has a line of a decision.
fn is_kept(decisions: LoggedDecisions, outcome: Outcome) -> bool {
    match (decisions, outcome) {
        (LoggedDecisions::All, _) | (LoggedDecisions::Indeterminate, Outcome::Indeterminate) => true,
        (LoggedDecisions::NotPermitted, outcome) => outcome != Outcome::Permit,
        (
            LoggedDecisions::Indeterminate,
            Outcome::Permit | Outcome::Deny | Outcome::NotApplicable | Outcome::Suspend,
        ) => false,
    }
}

/// Where lines are written, and a collector is told.
struct Desk {
    style: Arc<Style>,
    decisions: LoggedDecisions,
    /// `None` where only a collector is told.
    writer: Option<Writer>,
    telemetry: Option<Arc<Telemetry>>,
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
                self.tell(&entry);
                self.queued.fetch_sub(bytes, Ordering::Relaxed);
            }
            Message::Flush(done) => {
                self.flush();
                // Nobody waits any more: fine.
                let _ = done.send(());
            }
        }
    }

    fn tell(&mut self, entry: &Entry) {
        let sends_logs = self.telemetry.as_ref().is_some_and(|telemetry| telemetry.sends_logs());
        let has_line = is_kept(self.decisions, entry.outcome()) && (sends_logs || self.writer.is_some());
        let line = has_line.then(|| self.style.line(entry));
        if let (Some(line), Some(writer)) = (&line, &mut self.writer) {
            let done = writer.write(line);
            self.count(done);
        }
        let Some(telemetry) = &self.telemetry else { return };
        let is_error = entry.outcome() == Outcome::Indeterminate;
        let of = Told {
            surface: entry.surface.as_str(),
            route: entry.route,
            tenant: &entry.tenant,
            request_id: &entry.request_id,
            decision: line::word(&entry.answer),
            is_inner: entry.surface != Surface::Rsocket,
        };
        if let Some(line) = &line {
            telemetry.log(&LogRecord { trace: &entry.trace, of, line, is_error, time: entry.time });
        }
        if telemetry.sends_traces() {
            let first = entry.record.failures.first().filter(|_| is_error);
            telemetry.decision(&DecisionSpan {
                trace: &entry.trace,
                of,
                snapshot: entry.record.snapshot,
                policies: entry.record.policies.iter().map(|policy| &*policy.id).collect(),
                error: first.map(|failure| self.style.reason_text(failure)),
                time: entry.time,
                duration: entry.duration,
            });
        }
    }

    fn flush(&mut self) {
        if let Some(writer) = &mut self.writer {
            let done = writer.flush();
            self.count(done);
        }
    }

    fn count(&self, done: writer::Done) {
        self.metrics.log_lines("written", done.written);
        self.metrics.log_lines("failed", done.failed);
    }
}
