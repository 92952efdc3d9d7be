//! Subscriptions out of JSON and into it, decisions into JSON.

use std::collections::HashSet;
use std::fmt;

use durward_ir::Value;
use durward_ir::json::{self, JsonError};
use durward_ir::path::Element;
use durward_ir::value::write_json_text;
use durward_subscription::SubscriptionError;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};

use durward_subscription::{Decision, Subscription};

use super::MultiSubscription;

/// Why a text is no multi-subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiError {
    /// One of its subscriptions is none, or all of it is no JSON.
    Subscription(SubscriptionError),
    /// An id is blank.
    BlankId,
    /// Two subscriptions have this id.
    RepeatedId(String),
    /// There are more than this.
    TooMany(usize),
}

impl fmt::Display for MultiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MultiError::Subscription(error) => error.fmt(f),
            MultiError::BlankId => f.write_str("a subscription has a blank id"),
            MultiError::RepeatedId(id) => write!(f, "two subscriptions have the id `{id}`"),
            MultiError::TooMany(max) => write!(f, "more than {max} subscriptions at once"),
        }
    }
}

impl std::error::Error for MultiError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MultiError::Subscription(error) => Some(error),
            MultiError::BlankId | MultiError::RepeatedId(_) | MultiError::TooMany(_) => None,
        }
    }
}

impl From<SubscriptionError> for MultiError {
    fn from(error: SubscriptionError) -> MultiError {
        MultiError::Subscription(error)
    }
}

/// What a subscription may have.
const FIELDS: [&str; 5] = ["subject", "action", "resource", "environment", "secrets"];

/// Reads a subscription; `note` is told of fields that mean nothing.
///
/// # Errors
/// A text that is no subscription: see [`Subscription::from_json`].
pub fn read_subscription(
    text: &[u8],
    mut note: impl FnMut(&[&str]),
) -> Result<Subscription, SubscriptionError> {
    let value = json::read_unique(text).map_err(SubscriptionError::Json)?;
    let subscription = Subscription::from_value(&value)?;
    note_unknown(&value, &mut note);
    Ok(subscription)
}

fn note_unknown(value: &Value, note: &mut impl FnMut(&[&str])) {
    // Most have three fields, and those are the three that each must have.
    let Some(object) = value.as_object().filter(|object| object.len() > 3) else { return };
    let is_unknown = |name: &&str| !FIELDS.contains(name);
    let unknown: Vec<&str> = object.iter().map(|(name, _)| name.as_str()).filter(is_unknown).collect();
    if !unknown.is_empty() {
        note(&unknown);
    }
}

/// Reads a multi-subscription: an object of ids and subscriptions.
///
/// # Errors
/// A text that is not JSON or not of that form, blank ids, two that are the same, or more than `subscriptions_max` of
/// them.
pub fn read_multi_subscription(
    text: &[u8],
    subscriptions_max: usize,
) -> Result<MultiSubscription, MultiError> {
    read_multi_subscription_noting(text, subscriptions_max, |_| {})
}

/// The same; `note` is told of fields of its subscriptions that mean nothing.
///
/// # Errors
/// As [`read_multi_subscription`].
pub fn read_multi_subscription_noting(
    text: &[u8],
    subscriptions_max: usize,
    mut note: impl FnMut(&[&str]),
) -> Result<MultiSubscription, MultiError> {
    let value = json::read_unique(text).map_err(|error| unreadable(text, error))?;
    let Value::Object(object) = value else { return Err(SubscriptionError::NoObject.into()) };
    if object.len() > subscriptions_max {
        return Err(MultiError::TooMany(subscriptions_max));
    }
    let mut read = |(id, value): (&smol_str::SmolStr, &Value)| {
        if id.trim().is_empty() {
            return Err(MultiError::BlankId);
        }
        let subscription = Subscription::from_value(value)?;
        note_unknown(value, &mut note);
        Ok((id.clone(), subscription))
    };
    Ok(MultiSubscription { subscriptions: object.iter().map(&mut read).collect::<Result<_, _>>()? })
}

/// What is wrong with a text that could not be read: that an id comes twice, if one does.
fn unreadable(text: &[u8], error: JsonError) -> MultiError {
    let mut reader = serde_json::Deserializer::from_slice(text);
    match reader.deserialize_map(Ids) {
        Ok(Some(id)) => MultiError::RepeatedId(id),
        Ok(None) | Err(_) => SubscriptionError::Json(error).into(),
    }
}

/// Looks for a key that an object has twice.
struct Ids;

impl<'de> Visitor<'de> for Ids {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<String>, A::Error> {
        let (mut seen, mut repeated) = (HashSet::new(), None);
        while let Some((id, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            if let Some(id) = seen.replace(id) {
                repeated.get_or_insert(id);
            }
        }
        Ok(repeated)
    }
}

/// A subscription as SAPL's servers read it.
pub fn subscription_text(subscription: &Subscription) -> String {
    let names = ["subject", "action", "resource", "environment"];
    let elements = names.into_iter().zip(Element::ALL.map(|element| subscription.element(element)));
    let mut out = String::from("{");
    for (name, value) in elements.chain([("secrets", subscription.secrets())]) {
        if matches!(value, Value::Undefined) {
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        write_json_text(name, &mut out);
        out.push(':');
        value.write_json(&mut out);
    }
    out.push('}');
    out
}

/// Appends a decision with the id of its subscription.
pub fn write_identified(out: &mut String, id: &str, decision: &Decision) {
    out.push_str("{\"subscriptionId\":");
    write_json_text(id, out);
    out.push_str(",\"decision\":");
    out.push_str(&decision.to_json());
    out.push('}');
}

/// Appends decisions by the ids of their subscriptions.
pub fn write_named<'d>(out: &mut String, decisions: impl IntoIterator<Item = (&'d str, &'d Decision)>) {
    out.push('{');
    let mut is_first = true;
    for (id, decision) in decisions {
        if !is_first {
            out.push(',');
        }
        is_first = false;
        write_json_text(id, out);
        out.push(':');
        out.push_str(&decision.to_json());
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the SAPL node, which answers 400. It takes what stands twice deeper inside, and the last counts there.
    #[test]
    fn ids_that_come_twice_are_refused() {
        let one = r#"{"subject":1,"action":2,"resource":3}"#;
        let read =
            |text: &str| read_multi_subscription(text.as_bytes(), 10).map(|multi| multi.subscriptions.len());
        assert_eq!(read(&format!(r#"{{"a":{one},"b":{one}}}"#)), Ok(2));
        for repeated in [r#""a""#, r#""\u0061""#] {
            let text = format!(r#"{{"a":{one},"b":{one},{repeated}:{one}}}"#);
            assert_eq!(read(&text), Err(MultiError::RepeatedId("a".into())), "{text}");
        }
        let inside = r#"{"a":{"subject":{"x":1,"x":2},"action":2,"resource":3}}"#;
        assert!(read(inside).unwrap_err().to_string().ends_with("the key `x` is there twice"));
    }
}
