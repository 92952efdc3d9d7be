//! The product against the recorded truth.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod conformance;
mod differential;
mod examples;
mod plans;
mod recorded;
mod sapl;
mod sapl_checks;
mod sapl_syntax;
mod voting;
