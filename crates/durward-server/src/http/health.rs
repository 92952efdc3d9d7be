//! Whether the server lives, whether it can decide, and by which policies.

use std::time::Duration;

use durward_pdp::SnapshotInfo;
use hyper::StatusCode;
use jiff::Timestamp;
use serde::Serialize;

use super::{Answer, text_answer};
use crate::state::{PolicyProblem, Shared};

/// What operators and orchestrators read.
#[derive(Debug, Serialize)]
pub(crate) struct Health {
    pub(crate) status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot: Option<Snapshot>,
    /// When policies were read last, with whatever result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policies_read: Option<String>,
    /// What is wrong with the newest policies, which for that reason are not in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<PolicyProblem>,
    /// Weak settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
    pub(crate) version: &'static str,
}

/// The policies in force.
#[derive(Debug, Serialize)]
pub(crate) struct Snapshot {
    pub(crate) id: u64,
    pub(crate) documents: usize,
    pub(crate) policies: usize,
    pub(crate) rules: usize,
    pub(crate) index: String,
    pub(crate) loaded: String,
    pub(crate) age_s: f64,
}

/// Whether decisions can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// The newest policies are in force.
    Ready,
    /// The newest policies are broken; older ones are in force.
    Stale,
    /// There are no policies yet.
    Waiting,
    /// The server finishes what is under way and takes nothing new.
    Stopping,
}

pub(super) fn live() -> Answer {
    text_answer("application/json", "{\"status\":\"live\"}\n")
}

pub(super) fn ready(shared: &Shared) -> Answer {
    let health = health(shared);
    let mut text = serde_json::to_string_pretty(&health).unwrap_or_default();
    text.push('\n');
    let mut answer = text_answer("application/json", text);
    *answer.status_mut() = match health.status {
        Status::Ready | Status::Stale => StatusCode::OK,
        Status::Waiting | Status::Stopping => StatusCode::SERVICE_UNAVAILABLE,
    };
    answer
}

pub(super) fn health(shared: &Shared) -> Health {
    let policies = shared.policies.load();
    let snapshot = shared.pdp.get().map(|pdp| pdp.snapshot());
    let status = match &snapshot {
        _ if shared.is_stopping() => Status::Stopping,
        None => Status::Waiting,
        Some(_) if policies.problems.is_empty() => Status::Ready,
        Some(_) => Status::Stale,
    };
    Health {
        status,
        snapshot: snapshot.map(|info| described(shared, info)),
        policies_read: policies.tried.map(in_words),
        problems: policies.problems.clone(),
        warnings: shared.weaknesses.clone(),
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn described(shared: &Shared, info: SnapshotInfo) -> Snapshot {
    Snapshot {
        id: info.id,
        documents: info.documents,
        policies: info.policies,
        rules: info.rules,
        index: info.index,
        loaded: shared.policies.load().loaded.map(in_words).unwrap_or_default(),
        age_s: (age(shared).as_secs_f64() * 1000.0).round() / 1000.0,
    }
}

/// How long the policies in force have been there; zero without any.
pub(super) fn age(shared: &Shared) -> Duration {
    let loaded = shared.policies.load().loaded;
    loaded.and_then(|loaded| (shared.clock)().duration_since(loaded).ok()).unwrap_or_default()
}

fn in_words(time: std::time::SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| String::new(), |time| format!("{time:.3}"))
}
