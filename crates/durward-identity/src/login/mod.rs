//! Defences that run before a password or a code is checked: throttling and a bounded hashing pool.
//!
//! [`LoginThrottle`] says whether an attempt may be made now, or what it waits for, [`LoginPool`] whether there is room to hash the password.
//! Neither has a clock or a thread, and neither grows with what attackers send.

mod pool;
mod throttle;

pub use pool::{LoginPool, PoolAdmission, PoolSettings, PoolTicket};
pub use throttle::{
    AttemptOutcome, COUNT_CHANGES_MAX, CountChange, CredentialKind, DeviceId, GuessNews, LoginAttempt,
    LoginThrottle, QueueTicket, ReadyTickets, RetryDelay, ThrottleDecision, ThrottleSettings, network,
};
