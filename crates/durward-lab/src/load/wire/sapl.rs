//! The messages of SAPL's package `io.sapl.api.proto`, from and to the JSON that SAPL's HTTP paths speak: a scenario writes
//! questions and checks answers alike over both.
//!
//! ```text
//! AuthorizationSubscription { 1 subject, 2 action, 3 resource, 4 environment, 5 secrets: Value }
//! MultiAuthorizationSubscription { 1 repeated { 1 string id, 2 AuthorizationSubscription } }
//! AuthorizationDecision { 1 enum Decision, 2 ArrayValue obligations, 3 ArrayValue advice, 4 Value resource }
//! MultiAuthorizationDecision { 1 map<string, AuthorizationDecision> }
//! IdentifiableAuthorizationDecision { 1 string id, 2 AuthorizationDecision }
//! Value { oneof: 1 NullValue{}, 2 bool, 3 string number, 4 string text, 5 ArrayValue, 6 ObjectValue, 7 bool undefined, 8 ErrorValue }
//! ```

use bytes::BytesMut;
use durward_wire::protobuf::{DecodeError, Field, Reader, error, put_bytes, put_message, put_number};
use serde_json::{Map, Value};

/// Deepest nesting of values that is read: as deep as JSON is.
const DEPTH_MAX: usize = 128;
/// Decisions by number.
const DECISIONS: [&str; 5] = ["INDETERMINATE", "PERMIT", "DENY", "NOT_APPLICABLE", "SUSPEND"];
/// Fields of a subscription, from 1 on.
const FIELDS: [&str; 5] = ["subject", "action", "resource", "environment", "secrets"];

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaplMessage {
    /// One decision.
    Decision,
    /// Decisions by the ids of what was asked.
    Multi,
    /// One decision and the id of what was asked.
    Identified,
}

/// Reads an answer. Without `is_wanted` it is only looked whether it is one, and `null` is what it says.
///
/// # Errors
/// Bytes that are no such message.
pub(super) fn read(message: SaplMessage, bytes: &[u8], is_wanted: bool) -> Result<Value, DecodeError> {
    match message {
        SaplMessage::Decision if !is_wanted => look(bytes).map(|()| Value::Null),
        SaplMessage::Decision => decision(bytes),
        SaplMessage::Identified => {
            let (id, decision) = identified(bytes)?;
            Ok(Map::from_iter([("subscriptionId".to_owned(), id.into()), ("decision".to_owned(), decision)])
                .into())
        }
        SaplMessage::Multi => {
            let mut all = Map::new();
            let mut reader = Reader::new(bytes);
            while let Some(Field { number, content }) = reader.next()? {
                if number == 1 {
                    let (id, decision) = identified(content.bytes()?)?;
                    all.insert(id, decision);
                }
            }
            Ok(all.into())
        }
    }
}

/// Whether these bytes are a decision, without what goes along with it.
fn look(bytes: &[u8]) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        match number {
            1 => drop(content.varint()?),
            2..=4 => drop(content.bytes()?),
            _ => {}
        }
    }
    Ok(())
}

fn decision(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut outcome = 0;
    let (mut obligations, mut advice, mut resource) = (Value::Null, Value::Null, None);
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        match number {
            1 => outcome = content.varint()?,
            2 => obligations = array(content.bytes()?, DEPTH_MAX)?,
            3 => advice = array(content.bytes()?, DEPTH_MAX)?,
            4 => resource = value(content.bytes()?, DEPTH_MAX)?,
            _ => {}
        }
    }
    let word = usize::try_from(outcome).ok().and_then(|outcome| DECISIONS.get(outcome));
    let mut all = Map::new();
    // What is not known is no permission.
    all.insert("decision".to_owned(), word.copied().unwrap_or("INDETERMINATE").into());
    for (name, list) in [("obligations", obligations), ("advice", advice)] {
        if list.as_array().is_some_and(|list| !list.is_empty()) {
            all.insert(name.to_owned(), list);
        }
    }
    if let Some(resource) = resource {
        all.insert("resource".to_owned(), resource);
    }
    Ok(all.into())
}

fn identified(bytes: &[u8]) -> Result<(String, Value), DecodeError> {
    let (mut id, mut content_of_last) = (String::new(), &[][..]);
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        match number {
            1 => id = content.text()?.to_owned(),
            2 => content_of_last = content.bytes()?,
            _ => {}
        }
    }
    Ok((id, decision(content_of_last)?))
}

/// A `Value`; `None` is undefined.
fn value(bytes: &[u8], depth: usize) -> Result<Option<Value>, DecodeError> {
    let Some(depth) = depth.checked_sub(1) else { return error("a value is nested too deeply") };
    let mut held = None;
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        held = match number {
            1 => Some(Value::Null),
            2 => Some(Value::Bool(content.varint()? != 0)),
            3 => Some(number_of(content.text()?)?),
            4 => Some(content.text()?.into()),
            5 => Some(array(content.bytes()?, depth)?),
            6 => Some(object(content.bytes()?, depth)?),
            7 => None,
            8 => return error("an error is no value"),
            _ => continue,
        };
    }
    Ok(held)
}

fn number_of(text: &str) -> Result<Value, DecodeError> {
    match text.parse::<i64>() {
        Ok(whole) => Ok(whole.into()),
        Err(_) => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Ok(Value::Number(number)),
            Ok(_) | Err(_) => error("a number is none"),
        },
    }
}

fn array(bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let mut all = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        if number == 1 {
            all.extend(value(content.bytes()?, depth)?);
        }
    }
    Ok(all.into())
}

fn object(bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let mut all = Map::new();
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        if number != 1 {
            continue;
        }
        let (mut key, mut held) = (String::new(), None);
        let mut entry = Reader::new(content.bytes()?);
        while let Some(Field { number, content }) = entry.next()? {
            match number {
                1 => key = content.text()?.to_owned(),
                2 => held = value(content.bytes()?, depth)?,
                _ => {}
            }
        }
        if let Some(held) = held {
            all.insert(key, held);
        }
    }
    Ok(all.into())
}

/// Appends the question of a JSON text.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn write(message: SaplMessage, text: &[u8], out: &mut BytesMut) -> Result<(), String> {
    let json: Value =
        serde_json::from_slice(text).map_err(|error| format!("has a question that is no JSON: {error}"))?;
    match message {
        SaplMessage::Decision => put_subscription(out, &json),
        SaplMessage::Multi | SaplMessage::Identified => {
            let Value::Object(all) = &json else {
                return Err("asks for several decisions: its question is an object of ids and subscriptions"
                    .to_owned());
            };
            all.iter().try_for_each(|(id, subscription)| {
                put_message(out, 1, |out| {
                    put_bytes(out, 1, id.as_bytes());
                    put_message(out, 2, |out| put_subscription(out, subscription))
                })
            })
        }
    }
}

/// As SAPL's clients do: environment and secrets also where they are not given.
fn put_subscription(out: &mut BytesMut, json: &Value) -> Result<(), String> {
    let Value::Object(fields) = json else { return Err("has a subscription that is no object".to_owned()) };
    if let Some(name) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!("has a subscription with the field `{name}`; there are: {}", FIELDS.join(", ")));
    }
    for (number, name) in (1..).zip(FIELDS) {
        put_value(out, number, fields.get(name))?;
    }
    Ok(())
}

/// A `Value` as this field. JSON that was read is nested no deeper than its reader goes.
fn put_value(out: &mut BytesMut, field: u64, value: Option<&Value>) -> Result<(), String> {
    put_message(out, field, |out| {
        match value {
            None => put_number(out, 7, 1),
            Some(Value::Null) => put_bytes(out, 1, b""),
            Some(Value::Bool(value)) => put_number(out, 2, u64::from(*value)),
            Some(Value::Number(number)) => put_bytes(out, 3, number.to_string().as_bytes()),
            Some(Value::String(text)) => put_bytes(out, 4, text.as_bytes()),
            Some(Value::Array(values)) => {
                return put_message(out, 5, |out| {
                    values.iter().try_for_each(|value| put_value(out, 1, Some(value)))
                });
            }
            Some(Value::Object(fields)) => {
                return put_message(out, 6, |out| {
                    fields.iter().try_for_each(|(key, value)| {
                        put_message(out, 1, |out| {
                            put_bytes(out, 1, key.as_bytes());
                            put_value(out, 2, Some(value))
                        })
                    })
                });
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A decision as a server writes it.
    fn written(outcome: u64, obligations: &Value, resource: Option<&Value>) -> BytesMut {
        let mut out = BytesMut::new();
        put_number(&mut out, 1, outcome);
        put_message(&mut out, 2, |out| {
            obligations.as_array().unwrap().iter().try_for_each(|one| put_value(out, 1, Some(one)))
        })
        .unwrap();
        put_bytes(&mut out, 3, b"");
        put_value(&mut out, 4, resource).unwrap();
        out
    }

    #[test]
    fn decisions_are_read_as_the_json_of_http() {
        let obligation = json!({"type": "log", "deep": [1, 2.5, null, true, {"x": "ü"}]});
        for (bytes, said) in [
            (written(1, &json!([]), None), json!({"decision": "PERMIT"})),
            (
                written(2, &json!([obligation]), Some(&json!("masked"))),
                json!({"decision": "DENY", "obligations": [obligation], "resource": "masked"}),
            ),
            (written(99, &json!([]), None), json!({"decision": "INDETERMINATE"})),
            (BytesMut::new(), json!({"decision": "INDETERMINATE"})),
        ] {
            assert_eq!(read(SaplMessage::Decision, &bytes, true).unwrap(), said);
            assert_eq!(read(SaplMessage::Decision, &bytes, false).unwrap(), Value::Null);
        }
    }

    #[test]
    fn several_decisions_are_read_by_their_ids() {
        let mut one = BytesMut::new();
        put_bytes(&mut one, 1, b"a");
        put_bytes(&mut one, 2, &written(1, &json!([]), None));
        let said = json!({"subscriptionId": "a", "decision": {"decision": "PERMIT"}});
        assert_eq!(read(SaplMessage::Identified, &one, true).unwrap(), said);
        let mut all = BytesMut::new();
        put_bytes(&mut all, 1, &one);
        assert_eq!(read(SaplMessage::Multi, &all, true).unwrap(), json!({"a": {"decision": "PERMIT"}}));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
        for bytes in [&b"\xff"[..], b"\x0a\x01x", b"\x12\x05x", b"\x22\x03\x1a\x01x", b"\x22\x02\x42\x00"] {
            assert!(read(SaplMessage::Decision, bytes, true).is_err(), "{bytes:?}");
        }
        assert!(read(SaplMessage::Decision, &written(1, &json!([deep]), None), true).is_err());
    }

    #[test]
    fn questions_are_written_as_the_clients_of_sapl_do() {
        let mut out = BytesMut::new();
        let text = br#"{"subject":"alice","action":"read","resource":"document"}"#;
        write(SaplMessage::Decision, text, &mut out).unwrap();
        let bytes = b"\x0a\x07\x22\x05alice\x12\x06\x22\x04read\x1a\x0a\x22\x08document\x22\x02\x38\x01\x2a\x02\x38\x01";
        assert_eq!(&out[..], bytes);
        for (message, text, said) in [
            (SaplMessage::Decision, "{", "no JSON"),
            (SaplMessage::Decision, "[]", "no object"),
            (SaplMessage::Decision, r#"{"sbject":1}"#, "`sbject`"),
            (SaplMessage::Multi, "[]", "object of ids"),
            (SaplMessage::Identified, r#"{"a":1}"#, "no object"),
        ] {
            let error = write(message, text.as_bytes(), &mut BytesMut::new()).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
