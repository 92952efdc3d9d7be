//! Errors on their way to JavaScript. The message is JSON, of which `lib/errors.js` makes an error of the right class:
//! `{"kind": "policy" | "question" | "closed", "message": .., "problems": [..]}`.

use durward_embed::{LoadError, QuestionError};
use napi::Error;
use serde_json::{Value as Json, json};

pub(crate) fn of_question(error: &QuestionError) -> Error {
    told("question", error.to_string(), Vec::new())
}

pub(crate) fn of_load(error: &LoadError) -> Error {
    told("policy", error.to_string(), problems(error))
}

/// The decision point was closed.
pub(crate) fn closed() -> Error {
    told("closed", "the decision point is closed".to_owned(), Vec::new())
}

/// A mistake of durward: whoever asked gets an error, and the process goes on.
pub(crate) fn panicked() -> Error {
    told("panic", "durward failed; please report what it was asked".to_owned(), Vec::new())
}

fn told(kind: &str, message: String, problems: Vec<Json>) -> Error {
    Error::from_reason(json!({ "kind": kind, "message": message, "problems": problems }).to_string())
}

fn problems(error: &LoadError) -> Vec<Json> {
    match error {
        LoadError::Files(error) => {
            vec![json!({ "source": error.path.display().to_string(), "message": error.message })]
        }
        LoadError::Policies(errors) => {
            let problem = |error: &durward_embed::PolicyError| {
                let has_place = !error.source.is_empty();
                json!({
                    "source": has_place.then(|| error.source.as_str()),
                    "line": has_place.then_some(error.line),
                    "column": has_place.then_some(error.column),
                    "message": error.message,
                    "help": error.help,
                })
            };
            errors.iter().map(problem).collect()
        }
        LoadError::NoFolder => Vec::new(),
    }
}
