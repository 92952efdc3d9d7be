//! How long who waits.

use std::time::Duration;

/// From when on who has to wait, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleSettings {
    /// How many failures of a user cost nothing. One attempt more than that may be under way at once. Default: 3.
    pub user_free: u32,
    /// The same from an address: many people may stand behind one. Default: 20.
    pub address_free: u32,
    /// The first delay; each further failure doubles it. Default: 1 second.
    pub delay: Duration,
    /// The longest delay for a user on one of their devices or at a usual address, with their codes, and for an address with the user. Default: 1
    /// minute.
    pub user_delay_max: Duration,
    /// The time between two attempts with a user's password from elsewhere, after failures, where new addresses come; for those that failed it is
    /// twice as long. Default: 8 seconds.
    pub turn: Duration,
    /// The longest delay for an address. Default: 15 minutes.
    pub address_delay_max: Duration,
    /// After how long without a failure one failure is forgotten. Default: 5 minutes.
    pub forgotten_after: Duration,
    /// How long an address from which a user has logged in counts as usual. Default: 30 days.
    pub known_for: Duration,
}

impl Default for ThrottleSettings {
    fn default() -> ThrottleSettings {
        ThrottleSettings {
            user_free: 3,
            address_free: 20,
            delay: Duration::from_secs(1),
            user_delay_max: Duration::from_secs(60),
            turn: Duration::from_secs(8),
            address_delay_max: Duration::from_secs(15 * 60),
            forgotten_after: Duration::from_secs(5 * 60),
            known_for: Duration::from_secs(30 * 24 * 3600),
        }
    }
}
