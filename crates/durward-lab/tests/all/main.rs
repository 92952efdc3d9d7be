//! The lab from outside: load against real sockets, fits held to others' fits, simulations held to queueing theory, plans and
//! reports held to what they were made of. Targets have a test program of their own, which plays them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::needless_range_loop,
    clippy::wildcard_enum_match_arm,
    missing_docs,
    unreachable_pub,
    reason = "a test may fail so"
)]

mod agent;
mod fit;
mod live;
mod plan;
mod report;
mod run;
mod simulate;
mod study;
