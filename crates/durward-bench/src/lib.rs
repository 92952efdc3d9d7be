//! Measures what durward does: the embedded decision point, without any network ([`embedded`]), and live subscriptions to
//! it ([`streams`]), servers over the network ([`server`]), and sessions there ([`sessions`]). What to measure with can be made
//! here, too ([`scenario`]), and pictures of what was measured ([`report`]).
//!
//! The lab may read clocks and watch its own process; nothing else in the flow does.

mod bare;
pub mod embedded;
pub mod report;
pub mod scenario;
pub mod server;
pub mod sessions;
mod spread;
pub mod streams;

pub use bare::Bare;
pub use durward_lab::machine::MachineFacts;
pub use spread::MeasurementSpread;
