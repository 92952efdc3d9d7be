//! The product against the recorded truth.

mod conformance;
mod recorded;
