//! What is counted, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::lanes::Lanes;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Validations that found a session.
    Validated,
    /// Validations that refused a token.
    ValidationRefused,
    /// Validations that could not be answered.
    ValidationUnavailable,
    /// Logins that gave a session.
    LoginGranted,
    /// Logins that failed: password, code, user.
    LoginFailed,
    /// Logins that came too soon after failures.
    LoginDelayed,
    /// Logins turned away because too many came at once.
    LoginTurnedAway,
    /// Logins that could not be decided: directory, store or node.
    LoginUnavailable,
    /// Logouts.
    Logout,
    /// Sessions of others ended by administrators.
    Revoked,
    /// Orders that the store's queue had no room for; most are sent again.
    OrderDropped,
    /// Lines of the audit that could not be written.
    AuditLost,
    /// Live decisions that were woken because their session may have ended or changed.
    ListenerWoken,
    /// How often the disk was waited for with lines of the audit.
    AuditSynced,
    /// Links to choose another password that the hook has taken.
    ResetSent,
    /// Links that the hook did not take, or that were not made because too many wait.
    ResetFailed,
    /// Passwords that were chosen by a link.
    ResetDone,
}

/// All there are, with the names they have in metrics.
const NAMES: [(Counter, &str); 17] = [
    (Counter::Validated, "validated"),
    (Counter::ValidationRefused, "validation_refused"),
    (Counter::ValidationUnavailable, "validation_unavailable"),
    (Counter::LoginGranted, "login_granted"),
    (Counter::LoginFailed, "login_failed"),
    (Counter::LoginDelayed, "login_delayed"),
    (Counter::LoginTurnedAway, "login_turned_away"),
    (Counter::LoginUnavailable, "login_unavailable"),
    (Counter::Logout, "logout"),
    (Counter::Revoked, "revoked"),
    (Counter::OrderDropped, "order_dropped"),
    (Counter::AuditLost, "audit_lost"),
    (Counter::ListenerWoken, "listener_woken"),
    (Counter::AuditSynced, "audit_synced"),
    (Counter::ResetSent, "reset_sent"),
    (Counter::ResetFailed, "reset_failed"),
    (Counter::ResetDone, "reset_done"),
];

/// Counts since the start: validation on one core must not wait for another's count.
#[derive(Debug, Default)]
pub struct Counters(Lanes<[AtomicU64; NAMES.len()]>);

impl Counters {
    /// One more.
    #[inline]
    pub(crate) fn count(&self, counter: Counter) {
        self.count_many(counter, 1);
    }

    /// So many more.
    #[inline]
    pub(crate) fn count_many(&self, counter: Counter, many: usize) {
        let (_, lane) = self.0.mine();
        if let Some(cell) = lane.get(counter as usize) {
            cell.fetch_add(many as u64, Ordering::Relaxed);
        }
    }

    /// How many there were.
    pub fn get(&self, counter: Counter) -> u64 {
        let in_lanes = self.0.all().filter_map(|lane| lane.get(counter as usize));
        in_lanes.map(|cell| cell.load(Ordering::Relaxed)).sum()
    }

    /// All counts, each with its name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.iter().map(|(counter, name)| (*name, self.get(*counter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_threads_are_added_up() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| (0..100).for_each(|_| counters.count(Counter::Logout)));
            }
        });
        assert_eq!(counters.get(Counter::Logout), 4_000);
        assert!(NAMES.iter().enumerate().all(|(at, (counter, _))| *counter as usize == at));
    }
}
