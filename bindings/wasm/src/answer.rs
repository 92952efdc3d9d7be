//! What goes back to JavaScript.

use std::cell::RefCell;

use durward_embed::{Decision, LoadError, Outcome, QuestionError, SnapshotInfo};
use serde_json::json;
use wasm_bindgen::JsError;

/// The number of a decision whose JSON is fetched.
const AS_JSON: u32 = 5;

/// Where the JSON of the last decision waits to be fetched.
#[derive(Debug, Default)]
pub(crate) struct Answers(RefCell<String>);

impl Answers {
    /// The number of an outcome that nothing goes along with; otherwise puts the JSON down.
    pub(crate) fn put(&self, decision: &Decision) -> u32 {
        let is_plain = decision.obligations().len() == 0
            && decision.advice().len() == 0
            && decision.resource().is_none();
        if is_plain {
            return number(decision.outcome);
        }
        self.0.replace(decision.to_json());
        AS_JSON
    }

    pub(crate) fn take(&self) -> String {
        self.0.take()
    }
}

/// The place of an outcome in the table `PLAIN` of `lib/decision.js`.
fn number(outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Permit => 0,
        Outcome::Deny => 1,
        Outcome::Suspend => 2,
        Outcome::NotApplicable => 3,
        Outcome::Indeterminate => 4,
    }
}

/// What is in force, as JSON.
pub(crate) fn snapshot(info: &SnapshotInfo) -> String {
    let SnapshotInfo { id, documents, policies, rules, index, .. } = info;
    json!({ "id": id, "documents": documents, "policies": policies, "rules": rules, "index": index })
        .to_string()
}

pub(crate) fn of_question(error: &QuestionError) -> JsError {
    JsError::new(&error.to_json())
}

pub(crate) fn of_load(error: &LoadError) -> JsError {
    JsError::new(&error.to_json())
}

/// The decision point was closed.
pub(crate) fn closed() -> JsError {
    JsError::new(r#"{"kind":"closed","message":"the decision point is closed"}"#)
}
