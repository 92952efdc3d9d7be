//! The protocol, model-checked: the state machines that run are put into a world whose network loses, repeats and reorders, whose clocks
//! differ, and in which everybody is restarted. Every state that the world can reach within a bound is looked at.
//!
//! Time is in whole seconds. Events within a second come in every order. A message that is under way at the end is a lost one, so loss
//! needs no action of its own. What was promised is written down beside the machines (`Truth`), by the world, which sees everything; the
//! machines do not have it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "tests"
)]

mod checks;
mod missing;
mod mutants;
mod truth;
mod world;
