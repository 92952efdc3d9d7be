//! The lab: how far a server scales, why, and what it costs.
//!
//! It makes load, watches what the target uses, fits the scalability law, plans, simulates, and draws reports. It speaks to
//! servers over the network only and knows of durward only the bytes of RSocket, so any HTTP server is a target like another.
//!
//! All parts meet in a [`record::RunRecord`]: what a run measured.

pub mod agent;
pub mod draw;
pub mod fit;
pub mod live;
pub mod load;
pub mod machine;
pub mod plan;
pub mod process;
pub mod random;
pub mod record;
pub mod report;
pub mod run;
pub mod scenario;
pub mod simulate;
pub mod study;
pub mod target;
