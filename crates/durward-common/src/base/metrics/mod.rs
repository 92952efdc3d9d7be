//! What Prometheus reads at `/metrics`. Every name is explained in `docs/configuration.md`; a test compares.

mod entities;
mod lanes;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use durward_pdp::ir::attribute::known_name_count;
use durward_pdp::ir::question::known_text_count;
use durward_pdp::sapl::{self, Outcome};
use durward_pdp::{Decision, SnapshotInfo};
use durward_session::{ClockReport, Counters, Service};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::base::standing::Standing;
pub use entities::EntityFigures;
use entities::EntityMetrics;
pub use lanes::OneMore;
use lanes::{Level, Tally, Times};

/// Decisions take microseconds, and milliseconds when something is wrong.
const DECISION_BUCKETS_S: [f64; 11] = [1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 5e-4, 1e-3, 1e-2, 1e-1];

/// Requests take what a decision takes and the time for the body to arrive.
const REQUEST_BUCKETS_S: [f64; 11] = [2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 2.5e-2, 1e-1, 1.0, 10.0];

/// What `durward_limits_hit_total` counts: settings by their names, and after their section what has no setting of its own: `identity.body`
/// and `oauth.body`, `limits.request` for any of a request in `[limits]`, `sapl.subscriptions` for what can be numbered, and
/// `sapl.plans` for those that are made and waited for.
const LIMITS: [&str; 23] = [
    "auth.requests_per_second_max",
    "auth.requests_per_second_per_caller_max",
    "doors.decision_ms_max",
    "identity.body",
    "limits.request",
    "oauth.body",
    "openam.body_bytes_max",
    "rsocket.connections_max",
    "rsocket.lifetime_ms_max",
    "rsocket.payload_bytes_max",
    "rsocket.requests_per_second_max",
    "rsocket.streams_per_connection_max",
    "sapl.body_bytes_max",
    "sapl.plans",
    "sapl.requests_per_second_max",
    "sapl.streams_max",
    "sapl.subscriptions",
    "server.body_bytes_max",
    "server.body_memory_bytes_max",
    "server.connections_max",
    "server.connections_per_address_max",
    "server.header_time_ms_max",
    "server.request_time_ms_max",
];

/// What requests are answered with. Others are counted too, more slowly.
const STATUSES: [u16; 20] =
    [200, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 422, 429, 500, 501, 503, 504];

/// How RSocket requests are called: the routes of SAPL and all others.
pub const RSOCKET_ROUTES: [&str; 6] =
    ["decide-once", "decide", "multi-decide", "multi-decide-all", "multi-decide-all-once", "other"];

/// Decisions, each in the place of its [`Verdict`].
const DECISIONS: [&str; 5] = ["Permit", "Deny", "NotApplicable", "Indeterminate", "Suspend"];

/// A decision of either language, as the number of its cell.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    Permit,
    Deny,
    NotApplicable,
    Indeterminate,
    Suspend,
}

/// Most tenants with a series of their own.
const TENANT_SERIES_MAX: usize = 100;

/// A label value out of a fixed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Word(pub &'static str);

impl EncodeLabelValue for Word {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        self.0.encode(encoder)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByDecision {
    decision: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRoute {
    route: Word,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResult {
    result: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BySignal {
    signal: Word,
    result: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    outcome: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRequest {
    route: Word,
    result: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BySurface {
    surface: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByState {
    state: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByEvent {
    event: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByNode {
    node: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByTenant {
    tenant: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByDoor {
    door: Word,
    result: Word,
}

/// The kinds of gateways.
const DOORS: [&str; 6] = ["nginx", "caddy", "traefik", "haproxy", "envoy", "envoy-http"];

/// What gateways are answered.
const DOOR_RESULTS: [&str; 6] = ["allow", "deny", "refuse", "redirect", "unauthenticated", "unavailable"];

impl ByDoor {
    /// All there are, those of a door beside each other.
    fn all() -> Vec<ByDoor> {
        let of = |door| DOOR_RESULTS.map(|result| ByDoor { door: Word(door), result: Word(result) });
        DOORS.iter().flat_map(|door| of(*door)).collect()
    }
}

fn place_of(words: &[&str], word: &str) -> Option<usize> {
    words.iter().position(|known| *known == word)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByLimit {
    limit: Word,
}

/// All counters of one server, shared by its workers.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// The names of routes, by their numbers.
    routes: Vec<&'static str>,
    decisions: Tally<ByDecision>,
    decision_time: Times<11>,
    request_time: Times<11>,
    requests: Tally<ByRoute>,
    requests_in_flight: Level,
    /// Connections over HTTP that are open (`durward_connections_open`).
    pub connections_open: Gauge,
    connections: Family<ByResult, Counter>,
    limits_hit: Family<ByLimit, Counter>,
    door_answers: Tally<ByDoor>,
    policy_loads: Family<ByResult, Counter>,
    policy_warnings: Gauge,
    known_names: Gauge,
    settings_reloads: Family<ByOutcome, Counter>,
    known_texts: Gauge,
    snapshot: SnapshotGauges,
    log_lines: Family<ByResult, Counter>,
    otlp_items: Family<BySignal, Counter>,
    /// Requests that ended in a panic (`durward_panics_total`).
    pub panics: Counter,
    /// Fields of subscriptions that mean nothing.
    pub fields_unknown: Counter,
    authentications: Tally<ByResult>,
    streams_open: Family<BySurface, Gauge>,
    /// RSocket connections that are open (`durward_rsocket_connections_open`).
    pub rsocket_connections_open: Gauge,
    rsocket_connections: Family<ByResult, Counter>,
    rsocket_requests: Tally<ByRequest>,
    tenants: Family<ByState, Gauge>,
    tenants_unwell: Family<ByTenant, Gauge>,
    memory: Gauge,
    identity: IdentityMetrics,
    entities: EntityMetrics,
}

/// Logins and sessions.
#[derive(Clone, Debug, Default)]
struct IdentityMetrics {
    events: Family<ByEvent, Counter>,
    live: Gauge,
    revoked: Gauge,
    waiting: Gauge,
    hashing: Gauge,
    held: Gauge,
    upstream: Family<ByResult, Counter>,
    unsent: Gauge,
    is_unready: Gauge,
    clock_skew: Family<ByNode, Gauge<f64, AtomicU64>>,
}

/// The policies in force.
#[derive(Clone, Debug, Default)]
struct SnapshotGauges {
    id: Gauge,
    documents: Gauge,
    policies: Gauge,
    rules: Gauge,
    is_stale: Gauge,
    age_s: Gauge<f64, AtomicU64>,
}

impl Metrics {
    /// All at zero. `routes` is what requests over HTTP are counted under: [`Metrics::answered`] takes their numbers.
    pub fn new(routes: Vec<&'static str>) -> Metrics {
        let mut registry = Registry::with_prefix("durward");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version that runs", build);
        let decisions = Tally::new(DECISIONS.map(|name| ByDecision { decision: Word(name) }), |_| true);
        registry.register("decisions", "Individual decisions made, by decision", decisions.clone());
        let decision_time = Times::new(DECISION_BUCKETS_S);
        let help = "Time to decide one request, reading and writing it excluded";
        registry.register_with_unit("decision", help, Unit::Seconds, decision_time.clone());
        let request_time = Times::new(REQUEST_BUCKETS_S);
        let help = "Time from the end of a request's header to its answer";
        registry.register_with_unit("request", help, Unit::Seconds, request_time.clone());
        let known: Vec<ByRoute> =
            routes.iter().flat_map(|route| STATUSES.map(|status| ByRoute::of(route, status))).collect();
        let first = known.first().cloned();
        let requests = Tally::new(known, |labels| Some(labels) == first.as_ref());
        registry.register("requests", "Requests answered, by route and status", requests.clone());
        let requests_in_flight = Level::default();
        registry.register("requests_in_flight", "Requests being answered", requests_in_flight.clone());
        let connections_open = Gauge::default();
        registry.register("connections_open", "Connections open", connections_open.clone());
        let connections = Family::default();
        registry.register(
            "connections",
            "Connections accepted, refused, ended for others to have their place, or failed",
            connections.clone(),
        );
        let limits_hit = Family::default();
        registry.register("limits_hit", "Times a limit was hit, by setting", limits_hit.clone());
        let door_answers = Tally::new(ByDoor::all(), |_| true);
        let help = "Answers to gateways, by kind of gateway and result";
        registry.register("door_answers", help, door_answers.clone());
        let policy_loads = Family::default();
        registry.register("policy_loads", "Times policies were read, by result", policy_loads.clone());
        let policy_warnings = Gauge::default();
        let help = "Warnings about the policies in force, those of all tenants";
        registry.register("policy_warnings", help, policy_warnings.clone());
        let known_names = Gauge::default();
        let help = "Names of attributes that are compared by number";
        registry.register("known_names", help, known_names.clone());
        let settings_reloads = Family::default();
        let help = "Times settings were read again, by what came of it";
        registry.register("settings_reloads", help, settings_reloads.clone());
        let known_texts = Gauge::default();
        let help = "Long texts of policies that are compared by number";
        registry.register("known_texts", help, known_texts.clone());
        let log_lines = Family::default();
        registry.register("decision_log_lines", "Lines of the decision log, by result", log_lines.clone());
        let otlp_items = Family::default();
        let help = "Spans and log records for the collector, by signal and result";
        registry.register("otlp_items", help, otlp_items.clone());
        let panics = Counter::default();
        registry.register("panics", "Requests that ended in a panic, a mistake in durward", panics.clone());
        let fields_unknown = Counter::default();
        let help = "Fields of SAPL's subscriptions that mean nothing, and were passed over";
        registry.register("subscription_fields_unknown", help, fields_unknown.clone());
        let results = ["ok", "refused", "busy"].map(|result| ByResult { result: Word(result) });
        let authentications = Tally::new(results, |_| true);
        let help = "Callers of SAPL's protocols whose credentials were looked at, by result";
        registry.register("authentications", help, authentications.clone());
        let streams_open = Family::default();
        registry.register("streams_open", "Streams of decisions open, by surface", streams_open.clone());
        let rsocket_connections_open = Gauge::default();
        let help = "RSocket connections open";
        registry.register("rsocket_connections_open", help, rsocket_connections_open.clone());
        let rsocket_connections = Family::default();
        let help = "RSocket connections accepted, refused, broken off by their limits or failed";
        registry.register("rsocket_connections", help, rsocket_connections.clone());
        let rsocket_requests =
            Tally::new(std::array::from_fn::<_, { 2 * RSOCKET_ROUTES.len() }, _>(ByRequest::at), |labels| {
                *labels == ByRequest::at(0)
            });
        let help = "RSocket requests, by route and result";
        registry.register("rsocket_requests", help, rsocket_requests.clone());
        let tenants = Family::default();
        registry.register("tenants", "Tenants with policies of their own, by state", tenants.clone());
        let tenants_unwell = Family::default();
        let help = "1 for a tenant whose newest policies are not in force";
        registry.register("tenant_stale", help, tenants_unwell.clone());
        let memory = Gauge::default();
        let help = "Memory of the process that is resident";
        registry.register_with_unit("process_resident_memory", help, Unit::Bytes, memory.clone());
        let metrics = Metrics {
            routes,
            decisions,
            snapshot: SnapshotGauges::register(&mut registry),
            identity: IdentityMetrics::register(&mut registry),
            entities: EntityMetrics::register(&mut registry),
            registry,
            decision_time,
            request_time,
            requests,
            requests_in_flight,
            connections_open,
            connections,
            limits_hit,
            door_answers,
            policy_loads,
            policy_warnings,
            known_names,
            settings_reloads,
            known_texts,
            log_lines,
            otlp_items,
            panics,
            fields_unknown,
            authentications,
            streams_open,
            rsocket_connections_open,
            rsocket_connections,
            rsocket_requests,
            tenants,
            tenants_unwell,
            memory,
        };
        metrics.start_at_zero();
        metrics
    }

    /// Counts an answer to a gateway.
    pub fn door_answered(&self, door: &'static str, result: &'static str) {
        let places = (place_of(&DOORS, door), place_of(&DOOR_RESULTS, result));
        let cell = places.0.zip(places.1).map(|(door, result)| door * DOOR_RESULTS.len() + result);
        self.door_answers.count_at(cell, || ByDoor { door: Word(door), result: Word(result) });
    }

    /// What never happened is a zero and not a gap: alarms can be written before the first time.
    fn start_at_zero(&self) {
        for surface in ["sse", "rsocket"] {
            drop(self.streams_open.get_or_create(&BySurface { surface: Word(surface) }));
        }
        let families: [(&Family<ByResult, Counter>, &[&'static str]); 5] = [
            (&self.rsocket_connections, &["accepted", "refused", "failed"]),
            (&self.connections, &["accepted", "refused", "displaced", "failed"]),
            (&self.policy_loads, &["ok", "failed", "unchanged"]),
            (&self.log_lines, &["written", "dropped", "failed"]),
            (&self.identity.upstream, &["granted", "refused", "unknown", "unavailable"]),
        ];
        for (family, results) in families {
            for result in results {
                drop(family.get_or_create(&ByResult { result: Word(result) }));
            }
        }
        for outcome in ["applied", "unchanged", "failed"] {
            drop(self.settings_reloads.get_or_create(&ByOutcome { outcome: Word(outcome) }));
        }
        for (event, _) in Counters::default().all() {
            drop(self.identity.events.get_or_create(&ByEvent { event: Word(event) }));
        }
        for signal in ["traces", "logs"] {
            for result in ["sent", "dropped", "failed"] {
                self.otlp_items(signal, result, 0);
            }
        }
        for limit in LIMITS {
            drop(self.limits_hit.get_or_create(&ByLimit { limit: Word(limit) }));
        }
    }

    /// One request decided, with one result or several.
    pub fn decided(&self, decisions: impl Iterator<Item = Decision>, time: Duration) {
        for decision in decisions {
            self.verdict(match decision {
                Decision::Permit => Verdict::Permit,
                Decision::Deny => Verdict::Deny,
                Decision::NotApplicable => Verdict::NotApplicable,
                Decision::Indeterminate => Verdict::Indeterminate,
            });
        }
        self.decision_time.observe(time);
    }

    /// One decision told to a client of SAPL; `time` where it was asked for, and not told because something had changed.
    pub fn told(&self, decision: &sapl::Decision, time: Option<Duration>) {
        self.verdict(match decision.outcome {
            Outcome::Permit => Verdict::Permit,
            Outcome::Deny => Verdict::Deny,
            Outcome::NotApplicable => Verdict::NotApplicable,
            Outcome::Indeterminate => Verdict::Indeterminate,
            Outcome::Suspend => Verdict::Suspend,
        });
        if let Some(time) = time {
            self.decision_time.observe(time);
        }
    }

    fn verdict(&self, verdict: Verdict) {
        let name = || DECISIONS.get(verdict as usize).copied().unwrap_or_default();
        self.decisions.count_at(Some(verdict as usize), || ByDecision { decision: Word(name()) });
    }

    /// Somebody's credentials were looked at: `ok`, `refused`, or `busy` where nobody knows.
    pub fn authenticated(&self, result: &'static str) {
        self.authentications.count(ByResult { result: Word(result) });
    }

    /// A browser that came back from another provider: `granted`, `refused`, `unknown` where nobody here is linked to the account, or
    /// `unavailable`; also one that could not be sent there.
    pub fn upstream_login(&self, result: &'static str) {
        self.identity.upstream.get_or_create(&ByResult { result: Word(result) }).inc();
    }

    /// The gauge of the streams of a surface: `sse` or `rsocket`.
    pub fn streams_open(&self, surface: &'static str) -> Gauge {
        self.streams_open.get_or_create_owned(&BySurface { surface: Word(surface) })
    }

    /// One RSocket connection `accepted`, `refused`, or `failed` in its protocol.
    pub fn rsocket_connection(&self, result: &'static str) {
        self.rsocket_connections.get_or_create(&ByResult { result: Word(result) }).inc();
    }

    /// One RSocket request answered or refused, of the route at this place of [`RSOCKET_ROUTES`].
    pub fn rsocket_request(&self, route: usize, is_answered: bool) {
        let cell = route * 2 + usize::from(!is_answered);
        self.rsocket_requests.count_at(Some(cell), || ByRequest::at(cell));
    }

    /// One request that is being answered, until what comes is dropped.
    pub fn request(&self) -> OneMore<'_> {
        self.requests_in_flight.one_more()
    }

    /// One request answered, of the route of this number.
    pub fn answered(&self, route: usize, status: u16, time: Duration) {
        let cell = STATUSES.iter().position(|usual| *usual == status).map(|at| route * STATUSES.len() + at);
        let labels = || ByRoute::of(self.routes.get(route).copied().unwrap_or("other"), status);
        self.requests.count_at(cell, labels);
        self.request_time.observe(time);
    }

    /// One connection `accepted`, `refused` because there were too many, or `failed` in its protocol.
    pub fn connection(&self, result: &'static str) {
        self.connections.get_or_create(&ByResult { result: Word(result) }).inc();
    }

    /// A limit was hit; `limit` is the name of its setting.
    pub fn limit_hit(&self, limit: &'static str) {
        self.limit_hits(limit, 1);
    }

    /// A limit was hit so many times.
    pub fn limit_hits(&self, limit: &'static str, count: u64) {
        self.limits_hit.get_or_create(&ByLimit { limit: Word(limit) }).inc_by(count);
    }

    /// Policies were read: `ok`, `failed`, or `unchanged`.
    pub fn policies_loaded(&self, result: &'static str) {
        self.policy_loads.get_or_create(&ByResult { result: Word(result) }).inc();
    }

    /// A source of entities was read: `ok`, `failed`, or `unchanged`.
    pub fn entities_loaded(&self, result: &'static str) {
        self.entities.loaded(result);
    }

    /// How the sources of entities stand.
    pub fn entities(&self, figures: EntityFigures) {
        self.entities.set(figures);
    }

    /// Settings were read again: `applied`, `unchanged`, or `failed`.
    pub fn settings_reloaded(&self, outcome: &'static str) {
        self.settings_reloads.get_or_create(&ByOutcome { outcome: Word(outcome) }).inc();
    }

    /// How many warnings there are about the policies in force.
    pub fn policy_warnings(&self, count: usize) {
        self.policy_warnings.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// So many lines of the decision log were `written`, `dropped` for want of room, or `failed`.
    pub fn log_lines(&self, result: &'static str, count: u64) {
        self.log_lines.get_or_create(&ByResult { result: Word(result) }).inc_by(count);
    }

    /// So many spans (`traces`) or log records (`logs`) were `sent` to the collector, `dropped` for want of room, or `failed`.
    pub fn otlp_items(&self, signal: &'static str, result: &'static str, count: u64) {
        let labels = BySignal { signal: Word(signal), result: Word(result) };
        self.otlp_items.get_or_create(&labels).inc_by(count);
    }

    /// How all tenants stand. At most [`TENANT_SERIES_MAX`] have a series of their own, the worst first: names of tenants
    /// are made by whoever makes tenants.
    pub fn tenants(&self, mut all: Vec<(String, Standing)>) {
        for standing in Standing::ALL {
            let count = all.iter().filter(|(_, of_tenant)| *of_tenant == standing).count();
            let gauge = self.tenants.get_or_create_owned(&ByState { state: Word(standing.as_str()) });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        all.sort_by_key(|(_, standing)| *standing);
        self.tenants_unwell.clear();
        for (tenant, standing) in all.into_iter().take(TENANT_SERIES_MAX) {
            let is_unwell = matches!(standing, Standing::Stale | Standing::Error);
            self.tenants_unwell.get_or_create(&ByTenant { tenant }).set(i64::from(is_unwell));
        }
    }

    /// What the session service has counted.
    pub fn sessions(&self, service: &Service) {
        for (event, count) in service.counters().all() {
            let counter = self.identity.events.get_or_create_owned(&ByEvent { event: Word(event) });
            counter.inc_by(count.saturating_sub(counter.get()));
        }
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let (waiting, hashing) = service.login_load();
        let outlook = service.outlook();
        self.identity.live.set(number(service.live_count()));
        self.identity.revoked.set(number(service.revoked_count()));
        self.identity.waiting.set(number(waiting));
        self.identity.hashing.set(number(hashing));
        self.identity.held.set(number(service.logins_held()));
        self.identity.unsent.set(number(outlook.unsent));
        let clocks = service.clocks();
        self.identity.is_unready.set(i64::from(outlook.lack.is_some() || clocks.fault().is_some()));
        self.identity.clocks(&clocks);
    }

    /// The text for Prometheus. Gauges that change by themselves are set here.
    pub fn text(&self, snapshot: Option<&SnapshotInfo>, age: Duration, is_stale: bool) -> String {
        self.snapshot.set(snapshot, age, is_stale);
        self.known_names.set(i64::try_from(known_name_count()).unwrap_or(i64::MAX));
        self.known_texts.set(i64::try_from(known_text_count()).unwrap_or(i64::MAX));
        if let Some(bytes) = resident_memory() {
            self.memory.set(bytes);
        }
        let mut text = String::with_capacity(8 * 1024);
        // Writing into a `String` cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl ByRoute {
    fn of(route: &'static str, status: u16) -> ByRoute {
        ByRoute { route: Word(route), status }
    }
}

impl ByRequest {
    /// The labels of a cell of the RSocket requests.
    fn at(cell: usize) -> ByRequest {
        let route = RSOCKET_ROUTES.get(cell / 2).copied().unwrap_or("other");
        ByRequest {
            route: Word(route),
            result: Word(if cell.is_multiple_of(2) { "answered" } else { "refused" }),
        }
    }
}

impl IdentityMetrics {
    /// Nodes that are gone, or were started anew under another name, leave no series behind.
    fn clocks(&self, clocks: &ClockReport) {
        self.clock_skew.clear();
        let nodes = clocks.nodes.iter().map(|other| (other.node.as_str(), other.ahead_ms));
        let store = clocks.store_ahead_ms.map(|ahead_ms| ("store", ahead_ms));
        for (node, ahead_ms) in nodes.chain(store).chain([("most", clocks.most_ahead_ms())]) {
            self.clock_skew.get_or_create(&ByNode { node: node.to_owned() }).set(in_seconds(ahead_ms));
        }
    }

    fn register(registry: &mut Registry) -> IdentityMetrics {
        let all = IdentityMetrics::default();
        let help = "Logins, validations and what ended sessions, by what came of it";
        registry.register("identity", help, all.events.clone());
        registry.register("sessions_live", "Sessions this node knows of", all.live.clone());
        registry.register("sessions_revoked", "Revocations that are remembered", all.revoked.clone());
        registry.register("logins_waiting", "Logins that wait to be looked at", all.waiting.clone());
        registry.register("logins_hashing", "Logins being looked at", all.hashing.clone());
        let help = "Logins that wait for what comes of others of their user or address";
        registry.register("logins_held", help, all.held.clone());
        let help = "Logins at other OpenID providers, by result";
        registry.register("upstream_logins", help, all.upstream.clone());
        let help = "Records of sessions that the store does not have yet";
        registry.register("session_records_unsent", help, all.unsent.clone());
        let help = "1 while the node cannot promise what its mode promises";
        registry.register("sessions_unready", help, all.is_unready.clone());
        let help =
            "How far another node's clock, the store's, or the time of most is ahead of this node's clock";
        registry.register_with_unit("clock_skew", help, Unit::Seconds, all.clock_skew.clone());
        all.clocks(&ClockReport::default());
        all
    }
}

impl SnapshotGauges {
    fn register(registry: &mut Registry) -> SnapshotGauges {
        let gauges = SnapshotGauges::default();
        registry.register("snapshot_id", "Which policies are in force, counted from 1", gauges.id.clone());
        let documents = gauges.documents.clone();
        registry.register("snapshot_documents", "Policy documents in force", documents);
        registry.register("snapshot_policies", "Policies in force", gauges.policies.clone());
        registry.register("snapshot_rules", "Rules in force", gauges.rules.clone());
        let help = "1 while the newest policies are broken and older ones stay in force";
        registry.register("snapshot_stale", help, gauges.is_stale.clone());
        let help = "Time since the policies in force were read";
        registry.register_with_unit("snapshot_age", help, Unit::Seconds, gauges.age_s.clone());
        gauges
    }

    fn set(&self, snapshot: Option<&SnapshotInfo>, age: Duration, is_stale: bool) {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.id.set(snapshot.map_or(0, |info| i64::try_from(info.id).unwrap_or(i64::MAX)));
        self.documents.set(snapshot.map_or(0, |info| count(info.documents)));
        self.policies.set(snapshot.map_or(0, |info| count(info.policies)));
        self.rules.set(snapshot.map_or(0, |info| count(info.rules)));
        self.is_stale.set(i64::from(is_stale));
        self.age_s.set(age.as_secs_f64());
    }
}

/// Milliseconds as metrics and health tell them.
pub fn in_seconds(ms: i64) -> f64 {
    // Exact up to 285,000 years.
    ms as f64 / 1000.0
}

/// What Linux says of this process; nothing elsewhere.
fn resident_memory() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}
