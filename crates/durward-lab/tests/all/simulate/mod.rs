//! The simulation against exact queueing theory, against its plain twin, and against laws that hold for every queue.

mod calibration;
mod exact;
mod faults;
mod invariants;
mod queueing;
mod twin;

use durward_lab::simulate::{Deployment, SimulationOutcome, run};

/// A deployment in TOML, simulated.
fn simulate(text: &str) -> SimulationOutcome {
    run(&Deployment::read(text).unwrap()).unwrap()
}

/// Independent simulations, and what is measured of each: the mean, and its standard error.
fn replicated(text: &str, measure: impl Fn(&SimulationOutcome) -> f64) -> (f64, f64) {
    let count = 12;
    let mut deployment = Deployment::read(text).unwrap();
    let all: Vec<f64> = (0..count)
        .map(|seed| {
            deployment.seed = 1_000 + seed;
            measure(&run(&deployment).unwrap())
        })
        .collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let square = all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (all.len() - 1) as f64;
    (mean, (square / all.len() as f64).sqrt())
}

/// The exact value lies in the interval of 99.9 % (Student's t with 11 degrees of freedom), and that is narrow.
#[track_caller]
fn agrees(text: &str, measure: impl Fn(&SimulationOutcome) -> f64, exact: f64) {
    let (mean, error) = replicated(text, measure);
    assert!((mean - exact).abs() < 4.44 * error, "{mean} +- {error}, exact {exact}");
    assert!(error < 0.03 * exact.abs(), "{mean} +- {error}: too wide to tell anything");
}

/// The mean time since requests were due, in milliseconds.
fn mean_ms(outcome: &SimulationOutcome) -> f64 {
    outcome.since_due().mean_ns() / 1e6
}
