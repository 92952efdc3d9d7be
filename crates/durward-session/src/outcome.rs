//! Outcomes of the service's calls: granted sessions, and why something was refused.

use std::fmt;
use std::time::Duration;

use durward_identity::passkey::PasskeyRefusal;
use durward_identity::protocol::Lack;
use durward_identity::session::{Level, Refusal, SessionClaims, SessionId, User};
use durward_identity::user::{Account, PasswordRefusal};
use durward_identity::{IdentityError, Moment, Stamp};

use crate::directory::PasswordRejection;

/// A session that was granted.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    /// The token: whoever has it has the session.
    pub token: String,
    /// What names the session; no secret.
    pub id: SessionId,
    /// Whose it is.
    pub user: User,
    /// How sure it is who the user is.
    pub level: Level,
    /// When it ends, however much it is used.
    pub ends: Moment,
    /// How long it may lie unused; zero is for ever.
    pub idle: Duration,
    /// After a login, the proof that the user has logged in on this device, for the client to keep and to bring along when they log in again
    /// ([`crate::LoginRequest::device`]); it opens nothing.
    pub device: Option<String>,
}

/// The outcome of a login that did not fail.
#[derive(Clone, Debug, PartialEq)]
pub enum Login {
    /// A session, and what the directory knows of its user.
    Granted(Granted, Box<Account>),
    /// It was the right user, and no session was wanted.
    Recognized(Box<Account>),
    /// The first step was right, and a code is wanted: give it with this text to [`crate::Service::answer_challenge`], on any node.
    /// The text is no secret that opens anything by itself.
    CodeNeeded(String),
    /// The password was right, and so was the code where one is wanted: there is no session before the user has chosen another password. Give
    /// that with this text to [`crate::Service::choose_password`], on any node. Without another password, the text opens nothing.
    PasswordChangeNeeded(String),
}

/// Why a login was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// No such user, another password, a disabled user, a wrong code, or a challenge that is over: whoever asks is not to know which.
    Wrong,
    /// The password is right and must be changed, which is not possible here. Whoever did not know it is not told.
    PasswordOver,
    /// There is no such realm.
    UnknownRealm,
    /// Too many failures: to be tried again after this.
    Delayed {
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// Too many others of this user, or from this address, are not decided yet: to be tried again after this.
    Crowded {
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// Too many log in at once: to be tried again after this.
    Busy {
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// The user has as many sessions as they may have.
    UserFull,
    /// The node has as many sessions as it can.
    NodeFull,
    /// The directory cannot say at the moment; the reason is for the operator.
    Directory(IdentityError),
    /// This node cannot take logins at the moment.
    Unavailable(Lack),
    /// The store did not say in time whether it has the session: it comes to nothing.
    Unknown,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Wrong => f.write_str("the login failed"),
            Refused::PasswordOver => f.write_str(
                "the password must be changed, and cannot be changed here: change it where you usually do, or ask your administrator",
            ),
            Refused::UnknownRealm => f.write_str("there is no such realm"),
            Refused::Delayed { retry_after } => {
                write!(f, "too many failed logins; try again in {} s", seconds(*retry_after))
            }
            Refused::Busy { retry_after } => {
                write!(f, "too many logins at once; try again in {} s", seconds(*retry_after))
            }
            Refused::Crowded { retry_after } => {
                let seconds = seconds(*retry_after);
                write!(
                    f,
                    "too many logins of this user or from this address at once; try again in {seconds} s"
                )
            }
            Refused::UserFull => f.write_str("this user has as many sessions as he may; log out of one"),
            Refused::NodeFull => f.write_str("this node has as many sessions as it can; try another one"),
            Refused::Directory(_) => f.write_str("the user directory cannot be asked; try again later"),
            Refused::Unavailable(lack) => lack.fmt(f),
            Refused::Unknown => {
                f.write_str("the session store did not answer in time; the login came to nothing")
            }
        }
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// When to try again, where that helps.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Refused::Delayed { retry_after }
            | Refused::Crowded { retry_after }
            | Refused::Busy { retry_after } => Some(*retry_after),
            Refused::Directory(_) | Refused::Unavailable(_) | Refused::Unknown => {
                Some(Duration::from_secs(1))
            }
            Refused::Wrong
            | Refused::PasswordOver
            | Refused::UnknownRealm
            | Refused::UserFull
            | Refused::NodeFull => None,
        }
    }
}

fn seconds(span: Duration) -> u64 {
    span.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}

/// Why an operation on a session failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The token that was shown is not accepted.
    Token(Refusal),
    /// Whoever shows it may not do this.
    Forbidden,
    /// They may do this with a token of the second step's level, which this one is not.
    SecondStepNeeded,
    /// There is no such session.
    NoSession,
    /// There is no such realm.
    UnknownRealm,
    /// The code is wrong, was used before, or the user has no second step.
    Code,
    /// Too many failures: to be tried again after this.
    Delayed {
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// The properties cannot be these.
    Properties(IdentityError),
    /// The directory cannot say at the moment; the reason is for the operator.
    Directory(IdentityError),
    /// This node cannot do it at the moment.
    Unavailable(Lack),
    /// The store did not say in time whether it has it. What was ended is ended here, and on its way to the others.
    Unknown,
}

impl Failed {
    /// Whether it says nothing about the user, the session or the call: something that is needed cannot be asked at the moment, or has no
    /// room.
    pub fn is_temporary(&self) -> bool {
        match self {
            Failed::Token(Refusal::Unavailable)
            | Failed::Directory(_)
            | Failed::Unavailable(_)
            | Failed::Delayed { .. }
            | Failed::Unknown => true,
            Failed::Token(_)
            | Failed::Forbidden
            | Failed::SecondStepNeeded
            | Failed::NoSession
            | Failed::UnknownRealm
            | Failed::Code
            | Failed::Properties(_) => false,
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // No more than that: see `Refusal`.
            Failed::Token(Refusal::Unavailable) => Refusal::Unavailable.fmt(f),
            Failed::Token(_) => f.write_str("the session token is not accepted; log in again"),
            Failed::Forbidden => f.write_str("this session may not do that; an administrator's may"),
            Failed::SecondStepNeeded => f.write_str(
                "an administrator who has a second step must have taken it: log in with a code, or step up",
            ),
            Failed::NoSession => f.write_str("there is no such session"),
            Failed::UnknownRealm => f.write_str("there is no such realm"),
            Failed::Code => f.write_str("the code is wrong or was used before, or there is no second step"),
            Failed::Delayed { retry_after } => {
                write!(f, "too many failures; try again in {} s", seconds(*retry_after))
            }
            Failed::Properties(error) => error.fmt(f),
            Failed::Directory(_) => f.write_str("the user directory cannot be asked; try again later"),
            Failed::Unavailable(lack) => lack.fmt(f),
            Failed::Unknown => f.write_str(
                "the session store did not answer in time: it is done on this node and on its way to the others",
            ),
        }
    }
}

impl std::error::Error for Failed {}

/// Why an account could not be read or changed.
#[derive(Clone, Debug, PartialEq)]
pub enum AccountFailed {
    /// Whoever asks may not, the realm is none, or it cannot be done at the moment.
    Failed(Failed),
    /// The user's password or code was not right, or not looked at.
    Refused(Refused),
    /// The users of the realm are in a directory that is not changed here.
    NotKept,
    /// There is no such user.
    NoUser,
    /// There is such a user already, or one who is like them.
    Exists,
    /// The name cannot be a name, or the password no password.
    Name(IdentityError),
    /// The new password is not what the rules want.
    Password(PasswordRefusal),
    /// The new password must be another one than the old one.
    Unchanged,
    /// The directory that keeps the password does not take the new one.
    NotTaken(PasswordRejection),
    /// The link to choose another password is over, or none.
    LinkOver,
    /// The user has a second step already.
    HasSecondStep,
    /// The user has no second step.
    NoSecondStep,
    /// The user has a second step, the token is not of its level, and no code was given.
    CodeNeeded,
    /// There is no such passkey, or there are no passkeys here.
    NoPasskey,
    /// What came of an authenticator is not right.
    Passkey(PasskeyRefusal),
    /// The enrolment was not given to this user, or is over.
    NoEnrolment,
    /// Others changed the same again and again meanwhile.
    Contended,
}

impl fmt::Display for AccountFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccountFailed::Failed(failed) => failed.fmt(f),
            AccountFailed::Refused(Refused::Wrong) => f.write_str("the password or the code is wrong"),
            AccountFailed::Refused(refused) => refused.fmt(f),
            AccountFailed::NotKept => {
                f.write_str("the users of this realm are in a directory of their own: they are changed there")
            }
            AccountFailed::NoUser => f.write_str("there is no such user"),
            AccountFailed::Exists => f.write_str("there is a user of this name already"),
            AccountFailed::Name(error) => error.fmt(f),
            AccountFailed::Password(refusal) => refusal.fmt(f),
            AccountFailed::Unchanged => f.write_str("the new password is the old one; choose another"),
            AccountFailed::NotTaken(why) => why.fmt(f),
            AccountFailed::LinkOver => {
                f.write_str("the link is over, was used already, or is none: ask for another one")
            }
            AccountFailed::HasSecondStep => {
                f.write_str("the user has a second step; to enrol another device, remove it first")
            }
            AccountFailed::NoSecondStep => f.write_str("the user has no second step"),
            AccountFailed::CodeNeeded => {
                f.write_str("the user has a second step: give a `code` of it as well, or step up")
            }
            AccountFailed::NoPasskey => f.write_str("there is no such passkey"),
            AccountFailed::Passkey(refusal) => write!(f, "the passkey is not taken: {refusal}"),
            AccountFailed::NoEnrolment => {
                f.write_str("the enrolment is not this user's, or is over; begin another one")
            }
            AccountFailed::Contended => f.write_str("others change the same users; try again"),
        }
    }
}

impl std::error::Error for AccountFailed {}

impl From<Failed> for AccountFailed {
    fn from(failed: Failed) -> AccountFailed {
        AccountFailed::Failed(failed)
    }
}

impl From<Refused> for AccountFailed {
    fn from(refused: Refused) -> AccountFailed {
        AccountFailed::Refused(refused)
    }
}

impl AccountFailed {
    /// Why a new password is not taken. A list that cannot be read is no fault of whoever asks.
    pub(crate) fn of_password(refusal: PasswordRefusal) -> AccountFailed {
        match refusal {
            PasswordRefusal::Unreadable(error) => Failed::Directory(error).into(),
            other @ (PasswordRefusal::TooShort { .. } | PasswordRefusal::Breached) => {
                AccountFailed::Password(other)
            }
        }
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Failed {
        Failed::Token(refusal)
    }
}

/// The owner of a session that a token opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The user.
    pub user: User,
    /// What names the session.
    pub id: SessionId,
    /// How sure it is who the user is, by the token: [`crate::Service::session`] knows of later changes.
    pub level: Level,
    /// When the login was.
    pub stamp: Stamp,
    /// When the session ends, however much it is used.
    pub ends: Moment,
    /// How long it may lie unused; zero is for ever.
    pub idle: Duration,
}

impl Who {
    /// What the claims of a validated token say.
    ///
    /// # Errors
    /// None of a token that was sealed here: its names have been looked at.
    #[inline]
    pub(crate) fn of(claims: &SessionClaims<'_>) -> Result<Who, Refusal> {
        let user = User::new(claims.realm, claims.subject).map_err(|_| Refusal::Malformed)?;
        let SessionClaims { id, stamp, ends, idle, level, .. } = *claims;
        Ok(Who { user, id, level, stamp, ends, idle })
    }
}

/// Somebody who may administer: of one realm, or of all. Only [`crate::Service::administrator`], [`Administrator::operator`] and
/// [`Administrator::program`] make one.
#[derive(Clone, Debug)]
pub struct Administrator {
    /// For the audit.
    pub(crate) name: String,
    /// `None` is every realm.
    pub(crate) realm: Option<String>,
}

impl Administrator {
    /// Whoever runs the process, of every realm: for commands, not for surfaces.
    pub fn operator(name: &str) -> Administrator {
        Administrator { name: name.to_owned(), realm: None }
    }

    /// A program that the settings let administer one realm, such as a provisioning system.
    pub fn program(name: &str, realm: &str) -> Administrator {
        Administrator { name: name.to_owned(), realm: Some(realm.to_owned()) }
    }

    /// Whether they may administer a realm.
    pub fn may(&self, realm: &str) -> bool {
        self.realm.as_deref().is_none_or(|own| own == realm)
    }

    /// Whether they may administer every realm.
    pub fn may_all(&self) -> bool {
        self.realm.is_none()
    }
}
