//! What administrators do. [`Administrator`] is the proof that somebody is one; each call asks whether of this realm.

use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::protocol::NodeEvent;
use durward_identity::session::{Session, SessionId, User};

use super::{Service, of_session};
use crate::counters::Counter;
use crate::outcome::{Administrator, Failed, Who};

impl Service {
    /// The sessions of a user that this node knows of, newest first.
    ///
    /// # Errors
    /// Another realm's administrator asks.
    pub async fn sessions_of(&self, by: &Administrator, user: &User) -> Result<Vec<Session>, Failed> {
        of_realm(by, user)?;
        let names = self.names_of(user).await;
        let mut sessions: Vec<Session> =
            names.iter().flat_map(|name| self.0.parts.sessions.list(name)).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.stamp));
        Ok(sessions)
    }

    /// A session of a user, with the name it is under.
    async fn session_of(&self, user: &User, id: SessionId) -> Result<(User, Session), Failed> {
        let names = self.names_of(user).await;
        let mut found = names.into_iter().filter_map(|name| {
            let session = self.0.parts.sessions.get(&name, id)?;
            Some((name, session))
        });
        found.next().ok_or(Failed::NoSession)
    }

    /// Ends a session of a user.
    ///
    /// # Errors
    /// Another realm's administrator asks, there is no such session, or it cannot be done.
    pub async fn revoke(&self, by: &Administrator, user: &User, id: SessionId) -> Result<(), Failed> {
        of_realm(by, user)?;
        let (whose, session) = self.session_of(user, id).await?;
        let (user, ends) = (whose.clone(), session.ends);
        let done = self.done(|ask| NodeEvent::Logout { ask, user, id, ends }).await;
        self.revoked(done, of_session(AuditEvent::new(Kind::Revoked), &whose, id), by).await
    }

    /// Ends all sessions of a user, on all nodes; also those of which this node does not know.
    ///
    /// # Errors
    /// Another realm's administrator asks, or it cannot be done.
    pub async fn revoke_user(&self, by: &Administrator, user: &User) -> Result<(), Failed> {
        of_realm(by, user)?;
        let mut all = Ok(());
        for whose in self.names_of(user).await {
            let event = AuditEvent::new(Kind::Revoked).of(&whose).detail("all sessions of the user");
            let done = self.done(|ask| NodeEvent::RevokeUser { ask, user: whose }).await;
            // The others are ended all the same.
            all = all.and(self.revoked(done, event, by).await);
        }
        all
    }

    /// Ends all sessions of everybody, in all realms.
    ///
    /// # Errors
    /// A realm's administrator asks, or it cannot be done.
    pub async fn revoke_all(&self, by: &Administrator) -> Result<(), Failed> {
        of_all(by)?;
        let done = self.done(|ask| NodeEvent::RevokeAll { ask }).await;
        self.revoked(done, AuditEvent::new(Kind::Revoked).detail("all sessions of everybody"), by).await
    }

    async fn revoked(
        &self,
        done: Result<(), Failed>,
        event: AuditEvent,
        by: &Administrator,
    ) -> Result<(), Failed> {
        if matches!(done, Ok(()) | Err(Failed::Unknown)) {
            self.count(Counter::Revoked);
            self.record(event.by(&by.name)).await;
        }
        done
    }

    /// Takes another key into use. Tokens under the old ones stay good.
    ///
    /// # Errors
    /// A realm's administrator asks, or it cannot be done.
    pub async fn rotate_keys(&self, by: &Administrator) -> Result<(), Failed> {
        of_all(by)?;
        self.done(|ask| NodeEvent::Rotate { ask }).await?;
        self.record(AuditEvent::new(Kind::KeyRotated).by(&by.name)).await;
        Ok(())
    }

    /// Sets properties of a session, and removes those whose value is `None`.
    ///
    /// # Errors
    /// Another realm's administrator asks, there is no such session, there are too many properties, or it cannot be done.
    pub async fn set_properties_of(
        &self,
        by: &Administrator,
        user: &User,
        id: SessionId,
        changes: &[(&str, Option<&str>)],
    ) -> Result<(), Failed> {
        of_realm(by, user)?;
        let (user, session) = self.session_of(user, id).await?;
        let Session { id, stamp, ends, idle, level, .. } = session;
        let who = Who { user, id, level, stamp, ends, idle };
        let done = self.change_properties(&who, changes).await.map(|_| ());
        if matches!(done, Ok(()) | Err(Failed::Unknown)) {
            let names: Vec<&str> = changes.iter().map(|(name, _)| *name).collect();
            let event = of_session(AuditEvent::new(Kind::UserChanged), &who.user, id).by(&by.name);
            self.record(event.detail(&format!("properties of the session: {}", names.join(" ")))).await;
        }
        done
    }

    /// Lets a user try again who has to wait after failures.
    ///
    /// # Errors
    /// Another realm's administrator asks.
    pub async fn forgive(&self, by: &Administrator, user: &User) -> Result<(), Failed> {
        of_realm(by, user)?;
        self.0.turns.forgive(&self.counted_as(user));
        let event = AuditEvent::new(Kind::UserChanged).of(user).by(&by.name);
        self.record(event.detail("may try again at once")).await;
        Ok(())
    }
}

fn of_realm(by: &Administrator, user: &User) -> Result<(), Failed> {
    if by.may(user.realm()) { Ok(()) } else { Err(Failed::Forbidden) }
}

fn of_all(by: &Administrator) -> Result<(), Failed> {
    if by.may_all() { Ok(()) } else { Err(Failed::Forbidden) }
}
