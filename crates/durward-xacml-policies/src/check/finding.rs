//! What a check finds, as it is found.

use std::collections::HashMap;

use durward_ir::finding::{Room, Tally, left_out};
use smol_str::SmolStr;

pub use durward_ir::finding::{Finding, Severity};

use crate::policy::PolicyError;
use crate::tree::{Document, Standard, XmlLocation};

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
    tally: Tally,
    /// What is told once for all places: where the finding stands in the list, and how many places there are.
    grouped: HashMap<(&'static str, SmolStr), (usize, usize)>,
}

impl Findings {
    pub(super) fn of(document: &Document) -> Findings {
        Findings {
            source: document.source.clone(),
            written_in: document.written_in,
            list: Vec::new(),
            tally: Tally::default(),
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
        place: XmlLocation,
        message: String,
        help: &str,
    ) {
        let (code, message, help) = match self.tally.count(severity) {
            Room::Kept => (code, message, help),
            Room::FirstLeftOut => {
                let (code, message) = left_out(severity);
                (code, message, "")
            }
            Room::LeftOut => return,
        };
        let XmlLocation { line, column, .. } = place;
        let help = (!help.is_empty()).then(|| help.to_owned());
        self.list.push(Finding { severity, code, source: self.source.clone(), line, column, message, help });
    }

    pub(super) fn warn(&mut self, code: &'static str, place: XmlLocation, message: String, help: &str) {
        self.add(Severity::Warning, code, place, message, help);
    }

    pub(super) fn hint(&mut self, code: &'static str, place: XmlLocation, message: String, help: &str) {
        self.add(Severity::Hint, code, place, message, help);
    }

    /// A hint that holds wherever an identifier stands: told at the first place, with the number of places.
    pub(super) fn hint_once(
        &mut self,
        code: &'static str,
        id: &SmolStr,
        place: XmlLocation,
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
