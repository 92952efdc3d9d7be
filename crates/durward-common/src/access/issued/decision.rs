//! Tokens as the subjects of decisions.

use durward_session::identity::Moment;
use durward_session::identity::jwt::{Binding, Claims};
use durward_session::identity::session::{Refusal, SessionId, User};
use durward_settings::BoundSubjects;

use super::revoked::name_of;
use super::{Issued, subject};

/// What a token says that is good and may name the subject of a decision.
#[non_exhaustive]
pub struct Good {
    /// The client that it was given to.
    pub client: String,
    /// The scopes that are granted.
    pub scopes: Vec<String>,
    /// Whom the token is for.
    pub audiences: Vec<String>,
    /// The session it comes from: whether that lives is still to be asked. None of a token that is a client's own.
    pub session: Option<(User, SessionId)>,
    /// The level of the session when the token was given.
    pub level: u8,
}

impl Issued {
    /// Waits until this node knows every recall that was answered anywhere, where the mode promises that.
    ///
    /// # Errors
    /// The node cannot say at the moment.
    pub async fn catch_up(&self) -> Result<(), Refusal> {
        match &self.service {
            Some(service) if service.asks_store() => service.permit().await.map(drop),
            Some(_) | None => Ok(()),
        }
    }

    /// What a token says, if it was signed in this cluster, has not ended, was not recalled, and was given to a client that there is still.
    pub fn good(&self, token: &str, now: Moment) -> Option<Claims> {
        let claims = self.keys.verify(token, &self.issuer, now)?;
        // What a client was given that is no more is worth nothing either.
        let client = claims.client_id.as_deref()?;
        self.clients.load().iter().find(|known| known.id == client)?;
        let is_recalled_elsewhere =
            self.service.as_ref().is_some_and(|service| service.is_recalled(name_of(&claims.jti)));
        let is_over = is_recalled_elsewhere || self.revoked.contains(&claims.jti);
        (!is_over && !self.has_ended_grant(&claims)).then_some(claims)
    }

    /// The same, for a decision: it must be for this server, or for an audience that `oauth.decision_audiences` names. Others could
    /// carry a token that they were shown to a service that it is not for. One that is bound to a key only where callers vouch for it,
    /// which they are held to before this.
    pub fn of_decision(&self, token: &str, now: Moment) -> Option<Good> {
        let claims = self.good(token, now)?;
        let taken = &self.settings.decision_audiences;
        if !claims.aud.iter().any(|audience| *audience == self.issuer || taken.contains(audience)) {
            return None;
        }
        match (claims.binding(), self.settings.bound_subjects) {
            (Binding::Bearer, _) | (Binding::Key(_), BoundSubjects::Vouched) => {}
            (Binding::Key(_), BoundSubjects::Refused) | (Binding::Unknown, _) => return None,
        }
        let session = match &claims.sid {
            None => None,
            Some(session) => Some((subject::read(&claims.sub)?, SessionId::read(session)?)),
        };
        let level = claims.more.get("level").and_then(serde_json::Value::as_u64);
        Some(Good {
            client: claims.client_id?,
            scopes: claims.scope.iter().flat_map(|scope| scope.split(' ')).map(str::to_owned).collect(),
            audiences: claims.aud,
            session,
            level: level.and_then(|level| u8::try_from(level).ok()).unwrap_or(0),
        })
    }
}
