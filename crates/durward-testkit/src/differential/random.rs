//! A seeded pseudo-random generator.

/// SplitMix64: small, and the same everywhere.
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

    /// One of these.
    ///
    /// # Panics
    /// Of none.
    #[expect(clippy::indexing_slicing, reason = "`below` is below the number of choices")]
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
