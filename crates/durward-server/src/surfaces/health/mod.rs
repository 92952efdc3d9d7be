//! Whether the server lives, whether it can decide, and by which policies.

pub(crate) mod grpc;
mod home;
pub(crate) mod probe;

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use durward_common::base::metrics::{EntityFigures, Metrics, in_seconds};
use durward_common::base::standing::Standing;
use durward_common::entities::{EntitySourceNews, EntityStore};
use durward_common::policies::{InForce, NO_POLICIES, PolicyProblem, PolicyWarning, TenantState, Warned};
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::{Answer, text_answer};
use durward_pdp::SnapshotInfo;
use durward_session::identity::protocol::Lack;
use durward_session::{ClockReport, Service};
use durward_settings::Settings;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::watch;

use grpc::Pulse;
use probe::metrics_answer;

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
    /// How far the clocks of other nodes, and of the store, are ahead of this node's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) clocks: Vec<Clock>,
    /// Each database of entities, and files of entities while something is wrong with one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) entities: Vec<EntitySourceNews>,
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

/// How many tenants `/health/ready` lists.
const TENANTS_SHOWN_MAX: usize = 100;

/// Another clock.
#[derive(Debug, Serialize)]
pub(crate) struct Clock {
    /// The other node, or `store`.
    node: String,
    ahead_s: f64,
    /// Wrong by half of that at most; not known of the store's.
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip_s: Option<f64>,
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
    /// There are no policies yet, or sessions cannot be told to live.
    Waiting,
    /// The server finishes what is under way and takes nothing new.
    Stopping,
}

/// What is told of the server.
pub(crate) struct Surface {
    policies: Arc<InForce>,
    entities: Arc<EntityStore>,
    /// Who is asking, where there are users.
    service: Option<Service>,
    weaknesses: ArcSwap<Vec<String>>,
    metrics: Arc<Metrics>,
    /// Becomes true when the end was asked for.
    stop: watch::Receiver<bool>,
    /// Where the server listens.
    listen: SocketAddr,
    bodies: Arc<Bodies>,
    /// Whether SAPL's decisions are to be had over HTTP.
    answers_sapl: bool,
    /// Whether subjects are named by tokens, and asserted by hardly anybody.
    asks_for_tokens: bool,
}

/// What the surface tells of, and with.
pub(crate) struct Parts<'p> {
    pub(crate) policies: &'p Arc<InForce>,
    pub(crate) entities: &'p Arc<EntityStore>,
    pub(crate) service: Option<&'p Service>,
    pub(crate) bodies: &'p Arc<Bodies>,
    pub(crate) metrics: &'p Arc<Metrics>,
}

impl Surface {
    pub(crate) fn new(settings: &Settings, parts: &Parts<'_>, stop: watch::Receiver<bool>) -> Surface {
        Surface {
            policies: Arc::clone(parts.policies),
            entities: Arc::clone(parts.entities),
            service: parts.service.cloned(),
            weaknesses: ArcSwap::from_pointee(settings.weaknesses()),
            metrics: Arc::clone(parts.metrics),
            stop,
            listen: settings.server.listen,
            bodies: Arc::clone(parts.bodies),
            answers_sapl: settings.answers_sapl(),
            asks_for_tokens: settings.identity.asks_for_tokens(),
        }
    }

    /// What is allowed but weak.
    pub(crate) fn weaknesses(&self) -> Arc<Vec<String>> {
        self.weaknesses.load_full()
    }

    /// From now on this is allowed but weak.
    pub(crate) fn take_up(&self, weaknesses: Vec<String>) {
        self.weaknesses.store(Arc::new(weaknesses));
    }

    /// `/health/ready`.
    pub(crate) fn ready(&self) -> Answer {
        let health = self.health();
        let mut text = serde_json::to_string_pretty(&health).unwrap_or_default();
        text.push('\n');
        let mut answer = text_answer("application/json", text);
        *answer.status_mut() = match health.status {
            Status::Ready | Status::Stale => StatusCode::OK,
            Status::Waiting | Status::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        };
        answer
    }

    /// `/metrics`.
    pub(crate) fn metrics(&self, headers: &HeaderMap) -> Answer {
        let policies = &self.policies;
        let snapshot = policies.pdp().as_ref().map(|pdp| pdp.snapshot());
        self.metrics.tenants(policies.standings());
        self.metrics.policy_warnings(policies.warning_count());
        self.metrics.entities(figures(&self.entities));
        if let Some(service) = &self.service {
            self.metrics.sessions(service);
        }
        metrics_answer(headers, self.metrics.text(snapshot.as_ref(), policies.age(), policies.is_stale()))
    }

    fn warnings(&self, documents: Option<usize>) -> Vec<String> {
        let mut warnings = Vec::clone(&self.weaknesses.load());
        warnings.extend((documents == Some(0)).then(|| NO_POLICIES.to_owned()));
        warnings
    }

    fn pulse(&self) -> Pulse {
        let (policies, service) = (Arc::clone(&self.policies), self.service.clone());
        Pulse { policies, service, stop: self.stop.clone() }
    }

    fn health(&self) -> Health {
        let state = self.policies.state();
        let snapshot = self.policies.pdp().as_ref().map(|pdp| pdp.snapshot());
        let tenants = self.policies.is_by_tenant().then(|| tenants(&self.policies));
        let snapshot_documents = snapshot.as_ref().map(|info| info.documents);
        let lack = self.service.as_ref().and_then(|service| service.outlook().lack);
        let clocks = self.service.as_ref().map(Service::clocks).unwrap_or_default();
        let clock_fault = clocks.fault();
        let status = match self.pulse().is_serving() {
            _ if *self.stop.borrow() => Status::Stopping,
            false => Status::Waiting,
            true if self.policies.is_stale() => Status::Stale,
            true => Status::Ready,
        };
        Health {
            status,
            snapshot: snapshot.map(|info| described(&self.policies, info)),
            policies_read: state.tried.map(in_words),
            tenants,
            problems: state.problems.clone(),
            policy_warnings: PolicyWarnings::of(&state.warned),
            sessions: lack
                .map(|lack| lacking(lack, self.service.as_ref().and_then(Service::store_complaint)))
                .or(clock_fault),
            clocks: clocks_of(&clocks),
            entities: self.entities.news().sources,
            warnings: self.warnings(snapshot_documents),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// How the sources of entities stand, in numbers.
fn figures(entities: &EntityStore) -> EntityFigures {
    let news = entities.news();
    EntityFigures {
        count: news.entity_count,
        is_stale: news.sources.iter().any(|source| source.problem.is_some()),
        age_s: news.sources.iter().filter_map(|source| source.age_s).fold(0.0, f64::max),
    }
}

/// The clocks that were compared, those of nodes first.
fn clocks_of(report: &ClockReport) -> Vec<Clock> {
    let nodes = report.nodes.iter().map(|other| Clock {
        node: other.node.clone(),
        ahead_s: in_seconds(other.ahead_ms),
        round_trip_s: i64::try_from(other.round_trip_ms).ok().map(in_seconds),
    });
    let store = report.store_ahead_ms.map(|ahead_ms| Clock {
        node: "store".to_owned(),
        ahead_s: in_seconds(ahead_ms),
        round_trip_s: None,
    });
    nodes.chain(store).collect()
}

/// `/health/live`.
pub(crate) fn live() -> Answer {
    text_answer("application/json", "{\"status\":\"live\"}\n")
}

/// What a node lacks and, where its store says so, why: that goes on until it is mended, and is no matter of a moment.
fn lacking(lack: Lack, complaint: Option<String>) -> String {
    complaint.map_or_else(|| lack.to_string(), |complaint| format!("no session store: {complaint}"))
}

/// One broken tenant does not make the server unready: the others are decided for.
fn tenants(policies: &InForce) -> Tenants {
    let all = policies.tenants.all();
    let count = |standing| all.values().filter(|tenant| tenant.standing() == standing).count();
    let mut worst_first: Vec<_> = all.iter().collect();
    worst_first.sort_by_key(|(_, tenant)| tenant.standing());
    let list = worst_first.into_iter().take(TENANTS_SHOWN_MAX).map(|(name, state)| tenant(name, state));
    Tenants {
        loaded: count(Standing::Loaded),
        stale: count(Standing::Stale),
        error: count(Standing::Error),
        waiting: count(Standing::Waiting),
        list: list.collect(),
    }
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

fn described(policies: &InForce, info: SnapshotInfo) -> Snapshot {
    Snapshot {
        id: info.id,
        documents: info.documents,
        policies: info.policies,
        rules: info.rules,
        index: info.index,
        loaded: policies.loaded().map(in_words).unwrap_or_default(),
        age_s: (policies.age().as_secs_f64() * 1000.0).round() / 1000.0,
    }
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
