//! Load from several machines: agents make it, one leader steers them.
//!
//! An agent ([`serve`]) waits for a leader who has the same [`AgentKey`]. `durward lab run` is the leader: it sends the scenario with
//! all files and variables it names, gives each agent its share of users and arrivals, compares clocks, and says when to begin.
//! Every second comes back while the load goes on, whole histograms at its end: they are added, so percentiles are those of all
//! requests together.
//!
//! Whoever has not proven to have the key gets nothing and can do nothing but hold one of a few connections for seconds. The
//! leader cannot have hosts loaded that the agent's own list does not name. What a leader sends stays in memory.

mod channel;
mod clock;
mod crew;
mod key;
mod link;
mod message;
mod service;
mod session;
#[cfg(test)]
mod tests;
mod work;

use std::path::PathBuf;
use std::time::Duration;

pub(crate) use crew::AgentCrew;
pub use key::{AgentKey, AgentKeyError};
pub(crate) use message::AgentTask;
pub use service::{AgentHosting, serve};

/// The most bytes of all files and variables of a scenario together.
const SENT_BYTES_MAX: u64 = 64 << 20;
/// How often a leader is heard of at least.
const PING_EVERY: Duration = Duration::from_millis(250);
/// A leader that is not heard of for so long has gone: its load ends.
const LEADER_SILENCE_MAX: Duration = Duration::from_secs(2);
/// An agent that is not heard of for so long is lost.
const AGENT_SILENCE_MAX: Duration = Duration::from_secs(5);
/// Whoever connects must have proven to have the key within this time.
const GREETING_TIME_MAX: Duration = Duration::from_secs(5);
/// How often each side looks whether it has something to send.
const LOOK: Duration = Duration::from_millis(10);

/// Which agents make the load of a run.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    /// `HOST:PORT`, or `local` for the process that steers. None: this process makes the load alone.
    pub addresses: Vec<Address>,
    /// The time in microseconds since 1970: the clock of whoever calls. `None`: how clocks of the wall differ is not told.
    pub now_unix_us: Option<fn() -> u64>,
}

/// One agent.
#[derive(Clone, Debug)]
pub struct Address {
    /// `HOST:PORT`, or [`LOCAL`].
    pub address: String,
    /// The key that it shares; [`LOCAL`] needs none.
    pub key: Option<AgentKey>,
}

/// The process that steers, as an agent.
pub const LOCAL: &str = "local";

/// One agent as scenarios name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Named {
    /// `HOST:PORT`, or `local`.
    pub address: String,
    /// The file with its key; without it the key of the command line.
    pub key: Option<PathBuf>,
}
