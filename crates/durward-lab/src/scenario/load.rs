//! The `[load]` table: who asks, how often, for how long.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::search::SearchSpec;
use super::value::{DurationValue, OneOrMany};

/// Who asks, how often, for how long. One of `users`, `arrivals` and `search`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadSpec {
    /// Closed: so many users, each of whom waits for an answer before the next request. Several: one point each.
    pub users: OneOrMany<u64>,
    /// Open: requests come by a schedule, whether or not answers did.
    pub arrivals: Option<ArrivalSpec>,
    /// Instead of both: finds by itself how far the target goes, and measures latency at shares of that.
    pub search: Option<SearchSpec>,
    /// How long a user thinks between an answer and the next request.
    pub think: ThinkTime,
    /// Instead of `think`: a user's requests are due so far apart, from one to the next.
    pub pace: Option<DurationValue>,
    /// Users begin, or arrivals grow to their rate, over so long. Users begin at random moments of their first pause besides.
    pub ramp: DurationValue,
    /// How long is not measured after the ramp: a time, or `auto`: until rate and latency are level.
    pub warm_up: WarmUp,
    /// How long is measured.
    pub measure: DurationValue,
    /// How long nothing is asked after each point.
    pub cool_down: DurationValue,
    /// How often each point is measured, in shuffled order.
    pub repeat: u32,
    /// Whether the target is started anew before each point, not only for each number of nodes.
    pub restart: bool,
    /// A request without a whole answer after so long failed.
    pub timeout: DurationValue,
    /// After a request without an answer, a user of `users` waits so long, so that a server that refuses is not stormed.
    pub error_pause: DurationValue,
    /// How requests are distributed over nodes. Several: one curve each.
    pub balance: OneOrMany<NodeChoice>,
    /// How many connections there are in all; with `arrivals`, also how many arrivals are served at once (without it 100; where a
    /// connection carries several requests, `streams` times as many). Without it
    /// each user has one of their own where users stick to a node, else there are as many as are needed at once.
    pub connections: Option<usize>,
    /// Whether connections are kept for the next request.
    pub keep_alive: bool,
    /// Which HTTP is spoken: `"1.1"`, or `"2"`: in clear without asking, over TLS as ALPN agrees.
    pub http: HttpVersion,
    /// Over HTTP/2 and RSocket: how many requests are under way on one connection at most. Without it 100.
    pub streams: Option<usize>,
    /// How many threads make load; without it half of the machine's cores.
    pub threads: Option<usize>,
}

impl Default for LoadSpec {
    fn default() -> LoadSpec {
        LoadSpec {
            users: OneOrMany::default(),
            arrivals: None,
            search: None,
            think: ThinkTime::default(),
            pace: None,
            ramp: DurationValue::default(),
            warm_up: WarmUp::For(DurationValue(std::time::Duration::from_secs(5))),
            measure: DurationValue(std::time::Duration::from_secs(20)),
            cool_down: DurationValue::default(),
            repeat: 1,
            restart: false,
            timeout: DurationValue(std::time::Duration::from_secs(30)),
            error_pause: DurationValue(std::time::Duration::from_millis(100)),
            balance: OneOrMany(vec![NodeChoice::default()]),
            connections: None,
            keep_alive: true,
            http: HttpVersion::default(),
            streams: None,
            threads: None,
        }
    }
}

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// HTTP/1.1: one request at a time on a connection.
    #[default]
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2: many requests at a time on a connection.
    #[serde(rename = "2")]
    Two,
}

/// Requests that come by a schedule. One of the shapes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArrivalSpec {
    /// So many a second. Several: one point each.
    pub rate: OneOrMany<f64>,
    /// Rates one after the other, over and over.
    pub steps: Vec<RateStep>,
    /// So many at once, each `every`. Several: one point each.
    pub burst: OneOrMany<u64>,
    /// How far bursts are apart.
    pub every: Option<DurationValue>,
    /// So many bursts in all, from the begin of the load on, and then none. Without it they go on.
    pub bursts: Option<u64>,
    /// A file with one moment a line, in seconds: what a log says.
    pub replay: Option<PathBuf>,
    /// The replay goes so many times as fast.
    pub speed: Option<f64>,
    /// How `rate` and `steps` are spread.
    pub distribution: Distribution,
}

/// How arrivals are spread in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Equally far apart.
    #[default]
    Constant,
    /// As independent people come: exponential times between them.
    Poisson,
}

/// A rate for a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Arrivals a second.
    pub rate: f64,
    /// For how long.
    #[serde(rename = "for")]
    pub time: DurationValue,
}

/// The shape of arrivals at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ArrivalShape {
    /// So many a second.
    Rate(f64, Distribution),
    /// One rate after the other, over and over.
    Steps(Vec<RateStep>, Distribution),
    /// So many at once, how far apart, and how often in all; `None`: without end.
    Burst(u64, DurationValue, Option<u64>),
    /// A file of moments, and how many times as fast.
    Replay(PathBuf, f64),
}

impl ArrivalSpec {
    /// The points that the table asks for.
    pub fn shapes(&self) -> Vec<ArrivalShape> {
        let rates = self.rate.0.iter().map(|rate| ArrivalShape::Rate(*rate, self.distribution));
        let steps =
            (!self.steps.is_empty()).then(|| ArrivalShape::Steps(self.steps.clone(), self.distribution));
        let every = self.every.unwrap_or(DurationValue(std::time::Duration::from_secs(1)));
        let bursts = self.burst.0.iter().map(|size| ArrivalShape::Burst(*size, every, self.bursts));
        let replay = self.replay.clone().map(|file| ArrivalShape::Replay(file, self.speed.unwrap_or(1.0)));
        rates.chain(steps).chain(bursts).chain(replay).collect()
    }
}

/// How long users think: `think = "1s"`, or `think = { mean = "1s", distribution = "exponential" }`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ThinkTime {
    /// Always so long.
    Constant(DurationValue),
    /// Exponentially, of this mean.
    Exponential(DurationValue),
    /// Not at all.
    #[default]
    None,
}

impl<'de> Deserialize<'de> for ThinkTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ThinkTime, D::Error> {
        deserializer.deserialize_any(ThinkVisitor)
    }
}

struct ThinkVisitor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThinkTable {
    mean: DurationValue,
    #[serde(default)]
    distribution: ThinkDistribution,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ThinkDistribution {
    Constant,
    #[default]
    Exponential,
}

impl<'de> Visitor<'de> for ThinkVisitor {
    type Value = ThinkTime;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a time such as \"1s\", or { mean = \"1s\", distribution = \"exponential\" }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ThinkTime, E> {
        let time = DurationValue::read(text).map_err(E::custom)?;
        Ok(if time.0.is_zero() { ThinkTime::None } else { ThinkTime::Constant(time) })
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<ThinkTime, A::Error> {
        let table = ThinkTable::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(match table.distribution {
            ThinkDistribution::Constant => ThinkTime::Constant(table.mean),
            ThinkDistribution::Exponential => ThinkTime::Exponential(table.mean),
        })
    }
}

/// How long is not measured after the ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// So long.
    For(DurationValue),
    /// Until rate and latency are level, and a minute at most.
    Auto,
}

impl<'de> Deserialize<'de> for WarmUp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WarmUp, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "auto" => Ok(WarmUp::Auto),
            text => DurationValue::read(text).map(WarmUp::For).map_err(D::Error::custom),
        }
    }
}

/// To which of several nodes requests go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeChoice {
    /// All requests of a user to one node; users evenly over nodes.
    #[default]
    Sticky,
    /// Each request to any node, each as likely.
    Random,
    /// To each in turn.
    RoundRobin,
    /// To the one with the fewest requests under way.
    LeastOutstanding,
    /// To that of two at random with fewer requests under way.
    TwoChoices,
}

impl NodeChoice {
    /// As scenarios write it.
    pub fn as_str(self) -> &'static str {
        match self {
            NodeChoice::Sticky => "sticky",
            NodeChoice::Random => "random",
            NodeChoice::RoundRobin => "round-robin",
            NodeChoice::LeastOutstanding => "least-outstanding",
            NodeChoice::TwoChoices => "two-choices",
        }
    }
}
