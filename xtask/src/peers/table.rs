//! What was measured, as a table in Markdown.

use super::Round;

/// The middle of some numbers, and where their middle half lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quartiles {
    pub(crate) first: f64,
    pub(crate) median: f64,
    pub(crate) third: f64,
}

impl Quartiles {
    /// Between two numbers in proportion; not a number where there is none.
    pub(crate) fn of(numbers: impl Iterator<Item = f64>) -> Quartiles {
        let mut numbers: Vec<f64> = numbers.collect();
        numbers.sort_by(f64::total_cmp);
        Quartiles { first: at(&numbers, 1), median: at(&numbers, 2), third: at(&numbers, 3) }
    }
}

/// The number so many quarters along the way.
fn at(sorted: &[f64], quarters: usize) -> f64 {
    let way = sorted.len().saturating_sub(1) * quarters;
    let number = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    let below = number(way / 4);
    let part = match way % 4 {
        0 => return below,
        1 => 0.25,
        2 => 0.5,
        _ => 0.75,
    };
    below + (number(way / 4 + 1) - below) * part
}

/// The results.
pub(super) struct Table {
    pub(super) text: String,
}

impl Default for Table {
    fn default() -> Table {
        let head = "| policies | from, to | engine | engine/s | durward/s | times as many | middle half |\n";
        Table { text: format!("{head}|---|---|---|---:|---:|---:|---|\n") }
    }
}

impl Table {
    /// Adds what was measured of one engine on one set; the row.
    pub(super) fn add(&mut self, set: &str, engine: &str, what: &str, rounds: &[Round]) -> String {
        let theirs = Quartiles::of(rounds.iter().map(|round| round.engine));
        let ours = Quartiles::of(rounds.iter().map(|round| round.durward));
        let ratio = Quartiles::of(rounds.iter().map(|round| round.durward / round.engine));
        let row = format!(
            "| {set} | {what} | {engine} | {} | {} | {} | {} to {} |",
            thousands(theirs.median),
            thousands(ours.median),
            short(ratio.median),
            short(ratio.first),
            short(ratio.third),
        );
        self.text.push_str(&row);
        self.text.push('\n');
        row
    }
}

/// A ratio with as many digits as it deserves.
pub(crate) fn short(ratio: f64) -> String {
    if ratio < 20.0 { format!("{ratio:.1}") } else { thousands(ratio) }
}

/// A whole number with a comma before every three digits.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in (0..digits.len()).rev().zip(digits.chars()) {
        text.push(digit);
        if place > 0 && place % 3 == 0 {
            text.push(',');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_numbers() {
        let found = Quartiles::of([4.0, 1.0, 2.0].into_iter());
        assert_eq!(found, Quartiles { first: 1.5, median: 2.0, third: 3.0 });
        assert_eq!(Quartiles::of([7.0].into_iter()), Quartiles { first: 7.0, median: 7.0, third: 7.0 });
        assert!(Quartiles::of([].into_iter()).median.is_nan());
    }

    #[test]
    fn ratios_are_of_neighbouring_measurements() {
        let rounds = [(1.0, 1e4), (2.0, 1e4), (4.0, 1e4)].map(|(engine, durward)| Round { engine, durward });
        let mut table = Table::default();
        table.add("s", "E 1", "w", &rounds);
        assert!(
            table.text.ends_with("| s | w | E 1 | 2 | 10,000 | 5,000 | 3,750 to 7,500 |\n"),
            "{}",
            table.text
        );
    }
}
