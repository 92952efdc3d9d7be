//! Tests of the whole crate: one binary, a module for each part.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "tests fail by panicking, and on whatever they do not look for"
)]

mod authority;
mod claims;
mod client;
mod crypto;
mod fixture;
mod gate;
mod hostile;
mod mediate;
mod model;
mod pki;
mod plant;
mod protocol;
mod session;
mod session_rules;
mod token;
mod whole;
mod wire;
