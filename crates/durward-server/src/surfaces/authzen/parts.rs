//! Requests of AuthZEN, read: who wants to do what with what. Members that the standard does not know mean nothing; those that it knows
//! have the type that it says, or the request is refused.

use std::sync::Arc;

use durward_common::question::{Action, Entity, Question, Wrong};
use durward_pdp::ir::Value;
use durward_pdp::ir::json;
use durward_pdp::ir::value::Object;
use smol_str::SmolStr;

/// The object of a body.
pub(super) fn body(text: &[u8]) -> Result<Arc<Object>, Wrong> {
    if text.trim_ascii().is_empty() {
        return Err(Wrong::request("the body is empty; a request is an object of JSON"));
    }
    let value =
        json::read_unique(text).map_err(|error| Wrong::request(format!("the body is no JSON: {error}")))?;
    value.as_object().cloned().ok_or_else(|| Wrong::request("the body must be an object"))
}

/// What is given of a subject, a resource or an action; all of it is of the right type.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// `type`.
    pub(super) kind: Option<SmolStr>,
    /// `id`, or `name` of an action.
    pub(super) id: Option<SmolStr>,
    pub(super) properties: Option<Arc<Object>>,
}

/// What a part is called, and whether it is an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartName {
    Subject,
    Action,
    Resource,
}

impl PartName {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            PartName::Subject => "subject",
            PartName::Action => "action",
            PartName::Resource => "resource",
        }
    }

    /// Reads this part of an object; `None` where it is not there.
    pub(super) fn read(self, object: &Object) -> Result<Option<Part>, Wrong> {
        let name = self.as_str();
        let Some(value) = object.get(name) else { return Ok(None) };
        let Value::Object(part) = value else {
            return Err(Wrong::request(format!("`{name}` must be an object")));
        };
        let text = |member: &str| match part.get(member) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Wrong::request(format!("`{name}.{member}` must be a string"))),
        };
        Ok(Some(match self {
            PartName::Action => Part { kind: None, id: text("name")?, properties: properties(part, name)? },
            PartName::Subject | PartName::Resource => {
                Part { kind: text("type")?, id: text("id")?, properties: properties(part, name)? }
            }
        }))
    }

    fn missing(self, member: &str) -> Wrong {
        Wrong::request(format!("`{}.{member}` is missing", self.as_str()))
    }

    /// This part, which must be there.
    pub(super) fn needed(self, part: Option<Part>) -> Result<Part, Wrong> {
        part.ok_or_else(|| Wrong::request(format!("`{}` is missing", self.as_str())))
    }

    /// The type of what is searched for, and its properties; its id means nothing.
    pub(super) fn searched(self, part: Option<Part>) -> Result<(SmolStr, Option<Arc<Object>>), Wrong> {
        let part = self.needed(part)?;
        Ok((part.kind.ok_or_else(|| self.missing("type"))?, part.properties))
    }

    /// A subject or a resource in full.
    pub(super) fn entity(self, part: Option<Part>) -> Result<Entity, Wrong> {
        let Part { kind, id, properties } = self.needed(part)?;
        let kind = kind.ok_or_else(|| self.missing("type"))?;
        let id = id.ok_or_else(|| self.missing("id"))?;
        Ok(Entity { kind, id, properties })
    }
}

/// An action in full.
pub(super) fn action(part: Option<Part>) -> Result<Action, Wrong> {
    let Part { id, properties, .. } = PartName::Action.needed(part)?;
    Ok(Action { name: id.ok_or_else(|| PartName::Action.missing("name"))?, properties })
}

fn properties(part: &Object, name: &str) -> Result<Option<Arc<Object>>, Wrong> {
    match part.get("properties") {
        // "Null-valued members should be omitted": one that was not is none.
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(properties)) => Ok(Some(Arc::clone(properties))),
        Some(_) => Err(Wrong::request(format!("`{name}.properties` must be an object"))),
    }
}

/// A member that is an object, if it is there.
pub(super) fn object_member(object: &Object, name: &str) -> Result<Option<Arc<Object>>, Wrong> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(member)) => Ok(Some(Arc::clone(member))),
        Some(_) => Err(Wrong::request(format!("`{name}` must be an object"))),
    }
}

/// The parts of a request, or of an evaluation in one.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub(super) subject: Option<Part>,
    pub(super) action: Option<Part>,
    pub(super) resource: Option<Part>,
    pub(super) context: Option<Arc<Object>>,
}

impl Parts {
    pub(super) fn read(object: &Object) -> Result<Parts, Wrong> {
        Ok(Parts {
            subject: PartName::Subject.read(object)?,
            action: PartName::Action.read(object)?,
            resource: PartName::Resource.read(object)?,
            context: object_member(object, "context")?,
        })
    }

    /// The question that these parts are.
    pub(super) fn question(self) -> Result<Question, Wrong> {
        Ok(Question {
            subject: PartName::Subject.entity(self.subject)?,
            action: action(self.action)?,
            resource: PartName::Resource.entity(self.resource)?,
            context: self.context,
        })
    }

    /// The parts of one evaluation, for which these are the defaults: what it has replaces a default whole.
    ///
    /// A default that has a type and no id could be nobody's subject or resource. It is read as what it can only mean: the type of those that
    /// have none, as the conformance suite expects.
    pub(super) fn replaced_by(&self, own: Parts) -> Parts {
        let typed = |own: Option<Part>, default: &Option<Part>| match (own, default) {
            (Some(own @ Part { kind: None, id: Some(_), .. }), Some(Part { kind, id: None, .. })) => {
                Some(Part { kind: kind.clone(), ..own })
            }
            (Some(own), _) => Some(own),
            (None, default) => default.clone(),
        };
        Parts {
            subject: typed(own.subject, &self.subject),
            action: own.action.or_else(|| self.action.clone()),
            resource: typed(own.resource, &self.resource),
            context: own.context.or_else(|| self.context.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Question, Wrong> {
        Parts::read(&*body(text.as_bytes())?)?.question()
    }

    #[test]
    fn what_is_there_has_the_type_that_it_must_have() {
        let whole = r#"{"subject":{"type":"u","id":"a"},"action":{"name":"r"},"resource":{"type":"d","id":"1"},"x":[1]}"#;
        assert!(read(whole).is_ok());
        for (from, to, words) in [
            (r#""id":"a""#, r#""id":1"#, "`subject.id` must be a string"),
            (r#","id":"a""#, "", "`subject.id` is missing"),
            (r#""name":"r""#, r#""name":null"#, "`action.name` must be a string"),
            (r#"{"type":"d","id":"1"}"#, "[]", "`resource` must be an object"),
            (r#"{"name":"r"}"#, r#"{"name":"r","properties":[]}"#, "`action.properties` must be an object"),
            (r#""x":[1]"#, r#""context":"c""#, "`context` must be an object"),
            (r#""x":[1]"#, r#""x":{"a":1,"a":2}"#, "the key `a` is there twice"),
            (r#""x":[1]"#, r#""subject":{"type":"u","id":"b"}"#, "the key `subject` is there twice"),
        ] {
            let changed = whole.replacen(from, to, 1);
            assert!(read(&changed).unwrap_err().message.contains(words), "{changed}");
        }
    }

    /// 3.2.7 of the certification scenario against `batch-with-default-value-merging` of the suite.
    #[test]
    fn a_default_is_replaced_whole_and_a_default_without_id_is_a_type() {
        let parts = |text: &str| Parts::read(&body(text.as_bytes()).unwrap()).unwrap();
        let of = |default: &str, own: &str| {
            let parts = parts(default).replaced_by(parts(own));
            PartName::Resource.entity(parts.resource).map(|entity| (entity.kind, entity.properties.is_some()))
        };
        let whole = r#"{"resource":{"type":"d","id":"1","properties":{"p":1}}}"#;
        assert_eq!(of(whole, r#"{"resource":{"type":"e","id":"2"}}"#), Ok(("e".into(), false)));
        assert!(of(whole, r#"{"resource":{"id":"2"}}"#).is_err(), "no type is taken from an entity");
        assert!(of(whole, r#"{"resource":{"type":"e"}}"#).is_err(), "no id is taken from an entity");
        let typed = r#"{"resource":{"type":"d","properties":{"p":1}}}"#;
        assert_eq!(of(typed, r#"{"resource":{"id":"2"}}"#), Ok(("d".into(), false)), "and nothing else");
        assert!(of(typed, "{}").is_err());
    }
}
