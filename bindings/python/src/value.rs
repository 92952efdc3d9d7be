//! Values of Python as JSON, and values of durward as Python's: what `json.dumps(allow_nan=False)` and `json.loads` make of them.
//!
//! Done here because both are functions of Python. Below ours, they would let other threads run; where the interpreter ends meanwhile, Python before
//! 3.14 ends such a thread by unwinding through its frames, which frames of Rust do not survive. It also takes a third of the time.

use std::fmt::Write as _;

use durward_embed::{JSON_DEPTH_MAX, TEXT_BYTES_MAX, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Why a value has no JSON, and where: keys and indices, the innermost first.
pub(crate) struct NoJson {
    why: String,
    place: Vec<String>,
    cause: Option<PyErr>,
}

impl NoJson {
    fn new(why: impl Into<String>) -> NoJson {
        NoJson { why: why.into(), place: Vec::new(), cause: None }
    }

    fn of(why: &str, cause: PyErr) -> NoJson {
        NoJson { cause: Some(cause), ..NoJson::new(why) }
    }

    fn inside(mut self, step: impl FnOnce() -> String) -> NoJson {
        // Enough to find it; what is nested without end has as many steps as are read.
        if self.place.len() < PLACE_STEPS_MAX {
            self.place.push(step());
        }
        self
    }

    /// What is wrong, with its place, and what it came of.
    pub(crate) fn into_parts(self) -> (String, Option<PyErr>) {
        let place: String = self.place.iter().rev().map(String::as_str).collect();
        let place = place.strip_prefix('.').unwrap_or(&place);
        let why = self.why;
        (if place.is_empty() { why } else { format!("`{place}` {why}") }, self.cause)
    }
}

/// Most steps of a place that are told.
const PLACE_STEPS_MAX: usize = 8;

/// The JSON of a dict of values that have one.
pub(crate) fn to_json(dict: &Bound<'_, PyDict>) -> Result<String, NoJson> {
    let mut out = String::with_capacity(256);
    write_dict(dict, &mut out, 1)?;
    Ok(out)
}

fn write_value(value: &Bound<'_, PyAny>, out: &mut String, depth: usize) -> Result<(), NoJson> {
    if let Ok(text) = value.cast::<PyString>() {
        return write_text(text, out);
    }
    if value.is_none() {
        out.push_str("null");
        return Ok(());
    }
    // Before integers: True and False are some.
    if let Ok(value) = value.cast::<PyBool>() {
        out.push_str(if value.is_true() { "true" } else { "false" });
        return Ok(());
    }
    if let Ok(integer) = value.cast::<PyInt>() {
        return write_integer(integer, out);
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return write_float(float.value(), out);
    }
    if depth > JSON_DEPTH_MAX {
        return Err(NoJson::new(format!("is nested deeper than {JSON_DEPTH_MAX} levels, or within itself")));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return write_dict(dict, out, depth);
    }
    if let Ok(list) = value.cast::<PyList>() {
        return write_array(list.iter(), out, depth);
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return write_array(tuple.iter(), out, depth);
    }
    let name = value.get_type().name().map_or_else(|_| "value".to_owned(), |name| name.to_string());
    Err(NoJson::new(format!("is of the type {name}, which has no JSON")))
}

fn write_dict(dict: &Bound<'_, PyDict>, out: &mut String, depth: usize) -> Result<(), NoJson> {
    let mut before = '{';
    for (key, value) in dict.iter() {
        out.push(before);
        let Ok(text) = key.cast::<PyString>() else {
            return Err(NoJson::new("has a key that is no str"));
        };
        write_text(text, out)?;
        out.push(':');
        write_value(&value, out, depth + 1)
            .map_err(|error| error.inside(|| format!(".{}", text.to_string_lossy())))?;
        before = ',';
    }
    out.push_str(if before == '{' { "{}" } else { "}" });
    Ok(())
}

fn write_array<'py>(
    values: impl Iterator<Item = Bound<'py, PyAny>>,
    out: &mut String,
    depth: usize,
) -> Result<(), NoJson> {
    let mut before = '[';
    for (index, value) in values.enumerate() {
        out.push(before);
        write_value(&value, out, depth + 1).map_err(|error| error.inside(|| format!("[{index}]")))?;
        before = ',';
    }
    out.push_str(if before == '[' { "[]" } else { "]" });
    Ok(())
}

fn write_text(text: &Bound<'_, PyString>, out: &mut String) -> Result<(), NoJson> {
    // Looked at before Python makes UTF-8 of it, which it keeps; and what is written grows no further.
    let length = text.code_point_len().map_err(|error| NoJson::of("is no text", error))?;
    if length.saturating_add(out.len()) > TEXT_BYTES_MAX {
        return Err(NoJson::new(format!(
            "makes the question longer than the {TEXT_BYTES_MAX} bytes that are read"
        )));
    }
    let text = text.to_str().map_err(|error| NoJson::of("is no Unicode text", error))?;
    // Most texts need no escape.
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return Ok(());
    }
    let text = serde_json::to_string(text).map_err(|error| NoJson::new(format!("has no JSON: {error}")))?;
    out.push_str(&text);
    Ok(())
}

fn write_integer(integer: &Bound<'_, PyInt>, out: &mut String) -> Result<(), NoJson> {
    if let Ok(integer) = integer.extract::<i64>() {
        // Writing to a text does not fail.
        let _ = write!(out, "{integer}");
        return Ok(());
    }
    let digits = integer.py().get_type::<PyInt>().call_method1("__repr__", (integer,));
    let digits = digits.and_then(|digits| digits.extract::<String>());
    out.push_str(&digits.map_err(|error| NoJson::of("is a number too long", error))?);
    Ok(())
}

fn write_float(float: f64, out: &mut String) -> Result<(), NoJson> {
    if !float.is_finite() {
        return Err(NoJson::new(format!("is {float}, which has no JSON")));
    }
    let _ = write!(out, "{float:?}");
    Ok(())
}

/// A value as `json.loads` gives it.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    if let Value::Array(values) = value {
        let list = PyList::empty(py);
        for value in values.iter() {
            list.append(to_python(py, value)?)?;
        }
        return Ok(list.into_any());
    }
    if let Value::Object(object) = value {
        let dict = PyDict::new(py);
        for (key, value) in object.iter() {
            dict.set_item(key.as_str(), to_python(py, value)?)?;
        }
        return Ok(dict.into_any());
    }
    scalar(py, &value.to_json())
}

/// The value that a JSON text of one text, number or word stands for.
fn scalar<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    match json {
        "null" => Ok(py.None().into_bound(py)),
        "true" | "false" => Ok(PyBool::new(py, json == "true").to_owned().into_any()),
        text if text.starts_with('"') => {
            let text: String = serde_json::from_str(text).map_err(|error| {
                pyo3::exceptions::PyValueError::new_err(format!("a text of the decision is no JSON: {error}"))
            })?;
            Ok(PyString::new(py, &text).into_any())
        }
        number if number.contains(['.', 'e', 'E']) => py.get_type::<PyFloat>().call1((number,)),
        number => match number.parse::<i64>() {
            Ok(integer) => Ok(integer.into_pyobject(py)?.into_any()),
            Err(_) => py.get_type::<PyInt>().call1((number,)),
        },
    }
}
