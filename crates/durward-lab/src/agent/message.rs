//! The messages between leaders and agents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::load::{LoadGenerators, LoadResult, LoadShare, SecondTally};
use crate::machine::MachineIdentity;
use crate::record::{GeneratorLimit, MachineInfo};
use crate::scenario::{NodeChoice, SearchTrial};

/// The version of what is spoken; leader and agent must have the same, and the same version of durward besides.
pub(super) const PROTOCOL: u32 = 1;

/// The first message of a leader. All versions can read it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LeaderHello {
    pub(super) protocol: u32,
    pub(super) version: String,
    /// That the leader has the key.
    pub(super) proof: String,
}

/// The answer of an agent. All versions can read it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentHello {
    Welcome {
        /// That the agent has the key.
        proof: String,
        machine: Box<MachineInfo>,
        identity: MachineIdentity,
    },
    Refused {
        why: String,
    },
}

/// What a leader says to an agent that it has come to terms with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToAgent {
    /// Answered at once: clocks are compared by it, and that the leader lives is seen by it.
    Ping { id: u64 },
    /// What is to be done; the bytes of these files, with so many bytes each, follow.
    Scenario { text: String, variables: BTreeMap<String, String>, files: Vec<(String, u64)> },
    /// The next bytes of files, in Base64.
    Bytes { base64: String },
    /// Measure what you can do at most.
    Limit { measure_ms: u64 },
    /// Prepare this load.
    Point(Box<AgentTask>),
    /// Begin it at this moment of your own clock.
    Start { at_ns: u64 },
    /// Begin to measure so many nanoseconds after the load began.
    Measure { from_ns: u64 },
    /// End the load.
    Stop { why: String },
}

/// What an agent says to its leader.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToLeader {
    /// The agent's clocks when the ping came: nanoseconds since some moment of its own, microseconds since 1970.
    Pong { id: u64, now_ns: u64, unix_us: u64 },
    /// The scenario has come whole and can be done.
    Ready,
    /// What was asked cannot be done, or could not be done to its end.
    Failed { why: String },
    /// What this agent can do at most.
    Limit(GeneratorLimit),
    /// The load is prepared, by so many threads, and can begin.
    Prepared { threads: usize },
    /// A second of the load is over.
    Second(SecondTally),
    /// The load is over.
    Done(Box<AgentResult>),
}

/// One load, and which part of it the agent makes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AgentTask {
    pub(crate) vary: BTreeMap<String, String>,
    pub(crate) balance: NodeChoice,
    pub(crate) askers: LoadGenerators,
    pub(crate) trial: Option<SearchTrial>,
    pub(crate) seed: u64,
    /// Addresses, which the agent resolves itself.
    pub(crate) nodes: Vec<String>,
    pub(crate) share: LoadShare,
}

/// What came of an agent's part of a load.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct AgentResult {
    pub(super) measured: LoadResult,
    /// How long after its moment the load began.
    pub(super) late_us: u64,
}
