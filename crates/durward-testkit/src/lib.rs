//! Holds the product to the recorded truth: conformance cases, decisions of other engines, index against plain
//! evaluator. Ships in nothing.

pub mod cases;
pub mod conformance;
pub mod differential;
pub mod recorded;

/// The README's Rust code compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
