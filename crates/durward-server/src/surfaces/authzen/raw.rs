//! A question as its bytes hold it, in the default words of a SAPL subscription: what most callers ask needs no values.
//!
//! Whatever is not plain (a member that the standard does not know, one that comes twice or is `null`, an escape) is read by its values
//! instead ([`super::parts`]), so that both ways take and refuse the same.

use durward_pdp::ir::json::{RawMembers, read_members};
use durward_pdp::ir::path::Element;
use durward_pdp::ir::question::{RawSubscription, RawValue, WantsValues};

/// Most members of a context.
const CONTEXT_MAX: usize = 16;

/// A question that was read so.
pub(super) struct RawQuestion<'t> {
    pub(super) subscription: RawSubscription<'t>,
    /// The type of the subject.
    pub(super) subject_kind: &'t str,
}

/// Reads a question.
pub(super) fn read(text: &[u8]) -> Option<RawQuestion<'_>> {
    let mut reading = Reading {
        subscription: RawSubscription::new(),
        entities: [Seen::default(), Seen::default()],
        subject_kind: "",
        has_action: false,
        action_properties: None,
        has_context: false,
        context: Vec::new(),
    };
    read_members(text, &mut reading).ok()?;
    reading.finish().ok()
}

struct Reading<'t> {
    subscription: RawSubscription<'t>,
    /// Subject and resource.
    entities: [Seen; 2],
    subject_kind: &'t str,
    /// Whether the action was begun.
    has_action: bool,
    action_properties: Option<RawValue<'t>>,
    has_context: bool,
    context: Vec<(&'t str, RawValue<'t>)>,
}

/// What was there of an entity.
#[derive(Default)]
struct Seen {
    is_begun: bool,
    has_type: bool,
    has_id: bool,
    has_properties: bool,
}

impl<'t> Reading<'t> {
    fn seen(&mut self, element: Element) -> &mut Seen {
        let [subject, resource] = &mut self.entities;
        if element == Element::Subject { subject } else { resource }
    }

    fn finish(mut self) -> Result<RawQuestion<'t>, WantsValues> {
        let is_whole = |seen: &Seen| seen.has_type && seen.has_id;
        if !self.entities.iter().all(is_whole) || !self.subscription.is_given(Element::Action) {
            return Err(WantsValues);
        }
        let mut subscription = self.subscription;
        let action = self.action_properties.take();
        // A context says nothing of the action.
        let context = self.context.into_iter().filter(|(name, _)| *name != "action");
        let members: Vec<_> =
            action.map(|properties| ("action", properties)).into_iter().chain(context).collect();
        if !members.is_empty() {
            subscription.put_object(Element::Environment)?;
            for (name, value) in members {
                subscription.put_key(Element::Environment, name, value)?;
            }
        }
        subscription.seal();
        Ok(RawQuestion { subscription, subject_kind: self.subject_kind })
    }
}

fn element(name: &str) -> Option<Element> {
    match name {
        "subject" => Some(Element::Subject),
        "resource" => Some(Element::Resource),
        _ => None,
    }
}

/// Notes that something is there, which must not have been.
fn first(is_there: &mut bool) -> Result<(), WantsValues> {
    if std::mem::replace(is_there, true) { Err(WantsValues) } else { Ok(()) }
}

impl<'t> RawMembers<'t> for Reading<'t> {
    fn enters(&mut self, path: &[&'t str]) -> Result<bool, WantsValues> {
        match path {
            ["context"] => first(&mut self.has_context)?,
            ["action"] => first(&mut self.has_action)?,
            [name] => {
                let element = element(name).ok_or(WantsValues)?;
                first(&mut self.seen(element).is_begun)?;
                self.subscription.put_object(element)?;
            }
            ["context", _] | ["action", "properties"] => return Ok(false),
            [name, "properties"] => {
                let element = element(name).ok_or(WantsValues)?;
                first(&mut self.seen(element).has_properties)?;
            }
            [_, "properties", _] => return Ok(false),
            _ => return Err(WantsValues),
        }
        Ok(true)
    }

    fn member(&mut self, path: &[&'t str], value: RawValue<'t>) -> Result<(), WantsValues> {
        match (path, value) {
            (["action", "name"], RawValue::Text(name)) => {
                self.subscription.put(Element::Action, RawValue::Text(name))
            }
            (["action", "properties"], value @ RawValue::Value(_)) if is_object(&value) => {
                if self.action_properties.replace(value).is_some() { Err(WantsValues) } else { Ok(()) }
            }
            (["context", name], value) => {
                let is_there = self.context.iter().any(|(known, _)| known == name);
                if is_there || self.context.len() >= CONTEXT_MAX {
                    return Err(WantsValues);
                }
                self.context.push((name, value));
                Ok(())
            }
            ([name, member @ ("type" | "id")], RawValue::Text(text)) => {
                let element = element(name).ok_or(WantsValues)?;
                let seen = self.seen(element);
                first(if *member == "type" { &mut seen.has_type } else { &mut seen.has_id })?;
                if (element, *member) == (Element::Subject, "type") {
                    self.subject_kind = text;
                }
                self.subscription.put_key(element, member, RawValue::Text(text))
            }
            // Properties of these names mean nothing; whether they come twice is looked at with the values.
            ([_, "properties", "type" | "id"], _) => Err(WantsValues),
            ([name, "properties", property], value) => {
                let element = element(name).ok_or(WantsValues)?;
                self.subscription.put_key(element, property, value)
            }
            _ => Err(WantsValues),
        }
    }
}

fn is_object(value: &RawValue<'_>) -> bool {
    match value {
        RawValue::Value(value) => value.as_object().is_some(),
        RawValue::Text(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use durward_pdp::ir::Value;

    use super::super::parts::{Parts, body};
    use super::*;
    use durward_common::decider::Subscription;
    use durward_common::question::Mapping;
    use durward_settings::AuthzenSaplSettings;

    fn elements(subscription: &Subscription) -> Vec<Value> {
        Element::ALL.map(|element| subscription.element(element).clone()).into()
    }

    fn by_values(text: &str) -> Option<Vec<Value>> {
        let question = Parts::read(&*body(text.as_bytes()).ok()?).ok()?.question().ok()?;
        Some(elements(&Mapping::new(&AuthzenSaplSettings::default()).subscription(&question, None)))
    }

    fn by_bytes(text: &str) -> Option<Vec<Value>> {
        let raw = read(text.as_bytes())?;
        Some(elements(&Subscription::from_raw(raw.subscription)))
    }

    fn same(one: &[Value], other: &[Value]) -> bool {
        one.iter()
            .zip(other)
            .all(|(one, other)| one.equals(other) || (one.is_undefined() && other.is_undefined()))
    }

    const PARTS: [&[&str]; 4] = [
        &[
            r#""subject":{"type":"user","id":"ada"}"#,
            r#""subject":{"id":"ada","properties":{"role":"chair","n":1.50,"l":[1,{"a":2}]},"type":"user"}"#,
            r#""subject":{"id":"ada","properties":{},"type":"user"}"#,
            r#""subject":{"id":"ada","properties":null,"type":"user"}"#,
            r#""subject":{"id":"ada","properties":{"id":"eve"},"type":"user"}"#,
            r#""subject":{"id":"ada","properties":{"role":1,"role":2},"type":"user"}"#,
            r#""subject":{"id":"\u0061da","type":"user"}"#,
            r#""subject":{"id":"ada","id":"eve","type":"user"}"#,
            r#""subject":{"id":"ada","type":"user","x":{"a":1,"a":1}}"#,
            r#""subject":{"id":7,"type":"user"}"#,
            r#""subject":"ada""#,
            r#""subject":{"type":"user"}"#,
        ],
        &[
            r#""action":{"name":"read"}"#,
            r#""action":{"properties":{"soft":true},"name":"read"}"#,
            r#""action":{"properties":{"soft":true,"soft":true},"name":"read"}"#,
            r#""action":{"properties":[],"name":"read"}"#,
            r#""action":{"properties":{},"name":"read"}"#,
            r#""action":{"name":"read","name":"read"}"#,
            r#""action":{}"#,
        ],
        &[
            r#""resource":{"type":"doc","id":"1","properties":{"at":{"x":{"y":null}}}}"#,
            r#""resource":{"type":"doc","id":"1"},"resource":{"type":"doc","id":"1"}"#,
            r#""resource":{"type":"doc","properties":{"id":"1"}}"#,
        ],
        &[
            r#""more":0"#,
            r#""context":{"ip":"::1","action":{"soft":false}}"#,
            r#""context":{"ip":"::1","ip":"::2"}"#,
            r#""context":{}"#,
            r#""context":null"#,
            r#""context":[]"#,
        ],
    ];

    /// Every question that is read by its bytes is read by its values as well, and means the same.
    #[test]
    fn bytes_and_values_say_the_same() {
        let mut read_by_bytes = 0;
        let [subjects, actions, resources, contexts] = PARTS;
        for subject in subjects {
            for action in actions {
                for resource in resources {
                    for context in contexts.iter().copied().chain([""]) {
                        let comma = if context.is_empty() { "" } else { "," };
                        let text = format!("{{{subject},{action}{comma}{context},{resource}}}");
                        let (bytes, values) = (by_bytes(&text), by_values(&text));
                        let Some(bytes) = bytes else { continue };
                        read_by_bytes += 1;
                        assert!(values.is_some_and(|values| same(&bytes, &values)), "{text}");
                    }
                }
            }
        }
        assert!(read_by_bytes > 20, "{read_by_bytes}");
    }

    #[test]
    fn usual_questions_are_read_by_their_bytes() {
        for text in [
            r#"{"subject":{"type":"u","id":"a"},"action":{"name":"r"},"resource":{"type":"d","id":"1"}}"#,
            r#" {"subject":{"type":"u","id":"a","properties":{"p":1}},"resource":{"type":"d","id":"1"},"action":{"name":"r","properties":{"x":1}},"context":{"t":"x"}} "#,
        ] {
            assert!(by_bytes(text).is_some(), "{text}");
        }
    }
}
