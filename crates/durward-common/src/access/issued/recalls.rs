//! How many grants of each session were ended one by one. Each is remembered on all nodes until the session is over, and a session can have
//! any number of grants: a session that has too many of them ended is ended itself, which is one thing to remember.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use durward_session::identity::Moment;
use durward_session::identity::session::SessionId;

/// How many grants of a session end alone, on each node: many times what an application comes to need, and no burden.
pub(crate) const RECALLS_MAX: u32 = 100;

/// How many sessions there are at least before it is looked which of them are over.
const SWEEP_FROM: usize = 1024;

#[derive(Debug, Default)]
struct Counts {
    /// How many of each session, and until when that counts.
    counts: HashMap<SessionId, (u32, Moment)>,
    /// At how many sessions it is looked again which are over.
    sweep_at: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Recalls(Mutex<Counts>);

impl Recalls {
    /// Counts one more, of a session that is over at `ends`. Whether there may be one more.
    pub(crate) fn count(&self, session: SessionId, ends: Moment, now: Moment) -> bool {
        // Each step leaves counts that can be used.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.counts.len() >= all.sweep_at.max(SWEEP_FROM) {
            all.counts.retain(|_, (_, until)| now < *until);
            all.sweep_at = all.counts.len().saturating_mul(2);
        }
        let (count, until) = all.counts.entry(session).or_insert((0, ends));
        *until = ends.max(*until);
        *count = count.saturating_add(1);
        *count <= RECALLS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_may_have_some_and_those_that_are_over_are_forgotten() {
        let recalls = Recalls::default();
        let (now, ends) = (Moment::from_s(10), Moment::from_s(20));
        let session = |number: usize| SessionId((number as u128).to_be_bytes());
        assert!((0..RECALLS_MAX).all(|_| recalls.count(session(0), ends, now)));
        assert!(!recalls.count(session(0), ends, now));
        assert!((1..SWEEP_FROM).all(|number| recalls.count(session(number), ends, now)));
        assert!(recalls.count(session(SWEEP_FROM), ends.plus(std::time::Duration::from_secs(9)), ends));
        assert_eq!(recalls.0.lock().unwrap().counts.len(), 1);
    }
}
