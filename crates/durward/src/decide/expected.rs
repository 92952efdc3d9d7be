//! Recorded decisions, to compare with.

use std::collections::HashMap;
use std::path::Path;

use durward_pdp::ir::json;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lines::{LineError, for_each_line, in_words};
use super::name_of;
use crate::failure::{CommandError, DIFFERENT, SUCCESS};

/// One recorded line. Other members are none of our business.
#[derive(Deserialize)]
struct ExpectedLine<'l> {
    #[serde(borrow)]
    id: &'l RawValue,
    /// A word, or a whole decision of SAPL.
    #[serde(borrow)]
    decision: &'l RawValue,
}

impl ExpectedLine<'_> {
    /// The decision as it is compared: the word, or the object without white space.
    fn decision(&self) -> Option<String> {
        let decision = json::read(self.decision.get()).ok()?;
        let is_decision = decision.as_text().is_some() || decision.as_object().is_some();
        is_decision.then(|| decision.as_text().map_or_else(|| decision.to_json(), str::to_owned))
    }
}

/// Recorded decisions by identifier, and how the comparison goes.
#[derive(Debug)]
pub(super) struct RecordedDecisions {
    name: String,
    decisions: HashMap<String, String>,
    compared: u64,
    unknown: u64,
    differences: u64,
}

impl RecordedDecisions {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<RecordedDecisions, CommandError> {
        let mut decisions = HashMap::new();
        let mut problem = None;
        let read = for_each_line(path, |number, line, _| {
            match serde_json::from_slice::<ExpectedLine<'_>>(line) {
                Ok(line) => match line.decision() {
                    Some(decision) => drop(decisions.insert(line.id.get().to_owned(), decision)),
                    None => {
                        let _ = problem.get_or_insert_with(|| {
                            format!("{}:{number}: `decision` is neither a word nor an object", name_of(path))
                        });
                    }
                },
                Err(error) => {
                    let _ = problem
                        .get_or_insert_with(|| format!("{}:{number}: {}", name_of(path), in_words(&error)));
                }
            }
            Ok(())
        });
        match read {
            Err(LineError::Input(failure)) => return Err(failure),
            // Nothing is written here.
            Err(LineError::Output(_)) | Ok(()) => {}
        }
        if let Some(problem) = problem {
            return Err(
                CommandError::new(problem).hint("a recorded line is {\"id\": ..., \"decision\": \"Permit\"}")
            );
        }
        Ok(RecordedDecisions { name: name_of(path), decisions, compared: 0, unknown: 0, differences: 0 })
    }

    /// Compares one decision; the difference in words, if there is one. `id` is as written, `whole` the decision with
    /// all that goes along with it, where that can be compared.
    pub(super) fn compare(&mut self, id: &str, word: &str, whole: Option<&str>) -> Option<String> {
        let Some(recorded) = self.decisions.get(id) else {
            self.unknown += 1;
            return None;
        };
        self.compared += 1;
        let decision = whole.filter(|_| recorded.starts_with('{')).unwrap_or(word);
        if recorded == decision {
            return None;
        }
        self.differences += 1;
        Some(format!("{}: expected {recorded}, got {decision}", id.trim_matches('"')))
    }

    /// The count.
    pub(super) fn summary(&self) -> String {
        let plural = if self.differences == 1 { "" } else { "s" };
        let mut text = format!("{} compared, {} difference{plural}", self.compared, self.differences);
        if self.unknown > 0 {
            text.push_str(&format!(", {} without a recorded decision", self.unknown));
        }
        text
    }

    /// What the comparison comes to.
    pub(super) fn exit_code(&self) -> u8 {
        if self.differences > 0 { DIFFERENT } else { SUCCESS }
    }

    /// Fails where not one request had a recorded decision: that is no success.
    pub(super) fn check_compared(&self) -> Result<(), CommandError> {
        if self.compared > 0 {
            return Ok(());
        }
        let message = format!("{} holds no decision for any of the requests", self.name);
        Err(CommandError::new(message).hint("the `id`s of both files must be the same"))
    }
}
