//! Errors on their way to JavaScript. The message is JSON, of which `lib/errors.js` makes an error of the right class:
//! `{"kind": "policy" | "question" | "closed" | "panic", "message": .., "problems": [..]}`.

use durward_embed::{LoadError, QuestionError};
use napi::Error;
use serde_json::json;

pub(crate) fn of_question(error: &QuestionError) -> Error {
    Error::from_reason(error.to_json())
}

pub(crate) fn of_load(error: &LoadError) -> Error {
    Error::from_reason(error.to_json())
}

/// The decision point was closed.
pub(crate) fn closed() -> Error {
    told("closed", "the decision point is closed")
}

/// A mistake of durward: whoever asked gets an error, and the process goes on.
pub(crate) fn panicked() -> Error {
    told("panic", "durward failed; please report what it was asked")
}

fn told(kind: &str, message: &str) -> Error {
    Error::from_reason(json!({ "kind": kind, "message": message }).to_string())
}
