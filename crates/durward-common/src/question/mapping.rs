//! From AuthZEN's words to those of a SAPL subscription, by templates (`[authzen.sapl]`).

use std::sync::Arc;

use durward_pdp::ir::Value;
use durward_pdp::ir::value::{Object, ObjectBuilder};
use durward_settings::{AuthzenSaplSettings, Template};
use smol_str::SmolStr;

use super::{Action, Entity, Question};
use crate::decider::Subscription;

/// The four parts of subscriptions.
pub struct Mapping {
    subject: Maker,
    action: Maker,
    resource: Maker,
    environment: Maker,
}

/// What makes a value of a question.
enum Maker {
    Path(Path),
    Object {
        /// What stands for all members of objects.
        spread: Option<Path>,
        /// Members that are named. Nothing that is spread has their names, also where they are absent.
        members: Vec<(SmolStr, Maker)>,
    },
}

/// A path into a question.
struct Path {
    root: Root,
    keys: Vec<SmolStr>,
}

#[derive(Clone, Copy)]
enum Root {
    Subject,
    Action,
    Resource,
    Context,
}

impl Mapping {
    /// The templates of `[authzen.sapl]`; a part without one has its default.
    pub fn new(settings: &AuthzenSaplSettings) -> Mapping {
        let entity = |name: &str| Maker::Object {
            spread: Some(Path::of(&format!("{name}.properties"))),
            members: ["type", "id"]
                .map(|member| (member.into(), Maker::Path(Path::of(&format!("{name}.{member}")))))
                .into(),
        };
        let set = |template: &Option<Template>| template.as_ref().map(Maker::of);
        Mapping {
            subject: set(&settings.subject).unwrap_or_else(|| entity("subject")),
            action: set(&settings.action).unwrap_or_else(|| Maker::Path(Path::of("action.name"))),
            resource: set(&settings.resource).unwrap_or_else(|| entity("resource")),
            environment: set(&settings.environment).unwrap_or_else(|| Maker::Object {
                spread: Some(Path::of("context")),
                members: vec![("action".into(), Maker::Path(Path::of("action.properties")))],
            }),
        }
    }

    /// The subscription of a question; `subject` is in the place of what its subject would become.
    pub fn subscription(&self, question: &Question, subject: Option<Value>) -> Subscription {
        Subscription::new(
            subject.unwrap_or_else(|| self.subject.value(question)),
            self.action.value(question),
            self.resource.value(question),
            self.environment.value(question),
        )
    }
}

impl Maker {
    fn of(template: &Template) -> Maker {
        match template {
            Template::Path(path) => Maker::Path(Path::of(path)),
            Template::Object(members) => {
                let spread = match members.get("*") {
                    Some(Template::Path(path)) => Some(Path::of(path)),
                    Some(Template::Object(_)) | None => None,
                };
                let members = members.iter().filter(|(name, _)| name.as_str() != "*");
                let members = members.map(|(name, member)| (name.as_str().into(), Maker::of(member)));
                Maker::Object { spread, members: members.collect() }
            }
        }
    }

    /// An object without members is undefined, as what a path does not find.
    fn value(&self, question: &Question) -> Value {
        let (spread, members) = match self {
            Maker::Path(path) => return path.value(question),
            Maker::Object { spread, members } => (spread, members),
        };
        let spread = spread.as_ref().map(|path| path.value(question));
        let spread = spread.as_ref().and_then(Value::as_object);
        let mut object = ObjectBuilder::with_capacity(members.len() + spread.map_or(0, |all| all.len()));
        for (name, maker) in members {
            let value = maker.value(question);
            if !value.is_undefined() {
                object.insert(name.clone(), value);
            }
        }
        if let Some(all) = spread {
            for (name, value) in all.iter() {
                if !members.iter().any(|(named, _)| named == name) {
                    object.insert(name.clone(), value.clone());
                }
            }
        }
        if object.is_empty() { Value::Undefined } else { Value::Object(Arc::new(object.finish())) }
    }
}

impl Path {
    /// A path that settings were checked for.
    fn of(text: &str) -> Path {
        let mut parts = text.split('.');
        let root = match parts.next().unwrap_or_default() {
            "subject" => Root::Subject,
            "action" => Root::Action,
            "resource" => Root::Resource,
            _ => Root::Context,
        };
        Path { root, keys: parts.map(SmolStr::from).collect() }
    }

    fn value(&self, question: &Question) -> Value {
        let (first, rest) = match self.keys.split_first() {
            Some((first, rest)) => (Some(first.as_str()), rest),
            None => (None, &[][..]),
        };
        let begun = match self.root {
            Root::Subject => of_entity(&question.subject, first),
            Root::Resource => of_entity(&question.resource, first),
            Root::Action => of_action(&question.action, first),
            Root::Context => {
                let context = question.context.as_ref();
                return match (context, first) {
                    (None, _) => Value::Undefined,
                    (Some(context), None) => Value::Object(Arc::clone(context)),
                    (Some(context), Some(_)) => within(context, &self.keys),
                };
            }
        };
        match (rest, begun) {
            ([], begun) => begun,
            (rest, Value::Object(object)) => within(&object, rest),
            (_, _) => Value::Undefined,
        }
    }
}

fn of_entity(entity: &Entity, member: Option<&str>) -> Value {
    match member {
        Some("type") => Value::Text(entity.kind.clone()),
        Some("id") => Value::Text(entity.id.clone()),
        Some(_) => of_object(entity.properties.as_ref()),
        None => whole([("type", &entity.kind), ("id", &entity.id)], entity.properties.as_ref()),
    }
}

fn of_action(action: &Action, member: Option<&str>) -> Value {
    match member {
        Some("name") => Value::Text(action.name.clone()),
        Some(_) => of_object(action.properties.as_ref()),
        None => whole([("name", &action.name)], action.properties.as_ref()),
    }
}

fn of_object(object: Option<&Arc<Object>>) -> Value {
    object.map_or(Value::Undefined, |object| Value::Object(Arc::clone(object)))
}

/// As AuthZEN writes it.
fn whole<const N: usize>(texts: [(&'static str, &SmolStr); N], properties: Option<&Arc<Object>>) -> Value {
    let mut object = ObjectBuilder::with_capacity(N + 1);
    for (name, text) in texts {
        object.insert(name, Value::Text(text.clone()));
    }
    if let Some(properties) = properties {
        object.insert("properties", Value::Object(Arc::clone(properties)));
    }
    Value::Object(Arc::new(object.finish()))
}

fn within(object: &Object, keys: &[SmolStr]) -> Value {
    let mut value = None;
    let mut object = Some(object);
    for key in keys {
        let Some(found) = object.and_then(|object| object.get(key)) else { return Value::Undefined };
        object = found.as_object().map(|next| &**next);
        value = Some(found);
    }
    value.cloned().unwrap_or(Value::Undefined)
}

#[cfg(test)]
mod tests {
    use durward_pdp::ir::path::Element;

    use super::*;
    use durward_settings::Settings;

    const QUESTION: &str = r#"{"subject":{"type":"user","id":"ada","properties":{"role":"chair","id":"eve","type":"god"}},
        "action":{"name":"read","properties":{"soft":true}},
        "resource":{"type":"paper","id":"7","properties":{"at":{"x":1}}},
        "context":{"ip":"::1","action":{"soft":false}}}"#;

    fn mapped(settings: &str, question: &str) -> [String; 4] {
        let settings = Settings::from_toml(settings, "t").unwrap();
        let question = Question::of_test(question);
        let subscription = Mapping::new(&settings.authzen.sapl).subscription(&question, None);
        Element::ALL.map(|element| {
            let value = subscription.element(element);
            if value.is_undefined() { "undefined".to_owned() } else { value.to_json() }
        })
    }

    #[test]
    fn by_default_entities_are_their_properties_and_the_action_is_its_name() {
        let [subject, action, resource, environment] = mapped("", QUESTION);
        assert_eq!(subject, r#"{"type":"user","id":"ada","role":"chair"}"#, "no property is an id or type");
        assert_eq!(action, r#""read""#);
        assert_eq!(resource, r#"{"type":"paper","id":"7","at":{"x":1}}"#);
        assert_eq!(environment, r#"{"action":{"soft":true},"ip":"::1"}"#);
        let plain =
            r#"{"subject":{"type":"u","id":"a"},"action":{"name":"r"},"resource":{"type":"d","id":"1"}}"#;
        assert_eq!(mapped("", plain)[3], "undefined");
        let context = plain.replacen('{', r#"{"context":{"action":{"soft":true}},"#, 1);
        assert_eq!(mapped("", &context)[3], "undefined", "a context says nothing of the action");
    }

    #[test]
    fn templates_say_otherwise() {
        let settings = "[authzen.sapl]\nsubject = 'subject.id'\naction = 'action'\nresource = { kind = 'resource.type', x = \
                        'resource.properties.at.x', no = 'resource.properties.at.y' }\nenvironment = 'context.ip'";
        let [subject, action, resource, environment] = mapped(settings, QUESTION);
        assert_eq!(subject, r#""ada""#);
        assert_eq!(action, r#"{"name":"read","properties":{"soft":true}}"#);
        assert_eq!(resource, r#"{"kind":"paper","x":1}"#);
        assert_eq!(environment, r#""::1""#);
    }
}
