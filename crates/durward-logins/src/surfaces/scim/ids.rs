//! What names a user over SCIM: an id that stays the same when the user is renamed.
//!
//! A user who was created over SCIM has a random one, among the attributes. Of others it is made of the name; it is written down when they
//! are renamed over SCIM. Should somebody else have that one by then, a second one is made of the name.

use std::collections::BTreeSet;

use durward_session::identity::session::User;
use durward_session::identity::user::Account;
use durward_session::identity::{Entropy as _, SystemEntropy, hex};
use durward_session::{AccountPage, Failed};
use sha2::{Digest as _, Sha256};

use super::ScimRequest;
use super::error::ScimError;

/// The attribute that keeps an id.
pub(super) const ATTRIBUTE: &str = "scimId";

/// Which of the ids that are made of a name.
#[derive(Clone, Copy)]
enum Made {
    First,
    Second,
}

/// A new id.
pub(super) fn new() -> Result<String, ScimError> {
    let mut bytes = [0; 16];
    SystemEntropy
        .fill(&mut bytes)
        .map_err(|error| ScimError::from(durward_session::AccountFailed::from(Failed::Directory(error))))?;
    Ok(hex(&bytes))
}

fn kept(account: &Account) -> Option<&String> {
    account.attributes.get(ATTRIBUTE)?.first()
}

fn made(account: &Account, which: Made) -> String {
    let which = match which {
        Made::First => "1",
        Made::Second => "2",
    };
    let said = format!("durward 1 scim id\0{}\0{}\0{which}", account.realm, account.subject);
    let digest = Sha256::digest(said.as_bytes());
    hex(digest.get(..16).unwrap_or_default())
}

/// The ids of these users, in their order.
pub(super) async fn of(request: &ScimRequest<'_>, accounts: &[Account]) -> Result<Vec<String>, ScimError> {
    let first: BTreeSet<String> = accounts
        .iter()
        .filter(|account| kept(account).is_none())
        .map(|account| made(account, Made::First))
        .collect();
    let taken = if first.is_empty() {
        Vec::new()
    } else {
        select(request, move |account| kept(account).is_some_and(|id| first.contains(id))).await?
    };
    let taken: BTreeSet<&String> = taken.iter().filter_map(kept).collect();
    let is_taken = |id: &String| taken.contains(id);
    let id = |account: &Account| {
        let first = || Some(made(account, Made::First)).filter(|id| !is_taken(id));
        kept(account).cloned().or_else(first).unwrap_or_else(|| made(account, Made::Second))
    };
    Ok(accounts.iter().map(id).collect())
}

/// The users of these ids, each with the id; those that nobody has are left out.
pub(super) async fn found(
    request: &ScimRequest<'_>,
    ids: &BTreeSet<String>,
) -> Result<Vec<(String, Account)>, ScimError> {
    let wanted = ids.clone();
    let with_kept = move |account: &Account| kept(account).is_some_and(|id| wanted.contains(id));
    let mut candidates = select(request, with_kept).await?;
    if candidates.len() < ids.len() {
        let wanted = ids.clone();
        let is_made = move |account: &Account| {
            kept(account).is_none()
                && [Made::First, Made::Second].iter().any(|which| wanted.contains(&made(account, *which)))
        };
        candidates.extend(select(request, is_made).await?);
    }
    let of_candidates = of(request, &candidates).await?;
    let pairs = of_candidates.into_iter().zip(candidates);
    Ok(pairs.filter(|(id, _)| ids.contains(id)).collect())
}

/// The user of an id.
pub(super) async fn find(request: &ScimRequest<'_>, id: &str) -> Result<Account, ScimError> {
    let found = found(request, &BTreeSet::from([id.to_owned()])).await?;
    let account = found.into_iter().next().map(|(_, account)| account);
    account.ok_or_else(|| ScimError::not_found(id))
}

/// Whether an account of the same name is still of the user who was found: not of somebody who was given the name meanwhile.
pub(super) fn same(found: &Account) -> impl Fn(&Account) -> bool + Send + Sync + use<> {
    let id = kept(found).cloned();
    move |account| kept(account) == id.as_ref()
}

/// The name of a user who was found.
pub(super) fn user(account: &Account) -> Result<User, ScimError> {
    account.user().map_err(|error| ScimError::bad("invalidValue", error.to_string()))
}

/// All users of the realm that are wanted.
pub(super) async fn select(
    request: &ScimRequest<'_>,
    is_wanted: impl Fn(&Account) -> bool + Send + 'static,
) -> Result<Vec<Account>, ScimError> {
    let accounts = request.service.accounts();
    let page = accounts.list(&request.by, request.realm(), (0, usize::MAX), is_wanted).await;
    page.map(|AccountPage { accounts, .. }| accounts).map_err(ScimError::from)
}
