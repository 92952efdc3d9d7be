//! The decimal logarithm, rounded right: that of the platform is off by one in the last digit for some numbers, and Java's
//! hardly ever is.

use std::f64::consts::{self, SQRT_2};
use std::sync::LazyLock;

use crate::double::Double;

/// log10(e) and log10(2) with 106 bits.
const LOG10_E: Double = Double::of(consts::LOG10_E, 1.098_319_650_216_765e-17);
const LOG10_2: Double = Double::of(consts::LOG10_2, -2.803_728_127_785_170_4e-18);

/// The series below, 1/(2n + 1), the last term first. What comes after so many terms is beyond 106 bits.
static TERMS: LazyLock<[Double; 22]> = LazyLock::new(|| {
    let mut odd = 45.0;
    [(); 22].map(|()| {
        odd -= 2.0;
        Double::from(1.0) / Double::from(odd)
    })
});

/// `Math.log10` of a number above zero.
pub fn log10(x: f64) -> f64 {
    if !x.is_finite() {
        return x;
    }
    let (fraction, exponent) = split(x);
    // ln(m) = 2 artanh((m - 1) / (m + 1)), and the series of artanh. Difference and sum are exact.
    let z = Double::difference(fraction, 1.0) / Double::sum(fraction, 1.0);
    let square = z * z;
    let sum = TERMS.iter().fold(Double::from(0.0), |sum, term| sum * square + *term);
    let natural = sum * z * Double::from(2.0);
    (LOG10_2 * Double::from(f64::from(exponent)) + natural * LOG10_E).value()
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
