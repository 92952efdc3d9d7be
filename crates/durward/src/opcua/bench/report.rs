//! What was measured: as text, and as the object that `durward bench report` draws.

use serde_json::{Map, Value as Json, json};

use super::times::MicrosecondTimes;
use crate::bench::{command, machine};

/// Everything that was measured.
#[derive(Debug, Default)]
pub(super) struct OpcuaBenchReport {
    pub(super) is_quick: bool,
    pub(super) aims: Vec<BenchAim>,
    pub(super) parts: Vec<BenchPart>,
    /// What was not measured, and why.
    pub(super) left_out: Vec<String>,
}

/// A number that has to be reached.
#[derive(Debug)]
pub(super) struct BenchAim {
    what: &'static str,
    unit: &'static str,
    measured: f64,
    aim: AimBound,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum AimBound {
    AtMost(f64),
    AtLeast(f64),
}

impl BenchAim {
    pub(super) fn new(what: &'static str, unit: &'static str, measured: f64, aim: AimBound) -> BenchAim {
        BenchAim { what, unit, measured, aim }
    }

    fn is_reached(&self) -> bool {
        match self.aim {
            AimBound::AtMost(most) => self.measured <= most,
            AimBound::AtLeast(least) => self.measured >= least,
        }
    }

    fn words(&self) -> [String; 4] {
        let aim = match self.aim {
            AimBound::AtMost(most) => format!("at most {}{}", short(most), self.unit),
            AimBound::AtLeast(least) => format!("at least {}{}", short(least), self.unit),
        };
        let reached = if self.is_reached() { "yes" } else { "no" };
        [self.what.to_owned(), format!("{}{}", short(self.measured), self.unit), aim, reached.to_owned()]
    }

    fn json(&self) -> Json {
        let (bound, aim) = match self.aim {
            AimBound::AtMost(most) => ("at_most", most),
            AimBound::AtLeast(least) => ("at_least", least),
        };
        json!({
            "what": self.what,
            "unit": self.unit.trim(),
            "measured": (self.measured * 1e3).round() / 1e3,
            bound: aim,
            "is_reached": self.is_reached(),
        })
    }
}

/// A number for people.
fn short(number: f64) -> String {
    if number.abs() >= 100.0 || number.fract() == 0.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.2}")
    }
}

/// One experiment, or several that belong together.
#[derive(Debug)]
pub(super) struct BenchPart {
    name: &'static str,
    title: String,
    texts: Vec<String>,
    tables: Vec<BenchTable>,
    charts: Vec<BenchChart>,
    numbers: Map<String, Json>,
}

/// Rows of cells below columns.
#[derive(Debug)]
pub(super) struct BenchTable {
    pub(super) caption: String,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Lines over an axis, or marks in lanes.
#[derive(Debug)]
pub(super) struct BenchChart {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) caption: &'static str,
    pub(super) x: &'static str,
    pub(super) y: &'static str,
    /// One for each whole number of x, for bars; empty for lines.
    pub(super) labels: Vec<String>,
    pub(super) series: Vec<(String, Vec<(f64, f64)>)>,
}

impl BenchPart {
    pub(super) fn new(name: &'static str, title: impl Into<String>) -> BenchPart {
        BenchPart {
            name,
            title: title.into(),
            texts: Vec::new(),
            tables: Vec::new(),
            charts: Vec::new(),
            numbers: Map::new(),
        }
    }

    /// Says how it was measured, or how to read it.
    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.texts.push(text.into());
    }

    /// The first column are words, the others numbers.
    pub(super) fn table(
        &mut self,
        caption: impl Into<String>,
        columns: &[&'static str],
        rows: Vec<Vec<String>>,
    ) {
        self.tables.push(BenchTable { caption: caption.into(), columns: columns.to_vec(), rows });
    }

    pub(super) fn chart(&mut self, chart: BenchChart) {
        self.charts.push(chart);
    }

    /// Keeps a number as it is, for whoever reads the object.
    pub(super) fn number(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        self.numbers.insert(name.into(), value.into());
    }

    pub(super) fn times(&mut self, name: impl Into<String>, times: &MicrosecondTimes) {
        self.numbers.insert(name.into(), times.json());
    }

    fn json(&self) -> Json {
        let table = |table: &BenchTable| json!({ "caption": table.caption, "columns": table.columns, "rows": table.rows });
        let chart = |chart: &BenchChart| {
            let series =
                |(label, points): &(String, Vec<(f64, f64)>)| json!({ "label": label, "points": points });
            json!({
                "name": chart.name,
                "title": chart.title,
                "caption": chart.caption,
                "x": chart.x,
                "y": chart.y,
                "labels": chart.labels,
                "series": chart.series.iter().map(series).collect::<Vec<_>>(),
            })
        };
        json!({
            "name": self.name,
            "title": self.title,
            "texts": self.texts,
            "tables": self.tables.iter().map(table).collect::<Vec<_>>(),
            "charts": self.charts.iter().map(chart).collect::<Vec<_>>(),
            "numbers": self.numbers,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("\n{}\n", self.title);
        for table in &self.tables {
            text.push_str(&format!("\n  {}\n{}", table.caption, table.text()));
        }
        for say in &self.texts {
            text.push_str(&format!("  {say}\n"));
        }
        text
    }
}

impl BenchTable {
    /// Columns as wide as what is in them.
    fn text(&self) -> String {
        let width = |at: usize, name: &str| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell.chars().count()).chain([name.chars().count()]).max().unwrap_or_default()
        };
        let widths: Vec<usize> = self.columns.iter().enumerate().map(|(at, name)| width(at, name)).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = " ".to_owned();
            for ((at, cell), width) in cells.enumerate().zip(&widths) {
                line.push_str(&if at == 0 {
                    format!(" {cell:<width$}")
                } else {
                    format!("  {cell:>width$}")
                });
            }
            format!("{}\n", line.trim_end())
        };
        let mut text = line(&mut self.columns.iter().copied());
        for row in &self.rows {
            text.push_str(&line(&mut row.iter().map(String::as_str)));
        }
        text
    }
}

impl OpcuaBenchReport {
    pub(super) fn is_every_aim_reached(&self) -> bool {
        self.aims.iter().all(BenchAim::is_reached)
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let rows = self.aims.iter().map(|aim| aim.words().into()).collect();
        let aims =
            BenchTable { caption: String::new(), columns: vec!["what", "measured", "aim", "reached"], rows };
        let mut text = String::new();
        if self.is_quick {
            text.push_str("A short form, to see that everything works: its figures say little.\n\n");
        }
        if !self.aims.is_empty() {
            text.push_str(&aims.text());
        }
        self.parts.iter().for_each(|part| text.push_str(&part.text()));
        self.left_out.iter().for_each(|what| text.push_str(&format!("\nleft out: {what}\n")));
        text
    }

    /// For `durward bench report`.
    pub(super) fn json(&self) -> String {
        let report = json!({
            "benchmark": "opcua",
            "version": env!("CARGO_PKG_VERSION"),
            "is_quick": self.is_quick,
            "aims": self.aims.iter().map(BenchAim::json).collect::<Vec<_>>(),
            "parts": self.parts.iter().map(BenchPart::json).collect::<Vec<_>>(),
            "left_out": self.left_out,
            "machine": machine(),
            "command": command(),
        });
        format!("{report:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_is_a_bound_from_above_or_below() {
        let most = BenchAim::new("time", " ns", 80.0, AimBound::AtMost(100.0));
        assert_eq!(most.words(), ["time", "80 ns", "at most 100 ns", "yes"]);
        let least = BenchAim::new("reads", "/s", 19_999.0, AimBound::AtLeast(20_000.0));
        assert_eq!(least.words(), ["reads", "19999/s", "at least 20000/s", "no"]);
        let report = OpcuaBenchReport { aims: vec![most, least], ..OpcuaBenchReport::default() };
        assert!(!report.is_every_aim_reached());
        assert_eq!(report.text().lines().count(), 3);
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let rows = vec![
            vec!["read".to_owned(), "1.25".to_owned()],
            vec!["a longer word".to_owned(), "3".to_owned()],
        ];
        let table = BenchTable { caption: String::new(), columns: vec!["step", "ms"], rows };
        assert_eq!(table.text(), "  step             ms\n  read           1.25\n  a longer word     3\n");
    }
}
