//! Passkeys of an account: enrolled, named and removed by whose it is, and removed by administrators. Whoever only holds the session can
//! neither add nor remove one: that wants the password, and the second step's level where there is one. Sessions end by it, as by another
//! device of the second step.

use durward_identity::passkey::{CreationOptions, Passkey, Registration, UserHandle, Verification, register};
use durward_identity::session::{Purpose, Refusal, User};
use durward_identity::user::{Account, AccountSwap, UserWrites};
use durward_identity::{Moment, SystemEntropy};

use super::accounts::{Accounts, KeptUsers, any};
use super::login::millis;
use super::own_account::{AccountHolder, Secret, is_as_proved};
use super::passkey_ticket::{Ceremony, PasskeyRequest, TICKET_LIFETIME, Ticket};
use crate::outcome::{AccountFailed, Administrator, Failed, Refused, Who};
use crate::settings::PasskeySettings;

/// A token's user, and what is kept here of their steps.
pub(super) struct StepsOwner {
    pub(super) who: Who,
    pub(super) kept: KeptUsers,
    /// As it was before the user proved that it is them. Empty for a user who is kept elsewhere and of whom nothing is kept here.
    pub(super) account: Account,
    /// What the directory elsewhere calls their entry: [`Account::entry`].
    pub(super) entry: Option<String>,
}

impl Accounts {
    /// The passkeys of the token's user, oldest first.
    ///
    /// # Errors
    /// The token is refused, or there are no passkeys here.
    pub async fn own_passkeys(&self, token: &str) -> Result<Vec<Passkey>, AccountFailed> {
        self.passkey_settings()?;
        Ok(self.steps_owner(token).await?.account.passkeys.iter().cloned().collect())
    }

    /// What to ask an authenticator for another passkey of the token's user, who knows the password.
    ///
    /// # Errors
    /// The token is refused or lacks the second step's level, the password is wrong, too many were, or there are no passkeys here.
    pub async fn begin_passkey(
        &self,
        holder: AccountHolder<'_>,
        password: &str,
    ) -> Result<PasskeyRequest, AccountFailed> {
        let settings = self.passkey_settings()?;
        let owner = self.steps_owner(holder.token).await?;
        self.proved(holder, &owner, password).await?;
        let (now, passkeys) = (self.0.now(), &owner.account.passkeys);
        let handle = match passkeys.handle() {
            Some(handle) => *handle,
            None => UserHandle::generate(&SystemEntropy).map_err(Failed::Directory)?,
        };
        let user = &owner.who.user;
        let (realm, subject) = (user.realm().to_owned(), user.subject().to_owned());
        let enrolment = Ceremony::Enrol { realm, subject, handle };
        let ticket = Ticket::new(enrolment, now.plus(TICKET_LIFETIME)).map_err(Failed::Directory)?;
        let options = CreationOptions {
            party: &settings.party,
            challenge: &ticket.challenge(),
            handle: &handle,
            name: user.subject(),
            passkeys,
            verification: wanted(settings),
            timeout_ms: ticket.timeout_ms(now),
        };
        Ok(self.0.sealed_ticket(&ticket, options.to_json(), false).map_err(Failed::Directory)?)
    }

    /// Adds the passkey that an authenticator has made. All sessions of the user are over, also this one: they began without it.
    ///
    /// # Errors
    /// The token is refused, the enrolment is none of this user's, is over or was finished before, the passkey is not as it was asked for or
    /// somebody has it, or the name is none.
    pub async fn confirm_passkey(
        &self,
        holder: AccountHolder<'_>,
        ticket: &str,
        credential: &str,
        name: &str,
    ) -> Result<Passkey, AccountFailed> {
        let settings = self.passkey_settings()?;
        let owner = self.steps_owner(holder.token).await?;
        let ticket = self.0.open_ticket(ticket).filter(|ticket| ticket.is_of(&owner.who.user));
        let ticket = ticket.ok_or(AccountFailed::NoEnrolment)?;
        let Ceremony::Enrol { handle, .. } = ticket.ceremony else { return Err(AccountFailed::NoEnrolment) };
        // It was given for the password and the steps of then.
        if ticket.until().ms() < owner.account.password_since_ms.saturating_add(millis(TICKET_LIFETIME)) {
            return Err(AccountFailed::NoEnrolment);
        }
        let registration = Registration::read(credential).map_err(AccountFailed::Passkey)?;
        let registered = register(&settings.party, &ticket.challenge(), wanted(settings), &registration);
        let registered = registered.map_err(AccountFailed::Passkey)?;
        let passkey = Passkey::new(registered, name, self.0.now()).map_err(AccountFailed::Name)?;
        if !self.0.is_first_answer(&ticket).await? {
            return Err(AccountFailed::NoEnrolment);
        }
        let added = passkey.clone();
        let add = move |users: &dyn UserWrites, account: &mut Account| {
            // Step 26 of 7.1: of nobody else either.
            if any(users, |other| other.passkeys.find(added.id()).is_some()) {
                return Err(AccountFailed::Exists);
            }
            account.passkeys.add(added.clone(), handle).map_err(AccountFailed::Name)
        };
        self.change_steps(owner, add).await?;
        Ok(passkey)
    }

    /// Gives a passkey of the token's user another name.
    ///
    /// # Errors
    /// The token is refused, there is no such passkey, or the name is none.
    pub async fn rename_own_passkey(&self, token: &str, id: &str, name: &str) -> Result<(), AccountFailed> {
        self.passkey_settings()?;
        let owner = self.steps_owner(token).await?;
        let (id, name) = (id.to_owned(), name.to_owned());
        let rename = move |_: &dyn UserWrites, account: &mut Account| {
            let is_there = account.passkeys.rename(&id, &name).map_err(AccountFailed::Name)?;
            if is_there { Ok(()) } else { Err(AccountFailed::NoPasskey) }
        };
        self.change_steps(owner, rename).await
    }

    /// Removes a passkey of the token's user, who knows the password. All their sessions are over, also this one.
    ///
    /// # Errors
    /// The token is refused or lacks the second step's level, the password is wrong, too many were, or there is no such passkey.
    pub async fn remove_own_passkey(
        &self,
        holder: AccountHolder<'_>,
        id: &str,
        password: &str,
    ) -> Result<(), AccountFailed> {
        self.passkey_settings()?;
        let owner = self.steps_owner(holder.token).await?;
        self.proved(holder, &owner, password).await?;
        let id = id.to_owned();
        let remove = move |_: &dyn UserWrites, account: &mut Account| {
            if account.passkeys.remove(&id) { Ok(()) } else { Err(AccountFailed::NoPasskey) }
        };
        self.change_steps(owner, remove).await
    }

    /// The passkeys of a user, for an administrator.
    ///
    /// # Errors
    /// Another realm's administrator asks, or nothing is kept here of the realm's users.
    pub async fn passkeys_of(&self, by: &Administrator, user: &User) -> Result<Vec<Passkey>, AccountFailed> {
        let kept = self.kept_steps_for(by, user)?;
        self.0.follow_users().await;
        let account = kept.writes.find(user);
        Ok(account.map(|account| account.passkeys.iter().cloned().collect()).unwrap_or_default())
    }

    /// Removes one of a user's passkeys, or all, as an administrator: for those who have lost them. The user's sessions are over. How many
    /// there were.
    ///
    /// # Errors
    /// As [`Accounts::passkeys_of`]; or there is none.
    pub async fn remove_passkeys(
        &self,
        by: &Administrator,
        user: &User,
        id: Option<&str>,
    ) -> Result<usize, AccountFailed> {
        let kept = self.kept_steps_for(by, user)?;
        let (user, id) = (user.clone(), id.map(str::to_owned));
        let plan = move |users: &dyn UserWrites, _: Moment| {
            let before = users.find(&user).ok_or(AccountFailed::NoPasskey)?;
            let mut after = before.clone();
            let count = match &id {
                Some(id) => usize::from(after.passkeys.remove(id)),
                None => after.passkeys.remove_all(),
            };
            if count == 0 {
                return Err(AccountFailed::NoPasskey);
            }
            Ok(vec![AccountSwap { before: Some(before), after: Some(after) }])
        };
        let swaps = self.commit(kept, by, plan).await?;
        let count = |account: &Option<Account>| account.as_ref().map_or(0, |account| account.passkeys.len());
        Ok(swaps.iter().map(|swap| count(&swap.before).saturating_sub(count(&swap.after))).sum())
    }

    fn passkey_settings(&self) -> Result<&PasskeySettings, AccountFailed> {
        self.0.settings().passkeys.as_ref().ok_or(AccountFailed::NoPasskey)
    }

    pub(super) fn kept_steps_for(&self, by: &Administrator, user: &User) -> Result<KeptUsers, AccountFailed> {
        if by.may(user.realm()) { self.kept_steps(user.realm()) } else { Err(Failed::Forbidden.into()) }
    }

    pub(super) async fn steps_owner(&self, token: &str) -> Result<StepsOwner, AccountFailed> {
        let who = self.0.validate(token, Purpose::Use).await.map_err(Failed::from)?;
        let kept = self.kept_steps(who.user.realm())?;
        self.0.follow_users().await;
        let entry = match kept.is_kept_here() {
            true => None,
            // What is kept here may be of somebody who had the name before.
            false => self.0.active_account(&who.user).await?.ok_or(AccountFailed::NoUser)?.entry,
        };
        let found = kept.writes.find(&who.user).filter(|kept| kept.is_of_entry(entry.as_deref()));
        let account = known(&kept, &who.user, found)?;
        Ok(StepsOwner { who, kept, account, entry })
    }

    /// That it is the user who asks, and not somebody who has a password alone where there is a second step.
    pub(super) async fn proved(
        &self,
        holder: AccountHolder<'_>,
        owner: &StepsOwner,
        password: &str,
    ) -> Result<(), AccountFailed> {
        if owner.account.has_second_step() && owner.who.level < self.0.settings().second_step_level {
            return Err(AccountFailed::CodeNeeded);
        }
        self.confirm(holder, &owner.who.user, Secret::Password(password.to_owned())).await.map(drop)
    }

    /// Changes what is kept of the user's steps, if it still is what was proved, and the session has not ended.
    pub(super) async fn change_steps(
        &self,
        owner: StepsOwner,
        change: impl Fn(&dyn UserWrites, &mut Account) -> Result<(), AccountFailed> + Send + Sync + 'static,
    ) -> Result<(), AccountFailed> {
        let StepsOwner { who, kept, account: proved, entry } = owner;
        let by = Administrator::operator(&who.user.to_string());
        let (service, is_kept_here) = (self.0.clone(), kept.is_kept_here());
        let plan = move |users: &dyn UserWrites, now: Moment| {
            if service.has_ended(&who) {
                return Err(Failed::Token(Refusal::Revoked).into());
            }
            let before = users.find(&who.user);
            if before.is_none() && is_kept_here {
                return Err(AccountFailed::NoUser);
            }
            let theirs = before.clone().filter(|kept| kept.is_of_entry(entry.as_deref()));
            let is_first = theirs.is_none();
            let mut after = theirs.unwrap_or_else(|| Account::new(&who.user));
            if !is_as_proved(&after, &proved) {
                return Err(AccountFailed::Refused(Refused::Wrong));
            }
            change(users, &mut after)?;
            after.entry = entry.clone().or(after.entry);
            if is_first {
                after.end_sessions(now);
                after.disabled = before.as_ref().is_some_and(|before| before.disabled);
            }
            Ok(vec![AccountSwap { before, after: Some(after) }])
        };
        self.commit(kept, &by, plan).await.map(drop)
    }
}

/// What is kept of a user: nothing yet, maybe, of one who is kept elsewhere.
fn known(kept: &KeptUsers, user: &User, found: Option<Account>) -> Result<Account, AccountFailed> {
    match found {
        Some(account) => Ok(account),
        None if kept.is_kept_here() => Err(AccountFailed::NoUser),
        None => Ok(Account::new(user)),
    }
}

/// Where a passkey may be the only step, each that is enrolled can be.
fn wanted(settings: &PasskeySettings) -> Verification {
    if settings.only_step { Verification::Required } else { Verification::Optional }
}
