//! A scenario in the language of Cedar: what a policy looks at by role, type, group or folder is in the scope of the
//! policy, as Cedar's documentation advises, and what lies above what is in the parents of entities.

use super::hospital::{Policy, policies};
use super::source::{Kind, Source, member, object, text};
use super::{Files, json_lines};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// `policies.cedar`, `entities.json`, `requests.jsonl`.
pub(super) fn files(source: &Source) -> Result<Files, String> {
    let (policies, entities) = match source.kind {
        Kind::Rbac => (include_str!("../../../peers/cedar/policies/rbac.cedar").to_owned(), rbac(source)?),
        Kind::Hospital => (hospital_policies(source)?, hospital_entities(source)?),
        Kind::Github => {
            (include_str!("../../../peers/cedar/policies/github.cedar").to_owned(), graph(source)?)
        }
        Kind::Gdrive => {
            (include_str!("../../../peers/cedar/policies/gdrive.cedar").to_owned(), graph(source)?)
        }
        Kind::Tinytodo => {
            (include_str!("../../../peers/cedar/policies/tinytodo.cedar").to_owned(), graph(source)?)
        }
    };
    let requests = source.subscriptions.iter().map(|asked| request(source.kind, asked));
    Ok(vec![
        ("policies.cedar", policies),
        ("entities.json", Value::Array(entities).to_string()),
        ("requests.jsonl", json_lines(requests)?),
    ])
}

/// Type and identifier of an entity.
struct Uid {
    kind: String,
    id: String,
}

impl Uid {
    fn of(kind: &str, id: impl Into<String>) -> Uid {
        Uid { kind: kind.to_owned(), id: id.into() }
    }

    /// `User::user_0` is the user `user_0`.
    fn read(name: &str) -> Result<Uid, String> {
        let (kind, id) = name.split_once("::").ok_or_else(|| format!("no type in `{name}`"))?;
        Ok(Uid::of(kind, id))
    }

    /// `staff_0`, `team_0` and `dept_0`.
    fn of_hospital(name: &str) -> Result<Uid, String> {
        match name.split_once('_') {
            Some(("staff", _)) => Ok(Uid::of("Staff", name)),
            Some(("team", _)) => Ok(Uid::of("Team", name)),
            Some(("dept", _)) => Ok(Uid::of("Department", name)),
            _ => Err(format!("what is `{name}`?")),
        }
    }

    fn json(&self) -> Value {
        json!({ "type": self.kind, "id": self.id })
    }

    /// As policies write it. No identifier here has a quotation mark.
    fn written(&self) -> String {
        format!("{}::\"{}\"", self.kind, self.id)
    }
}

fn entity(uid: &Uid, attributes: Map<String, Value>, parents: &[Uid]) -> Value {
    let parents: Vec<Value> = parents.iter().map(Uid::json).collect();
    json!({ "uid": uid.json(), "attrs": attributes, "parents": parents })
}

fn request(kind: Kind, asked: &Value) -> Result<Value, String> {
    let (subject, resource) = (member(asked, "subject")?, member(asked, "resource")?);
    let (principal, resource) = match kind {
        Kind::Rbac => (user_in_role(subject)?, Uid::of("Type", text(resource, "type")?)),
        Kind::Hospital => (Uid::of_hospital(text(subject, "id")?)?, hospital_resource(resource)?),
        Kind::Github | Kind::Gdrive | Kind::Tinytodo => {
            (Uid::read(text(asked, "subject")?)?, named_or_missing(text(asked, "resource")?))
        }
    };
    let action = Uid::of("Action", text(asked, "action")?);
    Ok(json!({
        "principal": principal.written(),
        "action": action.written(),
        "resource": resource.written(),
    }))
}

/// One resource is asked for that is not there and has no type in its name.
fn named_or_missing(name: &str) -> Uid {
    Uid::read(name).unwrap_or_else(|_| Uid::of("Missing", name))
}

/// The role comes with the question: the same user may be asked for in another.
fn user_in_role(subject: &Value) -> Result<Uid, String> {
    Ok(Uid::of("User", format!("{} as {}", text(subject, "username")?, text(subject, "role")?)))
}

fn rbac(source: &Source) -> Result<Vec<Value>, String> {
    let mut users = BTreeMap::new();
    for asked in &source.subscriptions {
        let subject = member(asked, "subject")?;
        let user = user_in_role(subject)?;
        let role = Uid::of("Role", text(subject, "role")?);
        users.insert(user.id.clone(), entity(&user, Map::new(), &[role]));
    }
    Ok(users.into_values().collect())
}

/// Entities with the attributes that tables of the variables give them.
fn graph(source: &Source) -> Result<Vec<Value>, String> {
    let tables = ["orgs", "repos", "users", "docs", "lists"];
    let row = |name: &str| tables.iter().find_map(|table| source.variables.get(*table)?.get(name));
    let node = |(name, above): (&str, Vec<&str>)| {
        let parents = above.into_iter().map(Uid::read).collect::<Result<Vec<_>, _>>()?;
        let attributes = row(name).map(attributes).transpose()?.unwrap_or_default();
        Ok(entity(&Uid::read(name)?, attributes, &parents))
    };
    source.graph()?.into_iter().map(node).collect()
}

/// What no policy looks at, the tasks of a list, is left out.
fn attributes(row: &Value) -> Result<Map<String, Value>, String> {
    let mut attributes = Map::new();
    for (name, value) in object(row)?.filter(|(name, _)| !["tasks", "name"].contains(name)) {
        attributes.insert(name.to_owned(), attribute(value)?);
    }
    Ok(attributes)
}

/// Names are references.
fn attribute(value: &Value) -> Result<Value, String> {
    match value {
        Value::String(name) => Ok(json!({ "__entity": Uid::read(name)?.json() })),
        Value::Array(names) => Ok(Value::Array(names.iter().map(attribute).collect::<Result<_, _>>()?)),
        Value::Bool(_) => Ok(value.clone()),
        Value::Null | Value::Number(_) | Value::Object(_) => Err(format!("what is `{value}`?")),
    }
}

fn hospital_policies(source: &Source) -> Result<String, String> {
    let mut text = String::new();
    for policy in policies(source)? {
        let written = match policy {
            Policy::Permission { department, role, kind, actions } => format!(
                "permit(principal in Department::\"{department}\", {}, resource is {kind} in \
                 Department::\"{department}\") when {{ principal.role == \"{role}\" }};",
                action_is(&actions)
            ),
            Policy::Sensitivity { department } => format!(
                "forbid(principal, action, resource in Department::\"{department}\") \
                 when {{ resource.sensitivity > principal.clearance }};"
            ),
            Policy::Emergency { role, kind, actions } => format!(
                "permit(principal, {}, resource is {kind}) when {{ principal.role == \"{role}\" }};",
                action_is(&actions)
            ),
        };
        let _ = writeln!(text, "{written}");
    }
    Ok(text)
}

fn action_is(actions: &[&str]) -> String {
    match actions {
        [only] => format!("action == Action::\"{only}\""),
        several => format!("action in [Action::\"{}\"]", several.join("\", Action::\"")),
    }
}

/// Resources have no names: each combination of what they are is one.
fn hospital_resource(resource: &Value) -> Result<Uid, String> {
    let sensitivity = member(resource, "sensitivity")?;
    Ok(Uid::of(text(resource, "type")?, format!("{}/{sensitivity}", text(resource, "department")?)))
}

fn hospital_entities(source: &Source) -> Result<Vec<Value>, String> {
    let (mut subjects, mut resources) = (BTreeMap::new(), BTreeMap::new());
    for asked in &source.subscriptions {
        let (subject, resource) = (member(asked, "subject")?, member(asked, "resource")?);
        subjects.insert(text(subject, "id")?, subject);
        let uid = hospital_resource(resource)?;
        let attributes = taken(resource, &["sensitivity"])?;
        let department = Uid::of_hospital(text(resource, "department")?)?;
        resources.insert(uid.written(), entity(&uid, attributes, &[department]));
    }
    let mut entities = Vec::new();
    for (name, above) in source.graph()? {
        let parents = above.into_iter().map(Uid::of_hospital).collect::<Result<Vec<_>, _>>()?;
        let known = subjects.get(name).map(|subject| taken(subject, &["role", "clearance"])).transpose()?;
        entities.push(entity(&Uid::of_hospital(name)?, known.unwrap_or_default(), &parents));
    }
    entities.extend(resources.into_values());
    Ok(entities)
}

fn taken(value: &Value, names: &[&str]) -> Result<Map<String, Value>, String> {
    names.iter().map(|name| Ok(((*name).to_owned(), member(value, name)?.clone()))).collect()
}
