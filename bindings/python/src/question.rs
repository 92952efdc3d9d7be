//! Questions: a text, its bytes, or a dict of which JSON is made.

use std::borrow::Cow;

use durward_embed::TEXT_BYTES_MAX;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::error::{QuestionError, unreadable};
use crate::value;

/// The elements of a subscription.
const ELEMENTS: [&str; 5] = ["subject", "action", "resource", "environment", "secrets"];

/// A question as Python holds it: its bytes are borrowed, and stay while this does.
pub(crate) enum Text<'py> {
    Str(Bound<'py, PyString>),
    Bytes(Bound<'py, PyBytes>),
    /// Written of a dict.
    Json(String),
}

impl<'py> Text<'py> {
    /// A subscription: as one argument, or its elements as keyword arguments.
    pub(crate) fn of_subscription(
        subscription: Option<&Bound<'py, PyAny>>,
        elements: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Text<'py>> {
        match (subscription, elements) {
            (Some(_), Some(_)) => Err(PyTypeError::new_err(
                "a subscription is one argument, or its elements are keyword arguments: not both",
            )),
            (Some(subscription), None) => Text::of_one(subscription),
            (None, Some(elements)) => {
                known(elements)?;
                Text::written(elements)
            }
            (None, None) => Err(PyTypeError::new_err(
                "a subscription is wanted: as str, bytes or dict, or as keyword arguments `subject`, `action`, `resource`",
            )),
        }
    }

    /// A subscription as one argument.
    pub(crate) fn of_one(subscription: &Bound<'py, PyAny>) -> PyResult<Text<'py>> {
        if let Some(text) = Text::of_text(subscription) {
            return Ok(text);
        }
        match subscription.cast::<PyDict>() {
            Ok(dict) => Text::written(dict),
            Err(_) => Err(wrong_type(subscription, "a subscription is str, bytes or dict")),
        }
    }

    /// A request of XACML.
    pub(crate) fn of_request(request: &Bound<'py, PyAny>) -> PyResult<Text<'py>> {
        Text::of_text(request).ok_or_else(|| wrong_type(request, "a request is str or bytes"))
    }

    fn of_text(text: &Bound<'py, PyAny>) -> Option<Text<'py>> {
        if let Ok(text) = text.cast::<PyString>() {
            return Some(Text::Str(text.clone()));
        }
        text.cast::<PyBytes>().ok().map(|bytes| Text::Bytes(bytes.clone()))
    }

    /// A dict as JSON.
    fn written(dict: &Bound<'py, PyDict>) -> PyResult<Text<'py>> {
        let py = dict.py();
        value::to_json(dict).map(Text::Json).map_err(|error| {
            let (why, cause) = error.into_parts();
            let error = QuestionError::new_err(why);
            error.set_cause(py, cause);
            error
        })
    }

    /// The bytes of the text, in UTF-8.
    pub(crate) fn bytes(&self) -> PyResult<&[u8]> {
        match self {
            Text::Str(text) => {
                let too_long =
                    || format!("a question is longer than the {TEXT_BYTES_MAX} bytes that are read");
                // Before Python makes UTF-8 of it, which it keeps.
                if text.code_point_len()? > TEXT_BYTES_MAX {
                    return Err(QuestionError::new_err(too_long()));
                }
                let utf8 = text
                    .to_str()
                    .map_err(|error| unreadable(text.py(), "the question is no Unicode text", error))?;
                Ok(utf8.as_bytes())
            }
            Text::Bytes(bytes) => Ok(bytes.as_bytes()),
            Text::Json(text) => Ok(text.as_bytes()),
        }
    }
}

/// Refuses keyword arguments that are no elements of a subscription.
fn known(elements: &Bound<'_, PyDict>) -> PyResult<()> {
    for key in elements.keys() {
        let key = key.cast::<PyString>()?;
        let name: Cow<'_, str> = key.to_string_lossy();
        if !ELEMENTS.contains(&&*name) {
            return Err(PyTypeError::new_err(format!(
                "a subscription has no `{name}`: it has {}",
                ELEMENTS.map(|name| format!("`{name}`")).join(", ")
            )));
        }
    }
    Ok(())
}

fn wrong_type(value: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let name = value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{wanted}, not {name}"))
}
