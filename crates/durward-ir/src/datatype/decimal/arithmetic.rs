//! Arithmetic as `java.math.BigDecimal` does it in `MathContext.DECIMAL128`: 34 digits, ties to the even neighbour.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::LazyLock;

use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed, Zero};

use super::{DECIMAL_LENGTH_MAX, DECIMAL_SCALE_MAX, Decimal, Repr, digits_big};
use crate::fault::{Evaluated, Fault};

/// The digits of a result at most.
pub const PRECISION: u32 = 34;

/// Powers of ten at hand: enough to align two numbers that are not at the limits.
const POWERS: usize = 128;

pub(super) fn power_of_ten(exponent: u32) -> Cow<'static, BigInt> {
    static TABLE: LazyLock<Vec<BigInt>> = LazyLock::new(|| {
        std::iter::successors(Some(BigInt::one()), |power| Some(power * 10)).take(POWERS).collect()
    });
    match usize::try_from(exponent).ok().and_then(|exponent| TABLE.get(exponent)) {
        Some(power) => Cow::Borrowed(power),
        None => Cow::Owned(BigInt::from(10).pow(exponent)),
    }
}

/// The quotient with its fraction cut off, and what is left; the divisor is not zero.
pub(super) fn divide_big(dividend: &BigInt, divisor: &BigInt) -> (BigInt, BigInt) {
    (dividend / divisor, dividend % divisor)
}

/// Both unscaled values at the larger of the scales, and that scale.
pub(super) fn align(a: &Decimal, b: &Decimal) -> (BigInt, BigInt, i32) {
    let scale = a.scale().max(b.scale());
    let raise = |decimal: &Decimal| match scale.abs_diff(decimal.scale()) {
        0 => decimal.unscaled(),
        zeros => decimal.unscaled() * power_of_ten(zeros).as_ref(),
    };
    (raise(a), raise(b), scale)
}

impl Decimal {
    /// The sum, rounded to [`PRECISION`] digits.
    ///
    /// # Errors
    /// An operand has more digits or a larger scale than SAPL computes with; likewise below.
    pub fn add(&self, other: &Decimal) -> Evaluated<Decimal> {
        self.check()?;
        other.check()?;
        Ok(match small_aligned(self, other) {
            Some((a, b, scale)) => round_i128(a + b, scale),
            None => {
                let (a, b, scale) = align(self, other);
                round(a + b, scale)
            }
        })
    }

    /// The difference.
    ///
    /// # Errors
    /// As [`Decimal::add`].
    pub fn sub(&self, other: &Decimal) -> Evaluated<Decimal> {
        self.check()?;
        other.check()?;
        Ok(match small_aligned(self, other) {
            Some((a, b, scale)) => round_i128(a - b, scale),
            None => {
                let (a, b, scale) = align(self, other);
                round(a - b, scale)
            }
        })
    }

    /// The product; its scale is the sum of the scales as long as no digit has to go.
    ///
    /// # Errors
    /// As [`Decimal::add`].
    pub fn mul(&self, other: &Decimal) -> Evaluated<Decimal> {
        self.check()?;
        other.check()?;
        let scale = self.scale() + other.scale();
        Ok(match (&self.0, &other.0) {
            (Repr::Small { unscaled: a, .. }, Repr::Small { unscaled: b, .. }) => {
                round_i128(i128::from(*a) * i128::from(*b), scale)
            }
            _ => round(self.unscaled() * other.unscaled(), scale),
        })
    }

    /// The quotient. An exact one has the difference of the scales, or the smallest scale above it that it needs;
    /// any other has all [`PRECISION`] digits.
    ///
    /// # Errors
    /// As [`Decimal::add`], and division by zero.
    pub fn div(&self, other: &Decimal) -> Evaluated<Decimal> {
        self.check()?;
        other.check()?;
        if other.is_zero() {
            return Err(division_by_zero());
        }
        let scale = self.scale() - other.scale();
        if let (Repr::Small { unscaled: a, .. }, Repr::Small { unscaled: b, .. }) = (&self.0, &other.0)
            && a.checked_rem(*b) == Some(0)
        {
            return Ok(Decimal::from_i128(i128::from(*a) / i128::from(*b), scale));
        }
        if self.is_zero() {
            return Ok(Decimal::from_i128(0, scale));
        }
        Ok(divide(self, other, scale))
    }

    /// What a division to a whole number leaves: with the sign of the dividend, but when that is below and the
    /// divisor above zero, the divisor is added, so that `-7 % 3` is 2 and `-7 % -3` is -1, as in SAPL.
    ///
    /// # Errors
    /// As [`Decimal::div`], and when the whole quotient has more than [`PRECISION`] digits.
    pub fn rem(&self, other: &Decimal) -> Evaluated<Decimal> {
        self.check()?;
        other.check()?;
        if other.is_zero() {
            return Err(division_by_zero());
        }
        let remainder = truncated_remainder(self, other)
            .ok_or_else(|| Fault::processing("the quotient has too many digits for a remainder"))?;
        if remainder.signum() < 0 && other.signum() > 0 { remainder.add(other) } else { Ok(remainder) }
    }

    /// The number with the other sign.
    #[must_use]
    pub fn neg(&self) -> Decimal {
        match &self.0 {
            Repr::Small { unscaled, scale } => Decimal::from_i128(-i128::from(*unscaled), i32::from(*scale)),
            Repr::Big(big) => Decimal::new(-&big.unscaled, big.scale),
        }
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(&self) -> Decimal {
        if self.signum() < 0 { self.neg() } else { self.clone() }
    }

    /// Rounded to [`PRECISION`] digits, ties to the even neighbour; unchanged when it has no more.
    #[must_use]
    pub fn rounded(&self) -> Decimal {
        match &self.0 {
            Repr::Small { .. } => self.clone(),
            Repr::Big(big) => round(big.unscaled.clone(), big.scale),
        }
    }

    /// The same number with all its zeros: `100` for `1E+2`.
    #[must_use]
    pub fn without_exponent(self) -> Decimal {
        match u32::try_from(self.scale().saturating_neg()) {
            Ok(zeros @ 1..) if zeros <= DECIMAL_SCALE_MAX.unsigned_abs() => {
                Decimal::new(self.unscaled() * &*power_of_ten(zeros), 0)
            }
            Ok(_) | Err(_) => self,
        }
    }

    /// Refuses operands that would make arithmetic slow. Small ones cannot be too long.
    fn check(&self) -> Evaluated<()> {
        if self.scale().abs() > DECIMAL_SCALE_MAX {
            return Err(Fault::processing("the exponent of a number is too large to compute with"));
        }
        match &self.0 {
            Repr::Big(big) if exceeds(&big.unscaled, DECIMAL_LENGTH_MAX) => {
                Err(Fault::processing("a number has too many digits to compute with"))
            }
            Repr::Small { .. } | Repr::Big(_) => Ok(()),
        }
    }
}

fn exceeds(unscaled: &BigInt, digits: usize) -> bool {
    // Three bits to a digit are fewer than any number has.
    unscaled.bits() / 3 > u64::try_from(digits).unwrap_or(u64::MAX)
        && usize::try_from(digits_big(unscaled)).unwrap_or(usize::MAX) > digits
}

fn division_by_zero() -> Box<Fault> {
    Fault::processing("division by zero")
}

/// Both unscaled values at the larger scale, when they are small enough that their sum fits too.
fn small_aligned(a: &Decimal, b: &Decimal) -> Option<(i128, i128, i32)> {
    let (Repr::Small { unscaled: a, scale: s }, Repr::Small { unscaled: b, scale: t }) = (&a.0, &b.0) else {
        return None;
    };
    let (a, b) = (i128::from(*a), i128::from(*b));
    let zeros = u32::from(s.abs_diff(*t));
    match s.cmp(t) {
        Ordering::Equal => Some((a, b, i32::from(*s))),
        // A number of 64 bits and 18 zeros have fewer than 127 bits.
        _ if zeros > 18 => None,
        Ordering::Less => Some((a * 10_i128.pow(zeros), b, i32::from(*t))),
        Ordering::Greater => Some((a, b * 10_i128.pow(zeros), i32::from(*s))),
    }
}

/// Numbers of up to 34 digits are below this.
const SMALL_LIMIT: u128 = 10_u128.pow(PRECISION);

fn round_i128(unscaled: i128, scale: i32) -> Decimal {
    if unscaled.unsigned_abs() < SMALL_LIMIT {
        return Decimal::from_i128(unscaled, scale);
    }
    round(BigInt::from(unscaled), scale)
}

/// Drops digits until [`PRECISION`] are left. Rounding up may carry into one digit more, hence the loop.
fn round(mut unscaled: BigInt, mut scale: i32) -> Decimal {
    loop {
        let excess = digits_big(&unscaled).saturating_sub(PRECISION);
        if excess == 0 {
            return Decimal::new(unscaled, scale);
        }
        let divisor = power_of_ten(excess);
        unscaled = divide_half_even(&unscaled, &divisor).0;
        scale = scale.saturating_sub_unsigned(excess);
    }
}

/// The nearest whole quotient, the even one of two equally near, and whether it is exact.
fn divide_half_even(dividend: &BigInt, divisor: &BigInt) -> (BigInt, bool) {
    let (quotient, remainder) = divide_big(dividend, divisor);
    if remainder.is_zero() {
        return (quotient, true);
    }
    let up = match (remainder.abs() * 2_u8).cmp(&divisor.abs()) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => quotient.bit(0),
    };
    let negative = (dividend.sign() == Sign::Minus) != (divisor.sign() == Sign::Minus);
    let quotient = match (up, negative) {
        (false, _) => quotient,
        (true, true) => quotient - 1_u8,
        (true, false) => quotient + 1_u8,
    };
    (quotient, false)
}

/// The quotient of numbers that are not zero. The dividend is given as many zeros (or the divisor, when it is much
/// shorter) as make the quotient [`PRECISION`] digits long.
fn divide(a: &Decimal, b: &Decimal, scale: i32) -> Decimal {
    let (dividend, divisor) = (a.unscaled(), b.unscaled());
    let more = i64::from(b.precision()) - i64::from(a.precision());
    // With both brought to one length, a larger dividend gives a digit more.
    let larger = match more {
        0.. => (&dividend * power_of_ten(clamp(more)).as_ref()).magnitude() > divisor.magnitude(),
        ..0 => dividend.magnitude() > (&divisor * power_of_ten(clamp(-more)).as_ref()).magnitude(),
    };
    let zeros = i64::from(PRECISION) + more - i64::from(larger);
    let (quotient, is_exact) = if zeros >= 0 {
        divide_half_even(&(dividend * power_of_ten(clamp(zeros)).as_ref()), &divisor)
    } else {
        divide_half_even(&dividend, &(divisor * power_of_ten(clamp(-zeros)).as_ref()))
    };
    let full = scale.saturating_add(i32::try_from(zeros).unwrap_or(i32::MAX));
    if is_exact {
        let (quotient, full) = strip_to(quotient, full, scale);
        round(quotient, full)
    } else {
        round(quotient, full)
    }
}

fn clamp(exponent: i64) -> u32 {
    u32::try_from(exponent).unwrap_or(0)
}

/// Drops zeros at the end as long as the scale is larger than the preferred one.
fn strip_to(mut unscaled: BigInt, mut scale: i32, preferred: i32) -> (BigInt, i32) {
    while scale > preferred {
        let (quotient, remainder) = divide_big(&unscaled, &BigInt::from(10));
        if !remainder.is_zero() {
            break;
        }
        unscaled = quotient;
        scale -= 1;
    }
    (unscaled, scale)
}

/// The remainder with the sign of the dividend, with the scale that `BigDecimal.remainder` gives it; `None` when the
/// quotient is too long.
fn truncated_remainder(a: &Decimal, b: &Decimal) -> Option<Decimal> {
    if let (Repr::Small { unscaled: x, scale: s }, Repr::Small { unscaled: y, scale: t }) = (&a.0, &b.0)
        && s == t
    {
        return Some(Decimal::from_i128(i128::from(*x) % i128::from(*y), i32::from(*s)));
    }
    let (dividend, divisor, scale) = align(a, b);
    let (quotient, remainder) = divide_big(&dividend, &divisor);
    if quotient.is_zero() {
        return Some(a.clone());
    }
    let quotient_scale = quotient_scale(quotient, a.scale() - b.scale())?;
    Some(rescale(remainder, scale, a.scale().max(quotient_scale + b.scale())))
}

/// The scale of a whole quotient: zeros are added or dropped towards the preferred scale, as far as the digits allow.
/// `None` when the digits do not suffice for the quotient.
fn quotient_scale(quotient: BigInt, preferred: i32) -> Option<i32> {
    let digits = digits_big(&quotient);
    let Some(excess) = digits.checked_sub(PRECISION + 1).map(|excess| excess + 1) else {
        let room = i32::try_from(PRECISION - digits).unwrap_or(0);
        return Some(if preferred > 0 { room.min(preferred) } else { strip_to(quotient, 0, preferred).1 });
    };
    let (leading, rest) = divide_big(&quotient, &power_of_ten(excess));
    let scale = 0_i32.checked_sub_unsigned(excess)?;
    rest.is_zero().then(|| strip_to(leading, scale, preferred).1)
}

/// The same number at another scale, which has to suffice for it.
fn rescale(unscaled: BigInt, scale: i32, wanted: i32) -> Decimal {
    let power = power_of_ten(scale.abs_diff(wanted));
    let unscaled = if wanted >= scale { unscaled * power.as_ref() } else { unscaled / power.as_ref() };
    Decimal::new(unscaled, wanted)
}
