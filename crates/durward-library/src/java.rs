//! What the Java platform does to texts and numbers, where the SAPL engine lets its users see it.

use durward_ir::datatype::Decimal;
use num_bigint::{BigInt, Sign};

/// Whether `String.isBlank` holds: nothing but what `Character.isWhitespace` takes. Unlike Unicode's white space that
/// has the four separators below the space, and not the spaces that forbid a line break.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|character| match character {
        '\u{1c}'..='\u{1f}' => true,
        '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => false,
        other => other.is_whitespace(),
    })
}

/// `String.trim`: without the control characters and spaces around the text.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|character| character <= ' ')
}

/// `String.length`: how many UTF-16 units the text has. Limits are counted in them.
pub(crate) fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Whether the text has more than this many UTF-16 units.
pub(crate) fn is_longer(text: &str, units: usize) -> bool {
    // A unit takes one to three bytes of UTF-8.
    text.len() > units && (text.len() > units.saturating_mul(3) || length(text) > units)
}

/// `BigDecimal.longValue`: without its fraction, and of what is too large only the lowest 64 bits.
pub(crate) fn long_value(number: &Decimal) -> i64 {
    if let Some(whole) = number.to_i64() {
        return whole;
    }
    let (sign, digits) = whole_part(number).into_parts();
    let low = digits.iter_u64_digits().next().unwrap_or(0);
    let low = low.cast_signed();
    if sign == Sign::Minus { low.wrapping_neg() } else { low }
}

/// `BigDecimal.toBigInteger`: the number without its fraction.
pub(crate) fn whole_part(number: &Decimal) -> BigInt {
    let power = BigInt::from(10).pow(number.scale().unsigned_abs());
    if number.scale() > 0 { number.unscaled() / power } else { number.unscaled() * power }
}

#[cfg(test)]
mod tests {
    use super::{is_blank, is_longer, length, long_value, trim};
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
            assert_eq!(long_value(&Decimal::parse(number).unwrap()), long, "{number}");
        }
    }

    #[test]
    fn blank_is_what_java_calls_white_space() {
        for text in ["", " ", "\t\n\u{b}\u{c}\r", "\u{1c}\u{1f}", "\u{2003}\u{2028}\u{3000}"] {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["x", "\u{a0}", "\u{202f}", "\u{85}", "\u{0}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn trimming_takes_controls_and_spaces_only() {
        assert_eq!(trim("\u{0} \t x \u{1f}"), "x");
        assert_eq!(trim("\u{2003}x"), "\u{2003}x");
    }

    #[test]
    fn texts_are_measured_in_units_of_utf_16() {
        assert_eq!(length("a😀é"), 4);
        assert!(is_longer("a😀é", 3));
        assert!(!is_longer("a😀é", 4));
        assert!(is_longer("éé", 1));
    }
}
