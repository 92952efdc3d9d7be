//! What is to happen when.

use std::collections::BTreeSet;

/// Which of a stream's two timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// The end of its stage.
    Stage,
    /// The end of its grace period.
    Grace,
}

/// The timers of all streams, the earliest first.
#[derive(Debug, Default)]
pub(crate) struct Timers(BTreeSet<(i64, u32, Timer)>);

impl Timers {
    /// Moves a timer from one moment to another; `None` is never.
    pub(crate) fn set(&mut self, stream: u32, timer: Timer, from: &mut Option<i64>, to: Option<i64>) {
        if let Some(at) = *from {
            self.0.remove(&(at, stream, timer));
        }
        if let Some(at) = to {
            self.0.insert((at, stream, timer));
        }
        *from = to;
    }

    /// When the earliest timer is due.
    pub(crate) fn next(&self) -> Option<i64> {
        self.0.first().map(|(at, _, _)| *at)
    }

    /// The earliest timer, if it is due.
    pub(crate) fn due(&self, now_ms: i64) -> Option<(u32, Timer)> {
        let (_, stream, timer) = *self.0.first().filter(|(at, _, _)| *at <= now_ms)?;
        Some((stream, timer))
    }
}
