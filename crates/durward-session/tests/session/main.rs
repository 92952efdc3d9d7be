//! A node at work: logins, validations and what ends sessions, over the stores there are.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod login;
mod sessions;
mod support;
