//! What was measured: as a table in Markdown, and as JSON.

use super::install::{Language, RUST};
use crate::peers::table::{Quartiles, short, thousands};
use serde_json::{Value, json};

/// What is measured, in each round: nanoseconds for a decision.
#[derive(Debug)]
pub(super) struct Contender {
    language: Language,
    title: String,
    pub(super) rounds: Vec<f64>,
}

impl Contender {
    pub(super) fn new(language: Language, title: &str) -> Contender {
        Contender { language, title: title.to_owned(), rounds: Vec::new() }
    }

    fn is_ours(&self) -> bool {
        self.title.starts_with("durward")
    }

    /// Whether an aim is about it.
    fn aim_ns(&self) -> Option<f64> {
        self.language.aim_ns.filter(|_| self.title == "durward, text")
    }
}

#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) contenders: Vec<Contender>,
}

impl Results {
    /// Rust, in each round.
    fn rust(&self) -> &[f64] {
        let rust = self.contenders.iter().find(|contender| contender.language.name == RUST);
        rust.map_or(&[], |rust| &rust.rounds)
    }

    /// What a package of ours adds to Rust; nothing for Rust itself, and for others.
    fn border(&self, contender: &Contender) -> Option<Quartiles> {
        let is_package = contender.is_ours() && contender.language.name != RUST;
        let pairs = contender.rounds.iter().zip(self.rust());
        is_package.then(|| Quartiles::of(pairs.map(|(package, rust)| package - rust)))
    }

    /// How many times as long as durward, given a text in the same language, another package takes.
    fn times(&self, contender: &Contender) -> Option<Quartiles> {
        let is_ours = |other: &&Contender| {
            other.language.name == contender.language.name && other.title == "durward, text"
        };
        let ours = self.contenders.iter().find(is_ours)?;
        let pairs = contender.rounds.iter().zip(&ours.rounds);
        (!contender.is_ours()).then(|| Quartiles::of(pairs.map(|(other, ours)| other / ours)))
    }

    pub(super) fn are_aims_reached(&self) -> bool {
        self.contenders.iter().all(|contender| match (contender.aim_ns(), self.border(contender)) {
            (Some(aim_ns), Some(border)) => border.median <= aim_ns,
            _ => true,
        })
    }

    pub(super) fn table(&self) -> String {
        let head = "| language | package | ns a decision | middle half | of which Rust | the border | aim | times durward |\n";
        let mut text = format!("{head}|---|---|---:|---|---:|---:|---:|---:|\n");
        let rust = Quartiles::of(self.rust().iter().copied()).median;
        for contender in &self.contenders {
            let all = Quartiles::of(contender.rounds.iter().copied());
            let border = self.border(contender);
            let aim = contender.aim_ns().map_or(String::new(), |aim| format!("{aim:.0}"));
            let times = self.times(contender).map_or(String::new(), |times| short(times.median));
            text.push_str(&format!(
                "| {} | {} | {} | {} to {} | {} | {} | {aim} | {times} |\n",
                contender.language.title,
                contender.title,
                thousands(all.median),
                thousands(all.first),
                thousands(all.third),
                border.map_or(String::new(), |_| thousands(rust)),
                border.map_or(String::new(), |border| thousands(border.median)),
            ));
        }
        text
    }

    pub(super) fn json(&self, rounds: usize, ms: u64) -> Value {
        let rust = Quartiles::of(self.rust().iter().copied()).median;
        let row = |contender: &Contender| {
            let all = Quartiles::of(contender.rounds.iter().copied());
            json!({
                "language": contender.language.name,
                "package": contender.title,
                "ns": all.median,
                "ns_quartiles": [all.first, all.third],
                "rust_ns": self.border(contender).map(|_| rust),
                "border_ns": self.border(contender).map(|border| border.median),
                "aim_ns": contender.aim_ns(),
                "times_durward": self.times(contender).map(|times| times.median),
            })
        };
        let rows: Vec<Value> = self.contenders.iter().map(row).collect();
        json!({ "rounds": rounds, "ms": ms, "contenders": rows })
    }
}

#[cfg(test)]
mod tests {
    use super::super::install::LANGUAGES;
    use super::*;

    fn contender(language: usize, title: &str, rounds: &[f64]) -> Contender {
        Contender { language: LANGUAGES[language], title: title.to_owned(), rounds: rounds.to_vec() }
    }

    #[test]
    fn the_border_is_the_median_of_differences_within_rounds() {
        // The second round was disturbed, for all alike.
        let rust = contender(0, "durward, text", &[100.0, 1_000.0, 100.0]);
        let java = contender(2, "durward, text", &[180.0, 1_090.0, 185.0]);
        let other = contender(2, "another 1", &[360.0, 2_180.0, 370.0]);
        let results = Results { contenders: vec![rust, java, other] };
        let table = results.table();
        assert!(
            table.contains("| Java | durward, text | 185 | 182 to 638 | 100 | 85 | 100 |  |\n"),
            "{table}"
        );
        assert!(table.contains("| Java | another 1 | 370 | 365 to 1,275 |  |  |  | 2.0 |\n"), "{table}");
        assert!(results.are_aims_reached());
        assert_eq!(results.json(3, 30)["contenders"][1]["border_ns"], 85.0);
    }

    #[test]
    fn an_aim_may_be_missed() {
        let rust = contender(0, "durward, text", &[100.0]);
        let java = contender(2, "durward, text", &[201.0]);
        assert!(!Results { contenders: vec![rust, java] }.are_aims_reached());
    }
}
