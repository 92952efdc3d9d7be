//! Measures what durward does: so far the embedded decision point, without any network ([`embedded`]), and live
//! subscriptions to it ([`streams`]).
//!
//! The lab may read clocks and watch its own process; nothing else in the flow does.

pub mod embedded;
mod process;
mod spread;
pub mod streams;

pub use spread::Spread;
