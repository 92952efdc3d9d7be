//! `/Groups`: the names in the accounts of users, each with those who have it.
//!
//! A group is nothing but its name: one without members is not listed, and has an id all the same, which is made of the name. So a client
//! that makes a group first and fills it later finds it on every node and after a restart; and the name of a group cannot be changed.

use std::collections::{BTreeMap, BTreeSet};

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

/// Who is in a group after a request. Users are named by their ids.
#[derive(Debug, Default)]
struct Membership {
    /// Whether those who are not named leave it.
    others_leave: bool,
    /// Whether those who are named are in it.
    named: BTreeMap<String, bool>,
    /// Whoever joins must be somebody.
    joined: BTreeSet<String>,
}

impl Membership {
    fn join(&mut self, ids: Vec<String>) {
        self.joined.extend(ids.iter().cloned());
        self.named.extend(ids.into_iter().map(|id| (id, true)));
    }

    fn leave(&mut self, ids: Vec<String>) {
        self.named.extend(ids.into_iter().map(|id| (id, false)));
    }

    fn all_leave(&mut self) {
        self.others_leave = true;
        self.named.clear();
    }
}

/// Finds groups, or makes one.
pub(super) async fn all(request: &ScimRequest<'_>) -> Answered {
    if request.method == Method::POST { create(request).await } else { find(request).await }
}

/// Returns, replaces, changes or removes the group of an id.
pub(super) async fn one(request: &ScimRequest<'_>) -> Answered {
    let name = name_of(&request.id).ok_or_else(|| ScimError::not_found(&request.id))?;
    let mut members = Membership::default();
    match request.method {
        Method::PUT => {
            let object = request.object()?;
            keeps_its_name(&name, object.get("displayname"))?;
            members = of_resource(&object)?;
        }
        Method::PATCH => {
            let members = of_operations(&name, &patch::operations(&request.object()?)?)?;
            change(request, &name, members).await?;
            // Large groups are changed a member at a time: they are not sent back for each.
            return Ok(no_content());
        }
        Method::DELETE => {
            members.all_leave();
            change(request, &name, members).await?;
            return Ok(no_content());
        }
        _ => return ok(&request.narrowed(resource(request, &name).await?)),
    }
    change(request, &name, members).await?;
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
    change(request, &name, of_resource(&object)?).await?;
    Ok(created(&request.narrowed(resource(request, &name).await?)))
}

/// The members that a whole resource says, in the place of all that there are.
fn of_resource(object: &Map<String, Value>) -> Result<Membership, ScimError> {
    let mut members = Membership::default();
    members.all_leave();
    members.join(values("members", object.get("members").unwrap_or(&Value::Null))?);
    Ok(members)
}

fn of_operations(name: &str, operations: &[Operation]) -> Result<Membership, ScimError> {
    let mut all = Membership::default();
    for Operation { op, path, value } in operations {
        let value = value.as_ref();
        match (path, value) {
            (Some(path), value) => of_path(&mut all, name, *op, path, value)?,
            (None, Some(Value::Object(members))) => {
                for (part, value) in members {
                    if !matches!(part.as_str(), "id" | "schemas" | "meta") {
                        of_path(&mut all, name, *op, &Path::read(part)?, Some(value))?;
                    }
                }
            }
            (None, _) => {}
        }
    }
    Ok(all)
}

fn of_path(
    members: &mut Membership,
    name: &str,
    op: Op,
    path: &Path,
    value: Option<&Value>,
) -> Result<(), ScimError> {
    match (path.name.as_str(), op) {
        ("members", Op::Remove) => leaving(members, path, value),
        ("members", Op::Add | Op::Replace) => {
            if op == Op::Replace {
                members.all_leave();
            }
            members.join(values("members", value.unwrap_or(&Value::Null))?);
            Ok(())
        }
        ("displayname", Op::Add | Op::Replace) => keeps_its_name(name, value),
        // It is not kept.
        ("externalid", _) => Ok(()),
        ("displayname", Op::Remove) => Err(ScimError::bad("mutability", "`displayName` cannot be removed")),
        (other, _) => Err(ScimError::bad("invalidPath", format!("there is no attribute `{other}`"))),
    }
}

/// Those of the brackets, else those of the value, else all. Whoever is nobody is in no group.
fn leaving(members: &mut Membership, path: &Path, value: Option<&Value>) -> Result<(), ScimError> {
    if path.filter.iter().any(|clause| clause.name != "value") {
        return Err(ScimError::bad("invalidPath", "members are named by `members[value eq \"ID\"]`"));
    }
    let in_brackets = path.filter.iter().map(|clause| clause.value.clone());
    match value {
        _ if !path.filter.is_empty() => members.leave(in_brackets.collect()),
        None | Some(Value::Null) => members.all_leave(),
        Some(value) => members.leave(values("members", value)?),
    }
    Ok(())
}

/// Makes the changes of all users they are about, together. Ids are looked up once for all of them.
async fn change(request: &ScimRequest<'_>, group: &str, members: Membership) -> Result<(), ScimError> {
    let Membership { others_leave, named, joined } = members;
    let wanted: BTreeSet<String> = named.keys().chain(&joined).cloned().collect();
    let found = if wanted.is_empty() { Vec::new() } else { ids::found(request, &wanted).await? };
    let there: BTreeSet<&String> = found.iter().map(|(id, _)| id).collect();
    if let Some(nobody) = joined.iter().find(|id| !there.contains(id)) {
        return Err(ScimError::bad("invalidValue", format!("there is no user `{nobody}`")));
    }
    let of_user = found.iter().filter_map(|(id, account)| {
        let joins = *named.get(id)?;
        Some((account.subject.clone(), (joins, ids::same(account))))
    });
    let of_user: BTreeMap<String, _> = of_user.collect();
    let group = group.to_owned();
    let change = move |account: &Account| {
        let was_in = account.groups.contains(&group);
        // Who has the name now may be somebody else than who was found.
        let meant = of_user.get(&account.subject).filter(|(_, is_same)| is_same(account));
        let is_in = meant.map_or(was_in && !others_leave, |(joins, _)| *joins);
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
