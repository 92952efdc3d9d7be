//! A password that must be changed before a session begins: an administrator marked the user, the password is too old, or the directory
//! says so. What a login has come to by then is sealed and handed to the client: nodes keep nothing of it, and any node goes on with it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::protocol::Lack;
use durward_identity::session::{Properties, User};
use durward_identity::user::{Account, AccountSwap, LoginFailure, Password, PasswordCheck, UserWrites};
use durward_identity::{IdentityError, Moment};

use super::Service;
use super::accounts::KeptUsers;
use super::login::{SessionStart, of_full, words};
use super::own_account::is_as_proved;
use crate::directory::{PasswordRejection, UserDirectory};
use crate::outcome::{AccountFailed, Administrator, Login, Refused};

/// How long somebody may take from the old password to the new one.
const LIFETIME: Duration = Duration::from_secs(600);

/// The purpose of the seal.
const PURPOSE: &str = "password change";

/// Until proofs for devices are told from those of before the change, which are over: they count in milliseconds.
const APART: Duration = Duration::from_millis(2);

/// Another password, in the place of one that must be changed.
#[derive(Clone)]
pub struct PasswordChoice {
    /// The text of [`Login::PasswordChangeNeeded`].
    pub change: String,
    /// The new password.
    pub password: String,
    /// From where.
    pub address: IpAddr,
    /// What is kept with the session from its beginning.
    pub properties: Properties,
    /// The proof of the device: [`crate::LoginRequest::device`].
    pub device: Option<String>,
}

impl PasswordChoice {
    /// A new password, for a session without properties.
    pub fn new(change: &str, password: &str, address: IpAddr) -> PasswordChoice {
        PasswordChoice {
            change: change.to_owned(),
            password: password.to_owned(),
            address,
            properties: Properties::new(),
            device: None,
        }
    }
}

/// Without the password.
impl fmt::Debug for PasswordChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordChoice").field("address", &self.address).finish_non_exhaustive()
    }
}

/// How it stands with the second step of a login whose password must be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeStanding {
    NotAsked,
    /// It is asked for, and has not come: nothing can be changed yet.
    Missing,
    Given,
}

impl CodeStanding {
    const ALL: [CodeStanding; 3] = [CodeStanding::NotAsked, CodeStanding::Missing, CodeStanding::Given];
}

/// What a sealed change begins with: until when, since when the password, the code, whether there is a password, lengths of realm and subject.
const HEAD: usize = 8 + 8 + 1 + 1 + 1 + 2;

/// A login that waits for another password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PendingChange {
    user: User,
    /// When the password that was shown was given: another one since then is not to be changed by this.
    since_ms: u64,
    until_ms: u64,
    pub(super) code: CodeStanding,
    /// The password that was shown, where a directory outside wants it again.
    shown: Option<String>,
}

impl PendingChange {
    fn of(account: &Account, shown: Option<&str>) -> Result<PendingChange, IdentityError> {
        Ok(PendingChange {
            user: account.user()?,
            since_ms: account.password_since_ms,
            until_ms: 0,
            code: CodeStanding::NotAsked,
            shown: shown.map(str::to_owned),
        })
    }

    pub(super) fn until(&self) -> Moment {
        Moment::from_ms(self.until_ms)
    }

    pub(super) fn user(&self) -> &User {
        &self.user
    }

    fn to_bytes(&self) -> Vec<u8> {
        let PendingChange { user, since_ms, until_ms, code, shown } = self;
        let (realm, subject) = (user.realm().as_bytes(), user.subject().as_bytes());
        let code = CodeStanding::ALL.iter().position(|one| one == code).unwrap_or_default();
        let mut bytes = [until_ms.to_be_bytes(), since_ms.to_be_bytes()].concat();
        bytes.push(u8::try_from(code).unwrap_or_default());
        bytes.push(u8::from(shown.is_some()));
        bytes.push(u8::try_from(realm.len()).unwrap_or(u8::MAX));
        bytes.extend(u16::try_from(subject.len()).unwrap_or(u16::MAX).to_be_bytes());
        bytes.extend(realm);
        bytes.extend(subject);
        bytes.extend(shown.as_deref().unwrap_or_default().as_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<PendingChange> {
        let (head, texts) = bytes.split_first_chunk::<HEAD>()?;
        let (until, rest) = head.split_first_chunk::<8>()?;
        let (since, rest) = rest.split_first_chunk::<8>()?;
        let &[code, has_shown, realm_length, first, second] = rest else { return None };
        let (realm, rest) = std::str::from_utf8(texts).ok()?.split_at_checked(usize::from(realm_length))?;
        let (subject, shown) = rest.split_at_checked(usize::from(u16::from_be_bytes([first, second])))?;
        Some(PendingChange {
            user: User::new(realm, subject).ok()?,
            since_ms: u64::from_be_bytes(*since),
            until_ms: u64::from_be_bytes(*until),
            code: *CodeStanding::ALL.get(usize::from(code))?,
            shown: (has_shown == 1).then(|| shown.to_owned()),
        })
    }
}

impl Service {
    /// What is to be changed before the user of this account gets a session; nothing where nothing is. `shown` is their password.
    ///
    /// # Errors
    /// It must be changed, and cannot be changed here.
    pub(super) fn pending_change(
        &self,
        users: &dyn UserDirectory,
        account: &Account,
        shown: Option<&str>,
    ) -> Result<Option<PendingChange>, Refused> {
        if !account.must_change_password && !self.is_too_old(account) {
            return Ok(None);
        }
        if !users.changes_passwords() {
            return Err(Refused::PasswordOver);
        }
        let shown = shown.filter(|_| users.writes().is_none());
        PendingChange::of(account, shown).map(Some).map_err(Refused::Directory)
    }

    /// Whether a password that is kept here is older than passwords may be. Of one whose age is not known, nothing is said.
    fn is_too_old(&self, account: &Account) -> bool {
        let Some(age_max) = self.settings().password_age_max else { return false };
        let given = account.password_given();
        account.password.is_some() && given.ms() > 0 && self.now().since(given) > age_max
    }

    /// The text by which a login goes on.
    pub(super) fn sealed_change(
        &self,
        pending: PendingChange,
        code: CodeStanding,
        lifetime: Duration,
    ) -> Result<String, Refused> {
        let pending = PendingChange { code, until_ms: self.now().plus(lifetime).ms(), ..pending };
        self.seal(PURPOSE, &pending.to_bytes()).map_err(Refused::Directory)
    }

    /// What was sealed, if it is good still.
    pub(super) fn opened_change(&self, text: &str) -> Option<PendingChange> {
        let pending = PendingChange::read(&self.unseal(PURPOSE, text)?)?;
        (pending.until() > self.now()).then_some(pending)
    }

    /// The answer to a login that is complete but for another password.
    pub(super) async fn change_needed(
        &self,
        pending: PendingChange,
        code: CodeStanding,
        user: &User,
        address: IpAddr,
    ) -> Result<Login, Refused> {
        let text = self.sealed_change(pending, code, LIFETIME)?;
        let event = AuditEvent::new(Kind::Noted).of(user).address(&address.to_string());
        self.record(event.detail("must choose another password before a session begins")).await;
        Ok(Login::PasswordChangeNeeded(text))
    }

    /// Gives a user the password that they chose in the place of one that must be changed, and opens the session that
    /// [`Login::PasswordChangeNeeded`] did not. What began before, sessions and proofs for devices, is over. It goes on to its end also when
    /// the caller does not wait for it.
    ///
    /// # Errors
    /// The text is none or over, the new password is not taken, or it cannot be done; after [`AccountFailed::Refused`] the password may
    /// have been changed and no session begun.
    pub async fn choose_password(&self, choice: PasswordChoice) -> Result<Login, AccountFailed> {
        let service = self.clone();
        let chosen = self.0.parts.runtime.spawn(async move {
            let login = service.chosen(choice).await;
            match &login {
                Ok(login) => service.count_login(&Ok(login.clone())),
                Err(AccountFailed::Refused(refused)) => service.count_login(&Err(refused.clone())),
                Err(_) => {}
            }
            login
        });
        chosen.await.unwrap_or(Err(Refused::Unavailable(Lack::Store).into()))
    }

    async fn chosen(&self, choice: PasswordChoice) -> Result<Login, AccountFailed> {
        self.has_started().await;
        let PasswordChoice { change, password, address, properties, device: shown } = choice;
        let pending = self.opened_change(&change).filter(|it| it.code != CodeStanding::Missing);
        let Some(pending) = pending else {
            self.note_turned_away(address, "no change of a password, or one whose time is over").await;
            return Err(Refused::Wrong.into());
        };
        let user = pending.user.clone();
        let users = self.users(user.realm()).ok_or(Refused::UnknownRealm)?;
        self.knows_users(&*users)?;
        let device = self.known_device(shown.as_deref(), &user).await;
        self.follow_users().await;
        // In the meantime the user may have been disabled or removed, or given another password than the one that was shown.
        let is_as_shown =
            |account: &Account| !account.disabled && account.password_since_ms == pending.since_ms;
        let Some(shown_for) = self.account(&user).await?.filter(is_as_shown) else {
            self.note_failure(&user, address, words(LoginFailure::Disabled)).await;
            return Err(Refused::Wrong.into());
        };
        if let Some(full) = self.0.parts.sessions.full(&user) {
            return Err(of_full(full).into());
        }
        let chosen = match users.writes() {
            Some(writes) => {
                let kept = KeptUsers { directory: Arc::clone(&users), writes };
                self.choose_here(kept, &user, pending.since_ms, &password).await?
            }
            None => {
                self.choose_outside(&*users, &user, &pending, &password).await?;
                None
            }
        };
        tokio::time::sleep(APART).await;
        let account = self.account(&user).await?;
        // Also meanwhile.
        let is_theirs = |account: &Account| match &chosen {
            Some(chosen) => is_as_proved(account, chosen),
            None => account.entry == shown_for.entry && account.has_same_steps(&shown_for),
        };
        let Some(account) = account.filter(|account| !account.disabled && is_theirs(account)) else {
            self.note_failure(&user, address, "disabled, or changed meanwhile").await;
            return Err(Refused::Wrong.into());
        };
        let has_code = pending.code == CodeStanding::Given;
        let settings = self.settings();
        let level = if has_code { settings.second_step_level } else { settings.password_level };
        let since = Moment::from_ms(account.password_since_ms);
        let begin = SessionStart { user, account: &account, level, properties, address, vouched_by: None };
        let mut granted = self.begin(begin).await?;
        granted.device = self.proof_of_device(shown.as_deref(), device, &granted.user, has_code, since);
        Ok(Login::Granted(granted, Box::new(account)))
    }

    /// What is known of the user afterwards.
    async fn choose_here(
        &self,
        kept: KeptUsers,
        user: &User,
        since_ms: u64,
        password: &str,
    ) -> Result<Option<Account>, AccountFailed> {
        let accounts = self.accounts();
        let Some(hash) = accounts.hashed(&kept, Some(password)).await? else { return Ok(None) };
        self.is_another(&kept, user, password).await?;
        // The user is who does it, and of whom the audit says so.
        let by = Administrator::operator(&user.to_string());
        let user = user.clone();
        let plan = move |users: &dyn UserWrites, now: Moment| {
            let is_as_shown = |account: &Account| !account.disabled && account.password_since_ms == since_ms;
            let before = users.find(&user).filter(is_as_shown).ok_or(Refused::Wrong)?;
            let mut after = before.clone();
            after.set_chosen_password(hash.clone(), now);
            Ok(vec![AccountSwap { before: Some(before), after: Some(after) }])
        };
        let swaps = accounts.commit(kept, &by, plan).await?;
        Ok(swaps.into_iter().find_map(|swap| swap.after))
    }

    /// That a new password is not the one that the user has.
    pub(super) async fn is_another(
        &self,
        kept: &KeptUsers,
        user: &User,
        password: &str,
    ) -> Result<(), AccountFailed> {
        let password = Password::new(password).map_err(AccountFailed::Name)?;
        match kept.directory.check_first(self.now(), user, password).await.map_err(super::failed)? {
            PasswordCheck::Right(_) => Err(AccountFailed::Unchanged),
            PasswordCheck::Wrong(_) => Ok(()),
        }
    }

    async fn choose_outside(
        &self,
        users: &dyn UserDirectory,
        user: &User,
        pending: &PendingChange,
        password: &str,
    ) -> Result<(), AccountFailed> {
        let shown = pending.shown.as_deref().ok_or(AccountFailed::NotKept)?;
        if shown == password {
            return Err(AccountFailed::Unchanged);
        }
        let new = Password::new(password).map_err(AccountFailed::Name)?;
        let old = Password::new(shown).map_err(AccountFailed::Name)?;
        let by = Administrator::operator(&user.to_string());
        let changed = users.change_password(user, old, new).await;
        // It may have been changed, by a try whose answer was lost.
        if matches!(changed, Err(_) | Ok(Err(PasswordRejection::OldIsWrong))) {
            self.end_for(&by, user.clone()).await;
        }
        match changed.map_err(super::failed)? {
            Ok(()) => {}
            Err(PasswordRejection::OldIsWrong) => return Err(Refused::Wrong.into()),
            Err(PasswordRejection::Rules(refusal)) => return Err(AccountFailed::of_password(refusal)),
            Err(
                why @ (PasswordRejection::TooShort
                | PasswordRejection::TooSimple
                | PasswordRejection::HadBefore
                | PasswordRejection::TooSoon
                | PasswordRejection::NotAllowed),
            ) => return Err(AccountFailed::NotTaken(why)),
        }
        self.end_for(&by, user.clone()).await;
        let event = AuditEvent::new(Kind::UserChanged).of(user).by(&by.name);
        self.record(event.detail("another password, in the directory")).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_read_as_it_was() {
        let user = User::new("/sales", "änna").unwrap();
        for (code, shown) in [
            (CodeStanding::NotAsked, None),
            (CodeStanding::Missing, Some("pä\0ss")),
            (CodeStanding::Given, Some("")),
        ] {
            let shown = shown.map(str::to_owned);
            let pending = PendingChange { user: user.clone(), since_ms: 7, until_ms: 9, code, shown };
            let bytes = pending.to_bytes();
            assert!(PendingChange::read(&bytes).is_some_and(|read| read == pending));
            for length in 0..HEAD {
                assert!(PendingChange::read(&bytes[..length]).is_none(), "{length}");
            }
        }
    }
}
