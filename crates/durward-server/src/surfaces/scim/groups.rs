//! `/Groups`: the names in the accounts of users, each with those who have it.
//!
//! A group is nothing but its name: one without members is not listed, and has an id all the same, which is made of the name. So a client
//! that makes a group first and fills it later finds it on every node and after a restart; and the name of a group cannot be changed.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use durward_session::identity::user::Account;
use hyper::Method;
use serde_json::{Map, Value, json};

use super::document::{text, values};
use super::edits::Op;
use super::error::ScimError;
use super::filter::{self, Clause, Path};
use super::patch::{self, Operation};
use super::{Answered, BASE, ScimRequest, created, ids, list, no_content, ok, users};

pub(super) const SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";

/// The longest name of a group, in bytes.
const NAME_LENGTH_MAX: usize = 255;

/// One change of who is in a group. Members are named by the names of users.
#[derive(Debug)]
enum MemberEdit {
    Add(BTreeSet<String>),
    Remove(BTreeSet<String>),
    RemoveAll,
}

/// Finds groups, or makes one.
pub(super) async fn all(request: &ScimRequest<'_>) -> Answered {
    if request.method == Method::POST { create(request).await } else { find(request).await }
}

/// Returns, replaces, changes or removes the group of an id.
pub(super) async fn one(request: &ScimRequest<'_>) -> Answered {
    let name = name_of(&request.id).ok_or_else(|| ScimError::not_found(&request.id))?;
    let edits = match request.method {
        Method::PUT => {
            let object = request.object()?;
            keeps_its_name(&name, object.get("displayname"))?;
            of_resource(request, &object).await?
        }
        Method::PATCH => {
            let edits = of_operations(request, &name, &patch::operations(&request.object()?)?).await?;
            change(request, &name, edits).await?;
            // Large groups are changed a member at a time: they are not sent back for each.
            return Ok(no_content());
        }
        Method::DELETE => {
            change(request, &name, vec![MemberEdit::RemoveAll]).await?;
            return Ok(no_content());
        }
        _ => return ok(&request.narrowed(resource(request, &name).await?)),
    };
    change(request, &name, edits).await?;
    ok(&request.narrowed(resource(request, &name).await?))
}

async fn find(request: &ScimRequest<'_>) -> Answered {
    let clauses = request.query.given("filter").map(filter::read).transpose()?.unwrap_or_default();
    let (skip, count) = request.window()?;
    let mut names = request.service.accounts().groups(&request.by, request.realm()).await?;
    for Clause { name, value } in &clauses {
        match name.as_str() {
            "id" => names.retain(|group| id_of(group) == *value),
            "displayname" => names.retain(|group| group == value),
            // It is not kept.
            "externalid" => names.clear(),
            "members" | "members.value" => {
                let found = ids::found(request, &BTreeSet::from([value.clone()])).await?;
                names.retain(|group| found.iter().any(|(_, account)| account.groups.contains(group)));
            }
            other => {
                return Err(ScimError::bad("invalidFilter", format!("groups cannot be found by `{other}`")));
            }
        }
    }
    let mut resources = Vec::new();
    for name in names.iter().skip(skip).take(count) {
        resources.push(request.narrowed(resource(request, name).await?));
    }
    ok(&list(names.len(), skip, resources))
}

async fn create(request: &ScimRequest<'_>) -> Answered {
    let object = request.object()?;
    let name = object.get("displayname").map(|name| text("displayName", name)).transpose()?.flatten();
    let name = name.filter(|name| is_name(name)).ok_or_else(|| {
        ScimError::bad(
            "invalidValue",
            format!("`displayName` must be a name of at most {NAME_LENGTH_MAX} bytes"),
        )
    })?;
    if request.service.accounts().groups(&request.by, request.realm()).await?.contains(&name) {
        return Err(ScimError::taken("there is a group of this name already"));
    }
    let edits = of_resource(request, &object).await?;
    change(request, &name, edits).await?;
    Ok(created(&request.narrowed(resource(request, &name).await?)))
}

/// The members that a whole resource says, in the place of all that there are.
async fn of_resource(
    request: &ScimRequest<'_>,
    object: &Map<String, Value>,
) -> Result<Vec<MemberEdit>, ScimError> {
    let members = object.get("members").unwrap_or(&Value::Null);
    Ok(vec![MemberEdit::RemoveAll, MemberEdit::Add(named(request, members).await?)])
}

async fn of_operations(
    request: &ScimRequest<'_>,
    name: &str,
    operations: &[Operation],
) -> Result<Vec<MemberEdit>, ScimError> {
    let mut edits = Vec::new();
    for Operation { op, path, value } in operations {
        let value = value.as_ref();
        match (path, value) {
            (Some(path), value) => edits.extend(of_path(request, name, *op, path, value).await?),
            (None, Some(Value::Object(members))) => {
                for (part, value) in members {
                    if !matches!(part.as_str(), "id" | "schemas" | "meta") {
                        edits.extend(of_path(request, name, *op, &Path::read(part)?, Some(value)).await?);
                    }
                }
            }
            (None, _) => {}
        }
    }
    Ok(edits)
}

async fn of_path(
    request: &ScimRequest<'_>,
    name: &str,
    op: Op,
    path: &Path,
    value: Option<&Value>,
) -> Result<Vec<MemberEdit>, ScimError> {
    match (path.name.as_str(), op) {
        ("members", Op::Remove) => removed(request, path, value).await,
        ("members", Op::Add | Op::Replace) => {
            let added = MemberEdit::Add(named(request, value.unwrap_or(&Value::Null)).await?);
            Ok(if op == Op::Replace { vec![MemberEdit::RemoveAll, added] } else { vec![added] })
        }
        ("displayname", Op::Add | Op::Replace) => {
            keeps_its_name(name, value)?;
            Ok(Vec::new())
        }
        // It is not kept.
        ("externalid", _) => Ok(Vec::new()),
        ("displayname", Op::Remove) => Err(ScimError::bad("mutability", "`displayName` cannot be removed")),
        (other, _) => Err(ScimError::bad("invalidPath", format!("there is no attribute `{other}`"))),
    }
}

/// Those of the brackets, else those of the value, else all. Whoever is nobody is in no group.
async fn removed(
    request: &ScimRequest<'_>,
    path: &Path,
    value: Option<&Value>,
) -> Result<Vec<MemberEdit>, ScimError> {
    let in_brackets: Vec<String> = path.filter.iter().map(|clause| clause.value.clone()).collect();
    if path.filter.iter().any(|clause| clause.name != "value") {
        return Err(ScimError::bad("invalidPath", "members are named by `members[value eq \"ID\"]`"));
    }
    let said = match value {
        _ if !in_brackets.is_empty() => in_brackets,
        None | Some(Value::Null) => return Ok(vec![MemberEdit::RemoveAll]),
        Some(value) => values("members", value)?,
    };
    let found = ids::found(request, &said.into_iter().collect()).await?;
    Ok(vec![MemberEdit::Remove(found.into_iter().map(|(_, account)| account.subject).collect())])
}

/// The names of the users of these ids.
async fn named(request: &ScimRequest<'_>, members: &Value) -> Result<BTreeSet<String>, ScimError> {
    let said: BTreeSet<String> = values("members", members)?.into_iter().collect();
    if said.is_empty() {
        return Ok(BTreeSet::new());
    }
    let found = ids::found(request, &said).await?;
    if let Some(nobody) = said.iter().find(|id| !found.iter().any(|(other, _)| other == *id)) {
        return Err(ScimError::bad("invalidValue", format!("there is no user `{nobody}`")));
    }
    Ok(found.into_iter().map(|(_, account)| account.subject).collect())
}

/// Makes the edits of all users they are about, together.
async fn change(request: &ScimRequest<'_>, group: &str, edits: Vec<MemberEdit>) -> Result<(), ScimError> {
    let group = group.to_owned();
    let change = move |account: &Account| {
        let was_in = account.groups.contains(&group);
        let is_in = edits.iter().fold(was_in, |is_in, edit| match edit {
            MemberEdit::Add(users) => is_in || users.contains(&account.subject),
            MemberEdit::Remove(users) => is_in && !users.contains(&account.subject),
            MemberEdit::RemoveAll => false,
        });
        (is_in != was_in).then(|| {
            let mut after = account.clone();
            after.groups.retain(|other| *other != group);
            after.groups.extend(is_in.then(|| group.clone()));
            after
        })
    };
    request.service.accounts().change_all(&request.by, request.realm(), change).await?;
    Ok(())
}

fn keeps_its_name(name: &str, said: Option<&Value>) -> Result<(), ScimError> {
    match said.map(|said| text("displayName", said)).transpose()?.flatten() {
        Some(said) if said != name => {
            Err(ScimError::bad("mutability", "the name of a group cannot be changed: policies name it"))
        }
        Some(_) | None => Ok(()),
    }
}

/// A group as SCIM has it.
async fn resource(request: &ScimRequest<'_>, name: &str) -> Result<Value, ScimError> {
    let id = id_of(name);
    let mut resource = json!({
        "schemas": [SCHEMA],
        "id": id,
        "displayName": name,
        "meta": { "resourceType": "Group", "location": location(&id) },
    });
    if request.wants("members")
        && let Some(members) = resource.as_object_mut()
    {
        members.insert("members".to_owned(), self::members(request, name).await?);
    }
    Ok(resource)
}

async fn members(request: &ScimRequest<'_>, name: &str) -> Result<Value, ScimError> {
    let group = name.to_owned();
    let accounts = ids::select(request, move |account| account.groups.contains(&group)).await?;
    let ids = ids::of(request, &accounts).await?;
    let member = |(account, id): (&Account, &String)| json!({ "value": id, "$ref": users::location(id), "display": account.subject, "type": "User" });
    Ok(accounts.iter().zip(&ids).map(member).collect())
}

/// The id of a group.
pub(super) fn id_of(name: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(name)
}

/// The group of an id.
pub(super) fn name_of(id: &str) -> Option<String> {
    let name = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(id).ok()?).ok()?;
    Some(name).filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    (1..=NAME_LENGTH_MAX).contains(&name.len()) && !name.contains('\0')
}

/// Where the group of an id is.
pub(super) fn location(id: &str) -> String {
    format!("{BASE}/Groups/{id}")
}
