//! The Universal Scalability Law, with what follows from its three coefficients.

use serde::{Deserialize, Serialize};

/// `X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1))`: throughput of N nodes, processors or requests under way (Gunther 1993;
/// *Guerrilla Capacity Planning*, 2007). With kappa 0 it is Amdahl's law, with sigma 0 as well a straight line.
///
/// ```
/// use durward_lab::fit::Law;
///
/// let law = Law { lambda: 1_000.0, sigma: 0.02, kappa: 0.0005 };
/// assert_eq!(law.x(1.0), 1_000.0);
/// assert_eq!(law.n_star().map(f64::round), Some(44.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// What one does alone, in the unit of the throughput; above 0.
    pub lambda: f64,
    /// The serial part, contention: 0 or above, without a unit.
    pub sigma: f64,
    /// What each pair costs the others, coherency: 0 or above, without a unit.
    pub kappa: f64,
}

impl Law {
    /// The throughput at `n`.
    pub fn x(&self, n: f64) -> f64 {
        self.lambda * n / self.slowdown(n)
    }

    /// How many times longer each request takes at `n` than alone.
    pub(super) fn slowdown(&self, n: f64) -> f64 {
        1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0)
    }

    /// Where throughput is greatest: `sqrt((1 - sigma) / kappa)`. `None` without a peak: where kappa is 0, or where sigma is 1 or
    /// above, so that every further node costs more than it brings.
    pub fn n_star(&self) -> Option<f64> {
        let peak = ((1.0 - self.sigma) / self.kappa).sqrt();
        (self.kappa > 0.0 && self.sigma < 1.0 && peak.is_finite()).then_some(peak)
    }

    /// The throughput at the peak.
    pub fn x_star(&self) -> Option<f64> {
        self.n_star().map(|n| self.x(n))
    }

    /// What throughput would approach if kappa were 0: `lambda / sigma`. `None` where sigma is 0.
    pub fn asymptote(&self) -> Option<f64> {
        Some(self.lambda / self.sigma).filter(|limit| self.sigma > 0.0 && limit.is_finite())
    }

    /// Where the straight line through lambda meets that asymptote: `1 / sigma`, the optimum of Gunther and of R's `usl`.
    pub fn n_optimum(&self) -> Option<f64> {
        Some(1.0 / self.sigma).filter(|n| self.sigma > 0.0 && n.is_finite())
    }

    /// The knee: where the straight line through lambda meets the greatest throughput there is, at the peak or, without one,
    /// at the asymptote. `None` where there is neither.
    pub fn n_knee(&self) -> Option<f64> {
        match self.n_star() {
            Some(_) => self.x_star().map(|x| x / self.lambda),
            None => self.n_optimum(),
        }
    }

    /// What one more brings at `n`, as a part of what the first brings: the derivative over lambda.
    pub fn marginal(&self, n: f64) -> f64 {
        (1.0 - self.sigma - self.kappa * n * n) / self.slowdown(n).powi(2)
    }

    /// Where one more begins to bring less than half of what the first brought; 1 where that is so from the first on, `None`
    /// where it never is.
    pub fn n_half(&self) -> Option<f64> {
        if self.marginal(1.0) < 0.5 {
            return Some(1.0);
        }
        let mut high = 2.0;
        while self.marginal(high) >= 0.5 {
            high *= 2.0;
            if !f64::is_finite(high) {
                return None;
            }
        }
        // The marginal gain falls with n wherever it is above 0.
        let mut low = high / 2.0;
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if self.marginal(middle) < 0.5 { high = middle } else { low = middle }
        }
        Some(high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_needs_kappa_and_less_than_full_contention() {
        let law = |sigma, kappa| Law { lambda: 1.0, sigma, kappa };
        assert_eq!(law(0.5, 0.0).n_star(), None);
        assert_eq!(law(1.0, 0.1).n_star(), None);
        assert_eq!(law(0.75, 0.01).n_star(), Some(5.0));
        assert_eq!((law(0.0, 0.0).asymptote(), law(0.5, 0.0).asymptote()), (None, Some(2.0)));
    }

    #[test]
    fn the_peak_is_where_the_derivative_is_zero() {
        let law = Law { lambda: 7.0, sigma: 0.03, kappa: 0.002 };
        let peak = law.n_star().unwrap();
        assert!(law.marginal(peak).abs() < 1e-12);
        assert!(law.x(peak * 0.99) < law.x(peak) && law.x(peak * 1.01) < law.x(peak));
        assert!((law.n_knee().unwrap() * law.lambda - law.x(peak)).abs() < 1e-9);
    }

    #[test]
    fn one_more_brings_half_where_amdahl_says_so() {
        // Amdahl: (1 - s) / (1 + s (n - 1))^2 = 1/2.
        let law = Law { lambda: 3.0, sigma: 0.1, kappa: 0.0 };
        let expected = ((2.0_f64 * 0.9).sqrt() - 1.0) / 0.1 + 1.0;
        assert!((law.n_half().unwrap() - expected).abs() < 1e-9);
        assert_eq!(Law { sigma: 0.0, ..law }.n_half(), None);
        assert_eq!(Law { sigma: 0.9, ..law }.n_half(), Some(1.0));
    }
}
