//! What a check finds, in the words of the policy's author.

use std::cmp::Ordering;
use std::fmt;

use smol_str::SmolStr;

use crate::policy::PolicyError;
use crate::tree::Place;

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
    pub(super) list: Vec<Finding>,
    /// How many there were of each severity, in its order.
    counts: [usize; 3],
}

/// Most findings of one severity kept for one document: more than anybody reads, and a bound on what a document can
/// make us keep. One more says that there were more.
const FINDINGS_MAX: usize = 1_000;

impl Findings {
    pub(super) fn of(source: &SmolStr) -> Findings {
        Findings { source: source.clone(), list: Vec::new(), counts: [0; 3] }
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
}
