//! Subscriptions out of JSON, decisions into JSON.
//!
//! Members that are not known are passed over. Of members that come twice the last counts, but for ids of
//! subscriptions, which must be unique.

use std::fmt;
use std::sync::Arc;

use durward_pdp::ir::Value;
use durward_pdp::ir::datatype::Decimal;
use durward_pdp::ir::value::{ObjectBuilder, write_json_text};
use jiter::{Jiter, JiterError, Peek};
use smol_str::SmolStr;

use super::{Decision, MultiSubscription, Outcome, Subscription};

/// Deepest nesting of values; that of the parser in SAPL's server.
const DEPTH_MAX: usize = 1000;

/// How much a text may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonLimits {
    /// Most values, those within others included.
    pub values_max: usize,
    /// Most subscriptions of a multi-subscription.
    pub subscriptions_max: usize,
}

/// A text that is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}

impl From<JiterError> for JsonError {
    fn from(error: JiterError) -> JsonError {
        JsonError { message: error.error_type.to_string() }
    }
}

fn wrong<T>(message: impl Into<String>) -> Result<T, JsonError> {
    Err(JsonError { message: message.into() })
}

/// A text that is being read, and how many values it may still bring.
struct Reader<'j> {
    jiter: Jiter<'j>,
    values_left: usize,
}

/// Reads a subscription.
///
/// # Errors
/// A text that is not JSON, not a subscription, or beyond the limits.
pub fn read_subscription(text: &[u8], limits: &JsonLimits) -> Result<Subscription, JsonError> {
    let mut reader = Reader { jiter: Jiter::new(text), values_left: limits.values_max };
    let peek = reader.jiter.peek()?;
    let subscription = reader.subscription(peek)?;
    reader.jiter.finish()?;
    Ok(subscription)
}

/// Reads a multi-subscription: an object of ids and subscriptions.
///
/// # Errors
/// As [`read_subscription`], and ids that are blank or not unique.
pub fn read_multi_subscription(text: &[u8], limits: &JsonLimits) -> Result<MultiSubscription, JsonError> {
    let mut reader = Reader { jiter: Jiter::new(text), values_left: limits.values_max };
    let mut subscriptions: Vec<(SmolStr, Subscription)> = Vec::new();
    let mut key = reader.jiter.next_object()?.map(SmolStr::from);
    while let Some(id) = key {
        if id.trim().is_empty() {
            return wrong("a subscription has a blank id");
        }
        if subscriptions.iter().any(|(other, _)| *other == id) {
            return wrong(format!("two subscriptions have the id `{id}`"));
        }
        if subscriptions.len() >= limits.subscriptions_max {
            return wrong(format!("more than {} subscriptions at once", limits.subscriptions_max));
        }
        let peek = reader.jiter.peek()?;
        subscriptions.push((id, reader.subscription(peek)?));
        key = reader.jiter.next_key()?.map(SmolStr::from);
    }
    reader.jiter.finish()?;
    Ok(MultiSubscription { subscriptions })
}

impl Reader<'_> {
    fn subscription(&mut self, peek: Peek) -> Result<Subscription, JsonError> {
        if peek != Peek::Object {
            return wrong("a subscription is an object");
        }
        let mut subscription = Subscription::default();
        let mut key = self.jiter.known_object()?.map(SmolStr::from);
        while let Some(name) = key {
            let place = match name.as_str() {
                "subject" => Some(&mut subscription.subject),
                "action" => Some(&mut subscription.action),
                "resource" => Some(&mut subscription.resource),
                "environment" => Some(&mut subscription.environment),
                "secrets" => Some(&mut subscription.secrets),
                _ => None,
            };
            match place {
                Some(place) => *place = self.value(DEPTH_MAX)?,
                None => self.jiter.next_skip()?,
            }
            key = self.jiter.next_key()?.map(SmolStr::from);
        }
        let Subscription { subject, action, resource, secrets, .. } = &subscription;
        let missing = |value: &Value| matches!(value, Value::Undefined);
        for (name, value) in [("subject", subject), ("action", action), ("resource", resource)] {
            if missing(value) {
                return wrong(format!("a subscription has no `{name}`"));
            }
        }
        match secrets {
            Value::Undefined | Value::Object(_) => Ok(subscription),
            _ => wrong("`secrets` is not an object"),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        let peek = self.jiter.peek()?;
        self.known_value(peek, depth)
    }

    fn known_value(&mut self, peek: Peek, depth: usize) -> Result<Value, JsonError> {
        let Some(depth) = depth.checked_sub(1) else { return wrong("a value is nested too deeply") };
        match self.values_left.checked_sub(1) {
            Some(left) => self.values_left = left,
            None => return wrong("there are too many values"),
        }
        match peek {
            Peek::Null => {
                self.jiter.known_null()?;
                Ok(Value::Null)
            }
            Peek::True | Peek::False => Ok(Value::Boolean(self.jiter.known_bool(peek)?)),
            Peek::String => Ok(Value::Text(self.jiter.known_str()?.into())),
            Peek::Array => self.array(depth),
            Peek::Object => self.object(depth),
            _ => self.number(peek),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        let mut values = Vec::new();
        let mut next = self.jiter.known_array()?;
        while let Some(peek) = next {
            values.push(self.known_value(peek, depth)?);
            next = self.jiter.array_step()?;
        }
        Ok(Value::Array(values.into()))
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        let mut entries = ObjectBuilder::new();
        let mut key = self.jiter.known_object()?.map(SmolStr::from);
        while let Some(name) = key {
            let value = self.value(depth)?;
            entries.insert(name, value);
            key = self.jiter.next_key()?.map(SmolStr::from);
        }
        Ok(Value::Object(Arc::new(entries.finish())))
    }

    /// With the digits it has.
    fn number(&mut self, peek: Peek) -> Result<Value, JsonError> {
        let digits = self.jiter.known_number_bytes(peek)?;
        match str::from_utf8(digits).map(Decimal::parse) {
            Ok(Ok(number)) => Ok(Value::Number(number)),
            Ok(Err(reason)) => wrong(format!("a number is not one: {reason}")),
            Err(_) => wrong("a number is not one"),
        }
    }
}

/// Appends a decision. One with a value that JSON cannot say is indeterminate.
pub fn write_decision(out: &mut String, decision: &Decision) {
    let Decision { outcome, obligations, advice, resource } = decision;
    let has_undefined = |values: &[Value]| values.iter().any(Value::holds_undefined);
    let is_undefined = matches!(resource, Value::Undefined);
    if has_undefined(obligations) || has_undefined(advice) || (!is_undefined && resource.holds_undefined()) {
        return write_decision(out, &Decision::indeterminate());
    }
    out.push_str("{\"decision\":\"");
    out.push_str(outcome.as_str());
    out.push('"');
    for (name, values) in [("obligations", obligations), ("advice", advice)] {
        if !values.is_empty() {
            write_list(out, name, values);
        }
    }
    if !is_undefined {
        out.push_str(",\"resource\":");
        resource.write_json(out);
    }
    out.push('}');
}

fn write_list(out: &mut String, name: &str, values: &[Value]) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    let mut separator = '[';
    for value in values {
        out.push(separator);
        value.write_json(out);
        separator = ',';
    }
    out.push(']');
}

/// Appends a decision with the id of its subscription.
pub fn write_identified(out: &mut String, id: &str, decision: &Decision) {
    out.push_str("{\"subscriptionId\":");
    write_json_text(id, out);
    out.push_str(",\"decision\":");
    write_decision(out, decision);
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
        write_decision(out, decision);
    }
    out.push('}');
}

impl Outcome {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Indeterminate => "INDETERMINATE",
            Outcome::Permit => "PERMIT",
            Outcome::Deny => "DENY",
            Outcome::NotApplicable => "NOT_APPLICABLE",
            Outcome::Suspend => "SUSPEND",
        }
    }
}
