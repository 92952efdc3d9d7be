//! Complete mediation: a table of who may do what, a plain twin, notifications, garbage.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at what it does not expect"
)]

mod again;
mod answers;
mod differential;
mod garbage;
mod notifications;
mod parts;
mod requests;
mod scenarios;
mod second;
mod smuggle;
mod subscriptions;
mod support;
mod table;
mod upstream;
mod walk;
