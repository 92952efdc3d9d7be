//! `xs:integer`: whole numbers without bounds, small ones without allocation.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use num_bigint::BigInt;
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};

use crate::datatype::Reason;

/// The longest literal read, in digits. Reading takes time quadratic in the length; this is far beyond any use
/// and still read in under a millisecond. Just enough for every number of [`INTEGER_BITS_MAX`] bits.
pub const INTEGER_DIGITS_MAX: usize = 19_729;

/// The largest result of arithmetic, in bits: a policy multiplying in steps must not grow numbers without end.
pub const INTEGER_BITS_MAX: u64 = 65_536;

/// An integer without bounds (`xs:integer`). INVARIANT: `Big` only holds what does not fit `Small`, so equality
/// is structural.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Integer {
    /// The usual case.
    Small(i64),
    /// Anything beyond 64 bits.
    Big(Arc<BigInt>),
}

impl Integer {
    /// Zero.
    pub const ZERO: Integer = Integer::Small(0);

    /// Reads `[+-]?[0-9]+` (XML Schema part 2, section 3.3.13).
    pub(crate) fn parse(text: &str) -> Result<Integer, Reason> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
            return Err("");
        }
        if unsigned.len() > INTEGER_DIGITS_MAX {
            return Err("the number is too long");
        }
        if let Ok(small) = text.parse::<i64>() {
            return Ok(Integer::Small(small));
        }
        let big = text.parse::<BigInt>().map_err(|_| "")?;
        Integer::from_big(big).ok_or("the number is too long")
    }

    /// The integer of this value, or `None` beyond [`INTEGER_BITS_MAX`].
    pub fn from_big(big: BigInt) -> Option<Integer> {
        match big.to_i64() {
            Some(small) => Some(Integer::Small(small)),
            None if big.bits() <= INTEGER_BITS_MAX => Some(Integer::Big(Arc::new(big))),
            None => None,
        }
    }

    /// The whole part of `double`, or `None` for `NaN` and the infinities.
    pub fn from_double_truncated(double: f64) -> Option<Integer> {
        Integer::from_big(BigInt::from_f64(double.trunc())?)
    }

    /// The nearest double, or `None` outside the range of doubles.
    #[expect(clippy::cast_precision_loss, reason = "rounding to the nearest double is what promotion means")]
    pub fn to_double(&self) -> Option<f64> {
        match self {
            Integer::Small(small) => Some(*small as f64),
            Integer::Big(big) => big.to_f64().filter(|double| double.is_finite()),
        }
    }

    /// The value, when it fits 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Integer::Small(small) => Some(*small),
            Integer::Big(_) => None,
        }
    }

    fn to_big(&self) -> BigInt {
        match self {
            Integer::Small(small) => BigInt::from(*small),
            Integer::Big(big) => BigInt::clone(big),
        }
    }

    /// True of zero.
    pub fn is_zero(&self) -> bool {
        matches!(self, Integer::Small(0))
    }

    /// True of numbers below zero.
    pub fn is_negative(&self) -> bool {
        match self {
            Integer::Small(small) => small.is_negative(),
            Integer::Big(big) => big.is_negative(),
        }
    }

    fn small_pair(&self, other: &Integer) -> Option<(i64, i64)> {
        Some((self.to_i64()?, other.to_i64()?))
    }

    /// The sum, or `None` beyond [`INTEGER_BITS_MAX`]; likewise below.
    pub fn add(&self, other: &Integer) -> Option<Integer> {
        match self.small_pair(other).and_then(|(a, b)| a.checked_add(b)) {
            Some(small) => Some(Integer::Small(small)),
            None => Integer::from_big(self.to_big() + other.to_big()),
        }
    }

    /// The difference.
    pub fn subtract(&self, other: &Integer) -> Option<Integer> {
        match self.small_pair(other).and_then(|(a, b)| a.checked_sub(b)) {
            Some(small) => Some(Integer::Small(small)),
            None => Integer::from_big(self.to_big() - other.to_big()),
        }
    }

    /// The product.
    pub fn multiply(&self, other: &Integer) -> Option<Integer> {
        match self.small_pair(other).and_then(|(a, b)| a.checked_mul(b)) {
            Some(small) => Some(Integer::Small(small)),
            None => Integer::from_big(self.to_big() * other.to_big()),
        }
    }

    /// The quotient with its fraction cut off, so that `-7 / 2` is `-3`; `None` when `other` is zero.
    pub fn divide(&self, other: &Integer) -> Option<Integer> {
        if other.is_zero() {
            return None;
        }
        match self.small_pair(other).and_then(|(a, b)| a.checked_div(b)) {
            Some(small) => Some(Integer::Small(small)),
            None => Integer::from_big(self.to_big() / other.to_big()),
        }
    }

    /// What [`Integer::divide`] leaves, with the sign of `self`, so that `-7 mod 2` is `-1`; `None` when `other`
    /// is zero.
    pub fn remainder(&self, other: &Integer) -> Option<Integer> {
        if other.is_zero() {
            return None;
        }
        match self.small_pair(other).and_then(|(a, b)| a.checked_rem(b)) {
            Some(small) => Some(Integer::Small(small)),
            None => Integer::from_big(self.to_big() % other.to_big()),
        }
    }

    /// The value without its sign.
    pub fn absolute(&self) -> Option<Integer> {
        match self.to_i64().and_then(i64::checked_abs) {
            Some(small) => Some(Integer::Small(small)),
            None => Integer::from_big(self.to_big().abs()),
        }
    }
}

impl From<i64> for Integer {
    fn from(small: i64) -> Integer {
        Integer::Small(small)
    }
}

impl Ord for Integer {
    fn cmp(&self, other: &Integer) -> Ordering {
        match (self, other) {
            (Integer::Small(a), Integer::Small(b)) => a.cmp(b),
            (Integer::Big(a), Integer::Big(b)) => a.cmp(b),
            // A big number is beyond every small one, on the side of its sign.
            (Integer::Small(_), Integer::Big(b)) => BigInt::zero().cmp(b),
            (Integer::Big(a), Integer::Small(_)) => BigInt::cmp(a, &BigInt::zero()),
        }
    }
}

impl PartialOrd for Integer {
    fn partial_cmp(&self, other: &Integer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Integer::Small(small) => small.fmt(f),
            Integer::Big(big) => big.fmt(f),
        }
    }
}
