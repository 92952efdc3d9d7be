//! What every package for another language must answer, and what only shows with threads and time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod cases;
mod moment;
mod watch;

use std::sync::Arc;
use std::time::SystemTime;

use durward_embed::{Clock, DecisionPoint, LoadError};

#[expect(clippy::disallowed_methods, reason = "a program of its own")]
fn clock() -> Clock {
    Arc::new(SystemTime::now)
}

fn from_texts<N: Into<String>, T: Into<Vec<u8>>>(
    texts: impl IntoIterator<Item = (N, T)>,
) -> Result<DecisionPoint, LoadError> {
    DecisionPoint::from_texts(texts, clock())
}
