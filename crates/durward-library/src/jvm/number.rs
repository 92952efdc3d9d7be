//! Numbers: how Java's `long`, `int` and `double` come out of decimals and go into them.

use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::value::Value;
use num_bigint::BigInt;

/// A whole number.
pub(crate) fn whole(number: impl Into<i64>) -> Value {
    Value::Number(Decimal::from(number.into()))
}

/// A number as SAPL makes values of decimals: 0, 1 and 10 lose their scale (`1.00` becomes `1`), all others keep it.
pub(crate) fn number(decimal: Decimal) -> Value {
    Value::number(decimal)
}

/// A number from a double: whole ones of 64 bits without a fraction, others with the fewest digits that tell them
/// apart.
///
/// # Errors
/// The double is infinite or not a number.
pub(crate) fn double(double: f64) -> Evaluated<Value> {
    // 2^63, the first double beyond 64 bits.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if double.fract() == 0.0 && double.abs() < BEYOND {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number within 64 bits")]
        return Ok(whole(double as i64));
    }
    let decimal = Decimal::from_f64(double)
        .ok_or_else(|| Fault::processing("the result is beyond the range of floating point numbers"))?;
    Ok(Value::Number(decimal))
}

/// The number when it is written as a whole one of 64 bits: `2` and `2E+1`, not `2.0`.
pub(crate) fn long(decimal: &Decimal) -> Option<i64> {
    if decimal.scale() > 0 { None } else { decimal.to_i64() }
}

/// `BigDecimal.intValue`: without the fraction, the low 32 bits.
pub(crate) fn int(decimal: &Decimal) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
    fn low_bits(long: i64) -> i32 {
        long as i32
    }
    match decimal.to_i64() {
        Some(long) => low_bits(long),
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

/// As [`int`], for functions that check the range of `long` before.
///
/// # Errors
/// The number is beyond 64 bits.
pub(crate) fn checked_int(decimal: &Decimal) -> Evaluated<i32> {
    if *decimal < Decimal::from(i64::MIN) || *decimal > Decimal::from(i64::MAX) {
        return Err(Fault::processing(format!("the number {decimal} is beyond 64 bits")));
    }
    Ok(int(decimal))
}
