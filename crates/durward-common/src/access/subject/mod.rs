//! Who a decision is about, where the question shows a token: of a session, or a JWT that this server gave (`[oauth]`).
//!
//! [`Subjects::find`] says who it is, at this moment; [`document`] and [`attributes`] write that down for policies in SAPL's and
//! in XACML's words; [`fence`] says who may do without a token. A token that is not accepted is nobody's, and whoever cannot be asked about is not guessed.

pub mod attributes;
pub mod document;
pub mod fence;
pub mod finder;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use durward_session::identity::Moment;
use durward_session::identity::jwt::says_bound;
use durward_session::identity::session::{Level, Refusal, Session};
use durward_session::identity::user::Account;
use durward_session::{Failed, Purpose, Service, SessionNews, Who};
use durward_settings::BoundSubjects;
use smol_str::SmolStr;

use crate::access::issued::{Good, Issued};
use crate::base::Clock;

/// How often a session is looked at that may end without being told: by lying unused, or by its time. Tokens likewise.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What is shown for a subject.
#[derive(Clone, PartialEq, Eq)]
pub enum Shown {
    /// The token of a session.
    Session(SmolStr),
    /// An access token that this server signed.
    Jwt(SmolStr),
}

impl Shown {
    /// Whether it says that it is bound to a key. That is no reason to believe it.
    pub fn says_bound(&self) -> bool {
        match self {
            Shown::Session(_) => false,
            Shown::Jwt(token) => says_bound(token),
        }
    }
}

/// Why it is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// It is not accepted: it is denied, whatever policies say.
    Refused,
    /// This node cannot say at the moment.
    Unknown,
}

/// Who it is.
#[non_exhaustive]
pub struct Subject {
    /// The user whose session it is; nobody where a token is a client's own.
    pub user: Option<SessionUser>,
    /// What the JWT says, where one was shown.
    pub good: Option<Good>,
}

/// A user, by his session.
#[non_exhaustive]
pub struct SessionUser {
    /// The user, and what names the session.
    pub who: Who,
    /// The session that the token is of.
    pub session: Session,
    /// The user's account, as it was when the token was looked at.
    pub account: Arc<Account>,
    /// How sure it is who he is: no more than it was when what is shown was given.
    pub level: Level,
}

/// Who shows a token that is bound to no key, found a moment ago. Only [`Subjects::found`] makes one.
pub struct FoundSubject {
    shown: Shown,
    subject: Subject,
}

impl FoundSubject {
    /// What was shown.
    pub fn shown(&self) -> &Shown {
        &self.shown
    }

    /// Who it is.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }
}

/// What is asked.
#[derive(Clone)]
pub struct Subjects {
    service: Option<Service>,
    issued: Option<Arc<Issued>>,
    clock: Clock,
}

/// What has become of what was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It is not accepted any more, or this node cannot say.
    Over(NotTaken),
    /// It is; what is known of it may be something else now.
    Changed,
    /// The node has stopped.
    Stopped,
}

/// Ready when something has become of what was shown.
pub type Turning = Pin<Box<dyn Future<Output = Turn> + Send>>;

impl From<Failed> for NotTaken {
    fn from(failed: Failed) -> NotTaken {
        if failed.is_temporary() { NotTaken::Unknown } else { NotTaken::Refused }
    }
}

impl From<Refusal> for NotTaken {
    fn from(refusal: Refusal) -> NotTaken {
        NotTaken::from(Failed::Token(refusal))
    }
}

impl Subjects {
    /// Nothing where there are neither sessions nor tokens.
    pub fn new(service: Option<&Service>, issued: Option<&Arc<Issued>>, clock: &Clock) -> Option<Subjects> {
        if service.is_none() && issued.is_none() {
            return None;
        }
        Some(Subjects { service: service.cloned(), issued: issued.cloned(), clock: Arc::clone(clock) })
    }

    /// Whether there is anything of this kind.
    pub fn has(&self, shown: &Shown) -> bool {
        match shown {
            Shown::Session(_) => self.service.is_some(),
            Shown::Jwt(_) => self.issued.is_some(),
        }
    }

    /// Whether this is accepted only from callers who have seen that whoever showed it to them has its key. Where they are not asked
    /// ([`BoundSubjects::Refused`]), it is not accepted from anybody.
    pub fn needs_voucher(&self, shown: &Shown) -> bool {
        let is_vouched = |issued: &Arc<Issued>| issued.settings.bound_subjects == BoundSubjects::Vouched;
        self.issued.as_ref().is_some_and(is_vouched) && shown.says_bound()
    }

    /// The keys by which subjects of subscriptions name tokens of the kinds that there are.
    pub fn token_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let [session, jwt] = document::TOKENS;
        let names = [(session, self.service.is_some()), (jwt, self.issued.is_some())];
        names.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name)
    }

    /// Who shows this. To show a session's token counts as using the session; to show a JWT does not.
    pub async fn find(&self, shown: &Shown) -> Result<Subject, NotTaken> {
        self.find_for(shown, Purpose::Use).await
    }

    /// The same as a value that stands for the token in what follows, so that it is looked at once. A token that is bound to a key is
    /// refused: nobody here has seen that the key was shown.
    pub async fn found(&self, shown: Shown) -> Result<FoundSubject, NotTaken> {
        if shown.says_bound() {
            return Err(NotTaken::Refused);
        }
        let subject = self.find(&shown).await?;
        Ok(FoundSubject { shown, subject })
    }

    /// Whose session a token is, where nothing has to be waited for and it is accepted; `None` otherwise, and then nothing was counted.
    pub fn session_here(&self, token: &str) -> Option<Subject> {
        let (who, session, account) = self.service.as_ref()?.session_here(token)?;
        let level = session.level.min(who.level);
        let user = (!account.disabled).then_some(SessionUser { who, session, account, level })?;
        Some(Subject { user: Some(user), good: None })
    }

    async fn find_for(&self, shown: &Shown, purpose: Purpose) -> Result<Subject, NotTaken> {
        match shown {
            Shown::Session(token) => {
                let service = self.service.as_ref().ok_or(NotTaken::Refused)?;
                let (who, session) = service.session(token, purpose).await?;
                // Whoever has a token from before a second step has not taken that step.
                let level = session.level.min(who.level);
                Ok(Subject { user: Some(with_account(service, who, session, level).await?), good: None })
            }
            Shown::Jwt(token) => {
                let good = self.good(token).await?;
                let Some((user, id)) = &good.session else {
                    return Ok(Subject { user: None, good: Some(good) });
                };
                let service = self.service.as_ref().ok_or(NotTaken::Refused)?;
                let session = service.standing(user, *id).await?.ok_or(NotTaken::Refused)?;
                let Session { id, stamp, ends, idle, level, .. } = session;
                let who = Who { user: user.clone(), id, level, stamp, ends, idle };
                let level = level.min(Level(good.level));
                let user = with_account(service, who, session, level).await?;
                Ok(Subject { user: Some(user), good: Some(good) })
            }
        }
    }

    /// The same, and what tells what becomes of it. `purpose` says whether a session's token counts as used.
    pub async fn follow(self, shown: Shown, purpose: Purpose) -> Result<(Subject, Turning), NotTaken> {
        let subject = self.find_for(&shown, purpose).await?;
        let mut news = None;
        if let (Some(service), Some(user)) = (&self.service, &subject.user) {
            news = Some(service.news_of(&user.who));
            // What came before somebody listened shows at a second look.
            if service.has_ended(&user.who) {
                return Err(NotTaken::Refused);
            }
        }
        Ok((subject, Box::pin(self.turn(shown, news))))
    }

    async fn turn(self, shown: Shown, mut news: Option<SessionNews>) -> Turn {
        loop {
            let mut is_told = false;
            match &mut news {
                Some(news) => tokio::select! {
                    is_there = news.next() => {
                        if !is_there {
                            return Turn::Stopped;
                        }
                        is_told = true;
                    }
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                },
                None => tokio::time::sleep(LOOK_EVERY).await,
            }
            if let Err(over) = self.is_still(&shown).await {
                return Turn::Over(over);
            }
            if is_told {
                return Turn::Changed;
            }
        }
    }

    /// Whether it is accepted still; it does not count as a use.
    async fn is_still(&self, shown: &Shown) -> Result<(), NotTaken> {
        let service = self.service.as_ref().ok_or(NotTaken::Refused);
        match shown {
            Shown::Session(token) => Ok(service?.validate(token, Purpose::Look).await.map(drop)?),
            Shown::Jwt(token) => match &self.good(token).await?.session {
                None => Ok(()),
                Some((user, id)) if service?.lives(user, *id).await? => Ok(()),
                Some(_) => Err(NotTaken::Refused),
            },
        }
    }

    async fn good(&self, token: &str) -> Result<Good, NotTaken> {
        let issued = self.issued.as_ref().ok_or(NotTaken::Refused)?;
        issued.catch_up().await?;
        issued.of_decision(token, Moment::of((self.clock)())).ok_or(NotTaken::Refused)
    }
}

/// Whoever is no user any more, or may not log in, has no say either.
async fn with_account(
    service: &Service,
    who: Who,
    session: Session,
    level: Level,
) -> Result<SessionUser, NotTaken> {
    let account = service.shared_account(&who.user).await?.filter(|account| !account.disabled);
    let account = account.ok_or(NotTaken::Refused)?;
    Ok(SessionUser { who, session, account, level })
}
