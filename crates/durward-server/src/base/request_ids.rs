//! What requests are called whose callers gave no name.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use durward_session::Lanes;

/// Gives every request a name of its own.
#[derive(Debug)]
pub(crate) struct RequestIds {
    /// How many were given, in lanes: one number would be every core's.
    given: Lanes<AtomicU64>,
    /// Tells those of this run from those of another: the milliseconds of the start, in base 36.
    run: String,
}

impl RequestIds {
    /// Those of a run that starts now.
    pub(crate) fn new(now: SystemTime) -> RequestIds {
        let milliseconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        RequestIds { given: Lanes::default(), run: base_36(milliseconds) }
    }

    /// One that was not given before.
    pub(crate) fn next(&self) -> String {
        let mut id = String::with_capacity(24);
        id.push_str(&self.run);
        id.push('-');
        id.push_str(&base_36(next_of(&self.given)));
        id
    }
}

/// A number that no call before was given: each lane has those that leave its own number when divided by their count.
fn next_of(lanes: &Lanes<AtomicU64>) -> u128 {
    let (number, lane) = lanes.mine();
    let before = u128::from(lane.fetch_add(1, Ordering::Relaxed));
    before * Lanes::<AtomicU64>::COUNT as u128 + number as u128
}

fn base_36(mut number: u128) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).unwrap_or(0);
        digits.push(char::from_digit(digit, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_number_is_given_twice_whichever_threads_ask() {
        let lanes = Lanes::default();
        let take = || (0..100).map(|_| next_of(&lanes)).collect::<Vec<u128>>();
        let given: Vec<u128> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..40).map(|_| scope.spawn(take)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), 4_000);
    }
}
