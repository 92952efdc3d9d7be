//! What the paper prints: T. Heyman, D. Preuveneers, W. Joosen, *Scalability Analysis of the OpenAM Access Control System with the
//! Universal Scalability Law*, FiCloud 2014, doi 10.1109/FiCloud.2014.89.
//!
//! It prints the coefficients of fifteen curves and a few numbers in its text. It prints no table of measurements, no p*, no
//! errors, and no numbers of its figures 7 to 10.

use crate::fit::Law;

/// Users of the paper send one request every 250 ms: so many a second.
pub const REQUESTS_PER_S: f64 = 4.0;

/// One curve of figures 3 to 6.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperCurve {
    /// The figure in which it is printed.
    pub figure: u32,
    /// Its label there.
    pub label: &'static str,
    /// Contention, as printed.
    pub sigma: f64,
    /// Coherency, as printed.
    pub kappa: f64,
    /// OpenAM instances; the load is that of each.
    pub instances: usize,
    /// Of 100 verifications, after so many is a logout.
    pub logout_percent: u32,
    /// Where the figures of ours come from.
    pub ours: OwnCurve,
}

/// Which of our curves stands beside one of the paper's: the run, and the configuration in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnCurve {
    /// The name of the run.
    pub run: &'static str,
    /// The configuration of its points.
    pub configuration: &'static str,
}

const fn of(run: &'static str, configuration: &'static str) -> OwnCurve {
    OwnCurve { run, configuration }
}

const fn curve(
    figure: u32,
    label: &'static str,
    (sigma, kappa): (f64, f64),
    (instances, logout_percent): (usize, u32),
    ours: OwnCurve,
) -> PaperCurve {
    PaperCurve { figure, label, sigma, kappa, instances, logout_percent, ours }
}

const ONE: (f64, f64) = (2.47e-9, 1.56e-7);
const TWO: (f64, f64) = (1.6e-9, 1.47e-7);
const THREE: (f64, f64) = (2.08e-9, 2.22e-7);
const ONE_NODE: OwnCurve = of("logout", "logout_percent 5");
const TWO_STICKY: OwnCurve = of("two-nodes", "sticky");
const THREE_STICKY: OwnCurve = of("three-nodes", "sticky");

/// The fifteen curves. The caption of figure 5 exchanges sticky and not sticky: by the paper's text (IV-C and V-A e), and since its
/// "Not sticky" repeats the coefficients of figure 4, `Sticky` there is read as not sticky. Labels are as printed.
pub const CURVES: [PaperCurve; 15] = [
    curve(3, "0% logout", (2.41e-9, 3.95e-8), (1, 0), of("logout", "logout_percent 0")),
    curve(3, "5% logout", ONE, (1, 5), ONE_NODE),
    curve(3, "10% logout", (1.14e-5, 2.81e-7), (1, 10), of("logout", "logout_percent 10")),
    curve(3, "20% logout", (5.05e-4, 3.32e-7), (1, 20), of("logout", "logout_percent 20")),
    curve(4, "One", ONE, (1, 5), ONE_NODE),
    curve(4, "Two", TWO, (2, 5), TWO_STICKY),
    curve(4, "Three", THREE, (3, 5), THREE_STICKY),
    curve(5, "Sticky (x2)", (0.0113, 1.16e-5), (2, 5), of("two-nodes", "random")),
    curve(5, "Sticky (x3)", (0.0497, 7.85e-6), (3, 5), of("three-nodes", "random")),
    curve(5, "Not sticky (x2)", TWO, (2, 5), TWO_STICKY),
    curve(5, "Not sticky (x3)", THREE, (3, 5), THREE_STICKY),
    curve(6, "Assured read", ONE, (1, 5), ONE_NODE),
    curve(6, "Assured write", (2.55e-9, 1.49e-7), (1, 5), of("assured-write", "")),
    curve(6, "Best effort", (1.25e-8, 1.43e-7), (1, 5), of("best-effort", "")),
    curve(6, "No persistence", (2.37e-9, 1.14e-7), (1, 5), of("none", "")),
];

/// What its text says in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperText {
    /// Figure 4: the load of each instance.
    pub load_per_instance: u64,
    /// Users effectively served of it by each of one, two and three instances.
    pub users_served: [u32; 3],
    /// Figure 3: the load at which mixes are compared.
    pub mix_load: u64,
    /// What 20 % logouts leave there of the throughput without.
    pub mix_share: f64,
    /// One instance is linear to about so many users.
    pub linear_users: u32,
    /// The kappa of the generators, found with empty requests.
    pub generator_kappa: f64,
}

/// The numbers of its text.
pub const TEXT: PaperText = PaperText {
    load_per_instance: 2400,
    users_served: [1224, 1296, 1024],
    mix_load: 1200,
    mix_share: 0.49,
    linear_users: 1000,
    generator_kappa: 2.31e-13,
};

impl PaperCurve {
    /// The printed law, in users effectively served of each instance: C(1) = 1.
    pub fn law(&self) -> Law {
        Law { lambda: 1.0, sigma: self.sigma, kappa: self.kappa }
    }

    /// The peak by the paper's own formula, `floor(sqrt((1 + sigma) / kappa))`. The derivative says `1 - sigma`.
    pub fn p_star(&self) -> f64 {
        p_star(&self.law())
    }
}

/// The paper's p*, which the printed sign of sigma makes a little too great.
pub fn p_star(law: &Law) -> f64 {
    ((1.0 + law.sigma) / law.kappa).sqrt().floor()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_of_the_paper_and_the_derivative_part_by_five_percent_at_most() {
        for curve in CURVES {
            let derived = curve.law().n_star().unwrap();
            assert!((curve.p_star() / derived - 1.0).abs() < 0.051, "{curve:?}");
        }
        assert_eq!(CURVES[8].p_star(), 365.0);
    }

    #[test]
    fn labels_are_told_apart() {
        for (at, curve) in CURVES.iter().enumerate() {
            let same = |other: &&PaperCurve| other.figure == curve.figure && other.label == curve.label;
            assert_eq!(CURVES.iter().position(|other| same(&other)), Some(at));
        }
    }
}
