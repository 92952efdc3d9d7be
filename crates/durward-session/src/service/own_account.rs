//! What users change of their own account: the password and the second step. Whoever only holds the session cannot: each change
//! wants the password or a code, and wrong ones count as those of logins do. The second step of a user whose directory is elsewhere is kept
//! beside it.

use std::net::IpAddr;
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::SystemEntropy;
use durward_identity::login::CredentialKind;
use durward_identity::protocol::Lack;
use durward_identity::session::{Purpose, Refusal, User};
use durward_identity::user::{
    Account, AccountSwap, LoginFailure, Password, PasswordCheck, RecoveryCodes, SecondStep, Totp, UserWrites,
};
use tokio::sync::oneshot;

use super::Service;
use super::accounts::{Accounts, KeptUsers};
use super::devices::LoginDevice;
use super::login::{millis, words};
use crate::counters::Counter;
use crate::outcome::{AccountFailed, Administrator, Failed, Refused, Who};

/// How long somebody may take from the secret to the first code of it.
const ENROLMENT_LIFETIME: Duration = Duration::from_secs(600);

/// A second step that is shown to its user, and not yet theirs.
#[derive(Clone)]
pub struct Enrolment {
    /// What the user brings back with a code of the device.
    pub enrolment: String,
    /// How the device makes codes.
    pub totp: Totp,
    /// Whose it is.
    pub user: User,
    /// Until when the code may come.
    pub until: Moment,
}

/// Who changes their own account.
#[derive(Clone, Copy, Debug)]
pub struct AccountHolder<'a> {
    /// The token of a session of theirs.
    pub token: &'a str,
    /// The proof that they have logged in on this device: [`crate::LoginRequest::device`].
    pub device: Option<&'a str>,
    /// From where.
    pub address: IpAddr,
}

impl<'a> AccountHolder<'a> {
    /// Somebody who shows no proof of a device.
    pub fn new(token: &'a str, address: IpAddr) -> AccountHolder<'a> {
        AccountHolder { token, device: None, address }
    }
}

/// A token's user who changes their account.
struct Owner {
    who: Who,
    kept: KeptUsers,
    /// As it was before the user proved that it is them: what they prove is proved of this one.
    account: Account,
}

impl Accounts {
    /// What is known of the token's user.
    ///
    /// # Errors
    /// The token is refused, or there is no such user any more.
    pub async fn own(&self, token: &str) -> Result<Account, AccountFailed> {
        let who = self.0.validate(token, Purpose::Use).await.map_err(Failed::from)?;
        self.0.account(&who.user).await?.ok_or(AccountFailed::NoUser)
    }

    /// Gives the token's user another password, if they know the old one, and have a code too where they have a second step and the token is
    /// not of its level. All their sessions are over, also this one. Whose it was.
    ///
    /// # Errors
    /// The token is refused, the old password or the code is wrong, too many were, a code is missing, the new password is not taken, or it
    /// cannot be done.
    pub async fn change_own_password(
        &self,
        holder: AccountHolder<'_>,
        old: &str,
        new: &str,
        code: Option<&str>,
    ) -> Result<User, AccountFailed> {
        let owner = self.owner(holder.token).await?;
        let user = owner.who.user.clone();
        let wants_code =
            owner.account.has_second_step() && owner.who.level < self.0.settings().second_step_level;
        if wants_code && code.is_none() {
            return Err(AccountFailed::CodeNeeded);
        }
        self.confirm(holder, &user, Secret::Password(old.to_owned())).await?;
        // The mark goes with another password, and not with the same one.
        if owner.account.must_change_password && old == new {
            return Err(AccountFailed::Unchanged);
        }
        let Some(password) = self.hashed(&owner.kept, Some(new)).await? else { return Ok(user) };
        // Last, since it is used up by that.
        if let Some(code) = code.filter(|_| wants_code) {
            self.confirm(holder, &user, Secret::Code(code.to_owned())).await?;
        }
        let set = move |account: &mut Account, now: Moment| {
            account.set_chosen_password(password.clone(), now);
            Ok(())
        };
        self.change_own(owner, set).await?;
        Ok(user)
    }

    /// How many recovery codes are left of the second step of the token's user; nothing where there is none.
    ///
    /// # Errors
    /// The token is refused, or nothing is kept here of the realm's users.
    pub async fn own_recovery_codes_left(&self, token: &str) -> Result<Option<usize>, AccountFailed> {
        let owner = self.steps_owner(token).await?;
        Ok(owner.account.second_step.map(|step| step.recovery.left()))
    }

    /// Begins a second step for the token's user, who has none and knows the password.
    ///
    /// # Errors
    /// The token is refused, the password is wrong, too many were, the user has a second step, or has a passkey and the token is not of its
    /// level; or nothing is kept here of the realm's users.
    pub async fn begin_second_step(
        &self,
        holder: AccountHolder<'_>,
        password: &str,
    ) -> Result<Enrolment, AccountFailed> {
        let owner = self.steps_owner(holder.token).await?;
        has_none_yet(&owner.account)?;
        // Who has a passkey, and did not use it, may be somebody with the password alone.
        self.proved(holder, &owner, password).await?;
        let user = owner.who.user;
        let totp = Totp::generate(&SystemEntropy).map_err(Failed::Directory)?;
        let until = self.0.now().plus(ENROLMENT_LIFETIME);
        let enrolment = self.0.0.enrolments.make(&user, &totp, until);
        Ok(Enrolment { enrolment, totp, user, until })
    }

    /// Makes the second step that was begun the user's, by a code of their device. All their sessions are over, also this one: they began
    /// without it. The recovery codes, shown only now.
    ///
    /// # Errors
    /// The token is refused, the enrolment is none of this user's or is over, the code is wrong, too many were, the user has a
    /// second step, or the directory does not know them any more, or does not answer.
    pub async fn confirm_second_step(
        &self,
        holder: AccountHolder<'_>,
        enrolment: &str,
        code: &str,
    ) -> Result<Vec<String>, AccountFailed> {
        let owner = self.steps_owner(holder.token).await?;
        has_none_yet(&owner.account)?;
        let user = &owner.who.user;
        let (totp, until) =
            self.0.0.enrolments.open(enrolment, user, self.0.now()).ok_or(AccountFailed::NoEnrolment)?;
        // It was given for the password of then.
        let since_ms = self.still_there(user).await?.password_since_ms.max(owner.account.password_since_ms);
        if until.ms() < since_ms.saturating_add(millis(ENROLMENT_LIFETIME)) {
            return Err(AccountFailed::NoEnrolment);
        }
        let used = self.confirm(holder, user, Secret::FirstCode(totp.clone(), code.to_owned())).await?;
        let (shown, recovery) = RecoveryCodes::generate(&SystemEntropy).map_err(Failed::Directory)?;
        let set = move |_: &dyn UserWrites, account: &mut Account| {
            let (totp, recovery) = (totp.clone(), recovery.clone());
            account.second_step = Some(SecondStep { totp, used, recovery });
            Ok(())
        };
        self.change_steps(owner, set).await?;
        Ok(shown)
    }

    /// Removes the second step of the token's user, by a code of it, which is used up, or a recovery code. All their sessions are
    /// over, also this one.
    ///
    /// # Errors
    /// The token is refused, the user has no second step, the code is wrong, too many were, or the directory does not know them any more,
    /// or does not answer.
    pub async fn remove_second_step(
        &self,
        holder: AccountHolder<'_>,
        code: &str,
    ) -> Result<(), AccountFailed> {
        let owner = self.steps_owner(holder.token).await?;
        if owner.account.second_step.is_none() {
            return Err(AccountFailed::NoSecondStep);
        }
        self.still_there(&owner.who.user).await?;
        self.confirm(holder, &owner.who.user, Secret::Code(code.to_owned())).await?;
        let remove = |_: &dyn UserWrites, account: &mut Account| {
            account.second_step = None;
            Ok(())
        };
        self.change_steps(owner, remove).await
    }

    /// What is known of the user of a session, who may have been removed or disabled where users are kept elsewhere.
    async fn still_there(&self, user: &User) -> Result<Account, AccountFailed> {
        self.0.active_account(user).await?.ok_or(AccountFailed::NoUser)
    }

    /// The token's user, and what is known of them before they prove that it is them.
    async fn owner(&self, token: &str) -> Result<Owner, AccountFailed> {
        let who = self.0.validate(token, Purpose::Use).await.map_err(Failed::from)?;
        let kept = self.kept(who.user.realm())?;
        self.0.follow_users().await;
        let account = kept.writes.find(&who.user).ok_or(AccountFailed::NoUser)?;
        Ok(Owner { who, kept, account })
    }

    /// Changes the account, if it still is the one that was proved, and the session has not ended.
    async fn change_own(
        &self,
        owner: Owner,
        change: impl Fn(&mut Account, Moment) -> Result<(), AccountFailed> + Send + Sync + 'static,
    ) -> Result<(), AccountFailed> {
        let Owner { who, kept, account: proved } = owner;
        // The user is who does it, and of whom the audit says so.
        let by = Administrator::operator(&who.user.to_string());
        let service = self.0.clone();
        let plan = move |users: &dyn UserWrites, now: Moment| {
            if service.has_ended(&who) {
                return Err(Failed::Token(Refusal::Revoked).into());
            }
            let before = users.find(&who.user).ok_or(AccountFailed::NoUser)?;
            if !is_as_proved(&before, &proved) {
                return Err(AccountFailed::Refused(Refused::Wrong));
            }
            let mut after = before.clone();
            change(&mut after, now)?;
            Ok(vec![AccountSwap { before: Some(before), after: Some(after) }])
        };
        self.commit(kept, &by, plan).await.map(drop)
    }

    /// That it is the user who asks. An attempt, like a login; it goes on to its end also when nobody waits for it. The time step of a
    /// first code.
    pub(super) async fn confirm(
        &self,
        holder: AccountHolder<'_>,
        user: &User,
        secret: Secret,
    ) -> Result<Option<u64>, AccountFailed> {
        let (service, user, address) = (self.0.clone(), user.clone(), holder.address);
        let device = service.known_device(holder.device, &user).await;
        let confirmed = self
            .0
            .parts()
            .runtime
            .spawn(async move { service.confirmed(&user, secret, device, address).await });
        let confirmed = confirmed.await.unwrap_or(Err(Refused::Unavailable(Lack::Store)));
        confirmed.map_err(AccountFailed::Refused)
    }
}

fn has_none_yet(account: &Account) -> Result<(), AccountFailed> {
    if account.second_step.is_some() { Err(AccountFailed::HasSecondStep) } else { Ok(()) }
}

/// Whether what was proved of an account is still true of it. A hash that was renewed is of the same password, and a code that was used
/// up is of the same device.
pub(super) fn is_as_proved(account: &Account, proved: &Account) -> bool {
    account.password_since_ms == proved.password_since_ms && account.has_same_steps(proved)
}

/// What a user proves by that it is them.
pub(super) enum Secret {
    Password(String),
    /// A code of the second step they have.
    Code(String),
    /// A code of the one they are about to have.
    FirstCode(Totp, String),
}

impl Service {
    async fn confirmed(
        &self,
        user: &User,
        secret: Secret,
        device: LoginDevice,
        address: IpAddr,
    ) -> Result<Option<u64>, Refused> {
        let users = self.users(user.realm()).ok_or(Refused::UnknownRealm)?;
        let kind = match secret {
            Secret::Password(_) => CredentialKind::Password,
            Secret::Code(_) | Secret::FirstCode(..) => CredentialKind::Code,
        };
        let (_here, mut gone) = oneshot::channel();
        let mut guess = self.attempt_on(device, kind, user, address, &mut gone).await?;
        self.follow_users().await;
        let (used, failure) = match secret {
            Secret::Code(code) => {
                self.check_code(&*users, user, &code, address, &mut guess).await?;
                (None, None)
            }
            Secret::FirstCode(totp, code) => match totp.check(self.now(), &code, None) {
                Some(step) => (Some(step), None),
                None => (None, Some(LoginFailure::Code)),
            },
            Secret::Password(text) => {
                let checked = match Password::new(&text) {
                    Ok(password) if device.for_password().is_some() => {
                        users.check_first(self.now(), user, password).await
                    }
                    Ok(password) => users.check(self.now(), user, password).await,
                    Err(_) => Ok(PasswordCheck::Wrong(LoginFailure::Password)),
                };
                match self.decided(checked, user, address, &mut guess).await? {
                    PasswordCheck::Right(_) => (None, None),
                    PasswordCheck::Wrong(why) => (None, Some(why)),
                }
            }
        };
        let Some(why) = failure else {
            guess.succeeded();
            return Ok(used);
        };
        guess.failed();
        self.count(Counter::LoginFailed);
        self.note_failure(user, address, words(why)).await;
        Err(Refused::Wrong)
    }
}
