//! What all workers of a server share: the decision point, the state of its policies, settings, counters.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};
use durward_pdp::check::Finding;
use durward_pdp::record::Recording;
use durward_pdp::xacml::request::Limits;
use durward_pdp::{AttributeSource, Pdp, PolicyError};
use durward_session::{Lanes, Service};
use tokio::sync::watch;

use crate::access::subject::Subjects;
use crate::base::Clock;
use crate::base::metrics::Metrics;
use crate::base::settings::{ConfigError, Settings};
use crate::decider::SaplState;
use crate::decision_log::DecisionLog;
use crate::policies::{Intake, TenantTable, Warned};
use crate::sources::xacml::AttributeSources;
use crate::surfaces::oauth;
use crate::surfaces::openam;

/// Shared by all workers, connections and the watcher of policies.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) request_limits: Limits,
    pub(crate) clock: Clock,
    /// Durations are measured from here, so that one number fits an atomic.
    pub(crate) started: Instant,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) decision_log: Option<Arc<DecisionLog>>,
    /// Whether it is found out why a decision could not be made: for that log, or because operators look closely.
    pub(crate) records: bool,
    /// Whether all policies are SAPL's, and no request of XACML has come since they are.
    /// That of the default tenant. Empty until there are policies that can be decided by (`policies.wait`), and when they
    /// were taken away.
    pub(crate) pdp: ArcSwapOption<Pdp>,
    pub(crate) policies: ArcSwap<PolicyState>,
    /// All tenants, where policies come by tenant; empty where they do not.
    pub(crate) tenants: TenantTable,
    pub(crate) intake: Intake,
    /// What policies are checked for; `None` where they are not.
    pub(crate) checks: Option<Arc<durward_pdp::check::Settings>>,
    pub(crate) weaknesses: Vec<String>,
    pub(crate) connections: AtomicUsize,
    /// Bytes of bodies that are being received.
    pub(crate) body_bytes: AtomicUsize,
    pub(crate) is_stopping: AtomicBool,
    /// Becomes true when the end was asked for.
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) sapl: SaplState,
    /// Who is asking, where there are users.
    pub(crate) service: Option<Service>,
    /// Empty until there are sessions.
    pub(crate) openam: OnceLock<openam::Surface>,
    /// Tokens for other services, where they are given.
    pub(crate) oauth: Option<Arc<oauth::Surface>>,
    /// Where attributes come from that requests of XACML lack, if they are asked for.
    pub(crate) attribute_sources: Option<Arc<AttributeSources>>,
    /// What whoever decides brings along, where this process serves nothing.
    pub(crate) announced: Option<Arc<dyn AttributeSource>>,
    /// Who shows tokens, where there are any.
    pub(crate) subjects: Option<Subjects>,
    /// How many request ids were given, in lanes: one number would be every core's.
    request_ids: Lanes<AtomicU64>,
    /// Tells the request ids of this run from those of another: the milliseconds of the start, in base 36.
    run: String,
}

/// When policies were read last, and what came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyState {
    /// When the policies in force were read.
    pub(crate) loaded: Option<SystemTime>,
    /// When policies were read last, with whatever result.
    pub(crate) tried: Option<SystemTime>,
    /// What is wrong with the newest policies; empty while they are in force.
    pub(crate) problems: Vec<PolicyProblem>,
    /// What is odd in those in force.
    pub(crate) warned: Warned,
}

/// One thing that is wrong with policies that are not in force for that reason.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct PolicyProblem {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) file: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) line: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) column: u32,
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

/// One thing that is odd in policies in force.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct PolicyWarning {
    pub(crate) code: &'static str,
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

impl From<Finding> for PolicyWarning {
    fn from(finding: Finding) -> PolicyWarning {
        let Finding { severity: _, code, source, line, column, message, help } = finding;
        PolicyWarning { code, file: source.into(), line, column, reason: message, help }
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.reason),
            line => write!(f, "{}:{line}:{}: {}", self.file, self.column, self.reason),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl From<PolicyError> for PolicyProblem {
    fn from(error: PolicyError) -> PolicyProblem {
        PolicyProblem {
            file: error.source.to_string(),
            line: error.line,
            column: error.column,
            reason: error.message,
            help: error.help,
        }
    }
}

impl Shared {
    /// # Errors
    /// Settings that name what cannot be used.
    pub(crate) fn new(
        settings: Settings,
        clock: Clock,
        decision_log: Option<DecisionLog>,
        metrics: Arc<Metrics>,
        service: Option<Service>,
    ) -> Result<Shared, ConfigError> {
        let milliseconds =
            clock().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let sapl = SaplState::new(&settings, &metrics)?;
        let intake = Intake::new(&settings)?;
        let checks = settings.policies.check.then(|| settings.checks()).transpose()?.map(Arc::new);
        let surface = service.clone().filter(|_| settings.openam.on).map(openam::Surface::new);
        let oauth = oauth::Surface::new(&settings, clock(), service.as_ref())?.map(Arc::new);
        let attribute_sources = AttributeSources::start(&settings, &clock)?.map(Arc::new);
        let subjects = Subjects::new(service.as_ref(), oauth.as_ref(), &clock);
        Ok(Shared {
            request_limits: settings.limits.of_requests(settings.server.body_bytes_max),
            weaknesses: settings.weaknesses(),
            settings,
            clock,
            started: Instant::now(),
            metrics,
            records: decision_log.is_some() || tracing::enabled!(tracing::Level::TRACE),
            decision_log: decision_log.map(Arc::new),
            pdp: ArcSwapOption::empty(),
            policies: ArcSwap::default(),
            tenants: TenantTable::default(),
            intake,
            checks,
            connections: AtomicUsize::new(0),
            body_bytes: AtomicUsize::new(0),
            is_stopping: AtomicBool::new(false),
            stop: watch::Sender::new(false),
            sapl,
            service,
            openam: surface.map_or_else(OnceLock::new, OnceLock::from),
            oauth,
            attribute_sources,
            announced: None,
            subjects,
            request_ids: Lanes::default(),
            run: base_36(milliseconds),
        })
    }

    /// Whether the newest policies are broken and older ones stay in force.
    pub(crate) fn is_stale(&self) -> bool {
        !self.policies.load().problems.is_empty()
            || self.tenants.all().values().any(|tenant| tenant.has_problems())
    }

    /// How many warnings there are about the policies in force.
    pub(crate) fn policy_warning_count(&self) -> usize {
        let of_tenants: usize = self.tenants.all().values().map(|tenant| tenant.warned.count).sum();
        self.policies.load().warned.count + of_tenants
    }

    /// Tells the streams of decisions which policies are in force.
    pub(crate) fn policies_changed(&self) {
        let Some(tenants) = self.sapl.tenants.get() else { return };
        let all = self.tenants.all();
        if all.is_empty() {
            if let Some(pdp) = self.pdp.load().as_ref() {
                tenants.put(&self.settings.auth.default_tenant, Some(pdp));
            }
            return;
        }
        for (name, tenant) in all.iter() {
            tenants.put(name, tenant.pdp.as_ref());
        }
    }

    /// What is recorded of decisions, where they are.
    pub(crate) fn recording(&self) -> Recording {
        self.decision_log.as_ref().map_or_else(Recording::default, |log| log.recording)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// The identifier of a request whose caller gave none.
    pub(crate) fn next_request_id(&self) -> String {
        let mut id = String::with_capacity(24);
        id.push_str(&self.run);
        id.push('-');
        id.push_str(&base_36(next_of(&self.request_ids)));
        id
    }
}

/// A number that no call before was given: each lane has those that leave its own number when divided by their count.
fn next_of(lanes: &Lanes<AtomicU64>) -> u128 {
    let (number, lane) = lanes.mine();
    let before = u128::from(lane.fetch_add(1, Ordering::Relaxed));
    before * Lanes::<AtomicU64>::COUNT as u128 + number as u128
}

fn base_36(mut number: u128) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).unwrap_or(0);
        digits.push(char::from_digit(digit, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_number_is_given_twice_whichever_threads_ask() {
        let lanes = Lanes::default();
        let take = || (0..100).map(|_| next_of(&lanes)).collect::<Vec<u128>>();
        let given: Vec<u128> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..40).map(|_| scope.spawn(take)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), 4_000);
    }
}
