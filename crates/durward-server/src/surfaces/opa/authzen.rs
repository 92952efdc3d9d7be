//! The input of questions in AuthZEN's words.

use std::sync::Arc;

use durward_common::question::{Action, Entity, Question};
use durward_pdp::ir::Value;
use durward_pdp::ir::value::Object;
use smol_str::SmolStr;

/// `None` where a part is missing or of a wrong type.
pub(super) fn question(input: Option<&Arc<Object>>) -> Option<Question> {
    let input = input?;
    let action = object(input, "action")??;
    Some(Question {
        subject: entity(input, "subject")?,
        action: Action { name: text(&action, "name")?, properties: object(&action, "properties")? },
        resource: entity(input, "resource")?,
        context: object(input, "context")?,
    })
}

fn entity(input: &Object, name: &str) -> Option<Entity> {
    let part = object(input, name)??;
    Some(Entity {
        kind: text(&part, "type")?,
        id: text(&part, "id")?,
        properties: object(&part, "properties")?,
    })
}

pub(super) fn text(object: &Object, name: &str) -> Option<SmolStr> {
    object.get(name)?.as_text().map(SmolStr::new)
}

/// An object, if it is there; `None` where it is something else.
pub(super) fn object(of: &Object, name: &str) -> Option<Option<Arc<Object>>> {
    match of.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(Value::Object(member)) => Some(Some(Arc::clone(member))),
        Some(_) => None,
    }
}
