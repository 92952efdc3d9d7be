//! The messages of SAPL's package `io.sapl.api.proto`, read and written by hand.
//!
//! By hand because the bytes are prescribed where a generator would choose otherwise: the decision is written even when
//! it is the default, lists even when they are empty, and of a field of a value that comes twice the last counts and is not
//! merged with the first. In subscriptions, and among the keys of objects, nothing may come twice: which one counts would
//! depend on who reads. Values become durward's own at once, without messages in between.
//!
//! ```text
//! AuthorizationSubscription { 1 subject, 2 action, 3 resource, 4 environment, 5 secrets: Value }
//! AuthorizationDecision { 1 enum Decision, 2 ArrayValue obligations, 3 ArrayValue advice, 4 Value resource }
//! Decision: 0 INDETERMINATE, 1 PERMIT, 2 DENY, 3 NOT_APPLICABLE, 4 SUSPEND
//! MultiAuthorizationSubscription { 1 repeated { 1 string id, 2 AuthorizationSubscription } }
//! MultiAuthorizationDecision { 1 map<string, AuthorizationDecision> }
//! IdentifiableAuthorizationDecision { 1 string id, 2 AuthorizationDecision }
//! ```

mod raw;
mod value;

use bytes::BytesMut;
use durward_ir::Value;
use durward_ir::path::Element;
use smol_str::SmolStr;

use super::MultiSubscription;
use crate::protobuf as wire;
use durward_subscription::{Decision, Outcome, Subscription};
use value::{Budget, put_plain};
use wire::{Field, Reader, error, put_bytes, put_number};

pub use crate::protobuf::DecodeError;
pub use raw::read_raw;
pub use value::{TooDeep, VALUE_DEPTH_MAX};

/// How large a message may be in what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most values, those within others included.
    pub values_max: usize,
    /// Most subscriptions of a multi-subscription.
    pub subscriptions_max: usize,
}

/// Reads an `AuthorizationSubscription`. No bytes are a subscription too: everything in it is undefined.
///
/// # Errors
/// Bytes that are not one, or beyond the limits.
///
/// ```
/// use durward_ir::path::Element;
/// use durward_wire::sapl::protobuf::{Limits, read_subscription};
///
/// let bytes = b"\x0a\x07\x22\x05alice\x12\x06\x22\x04read\x1a\x0a\x22\x08document\x22\x02\x38\x01\x2a\x02\x32\x00";
/// let limits = Limits { values_max: 1000, subscriptions_max: 256 };
/// let subscription = read_subscription(bytes, &limits)?;
/// assert_eq!(subscription.element(Element::Subject).to_json(), "\"alice\"");
/// # Ok::<(), durward_wire::sapl::protobuf::DecodeError>(())
/// ```
pub fn read_subscription(bytes: &[u8], limits: &Limits) -> Result<Subscription, DecodeError> {
    subscription(bytes, &mut Budget(limits.values_max))
}

fn subscription(bytes: &[u8], budget: &mut Budget) -> Result<Subscription, DecodeError> {
    let mut parts: [Option<Value>; 5] = [const { None }; 5];
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some(part) = at.and_then(|at| parts.get_mut(at)) else { continue };
        if part.replace(value::read(content.bytes()?, budget)?).is_some() {
            return error("a subscription has a part twice");
        }
    }
    let [subject, action, resource, environment, secrets] =
        parts.map(|part| part.unwrap_or(Value::Undefined));
    Ok(Subscription::new(subject, action, resource, environment).with_secrets(secrets))
}

/// Reads a `MultiAuthorizationSubscription`.
///
/// # Errors
/// Bytes that are not one, an id that is blank or there twice, or what is beyond the limits.
pub fn read_multi_subscription(bytes: &[u8], limits: &Limits) -> Result<MultiSubscription, DecodeError> {
    let mut budget = Budget(limits.values_max);
    let mut subscriptions: Vec<(SmolStr, Subscription)> = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        if number != 1 {
            continue;
        }
        if subscriptions.len() >= limits.subscriptions_max {
            return error("too many subscriptions at once");
        }
        let (id, subscription) = identified(content.bytes()?, &mut budget)?;
        if id.trim().is_empty() {
            return error("a subscription has no id");
        }
        subscriptions.push((id, subscription));
    }
    let mut ids: Vec<&SmolStr> = subscriptions.iter().map(|(id, _)| id).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair.first() == pair.last()) {
        return error("two subscriptions have one id");
    }
    Ok(MultiSubscription { subscriptions })
}

fn identified(bytes: &[u8], budget: &mut Budget) -> Result<(SmolStr, Subscription), DecodeError> {
    let (mut id, mut subscribed) = (None, None);
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        let is_there = match number {
            1 => id.replace(SmolStr::from(content.text()?)).is_some(),
            2 => subscribed.replace(content.bytes()?).is_some(),
            _ => false,
        };
        if is_there {
            return error("an id or a subscription is there twice");
        }
    }
    Ok((id.unwrap_or_default(), subscription(subscribed.unwrap_or_default(), budget)?))
}

/// Appends an `AuthorizationSubscription`, as SAPL's clients do: environment and secrets also where they are not given.
///
/// # Errors
/// A value nested too deeply; `out` then ends with half a message.
pub fn write_subscription(out: &mut BytesMut, subscription: &Subscription) -> Result<(), TooDeep> {
    for (field, element) in (1..).zip(Element::ALL) {
        value::put(out, field, subscription.element(element))?;
    }
    value::put(out, 5, subscription.secrets())
}

/// Appends a `MultiAuthorizationSubscription`.
///
/// # Errors
/// As [`write_subscription`].
pub fn write_multi_subscription(out: &mut BytesMut, multi: &MultiSubscription) -> Result<(), TooDeep> {
    multi.subscriptions.iter().try_for_each(|(id, subscription)| {
        wire::put_message(out, 1, |out| {
            put_bytes(out, 1, id.as_bytes());
            wire::put_message(out, 2, |out| write_subscription(out, subscription))
        })
    })
}

/// Appends an `AuthorizationDecision`. One with a value that no client could read is written as indeterminate.
pub fn write_decision(out: &mut BytesMut, decision: &Decision) {
    let start = out.len();
    if put_decision(out, decision).is_err() {
        out.truncate(start);
        // Nothing in it is nested.
        let _ = put_decision(out, &Decision::plain(Outcome::Indeterminate));
    }
}

fn put_decision(out: &mut BytesMut, decision: &Decision) -> Result<(), TooDeep> {
    let outcome = match decision.outcome {
        Outcome::Indeterminate => 0,
        Outcome::Permit => 1,
        Outcome::Deny => 2,
        Outcome::NotApplicable => 3,
        Outcome::Suspend => 4,
    };
    put_number(out, 1, outcome);
    value::put_array(out, 2, decision.obligations())?;
    value::put_array(out, 3, decision.advice())?;
    value::put(out, 4, decision.resource().unwrap_or(&Value::Undefined))
}

/// Appends an `IdentifiableAuthorizationDecision`.
pub fn write_identifiable_decision(out: &mut BytesMut, id: &str, decision: &Decision) {
    put_bytes(out, 1, id.as_bytes());
    put_plain(out, 2, |out| write_decision(out, decision));
}

/// Appends a `MultiAuthorizationDecision`.
pub fn write_multi_decision<'d>(
    out: &mut BytesMut,
    decisions: impl IntoIterator<Item = (&'d str, &'d Decision)>,
) {
    for (id, decision) in decisions {
        put_plain(out, 1, |out| write_identifiable_decision(out, id, decision));
    }
}

/// Reads an `AuthorizationDecision`, as a client does.
///
/// # Errors
/// Bytes that are not one, or with more than `values_max` values.
pub fn read_decision(bytes: &[u8], values_max: usize) -> Result<Decision, DecodeError> {
    let mut outcome = Outcome::Indeterminate;
    let (mut obligations, mut advice, mut resource) = (Vec::new(), Vec::new(), Value::Undefined);
    let mut budget = Budget(values_max);
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        match number {
            1 => {
                outcome = match content.varint()? {
                    1 => Outcome::Permit,
                    2 => Outcome::Deny,
                    3 => Outcome::NotApplicable,
                    4 => Outcome::Suspend,
                    // What is not known is no permission.
                    _ => Outcome::Indeterminate,
                }
            }
            2 => obligations = value::read_array(content.bytes()?, &mut budget)?,
            3 => advice = value::read_array(content.bytes()?, &mut budget)?,
            4 => resource = value::read(content.bytes()?, &mut budget)?,
            _ => {}
        }
    }
    let resource = Some(resource).filter(|resource| !matches!(resource, Value::Undefined));
    Ok(Decision::new(outcome, obligations, advice, resource))
}

/// Reads a `Value`.
///
/// # Errors
/// Bytes that are not one, or with more than `values_max` values.
pub fn read_value(bytes: &[u8], values_max: usize) -> Result<Value, DecodeError> {
    value::read(bytes, &mut Budget(values_max))
}
