//! As whom somebody whom a provider vouches for logs in here.
//!
//! The provider's own name for the account (`sub`) is what counts: it is kept with the user. A name or an e-mail address finds a user once
//! at most, where the settings let it, and never an administrator.

use std::sync::Arc;

use durward_session::identity::session::User;
use durward_session::identity::user::Account;
use durward_session::{AccountFailed, Administrator, Failed, Service};
use durward_settings::{UpstreamLinkBy, UpstreamSettings};

use super::mapping::Mapped;

/// The attributes in which an e-mail address of a user is.
const ADDRESSES: [&str; 2] = ["email", "mail"];

/// Why there is no such user.
#[derive(Clone, Debug, PartialEq)]
pub enum NotLinked {
    /// Nobody here is linked to the account.
    Unknown,
    /// Somebody here has the name, and is not linked to the account.
    Taken,
    /// It cannot be found out, or written down.
    Failed(AccountFailed),
}

impl From<AccountFailed> for NotLinked {
    fn from(failed: AccountFailed) -> NotLinked {
        if failed == AccountFailed::Exists {
            NotLinked::Taken
        } else if matches!(failed, AccountFailed::Name(_) | AccountFailed::NoUser) {
            // It can be no user's name, so it is nobody's.
            NotLinked::Unknown
        } else {
            NotLinked::Failed(failed)
        }
    }
}

impl From<Failed> for NotLinked {
    fn from(failed: Failed) -> NotLinked {
        NotLinked::Failed(failed.into())
    }
}

/// The user who is meant, changed to what the provider says, linked or created where the settings let it.
///
/// # Errors
/// See [`NotLinked`].
pub async fn user(
    service: &Service,
    settings: &UpstreamSettings,
    mapped: &Mapped,
) -> Result<User, NotLinked> {
    let by = Administrator::program(&format!("upstream:{}", settings.id), &settings.realm);
    let linking =
        Linking { service, settings: Arc::new(settings.clone()), mapped: Arc::new(mapped.clone()), by };
    let linked = match linking.linked().await {
        Err(NotLinked::Failed(AccountFailed::NotKept)) => return linking.named_elsewhere().await,
        linked => linked?,
    };
    match linked {
        Some(account) => linking.refresh(account).await,
        None => linking.begin().await,
    }
}

struct Linking<'l> {
    service: &'l Service,
    settings: Arc<UpstreamSettings>,
    mapped: Arc<Mapped>,
    by: Administrator,
}

impl Linking<'_> {
    /// The name that the provider says.
    fn name(&self) -> Option<User> {
        let name = self.mapped.name.as_deref().filter(|name| !name.contains(char::is_control))?;
        User::new(&self.settings.realm, name).ok()
    }

    /// Those of the realm who are meant, where there are not too many of them.
    async fn select(
        &self,
        is_meant: impl Fn(&Account) -> bool + Send + 'static,
    ) -> Result<Option<Account>, NotLinked> {
        let page = self.service.accounts().list(&self.by, &self.settings.realm, (0, 2), is_meant).await?;
        match page.accounts.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            _ => Err(NotLinked::Taken),
        }
    }

    async fn linked(&self) -> Result<Option<Account>, NotLinked> {
        let link = self.mapped.link.clone();
        self.select(move |account| account.is_linked(&link)).await
    }

    /// Users of a directory that is not changed here are known by their name alone: nothing can be kept with them.
    async fn named_elsewhere(&self) -> Result<User, NotLinked> {
        let name = self.name().ok_or(NotLinked::Unknown)?;
        let account = self.service.account(&name).await?.ok_or(NotLinked::Unknown)?;
        if self.is_administrator(&account) {
            return Err(NotLinked::Taken);
        }
        account.user().map_err(|error| AccountFailed::Name(error).into())
    }

    fn is_administrator(&self, account: &Account) -> bool {
        account.groups.contains(&self.service.settings().administrators_group)
    }

    /// Nobody is linked to the account yet.
    async fn begin(&self) -> Result<User, NotLinked> {
        let found = match self.settings.link_by {
            UpstreamLinkBy::Subject => None,
            UpstreamLinkBy::UserName => match self.name() {
                Some(name) => self.service.account(&name).await?,
                None => None,
            },
            UpstreamLinkBy::EmailVerified => match self.mapped.email.clone() {
                Some(email) => self.select(move |account| has_address(account, &email)).await?,
                None => None,
            },
        };
        match found {
            Some(account) => self.link(&account).await,
            None if self.settings.create => self.create().await,
            None => match self.name() {
                Some(name) if self.service.account(&name).await?.is_some() => Err(NotLinked::Taken),
                Some(_) | None => Err(NotLinked::Unknown),
            },
        }
    }

    /// Links a user who was found by their name or address, and has no other account at the provider.
    async fn link(&self, found: &Account) -> Result<User, NotLinked> {
        let administrators = self.service.settings().administrators_group.clone();
        let issuer = self.mapped.link.issuer.clone();
        let is_free = move |account: &Account| {
            account.links.iter().all(|link| link.issuer != issuer)
                && !account.groups.contains(&administrators)
        };
        if !is_free(found) {
            return Err(NotLinked::Taken);
        }
        let (settings, mapped) = (Arc::clone(&self.settings), Arc::clone(&self.mapped));
        let change = move |account: &mut Account| {
            account.links.push(mapped.link.clone());
            take_over(account, &settings, &mapped);
        };
        let user = found.user().map_err(AccountFailed::Name)?;
        let accounts = self.service.accounts();
        let changed = accounts.change_if(&self.by, &user, None, is_free, |_| false, change).await;
        match changed {
            Ok(_) => Ok(user),
            // Somebody linked or changed them in this moment.
            Err(AccountFailed::NoUser) => Err(NotLinked::Taken),
            Err(other) => Err(other.into()),
        }
    }

    /// Creates a user, whom nobody is like: names that differ in case alone would be taken for each other.
    async fn create(&self) -> Result<User, NotLinked> {
        let user = self.name().ok_or(NotLinked::Unknown)?;
        let mut account = Account::new(&user);
        account.links.push(self.mapped.link.clone());
        take_over(&mut account, &self.settings, &self.mapped);
        let (folded, link) = (user.subject().to_lowercase(), self.mapped.link.clone());
        let is_like = move |other: &Account| other.subject.to_lowercase() == folded || other.is_linked(&link);
        match self.service.accounts().add(&self.by, account, None, is_like).await {
            Ok(_) => Ok(user),
            // Two browsers of one new user: the other one was quicker.
            Err(AccountFailed::Exists) => {
                let linked = self.linked().await?.ok_or(NotLinked::Taken)?;
                linked.user().map_err(|error| AccountFailed::Name(error).into())
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Changes a user to what the provider says today.
    async fn refresh(&self, account: Account) -> Result<User, NotLinked> {
        let user = account.user().map_err(AccountFailed::Name)?;
        let mut after = account.clone();
        take_over(&mut after, &self.settings, &self.mapped);
        // Who may not log in is told so, and nothing else happens.
        if after == account || account.disabled {
            return Ok(user);
        }
        let (settings, mapped) = (Arc::clone(&self.settings), Arc::clone(&self.mapped));
        let link = mapped.link.clone();
        let is_meant = move |account: &Account| account.is_linked(&link);
        let change = move |account: &mut Account| take_over(account, &settings, &mapped);
        self.service.accounts().change_if(&self.by, &user, None, is_meant, |_| false, change).await?;
        Ok(user)
    }
}

/// Puts what the provider settles into an account. Groups that its table does not name stay as they are.
fn take_over(account: &mut Account, settings: &UpstreamSettings, mapped: &Mapped) {
    let is_settled = |group: &String| settings.groups.values().any(|own| own == group);
    account.groups.retain(|group| !is_settled(group) || mapped.groups.contains(group));
    for group in &mapped.groups {
        if !account.groups.contains(group) {
            account.groups.push(group.clone());
        }
    }
    for attribute in settings.attributes.keys() {
        match mapped.attributes.get(attribute) {
            Some(values) => drop(account.attributes.insert(attribute.clone(), values.clone())),
            None => drop(account.attributes.remove(attribute)),
        }
    }
}

fn has_address(account: &Account, email: &str) -> bool {
    let mut addresses = ADDRESSES.iter().filter_map(|name| account.attributes.get(*name)).flatten();
    addresses.any(|address| address.eq_ignore_ascii_case(email))
}
