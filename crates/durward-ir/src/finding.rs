//! What a check of policies finds, whatever their language, in the words of their author.

use std::cmp::Ordering;
use std::fmt;

use smol_str::SmolStr;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Correct, but there is a better way to write it.
    Hint,
    /// Allowed, but hardly what was meant.
    Warning,
    /// The policies cannot be put in force.
    Error,
}

/// One thing found. Shown as
/// ``policies/a.xml:12:5: warning: rule `r2` is never reached [unreachable-rule]``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What sort of finding it is, for programs: stable, in kebab-case.
    pub code: &'static str,
    /// The name the caller gave the document.
    pub source: SmolStr,
    /// The line, from 1; 0 where it is about the documents as a whole.
    pub line: u32,
    /// The column, in characters, from 1; 0 where it is about the documents as a whole.
    pub column: u32,
    /// What was found.
    pub message: String,
    /// A way out, where one is known.
    pub help: Option<String>,
}

impl Severity {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Hint => "hint",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 if self.source.is_empty() => {}
            0 => write!(f, "{}: ", self.source)?,
            line => write!(f, "{}:{line}:{}: ", self.source, self.column)?,
        }
        write!(f, "{}: {} [{}]", self.severity, self.message, self.code)
    }
}

/// Most findings of one severity kept for one document: more than anybody reads, and a bound on what a document can
/// make us keep. One more says that there were more.
pub const FINDINGS_MAX: usize = 1_000;

/// How many findings of each severity one document has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// In the order of [`Severity`].
    counts: [usize; 3],
}

/// What becomes of one more finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It is kept.
    Kept,
    /// It is the first that is left out: [`left_out`] says so in its place.
    FirstLeftOut,
    /// It is left out.
    LeftOut,
}

impl Tally {
    /// Counts one more of this severity.
    pub fn count(&mut self, severity: Severity) -> Room {
        let [hints, warnings, errors] = &mut self.counts;
        let count = match severity {
            Severity::Hint => hints,
            Severity::Warning => warnings,
            Severity::Error => errors,
        };
        *count += 1;
        match (*count - 1).cmp(&FINDINGS_MAX) {
            Ordering::Less => Room::Kept,
            Ordering::Equal => Room::FirstLeftOut,
            Ordering::Greater => Room::LeftOut,
        }
    }

    /// How many there were of all severities, those left out included.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }
}

/// Code and message of what stands for all findings of a severity that were left out.
pub fn left_out(severity: Severity) -> (&'static str, String) {
    ("more-left-out", format!("further {severity}s from here on are left out"))
}
