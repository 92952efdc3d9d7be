//! Logins with passkeys: as the only step, as the second one, and to raise the level of a session.
//!
//! Nobody is delayed after failures here: a signature cannot be guessed. What is not right costs one signature at most, and neither a
//! directory nor the store is asked for it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::passkey::{
    Assertion, PasskeyRefusal, PasskeyUse, RequestOptions, UserHandle, Verification, verify,
};
use durward_identity::protocol::Lack;
use durward_identity::session::{Properties, Purpose, SessionChange, User};
use durward_identity::user::{Account, UserStore};
use durward_identity::{IdentityError, Moment};

use super::login::{ChallengedUser, SessionStart, millis, of_full};
use super::passkey_ticket::{Ceremony, PasskeyRequest, TICKET_LIFETIME, Ticket};
use super::password_change::{CodeStanding, PendingChange};
use super::{Service, of_session};
use crate::directory::{DirectoryFault, UserDirectory};
use crate::outcome::{Failed, Granted, Login, Refused};
use crate::settings::PasskeySettings;

/// The property of a session that says how its user logged in, where that was with a passkey: words of RFC 8176, with spaces between.
pub const AMR: &str = "amr";

/// What a page brings of a passkey.
#[derive(Clone)]
pub struct PasskeyAnswer {
    /// Of the [`PasskeyRequest`].
    pub ticket: String,
    /// The `PublicKeyCredential`, as JSON.
    pub credential: String,
    /// From where: the client's address and not that of a proxy, if that can be known.
    pub address: IpAddr,
    /// What is kept with the session from its beginning.
    pub properties: Properties,
    /// The proof that the user has logged in on this device before: [`crate::LoginRequest::device`].
    pub device: Option<String>,
}

/// Without what the authenticator says.
impl fmt::Debug for PasskeyAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasskeyAnswer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Whom a ceremony is about, and since when it must have been so.
struct Claimed {
    user: User,
    /// When the first step was right, in milliseconds, where there was one.
    first_at_ms: Option<u64>,
    /// Whether that was a password.
    has_password: bool,
    /// What must be changed before there is a session.
    pending: Option<PendingChange>,
}

impl Service {
    /// Whether a passkey alone is enough for a login.
    pub fn has_passkey_login(&self) -> bool {
        self.settings().passkeys.as_ref().is_some_and(|passkeys| passkeys.only_step)
    }

    /// What to ask an authenticator for a login without a name and a password. `None` where there is no such login.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn begin_passkey_login(&self) -> Result<Option<PasskeyRequest>, IdentityError> {
        self.begin_passkey_login_in(None)
    }

    /// The same, for users of this realm alone where one is named.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn begin_passkey_login_in(
        &self,
        realm: Option<&str>,
    ) -> Result<Option<PasskeyRequest>, IdentityError> {
        match self.settings().passkeys.as_ref().filter(|passkeys| passkeys.only_step) {
            Some(settings) => {
                let login = realm.map_or(Ceremony::Login, |realm| Ceremony::LoginIn(realm.to_owned()));
                let ticket = Ticket::new(login, self.now().plus(TICKET_LIFETIME))?;
                self.asked(settings, &ticket, None).map(Some)
            }
            None => Ok(None),
        }
    }

    /// What to ask an authenticator for the second step of a login, by [`Login::CodeNeeded`]. `None` where its user has no passkey.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn begin_passkey_step(&self, challenge: &str) -> Result<Option<PasskeyRequest>, IdentityError> {
        match self.opened_challenge(challenge) {
            Some(ChallengedUser { user, until, .. }) => {
                self.asked_of(&user, Ceremony::Step(challenge.to_owned()), until)
            }
            None => Ok(None),
        }
    }

    /// What to ask an authenticator to raise the level of a token's session. `None` where its user has no passkey.
    ///
    /// # Errors
    /// The token is refused, or there is no randomness.
    pub async fn begin_passkey_step_up(&self, token: &str) -> Result<Option<PasskeyRequest>, Failed> {
        let who = self.validate(token, Purpose::Use).await?;
        self.begin_passkey_step_up_of(&who.user).map_err(Failed::Directory)
    }

    /// The same for the user of a session that the caller has looked at.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn begin_passkey_step_up_of(&self, user: &User) -> Result<Option<PasskeyRequest>, IdentityError> {
        let (realm, subject) = (user.realm().to_owned(), user.subject().to_owned());
        let until = self.now().plus(TICKET_LIFETIME);
        self.asked_of(user, Ceremony::StepUp { realm, subject }, until)
    }

    /// Asks for one of a user's passkeys, if they have some.
    fn asked_of(
        &self,
        user: &User,
        ceremony: Ceremony,
        until: Moment,
    ) -> Result<Option<PasskeyRequest>, IdentityError> {
        let Some(settings) = &self.settings().passkeys else { return Ok(None) };
        let Some(account) = self.kept_of(user).filter(|account| !account.passkeys.is_empty()) else {
            return Ok(None);
        };
        self.asked(settings, &Ticket::new(ceremony, until)?, Some(&account)).map(Some)
    }

    fn asked(
        &self,
        settings: &PasskeySettings,
        ticket: &Ticket,
        account: Option<&Account>,
    ) -> Result<PasskeyRequest, IdentityError> {
        let options = RequestOptions {
            party: &settings.party,
            challenge: &ticket.challenge(),
            passkeys: account.map(|account| &account.passkeys),
            verification: wanted(&ticket.ceremony),
            timeout_ms: ticket.timeout_ms(self.now()),
        };
        let has_code = account.is_some_and(|account| account.second_step.is_some());
        self.sealed_ticket(ticket, options.to_json(), has_code)
    }

    /// What is kept here of a user: all passkeys are.
    fn kept_of(&self, user: &User) -> Option<Account> {
        let store = self.users(user.realm())?.store()?;
        store.account(user).ok()?
    }

    /// Finishes a login with a passkey: the whole of it, or its second step. It goes on to its end also when the caller does not wait for
    /// it.
    ///
    /// # Errors
    /// As [`Service::login`].
    pub async fn login_with_passkey(&self, answer: PasskeyAnswer) -> Result<Login, Refused> {
        let service = self.clone();
        let login = self.parts().runtime.spawn(async move {
            let result = service.log_in_with_passkey(answer).await;
            service.count_login(&result);
            result
        });
        login.await.unwrap_or(Err(Refused::Unavailable(Lack::Store)))
    }

    async fn log_in_with_passkey(&self, answer: PasskeyAnswer) -> Result<Login, Refused> {
        self.has_started().await;
        let PasskeyAnswer { ticket, credential, address, mut properties, device: shown } = answer;
        let Some(ticket) = self.open_ticket(&ticket) else {
            self.note_turned_away(address, "no challenge for a passkey, or one whose time is over").await;
            return Err(Refused::Wrong);
        };
        let assertion = match Assertion::read(&credential) {
            Ok(assertion) => assertion,
            Err(refusal) => return Err(self.refused_passkey(None, address, refusal).await),
        };
        self.follow_users().await;
        let Some(Claimed { user, first_at_ms, has_password, pending }) = self.claimed(&ticket, &assertion)
        else {
            return Err(self.refused_passkey(None, address, PasskeyRefusal::UserHandle).await);
        };
        let users = self.users(user.realm()).ok_or(Refused::UnknownRealm)?;
        self.knows_users(&*users)?;
        let passkey_use = self.verified(&*users, &user, &ticket, &assertion, address).await?;
        let account = found(users.account(&user).await)?;
        // They may have been disabled or removed, or given another password than the one that was shown.
        let is_let_in = |account: &Account| {
            let is_same = account.user().is_ok_and(|name| self.are_same(&name, &user));
            let is_of_then = first_at_ms.is_none_or(|at| account.password_since_ms <= at);
            is_same && is_of_then && has_passkey(account, &passkey_use) && !account.disabled
        };
        let Some(account) = account.filter(is_let_in) else {
            self.note_failure(&user, address, "disabled, or changed meanwhile").await;
            return Err(Refused::Wrong);
        };
        // A directory may write the name in another way: its way counts.
        let user = account.user().map_err(Refused::Directory)?;
        if let Some(full) = self.parts().sessions.full(&user) {
            return Err(of_full(full));
        }
        let amr = amr(&account, &passkey_use, has_password);
        self.use_up(&*users, &user, &ticket, passkey_use, address).await?;
        let pending = match pending {
            Some(pending) => Some(pending),
            // Marked, or grown too old, in the meantime.
            None if has_password => self.pending_change(&*users, &account, None)?,
            // No password was asked for, so none has to be changed.
            None => None,
        };
        if let Some(pending) = pending {
            return self.change_needed(pending, CodeStanding::Given, &user, address).await;
        }
        // A surface's own properties leave room for it.
        properties.set(AMR, &amr).map_err(Refused::Directory)?;
        let level = self.settings().second_step_level;
        let device = self.known_device(shown.as_deref(), &user).await;
        let since = Moment::from_ms(account.password_since_ms);
        let begin = SessionStart { user, account: &account, level, properties, address, vouched_by: None };
        let mut granted = self.begin(begin).await?;
        granted.device = self.proof_of_device(shown.as_deref(), device, &granted.user, true, since);
        Ok(Login::Granted(granted, Box::new(account)))
    }

    /// Who the ticket says that the user is, or the authenticator where nobody has said so before.
    fn claimed(&self, ticket: &Ticket, assertion: &Assertion) -> Option<Claimed> {
        match &ticket.ceremony {
            Ceremony::Login if self.has_passkey_login() => self.claimed_by_handle(assertion),
            Ceremony::LoginIn(realm) if self.has_passkey_login() => {
                self.claimed_by_handle(assertion).filter(|claimed| claimed.user.realm() == realm)
            }
            Ceremony::Step(challenge) => {
                let ChallengedUser { user, until, has_password, pending } =
                    self.opened_challenge(challenge)?;
                let at = until.ms().saturating_sub(millis(self.settings().challenge_lifetime));
                Some(Claimed { user, first_at_ms: Some(at), has_password, pending })
            }
            Ceremony::Login | Ceremony::LoginIn(_) | Ceremony::StepUp { .. } | Ceremony::Enrol { .. } => None,
        }
    }

    /// Who the authenticator says that the user is.
    fn claimed_by_handle(&self, assertion: &Assertion) -> Option<Claimed> {
        let handle = UserHandle::of(assertion.user_handle()?)?;
        let user = self.stores().iter().find_map(|store| store.user_of_handle(&handle))?;
        Some(Claimed { user, first_at_ms: None, has_password: false, pending: None })
    }

    /// The use of one of the user's passkeys, by its signature. It is not used up by that.
    async fn verified(
        &self,
        users: &dyn UserDirectory,
        user: &User,
        ticket: &Ticket,
        assertion: &Assertion,
        address: IpAddr,
    ) -> Result<PasskeyUse, Refused> {
        let known = users.store().map(|store| store.account(user)).transpose().map_err(Refused::Directory)?;
        let passkeys = known.flatten().map(|account| account.passkeys).unwrap_or_default();
        let Some(settings) = &self.settings().passkeys else {
            return Err(self.refused_passkey(Some(user), address, PasskeyRefusal::Unknown).await);
        };
        let verification = wanted(&ticket.ceremony);
        let verified = verify(&settings.party, &ticket.challenge(), verification, &passkeys, assertion);
        match verified {
            Ok(passkey_use) => Ok(passkey_use),
            Err(refusal) => Err(self.refused_passkey(Some(user), address, refusal).await),
        }
    }

    /// Uses up the challenge and the count, on all nodes as surely as the mode promises.
    async fn use_up(
        &self,
        users: &dyn UserDirectory,
        user: &User,
        ticket: &Ticket,
        passkey_use: PasskeyUse,
        address: IpAddr,
    ) -> Result<(), Refused> {
        match self.is_first_answer(ticket).await {
            Ok(true) => {}
            Ok(false) => {
                self.note_failure(user, address, "a challenge for a passkey that was answered before").await;
                return Err(Refused::Wrong);
            }
            Err(Failed::Unavailable(lack)) => return Err(Refused::Unavailable(lack)),
            Err(_) => return Err(Refused::Unknown),
        }
        let Some(store) = users.store() else { return Err(Refused::Wrong) };
        let whose = user.clone();
        if written(store, whose, passkey_use).await? {
            return Ok(());
        }
        Err(self.refused_passkey(Some(user), address, PasskeyRefusal::SignCount).await)
    }

    /// Notes why a passkey is refused; whoever brought it hears no more than that it is. A counter that went back has a line of its own: the
    /// signature was right, so no stranger writes many of them.
    async fn refused_passkey(
        &self,
        user: Option<&User>,
        address: IpAddr,
        refusal: PasskeyRefusal,
    ) -> Refused {
        let why = format!("passkey: {refusal}");
        match user {
            Some(user) if refusal == PasskeyRefusal::SignCount => {
                tracing::warn!(%user, "a passkey's counter did not grow: there may be a copy of its authenticator");
                self.note_failure(user, address, &why).await;
            }
            Some(user) => {
                let event = AuditEvent::new(Kind::LoginFailed).of(user).detail(&why);
                self.record_turned_away(address, event).await;
            }
            None => self.note_turned_away(address, &why).await,
        }
        Refused::Wrong
    }

    /// Raises the level of the token's session by a passkey. The answer is a token with the higher level.
    ///
    /// # Errors
    /// The token is refused, the passkey is not right, or it cannot be done.
    pub async fn step_up_with_passkey(&self, token: &str, answer: PasskeyAnswer) -> Result<Granted, Failed> {
        let who = self.validate(token, Purpose::Use).await?;
        let PasskeyAnswer { ticket, credential, address, .. } = answer;
        self.follow_users().await;
        let users = self.users(who.user.realm()).ok_or(Failed::UnknownRealm)?;
        self.knows_users(&*users).map_err(super::holder::of_step)?;
        let ticket = self
            .open_ticket(&ticket)
            .filter(|ticket| matches!(ticket.ceremony, Ceremony::StepUp { .. }) && ticket.is_of(&who.user));
        let (Some(ticket), Ok(assertion)) = (ticket, Assertion::read(&credential)) else {
            return Err(Failed::Code);
        };
        let account = self.active_account(&who.user).await?.ok_or(Failed::Code)?;
        let stepped = async {
            let passkey_use = self.verified(&*users, &who.user, &ticket, &assertion, address).await?;
            if !has_passkey(&account, &passkey_use) {
                return Err(self.refused_passkey(Some(&who.user), address, PasskeyRefusal::Unknown).await);
            }
            let amr = amr(&account, &passkey_use, true);
            self.use_up(&*users, &who.user, &ticket, passkey_use, address).await?;
            Ok(amr)
        };
        let amr = stepped.await.map_err(super::holder::of_step)?;
        let properties = vec![(AMR.into(), Some(amr.into()))];
        let change = SessionChange { level: self.settings().second_step_level, properties };
        let granted = self.change(&who, change).await?;
        let event = of_session(AuditEvent::new(Kind::SteppedUp), &who.user, who.id).detail("passkey");
        self.record(event.address(&address.to_string())).await;
        Ok(granted)
    }
}

/// What a ceremony demands of the user.
fn wanted(ceremony: &Ceremony) -> Verification {
    match ceremony {
        Ceremony::Login | Ceremony::LoginIn(_) => Verification::Required,
        Ceremony::Step(_) | Ceremony::StepUp { .. } | Ceremony::Enrol { .. } => Verification::Optional,
    }
}

/// Whether a passkey is of this account, and not of whoever had its name before.
fn has_passkey(account: &Account, passkey_use: &PasskeyUse) -> bool {
    account.passkeys.find(passkey_use.id()).is_some()
}

/// How the user logged in (RFC 8176): a key that leaves its device is no hardware's.
fn amr(account: &Account, passkey_use: &PasskeyUse, has_password: bool) -> String {
    let passkey = account.passkeys.find(passkey_use.id());
    let key = if passkey.is_some_and(|passkey| passkey.is_backup_eligible()) { "swk" } else { "hwk" };
    let password = if has_password { "pwd " } else { "" };
    format!("{password}{key} user mfa")
}

fn found(answer: Result<Option<Account>, DirectoryFault>) -> Result<Option<Account>, Refused> {
    answer.map_err(|fault| match fault {
        DirectoryFault::Busy { retry_after } => Refused::Busy { retry_after },
        DirectoryFault::Failed(error) => Refused::Directory(error),
    })
}

/// On a thread, for the disk.
async fn written(store: Arc<dyn UserStore>, user: User, passkey_use: PasskeyUse) -> Result<bool, Refused> {
    let written = tokio::task::spawn_blocking(move || store.use_passkey(&user, &passkey_use)).await;
    let failed = |_| Refused::Directory(IdentityError::new("taking note of a passkey failed"));
    written.map_err(failed)?.map_err(Refused::Directory)
}
