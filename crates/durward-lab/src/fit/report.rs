//! What a fit says: the shape that `durward lab fit --json` prints, and that reports and plans read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Law;
use super::refuse::FitRefusal;

/// The result of a fit, with its limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// How far it scales, in words.
    pub verdict: String,
    /// Why nothing should be staked on the fit, the gravest first; empty where nothing is wrong with it.
    pub refused: Vec<FitRefusal>,
    /// The reason of each refusal, in words with its figures.
    pub reasons: BTreeMap<FitRefusal, String>,
    /// What else a reader has to know.
    pub notes: Vec<String>,
    /// What N counts.
    pub n_is: LoadUnit,
    /// What was fitted, in the order of N; what [`FitReport::left_out`] names is not among it.
    pub points: Vec<Observation>,
    /// Measurements that were not fitted, each with the reason.
    #[serde(default)]
    pub left_out: Vec<OmittedPoint>,
    /// The law and its rivals.
    pub fits: Fits,
    /// Akaike's criterion of the three; `None` where it is not defined for all of them (fewer than six points).
    pub aicc: Option<PreferredModel>,
    /// What fits to resampled data say.
    pub bootstrap: Bootstrap,
    /// Where the straight line through lambda meets the peak or the ceiling.
    pub knee: Option<f64>,
    /// Where one more brings less than half of what the first brought.
    pub half_gain: Option<f64>,
    /// What a fit to the lower half of the range says of the last point.
    pub extrapolation: Option<Extrapolation>,
    /// The law for drawing, with its interval, up to four times the measured range.
    pub curve: Vec<CurvePoint>,
    /// What the law would be without each point, the most influential first; at most [`super::LEAVE_ONE_OUT_MAX`].
    pub leave_one_out: Vec<Influence>,
}

/// One measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Nodes, processors, users or requests under way; above 0, not always a whole number.
    pub n: f64,
    /// Throughput, in any unit; 0 or above.
    pub x: f64,
    /// How much it counts in the sum of squares, in proportion to the others: 1 over the variance. Above 0; 1 where nothing is
    /// known of its spread.
    pub weight: f64,
}

impl Observation {
    /// One of weight 1.
    pub fn new(n: f64, x: f64) -> Observation {
        Observation { n, x, weight: 1.0 }
    }
}

/// What N counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadUnit {
    /// Users, or whatever the load's setting was.
    Users,
    /// Nodes, processors, machines.
    Nodes,
    /// Requests under way on average: throughput times residence time (Little's law).
    Concurrency,
    /// Not said.
    #[default]
    Unknown,
}

impl LoadUnit {
    /// As a noun in the plural.
    pub fn noun(self) -> &'static str {
        match self {
            LoadUnit::Users => "users",
            LoadUnit::Nodes => "nodes",
            LoadUnit::Concurrency => "requests under way",
            LoadUnit::Unknown => "N",
        }
    }
}

/// A measurement that was not fitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OmittedPoint {
    /// Its N.
    pub n: f64,
    /// Its throughput.
    pub x: f64,
    /// Why, in words.
    pub because: String,
    /// Whether the generator was the limit.
    #[serde(default)]
    pub generator: bool,
}

/// The law and its rivals. Each is `None` where the points do not determine it: the law needs three different N, Amdahl's two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fits {
    /// Sigma and kappa at least 0; lambda as the options say.
    pub usl: Option<Fit>,
    /// Kappa 0.
    pub amdahl: Option<Fit>,
    /// Sigma and kappa 0.
    pub linear: Option<Fit>,
    /// Lambda fixed at the mean of what was measured at N = 1; `None` where that was not measured.
    pub usl_lambda_is_x1: Option<Fit>,
    /// What gnuplot scripts, spreadsheets and R's `usl` before 2.0 do: least squares of `N/C - 1`, `C = X/X(1)`.
    pub usl_transformed: Option<Fit>,
    /// Sigma and kappa of any sign: shows what the bounds hold back.
    pub usl_unconstrained: Option<Fit>,
}

/// One fitted law.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Its coefficients.
    #[serde(flatten)]
    pub law: Law,
    /// The peak's N; `None` without one.
    pub n_star: Option<f64>,
    /// The peak's throughput.
    pub x_star: Option<f64>,
    /// `lambda / sigma`: the ceiling where kappa is 0.
    pub asymptote: Option<f64>,
    /// The parameters that were fitted: of `lambda`, `sigma`, `kappa`.
    pub free: Vec<String>,
    /// Those that ended at 0 against what the points ask for.
    pub on_the_bound: Vec<String>,
    /// From the gradient at the solution with all of [`Fit::free`], as R's `nls`; `None` without a degree of freedom.
    pub standard_errors: Option<StandardErrors>,
    /// The same with those on the bound held there, as MPFIT; `None` where none is on its bound.
    pub standard_errors_of_the_rest: Option<StandardErrors>,
    /// The peak's standard error, by the delta method.
    pub n_star_se: Option<f64>,
    /// That of the throughput there.
    pub x_star_se: Option<f64>,
    /// Weighted, in the unit of the throughput squared.
    pub residual_sum_of_squares: f64,
    /// Its root over the degrees of freedom; `None` without one.
    pub residual_standard_error: Option<f64>,
    /// Points less parameters.
    pub degrees_of_freedom: usize,
    /// `1 - SSR/SST` in X; `None` where X is constant. Near 1 says nothing of the law.
    pub r_squared: Option<f64>,
    /// Akaike's criterion for small samples, comparable within one data set only; `None` for too few points or no residue.
    pub aicc: Option<f64>,
    /// How often, plus one, residuals change their sign along N.
    pub sign_runs: usize,
    /// Measured less fitted, in the order of [`FitReport::points`].
    pub residuals: Vec<f64>,
}

/// Standard errors; `None` of what was not fitted or is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StandardErrors {
    /// Of lambda.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// Of sigma.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// Of kappa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kappa: Option<f64>,
}

/// Which of the three Akaike's criterion takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PreferredModel {
    /// The name of the least.
    pub best: String,
    /// How far each lies above it.
    pub differences: BTreeMap<String, f64>,
}

/// What fits to resampled data say: intervals that hold 95 % of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// `residuals` or `pairs`; `None` where there are too few points to resample.
    pub method: Option<String>,
    /// How many were fitted.
    pub resamples: usize,
    /// What every choice followed from.
    pub seed: u64,
    /// Of lambda.
    pub lambda: Option<[f64; 2]>,
    /// Of sigma.
    pub sigma: Option<[f64; 2]>,
    /// Of kappa.
    pub kappa: Option<[f64; 2]>,
    /// Of the peak's N; an end is `None` where there is no peak. No peak counts as one beyond all others.
    pub n_star: Option<[Option<f64>; 2]>,
    /// Of the throughput there, or of the ceiling where there is no peak; an end is `None` where there is neither.
    pub x_star: Option<[Option<f64>; 2]>,
    /// How many of a hundred resamples have kappa 0.
    pub without_peak_percent: Option<f64>,
}

/// What a fit to the lower half of the range says of the last point: how far it can be trusted to foretell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extrapolation {
    /// Points up to half of the greatest N.
    pub fitted_on: usize,
    /// The greatest N among those.
    pub n_max: f64,
    /// What they say.
    pub law: Law,
    /// Their peak.
    pub n_star: Option<f64>,
    /// What they say of the greatest N of all.
    pub predicted_at_n_max: f64,
    /// What was measured there.
    pub measured_at_n_max: f64,
    /// How far the first lies above the second.
    pub error_percent: f64,
}

/// One place of the curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Where.
    pub n: f64,
    /// The law there.
    pub x: f64,
    /// Of 200 resamples, 5 lie below; `None` without resamples.
    pub low: Option<f64>,
    /// Of 200 resamples, 5 lie above.
    pub high: Option<f64>,
    /// How far from what was measured.
    pub zone: ExtrapolationZone,
}

/// How far from what was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtrapolationZone {
    /// Between the least and the greatest N.
    #[default]
    Measured,
    /// Up to twice the greatest N.
    Extrapolated,
    /// Beyond: to be drawn in grey.
    Grey,
}

/// What the law would be without one point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Influence {
    /// The point's N.
    pub n: f64,
    /// Its throughput.
    pub x: f64,
    /// The law without it.
    #[serde(flatten)]
    pub law: Law,
    /// The peak without it.
    pub n_star: Option<f64>,
    /// How far the whole curve moves: the greatest change between the least and the greatest N, in per cent of the greatest
    /// throughput.
    pub moves_percent: f64,
}
