//! What is simulated: nodes, users, steps, balancing, replication and faults, as a TOML file says them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::times::TimeDistribution;

/// The most nodes of a simulation: a state of some hundred bytes each.
pub const NODES_MAX: u32 = 1_000_000;
/// The most users: their number is all that is kept of them past [`USERS_EACH_MAX`].
pub const USERS_MAX: u64 = 10_000_000_000;
/// Up to so many users keep a state and a clock of their own; more are drawn from their number, which thinks exponentially.
pub const USERS_EACH_MAX: u64 = 1_000_000;
/// The longest simulation, in simulated seconds: a week.
pub const SECONDS_MAX: f64 = 604_800.0;
/// The most steps: as many as a study has kinds of requests, and some.
pub const STEPS_MAX: usize = 1_000;
/// The most events of a simulation: some ten minutes of one core.
pub const EVENTS_MAX: u64 = 2_000_000_000;
/// The most requests, of users and between nodes, that may be under way at one moment: some hundred bytes each.
pub const UNDER_WAY_MAX: usize = 20_000_000;

/// A deployment, and how long it is watched. [`super::run`] simulates it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployment {
    /// What all chance follows from: the same seed gives the same outcome.
    #[serde(default)]
    pub seed: u64,
    /// How long is measured, in simulated seconds.
    #[serde(default = "default_seconds")]
    pub seconds: f64,
    /// How long is simulated before, in seconds.
    #[serde(default = "default_warm_up")]
    pub warm_up_s: f64,
    /// The nodes.
    pub nodes: DeploymentNodes,
    /// The offered load.
    pub load: OfferedLoad,
    /// How requests find a node.
    #[serde(default)]
    pub balance: BalancePolicy,
    /// Kinds of requests.
    pub steps: Vec<RequestKind>,
    /// How nodes tell each other of sessions; `None`: not at all, and at no cost.
    #[serde(default)]
    pub replication: Option<Replication>,
    /// What goes wrong, and crowds.
    #[serde(default)]
    pub events: Vec<DeploymentEvent>,
}

fn default_seconds() -> f64 {
    60.0
}

fn default_warm_up() -> f64 {
    15.0
}

/// Nodes, all alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeploymentNodes {
    /// How many there are.
    pub count: u32,
    /// How many requests a node works on at once, each at full speed: its cores.
    #[serde(default = "one")]
    pub cores: u32,
    /// How many cores its quota allows, such as 0.4: spent at full speed, then the node rests until the period ends. `None`: all.
    #[serde(default)]
    pub quota: Option<f64>,
    /// The quota's period in seconds; Linux has 0.1.
    #[serde(default = "default_period")]
    pub period_s: f64,
    /// What becomes of more requests than cores.
    #[serde(default)]
    pub discipline: Discipline,
    /// More waiting requests than this are refused; `None`: never.
    #[serde(default)]
    pub queue_max: Option<u32>,
    /// How many logins a node works on, or has in its queue, at once; further ones wait apart. `None`: no throttle.
    #[serde(default)]
    pub logins_at_once: Option<u32>,
    /// More logins waiting apart than this are refused; `None`: never.
    #[serde(default)]
    pub logins_waiting_max: Option<u32>,
    /// A node stands still this often, in seconds on average, at random (a garbage collector); 0: never.
    #[serde(default)]
    pub stall_every_s: f64,
    /// How long it stands still, in seconds.
    #[serde(default)]
    pub stall_s: f64,
    /// Whether a node drops a waiting request when its client has given up.
    #[serde(default)]
    pub drops_abandoned: bool,
    /// How much longer a core works on a request that finds its node idle, in milliseconds: processes that wait have to be woken.
    #[serde(default)]
    pub wake_ms: f64,
}

fn one() -> u32 {
    1
}

fn default_period() -> f64 {
    0.1
}

impl Default for DeploymentNodes {
    fn default() -> DeploymentNodes {
        DeploymentNodes {
            count: 1,
            cores: 1,
            quota: None,
            period_s: default_period(),
            discipline: Discipline::Fifo,
            queue_max: None,
            logins_at_once: None,
            logins_waiting_max: None,
            stall_every_s: 0.0,
            stall_s: 0.0,
            drops_abandoned: false,
            wake_ms: 0.0,
        }
    }
}

/// What becomes of more requests than cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// They wait, first come first served: event loops.
    #[default]
    Fifo,
    /// All are worked on at once, each more slowly: a thread for each request.
    Sharing,
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedLoad {
    /// So many users, each of whom waits for an answer, thinks, and asks again. Either this or `rate`.
    #[serde(default)]
    pub users: Option<u64>,
    /// So many arrivals a second, whether or not answers come.
    #[serde(default)]
    pub rate: Option<f64>,
    /// How arrivals follow each other.
    #[serde(default)]
    pub arrivals: ArrivalProcess,
    /// How long a user thinks, in seconds on average.
    #[serde(default)]
    pub think_s: f64,
    /// How that varies.
    #[serde(default)]
    pub think: ThinkTimes,
    /// Whether users have a session when the simulation begins. Without: all log in first, as after a power cut.
    #[serde(default = "yes")]
    pub sessions_at_start: bool,
    /// A client gives up after so many seconds; `None`: never.
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// After a failure a user asks again this long after, in seconds; `None`: after thinking.
    #[serde(default)]
    pub retry_s: Option<f64>,
}

fn yes() -> bool {
    true
}

/// How arrivals follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalProcess {
    /// Independent of each other.
    #[default]
    Poisson,
    /// Always the same time apart.
    Constant,
    /// So many at once, and always the same time apart.
    Burst(u64),
}

/// How the time that users think varies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkTimes {
    /// Without memory.
    #[default]
    Exponential,
    /// Always the same.
    Constant,
    /// From request to request, not from answer to request: a late answer shortens it, and the next request is late when that is not enough.
    Pace,
}

/// How requests find a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BalancePolicy {
    /// A user stays with a node. Arrivals without users go to any.
    Sticky,
    /// Any node.
    #[default]
    Random,
    /// One after the other.
    RoundRobin,
    /// The node with the fewest requests under way.
    LeastOutstanding,
    /// Of two nodes at random, the one with fewer requests under way.
    TwoChoices,
}

/// A kind of request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestKind {
    /// Its name, as in records.
    pub name: String,
    /// What it does with sessions.
    #[serde(default)]
    pub kind: SessionUse,
    /// How often it is taken, in proportion to the others. Users who have no session take a step of the kind `login`; those who have
    /// one take the others.
    #[serde(default = "one_weight")]
    pub weight: f64,
    /// How long a core works on it.
    pub service: TimeDistribution,
    /// How long it takes besides, while no core of the node works on it: network, disk.
    #[serde(default)]
    pub delay: TimeDistribution,
}

fn one_weight() -> f64 {
    1.0
}

/// What a step does with sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionUse {
    /// Nothing that other nodes must know.
    #[default]
    Plain,
    /// Asks for a session: with `assured_read` the other nodes' word is needed.
    Read,
    /// Changes a session.
    Write,
    /// Begins a session.
    Login,
    /// Ends one.
    Logout,
}

impl SessionUse {
    /// Whether other nodes have to hear of it.
    pub fn is_write(self) -> bool {
        match self {
            SessionUse::Write | SessionUse::Login | SessionUse::Logout => true,
            SessionUse::Plain | SessionUse::Read => false,
        }
    }
}

/// How nodes tell each other of sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replication {
    /// What an answer waits for.
    pub mode: ReplicationMode,
    /// Cores of a store that all nodes share; `None`: the nodes hold the copies themselves.
    #[serde(default)]
    pub store_cores: Option<u32>,
    /// How many other nodes get a copy where there is no store; `None`: all.
    #[serde(default)]
    pub copies: Option<u32>,
    /// How long a core of the store, or of each node with a copy, works on a write.
    pub write: TimeDistribution,
    /// The same of a question, with `assured_read`.
    #[serde(default)]
    pub read: TimeDistribution,
    /// How long a message takes to and fro, without working and waiting.
    #[serde(default)]
    pub delay: TimeDistribution,
}

/// What an answer waits for: the four modes of durward's sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicationMode {
    /// For nothing; a node's sessions die with it.
    None,
    /// For nothing; writes are sent behind the answer.
    BestEffort,
    /// A write waits until the store, or most nodes with a copy, have it.
    AssuredWrite,
    /// The same, and a read asks them, once for all reads that wait on a node at that moment.
    AssuredRead,
}

/// What happens at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DeploymentEvent {
    /// Nodes die. What they work on fails; users of theirs go to other nodes, without a session where it died with them.
    Fail {
        /// When, in seconds since measuring began.
        at_s: f64,
        /// How many.
        #[serde(default = "one")]
        nodes: u32,
        /// How long balancing goes on sending requests to them, which fail, in seconds.
        #[serde(default)]
        detect_s: f64,
        /// When they are back, in seconds after they died; `None`: never.
        #[serde(default)]
        back_after_s: Option<f64>,
        /// Their users, where users are sticky, ask again within so many seconds (a reconnection storm); `None`: when they have thought.
        #[serde(default)]
        reconnect_within_s: Option<f64>,
    },
    /// More users come at once. They log in first where there is a login.
    Flood {
        /// When, in seconds since measuring began.
        at_s: f64,
        /// How many.
        users: u64,
        /// Within how many seconds all have come; 0: at one moment.
        #[serde(default)]
        within_s: f64,
    },
}

/// What is wrong with a deployment: the key, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentError {
    /// The key as the file says it: `nodes.count`. Empty where the text is no TOML of a deployment.
    pub key: String,
    /// Why, in words.
    pub because: String,
}

impl fmt::Display for DeploymentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            f.write_str(&self.because)
        } else {
            write!(f, "`{}`: {}", self.key, self.because)
        }
    }
}

impl std::error::Error for DeploymentError {}

pub(super) fn wrong<T>(key: impl Into<String>, because: impl Into<String>) -> Result<T, DeploymentError> {
    Err(DeploymentError { key: key.into(), because: because.into() })
}

/// A number of a file: finite and within these, ends included.
fn within(key: &str, value: f64, low: f64, high: f64) -> Result<(), DeploymentError> {
    if value >= low && value <= high {
        Ok(())
    } else {
        wrong(key, format!("{value} is not from {low} to {high}"))
    }
}

impl Deployment {
    /// Reads the TOML text of a deployment, and checks it.
    ///
    /// # Errors
    /// Unknown keys, numbers out of bounds, contradictions.
    pub fn read(text: &str) -> Result<Deployment, DeploymentError> {
        let read: Deployment = toml::from_str(text).map_err(|error| DeploymentError {
            key: String::new(),
            because: error.to_string().trim().to_owned(),
        })?;
        read.check()?;
        Ok(read)
    }

    /// Whether it can be simulated.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), DeploymentError> {
        within("seconds", self.seconds, 0.001, SECONDS_MAX)?;
        within("warm_up_s", self.warm_up_s, 0.0, SECONDS_MAX)?;
        self.nodes.check()?;
        self.load.check()?;
        self.check_steps()?;
        if let Some(replication) = &self.replication {
            replication.check()?;
        }
        self.events.iter().enumerate().try_for_each(|(at, event)| self.check_event(at, event))?;
        self.check_work()
    }

    fn check_steps(&self) -> Result<(), DeploymentError> {
        if self.steps.is_empty() || self.steps.len() > STEPS_MAX {
            return wrong("steps", format!("1 to {STEPS_MAX} steps are needed"));
        }
        for step in &self.steps {
            let key = |name: &str| format!("steps.{}.{name}", step.name);
            within(&key("weight"), step.weight, 0.0, 1e12)?;
            step.service.check(&key("service"))?;
            step.delay.check(&key("delay"))?;
        }
        let is_taken =
            |kind: fn(SessionUse) -> bool| self.steps.iter().any(|step| kind(step.kind) && step.weight > 0.0);
        if self.load.users.is_some() && !is_taken(|kind| kind != SessionUse::Login) {
            return wrong(
                "steps",
                "users with a session have nothing to do: a step other than `login` needs a weight",
            );
        }
        if !is_taken(|_| true) { wrong("steps", "no step has a weight") } else { Ok(()) }
    }

    fn check_event(&self, at: usize, event: &DeploymentEvent) -> Result<(), DeploymentError> {
        let key = |name: &str| format!("events[{at}].{name}");
        match event {
            DeploymentEvent::Fail { at_s, nodes, detect_s, back_after_s, reconnect_within_s } => {
                within(&key("at_s"), *at_s, 0.0, self.seconds)?;
                within(&key("detect_s"), *detect_s, 0.0, SECONDS_MAX)?;
                within(&key("reconnect_within_s"), reconnect_within_s.unwrap_or(0.0), 0.0, SECONDS_MAX)?;
                within(&key("back_after_s"), back_after_s.unwrap_or(*detect_s), *detect_s, SECONDS_MAX)?;
                if *nodes == 0 || *nodes >= self.nodes.count {
                    return wrong(
                        key("nodes"),
                        format!("{nodes} of {} nodes: at least one dies and one is left", self.nodes.count),
                    );
                }
                Ok(())
            }
            DeploymentEvent::Flood { at_s, users, within_s } => {
                within(&key("at_s"), *at_s, 0.0, self.seconds)?;
                within(&key("within_s"), *within_s, 0.0, SECONDS_MAX)?;
                if *users == 0 || *users > USERS_MAX {
                    return wrong(key("users"), format!("{users} is not from 1 to {USERS_MAX}"));
                }
                Ok(())
            }
        }
    }

    /// Refuses what would run for hours, before it begins.
    fn check_work(&self) -> Result<(), DeploymentError> {
        let asked = self.offered_per_s();
        let copies = match &self.replication {
            Some(all) if all.mode != ReplicationMode::None && all.store_cores.is_none() => {
                f64::from(all.copies.unwrap_or(u32::MAX).min(self.nodes.count.saturating_sub(1)))
                    * self.write_share()
            }
            _ => 0.0,
        };
        let events = asked * (self.seconds + self.warm_up_s) * (2.0 + copies);
        if events > EVENTS_MAX as f64 {
            let shorter = self.seconds * EVENTS_MAX as f64 / events;
            return wrong(
                "seconds",
                format!(
                    "about {events:.1e} events, more than {EVENTS_MAX}: simulate {shorter:.1} s or less{}",
                    if copies > 2.0 { ", or give fewer `replication.copies`" } else { "" }
                ),
            );
        }
        Ok(())
    }

    /// At most so many requests are asked for a second: the rate, or what users would ask who never wait, and no more than the nodes can do.
    pub fn offered_per_s(&self) -> f64 {
        let (Some(users), mean) = (self.load.users, self.service_mean_s()) else {
            return self.load.rate.unwrap_or(0.0);
        };
        let cores = f64::from(self.nodes.count)
            * self
                .nodes
                .quota
                .map_or(f64::from(self.nodes.cores), |quota| quota.min(f64::from(self.nodes.cores)));
        let most = if mean > 0.0 { cores / mean } else { f64::INFINITY };
        let delay = self.steps.iter().map(|step| step.delay.mean_s()).fold(f64::INFINITY, f64::min);
        (users as f64 / (self.load.think_s + mean + delay).max(1e-9)).min(most)
    }

    /// How long a core works on a request on average, by the weights of steps, in seconds.
    pub fn service_mean_s(&self) -> f64 {
        let weights: f64 = self.steps.iter().map(|step| step.weight).sum();
        if weights > 0.0 {
            self.steps.iter().map(|step| step.weight * step.service.mean_s()).sum::<f64>() / weights
        } else {
            0.0
        }
    }

    fn write_share(&self) -> f64 {
        let all: f64 = self.steps.iter().map(|step| step.weight).sum();
        self.steps.iter().filter(|step| step.kind.is_write()).map(|step| step.weight).sum::<f64>()
            / all.max(f64::MIN_POSITIVE)
    }
}

impl DeploymentNodes {
    fn check(&self) -> Result<(), DeploymentError> {
        within("nodes.count", f64::from(self.count), 1.0, f64::from(NODES_MAX))?;
        within("nodes.cores", f64::from(self.cores), 1.0, 65_536.0)?;
        within("nodes.period_s", self.period_s, 0.001, 10.0)?;
        within("nodes.stall_every_s", self.stall_every_s, 0.0, SECONDS_MAX)?;
        within("nodes.stall_s", self.stall_s, 0.0, 3600.0)?;
        within("nodes.wake_ms", self.wake_ms, 0.0, 3_600_000.0)?;
        if let Some(quota) = self.quota {
            within("nodes.quota", quota, 0.001, f64::from(self.cores))?;
        }
        if self.stall_s > 0.0 && self.stall_every_s <= self.stall_s {
            return wrong(
                "nodes.stall_every_s",
                "nodes that stand still for longer than they run do nothing",
            );
        }
        if self.logins_at_once == Some(0) {
            return wrong("nodes.logins_at_once", "nobody would ever log in: 1 or more");
        }
        Ok(())
    }
}

impl OfferedLoad {
    fn check(&self) -> Result<(), DeploymentError> {
        match (self.users, self.rate) {
            (Some(users), None) => {
                within("load.users", users as f64, 1.0, USERS_MAX as f64)?;
            }
            (None, Some(rate)) => {
                within("load.rate", rate, 1e-6, 1e9)?;
                if self.arrivals == ArrivalProcess::Burst(0) {
                    return wrong("load.arrivals", "a burst of 0 is none: 1 or more");
                }
            }
            (Some(_), Some(_)) => {
                return wrong("load", "either `users` or `rate`: users wait for answers, arrivals do not");
            }
            (None, None) => return wrong("load", "nobody asks: `users` or `rate` is needed"),
        }
        within("load.think_s", self.think_s, 0.0, SECONDS_MAX)?;
        within("load.timeout_s", self.timeout_s.unwrap_or(1.0), 1e-6, SECONDS_MAX)?;
        within("load.retry_s", self.retry_s.unwrap_or(0.0), 0.0, SECONDS_MAX)?;
        if self.users.is_some_and(|users| users > USERS_EACH_MAX) && self.think_s <= 0.0 {
            return wrong("load.think_s", format!("more than {USERS_EACH_MAX} users must think"));
        }
        Ok(())
    }
}

impl Replication {
    fn check(&self) -> Result<(), DeploymentError> {
        if let Some(cores) = self.store_cores {
            within("replication.store_cores", f64::from(cores), 1.0, 65_536.0)?;
            if self.copies.is_some() {
                return wrong("replication.copies", "either a store or copies on nodes");
            }
        }
        self.write.check("replication.write")?;
        self.read.check("replication.read")?;
        self.delay.check("replication.delay")
    }
}
