//! The `[thresholds]` table: what must hold, else the command exits 1.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::ScenarioError;
use super::value::{DurationValue, share};

/// What must hold at every point: `p50`, `p90`, `p99`, `p99.9` and `max` of right answers since they were due, `errors` as a
/// share (`"1%"`), `rate` as right answers a second; and the same of single steps under `steps.NAME`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thresholds {
    /// Of all steps together.
    pub all: Vec<ThresholdBound>,
    /// By the name of a step.
    pub steps: BTreeMap<String, Vec<ThresholdBound>>,
}

/// One bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdBound {
    /// What is measured.
    pub metric: ThresholdMetric,
    /// What it may be.
    pub limit: ThresholdLimit,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThresholdMetric {
    /// So many of 100 right answers take no longer, since they were due.
    Percentile(f64),
    /// The longest right answer, since it was due.
    Max,
    /// The share of requests that failed or were never sent.
    Errors,
    /// Right answers a second.
    Rate,
}

/// What it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThresholdLimit {
    /// At most this time.
    Within(DurationValue),
    /// At most this share, from 0 to 1.
    AtMost(f64),
    /// At least so many a second.
    AtLeast(f64),
}

/// As in `p99 <= 50ms`.
impl fmt::Display for ThresholdBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.metric {
            ThresholdMetric::Percentile(percent) => write!(f, "p{percent}")?,
            ThresholdMetric::Max => write!(f, "max")?,
            ThresholdMetric::Errors => write!(f, "errors")?,
            ThresholdMetric::Rate => write!(f, "rate")?,
        }
        match self.limit {
            ThresholdLimit::Within(time) => write!(f, " <= {time}"),
            ThresholdLimit::AtMost(share) => write!(f, " <= {}%", share * 100.0),
            ThresholdLimit::AtLeast(rate) => write!(f, " >= {rate}/s"),
        }
    }
}

/// Names of what can be bounded.
const NAMES: &[&str] = &["p50", "p90", "p99", "p99.9", "max", "errors", "rate", "steps"];

impl<'de> Deserialize<'de> for Thresholds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Thresholds, D::Error> {
        deserializer.deserialize_map(ThresholdsVisitor)
    }
}

struct ThresholdsVisitor;

impl<'de> Visitor<'de> for ThresholdsVisitor {
    type Value = Thresholds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table such as { p99 = \"50ms\", errors = \"1%\", rate = 1000 }")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Thresholds, A::Error> {
        let mut read = Thresholds::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "steps" => {
                    let steps: BTreeMap<String, Thresholds> = map.next_value()?;
                    read.steps = steps.into_iter().map(|(name, one)| (name, one.all)).collect();
                }
                "p99.9" | "max" | "errors" | "rate" | "p50" | "p90" | "p99" => {
                    let value: toml::Value = map.next_value()?;
                    read.all.push(bound(&key, &value).map_err(A::Error::custom)?);
                }
                _ => return Err(A::Error::unknown_field(&key, NAMES)),
            }
        }
        Ok(read)
    }
}

fn bound(name: &str, value: &toml::Value) -> Result<ThresholdBound, ScenarioError> {
    let number = value
        .as_float()
        .or_else(|| value.as_integer().and_then(|whole| u32::try_from(whole).ok()).map(f64::from));
    let text = value.as_str();
    let (metric, limit) = match name {
        "errors" => (ThresholdMetric::Errors, text.and_then(share).map(ThresholdLimit::AtMost)),
        "rate" => (ThresholdMetric::Rate, number.filter(|rate| *rate >= 0.0).map(ThresholdLimit::AtLeast)),
        _ => {
            let time = text.map(DurationValue::read).transpose()?.map(ThresholdLimit::Within);
            let percent = name.strip_prefix('p').and_then(|percent| percent.parse().ok());
            (percent.map_or(ThresholdMetric::Max, ThresholdMetric::Percentile), time)
        }
    };
    let form = match metric {
        ThresholdMetric::Errors => "a share such as \"1%\"",
        ThresholdMetric::Rate => "a number of right answers a second",
        ThresholdMetric::Percentile(_) | ThresholdMetric::Max => "a time such as \"50ms\"",
    };
    let limit = limit.ok_or_else(|| ScenarioError::at("", format!("threshold `{name}` is {form}")))?;
    Ok(ThresholdBound { metric, limit })
}
