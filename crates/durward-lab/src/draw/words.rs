//! Numbers with units and few digits, and names that fit.

/// A number of three digits with its unit: `4.78 M`.
pub fn count(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 999.5e6 => (value / 1e9, " G"),
        size if size >= 999.5e3 => (value / 1e6, " M"),
        size if size >= 999.5 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    digits(scaled) + unit
}

/// A time given in nanoseconds: `1.5 ms`.
pub fn time(nanoseconds: f64) -> String {
    let (scaled, unit) = match nanoseconds.abs() {
        size if size >= 999.5e6 => (nanoseconds / 1e9, " s"),
        size if size >= 999.5e3 => (nanoseconds / 1e6, " ms"),
        size if size >= 999.5 => (nanoseconds / 1e3, " us"),
        _ => (nanoseconds, " ns"),
    };
    digits(scaled) + unit
}

/// A size given in bytes: `1.5 MiB`.
pub fn bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    let (scaled, unit) = match bytes.abs() {
        size if size >= KIB * KIB * KIB => (bytes / (KIB * KIB * KIB), " GiB"),
        size if size >= KIB * KIB => (bytes / (KIB * KIB), " MiB"),
        size if size >= KIB => (bytes / KIB, " KiB"),
        _ => (bytes, " B"),
    };
    digits(scaled) + unit
}

/// A share from 0 to 1: `1.5 %`.
pub fn percent(share: f64) -> String {
    digits(share * 100.0) + " %"
}

/// A number in full, in groups of three digits: `990,005`.
pub fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value <= -0.5 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits at most; no zeros at the end of a fraction.
fn digits(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if size >= 99.95 => return format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.0995 || size == 0.0 => format!("{value:.2}"),
        _ if size >= 0.000_995 => format!("{value:.4}"),
        _ => return format!("{value:.1e}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// At most so many characters of a text, with `…` where it goes on.
pub fn shortened(text: &str, characters_max: usize) -> String {
    if text.chars().count() <= characters_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(characters_max.saturating_sub(1)).collect();
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        let of = [
            (4_780_000.0, "4.78 M"),
            (500.0, "500"),
            (1_000.0, "1 k"),
            (999.9, "1 k"),
            (1.2e9, "1.2 G"),
            (12_340.0, "12.3 k"),
            (0.0, "0"),
            (-1_500.0, "-1.5 k"),
        ];
        of.into_iter().for_each(|(value, text)| assert_eq!(count(value), text));
        let of = [(30.0, "30 ns"), (1_500.0, "1.5 us"), (2e6, "2 ms"), (3e9, "3 s")];
        of.into_iter().for_each(|(value, text)| assert_eq!(time(value), text));
        assert_eq!((whole(990_005.0), whole(38.0)), ("990,005".to_owned(), "38".to_owned()));
        assert_eq!((bytes(1536.0), percent(0.015)), ("1.5 KiB".to_owned(), "1.5 %".to_owned()));
    }

    #[test]
    fn long_names_end_in_dots() {
        assert_eq!((shortened("abc", 3), shortened("abcd", 3)), ("abc".to_owned(), "ab…".to_owned()));
    }
}
