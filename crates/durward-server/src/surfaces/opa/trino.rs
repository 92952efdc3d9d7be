//! What Trino asks: whether a user may do an operation with a resource, or with which of several.
//!
//! The type of a resource is what Trino calls it (`table`, `column`, `schema`, `catalog`, ...), its id the names joined by dots, its properties
//! all of it. What else belongs to an operation, such as `targetResource`, is a property of the action.

use std::sync::Arc;

use durward_common::question::{Action, Entity, Question, Wrong};
use durward_pdp::ir::Value;
use durward_pdp::ir::value::{Object, ObjectBuilder};
use hyper::StatusCode;
use serde_json::Value as Json;
use smol_str::SmolStr;

use super::Asking;
use super::authzen::{object, text};

/// The operation whose resources are the columns of one table.
const FILTER_COLUMNS: &str = "FilterColumns";

/// Names in the order in which they make an id.
const NAMES: [&str; 8] =
    ["catalogName", "schemaName", "tableName", "columnName", "functionName", "propertyName", "name", "user"];

/// What is asked of all resources of a request.
pub(super) struct Request {
    subject: Entity,
    action: Action,
    context: Option<Arc<Object>>,
    operation: SmolStr,
    /// All of the action.
    action_object: Arc<Object>,
}

/// The question about one resource; `None` where it is none of Trino's.
pub(super) fn question(input: Option<&Arc<Object>>) -> Option<Question> {
    let request = Request::read(input)?;
    let resource = object(&request.action_object, "resource")?;
    request.question(resource.as_deref())
}

impl Request {
    pub(super) fn read(input: Option<&Arc<Object>>) -> Option<Request> {
        let input = input?;
        let context = object(input, "context")??;
        let identity = object(&context, "identity")??;
        let user = text(&identity, "user").filter(|user| !user.is_empty())?;
        let mut properties = ObjectBuilder::new();
        match identity.get("groups") {
            None | Some(Value::Null) => properties.insert("groups", Value::array([])),
            Some(Value::Array(groups)) if groups.iter().all(|group| group.as_text().is_some()) => {
                properties.insert("groups", Value::Array(Arc::clone(groups)));
            }
            Some(_) => return None,
        }
        let action = object(input, "action")??;
        let operation = text(&action, "operation").filter(|operation| !operation.is_empty())?;
        let is_more = |name: &str| !matches!(name, "operation" | "resource" | "filterResources");
        let more: Object = members(&action, is_more);
        let about = members(&context, |name| name != "identity");
        Some(Request {
            subject: Entity {
                kind: "user".into(),
                id: user,
                properties: Some(Arc::new(properties.finish())),
            },
            action: Action { name: operation.clone(), properties: some(more) },
            context: some(about),
            operation,
            action_object: action,
        })
    }

    /// The question about a resource; without one, about Trino itself.
    pub(super) fn question(&self, resource: Option<&Object>) -> Option<Question> {
        let resource = match resource {
            None => Entity { kind: "trino".into(), id: SmolStr::default(), properties: None },
            Some(resource) => entity(resource)?,
        };
        let (subject, action, context) = (self.subject.clone(), self.action.clone(), self.context.clone());
        Some(Question { subject, action, resource, context })
    }

    /// The resource of the request.
    pub(super) fn resource(&self) -> Option<Arc<Object>> {
        object(&self.action_object, "resource")?
    }

    /// The resources of a batch, in order. Those of `FilterColumns` are columns of one table.
    pub(super) fn resources(&self) -> Option<Vec<Arc<Object>>> {
        let listed = self.action_object.get("filterResources")?.as_array()?;
        let listed: Option<Vec<Arc<Object>>> =
            listed.iter().map(|value| value.as_object().cloned()).collect();
        let listed = listed?;
        match listed.as_slice() {
            [one] if self.operation == FILTER_COLUMNS => columns(one),
            _ => Some(listed),
        }
    }
}

/// Each column of a table, as a resource of its own.
fn columns(resource: &Object) -> Option<Vec<Arc<Object>>> {
    let table = object(resource, "table")??;
    let names = table.get("columns")?.as_array()?;
    let column = |name: &Value| {
        let mut column: Vec<(SmolStr, Value)> = pairs(&table, |member| member != "columns");
        column.push(("columnName".into(), Value::text(name.as_text()?)));
        let column: Object = column.into_iter().collect();
        Some(Arc::new([("column", Value::Object(Arc::new(column)))].into_iter().collect::<Object>()))
    };
    names.iter().map(column).collect()
}

/// The indices of the resources that are permitted.
pub(super) async fn batch(
    asking: &Asking<'_>,
    input: Option<&Arc<Object>>,
    most: usize,
) -> Result<Json, Wrong> {
    let Some(request) = Request::read(input) else { return Ok(Json::Array(Vec::new())) };
    let Some(resources) = request.resources() else { return Ok(Json::Array(Vec::new())) };
    check_count(resources.len(), most)?;
    let mut permitted = Vec::new();
    for (index, resource) in resources.iter().enumerate() {
        if asking.is_permitted(request.question(Some(resource))).await? {
            permitted.push(Json::from(index));
        }
        // Others are served between two decisions.
        tokio::task::yield_now().await;
    }
    Ok(Json::Array(permitted))
}

pub(super) fn check_count(count: usize, most: usize) -> Result<(), Wrong> {
    if count <= most {
        return Ok(());
    }
    let message = format!("there are more than {most} resources (`opa.batch_max`)");
    Err(Wrong::new(StatusCode::PAYLOAD_TOO_LARGE, message))
}

/// An object with one member, whose name is the type.
fn entity(resource: &Object) -> Option<Entity> {
    let (kind, value) = resource.iter().next().filter(|_| resource.len() == 1)?;
    let properties = value.as_object()?;
    let names: Vec<&str> = NAMES.iter().filter_map(|name| properties.get(name)?.as_text()).collect();
    Some(Entity { kind: kind.clone(), id: names.join(".").into(), properties: Some(Arc::clone(properties)) })
}

fn members(object: &Object, is_wanted: impl Fn(&str) -> bool) -> Object {
    pairs(object, is_wanted).into_iter().collect()
}

fn pairs(object: &Object, is_wanted: impl Fn(&str) -> bool) -> Vec<(SmolStr, Value)> {
    let wanted = object.iter().filter(|(name, _)| is_wanted(name));
    wanted.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn some(object: Object) -> Option<Arc<Object>> {
    (!object.is_empty()).then(|| Arc::new(object))
}
