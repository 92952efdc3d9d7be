//! Reports and comparisons of records: that they say what the records say, whatever those are called.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    missing_docs,
    unreachable_pub,
    reason = "a test may fail so"
)]

mod compare;
mod fixtures;
mod page;
