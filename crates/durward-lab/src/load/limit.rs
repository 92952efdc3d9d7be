//! What the generator can do at most: the scenario's requests against a server that does nothing.

use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{LoadGenerators, LoadObserver, LoadPlan, LoadSetup, LoadShare, NullServer, TargetNode};
use crate::record::GeneratorLimit;
use crate::run::RunError;
use crate::scenario::{DurationValue, LoadSpec, NodeChoice, OneOrMany, Scenario, ThinkTime, Tls, WarmUp};

/// Users of one thread who ask a server that does nothing: enough that none of them is waited for.
const LIMIT_USERS: u64 = 64;
/// How long the generator warms up for its own limit.
const LIMIT_WARM_UP: Duration = Duration::from_millis(300);
/// Files beside connections.
const FILES: u64 = 256;

/// What this process reaches with a scenario's requests, by so many threads at most where somebody says so.
///
/// # Errors
/// Sockets or threads that the system refuses.
pub(crate) fn limit(
    scenario: &Scenario,
    time: DurationValue,
    threads: Option<usize>,
    attend: &mut dyn LoadObserver,
) -> Result<GeneratorLimit, RunError> {
    let machine = |error: std::io::Error| {
        RunError::Machine(format!("a server that does nothing cannot be started: {error}"))
    };
    let server = NullServer::start().map_err(machine)?;
    let is_rsocket = scenario.all_steps().iter().any(|(_, step)| step.rsocket.is_some());
    let nodes = [TargetNode::resolve(&if is_rsocket { server.rsocket_url() } else { server.url() })?];
    let (_, vary) = scenario.variants().into_iter().next().unwrap_or_default();
    let plan = LoadPlan::new(scenario, &vary, &nodes)?.blind();
    let load = LoadSpec {
        users: OneOrMany(Vec::new()),
        arrivals: None,
        search: None,
        think: ThinkTime::None,
        pace: None,
        ramp: DurationValue::default(),
        warm_up: WarmUp::For(DurationValue(LIMIT_WARM_UP)),
        measure: time,
        connections: None,
        ..scenario.load.clone()
    };
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    let users = LoadGenerators::Users(LIMIT_USERS * cores);
    let setup = LoadSetup::new(
        &plan,
        &load,
        NodeChoice::Sticky,
        &users,
        scenario.seed,
        &Tls::default(),
        &scenario.folder,
    )?;
    let setup = setup.part(LoadShare::default(), threads);
    let measured = setup.measure(attend)?;
    let answered: u64 = measured.steps.iter().map(|step| step.answered).sum();
    #[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
    let requests_per_s = answered as f64 / measured.time_s.max(f64::MIN_POSITIVE);
    Ok(GeneratorLimit { requests_per_s, busy: measured.generator.busy, threads: setup.threads() })
}

/// Raises how many files may be open as far as the system allows; that must do for so many connections.
///
/// # Errors
/// A system that does not allow so many.
pub(crate) fn allow_files(connections: u64) -> Result<(), RunError> {
    let limit = getrlimit(Resource::Nofile);
    // What is not raised is seen below.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let Some(allowed) = getrlimit(Resource::Nofile).current else { return Ok(()) };
    if connections + FILES <= allowed {
        return Ok(());
    }
    Err(RunError::Machine(format!(
        "{connections} connections need as many open files, and this process may open {allowed}: raise `ulimit -n`, or set `load.connections`"
    )))
}
