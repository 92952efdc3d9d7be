//! A seeded pseudo-random generator, the only source of randomness in the lab, so that a run can be repeated.

/// SplitMix64 (Steele, Lea, Flood 2014): eight bytes of state, the same numbers on every machine. Not for secrets.
///
/// ```
/// use durward_lab::random::LabRandom;
///
/// assert_eq!(LabRandom::new(7).next_u64(), LabRandom::new(7).next_u64());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabRandom(u64);

impl LabRandom {
    /// Numbers that follow from this seed.
    pub fn new(seed: u64) -> LabRandom {
        LabRandom(seed)
    }

    /// Numbers for one of many parts that share a seed: those of different parts do not overlap for long.
    pub fn of_part(seed: u64, part: u64) -> LabRandom {
        let mut random = LabRandom(seed ^ part.wrapping_mul(0xD1B5_4A32_D192_ED03));
        LabRandom(random.next_u64())
    }

    /// Any number, each as likely.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what a number of this type holds")]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 to below `bound`; 0 where that is 0. Multiplication instead of a rest: uneven by less than 2^-32 for bounds below 2^32.
    pub fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next_u64()) * (bound as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// From the exponential distribution of this mean: the time between arrivals of a Poisson process.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Whether something happens whose chance is so many per cent.
    pub fn happens(&mut self, percent: f64) -> bool {
        percent >= 100.0 || (percent > 0.0 && self.unit() * 100.0 < percent)
    }

    /// Brings these into an order, each as likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, these: &mut [T]) {
        for at in (1..these.len()).rev() {
            let other = self.below(at + 1);
            these.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the generator's published reference for the seed 1234567.
    #[test]
    fn numbers_are_those_of_the_reference() {
        let mut random = LabRandom::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn means_and_shares_are_right() {
        let mut random = LabRandom::new(1);
        let mean = (0..100_000).map(|_| random.exponential(4.0)).sum::<f64>() / 1e5;
        assert!((mean - 4.0).abs() < 0.06, "{mean}");
        let often = (0..100_000).filter(|_| random.happens(5.0)).count();
        assert!((4_700..5_300).contains(&often), "{often}");
        assert!((0..1_000).all(|_| random.below(7) < 7) && random.below(0) == 0);
        assert!(!random.happens(0.0) && random.happens(100.0));
    }

    #[test]
    fn a_shuffle_keeps_all() {
        let mut these: Vec<u32> = (0..100).collect();
        LabRandom::new(3).shuffle(&mut these);
        assert!(these != (0..100).collect::<Vec<_>>());
        these.sort_unstable();
        assert_eq!(these, (0..100).collect::<Vec<_>>());
    }
}
