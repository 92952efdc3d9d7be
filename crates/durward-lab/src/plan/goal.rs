//! What is asked for, and what things cost: as files say it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The most users or requests a second that a goal may name: more than there are people, and packets in a large network.
pub const GOAL_MAX: f64 = 1e12;
/// The most nodes that a plan names.
pub const NODES_MAX: f64 = 1e7;

/// What a deployment is to carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanGoal {
    /// How many users there are.
    #[serde(default)]
    pub users: Option<f64>,
    /// How many requests each of them makes in an hour, on average.
    #[serde(default)]
    pub requests_per_hour: Option<f64>,
    /// How many requests a second there are on average, instead of those two.
    #[serde(default)]
    pub rate: Option<f64>,
    /// How many times the average the busiest time has; 1 or above.
    #[serde(default = "one")]
    pub peak: f64,
    /// Of 100 requests, 99 are answered within so many milliseconds, even when nodes have failed.
    #[serde(default)]
    pub p99_ms: Option<f64>,
    /// So many nodes may fail at once, and the rest carries all of it.
    #[serde(default)]
    pub may_fail: u32,
    /// How much of what the nodes can do is used at most, in per cent.
    #[serde(default = "seventy")]
    pub utilisation_percent: f64,
    /// How many sessions there are at once; without it, one for each user.
    #[serde(default)]
    pub sessions: Option<f64>,
    /// How many bytes a session takes on a node; without it, what was measured.
    #[serde(default)]
    pub session_bytes: Option<f64>,
    /// On how many nodes each session is kept; 1: only where its user is.
    #[serde(default = "one")]
    pub session_copies: f64,
    /// Cores of a node, where the record does not say.
    #[serde(default)]
    pub cores: Option<f64>,
}

fn one() -> f64 {
    1.0
}

fn seventy() -> f64 {
    70.0
}

impl Default for PlanGoal {
    fn default() -> PlanGoal {
        PlanGoal {
            users: None,
            requests_per_hour: None,
            rate: None,
            peak: 1.0,
            p99_ms: None,
            may_fail: 0,
            utilisation_percent: 70.0,
            sessions: None,
            session_bytes: None,
            session_copies: 1.0,
            cores: None,
        }
    }
}

/// What is wrong with a goal or a price file: the key, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The key as files say it; empty where the text is no TOML of a goal.
    pub key: String,
    /// Why, in words.
    pub because: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            f.write_str(&self.because)
        } else {
            write!(f, "`{}`: {}", self.key, self.because)
        }
    }
}

impl std::error::Error for PlanError {}

pub(super) fn wrong<T>(key: &str, because: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError { key: key.to_owned(), because: because.into() })
}

fn within(key: &str, value: Option<f64>, low: f64, high: f64) -> Result<(), PlanError> {
    match value {
        Some(value) if !(value >= low && value <= high) => {
            wrong(key, format!("{value} is not from {low} to {high}"))
        }
        Some(_) | None => Ok(()),
    }
}

fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, PlanError> {
    toml::from_str(text)
        .map_err(|error| PlanError { key: String::new(), because: error.to_string().trim().to_owned() })
}

impl PlanGoal {
    /// Reads the TOML text of a goal. [`PlanGoal::check`] is the caller's, who may know more.
    ///
    /// # Errors
    /// Unknown keys, and values of other types.
    pub fn read(text: &str) -> Result<PlanGoal, PlanError> {
        read(text)
    }

    /// Whether it can be planned for.
    ///
    /// # Errors
    /// The first number that is out of bounds, or that contradicts another.
    pub fn check(&self) -> Result<(), PlanError> {
        match (self.users, self.requests_per_hour, self.rate) {
            (Some(_), Some(_), None) | (_, None, Some(_)) => {}
            (_, Some(_), Some(_)) => {
                return wrong(
                    "rate",
                    "contradicts `requests_per_hour`: either users and their requests, or the rate",
                );
            }
            (Some(_), None, None) => {
                return wrong(
                    "requests_per_hour",
                    "users alone say no rate: how many requests does each make in an hour?",
                );
            }
            (None, Some(_), None) => return wrong("users", "how many users make these requests?"),
            (None, None, None) => {
                return wrong("users", "a goal needs `users` and `requests_per_hour`, or `rate`");
            }
        }
        within("users", self.users, 1.0, GOAL_MAX)?;
        within("requests_per_hour", self.requests_per_hour, 1e-9, GOAL_MAX)?;
        within("rate", self.rate, 1e-9, GOAL_MAX)?;
        within("peak", Some(self.peak), 1.0, 1e6)?;
        within("p99_ms", self.p99_ms, 1e-3, 3.6e6)?;
        within("may_fail", Some(f64::from(self.may_fail)), 0.0, 1e5)?;
        within("utilisation_percent", Some(self.utilisation_percent), 1.0, 100.0)?;
        within("sessions", self.sessions, 0.0, GOAL_MAX)?;
        within("session_bytes", self.session_bytes, 0.0, 1e12)?;
        within("session_copies", Some(self.session_copies), 1.0, NODES_MAX)?;
        within("cores", self.cores, 1e-3, 1e5)?;
        within("rate", Some(self.peak_rate()), 1e-9, GOAL_MAX)
    }

    /// Requests a second at the busiest time.
    pub fn peak_rate(&self) -> f64 {
        self.mean_rate() * self.peak
    }

    /// Requests a second on average.
    pub fn mean_rate(&self) -> f64 {
        self.rate.unwrap_or(self.users.unwrap_or(0.0) * self.requests_per_hour.unwrap_or(0.0) / 3600.0)
    }
}

/// What things cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Of all prices: `EUR`.
    pub currency: String,
    /// A core for an hour.
    #[serde(default)]
    pub core_hour: f64,
    /// A GiB of memory for an hour.
    #[serde(default)]
    pub gib_hour: f64,
    /// A node for an hour, whatever its size, besides.
    #[serde(default)]
    pub node_hour: f64,
    /// Sizes of nodes on offer.
    #[serde(default)]
    pub node: Vec<NodeSize>,
}

/// A size of node on offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSize {
    /// As its vendor calls it.
    pub name: String,
    /// Its cores.
    pub cores: f64,
    /// Its memory.
    pub memory_gib: f64,
    /// What it costs for an hour; 0 or absent: by cores and memory.
    #[serde(default)]
    pub hour: f64,
}

impl Prices {
    /// Reads the TOML text of a price file, and checks it.
    ///
    /// # Errors
    /// Unknown keys, prices below 0, sizes that cannot be.
    pub fn read(text: &str) -> Result<Prices, PlanError> {
        let prices: Prices = read(text)?;
        within("core_hour", Some(prices.core_hour), 0.0, 1e9)?;
        within("gib_hour", Some(prices.gib_hour), 0.0, 1e9)?;
        within("node_hour", Some(prices.node_hour), 0.0, 1e9)?;
        for size in &prices.node {
            within(&format!("node.{}.cores", size.name), Some(size.cores), 1e-3, 1e5)?;
            within(&format!("node.{}.memory_gib", size.name), Some(size.memory_gib), 1e-3, 1e6)?;
            within(&format!("node.{}.hour", size.name), Some(size.hour), 0.0, 1e9)?;
        }
        let is_free = prices.core_hour + prices.gib_hour + prices.node_hour <= 0.0;
        if is_free && prices.node.iter().all(|size| size.hour <= 0.0) {
            return wrong("core_hour", "nothing has a price");
        }
        Ok(prices)
    }

    /// What one node of this size costs for an hour.
    pub fn node_price(&self, cores: f64, memory_gib: f64) -> f64 {
        self.node_hour + cores * self.core_hour + memory_gib * self.gib_hour
    }
}
