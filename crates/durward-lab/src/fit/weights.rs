//! How much each point counts: 1 over its variance, as far as replicates tell.

use super::Observation;

/// So many replicates more, of the spread that all have on average, stand beside those of each N: two or three replicates
/// alone say little of their variance, and two that agree by chance must not count for everything.
const PRIOR_REPLICATES: f64 = 4.0;

/// Weighs points by the spread of those that share their N. Nothing changes where no N was measured twice, or where
/// replicates never differ.
pub fn by_spread(observations: &mut [Observation]) {
    let mut seen: Vec<f64> = Vec::new();
    let groups: Vec<usize> = observations
        .iter()
        .map(|one| {
            seen.iter().position(|n| *n == one.n).unwrap_or_else(|| {
                seen.push(one.n);
                seen.len() - 1
            })
        })
        .collect();
    by_spread_of_groups(observations, &groups);
}

/// The same where the caller says which points are replicates of each other: those with the same number, below the number of
/// points. The weights' mean is 1.
///
/// Spread is taken relative to the mean: throughput that is twice as great commonly scatters twice as much.
pub(super) fn by_spread_of_groups(observations: &mut [Observation], groups: &[usize]) {
    let members = |group: usize, all: &[Observation]| -> Vec<f64> {
        all.iter().zip(groups).filter(|(_, of)| **of == group).map(|(one, _)| one.x).collect()
    };
    let count = groups.iter().max().map_or(0, |last| last + 1);
    let spreads: Vec<(f64, f64, f64)> =
        (0..count).map(|group| spread(&members(group, observations))).collect();
    let degrees: f64 = spreads.iter().map(|(_, _, degrees)| degrees).sum();
    let pooled = spreads.iter().map(|(_, square, degrees)| square * degrees).sum::<f64>() / degrees;
    if !(pooled.is_finite() && pooled > 0.0) {
        return;
    }
    let variance = |group: &usize| {
        let (mean, square, degrees) = spreads.get(*group).copied().unwrap_or((0.0, 0.0, 0.0));
        mean.powi(2) * (square * degrees + pooled * PRIOR_REPLICATES) / (degrees + PRIOR_REPLICATES)
    };
    let raw: Vec<f64> = groups.iter().map(|group| 1.0 / variance(group)).collect();
    if raw.iter().any(|weight| !weight.is_finite()) {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "few points")]
    let mean = raw.iter().sum::<f64>() / raw.len() as f64;
    for (one, weight) in observations.iter_mut().zip(raw) {
        one.weight = weight / mean;
    }
}

/// The mean, the square of the relative standard deviation, and the degrees of freedom.
fn spread(of: &[f64]) -> (f64, f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "few points")]
    let count = of.len() as f64;
    let mean = of.iter().sum::<f64>() / count;
    if of.len() < 2 || mean == 0.0 {
        return (mean, 0.0, 0.0);
    }
    let square = of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, square / mean.powi(2), count - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(points: &[(f64, f64)]) -> Vec<f64> {
        let mut observations: Vec<Observation> =
            points.iter().map(|(n, x)| Observation::new(*n, *x)).collect();
        by_spread(&mut observations);
        observations.iter().map(|one| one.weight).collect()
    }

    #[test]
    fn without_replicates_all_count_alike() {
        assert_eq!(weights(&[(1.0, 3.0), (2.0, 5.0), (4.0, 8.0)]), [1.0; 3]);
        assert_eq!(weights(&[(1.0, 3.0), (1.0, 3.0), (4.0, 8.0)]), [1.0; 3]);
        assert_eq!(weights(&[]), [0.0; 0]);
    }

    #[test]
    fn what_scatters_more_counts_less() {
        let found = weights(&[(1.0, 100.0), (1.0, 101.0), (2.0, 150.0), (2.0, 250.0), (3.0, 300.0)]);
        assert!(found[0] > found[2] && found[0] == found[1], "{found:?}");
        // One that was measured once has the relative spread of all.
        assert!(found[4] < found[0], "{found:?}");
        assert!((found.iter().sum::<f64>() / 5.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn weights_do_not_depend_on_the_unit() {
        let points = [(1.0, 100.0), (1.0, 104.0), (2.0, 150.0), (2.0, 190.0)];
        let scaled = points.map(|(n, x)| (n, x * 1024.0));
        assert_eq!(weights(&points), weights(&scaled));
    }
}
