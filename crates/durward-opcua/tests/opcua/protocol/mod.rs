//! Each machine by itself: one reason to fail a test. What they come to together is model-checked.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "tests"
)]

mod authority;
mod client;
mod gate;

use std::time::Duration;

use durward_identity::Moment;

pub(super) fn at(seconds: u32) -> Moment {
    Moment::from_s(seconds)
}

pub(super) fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
