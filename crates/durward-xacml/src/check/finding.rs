//! What a check finds, as it is found.

use durward_ir::finding::{Room, Tally, left_out};
use smol_str::SmolStr;

pub use durward_ir::finding::{Finding, Severity};

use crate::policy::PolicyError;
use crate::tree::Place;

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
    tally: Tally,
}

impl Findings {
    pub(super) fn of(source: &SmolStr) -> Findings {
        Findings { source: source.clone(), list: Vec::new(), tally: Tally::default() }
    }

    pub(super) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: Place,
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
        let Place { line, column, .. } = place;
        let help = (!help.is_empty()).then(|| help.to_owned());
        self.list.push(Finding { severity, code, source: self.source.clone(), line, column, message, help });
    }

    pub(super) fn warn(&mut self, code: &'static str, place: Place, message: String, help: &str) {
        self.add(Severity::Warning, code, place, message, help);
    }

    pub(super) fn hint(&mut self, code: &'static str, place: Place, message: String, help: &str) {
        self.add(Severity::Hint, code, place, message, help);
    }
}
