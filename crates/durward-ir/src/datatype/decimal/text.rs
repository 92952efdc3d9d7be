//! Decimals from text and doubles, and back.

use std::fmt::{self, Write};

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::Zero;

use super::{DECIMAL_LENGTH_MAX, DECIMAL_SCALE_MAX, Decimal, Repr};
use crate::datatype::Reason;
use crate::datatype::lexical::Reader;

pub(super) fn parse(text: &str) -> Result<Decimal, Reason> {
    if let Some(whole) = parse_whole(text) {
        return Ok(Decimal::from(whole));
    }
    if text.len() > DECIMAL_LENGTH_MAX {
        return Err("the number is too long");
    }
    let mut reader = Reader::new(text);
    let negative = reader.take(b'-');
    if !negative {
        reader.take(b'+');
    }
    let whole = reader.digits();
    let fraction: &[u8] = if reader.take(b'.') { reader.digits() } else { &[] };
    let exponent = if reader.take(b'e') || reader.take(b'E') { read_exponent(&mut reader)? } else { 0 };
    if !reader.is_at_end() || whole.len() + fraction.len() == 0 {
        return Err("");
    }
    let scale = i32::try_from(fraction.len()).unwrap_or(i32::MAX).saturating_sub(exponent);
    if scale.abs() > DECIMAL_SCALE_MAX {
        return Err("its exponent is out of range");
    }
    join(whole, fraction, negative, scale)
}

/// The usual number: up to 18 digits, and nothing else but a minus.
fn parse_whole(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let whole =
        digits.bytes().try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0')))?;
    Some(if digits.len() < text.len() { -whole } else { whole })
}

fn read_exponent(reader: &mut Reader<'_>) -> Result<i32, Reason> {
    let negative = reader.take(b'-');
    if !negative {
        reader.take(b'+');
    }
    let digits = reader.digits();
    if digits.is_empty() {
        return Err("");
    }
    let size =
        digits.iter().fold(0, |size: i32, b| size.saturating_mul(10).saturating_add(i32::from(b - b'0')));
    Ok(if negative { -size } else { size })
}

/// The digits of both parts as one number.
fn join(whole: &[u8], fraction: &[u8], negative: bool, scale: i32) -> Result<Decimal, Reason> {
    let digits = whole.iter().chain(fraction);
    if whole.len() + fraction.len() <= 18 {
        let small = digits.fold(0, |sum, b| sum * 10 + i128::from(b - b'0'));
        return Ok(Decimal::from_i128(if negative { -small } else { small }, scale));
    }
    let digits: Vec<u8> = digits.copied().collect();
    let sign = if negative { Sign::Minus } else { Sign::Plus };
    let magnitude = BigUint::parse_bytes(&digits, 10).ok_or("")?;
    Ok(Decimal::new(BigInt::from_biguint(sign, magnitude), scale))
}

/// By way of the text that Java's `Double.toString` writes: at least one digit after the point, an exponent below
/// 10^-3 and from 10^7 on. Rust gives the same shortest digits, except where one digit is enough: Java then takes
/// the best two, which differ only for the smallest doubles (`4.9E-324`). And of two shortest texts that are equally
/// near, Java takes the even one, as rounding to so many digits does.
pub(super) fn from_f64(double: f64) -> Option<Decimal> {
    if !double.is_finite() {
        return None;
    }
    let mut shortest = format!("{double:e}");
    if !shortest.contains('.') {
        let two = format!("{double:.1e}");
        if two.parse() == Ok(double) {
            shortest = two;
        }
    }
    let (digits, exponent) = shortest.split_once('e')?;
    let rounded = format!(
        "{double:.places$e}",
        places = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len())
    );
    let (digits, exponent) =
        if rounded.parse() == Ok(double) { rounded.split_once('e')? } else { (digits, exponent) };
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let unscaled: i64 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()? - exponent;
    let plain = double == 0.0 || (1e-3..1e7).contains(&double.abs());
    Some(if plain { plain_double(unscaled, scale) } else { Decimal::from_i128(unscaled.into(), scale) })
}

/// Exactly one digit after the point at least, and no other zero at the end.
fn plain_double(unscaled: i64, scale: i32) -> Decimal {
    let (mut unscaled, mut scale) = super::strip(unscaled, scale);
    while scale < 1 {
        // Doubles written plainly are below 10^7.
        unscaled = unscaled.saturating_mul(10);
        scale += 1;
    }
    Decimal::from_i128(unscaled.into(), scale)
}

/// As `BigDecimal.toString`: with an exponent when there would be zeros before the point that the number does not
/// have, or more than five behind it.
pub(super) fn write(decimal: &Decimal, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Repr::Small { unscaled, scale: 0 } = decimal.0 {
        return fmt::Display::fmt(&unscaled, f);
    }
    let (negative, digits) = signed_digits(decimal);
    let scale = i64::from(decimal.scale());
    let exponent = i64::try_from(digits.len()).unwrap_or(i64::MAX) - 1 - scale;
    let mut out = String::with_capacity(digits.len() + 16);
    if negative {
        out.push('-');
    }
    if scale >= 0 && exponent >= -6 {
        push_plain(&mut out, &digits, decimal.scale().unsigned_abs());
    } else {
        let (first, rest) = digits.split_at_checked(1).unwrap_or(("0", ""));
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        if exponent != 0 {
            write!(out, "E{exponent:+}")?;
        }
    }
    f.write_str(&out)
}

fn signed_digits(decimal: &Decimal) -> (bool, String) {
    match &decimal.0 {
        Repr::Small { unscaled, .. } => (*unscaled < 0, unscaled.unsigned_abs().to_string()),
        Repr::Big(big) => (decimal.signum() < 0, big.unscaled.magnitude().to_string()),
    }
}

fn push_plain(out: &mut String, digits: &str, scale: u32) {
    let scale = usize::try_from(scale).unwrap_or(usize::MAX);
    if scale == 0 {
        return out.push_str(digits);
    }
    match digits.len().checked_sub(scale).and_then(|at| digits.split_at_checked(at)) {
        Some((whole, fraction)) => {
            out.push_str(if whole.is_empty() { "0" } else { whole });
            out.push('.');
            out.push_str(fraction);
        }
        None => {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', scale - digits.len()));
            out.push_str(digits);
        }
    }
}

pub(super) fn to_plain(decimal: &Decimal) -> String {
    let (negative, digits) = signed_digits(decimal);
    let mut out = String::with_capacity(digits.len() + 4);
    if negative {
        out.push('-');
    }
    match u32::try_from(decimal.scale()) {
        Ok(scale) => push_plain(&mut out, &digits, scale),
        Err(_) if decimal.unscaled().is_zero() => out.push('0'),
        Err(_) => {
            out.push_str(&digits);
            let zeros = usize::try_from(decimal.scale().unsigned_abs()).unwrap_or(0);
            out.extend(std::iter::repeat_n('0', zeros));
        }
    }
    out
}
