//! How long a decision point takes to build, and how much memory it keeps.

use std::time::{Duration, Instant};

use durward_pdp::{Pdp, PdpBuilder};

use super::BenchError;
use crate::Spread;
use crate::memory::resident_bytes;

/// Building goes on until this much time has passed, so that small policies are built often ...
const BUILD_TIME: Duration = Duration::from_millis(1_500);
/// ... or the process has grown by this much, at which the pages of the system no longer matter ...
const GROWTH_BYTES: u64 = 32 << 20;
/// ... or this many were built; but at least the few a median needs.
const BUILDS_MAX: usize = 500;
const BUILDS_MIN: usize = 4;

/// A decision point, and what it cost.
pub(super) struct Built {
    pub(super) pdp: Pdp,
    pub(super) build_ms: Spread,
    /// What one decision point keeps, where the system tells.
    pub(super) bytes: Option<u64>,
}

/// Builds several and keeps them all until the end. What the first one leaves behind of the texts and trees it
/// read is used again by the others, so growth after the first is what they keep.
pub(super) fn build(prepare: &dyn Fn() -> PdpBuilder) -> Result<Built, BenchError> {
    let start = Instant::now();
    let (pdp, first_ms) = build_one(prepare)?;
    let mut times = vec![first_ms];
    let (before, mut after) = (resident_bytes(), None);
    let mut others = Vec::with_capacity(BUILDS_MAX);
    while others.len() < BUILDS_MAX {
        let (other, ms) = build_one(prepare)?;
        others.push(other);
        times.push(ms);
        after = resident_bytes();
        let grown = after.zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
        let is_enough = start.elapsed() >= BUILD_TIME || grown >= GROWTH_BYTES;
        if is_enough && times.len() >= BUILDS_MIN {
            break;
        }
    }
    let grown = after.zip(before).map(|(after, before)| after.saturating_sub(before));
    let bytes = grown.map(|grown| grown / (others.len() as u64).max(1));
    Ok(Built { pdp, build_ms: Spread::of(&times).ok_or(BenchError::TooShort)?, bytes })
}

/// A decision point and the milliseconds it took, without what preparing its texts takes.
fn build_one(prepare: &dyn Fn() -> PdpBuilder) -> Result<(Pdp, f64), BenchError> {
    let builder = prepare();
    let start = Instant::now();
    let pdp = builder.build().map_err(BenchError::Policies)?;
    Ok((pdp, start.elapsed().as_secs_f64() * 1_000.0))
}
