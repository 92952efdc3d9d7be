//! `/Users`: accounts as resources.

use std::collections::BTreeSet;

use durward_session::identity::session::User;
use durward_session::identity::user::Account;
use durward_wire::percent::segment_encoded;
use hyper::Method;
use serde_json::{Map, Value, json};

use super::edits::{self, Edit, MAIL, TEXTS, of};
use super::error::ScimError;
use super::filter::{self, Clause};
use super::{Answered, BASE, ScimRequest, created, groups, ids, list, no_content, ok, patch};

pub(super) const SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:User";

/// Finds users, or creates one.
pub(super) async fn all(request: &ScimRequest<'_>) -> Answered {
    if request.method == Method::POST { create(request).await } else { find(request).await }
}

/// Returns, replaces, changes or removes the user of an id.
pub(super) async fn one(request: &ScimRequest<'_>) -> Answered {
    let account = ids::find(request, &request.id).await?;
    let edits = match request.method {
        Method::PUT => edits::of_resource(&request.object()?)?,
        Method::PATCH => patch::edits(&patch::operations(&request.object()?)?)?,
        Method::DELETE => {
            let (user, is_meant) = (ids::user(&account)?, ids::same(&account));
            request.service.accounts().remove_if(&request.by, &user, is_meant).await?;
            return Ok(no_content());
        }
        _ => return ok(&request.narrowed(resource(&account, &request.id))),
    };
    let changed = change(request, &account, edits).await?;
    ok(&request.narrowed(resource(&changed, &request.id)))
}

async fn find(request: &ScimRequest<'_>) -> Answered {
    let clauses = request.query.given("filter").map(filter::read).transpose()?.unwrap_or_default();
    let (skip, count) = request.window()?;
    let accounts = request.service.accounts();
    let (total, found) = if let Some(id) = clauses.iter().find(|clause| clause.name == "id") {
        // It is not kept with each account.
        let found = ids::found(request, &BTreeSet::from([id.value.clone()])).await?;
        let mut found: Vec<Account> = found.into_iter().map(|(_, account)| account).collect();
        let wanted = wanted(&clauses)?;
        found.retain(|account| wanted(account));
        (found.len(), found.into_iter().skip(skip).take(count).collect())
    } else {
        let page = accounts.list(&request.by, request.realm(), (skip, count), wanted(&clauses)?).await?;
        (page.total, page.accounts)
    };
    let ids = ids::of(request, &found).await?;
    let resources = found.iter().zip(&ids).map(|(account, id)| request.narrowed(resource(account, id)));
    ok(&list(total, skip, resources.collect()))
}

/// Whether an account is what all clauses want.
fn wanted(clauses: &[Clause]) -> Result<impl Fn(&Account) -> bool + Send + use<>, ScimError> {
    for Clause { name, .. } in clauses {
        let is_known = matches!(
            name.as_str(),
            "id" | "username" | "active" | "emails" | "emails.value" | "groups" | "groups.value"
        );
        if !is_known && !TEXTS.iter().any(|(text, _)| text == name) {
            return Err(ScimError::bad("invalidFilter", format!("users cannot be found by `{name}`")));
        }
    }
    let clauses = clauses.to_vec();
    Ok(move |account: &Account| clauses.iter().all(|clause| meets(account, clause)))
}

/// Names and addresses are compared without case, what another system calls somebody as it is (RFC 7643, 8.7.1).
fn meets(account: &Account, Clause { name, value }: &Clause) -> bool {
    let is_same = |other: &String| is_same_name(other, value);
    match name.as_str() {
        "id" => true,
        "username" => is_same(&account.subject),
        "active" => value.eq_ignore_ascii_case(if account.disabled { "false" } else { "true" }),
        "emails" | "emails.value" => of(account, MAIL).iter().any(is_same),
        "groups" | "groups.value" => {
            groups::name_of(value).is_some_and(|group| account.groups.contains(&group))
        }
        "externalid" => of(account, "externalId").contains(value),
        other => {
            let attribute = TEXTS.iter().find(|(text, _)| *text == other);
            attribute.is_some_and(|(_, attribute)| of(account, attribute).iter().any(is_same))
        }
    }
}

fn is_same_name(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

async fn create(request: &ScimRequest<'_>) -> Answered {
    let edits = edits::of_resource(&request.object()?)?;
    let name = edits::user_name(&edits).unwrap_or_default().to_owned();
    let user = User::new(request.realm(), &name)
        .map_err(|error| ScimError::bad("invalidValue", error.to_string()))?;
    let (mut account, id) = (Account::new(&user), ids::new()?);
    edits::check_values(&edits, &account)?;
    edits::apply(&edits, &id, &mut account);
    account.attributes.insert(ids::ATTRIBUTE.to_owned(), vec![id.clone()]);
    let is_like = move |other: &Account| is_same_name(&other.subject, &name);
    let password = edits::password(&edits);
    let added = request.service.accounts().add(&request.by, account, password, is_like).await?;
    Ok(created(&request.narrowed(resource(&added, &id))))
}

/// Makes the edits, unless they would give the user the name of somebody else, in whatever case.
async fn change(
    request: &ScimRequest<'_>,
    account: &Account,
    edits: Vec<Edit>,
) -> Result<Account, ScimError> {
    edits::check_values(&edits, account)?;
    let name = edits::user_name(&edits).map(str::to_owned);
    let is_like =
        move |other: &Account| name.as_deref().is_some_and(|name| is_same_name(&other.subject, name));
    let (user, id) = (ids::user(account)?, request.id.clone());
    let password = edits::password(&edits).map(str::to_owned);
    let apply = move |account: &mut Account| edits::apply(&edits, &id, account);
    let (accounts, is_meant) = (request.service.accounts(), ids::same(account));
    Ok(accounts.change_if(&request.by, &user, password.as_deref(), is_meant, is_like, apply).await?)
}

/// Where the user of an id is.
pub(super) fn location(id: &str) -> String {
    let mut path = format!("{BASE}/Users/");
    segment_encoded(id, &mut path);
    path
}

/// A user as SCIM has them.
fn resource(account: &Account, id: &str) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    let first = |name: &str| of(account, name).into_iter().next();
    put("schemas", json!([SCHEMA]));
    put("id", id.into());
    if let Some(external) = first("externalId") {
        put("externalId", external.into());
    }
    put("userName", account.subject.as_str().into());
    let names = [("formatted", "cn"), ("familyName", "sn"), ("givenName", "givenName")];
    let name: Map<String, Value> = names
        .iter()
        .filter_map(|(name, attribute)| Some(((*name).to_owned(), first(attribute)?.into())))
        .collect();
    if !name.is_empty() {
        put("name", name.into());
    }
    if let Some(display) = first("displayName") {
        put("displayName", display.into());
    }
    let mail = of(account, MAIL);
    if !mail.is_empty() {
        let mail = mail.iter().enumerate();
        let mail = mail.map(|(at, mail)| json!({ "value": mail, "type": "work", "primary": at == 0 }));
        put("emails", mail.collect());
    }
    put("active", (!account.disabled).into());
    if !account.groups.is_empty() {
        let groups = account.groups.iter().map(|name| {
            let id = groups::id_of(name);
            json!({ "value": id, "$ref": groups::location(&id), "display": name, "type": "direct" })
        });
        put("groups", groups.collect());
    }
    put("meta", json!({ "resourceType": "User", "location": location(id) }));
    members.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case() {
        assert!(
            is_same_name("Anna", "aNNA") && is_same_name("ÄRGER", "ärger") && !is_same_name("anna", "anne")
        );
    }

    #[test]
    fn a_bare_account_is_a_small_resource() {
        let account = Account::new(&User::new("/", "anna").unwrap());
        let text = resource(&account, "7").to_string();
        assert_eq!(
            text,
            "{\"schemas\":[\"urn:ietf:params:scim:schemas:core:2.0:User\"],\"id\":\"7\",\"userName\":\"anna\",\"active\":true,\
             \"meta\":{\"resourceType\":\"User\",\"location\":\"/scim/v2/Users/7\"}}"
        );
    }
}
