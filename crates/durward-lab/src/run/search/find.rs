//! How a limit is found: what is tried next, when it is decided, and what to say of it. No load, no clock.

use crate::draw::{count, time};
use crate::record::{LatencyRecord, MeasuredPoint, SearchResult};

/// Two doublings of users that bring less than this together show saturation.
const GROWTH_MIN: f64 = 0.05;
/// Below this rate nothing is looked for.
const RATE_MIN: f64 = 0.5;
/// Above this rate nothing is looked for.
const RATE_MAX: f64 = 10_000_000.0;

/// Whether twice as many users still bring more.
#[derive(Clone, Debug, Default)]
pub(super) struct UserGrowth {
    seen: Vec<(u64, f64)>,
}

impl UserGrowth {
    pub(super) fn note(&mut self, users: u64, rate: f64) {
        self.seen.push((users, rate));
    }

    /// Whether the last two doublings brought next to nothing beyond the best before them.
    pub(super) fn is_over(&self) -> bool {
        let Some((before, last)) = self.seen.len().checked_sub(2).map(|at| self.seen.split_at(at)) else {
            return false;
        };
        let most = |of: &[(u64, f64)]| of.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        !before.is_empty() && most(last) < most(before) * (1.0 + GROWTH_MIN)
    }

    fn best(&self) -> (u64, f64) {
        self.seen.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((1, 0.0))
    }

    pub(super) fn best_users(&self) -> u64 {
        self.best().0
    }

    pub(super) fn best_rate(&self) -> f64 {
        self.best().1
    }
}

/// Between which rates the limit is.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateBracket {
    from: f64,
    precision: f64,
    held: Option<f64>,
    failed: Option<f64>,
}

impl RateBracket {
    pub(super) fn new(from: f64, precision: f64) -> RateBracket {
        RateBracket { from, precision, held: None, failed: None }
    }

    /// The rate to try next; `None` where the limit is known well enough, or is not to be found.
    pub(super) fn next(&self) -> Option<f64> {
        match (self.held, self.failed) {
            (None, None) => Some(self.from),
            (Some(held), None) => Some(held * 2.0).filter(|rate| *rate <= RATE_MAX),
            // Nothing held yet: down in larger steps.
            (None, Some(failed)) => Some(failed / 4.0).filter(|rate| *rate >= RATE_MIN),
            (Some(held), Some(failed)) if failed - held <= self.precision * failed => None,
            (Some(held), Some(failed)) => Some(held.midpoint(failed)),
        }
    }

    pub(super) fn note(&mut self, rate: f64, holds: bool) {
        if holds {
            self.held = Some(rate);
        } else {
            self.failed = Some(rate);
        }
    }

    /// The highest rate that held.
    pub(super) fn held(&self) -> Option<f64> {
        self.held
    }

    /// The lowest rate that did not.
    pub(super) fn failed(&self) -> Option<f64> {
        self.failed
    }
}

/// Repeated tries of one rate: the majority decides, and what is decided is not tried again.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateVotes {
    most: u32,
    held: u32,
    failed: u32,
}

impl RateVotes {
    pub(super) fn new(most: u32) -> RateVotes {
        RateVotes { most, held: 0, failed: 0 }
    }

    pub(super) fn add(&mut self, holds: bool) {
        if holds {
            self.held += 1;
        } else {
            self.failed += 1;
        }
    }

    /// A tie does not hold: a promise is kept more often than not.
    pub(super) fn decided(&self) -> Option<bool> {
        if self.held > self.most / 2 {
            Some(true)
        } else if self.failed > (self.most - 1) / 2 {
            Some(false)
        } else {
            None
        }
    }
}

/// The middle of some rates.
pub(super) fn median(rates: &mut [f64]) -> Option<f64> {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied()
}

/// What was found, in words.
#[expect(clippy::cast_precision_loss, reason = "an hour has fewer than 2^53 nanoseconds")]
pub(super) fn verdict(result: &SearchResult, shares: &[(f64, Vec<MeasuredPoint>)]) -> String {
    let mut said = Vec::new();
    if let Some(saturation) = result.saturation {
        let users = result.saturation_users;
        let users = if users == 1 { "1 user".to_owned() } else { format!("{users} users") };
        let more = if result.is_saturated { "" } else { "; more users were not tried" };
        said.push(format!("Saturation: {} answers/s, with {users}{more}.", count(saturation)));
    }
    let promise = result.promise.join(" and ");
    match (result.rate, result.rate_beyond) {
        (Some(rate), beyond) => {
            let last = result.tried.iter().rev().find(|one| one.holds == Some(false));
            let why = last.map(|one| format!(" ({})", one.broken)).unwrap_or_default();
            let beyond =
                beyond.map(|beyond| format!("; at {}/s it does not{why}", count(beyond))).unwrap_or_default();
            said.push(format!("Promise: {}/s holds {promise}{beyond}.", count(rate)));
        }
        (None, Some(beyond)) => {
            said.push(format!(
                "Promise: no rate was found at which {promise} holds; {}/s is too much.",
                count(beyond)
            ));
        }
        (None, None) => {}
    }
    if result.is_at_generator_limit {
        said.push(
            "The generator was at its own limit where the promise broke: the target may go further."
                .to_owned(),
        );
    }
    for (percent, points) in shares.iter().filter(|(_, points)| !points.is_empty()) {
        let latency = LatencyRecord::merged(
            points.iter().flat_map(|point| point.steps.iter().map(|step| &step.since_due)),
        );
        let rate = points.iter().map(MeasuredPoint::throughput).sum::<f64>() / points.len() as f64;
        let at = |percentile| time(latency.percentile_ns(percentile) as f64);
        let marked = if points.iter().all(MeasuredPoint::is_fitted) { "" } else { " (marked)" };
        said.push(format!(
            "At {percent} %, {}/s: p50 {}, p99 {}, p99.9 {}{marked}.",
            count(rate),
            at(50.0),
            at(99.0),
            at(99.9)
        ));
    }
    if said.is_empty() {
        said.push("Nothing was found: the run ended before.".to_owned());
    }
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the limit of something that holds up to a rate. What was tried, and between which rates it is.
    fn find(limit: f64, from: f64, precision: f64) -> (usize, Option<f64>, Option<f64>) {
        let mut bracket = RateBracket::new(from, precision);
        let mut count = 0;
        while let Some(rate) = bracket.next() {
            bracket.note(rate, rate <= limit);
            count += 1;
            assert!(count < 100, "{bracket:?}");
        }
        (count, bracket.held(), bracket.failed())
    }

    #[test]
    fn the_limit_is_found_from_above_and_below() {
        for (limit, from) in [(1234.0, 100.0), (1234.0, 100_000.0), (3.0, 100.0), (1e6, 1.0), (100.0, 100.0)]
        {
            let (count, held, failed) = find(limit, from, 0.02);
            let (held, failed) = (held.unwrap(), failed.unwrap());
            assert!(held <= limit && limit < failed && failed - held <= 0.02 * failed, "{held} {failed}");
            assert!(count <= 40, "{count}");
        }
    }

    #[test]
    fn what_never_holds_and_what_always_does_end() {
        let (_, held, failed) = find(0.0, 100.0, 0.05);
        assert!(held.is_none() && failed.unwrap() < 2.5);
        let (_, held, failed) = find(f64::INFINITY, 100.0, 0.05);
        assert!(failed.is_none() && held.unwrap() > 4e6);
    }

    #[test]
    fn the_majority_of_tries_decides() {
        let decided = |most, seen: &[bool]| {
            let mut votes = RateVotes::new(most);
            seen.iter()
                .map(|holds| {
                    votes.add(*holds);
                    votes.decided()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(decided(1, &[true]), [Some(true)]);
        assert_eq!(decided(1, &[false]), [Some(false)]);
        assert_eq!(decided(3, &[true, false, true]), [None, None, Some(true)]);
        assert_eq!(decided(3, &[false, false]), [None, Some(false)]);
        assert_eq!(decided(2, &[true, false]), [None, Some(false)]);
        assert_eq!(decided(2, &[true, true]), [None, Some(true)]);
    }

    #[test]
    fn saturation_is_where_two_doublings_bring_nothing() {
        let mut growth = UserGrowth::default();
        let mut overs = Vec::new();
        for (users, rate) in [(1, 100.0), (2, 200.0), (4, 390.0), (8, 400.0), (16, 395.0)] {
            growth.note(users, rate);
            overs.push(growth.is_over());
        }
        assert_eq!(overs, [false, false, false, false, true]);
        assert_eq!((growth.best_users(), growth.best_rate()), (8, 400.0));
        // One point that stays behind is no end.
        let mut growth = UserGrowth::default();
        for (users, rate) in [(1, 100.0), (2, 90.0), (4, 190.0)] {
            growth.note(users, rate);
            assert!(!growth.is_over());
        }
    }
}
