//! Errors, as classes of Python have them: those of `durward._errors`.

use durward_embed::LoadError;
use pyo3::prelude::*;
use pyo3::{PyErr, import_exception};

import_exception!(durward._errors, Error);
import_exception!(durward._errors, PolicyError);
import_exception!(durward._errors, QuestionError);

/// One problem of policies: document, line, column, message, help.
type Problem = (String, u32, u32, String, Option<String>);

/// Policies that were not put in force.
pub(crate) fn of_policies(error: &LoadError) -> PyErr {
    PolicyError::new_err((error.to_string(), problems(error)))
}

fn problems(error: &LoadError) -> Vec<Problem> {
    match error {
        LoadError::Files(error) => {
            vec![(error.path.display().to_string(), 0, 0, error.message.clone(), None)]
        }
        LoadError::Policies(errors) => errors
            .iter()
            .map(|error| {
                let source = error.source.to_string();
                (source, error.line, error.column, error.message.clone(), error.help.clone())
            })
            .collect(),
        LoadError::NoFolder => Vec::new(),
    }
}

/// A question that has no decision.
#[expect(clippy::needless_pass_by_value, reason = "taken by `map_err`")]
pub(crate) fn of_question(error: durward_embed::QuestionError) -> PyErr {
    QuestionError::new_err(error.to_string())
}

/// The same, for what is wrong before durward reads it.
pub(crate) fn unreadable(py: Python<'_>, why: &str, cause: PyErr) -> PyErr {
    let error = QuestionError::new_err(format!("{why}: {}", cause.value(py)));
    error.set_cause(py, Some(cause));
    error
}

/// A decision point that a process was given by the one it was forked from.
pub(crate) fn of_fork() -> PyErr {
    Error::new_err(
        "the process was forked after subscriptions were watched: what watches them stayed behind; make the Pdp again after the fork",
    )
}
