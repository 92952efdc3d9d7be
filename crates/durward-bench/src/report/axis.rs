//! A logarithmic axis: equal distances are equal ratios.

/// From the least to the greatest value of an axis, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    least: f64,
    greatest: f64,
    /// Where the least and the greatest value are.
    from: f64,
    to: f64,
}

/// What stands at an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

impl Axis {
    /// An axis for these values, which are positive, with a little room on both sides.
    pub(super) fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            least = least.min(value);
            greatest = greatest.max(value);
        }
        if least > greatest {
            (least, greatest) = (1.0, 10.0);
        }
        Axis { least: below(least), greatest: above(greatest), from, to }
    }

    /// Where a value lies.
    pub(super) fn place(&self, value: f64) -> f64 {
        let part = (value.max(self.least) / self.least).ln() / (self.greatest / self.least).ln();
        self.from + (self.to - self.from) * part.clamp(0.0, 1.0)
    }

    /// Values at 1, 2 and 5 of each power of ten; at the powers alone where those would be too many.
    pub(super) fn ticks(&self, label: fn(f64) -> String) -> Vec<Tick> {
        let decades = (self.greatest / self.least).log10();
        let steps: &[f64] = if decades > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let mut ticks = Vec::new();
        let mut power = 10f64.powf(self.least.log10().floor());
        while power <= self.greatest * 1.001 {
            for value in steps.iter().map(|step| step * power) {
                if value >= self.least * 0.999 && value <= self.greatest * 1.001 {
                    ticks.push(Tick { at: self.place(value), label: label(value) });
                }
            }
            power *= 10.0;
        }
        ticks
    }
}

/// The greatest 1, 2 or 5 of a power of ten that is a little below.
fn below(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let steps = [5.0, 2.0, 1.0, 0.5];
    steps.iter().map(|step| step * power).find(|it| *it <= value * 0.95).unwrap_or(power * 0.2)
}

/// The least 1, 2 or 5 of a power of ten that is a little above.
fn above(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.iter().map(|step| step * power).find(|it| *it >= value * 1.05).unwrap_or(power * 20.0)
}

/// A number of three digits with its unit: `4.78 M`.
pub(super) fn count(value: f64) -> String {
    let (scaled, unit) = match value {
        _ if value >= 1e9 => (value / 1e9, " G"),
        _ if value >= 1e6 => (value / 1e6, " M"),
        _ if value >= 1e3 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    digits(scaled) + unit
}

/// A time given in nanoseconds.
pub(super) fn time(nanoseconds: f64) -> String {
    let (scaled, unit) = match nanoseconds {
        _ if nanoseconds >= 1e9 => (nanoseconds / 1e9, " s"),
        _ if nanoseconds >= 1e6 => (nanoseconds / 1e6, " ms"),
        _ if nanoseconds >= 1e3 => (nanoseconds / 1e3, " us"),
        _ => (nanoseconds, " ns"),
    };
    digits(scaled) + unit
}

/// Policies, in full.
pub(super) fn whole(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
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
    let text = match value {
        _ if value >= 100.0 => return format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_are_equally_far_apart() {
        let axis = Axis::new([30.0, 3_000.0].into_iter(), 0.0, 100.0);
        assert_eq!((axis.least, axis.greatest), (20.0, 5_000.0));
        let steps = [axis.place(200.0) - axis.place(20.0), axis.place(2_000.0) - axis.place(200.0)];
        assert!((steps[0] - steps[1]).abs() < 1e-9);
        assert_eq!((axis.place(20.0), axis.place(5_000.0)), (0.0, 100.0));
        let labels: Vec<String> = axis.ticks(count).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["20", "50", "100", "200", "500", "1 k", "2 k", "5 k"]);
    }

    #[test]
    fn values_have_room_on_both_sides() {
        for value in [1.0, 1.9, 2.0, 4.9, 5.0, 9.9, 0.001, 1e9] {
            let axis = Axis::new(std::iter::once(value), 0.0, 1.0);
            assert!(axis.least < value && value < axis.greatest, "{value}: {axis:?}");
            assert!(axis.ticks(count).len() >= 2, "{value}");
        }
        assert!(!Axis::new(std::iter::empty(), 0.0, 1.0).ticks(count).is_empty());
    }

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        let of = [
            (4_780_000.0, "4.78 M"),
            (500.0, "500"),
            (1_000.0, "1 k"),
            (1.2e9, "1.2 G"),
            (12_340.0, "12.3 k"),
        ];
        of.into_iter().for_each(|(value, text)| assert_eq!(count(value), text));
        let of = [(30.0, "30 ns"), (1_500.0, "1.5 us"), (2e6, "2 ms"), (3e9, "3 s")];
        of.into_iter().for_each(|(value, text)| assert_eq!(time(value), text));
        assert_eq!((whole(990_005.0), whole(38.0)), ("990,005".to_owned(), "38".to_owned()));
    }
}
