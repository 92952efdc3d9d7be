//! Seeing a run while it goes on. [`RunStatus`] is what every screen shows: the terminal's, and the [`page`]'s, which draws it live
//! in a browser. [`push`] sends the figures to servers that keep series of them.
//!
//! All of them are [watchers](crate::run::Watcher) that never wait: what cannot be shown or delivered in time is dropped, and the
//! run goes on as without them.

pub mod page;
pub mod push;
mod status;

pub use status::{
    NodeRow, Percentiles, PointStatusRow, ProgressRow, RunEnding, RunPhase, RunStatus, SECONDS_KEPT,
    SecondRow, StatusBoard, StatusHead, StepRow, clock,
};
