//! Tests of the whole crate: one binary, a module for each part.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

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
mod wire;
