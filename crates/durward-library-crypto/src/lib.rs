//! The libraries of functions about keys, certificates, signatures and digests (`digest`, `keys`, `mac`, `signature`, `x509`), and tokens ([`jwt`]).
//!
//! Pure functions, as all of `durward-library`, which lists them. They are a crate of their own because hardly any decision goes through
//! them: `release` does not optimise them and is built sooner; `dist`, which ships, does. What takes most of the time, multiplying
//! and digesting blocks, is in `ring` and the crates of digests, which are optimised everywhere.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "functions look for one or two kinds of value among two dozen; to them all others are alike, and none is a decision"
)]

mod crypto;
pub mod digest;
pub mod jwt;
pub mod keys;
pub mod mac;
pub mod signature;
pub mod x509;
