//! What a surface takes along to have its decisions recorded.

use std::sync::Arc;
use std::time::SystemTime;

use durward_pdp::record::{Record, Recording};
use durward_pdp::sapl::Outcome;
use smol_str::SmolStr;

use super::{Account, Caller, DecisionLog, Entry, Surface, trace};
use crate::base::Clock;

/// Whether decisions are recorded, and where. Clones are handles to the same.
#[derive(Clone)]
pub struct Recorder {
    log: Option<Arc<DecisionLog>>,
    clock: Clock,
    /// Whether it is found out why a decision could not be made: for the log, or because operators look closely.
    is_on: bool,
}

impl Recorder {
    /// Records in this log, and where operators look closely (`trace`) finds out reasons without one.
    pub fn new(log: Option<Arc<DecisionLog>>, clock: &Clock) -> Recorder {
        let is_on = log.is_some() || tracing::enabled!(tracing::Level::TRACE);
        Recorder { log, clock: Arc::clone(clock), is_on }
    }

    /// Whether decisions are to be made with records.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// What is recorded of decisions, where they are.
    pub fn recording(&self) -> Recording {
        self.log.as_ref().map_or_else(Recording::default, |log| log.recording)
    }

    /// What keeps record of a request's decisions; `None` where nobody does.
    pub fn account<'c>(&self, caller: impl FnOnce() -> Caller<'c>) -> Option<Account> {
        self.is_on.then(|| Account::open(self.log.as_ref(), &self.clock, &caller()))
    }

    /// Whether a decision has a line.
    pub(super) fn writes(&self, outcome: Outcome) -> bool {
        self.log.as_ref().is_some_and(|log| log.writes(outcome))
    }

    /// Says why a decision could not be made, for operators who look closely.
    pub fn trace(&self, of: (Surface, &'static str, &str), id: Option<&SmolStr>, record: &Record) {
        trace(self.log.as_ref(), of, id, record);
    }

    /// Hands the log an entry, which is made only where there is a log. It is told the time.
    pub fn record(&self, entry: impl FnOnce(SystemTime) -> Entry) {
        if let Some(log) = &self.log {
            log.record(entry((self.clock)()));
        }
    }
}
