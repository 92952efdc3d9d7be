//! Whether a session is alive, for surfaces that issued tokens for it and do not see the session token; and how they revoke those.

use durward_identity::Moment;
use durward_identity::protocol::NodeEvent;
use durward_identity::session::{Refusal, Session, SessionId, User, ValidationGate};

use super::Service;
use crate::outcome::{Failed, Who};

impl Service {
    /// Whether a session was ended before its time, as far as this node knows at this moment.
    pub fn has_ended(&self, who: &Who) -> bool {
        self.0.parts.sessions.is_revoked(&who.user, who.id, who.stamp)
    }

    /// Ends what a surface has given out for a while, on all nodes and as surely as the mode promises of a logout.
    ///
    /// `name` is no session's: digest what names the thing. It is remembered until `ends`.
    ///
    /// # Errors
    /// It cannot be done, or nobody knows whether it was.
    pub async fn recall(&self, name: SessionId, ends: Moment) -> Result<(), Failed> {
        self.done(|ask| NodeEvent::Recall { ask, id: name, ends }).await
    }

    /// Whether something was recalled, as far as this node knows. In the mode `assured-read` it knows of all that was answered, after
    /// [`Service::permit`].
    pub fn is_recalled(&self, name: SessionId) -> bool {
        self.0.parts.sessions.is_ended(name)
    }

    /// Whether a session lives, by its name, in every mode: waits only where the mode asks for it. It does not count as used by that.
    ///
    /// A session that this node has not heard of does not live here: of those that another node began in the mode `none`, it hears at
    /// latest when their token is shown.
    ///
    /// # Errors
    /// [`Refusal::Unavailable`]: the node cannot say at the moment.
    pub async fn lives(&self, user: &User, id: SessionId) -> Result<bool, Refusal> {
        Ok(self.standing(user, id).await?.is_some())
    }

    /// The session of a name, if it lives: as [`Service::lives`].
    ///
    /// # Errors
    /// As [`Service::lives`].
    pub async fn standing(&self, user: &User, id: SessionId) -> Result<Option<Session>, Refusal> {
        match self.0.parts.sessions.gate() {
            ValidationGate::Open => {}
            ValidationGate::Asking => {
                let _permit = self.permit().await?;
            }
            ValidationGate::Closed => return Err(Refusal::Unavailable),
        }
        Ok(self.standing_here(user, id))
    }

    /// Whether a session lives as far as this node knows at this moment, in every mode and without waiting: for those who look after many
    /// sessions, and hear of the ends that other nodes tell of.
    pub fn lives_here(&self, user: &User, id: SessionId) -> bool {
        self.standing_here(user, id).is_some()
    }

    fn standing_here(&self, user: &User, id: SessionId) -> Option<Session> {
        let session = self.0.parts.sessions.get(user, id)?;
        if self.is_due(user, session.stamp) {
            return None;
        }
        let slack = self.settings().session.told_every;
        let now = self.now();
        let is_idle = !session.idle.is_zero() && now > session.used.plus(session.idle).plus(slack);
        (now < session.ends && !is_idle).then_some(session)
    }
}
