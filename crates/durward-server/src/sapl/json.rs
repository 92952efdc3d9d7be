//! Multi-subscriptions out of JSON, decisions into JSON.

use std::fmt;

use durward_pdp::ir::Value;
use durward_pdp::ir::json;
use durward_pdp::ir::value::write_json_text;
use durward_pdp::sapl::SubscriptionError;

use super::{Decision, MultiSubscription, Subscription};

/// Why a text is no multi-subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiError {
    /// One of its subscriptions is none, or all of it is no JSON.
    Subscription(SubscriptionError),
    /// An id is blank.
    BlankId,
    /// There are more than this.
    TooMany(usize),
}

impl fmt::Display for MultiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MultiError::Subscription(error) => error.fmt(f),
            MultiError::BlankId => f.write_str("a subscription has a blank id"),
            MultiError::TooMany(max) => write!(f, "more than {max} subscriptions at once"),
        }
    }
}

impl std::error::Error for MultiError {}

impl From<SubscriptionError> for MultiError {
    fn from(error: SubscriptionError) -> MultiError {
        MultiError::Subscription(error)
    }
}

/// Reads a multi-subscription: an object of ids and subscriptions. Of several with one id the last counts.
///
/// # Errors
/// A text that is not JSON or not of that form, blank ids, or more than `subscriptions_max` of them.
pub fn read_multi_subscription(
    text: &[u8],
    subscriptions_max: usize,
) -> Result<MultiSubscription, MultiError> {
    let value = json::read(text).map_err(SubscriptionError::Json)?;
    let Value::Object(object) = value else { return Err(SubscriptionError::NoObject.into()) };
    if object.len() > subscriptions_max {
        return Err(MultiError::TooMany(subscriptions_max));
    }
    let read = |(id, value): (&smol_str::SmolStr, &Value)| {
        if id.trim().is_empty() {
            return Err(MultiError::BlankId);
        }
        Ok((id.clone(), Subscription::from_value(value)?))
    };
    Ok(MultiSubscription { subscriptions: object.iter().map(read).collect::<Result<_, _>>()? })
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
