//! What a check finds, in the words of the policy's author.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;

use smol_str::SmolStr;

use crate::policy::PolicyError;
use crate::tree::{Document, Place, Standard};

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

/// What lowering and reading say first, and the code programs know it by. Only a label depends on the wording.
const ERROR_CODES: [(&str, &str); 15] = [
    ("argument ", "wrong-type"),
    ("unknown function", "unknown-function"),
    ("unknown data type", "unknown-data-type"),
    ("unknown combining algorithm", "unknown-algorithm"),
    ("unknown element", "unknown-element"),
    ("unknown attribute", "unknown-xml-attribute"),
    ("not well-formed XML", "not-well-formed"),
    ("no policy", "missing-reference"),
    ("the reference to", "circular-reference"),
    ("the variable", "bad-variable"),
    ("policies with a `PolicyIssuer`", "unsupported-issuer"),
    ("a condition must", "wrong-type"),
    ("a match needs", "wrong-type"),
    ("every policy is referred to", "no-root"),
    ("the path", "bad-path"),
];

impl From<PolicyError> for Finding {
    fn from(error: PolicyError) -> Finding {
        let known = ERROR_CODES.iter().find(|(beginning, _)| error.message.starts_with(beginning));
        let code = known.map_or_else(
            || if error.message.contains("already defined") { "duplicate-id" } else { "invalid-policy" },
            |(_, code)| code,
        );
        let PolicyError { source, line, column, message, help } = error;
        Finding { severity: Severity::Error, code, source, line, column, message, help }
    }
}

/// The findings of one document, as they are made.
pub(super) struct Findings {
    source: SmolStr,
    /// The version the document is written in: a hint recommends nothing that it does not have.
    pub(super) written_in: Standard,
    list: Vec<Finding>,
    /// How many there were of each severity, in its order.
    counts: [usize; 3],
    /// What is told once for all places: where the finding stands in the list, and how many places there are.
    grouped: HashMap<(&'static str, SmolStr), (usize, usize)>,
}

/// Most findings of one severity kept for one document: more than anybody reads, and a bound on what a document can
/// make us keep. One more says that there were more.
const FINDINGS_MAX: usize = 1_000;

impl Findings {
    pub(super) fn of(document: &Document) -> Findings {
        Findings {
            source: document.source.clone(),
            written_in: document.written_in,
            list: Vec::new(),
            counts: [0; 3],
            grouped: HashMap::new(),
        }
    }

    /// How many there are so far.
    pub(super) fn count_all(&self) -> usize {
        self.list.len()
    }

    /// All of them, those for several places with their number.
    pub(super) fn into_list(mut self) -> Vec<Finding> {
        for (at, places) in self.grouped.into_values().filter(|(_, places)| *places > 1) {
            if let Some(finding) = self.list.get_mut(at) {
                finding.message.push_str(&format!("; {places} places in this document"));
            }
        }
        self.list
    }

    pub(super) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: Place,
        message: String,
        help: &str,
    ) {
        let count = self.count(severity);
        let (code, message, help) = match count.cmp(&FINDINGS_MAX) {
            Ordering::Less => (code, message, help),
            Ordering::Equal => {
                ("more-left-out", format!("further {severity}s from here on are left out"), "")
            }
            Ordering::Greater => return,
        };
        let Place { line, column, .. } = place;
        let help = (!help.is_empty()).then(|| help.to_owned());
        self.list.push(Finding { severity, code, source: self.source.clone(), line, column, message, help });
    }

    /// Counts one more of this severity; how many there were before.
    fn count(&mut self, severity: Severity) -> usize {
        let [hints, warnings, errors] = &mut self.counts;
        let count = match severity {
            Severity::Hint => hints,
            Severity::Warning => warnings,
            Severity::Error => errors,
        };
        *count += 1;
        *count - 1
    }

    pub(super) fn warn(&mut self, code: &'static str, place: Place, message: String, help: &str) {
        self.add(Severity::Warning, code, place, message, help);
    }

    pub(super) fn hint(&mut self, code: &'static str, place: Place, message: String, help: &str) {
        self.add(Severity::Hint, code, place, message, help);
    }

    /// A hint that holds wherever an identifier stands: told at the first place, with the number of places.
    pub(super) fn hint_once(
        &mut self,
        code: &'static str,
        id: &SmolStr,
        place: Place,
        message: impl FnOnce() -> String,
        help: &str,
    ) {
        if let Some((_, places)) = self.grouped.get_mut(&(code, id.clone())) {
            *places += 1;
            return;
        }
        let at = self.list.len();
        self.hint(code, place, message(), help);
        // What was left out for being too much is nowhere.
        let at = if self.list.len() > at { at } else { usize::MAX };
        self.grouped.insert((code, id.clone()), (at, 1));
    }
}
