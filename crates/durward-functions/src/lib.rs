//! What libraries of functions are written with: rows of their tables, arguments, limits of results, texts and numbers as Java has them.
//!
//! Below every library of functions and above none: `durward-library` lists the libraries. Like them it has no clock, no I/O and no state.
//! What is called once a call is small and compiled into its callers.
//!
//! The feature `testing` adds how tests call functions (`check` and `fixture`); only dev-dependencies switch it on.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "functions look for one or two kinds of value among two dozen; to them all others are alike, and none is a decision"
)]

pub mod argument;
#[cfg(feature = "testing")]
pub mod check;
pub mod document;
pub mod double;
pub mod encoding;
#[cfg(feature = "testing")]
pub mod fixture;
pub mod jvm;
pub mod limits;
pub mod table;
