//! What requests are called whose callers gave no name.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use durward_session::Lanes;

/// Gives every request a name of its own.
#[derive(Debug)]
pub struct RequestIds {
    /// How many were given, in lanes: one number would be every core's.
    given: Lanes<AtomicU64>,
    /// Tells those of this run from those of another: the milliseconds of the start, in base 36.
    run: String,
}

impl RequestIds {
    /// Those of a run that starts now.
    pub fn new(now: SystemTime) -> RequestIds {
        let milliseconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let mut run = Vec::new();
        write_base_36(u64::try_from(milliseconds).unwrap_or(u64::MAX), &mut run);
        RequestIds { given: Lanes::default(), run: String::from_utf8(run).unwrap_or_default() }
    }

    /// One that was not given before.
    pub fn next(&self) -> String {
        let mut id = Vec::with_capacity(ID_BYTES);
        self.write_next(&mut id);
        // It is ASCII.
        String::from_utf8(id).unwrap_or_default()
    }

    /// Writes one that was not given before.
    pub fn write_next(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.run.as_bytes());
        out.push(b'-');
        write_base_36(next_of(&self.given), out);
    }
}

/// Room for a usual one.
const ID_BYTES: usize = 24;

/// A number that no call before was given: each lane has those that leave its own number when divided by their count. They come to an
/// end after some hundred thousand years.
fn next_of(lanes: &Lanes<AtomicU64>) -> u64 {
    let (number, lane) = lanes.mine();
    let before = lane.fetch_add(1, Ordering::Relaxed);
    before.wrapping_mul(Lanes::<AtomicU64>::COUNT as u64).wrapping_add(number as u64)
}

fn write_base_36(mut number: u64, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let start = out.len();
    loop {
        let digit = usize::try_from(number % 36).unwrap_or(0);
        out.push(DIGITS.get(digit).copied().unwrap_or(b'0'));
        number /= 36;
        if number == 0 {
            break;
        }
    }
    out.get_mut(start..).unwrap_or_default().reverse();
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_number_is_given_twice_whichever_threads_ask() {
        let lanes = Lanes::default();
        let take = || (0..100).map(|_| next_of(&lanes)).collect::<Vec<u64>>();
        let given: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..40).map(|_| scope.spawn(take)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), 4_000);
    }
    #[test]
    fn numbers_are_written_in_base_36() {
        for (number, text) in
            [(0, "0"), (35, "z"), (36, "10"), (1_000_000, "lfls"), (u64::MAX, "3w5e11264sgsf")]
        {
            let mut out = b"a-".to_vec();
            write_base_36(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("a-{text}"));
        }
        let ids = RequestIds::new(SystemTime::UNIX_EPOCH);
        assert!(ids.next().starts_with("0-"));
    }
}
