//! Audit events of a gate, in sentences that say what to do, and its counters.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use durward_identity::Moment;
use opcua_types::StatusCode;

use super::mediate::service::ServiceKind;

/// Receives the events of the gate. Called on the tasks that serve clients: hand it on, do not wait.
pub trait GateAudit: Send + Sync {
    /// Takes one event.
    fn record(&self, event: &GateAuditEvent<'_>);
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub struct GateAuditEvent<'a> {
    /// When.
    pub moment: Moment,
    /// The session's number in this process; 0 where there is none.
    pub session: u64,
    /// The client's ApplicationUri; empty where there is no session.
    pub client: &'a str,
    /// Whose rights; empty for nobody in particular.
    pub subject: &'a str,
    /// What.
    pub what: GateAuditKind<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateAuditKind<'a> {
    /// A session was activated, with a token of this name (`jti`; empty for an anonymous one).
    Activated {
        /// The token's name.
        token: &'a str,
    },
    /// The gate has renewed the token of a user who came without one.
    Renewed {
        /// The new token's name.
        token: &'a str,
    },
    /// An activation was refused.
    ActivationRefused {
        /// What the client was told.
        status: StatusCode,
        /// Why, in words.
        reason: &'a str,
    },
    /// A request was refused as a whole.
    RequestRefused {
        /// Which service.
        service: ServiceKind,
        /// What the client was told.
        status: StatusCode,
        /// Why, in words.
        reason: &'a str,
    },
    /// The gate ended a session, or its rights.
    Ended {
        /// Why, in words.
        reason: &'a str,
    },
    /// An operator should know. The gate has logged it.
    Note {
        /// What, in words.
        text: &'a str,
    },
}

impl fmt::Display for GateAuditKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateAuditKind::Activated { token: "" } => f.write_str("activated without a token"),
            GateAuditKind::Activated { token } => write!(f, "activated with token `{token}`"),
            GateAuditKind::Renewed { token } => write!(f, "renewed with token `{token}`"),
            GateAuditKind::ActivationRefused { status, reason } => {
                write!(f, "activation refused: {reason} ({status})")
            }
            GateAuditKind::RequestRefused { service, status, reason } => {
                write!(f, "{service:?} refused: {reason} ({status})")
            }
            GateAuditKind::Ended { reason } => write!(f, "ended: {reason}"),
            GateAuditKind::Note { text } => f.write_str(text),
        }
    }
}

/// An audit that only logs.
#[derive(Clone, Copy, Debug, Default)]
pub struct GateAuditLog;

impl GateAudit for GateAuditLog {
    fn record(&self, event: &GateAuditEvent<'_>) {
        let GateAuditEvent { session, client, subject, what, .. } = *event;
        match what {
            GateAuditKind::RequestRefused { service, status, .. } => {
                tracing::info!(session, client, subject, ?service, %status, "{what}");
            }
            GateAuditKind::ActivationRefused { status, .. } => {
                tracing::info!(session, client, subject, %status, "{what}");
            }
            GateAuditKind::Activated { .. } | GateAuditKind::Renewed { .. } | GateAuditKind::Ended { .. } => {
                tracing::info!(session, client, subject, "{what}");
            }
            // Whoever noted it has logged it, as a warning or not.
            GateAuditKind::Note { .. } => {}
        }
    }
}

/// Counts since the start, and what is so now: for metrics. Read them with [`Ordering::Relaxed`].
#[derive(Debug)]
pub struct GateCounters {
    /// Sessions that are activated now.
    pub sessions: AtomicU64,
    /// Activations that succeeded, renewals included.
    pub activated: AtomicU64,
    /// Activations that were refused.
    pub refused: AtomicU64,
    /// Requests that came for activated sessions.
    pub requests: AtomicU64,
    /// Requests that were refused as a whole, by service: in the order of [`ServiceKind::ALL`].
    pub refusals: [AtomicU64; ServiceKind::ALL.len()],
    /// Cutoffs that were heard of.
    pub cutoffs: AtomicU64,
    /// Sessions that the gate ended because their right did.
    pub ended: AtomicU64,
    /// Upstream sessions that were lost.
    pub upstream_lost: AtomicU64,
    /// Whether the server answers the gate's own session now.
    pub upstream_up: AtomicBool,
    /// How long ago everything was known of recalled tokens, in milliseconds; `u64::MAX` before anything was heard.
    pub staleness_ms: AtomicU64,
    /// Rows of the node table.
    pub table_nodes: AtomicU64,
    /// How often the wall clock was set while the gate ran, by more than a second and for longer than one.
    pub clock_jumps: AtomicU64,
}

impl Default for GateCounters {
    fn default() -> GateCounters {
        let zero = || AtomicU64::new(0);
        GateCounters {
            sessions: zero(),
            activated: zero(),
            refused: zero(),
            requests: zero(),
            refusals: std::array::from_fn(|_| zero()),
            cutoffs: zero(),
            ended: zero(),
            upstream_lost: zero(),
            upstream_up: AtomicBool::new(false),
            staleness_ms: AtomicU64::new(u64::MAX),
            table_nodes: zero(),
            clock_jumps: zero(),
        }
    }
}

impl GateCounters {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refuse(&self, service: ServiceKind) {
        if let Some(counter) = self.refusals.get(service as usize) {
            GateCounters::count(counter);
        }
    }

    /// Requests of a service that were refused as a whole.
    pub fn refusals_of(&self, service: ServiceKind) -> u64 {
        self.refusals.get(service as usize).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}
