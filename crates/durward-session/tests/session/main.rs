//! A node at work: logins, validations and what ends sessions, over the stores there are.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod accounts;
mod audit;
#[path = "../support/authenticator.rs"]
mod authenticator;
mod codes;
mod crowds;
mod devices;
mod guesses;
mod journal;
#[path = "../support/lines.rs"]
mod lines;
mod login;
mod names;
mod own_account;
mod passkeys;
mod password_change;
mod reset;
mod sessions;
mod support;
mod users;
