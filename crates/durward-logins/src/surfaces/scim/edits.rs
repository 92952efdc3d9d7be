//! What a request says of a user, as edits of an account: creating, replacing and patching are lists of these.

use std::collections::BTreeMap;

use durward_session::identity::user::Account;
use serde_json::{Map, Value};

use super::document::{text, truth, values};
use super::error::ScimError;
use super::filter::{Clause, Path};
use super::ids;

/// Where addresses of mail are.
pub(super) const MAIL: &str = "mail";

/// How many values an attribute may be given: nobody has more addresses, and each is compared with each.
const VALUES_MAX: usize = 100;

/// Attributes with one text: how SCIM calls them, in small letters, and how the account does, as directories of people do.
pub(super) const TEXTS: [(&str, &str); 5] = [
    ("externalid", "externalId"),
    ("displayname", "displayName"),
    ("name.givenname", "givenName"),
    ("name.familyname", "sn"),
    ("name.formatted", "cn"),
];

/// Attributes of the standard that are not kept: taken, and never returned (RFC 7644, 3.3).
const NOT_KEPT: [&str; 16] = [
    "nickname",
    "profileurl",
    "title",
    "usertype",
    "preferredlanguage",
    "locale",
    "timezone",
    "phonenumbers",
    "ims",
    "photos",
    "addresses",
    "entitlements",
    "roles",
    "x509certificates",
    "name.middlename",
    "name.honorificprefix",
];

/// How an operation changes what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Replace,
    Remove,
}

/// One change of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    UserName(String),
    Active(bool),
    Password(String),
    /// All values of an attribute; none removes it.
    Values(&'static str, Vec<String>),
    AddValues(&'static str, Vec<String>),
    RemoveValues(&'static str, Vec<String>),
    /// The first value of an attribute.
    First(&'static str, String),
}

/// What an unknown attribute is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Ignored,
    /// The client named it alone.
    Refused,
}

/// The edits that a whole resource says. What a replacement does not say is removed, save whether the user may log in, the groups, the
/// password, and what SCIM knows nothing of.
pub(super) fn of_resource(resource: &Map<String, Value>) -> Result<Vec<Edit>, ScimError> {
    let kept = TEXTS.iter().map(|(_, attribute)| *attribute).chain([MAIL]);
    let mut edits: Vec<Edit> = kept.map(|attribute| Edit::Values(attribute, Vec::new())).collect();
    edits.extend(of_members(resource)?);
    if edits.iter().any(|edit| matches!(edit, Edit::UserName(_))) {
        return Ok(edits);
    }
    Err(ScimError::bad("invalidValue", "`userName` is missing"))
}

/// The edits that some members of a resource say, whose names may be paths (as Entra ID sends them).
fn of_members(members: &Map<String, Value>) -> Result<Vec<Edit>, ScimError> {
    of_object(Op::Replace, members)
}

/// The edits of an operation without a path.
pub(super) fn of_object(op: Op, members: &Map<String, Value>) -> Result<Vec<Edit>, ScimError> {
    let mut edits = Vec::new();
    for (name, value) in members {
        if matches!(name.as_str(), "schemas" | "id" | "meta" | "groups") {
            continue;
        }
        edits.extend(of_path(op, &Path::read(name)?, Some(value), Unknown::Ignored)?);
    }
    Ok(edits)
}

/// The edits of one operation.
pub(super) fn of_path(
    op: Op,
    path: &Path,
    value: Option<&Value>,
    unknown: Unknown,
) -> Result<Vec<Edit>, ScimError> {
    let value = value.filter(|_| op != Op::Remove || path.name == "emails");
    let full = path.sub.as_ref().map_or_else(|| path.name.clone(), |sub| format!("{}.{sub}", path.name));
    if let Some((_, attribute)) = TEXTS.iter().find(|(name, _)| *name == full) {
        let said = value.map(|value| text(&full, value)).transpose()?.flatten();
        return Ok(vec![Edit::Values(attribute, said.into_iter().collect())]);
    }
    match (full.as_str(), value) {
        ("username" | "active" | "password", None) => {
            Err(ScimError::bad("mutability", format!("`{full}` cannot be removed")))
        }
        ("username", Some(value)) => {
            let name = text(&full, value)?;
            let name = name.ok_or_else(|| ScimError::bad("invalidValue", "`userName` is empty"))?;
            Ok(vec![Edit::UserName(name)])
        }
        ("active", Some(value)) => Ok(vec![Edit::Active(truth(&full, value)?)]),
        ("password", Some(value)) => Ok(text(&full, value)?.map(Edit::Password).into_iter().collect()),
        ("name", value) => of_name(op, value),
        ("emails" | "emails.value", value) => of_mail(op, &path.filter, value),
        ("id" | "meta" | "schemas" | "groups", _) => {
            Err(ScimError::bad("mutability", format!("`{full}` cannot be changed here")))
        }
        _ if unknown == Unknown::Ignored || is_not_kept(&full, &path.name) => Ok(Vec::new()),
        _ => Err(ScimError::bad("invalidPath", format!("there is no attribute `{full}`"))),
    }
}

/// Whether it is an attribute of the standard, or of another schema, that is not kept.
fn is_not_kept(full: &str, name: &str) -> bool {
    let is_of_mail = matches!(full, "emails.type" | "emails.primary" | "emails.display");
    NOT_KEPT.contains(&full)
        || NOT_KEPT.contains(&name)
        || name.starts_with("urn:")
        || full == "name.honorificsuffix"
        || is_of_mail
}

fn of_name(op: Op, value: Option<&Value>) -> Result<Vec<Edit>, ScimError> {
    let parts = TEXTS.iter().filter_map(|(name, attribute)| Some((name.strip_prefix("name.")?, *attribute)));
    let members = match value {
        None | Some(Value::Null) => {
            return Ok(parts.map(|(_, attribute)| Edit::Values(attribute, Vec::new())).collect());
        }
        Some(Value::Object(members)) => members,
        Some(_) => return Err(ScimError::bad("invalidValue", "`name` must be an object")),
    };
    let mut edits = Vec::new();
    for (part, attribute) in parts {
        let Some(value) = members.get(part).filter(|_| op != Op::Remove) else { continue };
        edits.push(Edit::Values(attribute, text(part, value)?.into_iter().collect()));
    }
    Ok(edits)
}

/// Of addresses, the kind is not kept: all are of work, and the first is the primary one.
fn of_mail(op: Op, filter: &[Clause], value: Option<&Value>) -> Result<Vec<Edit>, ScimError> {
    let said = value.map(|value| values("emails", value)).transpose()?;
    if said.as_ref().is_some_and(|said| said.len() > VALUES_MAX) {
        return Err(too_many_values());
    }
    let of_filter =
        |name: &str| filter.iter().find(|clause| clause.name == name).map(|clause| clause.value.clone());
    if let Some(one) = of_filter("value") {
        let instead = said.unwrap_or_default();
        return Ok(vec![Edit::RemoveValues(MAIL, vec![one]), Edit::AddValues(MAIL, instead)]);
    }
    let is_kept = of_filter("type").is_none_or(|kind| kind.eq_ignore_ascii_case("work"))
        && of_filter("primary").is_none_or(|primary| primary == "true");
    if !is_kept {
        return Ok(Vec::new());
    }
    Ok(match (op, said, filter.is_empty()) {
        (Op::Remove, Some(said), true) => vec![Edit::RemoveValues(MAIL, said)],
        (Op::Remove, _, _) => vec![Edit::Values(MAIL, Vec::new())],
        (Op::Add, said, true) => vec![Edit::AddValues(MAIL, said.unwrap_or_default())],
        (Op::Replace, said, true) => vec![Edit::Values(MAIL, said.unwrap_or_default())],
        (Op::Add | Op::Replace, said, false) => {
            said.unwrap_or_default().into_iter().take(1).map(|one| Edit::First(MAIL, one)).collect()
        }
    })
}

/// Makes the edits of an account. The id goes with a user who is renamed.
pub(super) fn apply(edits: &[Edit], id: &str, account: &mut Account) {
    let before = account.subject.clone();
    for edit in edits {
        match edit {
            Edit::UserName(name) => account.subject.clone_from(name),
            Edit::Active(is_active) => account.disabled = !is_active,
            // It is hashed elsewhere.
            Edit::Password(_) => {}
            Edit::Values(name, values) => set(&mut account.attributes, name, values.clone()),
            Edit::AddValues(name, values) => {
                let mut all = account.attributes.remove(*name).unwrap_or_default();
                for value in values {
                    // One more than there may be is there to be refused.
                    if all.len() <= VALUES_MAX && !all.contains(value) {
                        all.push(value.clone());
                    }
                }
                set(&mut account.attributes, name, all);
            }
            Edit::RemoveValues(name, values) => {
                let mut all = account.attributes.remove(*name).unwrap_or_default();
                all.retain(|value| !values.contains(value));
                set(&mut account.attributes, name, all);
            }
            Edit::First(name, value) => {
                let rest = account
                    .attributes
                    .remove(*name)
                    .unwrap_or_default()
                    .into_iter()
                    .skip(1)
                    .filter(|other| other != value);
                let all = std::iter::once(value.clone()).chain(rest).collect();
                set(&mut account.attributes, name, all);
            }
        }
    }
    if account.subject != before {
        account.attributes.insert(ids::ATTRIBUTE.to_owned(), vec![id.to_owned()]);
    }
}

/// That the edits give an account no more values of an attribute than it may have. What it has already is no fault of theirs.
pub(super) fn check_values(edits: &[Edit], account: &Account) -> Result<(), ScimError> {
    let mut after = account.clone();
    apply(edits, "", &mut after);
    let count = |account: &Account| account.attributes.get(MAIL).map_or(0, Vec::len);
    if count(&after) > VALUES_MAX.max(count(account)) { Err(too_many_values()) } else { Ok(()) }
}

fn too_many_values() -> ScimError {
    ScimError::bad("invalidValue", format!("`emails` would have more than {VALUES_MAX} values"))
}

/// The new password, where there is one.
pub(super) fn password(edits: &[Edit]) -> Option<&str> {
    edits
        .iter()
        .rev()
        .find_map(|edit| if let Edit::Password(text) = edit { Some(text.as_str()) } else { None })
}

/// The name of the user afterwards, where one is said.
pub(super) fn user_name(edits: &[Edit]) -> Option<&str> {
    edits
        .iter()
        .rev()
        .find_map(|edit| if let Edit::UserName(name) = edit { Some(name.as_str()) } else { None })
}

/// The values of an attribute of an account.
pub(super) fn of(account: &Account, name: &str) -> Vec<String> {
    account.attributes.get(name).cloned().unwrap_or_default()
}

fn set(attributes: &mut BTreeMap<String, Vec<String>>, name: &str, values: Vec<String>) {
    if values.is_empty() {
        attributes.remove(name);
    } else {
        attributes.insert(name.to_owned(), values);
    }
}
