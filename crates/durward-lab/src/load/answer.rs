//! Whether an answer is right, and what is captured from it.

use serde_json::Value;

use super::cause::FailureCause;
use super::plan::{AnswerCheck, CaptureSource, ExpectedValue, FillSource, text_of};
use crate::scenario::{DataOrder, DataTable};

/// Statuses that are right where a step says nothing.
const RIGHT: std::ops::RangeInclusive<u16> = 200..=399;

/// An answer, or one item of a stream of them.
#[derive(Debug, Default)]
pub(crate) struct LoadAnswer {
    /// Its status; 0 where the protocol has none.
    pub(crate) status: u16,
    /// Values of wanted headers.
    pub(crate) headers: Vec<Option<String>>,
    /// The body, where it is wanted; of an event, its data.
    pub(crate) body: Vec<u8>,
    /// What a message that is not JSON says, as JSON.
    pub(crate) json: Option<Value>,
}

impl LoadAnswer {
    /// Prepares for the next one.
    pub(crate) fn begin(&mut self) {
        self.status = 0;
        self.headers.clear();
        self.body.clear();
        self.json = None;
    }
}

/// What is captured from a right answer, by the number of the capture.
pub(crate) type CapturedValue = Vec<(usize, Box<str>)>;

/// Holds an answer to what is expected of it.
///
/// # Errors
/// Why it is not right.
pub(crate) fn judge(
    check: &AnswerCheck,
    answer: &LoadAnswer,
    fill: &FillSource<'_>,
    tables: &[(DataTable, DataOrder)],
) -> Result<CapturedValue, FailureCause> {
    let is_right = if check.statuses.is_empty() {
        RIGHT.contains(&answer.status)
    } else {
        check.statuses.contains(&answer.status)
    };
    if !is_right && answer.json.is_none() {
        return Err(FailureCause::Status(answer.status));
    }
    if check.json.is_empty() && check.contains.is_empty() && check.captures.is_empty() {
        return Ok(Vec::new());
    }
    let reads_json = !check.json.is_empty()
        || check.captures.iter().any(|(_, _, extract)| matches!(extract, CaptureSource::Json(_)));
    let read;
    let json = match &answer.json {
        Some(json) => json,
        None if reads_json => {
            read = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
            &read
        }
        None => &Value::Null,
    };
    for (pointer, expected) in &check.json {
        if !is_equal(json.pointer(pointer), expected, fill, tables) {
            return Err(FailureCause::WrongAnswer(format!(
                "JSON {}",
                if pointer.is_empty() { "/" } else { pointer }
            )));
        }
    }
    for pieces in &check.contains {
        if !contains(&answer.body, &text_of(pieces, fill, tables)) {
            return Err(FailureCause::WrongAnswer("text is missing".to_owned()));
        }
    }
    check
        .captures
        .iter()
        .map(|(number, name, extract)| {
            let found = find(extract, answer, json).filter(|found| !found.is_empty());
            let found =
                found.ok_or_else(|| FailureCause::WrongAnswer(format!("nothing to capture as {name}")))?;
            Ok((*number, found.into_boxed_str()))
        })
        .collect()
}

fn is_equal(
    found: Option<&Value>,
    expected: &ExpectedValue,
    fill: &FillSource<'_>,
    tables: &[(DataTable, DataOrder)],
) -> bool {
    match (found, expected) {
        (None, _) => false,
        (Some(Value::Number(found)), ExpectedValue::Value(Value::Number(expected))) => {
            found.as_f64() == expected.as_f64()
        }
        (Some(found), ExpectedValue::Value(expected)) => found == expected,
        (Some(found), ExpectedValue::Text(pieces)) => {
            found.as_str().is_some_and(|found| found.as_bytes() == text_of(pieces, fill, tables))
        }
    }
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    text.is_empty() || body.windows(text.len()).any(|window| window == text)
}

fn find(extract: &CaptureSource, answer: &LoadAnswer, json: &Value) -> Option<String> {
    match extract {
        CaptureSource::Json(pointer) => match json.pointer(pointer)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Some(other.to_string())
            }
        },
        CaptureSource::Header(number, regex) => {
            let value = answer.headers.get(*number)?.as_deref()?;
            match regex {
                None => Some(value.to_owned()),
                Some(regex) => group(regex, value.as_bytes()),
            }
        }
        CaptureSource::Body(regex) => group(regex, &answer.body),
    }
}

/// The first group, or all that matches where there is none.
fn group(regex: &regex::bytes::Regex, bytes: &[u8]) -> Option<String> {
    let found = regex.captures(bytes)?;
    let group = found.get(1).or_else(|| found.get(0))?;
    Some(String::from_utf8_lossy(group.as_bytes()).into_owned())
}
