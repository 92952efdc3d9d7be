//! Reports of records: one page that stands alone, the same as PDF, pictures, data; and comparisons of records.
//!
//! ```
//! use durward_lab::record::{FORMAT, RunRecord};
//! use durward_lab::report;
//!
//! let record = RunRecord { format: FORMAT, ..RunRecord::default() };
//! assert!(report::page(&[record]).contains("Nothing was measured"));
//! ```

mod about;
mod agents;
mod compare;
mod course;
mod data;
mod document;
mod html;
mod latency;
mod machine;
#[cfg(feature = "pictures")]
mod pdf;
mod select;
mod throughput;
mod verdict;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use compare::{
    CompareOptions, Comparison, Difference, Judgement, Metric, compare, comparison_document, text_table,
};
pub use document::{Block, Document, Figure, Table};
pub use html::{Links, html};

use crate::draw::DrawError;
use crate::fit;
use crate::record::RunRecord;

/// What a report is made of beside the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether `report.pdf` is written.
    pub has_pdf: bool,
}

/// Why a report could not be written.
#[derive(Debug)]
pub enum ReportError {
    /// A file or directory could not be written.
    Write(PathBuf, io::Error),
    /// A picture or the PDF could not be drawn: its name, and why.
    Draw(String, DrawError),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportError::Write(path, error) => write!(f, "cannot write `{}`: {error}", path.display()),
            ReportError::Draw(name, problem) => write!(f, "cannot draw `{name}`: {problem}"),
        }
    }
}

impl std::error::Error for ReportError {}

/// A record with what was fitted to it.
struct Read<'r> {
    record: &'r RunRecord,
    by: fit::LoadUnit,
    fits: Vec<(String, fit::FitReport)>,
    /// What the names of its files begin with.
    prefix: String,
}

fn read(records: &[RunRecord]) -> Vec<Read<'_>> {
    let prefix = |number: usize| if records.len() > 1 { format!("{number}-") } else { String::new() };
    let one = |(number, record)| {
        let by = fit::by(record);
        Read { record, by, fits: throughput::fits(record, by), prefix: prefix(number) }
    };
    (1..).zip(records).map(one).collect()
}

/// What the report of these records says.
pub fn document(records: &[RunRecord]) -> Document {
    document_of(&read(records))
}

fn document_of(all: &[Read<'_>]) -> Document {
    let name = |read: &Read<'_>| match read.record.about.name.as_str() {
        "" => "A run of the lab".to_owned(),
        name => name.to_owned(),
    };
    let mut document = Document::new(&match all {
        [one] => name(one),
        _ => format!("{} runs of the lab", all.len()),
    });
    if all.is_empty() {
        document.text("Nothing was measured.");
    }
    for read in all {
        if all.len() > 1 {
            document.heading(&format!("{}: the verdict", name(read)));
        }
        document.blocks.push(Block::Verdict(verdict::sentences(read.record, &read.fits)));
        document.blocks.extend(verdict::warnings(read.record).into_iter().map(Block::Warning));
        about::thresholds(&mut document, read.record);
    }
    for read in all {
        if all.len() > 1 {
            document.heading(&name(read));
        }
        if !read.record.points.is_empty() {
            throughput::add(&mut document, read.record, read.by, &read.fits, &read.prefix);
            latency::add(&mut document, read.record, read.by, &read.prefix);
            course::add(&mut document, read.record, read.by, &read.prefix);
        }
        about::add(&mut document, read.record);
        // A number that JSON cannot say leaves the record out, not the report.
        document.data.extend(read.record.to_html().ok());
    }
    document
}

/// The page of these records: HTML that needs no other file and no script. [`RunRecord::read`] reads the record of a page with one.
pub fn page(records: &[RunRecord]) -> String {
    html(&document(records), Links::Nothing)
}

/// Writes the report of these records into a directory, which is made if it is not there: `index.html`, each picture as SVG
/// and PNG, the data as JSON, CSV and histogram logs, and `report.pdf` if it is asked for. Returns the names of the files.
///
/// # Errors
/// See [`ReportError`]; files that were written stay.
pub fn write(records: &[RunRecord], directory: &Path, options: &Options) -> Result<Vec<String>, ReportError> {
    let all = read(records);
    let mut names = write_document(&document_of(&all), directory, options)?;
    for read in &all {
        for (name, text) in data::files(read.record, &read.fits, &read.prefix) {
            put(directory, &name, text.as_bytes())?;
            names.push(name);
        }
    }
    Ok(names)
}

/// Writes a report that is not of records alone: the page, its pictures, the PDF. Returns the names of the files.
///
/// # Errors
/// See [`ReportError`]; files that were written stay.
pub fn write_document(
    document: &Document,
    directory: &Path,
    options: &Options,
) -> Result<Vec<String>, ReportError> {
    fs::create_dir_all(directory).map_err(|error| ReportError::Write(directory.to_owned(), error))?;
    let links = if cfg!(feature = "pictures") { Links::SvgAndPng } else { Links::Svg };
    put(directory, "index.html", html(document, links).as_bytes())?;
    let mut names = vec!["index.html".to_owned()];
    for figure in document.figures() {
        let name = format!("{}.svg", figure.name);
        put(directory, &name, crate::draw::svg_file(&figure.scene).as_bytes())?;
        names.push(name);
        names.extend(put_png(directory, figure)?);
    }
    if options.has_pdf {
        put(directory, "report.pdf", &pdf(document)?)?;
        names.push("report.pdf".to_owned());
    }
    Ok(names)
}

#[cfg(feature = "pictures")]
fn put_png(directory: &Path, figure: &Figure) -> Result<Option<String>, ReportError> {
    let name = format!("{}.png", figure.name);
    let bytes =
        crate::draw::png(&figure.scene).map_err(|problem| ReportError::Draw(name.clone(), problem))?;
    put(directory, &name, &bytes)?;
    Ok(Some(name))
}

#[cfg(not(feature = "pictures"))]
fn put_png(_: &Path, _: &Figure) -> Result<Option<String>, ReportError> {
    Ok(None)
}

#[cfg(feature = "pictures")]
fn pdf(document: &Document) -> Result<Vec<u8>, ReportError> {
    pdf::pdf(document).map_err(|problem| ReportError::Draw("report.pdf".to_owned(), problem))
}

#[cfg(not(feature = "pictures"))]
fn pdf(_: &Document) -> Result<Vec<u8>, ReportError> {
    let why = DrawError::new(
        "this durward was built without the feature `pictures`; build it with `--features full,pictures`, or print the page from a browser",
    );
    Err(ReportError::Draw("report.pdf".to_owned(), why))
}

fn put(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), ReportError> {
    let path = directory.join(name);
    fs::write(&path, bytes).map_err(|error| ReportError::Write(path, error))
}
