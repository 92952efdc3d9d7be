//! Points of a record beside their simulation: how far what another record was calibrated to can be believed.

use serde::{Deserialize, Serialize};

use super::calibrate::Calibration;
use super::{Deployment, DeploymentError, recorded};
use crate::record::{self, MeasuredPoint, RunRecord};

/// A point of a record beside its simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulatedPoint {
    /// Nodes and load of the point, in words.
    pub point: String,
    /// Whether marks leave the point out of fits.
    pub is_marked: bool,
    /// Requests a second: measured and simulated.
    pub throughput: [f64; 2],
    /// The median in milliseconds.
    pub p50_ms: [f64; 2],
    /// The 99th percentile in milliseconds.
    pub p99_ms: [f64; 2],
    /// Whether throughput is within [`THROUGHPUT_WITHIN`] and the 99th percentile within [`P99_WITHIN`] of what was measured.
    pub is_close: bool,
    /// What of the point is not simulated as it was.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// How far a simulated throughput may be off, as a part of the measured one.
pub const THROUGHPUT_WITHIN: f64 = 0.10;
/// The same of the 99th percentile.
pub const P99_WITHIN: f64 = 0.25;

/// How far the second lies from the first, as a part of the first.
pub fn difference([measured, simulated]: [f64; 2]) -> f64 {
    if measured > 0.0 { simulated / measured - 1.0 } else { 0.0 }
}

/// Simulates each point of a record with what another one was calibrated to: service times are those of the calibration, nodes,
/// quotas, balancing and who asks are those of the point. Where its scenario does not say how long users think, they think as long as
/// in the calibration.
///
/// # Errors
/// A point whose load cannot be simulated.
pub fn against(
    calibration: &Calibration,
    record: &RunRecord,
) -> Result<Vec<SimulatedPoint>, DeploymentError> {
    record
        .points
        .iter()
        .filter(|point| point.answered() > 0)
        .map(|point| compare(calibration, record, point))
        .collect()
}

fn compare(
    calibration: &Calibration,
    record: &RunRecord,
    point: &MeasuredPoint,
) -> Result<SimulatedPoint, DeploymentError> {
    let mut notes = Vec::new();
    let deployment = deployment(calibration, record, point, &mut notes);
    let outcome = super::run(&deployment)?;
    let (measured, simulated) = (point.since_due(), outcome.since_due());
    let ms = |percent| [&measured, &simulated].map(|times| times.percentile_ns(percent) as f64 / 1e6);
    let (throughput, p99_ms) = ([point.throughput(), outcome.throughput()], ms(99.0));
    let configuration = match point.configuration.as_str() {
        "" => String::new(),
        other => format!(", {other}"),
    };
    Ok(SimulatedPoint {
        point: format!("{}, {}{configuration}", record::nodes_in_words(point.nodes), point.load),
        is_marked: !point.is_fitted(),
        throughput,
        p50_ms: ms(50.0),
        p99_ms,
        is_close: difference(throughput).abs() <= THROUGHPUT_WITHIN && difference(p99_ms).abs() <= P99_WITHIN,
        notes,
    })
}

fn deployment(
    calibration: &Calibration,
    record: &RunRecord,
    point: &MeasuredPoint,
    notes: &mut Vec<String>,
) -> Deployment {
    let scenario = recorded::scenario(record);
    let calibrated = &calibration.deployment;
    // What a calibration saw of how many cores a node works with counts for others of its kind: they may say nothing of it.
    let measured = recorded::nodes(record, point, &mut Vec::new());
    let nodes = super::DeploymentNodes {
        count: measured.count,
        quota: measured.quota,
        period_s: measured.period_s,
        cores: if measured.quota.is_some() { calibrated.nodes.cores } else { measured.cores },
        ..calibrated.nodes.clone()
    };
    Deployment {
        nodes,
        load: recorded::load(point, calibrated.load.think_s, scenario.as_ref(), notes),
        balance: scenario.as_ref().map_or(calibrated.balance, |it| recorded::balance(it, point)),
        seconds: point.measured_s.clamp(1.0, 600.0),
        ..calibrated.clone()
    }
}
