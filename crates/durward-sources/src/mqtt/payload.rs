//! Messages as values.

use bytes::Bytes;
use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::json;

/// What a message says: JSON where it says that it is, a text where it is one, otherwise an array of bytes as Java has
/// them, from -128 to 127.
pub(super) fn value(payload: &Bytes, is_text: Option<bool>, content_type: Option<&str>) -> Evaluated<Value> {
    match (is_text, std::str::from_utf8(payload)) {
        (Some(true), _) if content_type == Some("application/json") => {
            json::read(payload).map_err(|error| Fault::processing(format!("a message is no JSON: {error}")))
        }
        (Some(true), _) => Ok(Value::Text(String::from_utf8_lossy(payload).into())),
        (None, Ok(text)) => Ok(Value::Text(text.into())),
        (Some(false), _) | (None, Err(_)) => {
            Ok(Value::array(payload.iter().map(|byte| Value::number(i64::from(byte.cast_signed())))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_what_it_says_it_is() {
        for (payload, is_text, content_type, expected) in [
            (&b"{\"a\":1}"[..], Some(true), Some("application/json"), r#"{"a":1}"#),
            (b"{\"a\":1}", Some(true), None, r#""{\"a\":1}""#),
            (b"{\"a\":1}", None, Some("application/json"), r#""{\"a\":1}""#),
            (b"a", Some(false), None, "[97]"),
            (b"\xff\x00", None, None, "[-1,0]"),
            (b"", None, None, r#""""#),
        ] {
            let value = value(&Bytes::from_static(payload), is_text, content_type).unwrap();
            assert_eq!(value.to_json(), expected);
        }
        assert!(value(&Bytes::from_static(b"{"), Some(true), Some("application/json")).is_err());
    }
}
