//! Decisions per second, round by round, without a clock reading per decision.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a round takes. Long against a clock reading and a thread switch, short enough for many rounds.
const ROUND: Duration = Duration::from_millis(100);

/// How many decisions are made between two looks at the flag that ends the round.
const BATCH: usize = 16;

/// Decisions per second of all threads together, for each round. `run` is given the number of a request.
pub(super) fn rounds(
    run: &(impl Fn(usize) + Sync),
    requests: usize,
    threads: usize,
    duration: Duration,
) -> Vec<f64> {
    let count = rounds_in(duration);
    let round = ROUND.min(duration);
    let gate = Barrier::new(threads + 1);
    let is_over = AtomicBool::new(false);
    let rates = Mutex::new(vec![0.0; count]);
    thread::scope(|scope| {
        for number in 0..threads {
            let (gate, is_over, rates) = (&gate, &is_over, &rates);
            scope.spawn(move || {
                // Threads begin at different requests, so that they do not walk the same memory in step.
                let mut at = requests * number / threads;
                for index in 0..count {
                    gate.wait();
                    let rate = one_round(run, &mut at, requests, is_over);
                    let mut rates = rates.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(sum) = rates.get_mut(index) {
                        *sum += rate;
                    }
                    drop(rates);
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
    rates.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn rounds_in(duration: Duration) -> usize {
    usize::try_from(duration.as_millis() / ROUND.as_millis()).unwrap_or(usize::MAX).clamp(1, 100_000)
}

/// One thread's decisions per second in one round.
fn one_round(run: &impl Fn(usize), at: &mut usize, requests: usize, is_over: &AtomicBool) -> f64 {
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
    #[expect(clippy::cast_precision_loss, reason = "nobody decides 2^52 times in a round")]
    let decided = decided as f64;
    decided / start.elapsed().as_secs_f64()
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
        let rates = rounds(&run, turns.len(), 2, Duration::from_millis(300));
        assert_eq!(rates.len(), 3);
        assert!(rates.iter().all(|rate| *rate > 0.0));
        let turns: Vec<usize> = turns.iter().map(|it| it.load(Ordering::Relaxed)).collect();
        assert!(turns.iter().max().unwrap() - turns.iter().min().unwrap() <= 2, "{turns:?}");
    }

    #[test]
    fn a_duration_shorter_than_a_round_is_one_round() {
        assert_eq!(rounds(&|_| (), 1, 1, Duration::from_millis(5)).len(), 1);
    }
}
