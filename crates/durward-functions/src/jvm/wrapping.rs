//! Decimals as Java's `long`, where the engine does not look whether they fit.

use durward_ir::datatype::Decimal;
use num_bigint::{BigInt, Sign};

/// `BigDecimal.longValue`: without the fraction, and of what is too large the low 64 bits.
pub fn wrapping_long(number: &Decimal) -> i64 {
    if let Some(whole) = number.to_i64() {
        return whole;
    }
    let (sign, digits) = whole_part(number).into_parts();
    let low = digits.iter_u64_digits().next().unwrap_or(0).cast_signed();
    if sign == Sign::Minus { low.wrapping_neg() } else { low }
}

/// `BigDecimal.toBigInteger`: the number without its fraction.
fn whole_part(number: &Decimal) -> BigInt {
    let power = BigInt::from(10).pow(number.scale().unsigned_abs());
    if number.scale() > 0 { number.unscaled() / power } else { number.unscaled() * power }
}

#[cfg(test)]
mod tests {
    use super::wrapping_long;
    use durward_ir::datatype::Decimal;

    #[test]
    fn a_long_is_cut_from_a_decimal_as_java_cuts_it() {
        for (number, long) in [
            ("2.9", 2),
            ("-2.9", -2),
            ("0.5", 0),
            ("9223372036854775807", i64::MAX),
            ("9223372036854775808", i64::MIN),
            ("18446744073709551617", 1),
            ("-18446744073709551617", -1),
            ("1E+30", 5_076_944_270_305_263_616),
            ("1E+1000", 0),
            ("1E-1000", 0),
        ] {
            assert_eq!(wrapping_long(&Decimal::parse(number).unwrap()), long, "{number}");
        }
    }
}
