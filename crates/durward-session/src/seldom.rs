//! Rate-limited log lines for the operator.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long nothing follows what was said.
const SILENCE: Duration = Duration::from_secs(60);

/// A line of the operators' log that is written at most once a minute, however often there is reason to. One for each thing
/// that can go wrong by itself: a server, a source.
#[derive(Debug, Default)]
pub struct Seldom(Mutex<Option<Instant>>);

impl Seldom {
    /// Whether it is to be said now; if so, it counts as said.
    pub fn is_due(&self) -> bool {
        self.is_due_at(Instant::now())
    }

    fn is_due_at(&self, now: Instant) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = said.is_none_or(|at| now.duration_since(at) >= SILENCE);
        if is_due {
            *said = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_again_after_a_minute() {
        let (seldom, now) = (Seldom::default(), Instant::now());
        let said: Vec<bool> = (0..3).map(|_| seldom.is_due_at(now)).collect();
        assert_eq!(said, [true, false, false]);
        assert!(seldom.is_due_at(now + SILENCE) && !seldom.is_due_at(now + SILENCE));
    }
}
