//! A bell that one thread rings and another waits for.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::Instant;

/// What has happened since somebody looked.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    has_rung: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.lock() = true;
        self.rung.notify_all();
    }

    /// Waits until it rings, or has rung since the last wait; until `end` at most. Says whether it rang.
    pub(crate) fn wait_until(&self, end: Option<Instant>) -> bool {
        let mut has_rung = self.lock();
        while !*has_rung {
            let Some(end) = end else {
                has_rung = self.rung.wait(has_rung).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            has_rung = self.rung.wait_timeout(has_rung, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *has_rung = false;
        true
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.has_rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.ring();
    }
}
