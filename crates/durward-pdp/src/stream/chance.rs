//! Chance from a seed, so that everything can be repeated.

/// A row of numbers that look random (SplitMix64, Steele et al., "Fast splittable pseudorandom number generators",
/// 2014). It spreads retries over time; nothing that must be secret comes from it.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// The next number.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number up to this one, it included.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        match most.checked_add(1) {
            Some(count) => self.next() % count,
            None => self.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_reaches_both_ends_and_repeats() {
        let draw = |seed| {
            let mut chance = Chance::new(seed);
            (0..200).map(|_| chance.up_to(9)).collect::<Vec<u64>>()
        };
        assert!(draw(1).contains(&0) && draw(1).contains(&9) && draw(1).iter().all(|n| *n <= 9));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
