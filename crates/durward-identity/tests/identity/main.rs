//! Sessions, users and tokens, from outside.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "../../../durward-session/tests/support/authenticator.rs"]
mod authenticator;
mod hash_memory;
mod jwt;
mod passkeys;
mod proof;
mod sessions;
mod shared_users;
mod support;
mod users;
