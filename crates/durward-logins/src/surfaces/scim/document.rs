//! JSON as SCIM has it: names of members are compared without case (RFC 7643, 2.1).

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value};

use super::error::ScimError;

/// The longest text that is kept of a user, in bytes.
const TEXT_LENGTH_MAX: usize = 1024;

/// A body that is an object, its names in small letters, each there once.
pub(super) fn object(text: &[u8]) -> Result<Map<String, Value>, ScimError> {
    let wrong = |error: String| {
        ScimError::bad("invalidSyntax", format!("the body is not what is asked for: {error}"))
    };
    durward_pdp::ir::json::read_unique(text).map_err(|error| wrong(error.to_string()))?;
    let value: Value = serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?;
    match in_small_letters(value) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(wrong("it is no object".to_owned())),
        Err(twice) => {
            Err(wrong(format!("the member `{twice}` is there twice: names are the same in capitals")))
        }
    }
}

/// The error is a name that is there twice. The reader bounds how deep a value is.
fn in_small_letters(value: Value) -> Result<Value, String> {
    match value {
        Value::Object(members) => {
            let mut lowered = Map::new();
            for (name, value) in members {
                let name = name.to_ascii_lowercase();
                if lowered.insert(name.clone(), in_small_letters(value)?).is_some() {
                    return Err(name);
                }
            }
            Ok(Value::Object(lowered))
        }
        Value::Array(values) => {
            Ok(Value::Array(values.into_iter().map(in_small_letters).collect::<Result<_, _>>()?))
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => Ok(other),
    }
}

/// A text; nothing where it is null or empty, which says that there is none (RFC 7643, 2.5).
pub(super) fn text(name: &str, value: &Value) -> Result<Option<String>, ScimError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.len() > TEXT_LENGTH_MAX => {
            Err(ScimError::bad("invalidValue", format!("`{name}` is longer than {TEXT_LENGTH_MAX} bytes")))
        }
        Value::String(text) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(ScimError::bad("invalidValue", format!("`{name}` must be a string")))
        }
    }
}

/// A truth, also as Entra ID writes it: `"True"`.
pub(super) fn truth(name: &str, value: &Value) -> Result<bool, ScimError> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Err(ScimError::bad("invalidValue", format!("`{name}` must be `true` or `false`")))
        }
    }
}

/// The `value`s of a list of objects, the one that says `primary` first; or of one object; or texts themselves.
pub(super) fn values(name: &str, value: &Value) -> Result<Vec<String>, ScimError> {
    let single = [value.clone()];
    let items = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items.as_slice(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => &single,
    };
    let (mut values, mut seen) = (VecDeque::new(), HashSet::new());
    for item in items {
        let (said, is_primary) = match item {
            Value::Object(members) => {
                let is_primary =
                    members.get("primary").map(|primary| truth("primary", primary)).transpose()?;
                (members.get("value").unwrap_or(&Value::Null), is_primary.unwrap_or(false))
            }
            other
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                (other, false)
            }
        };
        let Some(text) = text(&format!("{name}.value"), said)? else { continue };
        if !seen.insert(text.clone()) {
            continue;
        }
        if is_primary {
            values.push_front(text);
        } else {
            values.push_back(text);
        }
    }
    Ok(values.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_the_same_in_capitals_and_there_once() {
        let read = object(br#"{"UserName":"A","name":{"GivenName":"B"},"x":[{"Y":1}]}"#).unwrap_or_default();
        assert_eq!(
            Value::Object(read),
            json!({"username": "A", "name": {"givenname": "B"}, "x": [{"y": 1}]})
        );
        for text in
            [r#"{"a":1,"a":2}"#, r#"{"a":1,"A":1}"#, r#"{"x":{"B":1,"b":1}}"#, "[]", "{", "1", "{} {}", ""]
        {
            assert!(object(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn truths_and_lists_have_the_forms_that_clients_send() {
        for (value, expected) in [(json!(true), true), (json!("False"), false), (json!("TRUE"), true)] {
            assert_eq!(truth("active", &value).ok(), Some(expected));
        }
        assert!(truth("active", &json!("yes")).is_err() && truth("active", &json!(1)).is_err());
        let several =
            json!([{"value": "a"}, {"value": "b", "primary": "True"}, {"value": "a"}, {"type": "work"}]);
        assert_eq!(values("emails", &several).ok(), Some(vec!["b".to_owned(), "a".to_owned()]));
        assert_eq!(values("emails", &json!({"value": "a"})).ok(), Some(vec!["a".to_owned()]));
        assert_eq!(values("emails", &json!("a")).ok(), Some(vec!["a".to_owned()]));
        assert_eq!(values("emails", &json!(null)).ok(), Some(Vec::new()));
        assert!(values("emails", &json!([{"value": 7}])).is_err());
    }
}
