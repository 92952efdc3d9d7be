//! Chance for tests: from a seed, the same on every machine and in every run. Never for secrets.
//!
//! The product's own are `durward-lab`'s `LabRandom` and, since the decision point may gain no crate for it, twenty lines in
//! `durward-pdp/src/stream/chance.rs`.

/// SplitMix64 (Steele, Lea, Flood 2014): any seed is as good as another.
#[derive(Clone, Debug)]
pub struct TestRandom(u64);

impl TestRandom {
    /// Starts at a seed.
    pub fn new(seed: u64) -> TestRandom {
        TestRandom(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    /// True so often.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of these, where it lies.
    ///
    /// # Panics
    /// Of none.
    #[expect(clippy::indexing_slicing, reason = "`below` is below the number of choices")]
    pub fn one_of<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.below(choices.len())]
    }

    /// One of these.
    ///
    /// # Panics
    /// Of none.
    #[expect(clippy::indexing_slicing, reason = "`below` is below the number of choices")]
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// The generator of tests whose seeds were chosen for what they lead to (xorshift64*, Vigna 2014): with another one they would be other
/// tests. New ones take [`TestRandom`].
#[derive(Clone, Debug)]
pub struct TestShift(u64);

impl TestShift {
    /// Starts at a seed, which is spread over the state.
    pub fn new(seed: u64) -> TestShift {
        TestShift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Starts with a state, which is not 0.
    pub fn at(state: u64) -> TestShift {
        TestShift(state)
    }

    /// Less than `end`, which is at least 1.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end.max(1)
    }

    /// The same for places in a list.
    pub fn index(&mut self, end: usize) -> usize {
        self.below(end as u64) as usize
    }

    /// One of these.
    ///
    /// # Panics
    /// Of none.
    #[expect(clippy::indexing_slicing, reason = "`index` is below the number of choices")]
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// True once in so many times.
    pub fn once_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of SplitMix64's published reference for the seed 1234567.
    #[test]
    fn numbers_are_those_of_the_reference() {
        let mut random = TestRandom::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.number()).collect();
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn both_repeat_and_reach_every_number() {
        let draw = |seed| {
            let (mut one, mut other) = (TestRandom::new(seed), TestShift::new(seed));
            (0..200).map(|_| (one.below(10), other.below(10))).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for number in 0..10 {
            assert!(draw(3).iter().any(|(one, _)| *one == number as usize));
            assert!(draw(3).iter().any(|(_, other)| *other == number));
        }
    }
}
