//! The words of violations: those of networknt's validator, version 3.

use durward_ir::datatype::Decimal;
use durward_ir::value::Value;
use num_bigint::BigInt;

/// A number as Java's `MessageFormat` writes it in English: thousands parted by commas, at most three digits of
/// fraction, ties to the even digit.
pub(super) fn formatted(number: &Decimal) -> String {
    const FRACTION_DIGITS: i32 = 3;
    let rounded = round(number, FRACTION_DIGITS);
    let plain = rounded.strip_zeros().to_plain();
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

fn round(number: &Decimal, digits: i32) -> Decimal {
    let surplus = number.scale().saturating_sub(digits);
    let Ok(surplus @ 1..) = u32::try_from(surplus) else { return number.clone() };
    let unit = BigInt::from(10).pow(surplus);
    let (unscaled, zero) = (number.unscaled(), BigInt::ZERO);
    let (quotient, remainder) = (&unscaled / &unit, &unscaled % &unit);
    let twice = BigInt::from(remainder.magnitude() * 2_u32);
    let is_odd = quotient.bit(0);
    let away = twice > unit || (twice == unit && is_odd);
    let step = BigInt::from(if unscaled < zero { -1 } else { 1 });
    Decimal::new(if away { quotient + step } else { quotient }, digits)
}

/// A count, as above.
pub(super) fn count(number: i64) -> String {
    formatted(&Decimal::from(number))
}

/// A length, as above.
pub(crate) fn length(number: usize) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The values of `enum`: as JSON, in brackets.
pub(super) fn enumeration(values: &[Value]) -> String {
    // As Jackson has it, `null` itself has an empty text.
    let text = |value: &Value| if matches!(value, Value::Null) { String::new() } else { value.to_json() };
    let texts: Vec<String> = values.iter().map(text).collect();
    format!("[{}]", texts.join(", "))
}

/// A constant: texts as they are, anything else as JSON.
pub(super) fn constant(value: &Value) -> String {
    if let Value::Text(text) = value { text.to_string() } else { value.to_json() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_message_formats_do() {
        for (number, expected) in [
            ("0", "0"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-1234567", "-1,234,567"),
            ("0.01", "0.01"),
            ("0.0005", "0"),
            ("0.0015", "0.002"),
            ("0.0006", "0.001"),
            ("-2.5005", "-2.5"),
            ("1e3", "1,000"),
            ("1.500", "1.5"),
        ] {
            assert_eq!(formatted(&Decimal::parse(number).unwrap()), expected, "{number}");
        }
    }
}
