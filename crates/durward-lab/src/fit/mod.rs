//! How far it scales: fits the Universal Scalability Law to measurements, beside Amdahl's law and a straight line, and refuses fits that cannot be relied on.
//!
//! [`of`] takes observations, from [`curves`] of a record or from a file (`input`), and gives a [`FitReport`], whose verdict is
//! in words. The flow: [`solve`](self) finds the coefficients, `errors` how sure they are, `bootstrap` the intervals, `judge`
//! what is refused and what is said.

mod assemble;
mod bootstrap;
mod curves;
mod input;
mod judge;
mod law;
mod matrix;
mod problem;
mod refuse;
mod report;
mod rivals;
mod solve;
mod weights;
mod whole;
mod words;

pub use curves::{RecordCurve, Residence, StepResidence, by, curves, observations};
pub use input::{FitInput, FitInputError, POINTS_MAX, Weights, read};
pub use law::Law;
pub use refuse::FitRefusal;
pub use report::{
    Bootstrap, CurvePoint, Extrapolation, ExtrapolationZone, Fit, FitReport, Fits, Influence, LoadUnit,
    Observation, OmittedPoint, PreferredModel, StandardErrors,
};
pub use weights::by_spread;
pub use whole::of;
pub use words::number;

/// Most points of which a report says what the law would be without them.
pub const LEAVE_ONE_OUT_MAX: usize = 40;

/// How to fit, and what is known beyond the points.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// Whether lambda is fitted.
    pub lambda: Lambda,
    /// What N counts: only the words depend on it.
    pub n_is: LoadUnit,
    /// What every random choice follows from.
    pub seed: u64,
    /// How often to resample; 0 for no intervals.
    pub resamples: usize,
    /// How to resample.
    pub resampling: Resampling,
    /// Measurements that are not among the observations.
    pub left_out: Vec<OmittedPoint>,
}

impl Default for FitOptions {
    fn default() -> FitOptions {
        FitOptions {
            lambda: Lambda::Free,
            n_is: LoadUnit::Unknown,
            seed: 42,
            resamples: 2_000,
            resampling: Resampling::Auto,
            left_out: Vec::new(),
        }
    }
}

/// Whether lambda is fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Lambda {
    /// It is.
    #[default]
    Free,
    /// It is the mean of what was measured at N = 1.
    X1,
    /// It is this.
    Fixed(f64),
}

/// How to resample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resampling {
    /// Pairs where points scatter without a plan, residuals else.
    #[default]
    Auto,
    /// Residuals, centred, times `sqrt(n / (n - p))`: for experiments, whose N were chosen.
    Residuals,
    /// Whole points: for production data, whose N came as they came.
    Pairs,
}
