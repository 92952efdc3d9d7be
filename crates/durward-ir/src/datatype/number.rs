//! `xs:double`: the lexical form of XML Schema, which is not Rust's.

use std::fmt::Write;

use crate::datatype::Reason;
use crate::datatype::lexical::Reader;

/// Reads `[+-]?(d+(.d*)?|.d+)([eE][+-]?d+)?`, `INF`, `-INF` or `NaN` (XML Schema part 2, section 3.2.5). Rust's
/// own `inf`, `infinity` and `nan` are refused; numbers too large round to infinity as IEEE 754 says.
pub(crate) fn parse_double(text: &str) -> Result<f64, Reason> {
    match text {
        "INF" => Ok(f64::INFINITY),
        "-INF" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        _ if has_double_form(text) => text.parse().map_err(|_| ""),
        _ => Err(""),
    }
}

fn has_double_form(text: &str) -> bool {
    let mut reader = Reader::new(text);
    let _signed = reader.take(b'-') || reader.take(b'+');
    let whole = reader.digits().len();
    let fraction = if reader.take(b'.') { reader.digits().len() } else { 0 };
    if whole + fraction == 0 {
        return false;
    }
    if reader.take(b'e') || reader.take(b'E') {
        let _signed = reader.take(b'-') || reader.take(b'+');
        if reader.digits().is_empty() {
            return false;
        }
    }
    reader.is_at_end()
}

/// Writes the canonical form: one digit before the point, at least one after it, an exponent (`1.0E1`).
pub(crate) fn write_double(double: f64, out: &mut String) {
    if double.is_nan() {
        return out.push_str("NaN");
    }
    if double.is_infinite() {
        return out.push_str(if double > 0.0 { "INF" } else { "-INF" });
    }
    let start = out.len();
    // Writing to a string cannot fail.
    let _ = write!(out, "{double:E}");
    let written = out.get(start..).unwrap_or_default();
    if !written.contains('.')
        && let Some(exponent) = written.find('E')
    {
        out.insert_str(start + exponent, ".0");
    }
}
