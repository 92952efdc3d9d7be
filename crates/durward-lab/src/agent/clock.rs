//! How an agent's clocks differ from its leader's: by the shortest of several round trips.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Round trips that are remembered.
const SAMPLES_MAX: usize = 128;
/// Older ones say little: two clocks drift apart by up to 0.1 ms a second.
const AGE_MAX: Duration = Duration::from_secs(10);

/// One round trip.
#[derive(Clone, Copy, Debug)]
struct ClockSample {
    seen: Instant,
    round_trip_ns: u64,
    ahead_ns: i64,
    unix_ahead_us: i64,
}

/// What is known of an agent's clocks.
#[derive(Debug, Default)]
pub(super) struct AgentClock {
    samples: VecDeque<ClockSample>,
}

/// How far an agent's clocks are ahead of the leader's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClockDifference {
    /// Of the clocks by which loads begin; they count from different moments.
    pub(super) ahead_ns: i64,
    /// Of the clocks of the wall.
    pub(super) unix_ahead_us: i64,
    /// How far both may be wrong: half of the round trip.
    pub(super) uncertain_us: u64,
}

/// Moments of one side: nanoseconds since some moment, microseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct SideMoments {
    pub(super) ns: u64,
    pub(super) unix_us: u64,
}

impl AgentClock {
    /// Learns from a round trip: when it began and ended here, and what the agent's clocks said between.
    pub(super) fn learn(&mut self, sent: SideMoments, agent: SideMoments, received: SideMoments) {
        let round_trip_ns = received.ns.saturating_sub(sent.ns);
        let middle_ns = sent.ns + round_trip_ns / 2;
        let middle_us = sent.unix_us + round_trip_ns / 2_000;
        let sample = ClockSample {
            seen: Instant::now(),
            round_trip_ns,
            ahead_ns: agent.ns.cast_signed().wrapping_sub(middle_ns.cast_signed()),
            unix_ahead_us: agent.unix_us.cast_signed().wrapping_sub(middle_us.cast_signed()),
        };
        self.samples.push_back(sample);
        let is_old = |sample: &ClockSample| sample.seen.elapsed() > AGE_MAX;
        while self.samples.len() > SAMPLES_MAX
            || self.samples.len() > 1 && self.samples.front().is_some_and(is_old)
        {
            self.samples.pop_front();
        }
    }

    /// By the shortest round trip.
    pub(super) fn difference(&self) -> ClockDifference {
        let best = self.samples.iter().min_by_key(|sample| sample.round_trip_ns);
        best.map_or_else(ClockDifference::default, |best| ClockDifference {
            ahead_ns: best.ahead_ns,
            unix_ahead_us: best.unix_ahead_us,
            uncertain_us: best.round_trip_ns.div_ceil(2_000),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_counts() {
        let mut clocks = AgentClock::default();
        let now = |ns: u64| SideMoments { ns, unix_us: 1_000_000 + ns / 1_000 };
        // The agent's clock is 5 ms ahead; the way there takes as long as the way back, or longer.
        let mut trip = |there: u64, back: u64| {
            let agent = SideMoments { ns: 5_000_000 + there, unix_us: 1_000_000 + 7_000 + there / 1_000 };
            clocks.learn(now(0), agent, now(there + back));
        };
        trip(9_000_000, 1_000_000);
        trip(50_000, 50_000);
        trip(10_000, 3_000_000);
        assert_eq!(
            clocks.difference(),
            ClockDifference { ahead_ns: 5_000_000, unix_ahead_us: 7_000, uncertain_us: 50 }
        );
    }

    #[test]
    fn a_one_sided_delay_is_within_what_is_said_to_be_uncertain() {
        let mut clocks = AgentClock::default();
        clocks.learn(
            SideMoments { ns: 0, unix_us: 0 },
            SideMoments { ns: 800, unix_us: 0 },
            SideMoments { ns: 1_000_000, unix_us: 1_000 },
        );
        let difference = clocks.difference();
        assert!(difference.ahead_ns.unsigned_abs() <= difference.uncertain_us * 1_000, "{difference:?}");
    }
}
