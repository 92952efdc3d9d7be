//! What stands before a password or a code is looked at.
//!
//! [`LoginThrottle`] says whether somebody may try now, or whom he waits for, [`LoginPool`] whether there is room to hash his password.
//! Neither has a clock or a thread, and neither grows with what attackers send.

mod pool;
mod throttle;

pub use pool::{LoginPool, PoolAdmission, PoolSettings, PoolTicket};
pub use throttle::{
    AttemptOutcome, CredentialKind, LoginAttempt, LoginThrottle, QueueTicket, ReadyTickets, RetryDelay,
    ThrottleDecision, ThrottleSettings, network,
};
