//! Another password by a link, for users who have forgotten theirs. What hands the link to the user is a surface's affair; see
//! [`crate::ResetLinks`] for what it is.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::login::CredentialKind;
use durward_identity::session::User;
use durward_identity::user::{Account, AccountSwap, StoredPassword, UserWrites};
use tokio::sync::oneshot;

use super::Service;
use super::accounts::{Accounts, KeptUsers};
use super::devices::LoginDevice;
use super::own_account::{AccountHolder, Secret, is_as_proved};
use crate::counters::Counter;
use crate::outcome::{AccountFailed, Administrator, Failed};
use crate::reset::{OpenedLink, ResetLink};

/// Who chooses a password by a link, for the audit.
const BY: &str = "a link";

/// What is asked of whoever has a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetForm {
    /// Whose password it is.
    pub user: User,
    /// Whether a code of the second step must be given.
    pub needs_code: bool,
}

/// A new password, by a link.
#[derive(Clone)]
pub struct ResetAnswer {
    /// The link's text: [`ResetLink::token`].
    pub token: String,
    /// The new password.
    pub password: String,
    /// The code of the second step, where the user has one.
    pub code: Option<String>,
    /// From where.
    pub address: IpAddr,
}

/// Without the link, the password and the code.
impl fmt::Debug for ResetAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResetAnswer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Accounts {
    /// A link by which a user chooses a password, made by an administrator.
    ///
    /// # Errors
    /// Another realm's administrator asks, the realm's users are not kept here, or there is no such user, or none who may log in.
    pub async fn reset_link(
        &self,
        by: &Administrator,
        user: &User,
        lifetime: Duration,
    ) -> Result<ResetLink, AccountFailed> {
        if !by.may(user.realm()) {
            return Err(Failed::Forbidden.into());
        }
        let (account, _) = self.linked(user).await?;
        let link = self.make_link(&account, lifetime)?;
        let event = AuditEvent::new(Kind::UserChanged).of(user).by(&by.name);
        self.0.record(event.detail("a link to choose a password was made")).await;
        Ok(link)
    }

    /// A link for somebody who said that they are this user, and what is known of the user: for the hook that hands it over, and not for
    /// whoever asked.
    ///
    /// # Errors
    /// There is nobody who could use it: no such user, a disabled one, one without a password, or one who is kept elsewhere.
    pub async fn asked_link(
        &self,
        user: &User,
        lifetime: Duration,
    ) -> Result<(Account, ResetLink), AccountFailed> {
        let (account, _) = self.linked(user).await?;
        if account.password.is_none() {
            return Err(AccountFailed::NoUser);
        }
        let link = self.make_link(&account, lifetime)?;
        Ok((account, link))
    }

    fn make_link(&self, account: &Account, lifetime: Duration) -> Result<ResetLink, AccountFailed> {
        let now = self.0.now();
        let link = self.0.0.reset_links.make(account, now, now.plus(lifetime));
        link.map_err(|error| Failed::Directory(error).into())
    }

    /// The account of somebody who may log in.
    async fn linked(&self, user: &User) -> Result<(Account, KeptUsers), AccountFailed> {
        let kept = self.kept(user.realm())?;
        self.0.follow_users().await;
        let account = kept.writes.find(user).filter(|account| !account.disabled);
        let account = account.ok_or(AccountFailed::NoUser)?;
        // A mailbox alone is not enough, and a link asks for codes only: who has passkeys alone is helped by an administrator.
        if account.second_step.is_none() && account.has_second_step() {
            return Err(AccountFailed::CodeNeeded);
        }
        Ok((account, kept))
    }

    /// The account that a link is for, while the link is good.
    async fn of_link(&self, token: &str) -> Result<(Account, KeptUsers, OpenedLink), AccountFailed> {
        let opened = self.0.0.reset_links.open(token, self.0.now()).ok_or(AccountFailed::LinkOver)?;
        let (account, kept) = match self.linked(&opened.user).await {
            Ok(found) => found,
            Err(
                AccountFailed::NoUser
                | AccountFailed::CodeNeeded
                | AccountFailed::NotKept
                | AccountFailed::Failed(Failed::UnknownRealm),
            ) => {
                return Err(AccountFailed::LinkOver);
            }
            Err(other) => return Err(other),
        };
        if account.password_since_ms != opened.since_ms || self.0.must_be_over(&opened.user, opened.began()) {
            return Err(AccountFailed::LinkOver);
        }
        Ok((account, kept, opened))
    }

    /// What is to be asked of whoever has the link. It changes nothing: programs that look at mail follow links.
    ///
    /// # Errors
    /// [`AccountFailed::LinkOver`], or it cannot be found out.
    pub async fn reset_form(&self, token: &str) -> Result<ResetForm, AccountFailed> {
        let (account, _, opened) = self.of_link(token).await?;
        Ok(ResetForm { user: opened.user, needs_code: account.second_step.is_some() })
    }

    /// The hash of a password that is not the one that the user has.
    async fn another(
        &self,
        kept: &KeptUsers,
        user: &User,
        password: &str,
    ) -> Result<Option<StoredPassword>, AccountFailed> {
        let hash = self.hashed(kept, Some(password)).await?;
        self.0.is_another(kept, user, password).await?;
        Ok(hash)
    }

    /// Gives the user of a link the password that they chose, by a code as well where they have a second step. The link is over by that, and
    /// so are all their sessions and what their devices prove. Whose it was.
    ///
    /// # Errors
    /// The link is over, the password is not taken, or the code is missing, wrong, or not looked at after too many wrong ones.
    pub async fn reset_password(&self, answer: ResetAnswer) -> Result<User, AccountFailed> {
        let ResetAnswer { token, password, code, address } = answer;
        let (account, kept, opened) = self.of_link(&token).await?;
        let (began, user) = (opened.began(), opened.user);
        let wants_code = account.second_step.is_some();
        if wants_code && code.is_none() {
            return Err(AccountFailed::CodeNeeded);
        }
        // Whoever reads a user's mail and has no code learns nothing about the password, and has nothing hashed.
        let hash = match code.filter(|_| wants_code) {
            Some(code) => {
                self.confirm(AccountHolder::new("", address), &user, Secret::Code(code)).await?;
                self.another(&kept, &user, &password).await?
            }
            None => {
                // To be told that it is the same password is to have guessed it.
                let (_here, mut gone) = oneshot::channel();
                let device = LoginDevice::default();
                let attempt = self.0.attempt_on(device, CredentialKind::Password, &user, address, &mut gone);
                let mut guess = attempt.await?;
                let hash = self.another(&kept, &user, &password).await;
                match &hash {
                    Err(AccountFailed::Unchanged) => guess.failed(),
                    Ok(_) | Err(_) => guess.undecided(),
                }
                hash?
            }
        };
        let Some(hash) = hash else { return Ok(user) };
        let (whose, service) = (user.clone(), self.0.clone());
        let plan = move |users: &dyn UserWrites, now: Moment| {
            let is_same = |found: &Account| !found.disabled && is_as_proved(found, &account);
            let before = users.find(&whose).filter(is_same).ok_or(AccountFailed::LinkOver)?;
            if service.must_be_over(&whose, began) {
                return Err(AccountFailed::LinkOver);
            }
            let mut after = before.clone();
            after.set_chosen_password(hash.clone(), now);
            Ok(vec![AccountSwap { before: Some(before), after: Some(after) }])
        };
        self.commit(kept, &Administrator::operator(BY), plan).await?;
        self.0.count(Counter::ResetDone);
        let event = AuditEvent::new(Kind::UserChanged).of(&user).by(BY).address(&address.to_string());
        self.0.record(event.detail("another password was chosen")).await;
        Ok(user)
    }
}

impl Service {
    /// Notes what came of a link that somebody asked for.
    pub async fn note_reset(&self, user: &User, address: IpAddr, is_sent: bool, detail: &str) {
        self.count(if is_sent { Counter::ResetSent } else { Counter::ResetFailed });
        let event = AuditEvent::new(Kind::Noted).of(user).address(&address.to_string());
        self.record(event.detail(&format!("a link to choose another password was asked for: {detail}")))
            .await;
    }

    /// Notes that somebody asked for a link for nobody who could use one, or again and again. Many of these become few lines.
    pub async fn note_vain_reset(&self, user: &User, address: IpAddr, detail: &str) {
        let event = AuditEvent::new(Kind::RequestRefused).of(user);
        let detail = format!("a link to choose another password was asked for: {detail}");
        self.record_turned_away(address, event.detail(&detail)).await;
    }

    /// Counts a link that is not made because too many wait.
    pub fn count_lost_reset(&self) {
        self.count(Counter::ResetFailed);
    }
}
