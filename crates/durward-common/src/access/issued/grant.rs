//! Authorization codes and refresh tokens. All that belongs to one is sealed into it, the session's token too: it lives no longer than
//! the session, and no node keeps anything of it until it is used. That it was used is told to all nodes.
//!
//! A code is the first turn of a grant, and each refresh token is the next: each is good once. Whoever brings a turn that was used
//! has it from somebody else, or somebody else has it from them: the grant is over then, with all its tokens (RFC 6749, 4.1.2; RFC 9700, 4.14).

use durward_session::identity::jwt::Claims;
use durward_session::identity::session::{GrantTurn, Purpose, Refusal, Session, SessionId};
use durward_session::identity::{Entropy, IdentityError, Moment, SystemEntropy};
use durward_session::{Failed, Service, TurnUse, Who};
use durward_settings::OauthClientSettings;
use serde::{Deserialize, Serialize};

use super::authorization::{Authorization, meets};
use super::digest::digest;
use super::{Issued, name_of};
use crate::access::dpop::ProvenKey;

/// How long a code is good for: browsers carry it at once.
const CODE_S: u64 = 60;

/// The claim of an access token that names the grant it comes from.
pub const GRANT: &str = "grant";

/// What is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// An authorization code.
    Code,
    /// A refresh token.
    Refresh,
}

impl Turn {
    const fn purpose(self) -> &'static str {
        match self {
            Turn::Code => "oauth code",
            Turn::Refresh => "oauth refresh token",
        }
    }
}

/// What is sealed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Grant {
    /// The session's token.
    session: String,
    /// `client_id` of the client that it was given to.
    pub client: String,
    /// The scopes that tokens may have.
    pub scopes: Vec<String>,
    /// The resources that tokens may be for (RFC 8707).
    pub resources: Vec<String>,
    /// Of a code alone: for the ID token.
    pub nonce: Option<String>,
    /// Of a code alone: the digest of where the browser was sent.
    redirect: Option<String>,
    /// Of a code alone.
    challenge: Option<String>,
    /// The thumbprint of the key without which this is worth nothing: of a code, as the client wished; of a refresh token, where the
    /// client has nothing else to show (RFC 9449, 5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// What tells the grants of a session apart; the later one is greater.
    grant: u64,
    turn: u32,
    until_s: u64,
}

/// A turn that was taken: the session lives, and nobody had used the turn.
#[non_exhaustive]
pub struct Taken {
    /// What was granted.
    pub grant: Grant,
    /// The user who granted it.
    pub who: Who,
    /// The session they granted it in.
    pub session: Session,
}

/// Why a turn was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// It is over: whoever brings it is not to know why.
    Invalid,
    /// It was used before: its grant has ended by this.
    Again,
    /// Nobody can say at the moment.
    Unavailable,
}

impl Grant {
    /// Whether it may be used by whoever shows this key, or none.
    pub fn is_for_key(&self, shown: Option<&str>) -> bool {
        self.key.as_deref().is_none_or(|bound| shown == Some(bound))
    }
}

impl Taken {
    /// The name of the grant, by which it is ended.
    pub fn name(&self) -> SessionId {
        name(self.who.id, self.grant.grant)
    }
}

fn name(session: SessionId, grant: u64) -> SessionId {
    name_of(&format!("grant {session} {grant}"))
}

/// Greater than those before it, and no other's: milliseconds, and twenty random bits.
fn number(now: Moment) -> Result<u64, IdentityError> {
    let mut random = [0; 4];
    SystemEntropy.fill(&mut random)?;
    Ok(now.ms() << 20 | u64::from(u32::from_be_bytes(random) >> 12))
}

impl Issued {
    /// A code for what was asked for, in the name of the session that this token opens.
    ///
    /// # Errors
    /// There are no users, or there is no randomness.
    pub fn code(
        &self,
        session: &str,
        authorization: &Authorization,
        now: Moment,
    ) -> Result<String, IdentityError> {
        let grant = Grant {
            session: session.to_owned(),
            client: authorization.client.clone(),
            scopes: authorization.scopes.clone(),
            resources: authorization.resources.clone(),
            nonce: authorization.nonce.clone(),
            redirect: Some(digest(authorization.redirect_uri.as_bytes())),
            challenge: authorization.challenge.clone(),
            key: authorization.key.clone(),
            grant: number(now)?,
            turn: 0,
            until_s: now.ms() / 1000 + CODE_S,
        };
        self.seal(Turn::Code, &grant)
    }

    /// The refresh token that follows what was taken. That of a public client is bound to the key that it has shown: whoever has a
    /// secret shows that again.
    ///
    /// # Errors
    /// As of [`Issued::code`].
    pub fn refresh_token(
        &self,
        client: &OauthClientSettings,
        taken: &Taken,
        key: Option<&ProvenKey>,
    ) -> Result<String, IdentityError> {
        let next = Grant {
            nonce: None,
            redirect: None,
            challenge: None,
            key: key.filter(|_| client.public).map(|key| key.thumbprint().to_owned()),
            turn: taken.grant.turn.saturating_add(1),
            until_s: taken.session.ends.ms() / 1000,
            ..taken.grant.clone()
        };
        self.seal(Turn::Refresh, &next)
    }

    fn seal(&self, turn: Turn, grant: &Grant) -> Result<String, IdentityError> {
        let service = self.service.as_ref().ok_or_else(|| IdentityError::new("there are no users"))?;
        let content = serde_json::to_vec(grant).map_err(|error| IdentityError::new(error.to_string()))?;
        service.seal(turn.purpose(), &content)
    }

    fn unseal(&self, turn: Turn, text: &str, client: &OauthClientSettings, now: Moment) -> Option<Grant> {
        let content = self.service.as_ref()?.unseal(turn.purpose(), text)?;
        let grant: Grant = serde_json::from_slice(&content).ok()?;
        (grant.client == client.id && grant.until_s > now.ms() / 1000).then_some(grant)
    }

    /// Reads a code, which the client brings with where the browser came back, and with what the challenge was made of. It is not used
    /// up by that: see [`Issued::take`].
    pub fn read_code(
        &self,
        text: &str,
        client: &OauthClientSettings,
        redirect_uri: &str,
        verifier: Option<&str>,
        now: Moment,
    ) -> Option<Grant> {
        let grant = self.unseal(Turn::Code, text, client, now)?;
        let is_shown = match (&grant.challenge, verifier) {
            (Some(challenge), Some(verifier)) => meets(challenge, verifier),
            // RFC 9700, 2.1.1: one without the other is an attempt to leave the challenge out.
            (Some(_), None) | (None, Some(_)) => false,
            (None, None) => !client.public,
        };
        (is_shown && grant.redirect == Some(digest(redirect_uri.as_bytes()))).then_some(grant)
    }

    /// Reads a refresh token. It is not used up by that: see [`Issued::take`].
    pub fn read_refresh_token(&self, text: &str, client: &OauthClientSettings, now: Moment) -> Option<Grant> {
        self.unseal(Turn::Refresh, text, client, now)
    }

    /// Uses up what was read, if nobody had and its session lives.
    ///
    /// # Errors
    /// See [`NotTaken`].
    pub async fn take(&self, grant: Grant, now: Moment) -> Result<Taken, NotTaken> {
        let service = self.service.as_ref().ok_or(NotTaken::Invalid)?;
        let (who, session) =
            service.session(&grant.session, Purpose::Use).await.map_err(|failed| of_session(&failed))?;
        // Directories outside do not tell whom they have disabled or removed.
        service
            .active_account(&who.user)
            .await
            .map_err(|failed| of_session(&failed))?
            .ok_or(NotTaken::Invalid)?;
        let name = name(who.id, grant.grant);
        if service.is_recalled(name) {
            return Err(NotTaken::Invalid);
        }
        let turn = GrantTurn { holder: who.id.0, grant: grant.grant, turn: grant.turn, until: session.ends };
        match service.use_turn(turn).await {
            Ok(TurnUse::First) => Ok(Taken { grant, who, session }),
            Ok(TurnUse::Again) => {
                self.end(service, &who, &grant, now).await.map_err(|_| NotTaken::Unavailable)?;
                Err(NotTaken::Again)
            }
            // No sign of a theft: the session has many grants, and this is an old one.
            Ok(TurnUse::Forgotten) => Err(NotTaken::Invalid),
            Err(_) => Err(NotTaken::Unavailable),
        }
    }

    /// Ends the grant of a refresh token, if that is one of this client's. Whether it is.
    ///
    /// # Errors
    /// Other nodes cannot be told.
    pub async fn end_grant(
        &self,
        text: &str,
        client: &OauthClientSettings,
        now: Moment,
    ) -> Result<bool, Failed> {
        let (Some(grant), Some(service)) = (self.unseal(Turn::Refresh, text, client, now), &self.service)
        else {
            return Ok(false);
        };
        let who = match service.validate(&grant.session, Purpose::Look).await {
            Ok(who) => who,
            Err(Refusal::Unavailable) => return Err(Failed::Token(Refusal::Unavailable)),
            // A session that has ended has no tokens any more.
            Err(_) => return Ok(true),
        };
        self.end(service, &who, &grant, now).await.map(|()| true)
    }

    /// Ends a grant on all nodes: alone, or with its session where that has had too many of them ended.
    async fn end(&self, service: &Service, who: &Who, grant: &Grant, now: Moment) -> Result<(), Failed> {
        let name = name(who.id, grant.grant);
        // What was recalled is recalled again: not every node may have heard of it. It is no other one for that.
        if service.is_recalled(name) || self.recalls.count(who.id, who.ends, now) {
            return service.recall(name, who.ends).await;
        }
        tracing::warn!(client = grant.client, "too many grants of one session were ended: it has ended");
        match service.end_session(&who.user, who.id, None).await {
            Ok(()) | Err(Failed::NoSession) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether the grant that an access token comes from was ended, as far as this node knows.
    pub(super) fn has_ended_grant(&self, claims: &Claims) -> bool {
        let Some(grant) = claims.more.get(GRANT) else { return false };
        let name = grant.as_str().and_then(SessionId::read);
        match (name, &self.service) {
            (Some(name), Some(service)) => service.is_recalled(name),
            (Some(_) | None, _) => true,
        }
    }
}

fn of_session(failed: &Failed) -> NotTaken {
    if failed.is_temporary() { NotTaken::Unavailable } else { NotTaken::Invalid }
}
