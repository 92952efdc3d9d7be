//! A report of measurements: pictures of rates and times by scenario and by the number of policies, as SVG and PNG, and a
//! page that explains them.
//!
//! ```
//! use durward_bench::report::{BenchReport, BenchReportError};
//!
//! let nothing = BenchReport::read(&[("empty.json".to_owned(), "[]".to_owned())]);
//! assert_eq!(nothing.unwrap_err().to_string(), "there are no measurements to report");
//! ```

mod chart;
mod opcua;
mod other;
mod page;
mod row;
mod series;

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use chart::ShownMeasure;
use durward_lab::draw::{Scene, svg_file};
use durward_lab::record::RunRecord;
use durward_lab::report::{self, Document};
use durward_lab::study::markdown;
use other::OtherMeasurement;
use row::{MeasurementFile, MeasurementRow};
use series::SeriesGroup;

/// The most measurements in one report: more could not be read in one picture.
pub const REPORT_ROWS_MAX: usize = 1_000;

/// Measurements to be reported.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchReport {
    rows: Vec<MeasurementRow>,
    others: Vec<OtherMeasurement>,
    records: Vec<RunRecord>,
}

/// Why nothing is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchReportError {
    /// A file is not what `durward bench` prints with `--json`: its name, and what is wrong.
    File(String, String),
    /// There are no measurements.
    Empty,
    /// There are more than [`REPORT_ROWS_MAX`].
    TooMany(usize),
}

impl fmt::Display for BenchReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchReportError::File(name, problem) => write!(f, "{name}: {problem}"),
            BenchReportError::Empty => f.write_str("there are no measurements to report"),
            BenchReportError::TooMany(count) => {
                write!(f, "{count} measurements are too many for one report: {REPORT_ROWS_MAX} at most")
            }
        }
    }
}

impl std::error::Error for BenchReportError {}

/// A picture, and what is said of it.
struct ReportPicture {
    /// The name of its files.
    name: String,
    title: String,
    caption: &'static str,
    scene: Scene,
}

impl BenchReport {
    /// Reads files: the name and text of each.
    ///
    /// # Errors
    /// See [`BenchReportError`].
    pub fn read(files: &[(String, String)]) -> Result<BenchReport, BenchReportError> {
        let (mut rows, mut others, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for (name, text) in files {
            match row::read(text).map_err(|problem| BenchReportError::File(name.clone(), problem))? {
                MeasurementFile::Rows(read) => rows.extend(read),
                MeasurementFile::Other(other) => others.push(other),
                MeasurementFile::Record(record) => records.push(*record),
            }
        }
        match rows.len() + others.len() + records.len() {
            0 => Err(BenchReportError::Empty),
            1..=REPORT_ROWS_MAX => Ok(BenchReport { rows, others, records }),
            count => Err(BenchReportError::TooMany(count)),
        }
    }

    /// Writes `index.html`, and each picture as SVG and PNG. The directory is made if it is not there. Returns the names of
    /// the files.
    ///
    /// # Errors
    /// What the system says; files that were written stay.
    pub fn write_to(
        &self,
        directory: &Path,
        options: &report::Options,
    ) -> Result<Vec<String>, report::ReportError> {
        report::write_document(&self.document(), directory, options)
    }

    /// Writes the report as a page of a manual: Markdown, with its pictures as SVG in `pictures/` beside it.
    ///
    /// # Errors
    /// What the system says; files that were written stay.
    pub fn write_page(&self, page: &Path) -> Result<(), report::ReportError> {
        let document = self.document();
        let pictures = page.parent().unwrap_or(Path::new("")).join("pictures");
        let put = |path: PathBuf, text: &str| {
            fs::write(&path, text).map_err(|error| report::ReportError::Write(path, error))
        };
        fs::create_dir_all(&pictures).map_err(|error| report::ReportError::Write(pictures.clone(), error))?;
        for figure in document.figures() {
            put(pictures.join(format!("{}.svg", figure.name)), &svg_file(&figure.scene))?;
        }
        let note = "<!-- Written by `durward bench report --page`. -->\n\n";
        put(page.to_owned(), &format!("{note}{}", markdown(&document, "pictures")))
    }

    fn document(&self) -> Document {
        let mut document = page::document(&self.rows, &self.others, self.pictures());
        if !self.records.is_empty() {
            let records = report::document(&self.records);
            if self.rows.is_empty() && self.others.is_empty() {
                document = records;
            } else {
                document.heading(&records.title);
                document.blocks.extend(records.blocks);
            }
        }
        document
    }

    fn pictures(&self) -> Vec<ReportPicture> {
        let groups = series::groups(&self.rows);
        let mut pictures = Vec::new();
        for (number, group) in (1..).zip(&groups) {
            let suffix = if groups.len() > 1 { format!("-{number}") } else { String::new() };
            pictures.extend(self.pictures_of(group, &suffix));
        }
        pictures
    }

    fn pictures_of(&self, group: &SeriesGroup<'_>, suffix: &str) -> Vec<ReportPicture> {
        let (scenarios, families) = (self.scenarios(), families(group));
        let mut pictures = Vec::new();
        for (shown, name) in [(ShownMeasure::Rate, "throughput"), (ShownMeasure::Time, "latency")] {
            let scene = chart::by_scenario(group, &scenarios, shown);
            let title = titled(&scene.title, "by scenario", &group.label);
            pictures.push(picture(
                format!("{name}-by-scenario{suffix}"),
                title,
                caption(shown, false),
                scene,
            ));
        }
        for family in families {
            let own = of_family(group, family);
            for (shown, name) in [(ShownMeasure::Rate, "throughput"), (ShownMeasure::Time, "latency")] {
                let scene = chart::by_policies(&own, family, shown);
                let title = titled(&scene.title, "by the number of policies", &group.label);
                let name = format!("{name}-{}{suffix}", file_name(family));
                pictures.push(picture(name, title, caption(shown, true), scene));
            }
        }
        pictures
    }

    /// All scenarios: those of one family together, by size, where the first of them stands.
    fn scenarios(&self) -> Vec<&str> {
        let mut families: Vec<&str> = Vec::new();
        let family = |row: &MeasurementRow| row.family().map(|(family, _)| family.to_owned());
        let mut keyed: Vec<(usize, u64, &str)> = Vec::new();
        for row in &self.rows {
            let name = family(row)
                .map_or(row.scenario.as_str(), |family| row.scenario.get(..family.len()).unwrap_or_default());
            if !families.contains(&name) {
                families.push(name);
            }
            let place = families.iter().position(|known| *known == name).unwrap_or_default();
            keyed.push((place, row.family().map_or(0, |(_, size)| size), &row.scenario));
        }
        keyed.sort();
        keyed.dedup();
        keyed.into_iter().map(|(_, _, name)| name).collect()
    }
}

/// Families of which some series has several numbers of policies.
fn families<'r>(group: &SeriesGroup<'r>) -> Vec<&'r str> {
    let mut found: Vec<&str> = Vec::new();
    for series in &group.series {
        for row in &series.rows {
            let Some((family, _)) = row.family() else { continue };
            let is_other = |other: &&MeasurementRow| {
                other.family().is_some_and(|(name, _)| name == family)
                    && other.policies.total_cmp(&row.policies).is_ne()
            };
            if !found.contains(&family) && series.rows.iter().any(is_other) {
                found.push(family);
            }
        }
    }
    found
}

/// Only what is about this family.
fn of_family<'r>(group: &SeriesGroup<'r>, family: &str) -> SeriesGroup<'r> {
    let mut own = group.clone();
    for series in &mut own.series {
        series.rows.retain(|row| row.family().is_some_and(|(name, _)| name == family));
    }
    own.series.retain(|series| !series.rows.is_empty());
    own
}

fn titled(title: &str, what: &str, label: &str) -> String {
    if label.is_empty() { format!("{title} {what}") } else { format!("{title} {what}: {label}") }
}

fn caption(shown: ShownMeasure, is_by_policies: bool) -> &'static str {
    match (shown, is_by_policies) {
        (ShownMeasure::Rate, false) => "Further right is faster. The number at the right is the median.",
        (ShownMeasure::Time, false) => {
            "Further left is faster. From the mark, half of all decisions, to the strokes, 99 % and 99.9 %: the shorter the \
             line, the more even. The numbers at the right are these three."
        }
        (ShownMeasure::Rate, true) => {
            "Higher is faster. A line that stays level does not care how many policies there are; one that falls by one step \
             for each step to the right looks at every policy."
        }
        (ShownMeasure::Time, true) => {
            "Lower is faster. The whole line is half of all decisions, the dashed one 99 %, the dotted one 99.9 %."
        }
    }
}

fn picture(name: String, title: String, caption: &'static str, scene: Scene) -> ReportPicture {
    ReportPicture { name, title, caption, scene }
}

/// A name that can be a file's.
fn file_name(text: &str) -> String {
    text.chars().map(|it| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' }).collect()
}
