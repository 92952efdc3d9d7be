//! The random numbers of `java.util.Random`, as its documentation defines them: a linear congruential generator of 48 bits.

/// How likely two things are connected.
const EDGE_PROBABILITY: f64 = 0.05;

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const MASK: u64 = (1 << 48) - 1;

/// The generator.
#[derive(Debug)]
pub(crate) struct JavaRandom(u64);

impl JavaRandom {
    pub(crate) fn new(seed: u64) -> JavaRandom {
        JavaRandom((seed ^ MULTIPLIER) & MASK)
    }

    /// The next number of at most 32 bits.
    fn next(&mut self, bits: u32) -> u64 {
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(0xB) & MASK;
        self.0 >> (48 - bits)
    }

    /// From 0 to below 1.
    pub(super) fn real(&mut self) -> f64 {
        let bits = (self.next(26) << 27) + self.next(27);
        bits as f64 / (1u64 << 53) as f64
    }

    /// From 0 to below `bound`, which is 1 to 2^31.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        if bound.is_power_of_two() {
            return ((bound * self.next(31)) >> 31) as usize;
        }
        loop {
            let drawn = self.next(31);
            let rest = drawn % bound;
            // The last numbers, too few for every rest, are drawn again.
            if drawn - rest + (bound - 1) < 1 << 31 {
                return rest as usize;
            }
        }
    }

    /// So many different numbers from 0 to below `bound`, in the order drawn; what was drawn before is drawn again. No more
    /// than there are.
    pub(super) fn some_below(&mut self, count: usize, bound: usize) -> Vec<usize> {
        let mut some = Vec::with_capacity(count);
        while some.len() < count.min(bound) {
            let drawn = self.below(bound);
            if !some.contains(&drawn) {
                some.push(drawn);
            }
        }
        some
    }

    pub(super) fn coin(&mut self) -> bool {
        self.next(1) != 0
    }

    /// Whether two things are connected.
    pub(super) fn is_edge(&mut self) -> bool {
        self.real() < EDGE_PROBABILITY
    }

    /// One of these; nothing of none.
    pub(super) fn one_of<'a>(&mut self, these: &[&'a str]) -> &'a str {
        these.get(self.below(these.len().max(1))).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a Java virtual machine gives for `new Random(42)`.
    #[test]
    fn numbers_are_those_of_java() {
        let mut random = JavaRandom::new(42);
        assert_eq!([random.below(10), random.below(10), random.below(10)], [0, 3, 8]);
        assert_eq!(JavaRandom::new(42).real(), 0.727_563_680_032_868_1);
        let mut random = JavaRandom::new(42);
        assert_eq!((random.coin(), JavaRandom::new(42).below(8)), (true, 5));
    }
}
