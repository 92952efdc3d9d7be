//! Decimal numbers of any precision that remember how they were written (`1.50`, `1E+3`): SAPL's numbers.
//!
//! They follow `java.math.BigDecimal`, because that is what the text of a decision shows: a number is a whole
//! number, the unscaled value, divided by ten to the power of its scale. Arithmetic is in `arithmetic`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::{BigInt, Sign};
use num_traits::{ToPrimitive, Zero};

use crate::datatype::Reason;

mod arithmetic;
mod text;

pub use arithmetic::PRECISION;

/// The longest text read as a number, in characters, as SAPL has it. Reading takes time quadratic in the length;
/// this is read within microseconds.
pub const DECIMAL_LENGTH_MAX: usize = 1000;

/// The largest scale, without its sign, of numbers that are read or computed with, as SAPL has it: numbers of very
/// different scales must not make each other long.
pub const DECIMAL_SCALE_MAX: i32 = 1000;

/// A decimal number: `unscaled / 10^scale`. Equality, order and hashes are those of the number, whatever its
/// scale: `1`, `1.0` and `1e0` are equal.
#[derive(Clone)]
pub struct Decimal(Repr);

/// INVARIANT: `Big` only holds what does not fit `Small`.
#[derive(Clone)]
enum Repr {
    /// The usual case, without allocation.
    Small { unscaled: i64, scale: i16 },
    /// Anything else.
    Big(Arc<Big>),
}

struct Big {
    unscaled: BigInt,
    scale: i32,
}

impl Decimal {
    /// Zero, with the scale 0.
    pub const ZERO: Decimal = Decimal::small(0, 0);
    /// One, with the scale 0.
    pub const ONE: Decimal = Decimal::small(1, 0);

    const fn small(unscaled: i64, scale: i16) -> Decimal {
        Decimal(Repr::Small { unscaled, scale })
    }

    /// The number `unscaled / 10^scale`, exactly, with this scale.
    pub fn new(unscaled: BigInt, scale: i32) -> Decimal {
        match (unscaled.to_i64(), i16::try_from(scale)) {
            (Some(unscaled), Ok(scale)) => Decimal::small(unscaled, scale),
            _ => Decimal(Repr::Big(Arc::new(Big { unscaled, scale }))),
        }
    }

    fn from_i128(unscaled: i128, scale: i32) -> Decimal {
        match (i64::try_from(unscaled), i16::try_from(scale)) {
            (Ok(unscaled), Ok(scale)) => Decimal::small(unscaled, scale),
            _ => Decimal::new(BigInt::from(unscaled), scale),
        }
    }

    /// Reads `[+-]? (d+ (. d*)? | . d+) ([eE] [+-]? d+)?`, keeping the scale: `1.50` has the scale 2, `1e3` the
    /// scale -3. This is what Java's `BigDecimal` reads, in ASCII digits.
    ///
    /// # Errors
    /// Another text, one longer than [`DECIMAL_LENGTH_MAX`], or a scale beyond [`DECIMAL_SCALE_MAX`]; the reason in
    /// a few words, to be put behind a colon.
    pub fn parse(text: &str) -> Result<Decimal, Reason> {
        text::parse(text)
    }

    /// The decimal whose digits are the fewest that tell this double from its neighbours, as Java's
    /// `BigDecimal.valueOf` has it: `0.1` is 0.1, `100.0` has the scale 1. `None` for `NaN` and the infinities.
    pub fn from_f64(double: f64) -> Option<Decimal> {
        text::from_f64(double)
    }

    /// The number without an exponent, as `BigDecimal.toPlainString` writes it: `1E+3` is `1000`.
    pub fn to_plain(&self) -> String {
        text::to_plain(self)
    }

    /// The number as SAPL makes values of numbers: what equals 0, 1 or 10 is written so, however it was written (`1.0` is
    /// `1`, `1e1` is `10`), and all others keep their digits. Results of operators are not values made so.
    #[must_use]
    #[inline]
    pub fn interned(self) -> Decimal {
        match self.0 {
            Repr::Small { scale: 0, .. } => self,
            Repr::Small { .. } | Repr::Big(_) => self.interned_with_scale(),
        }
    }

    fn interned_with_scale(self) -> Decimal {
        match self.to_i64() {
            Some(common @ (0 | 1 | 10)) => Decimal::small(common, 0),
            Some(_) | None => self,
        }
    }

    /// The value when it is a whole number of 64 bits, however it is written: `2.0` is 2.
    #[inline]
    pub fn to_i64(&self) -> Option<i64> {
        if let Repr::Small { unscaled, scale: 0 } = self.0 {
            return Some(unscaled);
        }
        let (unscaled, scale) = self.stripped()?;
        match u32::try_from(-scale) {
            Ok(zeros) => unscaled.checked_mul(10_i64.checked_pow(zeros)?),
            Err(_) => None,
        }
    }

    /// The nearest double; infinite beyond their range.
    #[expect(clippy::cast_precision_loss, reason = "rounding to the nearest double is what is asked for")]
    pub fn to_f64(&self) -> f64 {
        match self.0 {
            // Up to 53 bits are exact.
            Repr::Small { unscaled, scale: 0 } if unscaled.unsigned_abs() <= 1 << 53 => unscaled as f64,
            Repr::Small { .. } | Repr::Big(_) => self.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// Whether the number has no fraction: true of `2.0` and `1E+3`.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Small { scale, .. } if *scale <= 0 => true,
            Repr::Small { .. } => self.stripped().is_none_or(|(_, scale)| scale <= 0),
            Repr::Big(big) => big.scale <= 0 || strip_big(&big.unscaled, big.scale).1 <= 0,
        }
    }

    /// True of zero, whatever its scale.
    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Small { unscaled, .. } => *unscaled == 0,
            Repr::Big(big) => big.unscaled.is_zero(),
        }
    }

    /// -1, 0 or 1, as the number is below, equal to or above zero.
    pub fn signum(&self) -> i8 {
        match &self.0 {
            Repr::Small { unscaled, .. } => match unscaled.cmp(&0) {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            },
            Repr::Big(big) => match big.unscaled.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
        }
    }

    /// The whole number that the scale divides.
    pub fn unscaled(&self) -> BigInt {
        match &self.0 {
            Repr::Small { unscaled, .. } => BigInt::from(*unscaled),
            Repr::Big(big) => big.unscaled.clone(),
        }
    }

    /// How many digits stand after the point; below zero, how many zeros the exponent adds.
    pub fn scale(&self) -> i32 {
        match &self.0 {
            Repr::Small { scale, .. } => i32::from(*scale),
            Repr::Big(big) => big.scale,
        }
    }

    /// How many digits the unscaled value has; 1 for zero.
    pub fn precision(&self) -> u32 {
        match &self.0 {
            Repr::Small { unscaled, .. } => digits(*unscaled),
            Repr::Big(big) => digits_big(&big.unscaled),
        }
    }

    /// The bytes that the number takes beside those of its value: 0 up to 64 bits.
    pub(crate) fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Small { .. } => 0,
            Repr::Big(big) => usize::try_from(big.unscaled.bits() / 8).unwrap_or(usize::MAX),
        }
    }

    /// The same number without zeros at the end of its digits (`1.50` becomes `1.5`, `100` becomes `1E+2`, every
    /// zero 0), as `BigDecimal.stripTrailingZeros`.
    pub fn strip_zeros(&self) -> Decimal {
        match &self.0 {
            Repr::Small { unscaled, scale } => {
                let (unscaled, scale) = strip(*unscaled, i32::from(*scale));
                Decimal::from_i128(unscaled.into(), scale)
            }
            Repr::Big(big) => {
                let (unscaled, scale) = strip_big(&big.unscaled, big.scale);
                Decimal::new(unscaled, scale)
            }
        }
    }

    /// The small unscaled value and the scale of [`Decimal::strip_zeros`], if it is small.
    fn stripped(&self) -> Option<(i64, i32)> {
        match &self.0 {
            Repr::Small { unscaled, scale } => Some(strip(*unscaled, i32::from(*scale))),
            Repr::Big(big) => {
                let (unscaled, scale) = strip_big(&big.unscaled, big.scale);
                Some((unscaled.to_i64()?, scale))
            }
        }
    }

    /// The power of ten just above the number: equal numbers have equal ones.
    fn magnitude(&self) -> i64 {
        i64::from(self.precision()) - i64::from(self.scale())
    }
}

/// Without zeros at the end; zero has the scale 0.
#[inline]
fn strip(mut unscaled: i64, mut scale: i32) -> (i64, i32) {
    if unscaled == 0 {
        return (0, 0);
    }
    while unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    (unscaled, scale)
}

/// As [`strip`]. Cuts in halves of what may be there, as dividing a long number by ten a thousand times is slow.
fn strip_big(unscaled: &BigInt, scale: i32) -> (BigInt, i32) {
    if unscaled.is_zero() {
        return (BigInt::zero(), 0);
    }
    let (mut unscaled, mut scale) = (unscaled.clone(), scale);
    let mut step = (digits_big(&unscaled) / 2).max(1).next_power_of_two();
    while step > 0 {
        let (quotient, remainder) = arithmetic::divide_big(&unscaled, &arithmetic::power_of_ten(step));
        if remainder.is_zero() {
            unscaled = quotient;
            scale = scale.saturating_sub_unsigned(step);
        } else {
            step /= 2;
        }
    }
    (unscaled, scale)
}

fn digits(unscaled: i64) -> u32 {
    unscaled.unsigned_abs().checked_ilog10().unwrap_or(0) + 1
}

/// How many digits a big number has. Its bits tell to within one.
fn digits_big(unscaled: &BigInt) -> u32 {
    let magnitude = unscaled.magnitude();
    if let Some(small) = magnitude.to_u64() {
        return small.checked_ilog10().unwrap_or(0) + 1;
    }
    // 2^bits has bits * log10(2) digits; 1233/4096 is a little below, and exact enough below 10,000 bits; beyond,
    // the error is in the safe direction and the loop makes up for it.
    let mut count = u32::try_from((magnitude.bits() - 1) * 1233 / 4096).unwrap_or(u32::MAX - 1);
    while arithmetic::power_of_ten(count).magnitude() <= magnitude {
        count += 1;
    }
    count
}

impl From<i64> for Decimal {
    fn from(whole: i64) -> Decimal {
        Decimal::small(whole, 0)
    }
}

impl From<BigInt> for Decimal {
    fn from(whole: BigInt) -> Decimal {
        Decimal::new(whole, 0)
    }
}

impl PartialEq for Decimal {
    #[inline]
    fn eq(&self, other: &Decimal) -> bool {
        match (&self.0, &other.0) {
            (Repr::Small { unscaled: a, scale: s }, Repr::Small { unscaled: b, scale: t }) if s == t => {
                a == b
            }
            _ => self.cmp(other).is_eq(),
        }
    }
}

impl Eq for Decimal {}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        if let (Repr::Small { unscaled: a, scale: s }, Repr::Small { unscaled: b, scale: t }) =
            (&self.0, &other.0)
            && s == t
        {
            return a.cmp(b);
        }
        let signs = self.signum().cmp(&other.signum());
        if signs.is_ne() || self.is_zero() {
            return signs;
        }
        let magnitudes = self.magnitude().cmp(&other.magnitude());
        if magnitudes.is_ne() {
            return if self.signum() > 0 { magnitudes } else { magnitudes.reverse() };
        }
        let (a, b, _) = arithmetic::align(self, other);
        a.cmp(&b)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Decimal {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Small { unscaled, scale } => {
                let (unscaled, scale) = strip(*unscaled, i32::from(*scale));
                state.write_i64(unscaled);
                state.write_i32(scale);
            }
            Repr::Big(big) => {
                let (unscaled, scale) = strip_big(&big.unscaled, big.scale);
                match unscaled.to_i64() {
                    Some(small) => state.write_i64(small),
                    None => unscaled.hash(state),
                }
                state.write_i32(scale);
            }
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
