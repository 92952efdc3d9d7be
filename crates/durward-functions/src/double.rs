//! Numbers of twice the digits of a double, as a sum of two (Dekker, Numerische Mathematik 18, 1971): enough that where
//! two segments cross, and a logarithm, come out rounded once.

use std::ops::{Add, Div, Mul, Sub};

/// An unevaluated sum: the second is less than half a unit in the last place of the first.
#[derive(Clone, Copy, Debug)]
pub struct Double(f64, f64);

/// The sum of two doubles and what rounding lost of it.
#[inline]
fn two_sum(a: f64, b: f64) -> Double {
    let sum = a + b;
    let b_seen = sum - a;
    Double(sum, (a - (sum - b_seen)) + (b - b_seen))
}

/// As [`two_sum`], of a first that is not the smaller one.
#[inline]
fn quick_sum(a: f64, b: f64) -> Double {
    let sum = a + b;
    Double(sum, b - (sum - a))
}

impl Double {
    /// A constant whose second part is below the last digit of the first.
    #[inline]
    pub const fn of(high: f64, low: f64) -> Double {
        Double(high, low)
    }

    /// The sum of two doubles, exactly.
    #[inline]
    pub fn sum(a: f64, b: f64) -> Double {
        two_sum(a, b)
    }

    /// The first double without the second, exactly.
    #[inline]
    pub fn difference(a: f64, b: f64) -> Double {
        two_sum(a, -b)
    }

    /// The product of two doubles, exactly unless its lower half is too small for a double.
    #[inline]
    pub fn product(a: f64, b: f64) -> Double {
        let product = a * b;
        Double(product, a.mul_add(b, -product))
    }

    /// The nearest double.
    #[inline]
    pub fn value(self) -> f64 {
        self.0 + self.1
    }

    #[inline]
    fn times(self, factor: f64) -> Double {
        let product = Double::product(self.0, factor);
        quick_sum(product.0, product.1 + self.1 * factor)
    }
}

impl From<f64> for Double {
    #[inline]
    fn from(number: f64) -> Double {
        Double(number, 0.0)
    }
}

impl Add for Double {
    type Output = Double;

    #[inline]
    fn add(self, other: Double) -> Double {
        self - Double(-other.0, -other.1)
    }
}

impl Sub for Double {
    type Output = Double;

    #[inline]
    fn sub(self, other: Double) -> Double {
        let high = two_sum(self.0, -other.0);
        let low = two_sum(self.1, -other.1);
        let sum = quick_sum(high.0, high.1 + low.0);
        quick_sum(sum.0, sum.1 + low.1)
    }
}

impl Mul for Double {
    type Output = Double;

    #[inline]
    fn mul(self, other: Double) -> Double {
        let product = Double::product(self.0, other.0);
        quick_sum(product.0, product.1 + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Div for Double {
    type Output = Double;

    #[inline]
    fn div(self, other: Double) -> Double {
        let first = self.0 / other.0;
        let rest = self - other.times(first);
        let second = rest.0 / other.0;
        let third = (rest - other.times(second)).0 / other.0;
        let quotient = quick_sum(first, second);
        quick_sum(quotient.0, quotient.1 + third)
    }
}
