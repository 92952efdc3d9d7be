//! Resource use of nodes and of the generator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LatencyRecord;

/// What a node used between the borders of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeUse {
    /// Where the figures come from: `cgroup v2`, `cgroup v1`, `/proc`.
    pub source: String,
    /// Seconds of processor time.
    pub cpu_s: f64,
    /// How many cores it may use: its limit, or those of the machine.
    pub cores: f64,
    /// Seconds in which its quota held it back, and in how many of how many periods.
    #[serde(default)]
    pub throttled_s: f64,
    /// Periods in which its quota held it back.
    #[serde(default)]
    pub throttled_periods: u64,
    /// Periods there were.
    #[serde(default)]
    pub periods: u64,
    /// Memory at the end, in bytes.
    pub memory_bytes: u64,
    /// The most memory there was, in bytes.
    #[serde(default)]
    pub memory_peak_bytes: u64,
    /// Its limit of memory, in bytes; `None` where there is none of its own.
    #[serde(default)]
    pub memory_max_bytes: Option<u64>,
    /// Figures of less use, by name with the unit last: `io_read_bytes`, `net_out_bytes`, `context_switches`, `threads`,
    /// `sockets`, `pressure_cpu_some_us`, `energy_j`, `oom_kills`.
    #[serde(default)]
    pub more: BTreeMap<String, f64>,
    /// What was seen every second or more often.
    #[serde(default)]
    pub samples: Vec<UsedSample>,
}

/// What a node used at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UsedSample {
    /// Seconds since measuring began.
    pub at_s: f64,
    /// Cores used since the sample before.
    pub cpus: f64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The share of periods, since the sample before, in which the quota held it back: 0 to 1.
    #[serde(default)]
    pub throttled: f64,
}

/// How the generator was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorUse {
    /// How much of the cores of its threads it had, from 0 to 1.
    pub busy: f64,
    /// Seconds of processor time.
    pub cpu_s: f64,
    /// How late requests were sent that could have been sent: timers and the generator's own queue, no wait for the target.
    #[serde(default)]
    pub lateness: LatencyRecord,
    /// Connections that were open.
    #[serde(default)]
    pub connections: u64,
    /// The most requests that were due and not sent at one moment.
    #[serde(default)]
    pub backlog_max: u64,
    /// The same by agent, where agents made the load: then `busy` is that of the busiest, and all else their sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentUse>,
}

/// How one agent was, of several that made a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentUse {
    /// Its address, or `local`.
    pub name: String,
    /// How many threads made its part of the load.
    pub threads: usize,
    /// Requests it sent that came to an end, right or wrong.
    pub requests: u64,
    /// How much of the cores of its threads it had, from 0 to 1.
    pub busy: f64,
    /// Seconds of processor time.
    pub cpu_s: f64,
    /// How late it sent requests that could have been sent.
    #[serde(default)]
    pub lateness: LatencyRecord,
    /// How far its clock can be off from the leader's, in microseconds: its load began at most so much early or late.
    #[serde(default)]
    pub clock_uncertain_us: u64,
    /// How long after the moment for all it began, in microseconds, where the word came too late.
    #[serde(default)]
    pub began_late_us: u64,
}
