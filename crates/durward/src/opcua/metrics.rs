//! `/metrics` and `/health` of the authorization service and of the gate. Every name is explained in `docs/configuration.md`; a test compares.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durward_opcua::authority::{AuthorityCounters as AuthorityFigures, AuthorizationServer, RefusalReason};
use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::gate::{Gate, GateCounters as GateFigures};
use durward_server::{Probed, ProbedHealth, metrics_text, serve_probe};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use serde_json::{Map, json};
use tokio::net::TcpListener;

use super::decider::PolicyDecider;
use super::live::{GatePolicies, LiveFigures};
use crate::failure::{CommandError, without_number};

/// Beyond it the gate is not ready: heartbeats come every second.
const STALENESS_MAX: Duration = Duration::from_secs(5);

/// A metric with one label.
type LabelledMetric = Family<Vec<(&'static str, String)>, Counter>;

/// Serves metrics and health, from now on.
///
/// # Errors
/// The address is taken, or not of this machine.
pub(super) async fn serve(listen: SocketAddr, probed: impl Probed) -> Result<(), CommandError> {
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        let why = without_number(&error.to_string());
        CommandError::new(format!("cannot listen on {listen}: {why}"))
            .hint("choose another address with `--metrics`")
    })?;
    tracing::info!(address = %listener.local_addr()?, "/metrics and /health are served");
    tokio::spawn(serve_probe(listener, Arc::new(probed)));
    Ok(())
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Metrics of one moment.
struct MetricsSnapshot(Registry);

impl MetricsSnapshot {
    fn new(prefix: &str) -> MetricsSnapshot {
        MetricsSnapshot(Registry::with_prefix(prefix))
    }

    fn count(&mut self, name: &str, help: &str, value: u64) {
        self.0.register(name, help, ConstCounter::new(value));
    }

    fn level(&mut self, name: &str, help: &str, value: u64) {
        self.0.register(name, help, ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn counts(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        let family = LabelledMetric::default();
        for (value, count) in values {
            family.get_or_create(&vec![(label, value)]).inc_by(count);
        }
        self.0.register(name, help, family);
    }

    fn text(&self) -> String {
        metrics_text(&self.0)
    }
}

/// What is looked at of an authorization service.
pub(super) struct AuthorityProbe {
    server: Arc<AuthorizationServer>,
    decider: Arc<PolicyDecider>,
    /// The file of the users.
    users: Option<PathBuf>,
}

impl AuthorityProbe {
    pub(super) fn new(
        server: Arc<AuthorizationServer>,
        decider: Arc<PolicyDecider>,
        users: Option<PathBuf>,
    ) -> AuthorityProbe {
        AuthorityProbe { server, decider, users }
    }
}

impl Probed for AuthorityProbe {
    fn metrics(&self) -> String {
        let service = self.server.service();
        authority_text(service.figures(), service.is_store_failing())
    }

    fn health(&self) -> ProbedHealth {
        let service = self.server.service();
        let mut missing = Vec::new();
        if let Some(path) = self.users.as_ref().filter(|path| !path.exists()) {
            missing.push(format!("the file of the users is not there: {}", path.display()));
        }
        if service.is_store_failing() {
            missing.push("the store cannot be written, so no tokens are issued: see the log".to_owned());
        }
        let resources: Map<_, _> =
            service.resources().into_iter().map(|(id, nodes)| (id, json!(nodes))).collect();
        let mut details = Map::new();
        details.insert("policies".to_owned(), json!(&*self.decider.policies_in_force()));
        if let Some(problem) = self.decider.problem() {
            details.insert("stale_policies".to_owned(), json!(problem));
        }
        details.insert("published_nodes".to_owned(), json!(resources));
        details.insert("gates".to_owned(), json!(service.figures().gates()));
        ProbedHealth { missing, details }
    }
}

fn authority_text(figures: &AuthorityFigures, is_store_failing: bool) -> String {
    let mut all = MetricsSnapshot::new("durward_opcua_authority");
    all.count("tokens", "Tokens issued", figures.issued());
    let refused = RefusalReason::ALL.map(|reason| (reason.name().to_owned(), figures.refused(reason)));
    all.counts("refusals", "Tokens and logins refused, by reason", "reason", refused);
    let decisions = [("decided".to_owned(), figures.decisions()), ("reused".to_owned(), figures.reused())];
    all.counts(
        "decisions",
        "Questions about all nodes of a resource, by where the answer came from",
        "answer",
        decisions,
    );
    let help = "Time that the decision point took for all its answers";
    all.0.register_with_unit(
        "deciding",
        help,
        Unit::Seconds,
        ConstCounter::new(figures.deciding().as_secs_f64()),
    );
    all.count("cutoffs", "Recalls", figures.cutoffs());
    all.count("tables", "Node tables taken from gates", figures.tables());
    all.level("gates", "Sessions of gates that are open", figures.gates());
    all.level("store_failing", "1 while the store cannot be written", u64::from(is_store_failing));
    all.text()
}

/// What is looked at of a gate.
pub(super) struct GateProbe {
    gate: Arc<Gate>,
    policies: Option<GatePolicies>,
}

impl GateProbe {
    pub(super) fn new(gate: Arc<Gate>, policies: Option<GatePolicies>) -> GateProbe {
        GateProbe { gate, policies }
    }
}

/// How long ago all that was recalled was known; `None` before anything was heard.
fn staleness(figures: &GateFigures) -> Option<Duration> {
    Some(read(&figures.staleness_ms)).filter(|ms| *ms != u64::MAX).map(Duration::from_millis)
}

impl Probed for GateProbe {
    fn metrics(&self) -> String {
        gate_text(self.gate.figures(), self.policies.as_ref().map(|policies| &**policies.live.figures()))
    }

    fn health(&self) -> ProbedHealth {
        let figures = self.gate.figures();
        let mut missing = missing(figures, self.gate.table().is_some());
        let mut details = Map::new();
        if let Some(policies) = &self.policies {
            if policies.watch.pdp().is_none() {
                missing.push("the gate's own decision point has no policies: see the log".to_owned());
            }
            details.insert("stale_policies".to_owned(), json!(policies.watch.problems()));
        }
        details.insert("sessions".to_owned(), json!(read(&figures.sessions)));
        details.insert("nodes".to_owned(), json!(read(&figures.table_nodes)));
        details.insert(
            "staleness_s".to_owned(),
            json!(staleness(figures).map(|staleness| staleness.as_secs_f64())),
        );
        ProbedHealth { missing, details }
    }
}

/// What a gate lacks, each with what to do.
fn missing(figures: &GateFigures, has_table: bool) -> Vec<String> {
    let mut missing = Vec::new();
    if !figures.upstream_up.load(Ordering::Relaxed) {
        missing.push(
            "the server behind the gate does not answer: does it run, and trust the gate's certificate?"
                .to_owned(),
        );
    }
    if !has_table {
        missing
            .push("the nodes of the server are not known yet: they are browsed when it answers".to_owned());
    }
    match staleness(figures) {
        Some(staleness) if staleness <= STALENESS_MAX => {}
        Some(staleness) => missing.push(format!(
            "the authorization service was heard last {} s ago, and tokens do not count: does it run?",
            staleness.as_secs()
        )),
        None => missing.push(
            "the authorization service was not heard yet, and no token counts: does it run, and trust the gate's \
             certificate?"
                .to_owned(),
        ),
    }
    missing
}

fn gate_text(figures: &GateFigures, live: Option<&LiveFigures>) -> String {
    let mut all = MetricsSnapshot::new("durward_opcua_gate");
    all.level("sessions", "Sessions that are activated", read(&figures.sessions));
    let activations =
        [("ok".to_owned(), read(&figures.activated)), ("refused".to_owned(), read(&figures.refused))];
    all.counts("activations", "Activations, renewals included, by result", "result", activations);
    all.count("requests", "Requests of activated sessions", read(&figures.requests));
    let refusals =
        ServiceKind::ALL.iter().map(|service| (format!("{service:?}"), figures.refusals_of(*service)));
    all.counts("refusals", "Requests refused as a whole, by service", "service", refusals);
    all.count("cutoffs", "Recalls that were heard of", read(&figures.cutoffs));
    all.count("sessions_ended", "Sessions that the gate ended because their right did", read(&figures.ended));
    all.count("upstream_lost", "Sessions with the server that were lost", read(&figures.upstream_lost));
    let is_up = figures.upstream_up.load(Ordering::Relaxed);
    all.level("upstream_up", "1 while the server behind the gate answers", u64::from(is_up));
    all.level("table_nodes", "Nodes in the node table", read(&figures.table_nodes));
    let age = staleness(figures).map_or(f64::INFINITY, |staleness| staleness.as_secs_f64());
    let help = "How long ago all that was recalled was known; infinite before anything was heard";
    all.0.register_with_unit("staleness", help, Unit::Seconds, ConstGauge::new(age));
    let none = LiveFigures::default();
    let live = live.unwrap_or(&none);
    let decisions = [("granted", &live.granted), ("refused", &live.refused), ("remembered", &live.reused)];
    let decisions = decisions.map(|(name, count)| (name.to_owned(), read(count)));
    all.counts(
        "decisions",
        "Decisions at the gate on what tokens leave open, by answer",
        "answer",
        decisions,
    );
    all.text()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The names that a text has, as scrapers see them.
    fn names(text: &str) -> BTreeSet<String> {
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let name = |line: &str| {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap().to_owned();
            if words.next() == Some("counter") { name + "_total" } else { name }
        };
        types.map(name).collect()
    }

    #[test]
    fn every_metric_is_documented_and_every_documented_one_exists() {
        let mut are = names(&gate_text(&GateFigures::default(), None));
        are.extend(names(&authority_text(&AuthorityFigures::default(), false)));
        let docs = include_str!("../../../../docs/configuration.md");
        let rows = docs.lines().filter_map(|line| line.strip_prefix("| `durward_opcua_")?.split('`').next());
        let documented: BTreeSet<String> =
            rows.map(|name| format!("durward_opcua_{}", name.split('{').next().unwrap())).collect();
        assert_eq!(are, documented);
    }

    #[test]
    fn what_was_counted_is_told() {
        let (figures, live) = (GateFigures::default(), LiveFigures::default());
        figures.sessions.store(3, Ordering::Relaxed);
        figures.staleness_ms.store(1_500, Ordering::Relaxed);
        figures.refusals[ServiceKind::Write as usize].store(7, Ordering::Relaxed);
        live.refused.store(2, Ordering::Relaxed);
        let text = gate_text(&figures, Some(&live));
        for line in [
            "durward_opcua_gate_sessions 3\n",
            "durward_opcua_gate_staleness_seconds 1.5\n",
            "durward_opcua_gate_refusals_total{service=\"Write\"} 7\n",
            "durward_opcua_gate_refusals_total{service=\"Read\"} 0\n",
            "durward_opcua_gate_decisions_total{answer=\"refused\"} 2\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(authority_text(&AuthorityFigures::default(), true).contains("_store_failing 1\n"));
    }

    #[test]
    fn a_gate_is_ready_when_it_knows_server_nodes_and_recalls() {
        let figures = GateFigures::default();
        assert_eq!(missing(&figures, false).len(), 3);
        figures.upstream_up.store(true, Ordering::Relaxed);
        figures.staleness_ms.store(900, Ordering::Relaxed);
        assert_eq!(missing(&figures, true), [""; 0]);
        figures.staleness_ms.store(9_000, Ordering::Relaxed);
        let lacks = missing(&figures, true);
        assert!(matches!(&*lacks, [only] if only.contains("9 s ago")), "{lacks:?}");
    }
}
