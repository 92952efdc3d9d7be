//! What the holder of a session may do with it and with their other sessions. The token is the proof.

use std::net::IpAddr;
use std::sync::Arc;

use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::login::CredentialKind;
use durward_identity::protocol::NodeEvent;
use durward_identity::session::{
    Level, Properties, Purpose, Scratch, Session, SessionChange, SessionId, ValidationGate,
};
use durward_identity::user::{Account, LoginFailure};
use tokio::sync::oneshot;

use super::login::words;
use super::{Service, from, is_of_length, of_session};
use crate::counters::Counter;
use crate::outcome::{Administrator, Failed, Granted, Refused, Who};

impl Service {
    /// A token's session with its properties, its last use and its level as it is now.
    ///
    /// # Errors
    /// The token is refused, or the session ended a moment ago.
    pub async fn session(&self, token: &str, purpose: Purpose) -> Result<(Who, Session), Failed> {
        let who = self.validate(token, purpose).await?;
        match self.known(&who) {
            Ok(session) => Ok((who, session)),
            // Another node has told of it only by its token, and it was not to be noted down.
            Err(_) if purpose == Purpose::Look => {
                let Who { id, level, stamp, ends, idle, .. } = who;
                let used = stamp.moment();
                let properties = Properties::new();
                Ok((who, Session { id, stamp, ends, idle, used, level, properties }))
            }
            Err(failed) => Err(failed),
        }
    }

    /// What [`Service::session`] and [`Service::shared_account`] say of a token, whose session counts as used, where nothing has to be waited for
    /// and it is no error; `None` otherwise, and then nothing was counted.
    #[inline]
    pub fn session_here(&self, token: &str) -> Option<(Who, Session, Arc<Account>)> {
        let parts = &self.0.parts;
        if parts.sessions.gate() != ValidationGate::Open || !is_of_length(token) {
            return None;
        }
        let mut scratch = Scratch::new();
        let claims = parts.sessions.validate(self.now(), token, &mut scratch).ok()?;
        let who = Who::of(&self.unless_due(claims).ok()?).ok()?;
        let session = self.known(&who).ok()?;
        let account = parts.realms.get(who.user.realm())?.account_at_hand(&who.user)?.ok()??;
        self.count(Counter::Validated);
        Some((who, session, account))
    }

    /// Ends the token's session. Once this is answered, what the mode promises holds.
    ///
    /// # Errors
    /// The token is refused, or it cannot be done; see [`Failed::Unknown`].
    pub async fn logout(&self, token: &str, address: Option<IpAddr>) -> Result<Who, Failed> {
        let who = self.validate(token, Purpose::Look).await?;
        self.end(&who, who.id, who.ends, address).await?;
        Ok(who)
    }

    /// Ends another session of the token's user, or the same one: the answer says whose the token is.
    ///
    /// # Errors
    /// The token is refused, the user has no such session, or it cannot be done.
    pub async fn logout_other(
        &self,
        token: &str,
        id: SessionId,
        address: Option<IpAddr>,
    ) -> Result<Who, Failed> {
        let who = self.validate(token, Purpose::Use).await?;
        let session = self.0.parts.sessions.get(&who.user, id).ok_or(Failed::NoSession)?;
        self.end(&who, id, session.ends, address).await?;
        Ok(who)
    }

    async fn end(
        &self,
        who: &Who,
        id: SessionId,
        ends: durward_identity::Moment,
        address: Option<IpAddr>,
    ) -> Result<(), Failed> {
        let user = who.user.clone();
        let done = self.done(|ask| NodeEvent::Logout { ask, user, id, ends }).await;
        if matches!(done, Ok(()) | Err(Failed::Unknown)) {
            self.count(Counter::Logout);
            self.record(from(of_session(AuditEvent::new(Kind::Logout), &who.user, id), address)).await;
        }
        done
    }

    /// Ends all sessions of the token's user, on all nodes.
    ///
    /// # Errors
    /// The token is refused, or it cannot be done.
    pub async fn logout_everywhere(&self, token: &str, address: Option<IpAddr>) -> Result<Who, Failed> {
        let who = self.validate(token, Purpose::Look).await?;
        let user = who.user.clone();
        let done = self.done(|ask| NodeEvent::RevokeUser { ask, user }).await;
        if matches!(done, Ok(()) | Err(Failed::Unknown)) {
            self.count(Counter::Logout);
            let event = AuditEvent::new(Kind::Logout).of(&who.user).detail("all sessions");
            self.record(from(event, address)).await;
        }
        done.map(|()| who)
    }

    /// The sessions of the token's user that this node knows of, newest first.
    ///
    /// # Errors
    /// The token is refused.
    pub async fn own_sessions(&self, token: &str) -> Result<(Who, Vec<Session>), Failed> {
        let who = self.validate(token, Purpose::Use).await?;
        let sessions = self.0.parts.sessions.list(&who.user);
        Ok((who, sessions))
    }

    /// A token for the same session under the newest key; it counts as a use. The one shown stays good.
    ///
    /// # Errors
    /// The token is refused, or none can be made.
    pub async fn refresh(&self, token: &str) -> Result<Granted, Failed> {
        let who = self.validate(token, Purpose::Use).await?;
        let (user, id, shown) = (who.user.clone(), who.id, who.level);
        self.retoken(&who, Level::default(), |ask| NodeEvent::Refresh { ask, user, id, shown }).await
    }

    /// Sets properties of the token's session, and removes those whose value is `None`. The answer is a token with the same session.
    ///
    /// # Errors
    /// The token is refused, a name is not among [`crate::ServiceSettings::settable_properties`], there are too many, or it cannot
    /// be done.
    pub async fn set_properties(
        &self,
        token: &str,
        changes: &[(&str, Option<&str>)],
    ) -> Result<Granted, Failed> {
        let who = self.validate(token, Purpose::Use).await?;
        let settable = &self.settings().settable_properties;
        if changes.iter().any(|(name, _)| !settable.iter().any(|one| one == name)) {
            return Err(Failed::Forbidden);
        }
        self.change_properties(&who, changes).await
    }

    pub(super) async fn change_properties(
        &self,
        who: &Who,
        changes: &[(&str, Option<&str>)],
    ) -> Result<Granted, Failed> {
        let properties = changes.iter().map(|(name, value)| ((*name).into(), value.map(Into::into)));
        let change = SessionChange { level: Level::default(), properties: properties.collect() };
        let session = self.known(who)?;
        change.of(session.properties).map_err(Failed::Properties)?;
        self.change(who, change).await
    }

    pub(super) async fn change(&self, who: &Who, change: SessionChange) -> Result<Granted, Failed> {
        let (user, id, shown) = (who.user.clone(), who.id, who.level);
        self.retoken(who, change.level, |ask| NodeEvent::Change { ask, user, id, shown, change }).await
    }

    /// Raises the level of the token's session by a code of the second step. The answer is a token with the higher level.
    ///
    /// # Errors
    /// The token is refused, the code is wrong, too many were, the user is disabled or removed, or it cannot be done.
    pub async fn step_up(&self, token: &str, code: &str, address: IpAddr) -> Result<Granted, Failed> {
        self.step_up_on(None, token, code, address).await
    }

    /// The same on a device whose proof is shown: [`crate::LoginRequest::device`].
    ///
    /// # Errors
    /// As [`Service::step_up`].
    pub async fn step_up_on(
        &self,
        device: Option<&str>,
        token: &str,
        code: &str,
        address: IpAddr,
    ) -> Result<Granted, Failed> {
        let who = self.validate(token, Purpose::Use).await?;
        let (service, code, whose) = (self.clone(), code.to_owned(), who.user.clone());
        let device = self.known_device(device, &whose).await;
        let (_here, mut gone) = oneshot::channel();
        let checked = self.0.parts.runtime.spawn(async move {
            let users = service.users(whose.realm()).ok_or(Refused::UnknownRealm)?;
            service.knows_users(&*users)?;
            let mut guess =
                service.attempt_on(device, CredentialKind::Code, &whose, address, &mut gone).await?;
            service.follow_users().await;
            // A directory elsewhere does not tell whom it has disabled or removed.
            let found = users.account(&whose).await;
            let account = service.decided(found, &whose, address, &mut guess).await?;
            if account.is_none_or(|account| account.disabled) {
                guess.failed();
                service.note_failure(&whose, address, words(LoginFailure::Disabled)).await;
                return Err(Refused::Wrong);
            }
            service.check_code(&*users, &whose, &code, address, &mut guess).await?;
            guess.succeeded();
            Ok(())
        });
        let checked = checked.await.unwrap_or(Err(Refused::Unknown));
        checked.map_err(of_step)?;
        let change = SessionChange { level: self.settings().second_step_level, ..SessionChange::default() };
        let granted = self.change(&who, change).await?;
        let event = of_session(AuditEvent::new(Kind::SteppedUp), &who.user, who.id);
        self.record(event.address(&address.to_string())).await;
        Ok(granted)
    }

    /// That a token's session is an administrator's: its user is in the group that the settings name, at this moment. If they have a second
    /// step, the token is of its level: a password alone administers nothing then.
    ///
    /// # Errors
    /// The token is refused, it is not, it lacks the second step, or the directory cannot say.
    pub async fn administrator(&self, token: &str) -> Result<Administrator, Failed> {
        let who = self.validate(token, Purpose::Use).await?;
        let account = self.active_account(&who.user).await?;
        let group = &self.settings().administrators_group;
        let Some(account) = account.filter(|account| account.groups.iter().any(|one| one == group)) else {
            return Err(Failed::Forbidden);
        };
        if account.has_second_step() && who.level < self.settings().second_step_level {
            return Err(Failed::SecondStepNeeded);
        }
        Ok(Administrator {
            name: who.user.to_string(),
            realm: (who.user.realm() != "/").then(|| who.user.realm().to_owned()),
        })
    }
}

/// Why a step up came to nothing.
pub(super) fn of_step(refused: Refused) -> Failed {
    match refused {
        Refused::Wrong | Refused::PasswordOver => Failed::Code,
        Refused::UnknownRealm => Failed::UnknownRealm,
        Refused::Delayed { retry_after }
        | Refused::Crowded { retry_after }
        | Refused::Busy { retry_after } => Failed::Delayed { retry_after },
        Refused::Directory(error) => Failed::Directory(error),
        Refused::Unavailable(lack) => Failed::Unavailable(lack),
        Refused::UserFull | Refused::NodeFull | Refused::Unknown => Failed::Unknown,
    }
}
