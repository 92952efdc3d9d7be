//! Whether a session lives, for surfaces that gave something out for it and are not shown its token.

use durward_identity::session::{Gate, Refusal, Session, SessionId, User};

use super::Service;
use crate::outcome::Who;

impl Service {
    /// Whether a session was ended before its time, as far as this node knows at this moment.
    pub fn has_ended(&self, who: &Who) -> bool {
        self.0.parts.sessions.is_revoked(&who.user, who.id, who.stamp)
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
            Gate::Open => {}
            Gate::Asking => {
                let _permit = self.permit().await?;
            }
            Gate::Closed => return Err(Refusal::Unavailable),
        }
        let Some(session) = self.0.parts.sessions.get(user, id) else { return Ok(None) };
        let slack = self.settings().session.told_every;
        let now = self.now();
        let is_idle = !session.idle.is_zero() && now > session.used.plus(session.idle).plus(slack);
        Ok((now < session.ends && !is_idle).then_some(session))
    }
}
