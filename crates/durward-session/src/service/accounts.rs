//! Users as administrators list and change them: [`Accounts`]. All changes go through [`UserWrites`], are noted in the audit, and end
//! sessions as those of `durward users` do.

use std::collections::BTreeSet;
use std::sync::Arc;

use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::protocol::Lack;
use durward_identity::session::User;
use durward_identity::user::{Account, AccountSwap, Password, StoredPassword, UserWrites};
use durward_identity::{IdentityError, Moment};

use super::Service;
use super::follow::stands;
use crate::directory::UserDirectory;
use crate::outcome::{AccountFailed, Administrator, Failed};

/// How often a change is tried anew when somebody else was quicker.
const TRIES: usize = 16;

/// The users of realms whose directory is kept here, for administrators and for the users themselves.
#[derive(Clone, Debug)]
pub struct Accounts(pub(super) Service);

/// Some of the users that were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountPage {
    /// How many there are in all.
    pub total: usize,
    /// Those of the page, by name.
    pub accounts: Vec<Account>,
}

/// The directory of a realm, and what changes its users.
pub(super) struct KeptUsers {
    pub(super) directory: Arc<dyn UserDirectory>,
    pub(super) writes: Arc<dyn UserWrites>,
}

impl KeptUsers {
    /// Whether the users themselves are kept here, and not only what belongs to users of a directory elsewhere.
    pub(super) fn is_kept_here(&self) -> bool {
        self.directory.writes().is_some()
    }
}

/// What is planned with the users as they are.
type Planned = Result<Vec<AccountSwap>, AccountFailed>;

impl Service {
    /// The users, to be listed and changed.
    pub fn accounts(&self) -> Accounts {
        Accounts(self.clone())
    }
}

impl Accounts {
    /// The users of a realm that are wanted, without the first `skip` of them, and at most `max`.
    ///
    /// # Errors
    /// Another realm's administrator asks, or the realm's users are not kept here.
    pub async fn list(
        &self,
        by: &Administrator,
        realm: &str,
        (skip, max): (usize, usize),
        is_wanted: impl Fn(&Account) -> bool + Send + 'static,
    ) -> Result<AccountPage, AccountFailed> {
        let KeptUsers { writes, .. } = self.kept_for(by, realm)?;
        self.0.follow_users().await;
        let realm = realm.to_owned();
        blocking(move || Ok(page(&*writes, &realm, (skip, max), is_wanted))).await
    }

    /// The names of the groups of a realm that users are in, in order.
    ///
    /// # Errors
    /// As [`Accounts::list`].
    pub async fn groups(&self, by: &Administrator, realm: &str) -> Result<BTreeSet<String>, AccountFailed> {
        let KeptUsers { writes, .. } = self.kept_for(by, realm)?;
        self.0.follow_users().await;
        let realm = realm.to_owned();
        let all = move || {
            let mut groups = BTreeSet::new();
            writes.visit(&mut |account| {
                if account.realm == realm {
                    groups.extend(account.groups.iter().cloned());
                }
            });
            Ok(groups)
        };
        blocking(all).await
    }

    /// What is known of a user.
    ///
    /// # Errors
    /// As [`Accounts::list`]; or there is no such user.
    pub async fn find(&self, by: &Administrator, user: &User) -> Result<Account, AccountFailed> {
        let KeptUsers { writes, .. } = self.kept_for(by, user.realm())?;
        self.0.follow_users().await;
        writes.find(user).ok_or(AccountFailed::NoUser)
    }

    /// Adds a user, with a password where one is given, unless somebody of the realm is like them.
    ///
    /// # Errors
    /// As [`Accounts::list`]; the user exists, or somebody who is like them; the name or the password is not taken.
    pub async fn add(
        &self,
        by: &Administrator,
        account: Account,
        password: Option<&str>,
        is_like: impl Fn(&Account) -> bool + Send + Sync + 'static,
    ) -> Result<Account, AccountFailed> {
        let user = account.user().map_err(AccountFailed::Name)?;
        let kept = self.kept_for(by, user.realm())?;
        let password = self.hashed(&kept, password).await?;
        let plan = move |users: &dyn UserWrites, now: Moment| {
            if users.find(&user).is_some()
                || any(users, |other| other.realm == user.realm() && is_like(other))
            {
                return Err(AccountFailed::Exists);
            }
            let after = Some(with_password(account.clone(), password.as_ref(), now));
            Ok(vec![AccountSwap { before: None, after }])
        };
        one(self.commit(kept, by, plan).await?)
    }

    /// Changes a user, who is given another password where there is one, and another name where the account has one afterwards.
    ///
    /// # Errors
    /// As [`Accounts::list`]; there is no such user, the new name is taken or none, or the password is not taken.
    pub async fn change(
        &self,
        by: &Administrator,
        user: &User,
        password: Option<&str>,
        change: impl Fn(&mut Account) + Send + Sync + 'static,
    ) -> Result<Account, AccountFailed> {
        self.change_if(by, user, password, |_| true, |_| false, change).await
    }

    /// The same, if the user of the name is who is meant, and no other one of the realm is like them afterwards where they have another name.
    ///
    /// # Errors
    /// As [`Accounts::change`]; somebody else has the name.
    pub async fn change_if(
        &self,
        by: &Administrator,
        user: &User,
        password: Option<&str>,
        is_meant: impl Fn(&Account) -> bool + Send + Sync + 'static,
        is_like: impl Fn(&Account) -> bool + Send + Sync + 'static,
        change: impl Fn(&mut Account) + Send + Sync + 'static,
    ) -> Result<Account, AccountFailed> {
        let kept = self.kept_for(by, user.realm())?;
        let password = self.hashed(&kept, password).await?;
        let user = user.clone();
        let plan = move |users: &dyn UserWrites, now: Moment| {
            let before = users.find(&user).filter(&is_meant).ok_or(AccountFailed::NoUser)?;
            let mut after = with_password(before.clone(), password.as_ref(), now);
            change(&mut after);
            let name = after.user().map_err(AccountFailed::Name)?;
            let is_other = |other: &Account| other.realm == user.realm() && other.subject != user.subject();
            if name != user
                && (users.find(&name).is_some() || any(users, |other| is_other(other) && is_like(other)))
            {
                return Err(AccountFailed::Exists);
            }
            Ok(vec![AccountSwap { before: Some(before), after: Some(after) }])
        };
        one(self.commit(kept, by, plan).await?)
    }

    /// Changes many users of a realm at once, all or none: `change` gives what becomes of a user who is changed. How many were.
    ///
    /// # Errors
    /// As [`Accounts::list`].
    pub async fn change_all(
        &self,
        by: &Administrator,
        realm: &str,
        change: impl Fn(&Account) -> Option<Account> + Send + Sync + 'static,
    ) -> Result<usize, AccountFailed> {
        let kept = self.kept_for(by, realm)?;
        let realm = realm.to_owned();
        let plan = move |users: &dyn UserWrites, _: Moment| {
            let mut swaps = Vec::new();
            users.visit(&mut |account| {
                if account.realm == realm
                    && let Some(after) = change(account)
                {
                    swaps.push(AccountSwap { before: Some(account.clone()), after: Some(after) });
                }
            });
            Ok(swaps)
        };
        self.commit(kept, by, plan).await.map(|swaps| swaps.len())
    }

    /// Removes a user. Their sessions are over.
    ///
    /// # Errors
    /// As [`Accounts::list`]; or there is no such user.
    pub async fn remove(&self, by: &Administrator, user: &User) -> Result<(), AccountFailed> {
        self.remove_if(by, user, |_| true).await
    }

    /// The same, if the user of the name is who is meant.
    ///
    /// # Errors
    /// As [`Accounts::remove`]; somebody else has the name.
    pub async fn remove_if(
        &self,
        by: &Administrator,
        user: &User,
        is_meant: impl Fn(&Account) -> bool + Send + Sync + 'static,
    ) -> Result<(), AccountFailed> {
        let kept = self.kept_for(by, user.realm())?;
        let user = user.clone();
        let plan = move |users: &dyn UserWrites, _: Moment| {
            let before = users.find(&user).filter(&is_meant).ok_or(AccountFailed::NoUser)?;
            Ok(vec![AccountSwap { before: Some(before), after: None }])
        };
        self.commit(kept, by, plan).await.map(drop)
    }

    fn kept_for(&self, by: &Administrator, realm: &str) -> Result<KeptUsers, AccountFailed> {
        if by.may(realm) { self.kept(realm) } else { Err(Failed::Forbidden.into()) }
    }

    /// The users of a realm, where they are kept here.
    pub(super) fn kept(&self, realm: &str) -> Result<KeptUsers, AccountFailed> {
        let directory = self.0.users(realm).ok_or(Failed::UnknownRealm)?;
        let writes = directory.writes().ok_or(AccountFailed::NotKept)?;
        Ok(KeptUsers { directory, writes })
    }

    /// The users of a realm, where their second steps and passkeys are kept here: also those of users who are kept elsewhere.
    pub(super) fn kept_steps(&self, realm: &str) -> Result<KeptUsers, AccountFailed> {
        let directory = self.0.users(realm).ok_or(Failed::UnknownRealm)?;
        let writes = directory.steps().ok_or(AccountFailed::NotKept)?;
        Ok(KeptUsers { directory, writes })
    }

    /// The hash of a new password, where there is one.
    pub(super) async fn hashed(
        &self,
        kept: &KeptUsers,
        password: Option<&str>,
    ) -> Result<Option<StoredPassword>, AccountFailed> {
        let Some(text) = password.map(str::to_owned) else { return Ok(None) };
        let directory = Arc::clone(&kept.directory);
        let hashed = self.0.parts().runtime.spawn(async move {
            let password = Password::new(&text).map_err(AccountFailed::Name)?;
            let hashed = directory.hash_new(password).await.map_err(super::failed)?;
            hashed.map_err(AccountFailed::of_password)
        });
        hashed.await.unwrap_or(Err(Failed::Unavailable(Lack::Store).into())).map(Some)
    }

    /// Makes what is planned of the users, and ends sessions for it, as one step for logins. It goes on to its end also when nobody
    /// waits for it. What was changed.
    pub(super) async fn commit(
        &self,
        kept: KeptUsers,
        by: &Administrator,
        plan: impl Fn(&dyn UserWrites, Moment) -> Planned + Send + Sync + 'static,
    ) -> Planned {
        let (service, by, plan) = (self.0.clone(), by.clone(), Arc::new(plan));
        let committed = self.0.parts().runtime.spawn(async move {
            service.follow_users().await;
            for _ in 0..TRIES {
                let nobody_begins = service.0.beginning.write().await;
                let (writes, plan, now) = (Arc::clone(&kept.writes), Arc::clone(&plan), service.now());
                if let Some(swaps) = blocking(move || swapped(&*writes, now, &*plan)).await? {
                    service.end_after(&by, &swaps).await;
                    // Logins need not wait for the disk that audit lines of many users go to.
                    drop(nobody_begins);
                    service.tell_of(&by, &swaps).await;
                    return Ok(swaps);
                }
            }
            Err(AccountFailed::Contended)
        });
        committed.await.unwrap_or(Err(Failed::Unavailable(Lack::Store).into()))
    }
}

impl Service {
    /// Ends the sessions that end by these changes.
    async fn end_after(&self, by: &Administrator, swaps: &[AccountSwap]) {
        let gone = swaps.iter().filter_map(AccountSwap::ends_sessions_of);
        for user in gone.filter_map(|account| account.user().ok()) {
            self.end_for(by, user).await;
        }
    }

    /// Who has to hear of changes hears of them: streams of decisions, and the audit.
    async fn tell_of(&self, by: &Administrator, swaps: &[AccountSwap]) {
        for swap in swaps.iter().filter(|swap| swap.changes()) {
            let named = [&swap.before, &swap.after].map(|account| account.as_ref()?.user().ok());
            let mut users: Vec<User> = named.into_iter().flatten().collect();
            users.dedup();
            for user in users {
                self.parts().listeners.tell_user(&user);
                let is_there = swap.after.as_ref().filter(|after| after.subject == user.subject());
                let event = AuditEvent::new(Kind::UserChanged).of(&user).by(&by.name);
                self.record(event.detail(&stands(is_there))).await;
            }
        }
    }
}

/// Plans and makes a change; nothing where somebody was quicker.
fn swapped(
    users: &dyn UserWrites,
    now: Moment,
    plan: &(dyn Fn(&dyn UserWrites, Moment) -> Planned + Send + Sync),
) -> Result<Option<Vec<AccountSwap>>, AccountFailed> {
    let swaps: Vec<AccountSwap> = plan(users, now)?.into_iter().map(|swap| dated(swap, now)).collect();
    let changes: Vec<AccountSwap> = swaps.iter().filter(|swap| swap.changes()).cloned().collect();
    let is_made = changes.is_empty() || users.swap(now, &changes).map_err(Failed::Directory)?;
    Ok(is_made.then_some(swaps))
}

/// Another device of the second step or passkey, one more or one less ends sessions as another password does: whoever has one that began before
/// must not keep it.
fn dated(mut swap: AccountSwap, now: Moment) -> AccountSwap {
    if let AccountSwap { before: Some(before), after: Some(after) } = &mut swap
        && !before.has_same_steps(after)
    {
        after.end_sessions(now);
    }
    swap
}

/// The user that a change of one is about.
fn one(swaps: Vec<AccountSwap>) -> Result<Account, AccountFailed> {
    swaps.into_iter().find_map(|swap| swap.after).ok_or(AccountFailed::NoUser)
}

fn with_password(mut account: Account, password: Option<&StoredPassword>, now: Moment) -> Account {
    if let Some(password) = password {
        account.set_password(password.clone(), now);
    }
    account
}

pub(super) fn any(users: &dyn UserWrites, is_it: impl Fn(&Account) -> bool) -> bool {
    let mut is_found = false;
    users.visit(&mut |account| is_found = is_found || is_it(account));
    is_found
}

/// Names first, then the accounts of one page: a large directory is not copied for it.
fn page(
    users: &dyn UserWrites,
    realm: &str,
    (skip, max): (usize, usize),
    is_wanted: impl Fn(&Account) -> bool,
) -> AccountPage {
    let mut names: Vec<String> = Vec::new();
    users.visit(&mut |account| {
        if account.realm == realm && is_wanted(account) {
            names.push(account.subject.clone());
        }
    });
    names.sort_unstable();
    let total = names.len();
    let names = names.into_iter().skip(skip).take(max);
    let accounts =
        names.filter_map(|name| User::new(realm, &name).ok()).filter_map(|user| users.find(&user)).collect();
    AccountPage { total, accounts }
}

/// Does what may wait for a disk or go through all users.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AccountFailed> + Send + 'static,
) -> Result<T, AccountFailed> {
    let failed = |error: tokio::task::JoinError| {
        AccountFailed::from(Failed::Directory(IdentityError::new(format!("changing users failed: {error}"))))
    };
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}
