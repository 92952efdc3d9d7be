//! How long an API server waits, as its query says: `timeout=3s`, a duration as Go writes it.

use std::time::Duration;

use durward_common::base::parameters::{ParameterNames, Parameters};

/// The units of Go's durations, in nanoseconds. Longer names come before what they begin with.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

/// How long it waits; `None` where it does not say.
///
/// # Errors
/// In words, what is no duration.
pub(super) fn of_query(query: &str) -> Result<Option<Duration>, String> {
    let query = Parameters::of_query(query, ParameterNames::Exact).map_err(|error| error.to_string())?;
    let Some(text) = query.get("timeout") else { return Ok(None) };
    let wrong = || "`timeout` is no duration such as `3s`".to_owned();
    duration(text).map(Some).ok_or_else(wrong)
}

fn duration(mut text: &str) -> Option<Duration> {
    let mut nanoseconds = 0.0;
    if text.is_empty() {
        return None;
    }
    while !text.is_empty() {
        let end = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, rest) = text.split_at_checked(end)?;
        let (unit, size) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit) && is_whole(rest, unit))?;
        nanoseconds += number.parse::<f64>().ok()? * size;
        text = rest.strip_prefix(unit)?;
    }
    Duration::try_from_secs_f64(nanoseconds / 1e9).ok()
}

/// Whether the unit is all of what stands before the next number: `m` is not the unit of `3ms`.
fn is_whole(rest: &str, unit: &str) -> bool {
    rest.strip_prefix(unit).is_some_and(|behind| {
        behind.chars().next().is_none_or(|character| character.is_ascii_digit() || character == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read_and_nothing_else() {
        let of = |text: &str| of_query(&format!("timeout={text}"));
        for (text, ms) in [
            ("3s", 3000),
            ("30s", 30_000),
            ("1m0s", 60_000),
            ("1.5s", 1500),
            ("100ms", 100),
            ("1h", 3_600_000),
            ("2000%C2%B5s", 2),
        ] {
            assert_eq!(of(text), Ok(Some(Duration::from_millis(ms))), "{text}");
        }
        assert_eq!(of_query(""), Ok(None));
        for text in ["3", "s", "-3s", "3x", "3s4", "1e3s", "..s", "9999999999999999999999h"] {
            assert!(of(text).is_err(), "{text}");
        }
        assert!(of_query("timeout=1s&timeout=2s").is_err());
    }
}
