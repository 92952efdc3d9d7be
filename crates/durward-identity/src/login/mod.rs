//! What stands before a password or a code is looked at.
//!
//! [`Throttle`] says whether somebody may try now, or whom he waits for, [`Pool`] whether there is room to hash his password.
//! Neither has a clock or a thread, and neither grows with what attackers send.

mod pool;
mod throttle;

pub use pool::{Admission, Pool, PoolSettings, Ticket};
pub use throttle::{
    Attempt, Delay, Entry, Outcome, Place, Proof, Throttle, ThrottleSettings, Turns, network,
};
