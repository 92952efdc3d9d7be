//! A scenario in Rego: each policy a rule whose equalities OPA's rule index knows, tables and what lies above what as
//! data, computed ahead.

use super::hospital::{Policy, policies};
use super::source::{Kind, Source, object};
use super::{Files, json_lines};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// `policy.rego`, `data.json`, `requests.jsonl`.
pub(super) fn files(source: &Source) -> Result<Files, String> {
    let policy = match source.kind {
        Kind::Rbac => include_str!("../../../peers/opa/policies/rbac.rego").to_owned(),
        Kind::Hospital => hospital(source)?,
        Kind::Github => include_str!("../../../peers/opa/policies/github.rego").to_owned(),
        Kind::Gdrive => include_str!("../../../peers/opa/policies/gdrive.rego").to_owned(),
        Kind::Tinytodo => include_str!("../../../peers/opa/policies/tinytodo.rego").to_owned(),
    };
    let mut data = Map::new();
    for (name, value) in object(&source.variables)?.filter(|(name, _)| !name.ends_with("Graph")) {
        data.insert(name.to_owned(), value.clone());
    }
    if source.kind != Kind::Rbac {
        data.insert("member_of".to_owned(), sets(&source.closure()?));
    }
    all(policy, &Value::Object(data), source)
}

/// The hospital once more, with its policies as data under one rule.
pub(super) fn hospital_as_data(source: &Source) -> Result<Files, String> {
    let (mut permissions, mut emergency, mut sensitive) = (json!({}), json!({}), json!({}));
    for policy in policies(source)? {
        match policy {
            Policy::Permission { department, role, kind, actions } => {
                add(&mut permissions, &[department, role, kind], &actions);
            }
            Policy::Sensitivity { department } => add(&mut sensitive, &[], &[department]),
            Policy::Emergency { role: _, kind, actions } => add(&mut emergency, &[kind], &actions),
        }
    }
    let data = json!({
        "permissions": permissions,
        "emergency": emergency,
        "sensitive": sensitive,
        "member_of": sets(&source.closure()?),
    });
    all(include_str!("../../../peers/opa/policies/hospital-data.rego").to_owned(), &data, source)
}

fn all(policy: String, data: &Value, source: &Source) -> Result<Files, String> {
    let requests = source.subscriptions.iter().map(|asked| Ok(asked.clone()));
    Ok(vec![
        ("policy.rego", policy),
        ("data.json", data.to_string()),
        ("requests.jsonl", json_lines(requests)?),
    ])
}

/// JSON has no sets: objects with the value true.
fn sets(closure: &BTreeMap<&str, BTreeSet<&str>>) -> Value {
    let mut sets = json!({});
    for (name, above) in closure {
        add(&mut sets, &[name], &above.iter().copied().collect::<Vec<_>>());
    }
    sets
}

/// Adds elements to the set at a path of objects.
fn add(tree: &mut Value, path: &[&str], elements: &[&str]) {
    let mut here = tree;
    for name in path {
        let Value::Object(members) = here else { return };
        here = members.entry(*name).or_insert_with(|| json!({}));
    }
    if let Value::Object(members) = here {
        members.extend(elements.iter().map(|element| ((*element).to_owned(), Value::Bool(true))));
    }
}

fn hospital(source: &Source) -> Result<String, String> {
    let mut text =
        "package scenario\n\ndefault allow := false\n\nallow if {\n\tpermitted\n\tnot denied\n}\n".to_owned();
    for policy in policies(source)? {
        let _ = match policy {
            Policy::Permission { department, role, kind, actions } => write!(
                text,
                "\npermitted if {{\n\tinput.subject.role == \"{role}\"\n\tinput.resource.type == \"{kind}\"\n\t{}\n\t\
                 input.resource.department == \"{department}\"\n\t\
                 data.member_of[input.subject.id].{department}\n}}\n",
                action_is(&actions)
            ),
            Policy::Sensitivity { department } => write!(
                text,
                "\ndenied if {{\n\tinput.resource.department == \"{department}\"\n\t\
                 input.resource.sensitivity > input.subject.clearance\n}}\n"
            ),
            Policy::Emergency { role, kind, actions } => write!(
                text,
                "\npermitted if {{\n\tinput.subject.role == \"{role}\"\n\tinput.resource.type == \"{kind}\"\n\t{}\n}}\n",
                action_is(&actions)
            ),
        };
    }
    Ok(text)
}

fn action_is(actions: &[&str]) -> String {
    match actions {
        [only] => format!("input.action == \"{only}\""),
        several => format!("input.action in {{\"{}\"}}", several.join("\", \"")),
    }
}
