//! A run: every point of a scenario, measured one after the other, and the record of it.

mod generators;
mod marks;
mod moment;
mod search;
mod sweep;
mod thresholds;
mod watchers;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::agent::Agents;
pub use moment::{NodeNow, RunSecond, StepNow};
pub use watchers::Watchers;

use crate::record::{MeasuredPoint, PointLoad, RunRecord};
use crate::scenario::{Scenario, ScenarioError};
use crate::target::TargetError;

/// What a run is told beside its scenario.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The version of durward, for the record.
    pub version: String,
    /// Hosts that are not this machine and may be loaded all the same.
    pub may_load: Vec<String>,
    /// For how long is measured what the generator can do at most; zero skips it.
    pub generator_limit: Duration,
    /// The time, in milliseconds since 1970: the clock of whoever calls.
    pub now_unix_ms: fn() -> u64,
    /// Set by whoever wants the run to end: what was measured by then is kept, and marked.
    pub stop: Arc<AtomicBool>,
    /// Who makes the load instead of this process.
    pub agents: Agents,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            command: Vec::new(),
            version: String::new(),
            may_load: Vec::new(),
            generator_limit: Duration::from_secs(2),
            now_unix_ms: || 0,
            stop: Arc::new(AtomicBool::new(false)),
            agents: Agents::default(),
        }
    }
}

/// The progress of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPosition {
    /// The number of this point, from 1.
    pub number: usize,
    /// How many points there are.
    pub count: usize,
    /// What is the same for all points of one curve.
    pub configuration: String,
    /// How many nodes have load.
    pub nodes: usize,
    /// What is asked of them.
    pub load: PointLoad,
    /// The number of this measurement among those of the same configuration and load.
    pub replicate: u32,
}

/// Told of a run's progress, on the thread that runs it: it must not block. Several are [`Watchers`].
pub trait RunWatcher {
    /// The generator is measured against a server that does nothing.
    fn generator_limit(&mut self) {}
    /// A point begins.
    fn begin(&mut self, place: &RunPosition) {
        let _ = place;
    }
    /// A second has passed; its `at_s` is below 0 until measuring begins.
    fn second(&mut self, place: &RunPosition, moment: &RunSecond) {
        let _ = (place, moment);
    }
    /// A point was measured.
    fn end(&mut self, place: &RunPosition, point: &MeasuredPoint) {
        let _ = (place, point);
    }
}

/// Runs a scenario: for each number of nodes the target is started, and each curve, load and replicate is measured, in an
/// order that follows from the seed. Blocks until all is measured or [`RunOptions::stop`] is set.
///
/// A target that dies, and a stop, end the run: the record holds what was measured until then, and says so.
///
/// # Errors
/// What makes that nothing can be measured: a scenario whose files are missing, an address that is not allowed or cannot be
/// resolved, a target that does not start.
pub fn run(
    scenario: &Scenario,
    options: &RunOptions,
    watcher: &mut dyn RunWatcher,
) -> Result<RunRecord, RunError> {
    sweep::RunInProgress::new(scenario, options)?.run(watcher)
}

/// How long a run of this scenario takes, without starting targets: ramp, warm-up, measuring and rest of all points. A warm-up
/// that ends when the target is level counts as ten seconds.
pub fn expected(scenario: &Scenario) -> Duration {
    sweep::expected(scenario)
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWatcher;

impl RunWatcher for NoWatcher {}

/// Why nothing could be measured.
#[derive(Debug)]
pub enum RunError {
    /// The scenario cannot be run: a file is missing, a variable is not set.
    Scenario(ScenarioError),
    /// The target could not be started.
    Target(TargetError),
    /// An address that has no meaning, or a host that cannot be resolved.
    Address {
        /// As it was given.
        address: String,
        /// Why.
        problem: String,
    },
    /// An address that is not this machine, without leave.
    NotLocal {
        /// The host, as it must be named to allow it.
        host: String,
    },
    /// The machine refused something: sockets, threads.
    Machine(String),
    /// An agent cannot be reached, refuses, or was lost.
    Agent {
        /// As it was named.
        agent: String,
        /// Why.
        problem: String,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Scenario(error) => write!(f, "{error}"),
            RunError::Target(error) => write!(f, "{error}"),
            RunError::Address { address, problem } => write!(f, "`{address}`: {problem}"),
            RunError::NotLocal { host } => {
                write!(f, "`{host}` is not this machine: load it only with leave, by `--i-may-load {host}`")
            }
            RunError::Machine(problem) => f.write_str(problem),
            RunError::Agent { agent, problem } => write!(f, "agent `{agent}` {problem}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<ScenarioError> for RunError {
    fn from(error: ScenarioError) -> RunError {
        RunError::Scenario(error)
    }
}

impl From<TargetError> for RunError {
    fn from(error: TargetError) -> RunError {
        RunError::Target(error)
    }
}
