//! Studies: the runs of a published one, made here, and its tables and figures beside ours.
//!
//! A [`Study`] is data: runs, each a scenario with its target, and one function that says what the figures come to. [`run`]
//! measures what is not recorded yet, one record for each run; a [`StudyDigest`] is what the pages need of all records. [`StudyDigest`] ->
//! [`Document`] -> HTML, PDF and pictures as for any report ([`crate::report::write_document`]), and Markdown ([`markdown()`]) for
//! the manual. Since pages are made of the digest alone, a digest that is checked in proves its page.
//!
//! ```
//! use durward_lab::study::{StudyRun, Study};
//! use durward_lab::report::Document;
//!
//! let scenario = "[target]\naddresses = [\"127.0.0.1:8080\"]\n[load]\nusers = [1, 2]\nwarm_up = \"1s\"\nmeasure = \"4s\"\n[[steps]]\npath = \"/\"";
//! let study = Study {
//!     name: "example",
//!     form: "quick".to_owned(),
//!     runs: vec![StudyRun::new("pages", "one page, again and again", scenario.to_owned())],
//!     document: |digest| Document::new(&digest.study),
//! };
//! assert_eq!(study.expected().unwrap().as_secs(), 10 + durward_lab::study::START.as_secs());
//! ```

mod digest;
pub mod luas;
mod markdown;
mod numbers;
pub mod openam;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

pub use digest::{NodeDigest, PointDigest, RunDigest, StepDigest, StudyDigest};
pub use markdown::markdown;
pub use numbers::{PaperNumber, number_table};

use durward_files::FileAccess;

use crate::record::RunRecord;
use crate::report::Document;
use crate::run::{RunError, RunOptions, RunWatcher};
use crate::scenario::{Scenario, ScenarioError};

/// How long it takes, about, until a target is ready and the generator's own limit is known: once for each run.
pub const START: Duration = Duration::from_secs(4);

/// A study, ready to be run on this machine.
#[derive(Clone, Debug)]
pub struct Study {
    /// As the command calls it.
    pub name: &'static str,
    /// How long it measures: `quick`, `full`.
    pub form: String,
    /// In the order in which they are run.
    pub runs: Vec<StudyRun>,
    /// What the figures come to, beside the paper's.
    pub document: fn(&StudyDigest) -> Document,
}

/// One run of a study: a scenario and its target.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyRun {
    /// The name of its record: letters, digits and `-`.
    pub name: String,
    /// What it measures, in words.
    pub about: String,
    /// The text of the scenario, target and all; or why it is not run here.
    pub scenario: Result<String, String>,
    /// Whether the digest keeps what nodes used over time: pictures of resources need it.
    pub keeps_samples: bool,
}

impl StudyRun {
    /// A run of this scenario.
    pub fn new(name: &str, about: &str, scenario: String) -> StudyRun {
        StudyRun {
            name: name.to_owned(),
            about: about.to_owned(),
            scenario: Ok(scenario),
            keeps_samples: true,
        }
    }

    /// A run that this machine cannot make, and why.
    pub fn left_out(name: &str, about: &str, why: &str) -> StudyRun {
        StudyRun {
            name: name.to_owned(),
            about: about.to_owned(),
            scenario: Err(why.to_owned()),
            keeps_samples: true,
        }
    }

    /// The same, whose digest does not keep what nodes used over time.
    #[must_use]
    pub fn without_samples(self) -> StudyRun {
        StudyRun { keeps_samples: false, ..self }
    }

    /// How long it will take, about; nothing where it is left out.
    ///
    /// # Errors
    /// A scenario that cannot be read.
    pub fn expected(&self) -> Result<Duration, StudyError> {
        let Ok(text) = &self.scenario else { return Ok(Duration::ZERO) };
        let scenario =
            Scenario::read(text).map_err(|error| StudyError::Scenario(self.name.clone(), error))?;
        Ok(START + crate::run::expected(&scenario))
    }
}

impl Study {
    /// How long all runs will take, about.
    ///
    /// # Errors
    /// A scenario that cannot be read.
    pub fn expected(&self) -> Result<Duration, StudyError> {
        self.runs.iter().map(StudyRun::expected).sum()
    }

    /// Where the record of a run lies below a study's directory.
    pub fn record_path(directory: &Path, run: &StudyRun) -> PathBuf {
        directory.join("records").join(format!("{}.json", run.name))
    }
}

/// Why a study cannot be run.
#[derive(Debug)]
pub enum StudyError {
    /// The scenario of the run with this name cannot be read.
    Scenario(String, ScenarioError),
    /// A file could not be read or written.
    File(PathBuf, io::Error),
    /// Nothing at all was measured: the first run that failed, and why.
    Nothing(String, String),
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StudyError::Scenario(run, error) => write!(f, "run `{run}`: {error}"),
            StudyError::File(path, error) => write!(f, "{}: {error}", path.display()),
            StudyError::Nothing(run, why) => write!(f, "nothing was measured; run `{run}`: {why}"),
        }
    }
}

impl std::error::Error for StudyError {}

/// What is done with records that an earlier start of the same study left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierRecords {
    /// Runs whose record is whole and of the same scenario are not run again.
    Kept,
    /// All is run.
    Replaced,
}

/// Told of a study's progress.
pub trait StudyProgress {
    /// A run begins, or why it does not: `3 of 12`, the run, what is done.
    fn run(&mut self, number: usize, count: usize, run: &StudyRun, what: &RunAction);
    /// Who watches this run.
    fn watcher(&mut self, scenario: &Scenario) -> Box<dyn RunWatcher>;
}

/// What is done with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAction {
    /// It is measured, for about so long.
    Measuring(Duration),
    /// It was recorded before.
    Recorded,
    /// It is left out on this machine.
    LeftOut(String),
    /// It failed.
    Failed(String),
}

/// Runs a study: each run whose record is not there is measured and recorded at once in `directory/records`, so that a study
/// that ends before its time goes on where it was. A run that cannot be started does not end the study. Ends early when
/// [`RunOptions::stop`] is set.
///
/// # Errors
/// See [`StudyError`].
pub fn run(
    study: &Study,
    directory: &Path,
    earlier: EarlierRecords,
    options: &RunOptions,
    progress: &mut dyn StudyProgress,
) -> Result<StudyDigest, StudyError> {
    let folder = directory.join("records");
    fs::create_dir_all(&folder).map_err(|error| StudyError::File(folder.clone(), error))?;
    // Before an hour is spent: every scenario must be one.
    study.expected()?;
    let mut digest = StudyDigest::new(study, options);
    let count = study.runs.len();
    for (number, run) in (1..).zip(&study.runs) {
        let mut told = |what: &RunAction| progress.run(number, count, run, what);
        let text = match &run.scenario {
            Ok(text) => text,
            Err(why) => {
                told(&RunAction::LeftOut(why.clone()));
                digest.runs.push(RunDigest::failed(run, why));
                continue;
            }
        };
        let path = Study::record_path(directory, run);
        if let Some(record) = recorded(&path, text, earlier) {
            told(&RunAction::Recorded);
            digest.add(run, &record);
            continue;
        }
        if options.stop.load(Ordering::Relaxed) {
            digest.runs.push(RunDigest::failed(run, STOPPED));
            continue;
        }
        told(&RunAction::Measuring(run.expected()?));
        let scenario = Scenario::read(text).map_err(|error| StudyError::Scenario(run.name.clone(), error))?;
        let mut watcher = progress.watcher(&scenario);
        match crate::run::run(&scenario, options, watcher.as_mut()) {
            Ok(record) => {
                keep(&path, &record)?;
                digest.add(run, &record);
            }
            Err(error) => {
                let why = why(&error);
                progress.run(number, count, run, &RunAction::Failed(why.clone()));
                digest.runs.push(RunDigest::failed(run, &why));
            }
        }
    }
    let is_empty = digest.runs.iter().all(|run| run.points.is_empty());
    match digest.runs.iter().find_map(|run| run.failed.as_ref().map(|why| (run.name.clone(), why.clone()))) {
        Some((name, why)) if is_empty => Err(StudyError::Nothing(name, why)),
        _ => Ok(digest),
    }
}

/// Why a run was not made that a stop came before.
const STOPPED: &str = "the study was stopped before it";

/// The record of an earlier start, where it is whole and came of the same scenario.
fn recorded(path: &Path, scenario: &str, earlier: EarlierRecords) -> Option<RunRecord> {
    if earlier == EarlierRecords::Replaced {
        return None;
    }
    let record = RunRecord::read(&fs::read_to_string(path).ok()?).ok()?;
    (record.cut_short.is_none() && record.about.scenario == scenario).then_some(record)
}

/// Writes a record, all or nothing.
fn keep(path: &Path, record: &RunRecord) -> Result<(), StudyError> {
    let text =
        record.to_json().map_err(|error| StudyError::File(path.to_owned(), io::Error::other(error)))?;
    durward_files::replace(path, text.as_bytes(), FileAccess::Usual)
        .map_err(|error| StudyError::File(path.to_owned(), error))
}

/// An error without the directories of this run, which differ each time.
fn why(error: &RunError) -> String {
    error.to_string().lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
