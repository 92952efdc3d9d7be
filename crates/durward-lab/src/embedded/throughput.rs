//! Decisions per second, round by round, without a clock reading per decision.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::thread_time;

/// How long a round takes. Long against a clock reading and a thread switch, short enough for many rounds.
const ROUND: Duration = Duration::from_millis(100);

/// How many decisions are made between two looks at the flag that ends the round.
const BATCH: usize = 16;

/// What the rounds came to.
pub(super) struct Rounds {
    /// Decisions per second of all threads together, for each round.
    pub(super) rates: Vec<f64>,
    /// Which part of the time the threads ran on a core at all, where the system tells.
    pub(super) running: Option<f64>,
}

/// Runs rounds for about this long. `run` is given the number of a request.
pub(super) fn rounds(
    run: &(impl Fn(usize) + Sync),
    requests: usize,
    threads: usize,
    duration: Duration,
) -> Rounds {
    let count = rounds_in(duration);
    let round = ROUND.min(duration);
    let gate = Barrier::new(threads + 1);
    let is_over = AtomicBool::new(false);
    let sums = Mutex::new(Sums { rates: vec![0.0; count], ran: Some(Duration::ZERO), took: Duration::ZERO });
    thread::scope(|scope| {
        for number in 0..threads {
            let (gate, is_over, sums) = (&gate, &is_over, &sums);
            scope.spawn(move || {
                // Threads begin at different requests, so that they do not walk the same memory in step.
                let mut at = requests * number / threads;
                for index in 0..count {
                    gate.wait();
                    let one = one_round(run, &mut at, requests, is_over);
                    sums.lock().unwrap_or_else(PoisonError::into_inner).add(index, &one);
                    gate.wait();
                }
            });
        }
        for _ in 0..count {
            is_over.store(false, Ordering::Relaxed);
            gate.wait();
            thread::sleep(round);
            is_over.store(true, Ordering::Relaxed);
            gate.wait();
        }
    });
    let Sums { rates, ran, took } = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let running =
        ran.map(|ran| (ran.as_secs_f64() / took.as_secs_f64()).min(1.0)).filter(|part| part.is_finite());
    Rounds { rates, running }
}

/// The rounds of all threads so far.
struct Sums {
    rates: Vec<f64>,
    ran: Option<Duration>,
    took: Duration,
}

/// One round of one thread.
struct Round {
    decided: u64,
    took: Duration,
    ran: Option<Duration>,
}

impl Sums {
    fn add(&mut self, index: usize, round: &Round) {
        if let Some(sum) = self.rates.get_mut(index) {
            #[expect(clippy::cast_precision_loss, reason = "nobody decides 2^52 times in a round")]
            let decided = round.decided as f64;
            *sum += decided / round.took.as_secs_f64();
        }
        self.took += round.took;
        self.ran = self.ran.zip(round.ran).map(|(sum, one)| sum + one);
    }
}

fn rounds_in(duration: Duration) -> usize {
    usize::try_from(duration.as_millis() / ROUND.as_millis()).unwrap_or(usize::MAX).clamp(1, 100_000)
}

fn one_round(run: &impl Fn(usize), at: &mut usize, requests: usize, is_over: &AtomicBool) -> Round {
    let ran_before = thread_time();
    let start = Instant::now();
    let mut decided = 0u64;
    while !is_over.load(Ordering::Relaxed) {
        for _ in 0..BATCH {
            run(*at);
            *at += 1;
            if *at >= requests {
                *at = 0;
            }
        }
        decided += BATCH as u64;
    }
    let took = start.elapsed();
    let ran = thread_time().zip(ran_before).map(|(after, before)| after.saturating_sub(before));
    Round { decided, took, ran }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn every_round_counts_and_every_request_has_its_turn() {
        let turns: Vec<AtomicUsize> = (0..7).map(|_| AtomicUsize::new(0)).collect();
        let run = |at: usize| {
            turns[at].fetch_add(1, Ordering::Relaxed);
        };
        let Rounds { rates, running } = rounds(&run, turns.len(), 2, Duration::from_millis(300));
        assert!(running.is_none_or(|part| part > 0.0 && part <= 1.0), "{running:?}");
        assert_eq!(rates.len(), 3);
        assert!(rates.iter().all(|rate| *rate > 0.0));
        let turns: Vec<usize> = turns.iter().map(|it| it.load(Ordering::Relaxed)).collect();
        assert!(turns.iter().max().unwrap() - turns.iter().min().unwrap() <= 2, "{turns:?}");
    }

    #[test]
    fn a_duration_shorter_than_a_round_is_one_round() {
        assert_eq!(rounds(&|_| (), 1, 1, Duration::from_millis(5)).rates.len(), 1);
    }
}
