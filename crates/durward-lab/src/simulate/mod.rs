//! A seeded discrete-event simulation of a deployment: nodes with cores, balancing, replication, users who think, floods of logins, nodes
//! that fail, with service times that were measured.
//!
//! [`run`] takes a [`Deployment`], which is read from a TOML file ([`Deployment::read`]), and gives an [`SimulationOutcome`]. The flow:
//! `users` says who asks and when, `balance` where that goes, `station` when a core has worked on it, `replicate` what its answer waits
//! for, `faults` what goes wrong; `world` is the loop, `measure` counts.
//!
//! ```
//! use durward_lab::simulate::{Deployment, run};
//!
//! let deployment = Deployment::read("
//!     seconds = 20
//!     nodes = { count = 2 }
//!     load = { rate = 100 }
//!     steps = [{ name = 'validate', service = { exponential_ms = 10 } }]
//! ")?;
//! let outcome = run(&deployment)?;
//! assert!((outcome.throughput() - 100.0).abs() < 10.0);
//! assert_eq!(outcome, run(&deployment)?);
//! # Ok::<(), durward_lab::simulate::DeploymentError>(())
//! ```
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are whole nanoseconds below 2^53, counts are below 2^53, and both are computed with as numbers"
)]

mod against;
mod balance;
mod calibrate;
mod deployment;
mod faults;
mod future;
mod measure;
mod outcome;
mod recorded;
mod replicate;
mod station;
mod sweep;
mod times;
mod users;
mod world;

pub use against::{P99_WITHIN, SimulatedPoint, THROUGHPUT_WITHIN, against, difference};
pub use calibrate::{Calibration, CalibrationError, calibrate};
pub use deployment::{
    ArrivalProcess, BalancePolicy, Deployment, DeploymentError, DeploymentEvent, DeploymentNodes, Discipline,
    EVENTS_MAX, NODES_MAX, OfferedLoad, Replication, ReplicationMode, RequestKind, SECONDS_MAX, STEPS_MAX,
    SessionUse, ThinkTimes, UNDER_WAY_MAX, USERS_EACH_MAX, USERS_MAX,
};
pub use outcome::{NodeOutcome, SecondOutcome, SimulationOutcome, StepOutcome};
pub use sweep::{LawComparison, PART_AT, beside, by_nodes, record};
pub use times::TimeDistribution;

/// Simulates a deployment. The same deployment, seed included, gives the same outcome, bit for bit.
///
/// # Errors
/// A deployment that cannot be, or would take hours.
pub fn run(deployment: &Deployment) -> Result<SimulationOutcome, DeploymentError> {
    deployment.check()?;
    Ok(world::Simulation::new(deployment).run())
}
