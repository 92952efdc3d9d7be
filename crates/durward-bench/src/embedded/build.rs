//! How long a decision point takes to build, and how much memory it keeps.

use std::time::{Duration, Instant};

use durward_pdp::{Pdp, PdpBuilder};

use super::BenchError;
use crate::MeasurementSpread;
use durward_lab::process::resident_bytes;

/// Building goes on until the process has grown by this much: then the pages of the system, and what happened to be
/// free before, no longer matter ...
const GROWTH_BYTES: u64 = 32 << 20;
/// ... or until this much time has passed and the median has a few to be of ...
const BUILD_TIME: Duration = Duration::from_millis(1_500);
const BUILDS_MIN: usize = 4;
/// ... but no longer than this, however few there are.
const BUILD_TIME_MAX: Duration = Duration::from_secs(15);
const BUILDS_MAX: usize = 1_000;

/// A decision point to measure, and what it cost to build.
///
/// It was built several times over, and all are kept: what one leaves behind of the texts and trees it read is used
/// again by the next, so from the first to the last the process grows by what they keep. Build all subjects of a
/// comparison before dropping any, or one grows into what another left.
#[derive(Debug)]
pub struct BuiltPdp {
    pub(super) pdp: Pdp,
    pub(super) build_ms: MeasurementSpread,
    /// What one decision point keeps, where the system tells.
    pub(super) bytes: Option<u64>,
    /// The others that were built: held, so that their memory is not used by anybody else.
    _others: Vec<Pdp>,
}

impl BuiltPdp {
    /// Builds what `prepare` describes, several times.
    ///
    /// # Errors
    /// [`BenchError::Policies`].
    pub fn build(prepare: &dyn Fn() -> PdpBuilder) -> Result<BuiltPdp, BenchError> {
        let start = Instant::now();
        let (pdp, first_ms) = build_one(prepare)?;
        let mut times = vec![first_ms];
        let before = resident_bytes();
        let mut grown = None;
        let mut others = Vec::with_capacity(BUILDS_MAX);
        while others.len() < BUILDS_MAX {
            let (other, ms) = build_one(prepare)?;
            others.push(other);
            times.push(ms);
            grown = resident_bytes().zip(before).map(|(now, before)| now.saturating_sub(before));
            if is_enough(start.elapsed(), grown.unwrap_or(0), times.len()) {
                break;
            }
        }
        let bytes = grown.map(|grown| grown / (others.len() as u64).max(1));
        let build_ms = MeasurementSpread::of(&times).ok_or(BenchError::TooShort)?;
        Ok(BuiltPdp { pdp, build_ms, bytes, _others: others })
    }
}

fn is_enough(elapsed: Duration, grown: u64, builds: usize) -> bool {
    grown >= GROWTH_BYTES || elapsed >= BUILD_TIME_MAX || (elapsed >= BUILD_TIME && builds >= BUILDS_MIN)
}

/// A decision point and the milliseconds it took, without what preparing its texts takes.
fn build_one(prepare: &dyn Fn() -> PdpBuilder) -> Result<(Pdp, f64), BenchError> {
    let builder = prepare();
    let start = Instant::now();
    let pdp = builder.build().map_err(BenchError::Policies)?;
    Ok((pdp, start.elapsed().as_secs_f64() * 1_000.0))
}
