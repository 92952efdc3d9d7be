//! Users, for administrators: listed, created, read, changed, removed.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use durward_common::base::parameters::{ParameterNames, Parameters};
use durward_common::surfaces::http::problem::Problem;
use durward_session::AccountFailed;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, AccountLink};
use durward_wire::percent::{Stray, decoded, segment_encoded};
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use serde::{Deserialize, Serialize};

use super::admin::administrator;
use super::sessions::Done;
use super::{Answered, ApiRequest, failed, json, ok, refused, user};

/// What the path of a user begins with.
pub(super) const PATH: &str = "/v1/users/";

/// How many users a page has where nothing is said.
const PAGE: usize = 100;

/// The most users of a page: some hundred kilobytes.
const PAGE_MAX: usize = 1000;

/// The longest name of a group or an attribute, in bytes.
const NAME_LENGTH_MAX: usize = 255;

/// A user, as administrators see them.
#[derive(Serialize)]
struct UserView<'u> {
    user: &'u str,
    realm: &'u str,
    disabled: bool,
    has_password: bool,
    second_step: bool,
    /// How many there are.
    #[serde(skip_serializing_if = "is_zero")]
    passkeys: usize,
    must_change_password: bool,
    groups: &'u [String],
    attributes: &'u BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "<[AccountLink]>::is_empty")]
    links: &'u [AccountLink],
}

impl<'u> From<&'u Account> for UserView<'u> {
    fn from(account: &'u Account) -> UserView<'u> {
        UserView {
            user: &account.subject,
            realm: &account.realm,
            disabled: account.disabled,
            has_password: account.password.is_some(),
            second_step: account.second_step.is_some(),
            passkeys: account.passkeys.len(),
            must_change_password: account.must_change_password,
            groups: &account.groups,
            attributes: &account.attributes,
            links: &account.links,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Serialize)]
struct UserList<'l> {
    users: Vec<UserView<'l>>,
    /// Where the next page begins; nothing on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    user: String,
    #[serde(default = "super::root")]
    realm: String,
    #[serde(default)]
    password: Option<String>,
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    must_change_password: bool,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    attributes: BTreeMap<String, Vec<String>>,
    /// Accounts at other providers that log in as the user.
    #[serde(default)]
    links: Vec<AccountLink>,
}

/// What changes; what is not said stays as it is.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UserChanges {
    /// Another name.
    user: Option<String>,
    password: Option<String>,
    disabled: Option<bool>,
    /// Whether they must choose another password when they log in next.
    must_change_password: Option<bool>,
    /// Instead of all groups that there were.
    groups: Option<Vec<String>>,
    add_groups: Vec<String>,
    remove_groups: Vec<String>,
    /// Each name with the values that it has from now on; `null` removes it.
    attributes: BTreeMap<String, Option<Vec<String>>>,
    /// Instead of all links that there were.
    links: Option<Vec<AccountLink>>,
    /// `false` removes it. Users enrol devices themselves.
    second_step: Option<bool>,
}

pub(super) async fn list(request: &ApiRequest<'_>) -> Answered {
    let query = query(request, &["realm", "limit", "cursor", "group"])?;
    let by = administrator(request).await?;
    let realm = query.given("realm").unwrap_or("/");
    let limit = match query.given("limit").map(str::parse::<usize>) {
        None => PAGE,
        Some(Ok(limit)) if (1..=PAGE_MAX).contains(&limit) => limit,
        Some(_) => return Err(bad(format!("`limit` must be a number from 1 to {PAGE_MAX}"))),
    };
    let after = query.given("cursor").map(of_cursor).transpose()?;
    let group = query.given("group").map(str::to_owned);
    let is_in_group =
        move |account: &Account| group.as_ref().is_none_or(|group| account.groups.contains(group));
    let is_after = move |account: &Account| after.as_ref().is_none_or(|after| account.subject > *after);
    let wanted = move |account: &Account| is_in_group(account) && is_after(account);
    let page = request.service.accounts().list(&by, realm, (0, limit), wanted).await;
    let page = page.map_err(|why| of_account(&why))?;
    let has_more = page.total > page.accounts.len();
    let last = page.accounts.last().filter(|_| has_more);
    let next = last.map(|account| BASE64_URL_SAFE_NO_PAD.encode(&account.subject));
    ok(&UserList { users: page.accounts.iter().map(UserView::from).collect(), next })
}

/// A cursor is the last name of the page before.
fn of_cursor(text: &str) -> Result<String, Problem> {
    let name = BASE64_URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| bad("`cursor` must be the `next` of the page before"))
}

pub(super) async fn create(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let NewUser { user: name, realm, password, disabled, must_change_password, groups, attributes, links } =
        request.read()?;
    let by = administrator(request).await?;
    let whose = user(&realm, &name)?;
    check_names("group", groups.iter())?;
    check_names("attribute", attributes.keys())?;
    check_links(&links)?;
    let groups = once_each(groups);
    let has_same = {
        let links = links.clone();
        move |other: &Account| links.iter().any(|link| other.is_linked(link))
    };
    let account =
        Account { disabled, must_change_password, groups, attributes, links, ..Account::new(&whose) };
    let added = request.service.accounts().add(&by, account, password.as_deref(), has_same).await;
    let account = added.map_err(|why| of_account(&why))?;
    let mut answer = json(StatusCode::CREATED, &UserView::from(&account));
    if let Ok(location) = HeaderValue::try_from(location(&whose)) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    Ok(answer)
}

fn location(user: &User) -> String {
    let mut path = PATH.to_owned();
    segment_encoded(user.subject(), &mut path);
    if user.realm() != "/" {
        path.push_str("?realm=");
        segment_encoded(user.realm(), &mut path);
    }
    path
}

pub(super) async fn read(request: &ApiRequest<'_>) -> Answered {
    let whose = named(request)?;
    let by = administrator(request).await?;
    let found = request.service.accounts().find(&by, &whose).await;
    ok(&UserView::from(&found.map_err(|why| of_account(&why))?))
}

pub(super) async fn change(request: &ApiRequest<'_>) -> Answered {
    let whose = named(request)?;
    let changes: UserChanges = request.read()?;
    let by = administrator(request).await?;
    if let Some(name) = &changes.user {
        user(whose.realm(), name)?;
    }
    let groups = changes.groups.iter().flatten().chain(&changes.add_groups).chain(&changes.remove_groups);
    check_names("group", groups)?;
    check_names("attribute", changes.attributes.keys())?;
    check_links(changes.links.as_deref().unwrap_or_default())?;
    if changes.second_step == Some(true) {
        return Err(bad(
            "`second_step` can only be removed, by `false`: users enrol their devices themselves",
        ));
    }
    let password = changes.password.clone();
    let change = move |account: &mut Account| changes.apply(account);
    let changed = request.service.accounts().change(&by, &whose, password.as_deref(), change).await;
    ok(&UserView::from(&changed.map_err(|why| of_account(&why))?))
}

impl UserChanges {
    fn apply(&self, account: &mut Account) {
        if let Some(name) = &self.user {
            account.subject.clone_from(name);
        }
        account.disabled = self.disabled.unwrap_or(account.disabled);
        account.must_change_password = self.must_change_password.unwrap_or(account.must_change_password);
        let groups = self.groups.clone().unwrap_or_else(|| std::mem::take(&mut account.groups));
        let groups = groups.into_iter().chain(self.add_groups.iter().cloned());
        account.groups = once_each(groups.filter(|group| !self.remove_groups.contains(group)));
        for (name, values) in &self.attributes {
            match values {
                Some(values) => drop(account.attributes.insert(name.clone(), values.clone())),
                None => drop(account.attributes.remove(name)),
            }
        }
        if let Some(links) = &self.links {
            account.links.clone_from(links);
        }
        if self.second_step == Some(false) {
            account.second_step = None;
        }
    }
}

pub(super) async fn remove(request: &ApiRequest<'_>) -> Answered {
    let whose = named(request)?;
    let by = administrator(request).await?;
    request.service.accounts().remove(&by, &whose).await.map_err(|why| of_account(&why))?;
    ok(&Done { done: true })
}

/// The user of the path, and of the realm in the query.
fn named(request: &ApiRequest<'_>) -> Result<User, Problem> {
    named_before(request, "")
}

/// The same, where something follows the name in the path.
pub(super) fn named_before(request: &ApiRequest<'_>, end: &str) -> Result<User, Problem> {
    let query = query(request, &["realm"])?;
    let name =
        request.uri.path().strip_prefix(PATH).and_then(|name| name.strip_suffix(end)).unwrap_or_default();
    let name = decoded(name.as_bytes(), Stray::Refused).and_then(|bytes| String::from_utf8(bytes).ok());
    let name = name.ok_or_else(|| bad("the name in the path is not encoded as paths are"))?;
    user(query.given("realm").unwrap_or("/"), &name)
}

/// Where a query says nothing, what is in it was meant for something else.
pub(super) fn no_parameters(request: &ApiRequest<'_>) -> Result<(), Problem> {
    query(request, &[]).map(drop)
}

fn query(request: &ApiRequest<'_>, known: &[&str]) -> Result<Parameters, Problem> {
    let query = Parameters::of_query(request.uri.query().unwrap_or_default(), ParameterNames::Exact);
    let query = query.map_err(|error| bad(error.to_string()))?;
    match (query.unknown(known), known) {
        (None, _) => Ok(query),
        (Some(name), []) => Err(bad(format!("unknown parameter `{name}`; this path takes none"))),
        (Some(name), known) => {
            Err(bad(format!("unknown parameter `{name}`; there are `{}`", known.join("`, `"))))
        }
    }
}

fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail)
}

fn check_names<'n>(what: &str, mut names: impl Iterator<Item = &'n String>) -> Result<(), Problem> {
    let is_none = |name: &&String| !(1..=NAME_LENGTH_MAX).contains(&name.len()) || name.contains('\0');
    match names.find(is_none) {
        None => Ok(()),
        Some(_) => Err(bad(format!(
            "the name of a {what} is empty, longer than {NAME_LENGTH_MAX} bytes or has a zero byte"
        ))),
    }
}

/// An issuer's address, and what it calls the account.
fn check_links(links: &[AccountLink]) -> Result<(), Problem> {
    let is_none = |text: &str| !(1..=NAME_LENGTH_MAX).contains(&text.len()) || text.contains('\0');
    if links.iter().any(|link| is_none(&link.issuer) || is_none(&link.subject)) {
        return Err(bad(format!(
            "an `issuer` or a `subject` in `links` is empty, longer than {NAME_LENGTH_MAX} bytes or has a zero byte"
        )));
    }
    let is_twice = |(at, link): (usize, &AccountLink)| links.iter().skip(at + 1).any(|other| other == link);
    if links.iter().enumerate().any(is_twice) {
        return Err(bad("an account is there twice in `links`"));
    }
    Ok(())
}

/// In their order, each once.
fn once_each(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(name.clone())).collect()
}

/// Why something with an account came to nothing.
pub(super) fn of_account(why: &AccountFailed) -> Problem {
    let status = match why {
        AccountFailed::Failed(why) => return failed(why),
        // The token was right: it is not for the client to log in again.
        AccountFailed::Refused(durward_session::Refused::Wrong) | AccountFailed::CodeNeeded => {
            StatusCode::FORBIDDEN
        }
        AccountFailed::Refused(why) => return refused(why),
        AccountFailed::Contended => return Problem::unavailable(why.to_string()),
        AccountFailed::NoUser => StatusCode::NOT_FOUND,
        AccountFailed::NotKept
        | AccountFailed::LinkOver
        | AccountFailed::Exists
        | AccountFailed::HasSecondStep
        | AccountFailed::NoSecondStep => StatusCode::CONFLICT,
        AccountFailed::NoPasskey => StatusCode::NOT_FOUND,
        AccountFailed::Name(_)
        | AccountFailed::Password(_)
        | AccountFailed::Passkey(_)
        | AccountFailed::Unchanged
        | AccountFailed::NotTaken(_)
        | AccountFailed::NoEnrolment => StatusCode::BAD_REQUEST,
    };
    Problem::new(status, why.to_string())
}
