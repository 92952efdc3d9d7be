//! Values and statuses on standard output: as text, or as JSON.

use durward_opcua::client::text::{advice, data_value_text, status_text, value_text};
use opcua_types::{DataValue, StatusCode, Variant};
use serde_json::{Map, Value as Json, json};

/// The status of a value: good where nothing is said.
pub(super) fn status_of(value: &DataValue) -> StatusCode {
    value.status.unwrap_or(StatusCode::Good)
}

/// What to say of a node whose value did not come.
pub(super) fn refused(text: &str, value: &DataValue) -> Option<String> {
    let status = status_of(value);
    if !status.is_bad() {
        return None;
    }
    let advice = advice(status).map(|advice| format!(": {advice}")).unwrap_or_default();
    Some(format!("{text}: {}{advice}", status_text(status)))
}

/// A line for a value, with the node's name before it where there are several. Without JSON, a value that did not come has none.
pub(super) fn value_line(text: &str, named: Option<&str>, value: &DataValue, json: bool) -> Option<String> {
    if json {
        return Some(format!("{}\n", value_json(text, value)));
    }
    if status_of(value).is_bad() {
        return None;
    }
    let shown = data_value_text(value);
    Some(match named {
        Some(name) => format!("{name}\t{shown}\n"),
        None => format!("{shown}\n"),
    })
}

/// A value with its status and its time.
pub(super) fn value_json(text: &str, value: &DataValue) -> Json {
    let mut object = Map::new();
    object.insert("node".to_owned(), json!(text));
    object.insert("status".to_owned(), json!(status_text(status_of(value))));
    if let Some(held) = &value.value {
        object.insert("value".to_owned(), variant_json(held));
    }
    if let Some(time) = &value.source_timestamp {
        object.insert("time".to_owned(), json!(time.to_rfc3339()));
    }
    Json::Object(object)
}

/// Outputs of a method.
pub(super) fn outputs(outputs: &[Variant], json: bool) -> String {
    if json {
        let outputs: Vec<Json> = outputs.iter().map(variant_json).collect();
        return format!("{}\n", json!({"outputs": outputs}));
    }
    outputs.iter().map(|output| format!("{}\n", value_text(output))).collect()
}

/// Numbers, texts, booleans and arrays of them as JSON has them; everything else as text. Numbers that JSON lacks are texts as well.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest has one form: its text")]
fn variant_json(value: &Variant) -> Json {
    match value {
        Variant::Empty => Json::Null,
        Variant::Boolean(value) => json!(value),
        Variant::SByte(value) => json!(value),
        Variant::Byte(value) => json!(value),
        Variant::Int16(value) => json!(value),
        Variant::UInt16(value) => json!(value),
        Variant::Int32(value) => json!(value),
        Variant::UInt32(value) => json!(value),
        Variant::Int64(value) => json!(value),
        Variant::UInt64(value) => json!(value),
        Variant::Float(number) if number.is_finite() => json!(number),
        Variant::Double(number) if number.is_finite() => json!(number),
        Variant::Array(array) if array.dimensions.is_none() => {
            array.values.iter().map(variant_json).collect()
        }
        other => Json::String(value_text(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_json_where_json_has_them() {
        let array = Variant::from(vec![1.5, 2.0]);
        for (value, expected) in [
            (Variant::from(20.5), "20.5"),
            (Variant::Double(f64::NAN), "\"NaN\""),
            (Variant::from("on"), "\"on\""),
            (Variant::from(true), "true"),
            (Variant::Empty, "null"),
            (array, "[1.5,2.0]"),
        ] {
            assert_eq!(variant_json(&value).to_string(), expected, "{value:?}");
        }
    }

    #[test]
    fn a_value_that_did_not_come_has_a_line_in_json_only() {
        let status = Some(StatusCode::BadUserAccessDenied);
        let value = DataValue { status, ..DataValue::default() };
        assert_eq!(value_line("i=1", None, &value, false), None);
        let line = value_line("i=1", None, &value, true).unwrap();
        assert_eq!(line, "{\"node\":\"i=1\",\"status\":\"BadUserAccessDenied\"}\n");
        assert!(refused("i=1", &value).unwrap().starts_with("i=1: BadUserAccessDenied: "));
        assert_eq!(refused("i=1", &DataValue::value_only(Variant::from(1.0))), None);
    }
}
