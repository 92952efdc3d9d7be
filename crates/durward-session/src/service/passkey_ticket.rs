//! A ceremony with a passkey that is not finished: its challenge, what it is for and until when, sealed into a text that the page brings
//! back. No node keeps anything of it; once it is finished, all nodes know that its challenge is used.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::passkey::UserHandle;
use durward_identity::session::{GrantTurn, User};
use durward_identity::{Entropy as _, IdentityError, Moment, SystemEntropy};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::login::millis;
use super::{Service, TurnUse};
use crate::outcome::Failed;

/// The purpose of the seal.
const PURPOSE: &str = "passkey";

/// How long somebody may take, from the page with a button to the finger on the authenticator.
pub(super) const TICKET_LIFETIME: Duration = Duration::from_secs(15 * 60);

/// The bytes of a challenge; 16 are the least (13.4.3).
const CHALLENGE_BYTES: usize = 32;

/// The longest ticket that is read, in characters.
const LENGTH_MAX: usize = 4096;

/// What a page is given to ask an authenticator.
#[derive(Clone, Debug, PartialEq)]
pub struct PasskeyRequest {
    /// What comes back with the credential. It is no secret.
    pub ticket: String,
    /// The options for `navigator.credentials`, as `parseRequestOptionsFromJSON` or `parseCreationOptionsFromJSON` reads them.
    pub public_key: Value,
    /// Until when it is good.
    pub until: Moment,
    /// Whether a code of the user's device would do as well.
    pub has_code: bool,
}

/// What a ceremony is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ceremony {
    /// The only step of a login.
    Login,
    /// The same, for users of one realm.
    LoginIn(String),
    /// The second step of a login whose first one was right: the challenge says whose.
    Step(String),
    /// The second step of a session that is there.
    StepUp { realm: String, subject: String },
    /// Another passkey of a user.
    Enrol { realm: String, subject: String, handle: UserHandle },
}

/// A ceremony under way.
#[derive(Serialize, Deserialize)]
pub(super) struct Ticket {
    pub(super) ceremony: Ceremony,
    challenge: String,
    until_ms: u64,
}

impl Ticket {
    /// # Errors
    /// There is no randomness.
    pub(super) fn new(ceremony: Ceremony, until: Moment) -> Result<Ticket, IdentityError> {
        let mut challenge = [0; CHALLENGE_BYTES];
        SystemEntropy.fill(&mut challenge)?;
        Ok(Ticket { ceremony, challenge: URL_SAFE_NO_PAD.encode(challenge), until_ms: until.ms() })
    }

    pub(super) fn challenge(&self) -> Vec<u8> {
        // It was made here. An empty one is none that could be answered.
        URL_SAFE_NO_PAD.decode(&self.challenge).unwrap_or_default()
    }

    pub(super) fn until(&self) -> Moment {
        Moment::from_ms(self.until_ms)
    }

    /// From the browser's first moment on.
    pub(super) fn timeout_ms(&self, now: Moment) -> u64 {
        millis(self.until().since(now))
    }

    /// Whether it is about this user.
    pub(super) fn is_of(&self, user: &User) -> bool {
        match &self.ceremony {
            Ceremony::StepUp { realm, subject } | Ceremony::Enrol { realm, subject, .. } => {
                realm == user.realm() && subject == user.subject()
            }
            Ceremony::Login | Ceremony::LoginIn(_) | Ceremony::Step(_) => false,
        }
    }
}

impl Service {
    /// # Errors
    /// There is no randomness, or the names are too long.
    pub(super) fn sealed_ticket(
        &self,
        ticket: &Ticket,
        public_key: Value,
        has_code: bool,
    ) -> Result<PasskeyRequest, IdentityError> {
        let content = serde_json::to_vec(ticket).map_err(|error| IdentityError::new(error.to_string()))?;
        let (ticket, until) = (self.seal(PURPOSE, &content)?, ticket.until());
        Ok(PasskeyRequest { ticket, public_key, until, has_code })
    }

    /// What was sealed on any node, and is not over.
    pub(super) fn open_ticket(&self, text: &str) -> Option<Ticket> {
        if text.len() > LENGTH_MAX {
            return None;
        }
        let ticket: Ticket = serde_json::from_slice(&self.unseal(PURPOSE, text)?).ok()?;
        (self.now() < ticket.until()).then_some(ticket)
    }

    /// Whether nobody has finished this ceremony before, as surely as the mode promises. Nobody can after this.
    ///
    /// # Errors
    /// Nobody knows at the moment.
    pub(super) async fn is_first_answer(&self, ticket: &Ticket) -> Result<bool, Failed> {
        let named = digest(&SHA256, format!("durward 1 passkey challenge\0{}", ticket.challenge).as_bytes());
        let holder = named.as_ref().first_chunk().copied().unwrap_or_default();
        let turn = GrantTurn { holder, grant: 0, turn: 0, until: ticket.until() };
        Ok(self.use_turn(turn).await? == TurnUse::First)
    }
}
