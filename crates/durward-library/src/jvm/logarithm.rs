//! The decimal logarithm, rounded right: that of the platform is off by one in the last digit for some numbers, and Java's
//! hardly ever is.

use std::f64::consts::{self, SQRT_2};

/// A number as the sum of two doubles, the second of which is below the last digit of the first.
#[derive(Clone, Copy)]
struct Double2(f64, f64);

/// log10(e) and log10(2) with 106 bits.
const LOG10_E: Double2 = Double2(consts::LOG10_E, 1.098_319_650_216_765e-17);
const LOG10_2: Double2 = Double2(consts::LOG10_2, -2.803_728_127_785_170_4e-18);

/// So many terms of the series below are beyond 106 bits.
const TERMS: u32 = 22;

impl Double2 {
    /// The exact sum of two doubles, the first of which is the larger.
    fn of(a: f64, b: f64) -> Double2 {
        let sum = a + b;
        Double2(sum, b - (sum - a))
    }

    fn plus(self, other: Double2) -> Double2 {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let error = (self.0 - (sum - part)) + (other.0 - part);
        Double2::of(sum, error + self.1 + other.1)
    }

    fn times(self, other: Double2) -> Double2 {
        let product = self.0 * other.0;
        let error = self.0.mul_add(other.0, -product);
        Double2::of(product, error + self.0 * other.1 + self.1 * other.0)
    }

    fn over(self, other: Double2) -> Double2 {
        let quotient = self.0 / other.0;
        let Double2(high, low) = other.times(Double2(-quotient, 0.0)).plus(self);
        Double2::of(quotient, (high + low) / other.0)
    }
}

/// `Math.log10` of a number above zero.
pub(crate) fn log10(x: f64) -> f64 {
    if !x.is_finite() {
        return x;
    }
    let (fraction, exponent) = split(x);
    // ln(m) = 2 artanh((m - 1) / (m + 1)), and the series of artanh. Both differences are exact.
    let z = Double2(fraction - 1.0, 0.0).over(Double2::of(fraction.max(1.0), fraction.min(1.0)));
    let square = z.times(z);
    let mut sum = Double2(0.0, 0.0);
    for term in (0..TERMS).rev() {
        sum = sum.times(square).plus(Double2(1.0, 0.0).over(Double2(f64::from(2 * term + 1), 0.0)));
    }
    let natural = sum.times(z).times(Double2(2.0, 0.0));
    let Double2(high, low) = LOG10_2.times(Double2(f64::from(exponent), 0.0)).plus(natural.times(LOG10_E));
    high + low
}

/// The number as one between the halves of 2 and 1 of the square root, times a power of two.
fn split(x: f64) -> (f64, i32) {
    const FRACTION_BITS: u32 = 52;
    const BIAS: i32 = 1023;
    // Subnormal numbers are made normal first.
    let (x, shifted) = if x.is_normal() { (x, 0) } else { (x * 2_f64.powi(54), 54) };
    let bits = x.to_bits();
    let exponent = i32::try_from(bits >> FRACTION_BITS & 0x7ff).unwrap_or(BIAS) - BIAS - shifted;
    let fraction = f64::from_bits(bits & ((1 << FRACTION_BITS) - 1) | 1.0_f64.to_bits());
    if fraction > SQRT_2 { (fraction / 2.0, exponent + 1) } else { (fraction, exponent) }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the last digit is what is tested")]
mod tests {
    use super::log10;

    #[test]
    fn powers_of_ten_are_whole() {
        for exponent in -307..=308 {
            let power: f64 = format!("1e{exponent}").parse().unwrap();
            assert_eq!(log10(power), f64::from(exponent), "{exponent}");
        }
    }

    /// What Java gives where the platform's logarithm may be off by one.
    #[test]
    fn the_last_digit_is_right() {
        for (x, expected) in CASES {
            assert_eq!(log10(*x), *expected, "{x}");
        }
        assert_eq!(log10(5e-324), -323.306_215_343_115_8);
        assert_eq!(log10(f64::MAX), 308.254_715_559_916_75);
        assert_eq!(log10(f64::INFINITY), f64::INFINITY);
    }

    const CASES: &[(f64, f64)] = &[
        (249.40374618462192, 2.396902972539038),
        (488110.0, 5.6885177052191755),
        (227.64467073643902, 2.357257487735145),
        (936.8868814781924, 2.971687157893698),
        (177.0, 2.247973266361807),
        (88.35093268143373, 1.9462111385203384),
        (54.5, 1.7363965022766426),
        (614068.0, 5.788216466238182),
        (476.2754769267144, 2.677858220584467),
        (52.88092940929914, 1.7232990794916339),
        (0.90330394798616, -0.044166091633119034),
    ];
}
