//! Decisions per second, round by round, without a clock reading per decision.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::StopCondition;
use crate::MeasurementSpread;
use durward_lab::process::thread_time;

/// How long a round takes. Long against a clock reading and a thread switch, short enough for many rounds.
const ROUND: Duration = Duration::from_millis(100);

/// How many steps are made between two looks at the flag that ends the round.
const BATCH: usize = 16;

/// Fewer rounds are never taken for enough.
const ROUNDS_MIN: usize = 10;
const ROUNDS_MAX: usize = 100_000;

/// The median is known when its interval is narrower than this part of it.
pub const UNCERTAINTY_MAX: f64 = 0.03;

/// What the rounds came to.
pub(super) struct ThroughputRounds {
    /// Decisions per second of all threads together, for each round.
    pub(super) rates: Vec<f64>,
    /// Decisions per second of each thread, over all rounds.
    pub(super) by_thread: Vec<f64>,
    /// Which part of the time the threads ran on a core at all, where the system tells.
    pub(super) running: Option<f64>,
    /// How long all rounds took.
    pub(super) took: Duration,
}

/// Runs rounds. Each thread makes a runner of its own, which is given the number of a step and returns how many decisions
/// it made.
pub(super) fn rounds<R: FnMut(usize) -> usize>(
    make: &(impl Fn() -> R + Sync),
    steps: usize,
    threads: usize,
    until: StopCondition,
) -> ThroughputRounds {
    let round = ROUND.min(until.limit());
    let (gate, is_over, is_done) =
        (Barrier::new(threads + 1), AtomicBool::new(false), AtomicBool::new(false));
    let sums = Mutex::new(RoundTotals::new(threads));
    let start = Instant::now();
    thread::scope(|scope| {
        for number in 0..threads {
            let (gate, is_over, is_done, sums) = (&gate, &is_over, &is_done, &sums);
            scope.spawn(move || {
                let mut run = make();
                // Threads begin at different steps, so that they do not walk the same memory in step.
                let mut at = steps * number / threads;
                loop {
                    gate.wait();
                    if is_done.load(Ordering::Relaxed) {
                        return;
                    }
                    let one = one_round(&mut run, &mut at, steps, is_over);
                    sums.lock().unwrap_or_else(PoisonError::into_inner).add(number, &one);
                    gate.wait();
                }
            });
        }
        while !is_done.load(Ordering::Relaxed) {
            is_over.store(false, Ordering::Relaxed);
            sums.lock().unwrap_or_else(PoisonError::into_inner).rates.push(0.0);
            gate.wait();
            thread::sleep(round);
            is_over.store(true, Ordering::Relaxed);
            gate.wait();
            let sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            is_done.store(until.is_reached(&sums.rates, start.elapsed()), Ordering::Relaxed);
        }
        gate.wait();
    });
    sums.into_inner().unwrap_or_else(PoisonError::into_inner).into_rounds(start.elapsed())
}

impl StopCondition {
    fn limit(self) -> Duration {
        match self {
            StopCondition::Elapsed(limit) | StopCondition::Converged(limit) => limit,
        }
    }

    /// Whether these rounds, which took so long, are enough.
    fn is_reached(self, rates: &[f64], elapsed: Duration) -> bool {
        match self {
            StopCondition::Elapsed(limit) => rates.len() >= rounds_in(limit),
            StopCondition::Converged(limit) => {
                let is_known =
                    || rates.len() >= ROUNDS_MIN && MeasurementSpread::of(rates).is_some_and(is_converged);
                elapsed >= limit || rates.len() >= ROUNDS_MAX || is_known()
            }
        }
    }
}

/// Whether the median is known well enough.
pub(super) fn is_converged(rates: MeasurementSpread) -> bool {
    rates.uncertainty().is_some_and(|part| part < UNCERTAINTY_MAX)
}

/// The rounds of all threads so far.
struct RoundTotals {
    rates: Vec<f64>,
    by_thread: Vec<(u64, Duration)>,
    ran: Option<Duration>,
}

/// One round of one thread.
struct ThreadRound {
    decided: u64,
    took: Duration,
    ran: Option<Duration>,
}

impl RoundTotals {
    fn new(threads: usize) -> RoundTotals {
        RoundTotals {
            rates: Vec::new(),
            by_thread: vec![(0, Duration::ZERO); threads],
            ran: Some(Duration::ZERO),
        }
    }

    fn add(&mut self, thread: usize, round: &ThreadRound) {
        if let Some(sum) = self.rates.last_mut() {
            *sum += rate(round.decided, round.took);
        }
        if let Some((decided, took)) = self.by_thread.get_mut(thread) {
            *decided += round.decided;
            *took += round.took;
        }
        self.ran = self.ran.zip(round.ran).map(|(sum, one)| sum + one);
    }

    fn into_rounds(self, took: Duration) -> ThroughputRounds {
        let all: Duration = self.by_thread.iter().map(|(_, took)| *took).sum();
        let running = self.ran.map(|ran| (ran.as_secs_f64() / all.as_secs_f64()).min(1.0));
        ThroughputRounds {
            rates: self.rates,
            by_thread: self.by_thread.iter().map(|(decided, took)| rate(*decided, *took)).collect(),
            running: running.filter(|part| part.is_finite()),
            took,
        }
    }
}

fn rate(decided: u64, took: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "nobody decides 2^52 times")]
    let decided = decided as f64;
    decided / took.as_secs_f64()
}

fn rounds_in(duration: Duration) -> usize {
    usize::try_from(duration.as_millis() / ROUND.as_millis()).unwrap_or(usize::MAX).clamp(1, ROUNDS_MAX)
}

fn one_round(
    run: &mut impl FnMut(usize) -> usize,
    at: &mut usize,
    steps: usize,
    is_over: &AtomicBool,
) -> ThreadRound {
    let ran_before = thread_time();
    let start = Instant::now();
    let mut decided = 0;
    while !is_over.load(Ordering::Relaxed) {
        for _ in 0..BATCH {
            decided += run(*at);
            *at += 1;
            if *at >= steps {
                *at = 0;
            }
        }
    }
    let took = start.elapsed();
    let ran = thread_time().zip(ran_before).map(|(after, before)| after.saturating_sub(before));
    ThreadRound { decided: decided as u64, took, ran }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    const THREE: StopCondition = StopCondition::Elapsed(Duration::from_millis(300));

    #[test]
    fn every_round_counts_and_every_request_has_its_turn() {
        let turns: Vec<AtomicUsize> = (0..7).map(|_| AtomicUsize::new(0)).collect();
        let make = || {
            |at: usize| {
                turns[at].fetch_add(1, Ordering::Relaxed);
                1
            }
        };
        let ThroughputRounds { rates, running, by_thread, .. } = rounds(&make, turns.len(), 2, THREE);
        assert!(running.is_none_or(|part| part > 0.0 && part <= 1.0), "{running:?}");
        assert_eq!((rates.len(), by_thread.len()), (3, 2));
        assert!(rates.iter().chain(&by_thread).all(|rate| *rate > 0.0));
        let turns: Vec<usize> = turns.iter().map(|it| it.load(Ordering::Relaxed)).collect();
        assert!(turns.iter().max().unwrap() - turns.iter().min().unwrap() <= 2, "{turns:?}");
    }

    /// Each of the threads counts what it did itself, and a round is the sum of them.
    #[test]
    fn threads_are_summed() {
        let make = || {
            |_: usize| {
                thread::sleep(Duration::from_micros(200));
                1_000
            }
        };
        let ThroughputRounds { rates, by_thread, .. } = rounds(&make, 1, 3, THREE);
        let sum: f64 = by_thread.iter().sum();
        let all = rates.iter().sum::<f64>() / 3.0;
        assert!(sum > 0.3 * all && all > 0.3 * sum, "{sum} {all}");
        assert!(by_thread.iter().all(|one| *one < sum));
    }

    #[test]
    fn a_duration_shorter_than_a_round_is_one_round() {
        let short = StopCondition::Elapsed(Duration::from_millis(5));
        assert_eq!(rounds(&|| |_| 1, 1, 1, short).rates.len(), 1);
    }

    #[test]
    fn rounds_that_agree_are_enough_and_others_go_on_until_the_limit() {
        let until = StopCondition::Converged(Duration::from_secs(9));
        let is_reached = |rates: &[f64], seconds| until.is_reached(rates, Duration::from_secs(seconds));
        let (alike, apart) = ([100.0, 101.0].repeat(5), [50.0, 100.0].repeat(5));
        assert!(is_reached(&alike, 1));
        assert!(!is_reached(&alike[1..], 1), "too few");
        assert!(!is_reached(&apart, 8));
        assert!(is_reached(&apart, 9));
    }
}
