//! The `[load.search]` table: finds how far the target goes by itself, and measures latency at shares of that.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::USERS_MAX;
use super::error::ScenarioError;
use super::load::{Distribution, LoadSpec, ThinkTime, WarmUp};
use super::threshold::{ThresholdMetric, Thresholds};
use super::value::{DurationValue, share};

/// Finds saturation and the highest rate that holds a promise, then measures latency at shares of it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchSpec {
    /// What must hold at a rate: as in `[thresholds]`, without `rate` and `steps`. Without it, saturation alone is looked for.
    pub promise: Thresholds,
    /// Whether saturation is looked for, in closed form: users who do not think, twice as many each time, until the rate grows no
    /// more.
    pub saturation: bool,
    /// The most users of that.
    pub users_max: u64,
    /// The first rate that is tried for the promise; without it an eighth of saturation, or 100 a second.
    pub from: Option<f64>,
    /// How near the rate that holds and the one that does not must come: `"5%"`.
    pub precision: ShareOfLimit,
    /// How often a rate is tried at most: the majority decides.
    pub tries: u32,
    /// How long a try is warmed up.
    pub warm_up: DurationValue,
    /// How long a try is measured.
    pub measure: DurationValue,
    /// How arrivals are spread.
    pub distribution: Distribution,
    /// At so many per cent of what was found latency is measured, `load.repeat` times for `load.measure` each.
    pub fractions: Vec<f64>,
}

impl Default for SearchSpec {
    fn default() -> SearchSpec {
        SearchSpec {
            promise: Thresholds::default(),
            saturation: true,
            users_max: 1024,
            from: None,
            precision: ShareOfLimit(0.05),
            tries: 3,
            warm_up: DurationValue(Duration::from_secs(1)),
            measure: DurationValue(Duration::from_secs(5)),
            distribution: Distribution::Constant,
            fractions: vec![1.0, 10.0, 50.0, 90.0],
        }
    }
}

/// How a try of a search differs from the load that its scenario names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SearchTrial {
    pub(crate) warm_up: Duration,
    pub(crate) measure: Duration,
    /// Whether users ask as fast as answers come.
    pub(crate) is_saturating: bool,
}

impl SearchTrial {
    pub(crate) fn load(&self, of: &LoadSpec) -> LoadSpec {
        let (warm_up, measure) = (WarmUp::For(DurationValue(self.warm_up)), DurationValue(self.measure));
        let load = LoadSpec { warm_up, measure, ..of.clone() };
        if self.is_saturating {
            // Each user has a connection of their own, or a place on one: arrivals have as many as the scenario says.
            LoadSpec { think: ThinkTime::None, pace: None, connections: None, ..load }
        } else {
            load
        }
    }
}

/// A share as scenarios write it: `"5%"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareOfLimit(pub f64);

impl<'de> Deserialize<'de> for ShareOfLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<ShareOfLimit, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom(format!("`{text}` is no share: write `5%`"));
        share(&text).map(ShareOfLimit).ok_or_else(wrong)
    }
}

impl SearchSpec {
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        let at = |key: &str, problem: &str| Err(ScenarioError::at(format!("load.search{key}"), problem));
        if !self.promise.steps.is_empty() {
            return at(".promise", "is of all steps together; `[thresholds]` may name steps");
        }
        if self.promise.all.iter().any(|bound| bound.metric == ThresholdMetric::Rate) {
            return at(".promise", "has a `rate`, which is what is looked for");
        }
        if self.promise.all.is_empty() && !self.saturation {
            return at(
                "",
                "looks for nothing: say `promise = { p99 = \"5ms\" }`, or leave `saturation` at true",
            );
        }
        if self.users_max == 0 || self.users_max > USERS_MAX {
            return at(".users_max", "is a number from 1 to 1000000");
        }
        if self.from.is_some_and(|from| !(from > 0.0 && from <= 1e6)) {
            return at(".from", "is a rate above 0 and up to a million a second");
        }
        if !(0.001..=0.5).contains(&self.precision.0) {
            return at(".precision", "is a share from 0.1% to 50%");
        }
        if self.tries == 0 || self.tries > 99 {
            return at(".tries", "is a number from 1 to 99");
        }
        if self.measure.0.is_zero() {
            return at(".measure", "is longer than 0");
        }
        if self.fractions.iter().any(|percent| !(*percent > 0.0 && *percent <= 200.0)) {
            return at(".fractions", "are per cent of what was found, above 0 and up to 200");
        }
        Ok(())
    }
}
