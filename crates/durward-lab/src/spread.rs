//! Several measurements of one thing, as three numbers.

/// The least, the middle and the most of several measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// Half of the measurements lie below, half above.
    pub median: f64,
    /// The most.
    pub max: f64,
    /// How many measurements there were.
    pub count: usize,
}

impl Spread {
    /// The spread of these; `None` of none. Measurements that are no numbers are left out.
    pub fn of(measured: &[f64]) -> Option<Spread> {
        let mut sorted: Vec<f64> = measured.iter().copied().filter(|one| !one.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let at = |index: usize| sorted.get(index).copied();
        let median = match count {
            0 => return None,
            odd if odd % 2 == 1 => at(odd / 2)?,
            even => f64::midpoint(at(even / 2 - 1)?, at(even / 2)?),
        };
        Some(Spread { min: at(0)?, median, max: at(count - 1)?, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[f64::NAN]), None);
        let of = |measured: &[f64]| Spread::of(measured).map(|it| (it.min, it.median, it.max, it.count));
        assert_eq!(of(&[5.0]), Some((5.0, 5.0, 5.0, 1)));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0, 3)));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some((1.0, 2.5, 4.0, 4)));
    }
}
