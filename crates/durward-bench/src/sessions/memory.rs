//! What sessions take of the nodes' memory.

use std::time::{Duration, Instant};

use super::crowd::UserScript;
use super::rounds::{ENTER_TIME_MAX, SessionLab};
use super::{BenchSite, SessionBenchError};
use crate::server::load::AskSchedule;
use durward_lab::process::usage;

/// Sessions that are validated at the end, to see that they live.
const CHECKED: u64 = 1_000;

/// Logins before the first look, so that what a node takes once is not counted as the sessions'.
const WARM: usize = 1_000;

/// One node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidentMemory {
    /// Its process.
    pub process: u32,
    /// Its resident set without the sessions, in bytes.
    pub before: u64,
    /// With them.
    pub after: u64,
}

impl ResidentMemory {
    /// Bytes by which one of so many sessions makes it grow.
    pub fn per_session(&self, sessions: usize) -> f64 {
        self.after.saturating_sub(self.before) as f64 / sessions.max(1) as f64
    }
}

/// What sessions take.
#[derive(Clone, Debug)]
pub struct SessionMemory {
    /// How many sessions were made between the two looks.
    pub sessions: usize,
    /// How long that took.
    pub time: Duration,
    /// By node.
    pub nodes: Vec<ResidentMemory>,
    /// How many sessions, chosen at random, were validated afterwards; all of them live.
    pub checked: u64,
}

/// Makes so many sessions, and looks at the nodes' memory before and after. The people log in by turns; with as many people as
/// sessions, each has one. The nodes' hashes must be cheap, or it takes long.
///
/// # Errors
/// The memory cannot be looked at, a login fails, a session is not accepted afterwards, or as [`super::validate`].
pub fn memory(
    site: &BenchSite<'_>,
    sessions: usize,
    connections: usize,
) -> Result<SessionMemory, SessionBenchError> {
    let resident = || {
        let look = |process: &u32| usage(*process)?.resident_bytes;
        let all: Option<Vec<u64>> = site.processes.iter().map(look).collect();
        all.filter(|all| !all.is_empty()).ok_or(SessionBenchError::NoProcess)
    };
    resident()?;
    let mut warm = SessionLab::new(site)?;
    warm.add(connections, WARM)?;
    warm.enter()?;
    drop(warm);
    let mut lab = SessionLab::new(site)?;
    lab.add(connections, sessions)?;
    let before = resident()?;
    let begun = Instant::now();
    lab.enter()?;
    let time = begun.elapsed();
    let after = resident()?;
    lab.play(0, UserScript::Validate);
    let checked = CHECKED.min(sessions as u64);
    let run = lab.run(&[AskSchedule::Times(checked)], ENTER_TIME_MAX)?;
    if run.first().is_none_or(|run| run.answered() != checked) {
        return Err(lab.wrong(0).map_or(SessionBenchError::NoAnswers, SessionBenchError::Wrong));
    }
    let nodes = site.processes.iter().zip(before.into_iter().zip(after));
    let nodes = nodes.map(|(process, (before, after))| ResidentMemory { process: *process, before, after });
    Ok(SessionMemory { sessions, time, nodes: nodes.collect(), checked })
}
