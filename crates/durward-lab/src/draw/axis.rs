//! Axes: where a value lies, and what stands beside it.

/// How values are laid along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances are equal differences; it begins at 0, or below where values do.
    Linear,
    /// The same of bytes: ticks are round in KiB, MiB, GiB.
    Binary,
    /// Equal distances are equal ratios; only values above 0 lie on it.
    Log,
}

/// From the least to the greatest value of an axis, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    scale: Scale,
    least: f64,
    greatest: f64,
    /// Where the least and the greatest value are.
    from: f64,
    to: f64,
}

/// What stands at an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where.
    pub at: f64,
    /// What.
    pub label: String,
}

/// About so many ticks stand at a linear axis.
const TICKS: f64 = 6.0;
/// No axis has more.
const TICKS_MAX: usize = 60;

impl Axis {
    /// A logarithmic axis for these values, with a little room on both sides.
    pub fn log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            least = least.min(value);
            greatest = greatest.max(value);
        }
        if least > greatest {
            (least, greatest) = (1.0, 10.0);
        }
        Axis { scale: Scale::Log, least: below(least), greatest: above(greatest), from, to }
    }

    /// A linear axis that holds these values and 0.
    pub fn linear(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        Axis::even(Scale::Linear, values, from, to)
    }

    fn even(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (mut least, mut greatest) = (0.0_f64, 0.0_f64);
        for value in values.filter(|value| value.is_finite()) {
            least = least.min(value);
            greatest = greatest.max(value);
        }
        if greatest - least <= 0.0 {
            greatest = 1.0;
        }
        let step = step(scale, greatest - least);
        let up = (greatest * 1.02 / step).ceil() * step;
        Axis { scale, least: (least / step).floor() * step, greatest: up, from, to }
    }

    /// An axis of this scale.
    pub fn new(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        match scale {
            Scale::Linear | Scale::Binary => Axis::even(scale, values, from, to),
            Scale::Log => Axis::log(values, from, to),
        }
    }

    /// Whether a value has a place on it.
    pub fn has(&self, value: f64) -> bool {
        value.is_finite() && (self.scale != Scale::Log || value > 0.0)
    }

    /// Where a value lies; at an end where it lies beyond.
    pub fn place(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Log => (value.max(self.least) / self.least).ln() / (self.greatest / self.least).ln(),
            Scale::Linear | Scale::Binary => (value - self.least) / (self.greatest - self.least),
        };
        self.from + (self.to - self.from) * part.clamp(0.0, 1.0)
    }

    /// What stands at it: at 1, 2 and 5 of each power of ten, or at the powers alone where those would be too many; at equal
    /// distances on a linear one.
    pub fn ticks(&self, label: impl Fn(f64) -> String) -> Vec<Tick> {
        self.values().into_iter().map(|value| Tick { at: self.place(value), label: label(value) }).collect()
    }

    fn values(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear | Scale::Binary => {
                let step = step(self.scale, self.greatest - self.least);
                let first = (self.least / step).ceil();
                (0..TICKS_MAX)
                    .map(|number| (first + f64::from(u32::try_from(number).unwrap_or(0))) * step)
                    .take_while(|value| *value <= self.greatest + step / 1e3)
                    .collect()
            }
            Scale::Log => self.powers(),
        }
    }

    fn powers(&self) -> Vec<f64> {
        let decades = (self.greatest / self.least).log10();
        let steps: &[f64] = if decades > 3.6 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let mut values = Vec::new();
        let mut power = 10f64.powf(self.least.log10().floor());
        while power <= self.greatest * 1.001 && values.len() < TICKS_MAX {
            let fits = |value: &f64| *value >= self.least * 0.999 && *value <= self.greatest * 1.001;
            values.extend(steps.iter().map(|step| step * power).filter(fits));
            power *= 10.0;
        }
        values
    }
}

/// 1, 2 or 5 of a power of ten, so that a range has about [`TICKS`] of them; of bytes in their unit.
fn step(scale: Scale, range: f64) -> f64 {
    let unit = match scale {
        Scale::Binary => 1024f64.powf((range.max(1.0).log2() / 10.0).floor()),
        Scale::Linear | Scale::Log => 1.0,
    };
    let rough = range / unit / TICKS;
    let power = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0].iter().map(|step| step * power).find(|it| *it >= rough);
    unit * round.unwrap_or(10.0 * power)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::count;

    #[test]
    fn equal_ratios_are_equally_far_apart() {
        let axis = Axis::log([30.0, 3_000.0].into_iter(), 0.0, 100.0);
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
            let axis = Axis::log(std::iter::once(value), 0.0, 1.0);
            assert!(axis.least < value && value < axis.greatest, "{value}: {axis:?}");
            assert!(axis.ticks(count).len() >= 2, "{value}");
        }
        assert!(!Axis::log(std::iter::empty(), 0.0, 1.0).ticks(count).is_empty());
    }

    #[test]
    fn bytes_have_ticks_in_their_unit() {
        for (most, labels) in [
            (38.0 * 1024.0 * 1024.0, ["0 B", "10 MiB", "20 MiB", "30 MiB", "40 MiB"].as_slice()),
            (3.9 * 1024.0 * 1024.0 * 1024.0, ["0 B", "1 GiB", "2 GiB", "3 GiB", "4 GiB"].as_slice()),
        ] {
            let axis = Axis::new(Scale::Binary, std::iter::once(most), 0.0, 100.0);
            let said: Vec<String> =
                axis.ticks(crate::draw::bytes).into_iter().map(|tick| tick.label).collect();
            assert_eq!(said, labels);
        }
    }

    #[test]
    fn a_linear_axis_begins_at_zero() {
        let axis = Axis::linear([3.0, 97.0].into_iter(), 0.0, 100.0);
        assert_eq!((axis.place(0.0), axis.place(50.0), axis.place(100.0)), (0.0, 50.0, 100.0));
        let labels: Vec<String> = axis.ticks(count).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0", "20", "40", "60", "80", "100"]);
        for values in [vec![], vec![0.0], vec![-4.0], vec![f64::NAN, f64::INFINITY], vec![1e-12], vec![1e15]]
        {
            let axis = Axis::linear(values.iter().copied(), 0.0, 1.0);
            let count = axis.ticks(count).len();
            assert!((2..TICKS_MAX).contains(&count), "{values:?}: {count}");
        }
    }
}
