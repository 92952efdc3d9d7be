//! Numbers: how Java's `long`, `int` and `double` come out of decimals and go into them.

use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::value::Value;
use num_bigint::BigInt;

/// A whole number.
#[inline]
pub fn whole(number: impl Into<i64>) -> Value {
    Value::Number(Decimal::from(number.into()))
}

/// A number as SAPL makes values of decimals: 0, 1 and 10 lose their scale (`1.00` becomes `1`), all others keep it.
#[inline]
pub fn number(decimal: Decimal) -> Value {
    Value::number(decimal)
}

/// A number from a double, as SAPL makes values of them: 0, 1 and 10 are whole, all others are written as
/// `Double.toString` does: `3.0`, `1.0E+7`.
///
/// # Errors
/// The double is infinite or not a number.
pub fn double(double: f64) -> Evaluated<Value> {
    let decimal = Decimal::from_f64(double)
        .ok_or_else(|| Fault::processing("the result is beyond the range of floating point numbers"))?;
    Ok(number(decimal))
}

/// The number when it is written as a whole one of 64 bits: `2` and `2E+1`, not `2.0`.
#[inline]
pub fn long(decimal: &Decimal) -> Option<i64> {
    if decimal.scale() > 0 { None } else { decimal.to_i64() }
}

/// `BigDecimal.intValue`: without the fraction, the low 32 bits.
pub fn int(decimal: &Decimal) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
    fn low_bits(long: i64) -> i32 {
        long as i32
    }
    match decimal.to_i64() {
        Some(long) => low_bits(long),
        // 10^32 has no bit below the 33rd.
        None if decimal.scale() <= -32 => 0,
        None => low_bits(low_long(&truncated(decimal))),
    }
}

/// The low 63 bits and the sign, of which only the low 32 bits are of use.
fn low_long(number: &BigInt) -> i64 {
    i64::try_from(number % (BigInt::from(1) << 62_u32)).unwrap_or_default()
}

/// The whole part. Decimals have scales of a few thousands at most, or as many digits as their scale.
fn truncated(decimal: &Decimal) -> BigInt {
    let scale = decimal.scale();
    if scale <= 0 {
        return decimal.unscaled() * BigInt::from(10).pow(scale.unsigned_abs());
    }
    if scale.unsigned_abs() >= decimal.precision() {
        return BigInt::ZERO;
    }
    decimal.unscaled() / BigInt::from(10).pow(scale.unsigned_abs())
}

/// `BigDecimal.intValueExact`: `2.0` is 2.
///
/// # Errors
/// The number has a fraction, or is beyond 32 bits.
pub fn exact_int(decimal: &Decimal) -> Evaluated<i32> {
    let int = decimal.to_i64().and_then(|long| i32::try_from(long).ok());
    int.ok_or_else(|| Fault::processing(format!("the number {decimal} is not a whole number of 32 bits")))
}

/// The next whole number above, of scale 0.
pub fn ceiling(decimal: &Decimal) -> Decimal {
    floor(&decimal.neg()).neg()
}

/// The next whole number below, of scale 0: `BigDecimal.setScale(0, FLOOR)`.
pub fn floor(decimal: &Decimal) -> Decimal {
    let whole = truncated(decimal);
    let is_above = decimal.signum() < 0 && Decimal::from(whole.clone()) != *decimal;
    Decimal::from(if is_above { whole - 1 } else { whole })
}
