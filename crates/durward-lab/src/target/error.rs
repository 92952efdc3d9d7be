//! What is wrong with a target.

use std::fmt;

/// Why a target cannot be measured.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetError {
    /// The scenario's table is wrong: key and reason.
    Setting {
        /// Such as `target.limits.cpus`.
        key: String,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// Something could not be started.
    Start {
        /// `node 2`, or the name of a part.
        what: String,
        /// Why.
        problem: String,
    },
    /// A node was not ready in time.
    NotReady {
        /// `node 2`, or the name of a part.
        what: String,
        /// What it was asked, and what came of that last.
        problem: String,
        /// The last lines of its log.
        log: Vec<String>,
    },
    /// A process ended that should run.
    Died {
        /// `node 2`, or the name of a part.
        what: String,
        /// How: `status 3`, `signal 9 (SIGKILL): out of memory ...`.
        how: String,
        /// The last lines of its log.
        log: Vec<String>,
    },
}

impl TargetError {
    pub(super) fn setting(key: &str, problem: impl Into<String>) -> TargetError {
        TargetError::Setting { key: format!("target.{key}"), problem: problem.into() }
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (said, log) = match self {
            TargetError::Setting { key, problem } => return write!(f, "`{key}`: {problem}"),
            TargetError::Start { what, problem } => return write!(f, "{what} did not start: {problem}"),
            TargetError::NotReady { what, problem, log } => (format!("{what} is not ready: {problem}"), log),
            TargetError::Died { what, how, log } => (format!("{what} ended: {how}"), log),
        };
        f.write_str(&said)?;
        if log.is_empty() {
            return f.write_str("; it logged nothing");
        }
        f.write_str("; its last lines:")?;
        log.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for TargetError {}

/// Why this machine cannot be set up for a measurement as asked: too few cores, too little memory, no right to do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError(String);

impl MachineError {
    pub(super) fn new(problem: impl Into<String>) -> MachineError {
        MachineError(problem.into())
    }
}

impl From<String> for MachineError {
    fn from(problem: String) -> MachineError {
        MachineError(problem)
    }
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MachineError {}
