//! A login from the request to the session: delay, directory, second step, session; each attempt is noted in the audit.

use std::fmt;
use std::net::IpAddr;

use durward_identity::Moment;
use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::login::{CredentialKind, DeviceId};
use durward_identity::protocol::{AskOutcome, Lack, NodeEvent};
use durward_identity::session::{Level, Properties, SessionLimitReached, User};
use durward_identity::user::{Account, LoginFailure, Password, PasswordCheck};
use tokio::sync::oneshot;

use super::Service;
use super::devices::LoginDevice;
use super::password_change::{CodeStanding, PendingChange};
use super::turns::{AttemptPermit, AttemptRejected, Claimant, ClientGone};
use crate::counters::Counter;
use crate::directory::{DirectoryFault, UserDirectory};
use crate::outcome::{Granted, Login, Refused};
use crate::seldom::Seldom;
use crate::settings::SecondStepPolicy;

/// The session that a login asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wanted {
    /// A session.
    #[default]
    Session,
    /// Only to know whether it is the user.
    Recognition,
}

/// A login attempt: the claimed user and the credentials.
#[derive(Clone)]
pub struct LoginRequest {
    /// The realm; the root realm is `/`.
    pub realm: String,
    /// The name in the realm.
    pub user: String,
    /// The password.
    pub password: String,
    /// The code of the second step, where it is at hand already.
    pub code: Option<String>,
    /// From where: the client's address and not that of a proxy, if that can be known.
    pub address: IpAddr,
    /// What is kept with the session from its beginning.
    pub properties: Properties,
    /// What is wanted.
    pub wanted: Wanted,
    /// The proof that the user has logged in on this device before: [`Granted::device`]. What is none counts as nothing.
    pub device: Option<String>,
}

impl LoginRequest {
    /// A login with a password, for a session without properties.
    pub fn new(realm: &str, user: &str, password: &str, address: IpAddr) -> LoginRequest {
        LoginRequest {
            realm: realm.to_owned(),
            user: user.to_owned(),
            password: password.to_owned(),
            code: None,
            address,
            properties: Properties::new(),
            wanted: Wanted::Session,
            device: None,
        }
    }
}

/// Without the password and the code.
impl fmt::Debug for LoginRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginRequest")
            .field("realm", &self.realm)
            .field("user", &self.user)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The second half of a login.
struct ChallengeAnswer {
    challenge: String,
    code: String,
    address: IpAddr,
    properties: Properties,
    device: Option<String>,
}

/// The user that a challenge was made for.
pub(super) struct ChallengedUser {
    pub(super) user: User,
    pub(super) until: Moment,
    /// Whether a password was asked for, and not another provider.
    pub(super) has_password: bool,
    /// What must be changed before there is a session.
    pub(super) pending: Option<PendingChange>,
}

/// What a new session starts with.
pub(super) struct SessionStart<'a> {
    pub(super) user: User,
    /// The account as it was when the user was let in.
    pub(super) account: &'a Account,
    pub(super) level: Level,
    pub(super) properties: Properties,
    pub(super) address: IpAddr,
    /// Who says so, where it is somebody else.
    pub(super) vouched_by: Option<&'a str>,
}

impl Service {
    /// Authenticates a user and opens a session. It goes on to its end also when the caller does not wait for it, once its
    /// turn has come.
    ///
    /// # Errors
    /// The login was refused; see [`Refused`] for what the user may be told.
    pub async fn login(&self, request: LoginRequest) -> Result<Login, Refused> {
        let service = self.clone();
        let (_here, mut gone) = oneshot::channel();
        let login = self.0.parts.runtime.spawn(async move {
            let result = service.log_in(request, &mut gone).await;
            service.count_login(&result);
            result
        });
        login.await.unwrap_or(Err(Refused::Unavailable(Lack::Store)))
    }

    /// Finishes a login that [`Login::CodeNeeded`] told to bring a code.
    ///
    /// # Errors
    /// As [`Service::login`].
    pub async fn answer_challenge(
        &self,
        challenge: &str,
        code: &str,
        address: IpAddr,
        properties: Properties,
    ) -> Result<Login, Refused> {
        self.answer_challenge_on(None, challenge, code, address, properties).await
    }

    /// The same on a device whose proof is shown: [`LoginRequest::device`].
    ///
    /// # Errors
    /// As [`Service::login`].
    pub async fn answer_challenge_on(
        &self,
        device: Option<&str>,
        challenge: &str,
        code: &str,
        address: IpAddr,
        properties: Properties,
    ) -> Result<Login, Refused> {
        let (service, device) = (self.clone(), device.map(str::to_owned));
        let (challenge, code) = (challenge.to_owned(), code.to_owned());
        let (_here, mut gone) = oneshot::channel();
        let login = self.0.parts.runtime.spawn(async move {
            let request = ChallengeAnswer { challenge, code, address, properties, device };
            let result = service.log_in_with_code(request, &mut gone).await;
            service.count_login(&result);
            result
        });
        login.await.unwrap_or(Err(Refused::Unavailable(Lack::Store)))
    }

    pub(super) fn count_login(&self, result: &Result<Login, Refused>) {
        self.count(match result {
            Ok(Login::Granted(..) | Login::Recognized(_)) => Counter::LoginGranted,
            Ok(Login::CodeNeeded(_) | Login::PasswordChangeNeeded(_)) => return,
            Err(Refused::Wrong | Refused::PasswordOver | Refused::UnknownRealm) => Counter::LoginFailed,
            Err(Refused::Delayed { .. }) => Counter::LoginDelayed,
            Err(Refused::Busy { .. } | Refused::Crowded { .. }) => Counter::LoginTurnedAway,
            Err(
                Refused::UserFull
                | Refused::NodeFull
                | Refused::Directory(_)
                | Refused::Unavailable(_)
                | Refused::Unknown,
            ) => Counter::LoginUnavailable,
        });
    }

    async fn log_in(&self, request: LoginRequest, gone: &mut ClientGone) -> Result<Login, Refused> {
        self.has_started().await;
        let LoginRequest { realm, user, password, code, address, properties, wanted, device: shown } =
            request;
        let Some(users) = self.users(&realm) else {
            self.note_turned_away(address, "unknown realm").await;
            return Err(Refused::UnknownRealm);
        };
        // What cannot be a name is nobody's: the answer is the same as for a name that does not exist.
        let Ok(user) = User::new(&realm, &user) else {
            self.note_turned_away(address, "no name").await;
            return Err(Refused::Wrong);
        };
        self.knows_users(&*users)?;
        let device = self.known_device(shown.as_deref(), &user).await;
        let mut guess = self.attempt_on(device, CredentialKind::Password, &user, address, gone).await?;
        self.follow_users().await;
        let Ok(given) = Password::new(&password) else {
            guess.failed();
            self.note_failure(&user, address, "no password, or one too long").await;
            return Err(Refused::Wrong);
        };
        let checked = match device.for_password() {
            Some(_) => users.check_first(self.now(), &user, given).await,
            None => users.check(self.now(), &user, given).await,
        };
        let account = match self.decided(checked, &user, address, &mut guess).await? {
            PasswordCheck::Right(account) => account,
            PasswordCheck::Wrong(why) => {
                guess.failed();
                self.note_failure(&user, address, words(why)).await;
                return Err(of_failure(why));
            }
        };
        // A directory may write the name in another way: its way counts.
        let user = account.user().map_err(Refused::Directory)?;
        let pending = match self.pending_change(&*users, &account, Some(&password)) {
            Ok(pending) => pending,
            Err(refused) => {
                guess.succeeded();
                self.note_failure(&user, address, words(LoginFailure::PasswordOver)).await;
                return Err(refused);
            }
        };
        let is_asked = account.has_second_step()
            && (code.is_some()
                // A password alone does not become another one.
                || pending.is_some()
                || self.settings().second_step == SecondStepPolicy::AtLogin);
        let has_code = is_asked && code.is_some();
        let level = match (is_asked, code) {
            (false, _) => {
                guess.succeeded();
                self.settings().password_level
            }
            (true, None) => {
                guess.undecided();
                let lifetime = self.settings().challenge_lifetime;
                let challenge = match pending {
                    Some(pending) => self.sealed_change(pending, CodeStanding::Missing, lifetime)?,
                    None => self.0.challenges.make(&user, self.now().plus(lifetime)),
                };
                return Ok(Login::CodeNeeded(challenge));
            }
            (true, Some(code)) => {
                // Over before the next one begins: who waits must not be in the way of others.
                guess.undecided();
                let mut guess = self.attempt_on(device, CredentialKind::Code, &user, address, gone).await?;
                self.has_room(&user, wanted, &mut guess)?;
                self.check_code(&*users, &user, &code, address, &mut guess).await?;
                guess.succeeded();
                self.settings().second_step_level
            }
        };
        if let Some(pending) = pending {
            let code = if has_code { CodeStanding::Given } else { CodeStanding::NotAsked };
            return self.change_needed(pending, code, &user, address).await;
        }
        match wanted {
            Wanted::Recognition => {
                self.note_login(&user, address, AuditEvent::new(Kind::Login).detail("no session")).await;
                Ok(Login::Recognized(account))
            }
            Wanted::Session => {
                let begin =
                    SessionStart { user, account: &account, level, properties, address, vouched_by: None };
                let mut granted = self.begin(begin).await?;
                let since = Moment::from_ms(account.password_since_ms);
                granted.device =
                    self.proof_of_device(shown.as_deref(), device, &granted.user, has_code, since);
                Ok(Login::Granted(granted, account))
            }
        }
    }

    async fn log_in_with_code(
        &self,
        request: ChallengeAnswer,
        gone: &mut ClientGone,
    ) -> Result<Login, Refused> {
        let ChallengeAnswer { challenge, code, address, properties, device: proofs } = request;
        let Some(ChallengedUser { user, until, has_password, pending }) = self.opened_challenge(&challenge)
        else {
            self.note_turned_away(address, "no challenge, or one whose time is over").await;
            return Err(Refused::Wrong);
        };
        let users = self.users(user.realm()).ok_or(Refused::UnknownRealm)?;
        self.knows_users(&*users)?;
        let device = self.known_device(proofs.as_deref(), &user).await;
        let mut guess = self.attempt_on(device, CredentialKind::Code, &user, address, gone).await?;
        self.follow_users().await;
        let found = users.account(&user).await;
        let account = self.decided(found, &user, address, &mut guess).await?;
        // In the meantime the user may have been disabled or removed, or given another password than the one that was shown.
        let shown = until.ms().saturating_sub(millis(self.settings().challenge_lifetime));
        let is_let_in = |account: &Account| !account.disabled && account.password_since_ms <= shown;
        let Some(account) = account.filter(is_let_in) else {
            guess.failed();
            self.note_failure(&user, address, words(LoginFailure::Disabled)).await;
            return Err(Refused::Wrong);
        };
        self.has_room(&user, Wanted::Session, &mut guess)?;
        self.check_code(&*users, &user, &code, address, &mut guess).await?;
        guess.succeeded();
        let pending = match pending {
            Some(pending) => Some(pending),
            // Marked, or grown too old, in the meantime.
            None if has_password => self.pending_change(&*users, &account, None)?,
            None => None,
        };
        if let Some(pending) = pending {
            return self.change_needed(pending, CodeStanding::Given, &user, address).await;
        }
        let level = self.settings().second_step_level;
        let begin = SessionStart { user, account: &account, level, properties, address, vouched_by: None };
        let mut granted = self.begin(begin).await?;
        let since = Moment::from_ms(account.password_since_ms);
        granted.device = self.proof_of_device(proofs.as_deref(), device, &granted.user, true, since);
        Ok(Login::Granted(granted, Box::new(account)))
    }

    /// Whose password was right, or for whom another provider vouched, if the challenge is good.
    pub(super) fn opened_challenge(&self, challenge: &str) -> Option<ChallengedUser> {
        if let Some(pending) = self.opened_change(challenge) {
            // Of one whose code has come, no code is asked again.
            let is_asked = pending.code == CodeStanding::Missing;
            let (user, until) = (pending.user().clone(), pending.until());
            let pending = Some(pending);
            return is_asked.then_some(ChallengedUser { user, until, has_password: true, pending });
        }
        if let Some((user, until)) = self.0.upstream_challenges.open(challenge, self.now()) {
            return Some(ChallengedUser { user, until, has_password: false, pending: None });
        }
        let (user, until) = self.0.challenges.open(challenge, self.now())?;
        Some(ChallengedUser { user, until, has_password: true, pending: None })
    }

    /// That this node knows of its own users what the others know, where they share them: else somebody who was disabled might log in.
    pub(super) fn knows_users(&self, users: &dyn UserDirectory) -> Result<(), Refused> {
        let lack = self.lacks_users().filter(|_| users.store().is_some());
        lack.map_or(Ok(()), |lack| Err(Refused::Unavailable(lack)))
    }

    /// Waits until the attempt may be made.
    pub(super) async fn attempt_on(
        &self,
        device: LoginDevice,
        proof: CredentialKind,
        user: &User,
        address: IpAddr,
        gone: &mut ClientGone,
    ) -> Result<AttemptPermit, Refused> {
        let device: Option<DeviceId> = match proof {
            CredentialKind::Password => device.for_password(),
            CredentialKind::Code => device.for_code(),
        };
        let claimant = Claimant { proof, user: &self.counted_as(user), address, device };
        let turn = self.0.turns.attempt(claimant, gone).await;
        let (kind, refused) = match turn {
            Ok(guess) => return Ok(guess),
            Err(AttemptRejected::Delayed { retry_after }) => {
                (Kind::LoginDelayed, Refused::Delayed { retry_after })
            }
            Err(AttemptRejected::Crowded { retry_after }) => {
                (Kind::LoginTurnedAway, Refused::Crowded { retry_after })
            }
        };
        self.record_turned_away(address, AuditEvent::new(kind).of(user)).await;
        Err(refused)
    }

    /// What a directory says; where it says nothing, the attempt does not count.
    pub(super) async fn decided<T>(
        &self,
        answer: Result<T, DirectoryFault>,
        user: &User,
        address: IpAddr,
        guess: &mut AttemptPermit,
    ) -> Result<T, Refused> {
        let fault = match answer {
            Ok(answer) => return Ok(answer),
            Err(fault) => fault,
        };
        guess.undecided();
        match fault {
            DirectoryFault::Busy { retry_after } => {
                self.record_turned_away(address, AuditEvent::new(Kind::LoginTurnedAway).of(user)).await;
                Err(Refused::Busy { retry_after })
            }
            DirectoryFault::Failed(error) => {
                // The audit record has each of them.
                if self.0.unanswered.get(user.realm()).is_none_or(Seldom::is_due) {
                    tracing::error!(%error, realm = user.realm(), "the user directory cannot be asked");
                }
                let event = AuditEvent::new(Kind::LoginFailed).detail(&format!("directory: {error}"));
                self.record_turned_away(address, event.of(user)).await;
                Err(Refused::Directory(error))
            }
        }
    }

    /// Whether there may be one more session, before a code is used up for it.
    fn has_room(&self, user: &User, wanted: Wanted, guess: &mut AttemptPermit) -> Result<(), Refused> {
        match self.0.parts.sessions.full(user).filter(|_| wanted == Wanted::Session) {
            None => Ok(()),
            Some(full) => {
                guess.undecided();
                Err(of_full(full))
            }
        }
    }

    pub(super) async fn begin(&self, begin: SessionStart<'_>) -> Result<Granted, Refused> {
        let SessionStart { user, account, level, properties, address, vouched_by } = begin;
        let _users_stay = self.0.beginning.read().await;
        if !self.still_holds(account) {
            self.note_failure(&user, address, "changed in this moment").await;
            return Err(Refused::Wrong);
        }
        let whose = user.clone();
        let answer = self.ask(|ask| NodeEvent::Login { ask, user: whose, level, properties }).await;
        let refused = match answer {
            Some(AskOutcome::Token { id, token }) => {
                let event = super::of_session(AuditEvent::new(Kind::Login), &user, id);
                let event = vouched_by.iter().fold(event, |event, name| event.detail(name));
                self.record(event.address(&address.to_string())).await;
                let session = &self.settings().session;
                // To the second, as the token says it; the table knows it exactly while the session lives.
                let ends = self.0.parts.sessions.get(&user, id);
                let ends = ends.map_or_else(|| self.now().plus(session.lifetime_max), |session| session.ends);
                return Ok(Granted { token, id, user, level, ends, idle: session.idle_max, device: None });
            }
            Some(AskOutcome::Full(full)) => of_full(full),
            Some(AskOutcome::Unavailable(lack)) => Refused::Unavailable(lack),
            Some(
                AskOutcome::Unknown
                | AskOutcome::Done
                | AskOutcome::NoSession
                | AskOutcome::Used
                | AskOutcome::Forgotten
                | AskOutcome::Permit(_),
            ) => Refused::Unknown,
            None => Refused::Unavailable(Lack::Store),
        };
        self.note_failure(&user, address, &refused.to_string()).await;
        Err(refused)
    }

    pub(super) async fn note_failure(&self, user: &User, address: IpAddr, why: &str) {
        self.note_login(user, address, AuditEvent::new(Kind::LoginFailed).detail(why)).await;
    }

    /// A failure of somebody of whom no password or code was looked at, and that counts for nobody.
    pub(super) async fn note_turned_away(&self, address: IpAddr, why: &str) {
        self.record_turned_away(address, AuditEvent::new(Kind::LoginFailed).detail(why)).await;
    }

    async fn note_login(&self, user: &User, address: IpAddr, event: AuditEvent) {
        self.record(event.of(user).address(&address.to_string())).await;
    }
}

pub(super) fn of_full(full: SessionLimitReached) -> Refused {
    match full {
        SessionLimitReached::User => Refused::UserFull,
        SessionLimitReached::Node => Refused::NodeFull,
    }
}

pub(super) fn millis(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn words(why: LoginFailure) -> &'static str {
    match why {
        LoginFailure::UnknownUser => "unknown user",
        LoginFailure::Password => "wrong password",
        LoginFailure::Disabled => "disabled",
        LoginFailure::Code => "wrong code",
        LoginFailure::PasswordOver => "the password must be changed, which is not possible here",
    }
}

/// What the user is told.
fn of_failure(why: LoginFailure) -> Refused {
    match why {
        LoginFailure::PasswordOver => Refused::PasswordOver,
        LoginFailure::UnknownUser | LoginFailure::Password | LoginFailure::Disabled | LoginFailure::Code => {
            Refused::Wrong
        }
    }
}

/// The account as it is, for surfaces that show it.
impl Login {
    /// What the directory knows of the user, where the login is done.
    pub fn account(&self) -> Option<&Account> {
        match self {
            Login::Granted(_, account) | Login::Recognized(account) => Some(account),
            Login::CodeNeeded(_) | Login::PasswordChangeNeeded(_) => None,
        }
    }
}
