//! Whether the server lives, whether it can decide, and by which policies.

pub(crate) mod home;
pub(crate) mod probe;

use std::time::Duration;

use durward_pdp::SnapshotInfo;
use durward_session::Service;
use durward_session::identity::protocol::Lack;
use hyper::StatusCode;
use jiff::Timestamp;
use serde::Serialize;

use crate::base::settings::PolicySource;
use crate::policies::{Standing, TenantState, Warned};
use crate::serve::state::{PolicyProblem, PolicyWarning, Shared};
use crate::surfaces::http::{Answer, text_answer};

/// What operators and orchestrators read.
#[derive(Debug, Serialize)]
pub(crate) struct Health {
    pub(crate) status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot: Option<Snapshot>,
    /// When policies were read last, with whatever result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policies_read: Option<String>,
    /// All tenants, where policies come by tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tenants: Option<Tenants>,
    /// What is wrong with the newest policies, which for that reason are not in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<PolicyProblem>,
    /// What is odd in the policies in force: how many warnings, and the first of them.
    #[serde(skip_serializing_if = "PolicyWarnings::is_empty")]
    pub(crate) policy_warnings: PolicyWarnings,
    /// What this node cannot promise about sessions at the moment, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sessions: Option<String>,
    /// Weak settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
    pub(crate) version: &'static str,
}

/// What is odd in policies in force.
#[derive(Debug, Serialize)]
pub(crate) struct PolicyWarnings {
    pub(crate) count: usize,
    pub(crate) list: Vec<PolicyWarning>,
}

impl PolicyWarnings {
    fn of(warned: &Warned) -> PolicyWarnings {
        PolicyWarnings { count: warned.count, list: warned.first.clone() }
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// How many tenants stand how, and some of them.
#[derive(Debug, Serialize)]
pub(crate) struct Tenants {
    loaded: usize,
    stale: usize,
    error: usize,
    waiting: usize,
    /// At most [`TENANTS_SHOWN_MAX`], the worst first.
    list: Vec<Tenant>,
}

/// One tenant's policies.
#[derive(Debug, Serialize)]
struct Tenant {
    tenant: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<String>,
    documents: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    loaded: Option<String>,
    /// When newer ones were refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<PolicyProblem>,
    #[serde(skip_serializing_if = "PolicyWarnings::is_empty")]
    policy_warnings: PolicyWarnings,
}

/// Most tenants that are listed: what asks for health reads no more.
const TENANTS_SHOWN_MAX: usize = 100;

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
    /// There are no policies yet, or sessions cannot be told to live.
    Waiting,
    /// The server finishes what is under way and takes nothing new.
    Stopping,
}

pub(crate) fn live() -> Answer {
    text_answer("application/json", "{\"status\":\"live\"}\n")
}

pub(crate) fn ready(shared: &Shared) -> Answer {
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

pub(crate) fn health(shared: &Shared) -> Health {
    let policies = shared.policies.load();
    let snapshot = shared.pdp.load().as_ref().map(|pdp| pdp.snapshot());
    let tenants = tenants(shared);
    let has_policies = snapshot.is_some() || tenants.as_ref().is_some_and(|all| all.loaded + all.stale > 0);
    let lack = shared.service.as_ref().and_then(|service| service.outlook().lack);
    let status = match has_policies {
        _ if shared.is_stopping() => Status::Stopping,
        _ if lack.is_some() => Status::Waiting,
        false => Status::Waiting,
        true if shared.is_stale() => Status::Stale,
        true => Status::Ready,
    };
    Health {
        status,
        snapshot: snapshot.map(|info| described(shared, info)),
        policies_read: policies.tried.map(in_words),
        tenants,
        problems: policies.problems.clone(),
        policy_warnings: PolicyWarnings::of(&policies.warned),
        sessions: lack.map(|lack| lacking(lack, shared.service.as_ref().and_then(Service::store_complaint))),
        warnings: shared.weaknesses.clone(),
        version: env!("CARGO_PKG_VERSION"),
    }
}

/// What a node lacks and, where its store says so, why: that goes on until it is mended, and is no matter of a moment.
fn lacking(lack: Lack, complaint: Option<String>) -> String {
    complaint.map_or_else(|| lack.to_string(), |complaint| format!("no session store: {complaint}"))
}

/// One broken tenant does not make the server unready: the others are decided for.
fn tenants(shared: &Shared) -> Option<Tenants> {
    if shared.settings.policies.source == PolicySource::Directory {
        return None;
    }
    let all = shared.tenants.all();
    let count = |standing| all.values().filter(|tenant| tenant.standing() == standing).count();
    let mut worst_first: Vec<_> = all.iter().collect();
    worst_first.sort_by_key(|(_, tenant)| tenant.standing());
    let list = worst_first.into_iter().take(TENANTS_SHOWN_MAX).map(|(name, state)| tenant(name, state));
    Some(Tenants {
        loaded: count(Standing::Loaded),
        stale: count(Standing::Stale),
        error: count(Standing::Error),
        waiting: count(Standing::Waiting),
        list: list.collect(),
    })
}

fn tenant(name: &str, state: &TenantState) -> Tenant {
    Tenant {
        tenant: name.to_owned(),
        state: state.standing().as_str(),
        configuration: state.configuration.clone(),
        documents: state.pdp.as_ref().map_or(0, |pdp| pdp.snapshot().documents),
        loaded: state.loaded.map(in_words),
        failed: state.failed.map(in_words),
        problems: state.problems.iter().chain(&state.contact).cloned().collect(),
        policy_warnings: PolicyWarnings::of(&state.warned),
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
pub(crate) fn age(shared: &Shared) -> Duration {
    let loaded = shared.policies.load().loaded;
    loaded.and_then(|loaded| (shared.clock)().duration_since(loaded).ok()).unwrap_or_default()
}

fn in_words(time: std::time::SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| String::new(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_the_store_cannot_be_used_comes_before_what_that_leads_to() {
        assert_eq!(lacking(Lack::Starting, None), Lack::Starting.to_string());
        let why = "stream `s` has 1 replicas".to_owned();
        assert_eq!(lacking(Lack::Starting, Some(why)), "no session store: stream `s` has 1 replicas");
    }
}
