//! The libraries of functions that read and write languages of others: `csv`, `graphql`, `jsonschema`, `toml`, `xml` and `yaml`.
//!
//! Pure functions, as all of `durward-library`, which lists them. They are a crate of their own because they are large and hardly any
//! decision goes through them: `release` does not optimise them and is built sooner; `dist`, which ships, does.
//!
//! The feature `formats`, on unless left out, has `toml` and `yaml`.

#![cfg_attr(test, allow(clippy::useless_vec, reason = "tests write arguments with one macro, few and many"))]
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "functions look for one or two kinds of value among two dozen; to them all others are alike, and none is a decision"
)]

pub mod csv;
pub mod graphql;
pub mod jsonschema;
#[cfg(feature = "formats")]
pub mod toml;
pub mod xml;
#[cfg(feature = "formats")]
pub mod yaml;
