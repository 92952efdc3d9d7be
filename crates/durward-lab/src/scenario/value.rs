//! Values of scenario files that TOML has no type for: durations, one or several, percentages.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::ScenarioError;

/// The longest time a scenario may name: a week.
const TIME_S_MAX: f64 = 604_800.0;

/// A time as scenarios write it: `250ms`, `1.5s`, `2m`, `1h`, `10us`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurationValue(pub Duration);

impl DurationValue {
    /// Reads the text of a time.
    ///
    /// # Errors
    /// Text that is none, and times longer than a week.
    pub(crate) fn read(text: &str) -> Result<DurationValue, ScenarioError> {
        let text = text.trim();
        // The key and the line are the caller's.
        let wrong = |problem: &str| ScenarioError::at("", format!("`{text}` {problem}"));
        let no_time = || wrong("is no time: write `250ms`, `1.5s` or `2m`");
        let digits =
            text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let scale = match unit.trim() {
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(no_time()),
        };
        let number: f64 = number.parse().map_err(|_| no_time())?;
        let seconds = number * scale;
        if seconds > TIME_S_MAX {
            return Err(wrong("is longer than a week"));
        }
        Ok(DurationValue(Duration::from_secs_f64(seconds)))
    }
}

/// As scenarios write it.
impl fmt::Display for DurationValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        match ns {
            0 => write!(f, "0s"),
            ns if ns >= 1_000_000_000 => write!(f, "{}s", self.0.as_secs_f64()),
            ns if ns >= 1_000_000 => write!(f, "{}ms", self.0.as_secs_f64() * 1e3),
            _ => write!(f, "{}us", self.0.as_secs_f64() * 1e6),
        }
    }
}

/// As text, which is read back to the nanosecond.
impl Serialize for DurationValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DurationValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DurationValue, D::Error> {
        let text = String::deserialize(deserializer)?;
        DurationValue::read(&text).map_err(D::Error::custom)
    }
}

/// One value, or a list of some: `users = 10` and `users = [1, 10, 100]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

/// Hands one value on to its own type, and a list to the type of its elements.
struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value or a list of values")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|one| OneOrMany(vec![one]))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|one| OneOrMany(vec![one]))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|one| OneOrMany(vec![one]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, all: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(all)).map(OneOrMany)
    }
}

/// A number, or a text with `${...}` that becomes one: `percent = 5` and `percent = "${vary.logout}"`.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberValue {
    /// As it stands in the file.
    Fixed(f64),
    /// To be filled in.
    Text(String),
}

impl<'de> Deserialize<'de> for NumberValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NumberValue, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = NumberValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text with `${...}`")
    }

    #[expect(clippy::cast_precision_loss, reason = "percentages and repetitions are small")]
    fn visit_i64<E: Error>(self, value: i64) -> Result<NumberValue, E> {
        Ok(NumberValue::Fixed(value as f64))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<NumberValue, E> {
        Ok(NumberValue::Fixed(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<NumberValue, E> {
        Ok(NumberValue::Text(value.to_owned()))
    }
}

/// 0.01 of `1%`.
pub(super) fn share(text: &str) -> Option<f64> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, ns) in [
            ("250ms", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("10us", 10_000),
            ("2m", 120_000_000_000),
            ("0s", 0),
        ] {
            let time = DurationValue::read(text).unwrap();
            assert_eq!(time.0.as_nanos(), ns, "{text}");
            assert_eq!(DurationValue::read(&time.to_string()).unwrap(), time);
        }
        for text in ["", "5", "ms", "1 year", "-1s", "1.2.3s", "999999h"] {
            assert!(DurationValue::read(text).is_err(), "{text}");
        }
    }
}
