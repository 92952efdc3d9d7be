//! Counters of the authorization service, and its audit events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durward_identity::Moment;

use crate::token::CutoffTarget;
use crate::wire::datetime;

/// Why no token was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// The resource is not known.
    UnknownResource,
    /// The resource has not published its nodes yet.
    NoTable,
    /// The identity proves nothing.
    Identity,
    /// The request that was to be finished, or the refresh token, does not count (any more), or belongs to another client.
    Stale,
    /// A refresh token came twice: it may be stolen, and its successors are dropped.
    Repeated,
    /// The policies grant nothing.
    Denied,
    /// Too much is under way.
    Busy,
    /// The decision point, a directory or the store failed.
    Failed,
}

impl RefusalReason {
    /// Every reason.
    pub const ALL: [RefusalReason; 8] = [
        RefusalReason::UnknownResource,
        RefusalReason::NoTable,
        RefusalReason::Identity,
        RefusalReason::Stale,
        RefusalReason::Repeated,
        RefusalReason::Denied,
        RefusalReason::Busy,
        RefusalReason::Failed,
    ];

    /// As metrics and logs have it.
    pub fn name(self) -> &'static str {
        match self {
            RefusalReason::UnknownResource => "unknown_resource",
            RefusalReason::NoTable => "no_table",
            RefusalReason::Identity => "identity",
            RefusalReason::Stale => "stale",
            RefusalReason::Repeated => "repeated",
            RefusalReason::Denied => "denied",
            RefusalReason::Busy => "busy",
            RefusalReason::Failed => "failed",
        }
    }
}

/// Counters. Each only grows, but for `gates`.
#[derive(Debug, Default)]
pub struct AuthorityCounters {
    issued: AtomicU64,
    refused: [AtomicU64; RefusalReason::ALL.len()],
    decisions: AtomicU64,
    reused: AtomicU64,
    deciding_us: AtomicU64,
    cutoffs: AtomicU64,
    gates: AtomicU64,
    tables: AtomicU64,
}

impl AuthorityCounters {
    /// Tokens issued.
    pub fn issued(&self) -> u64 {
        self.issued.load(Ordering::Relaxed)
    }

    /// Requests refused for a reason.
    pub fn refused(&self, reason: RefusalReason) -> u64 {
        self.refused.get(reason as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Questions that the decision point answered.
    pub fn decisions(&self) -> u64 {
        self.decisions.load(Ordering::Relaxed)
    }

    /// Questions whose answer was known.
    pub fn reused(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }

    /// How long the decision point took for all its answers together.
    pub fn deciding(&self) -> Duration {
        Duration::from_micros(self.deciding_us.load(Ordering::Relaxed))
    }

    /// Recalls.
    pub fn cutoffs(&self) -> u64 {
        self.cutoffs.load(Ordering::Relaxed)
    }

    /// Sessions of gates that are open now.
    pub fn gates(&self) -> u64 {
        self.gates.load(Ordering::Relaxed)
    }

    /// Node tables taken.
    pub fn tables(&self) -> u64 {
        self.tables.load(Ordering::Relaxed)
    }

    pub(super) fn count_issued(&self) {
        self.issued.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_refused(&self, reason: RefusalReason) {
        if let Some(count) = self.refused.get(reason as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn count_decision(&self, took: Duration) {
        self.decisions.fetch_add(1, Ordering::Relaxed);
        self.deciding_us.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn count_reused(&self) {
        self.reused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_cutoff(&self) {
        self.cutoffs.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_table(&self) {
        self.tables.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn gate_came(&self) {
        self.gates.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn gate_left(&self) {
        // A gate that was registered while it had a session was not counted when it came.
        let _ = self.gates.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |gates| gates.checked_sub(1));
    }
}

/// What is told to the audit.
#[derive(Clone, Debug, PartialEq)]
pub enum AuthorityAuditNote<'n> {
    /// A token was issued.
    Issued {
        /// Whom the rights are of.
        subject: &'n str,
        /// The server that it is for.
        resource: &'n str,
        /// The thumbprint of the certificate that it is bound to.
        client: &'n str,
        /// The version of the policies that decided.
        policy: &'n str,
        /// When it ends.
        expires: Moment,
    },
    /// A token was refused.
    Refused {
        /// The ApplicationUri of the client.
        application: &'n str,
        /// The server that it was to be for.
        resource: &'n str,
        /// Why.
        reason: RefusalReason,
        /// The same in words, with what to do.
        words: &'n str,
    },
    /// Tokens were recalled.
    Recalled {
        /// Whose.
        target: &'n CutoffTarget<Arc<str>>,
        /// Whether that is on disk: if not, a restart may forget it.
        kept: bool,
    },
    /// Somebody could not log in.
    LoginRefused {
        /// The ApplicationUri of the client.
        application: &'n str,
        /// What was brought, without its secret.
        credential: &'n str,
    },
    /// A resource published its nodes.
    TablePublished {
        /// The resource.
        resource: &'n str,
        /// How many nodes.
        nodes: usize,
    },
}

/// Takes notes of what the service does. Must not wait for long.
pub trait AuthorityAudit: Send + Sync + 'static {
    /// Something happened.
    fn note(&self, now: Moment, note: &AuthorityAuditNote<'_>);
}

/// An audit that writes to the log.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuthorityLogAudit;

impl AuthorityAudit for AuthorityLogAudit {
    fn note(&self, _now: Moment, note: &AuthorityAuditNote<'_>) {
        match note {
            AuthorityAuditNote::Issued { subject, resource, client, policy, expires } => {
                let expires = datetime(*expires).to_rfc3339();
                tracing::info!(subject, resource, client, policy, expires, "a token was issued");
            }
            AuthorityAuditNote::Refused { application, resource, reason, words } => {
                tracing::info!(application, resource, reason = reason.name(), "no token was issued: {words}");
            }
            AuthorityAuditNote::Recalled { target, kept: true } => {
                tracing::info!(of = %target, "tokens were recalled")
            }
            AuthorityAuditNote::Recalled { target, kept: false } => {
                tracing::warn!(of = %target, "tokens were recalled; a restart may forget it, for the store fails");
            }
            AuthorityAuditNote::LoginRefused { application, credential } => {
                tracing::info!(
                    application,
                    credential,
                    "a login was refused: the name, password, certificate or session is wrong"
                );
            }
            AuthorityAuditNote::TablePublished { resource, nodes } => {
                tracing::info!(resource, nodes, "a gate has published its nodes");
            }
        }
    }
}
