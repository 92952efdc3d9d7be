//! What surfaces give out in the name of a session and take back: texts that are sealed, turns that are good once, and news of
//! sessions that have ended.

use std::net::IpAddr;

use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::protocol::{AskOutcome, Lack, NodeEvent};
use durward_identity::session::{GrantTurn, Revocation, SessionId, UsedCode, User, open_text, seal_text};
use durward_identity::{IdentityError, SystemEntropy};
use tokio::sync::broadcast;

use super::{Service, from, of_session};
use crate::challenge::derive;
use crate::counters::Counter;
use crate::outcome::Failed;

/// How long a key seals texts.
const PERIOD_S: u32 = 86_400;

/// How many periods back a text may have been sealed. What it holds says when it ends.
const PERIODS_BACK_MAX: u32 = 400;

/// What came of a turn that was to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnUse {
    /// Nobody had used it, as surely as the mode promises.
    First,
    /// Somebody had.
    Again,
    /// Newer grants of its holder have pushed its grant out: it is over, and nobody knows any more whether it was used.
    Forgotten,
}

impl Service {
    /// Seals content for a purpose of a surface's own: every node reads it, and nobody else.
    ///
    /// # Errors
    /// There is no randomness, or too much content.
    pub fn seal(&self, purpose: &str, content: &[u8]) -> Result<String, IdentityError> {
        let period = self.now().seconds() / PERIOD_S;
        seal_text(&self.key_of(purpose, period), period, content, &SystemEntropy)
    }

    /// What was sealed for the purpose. `None` for what was not, or was changed.
    pub fn unseal(&self, purpose: &str, text: &str) -> Option<Vec<u8>> {
        let now = self.now().seconds() / PERIOD_S;
        // The clock of the node that sealed it may be ahead.
        let is_taken =
            |period: u32| period <= now.saturating_add(1) && now.saturating_sub(period) <= PERIODS_BACK_MAX;
        open_text(text, |period| is_taken(period).then(|| self.key_of(purpose, period)))
    }

    fn key_of(&self, purpose: &str, period: u32) -> [u8; 32] {
        derive(&self.0.parts.secret, &format!("sealed {purpose} {period}"))
    }

    /// Uses up a turn of a grant, on all nodes and as surely as the mode promises.
    ///
    /// # Errors
    /// It cannot be done, or nobody knows whether it was.
    pub async fn use_turn(&self, turn: GrantTurn) -> Result<TurnUse, Failed> {
        match self.ask(|ask| NodeEvent::UseCode { ask, code: UsedCode::Grant(turn) }).await {
            Some(AskOutcome::Done) => Ok(TurnUse::First),
            Some(AskOutcome::Used) => Ok(TurnUse::Again),
            Some(AskOutcome::Forgotten) => Ok(TurnUse::Forgotten),
            Some(AskOutcome::Unavailable(lack)) => Err(Failed::Unavailable(lack)),
            Some(
                AskOutcome::Unknown
                | AskOutcome::Token { .. }
                | AskOutcome::Permit(_)
                | AskOutcome::NoSession
                | AskOutcome::Full(_),
            ) => Err(Failed::Unknown),
            None => Err(Failed::Unavailable(Lack::Store)),
        }
    }

    /// Ends a session by its name. Whoever calls this has found out that its user wants that.
    ///
    /// # Errors
    /// There is no such session, or it cannot be done; see [`Failed::Unknown`].
    pub async fn end_session(
        &self,
        user: &User,
        id: SessionId,
        address: Option<IpAddr>,
    ) -> Result<(), Failed> {
        let session = self.0.parts.sessions.get(user, id).ok_or(Failed::NoSession)?;
        let (whose, ends) = (user.clone(), session.ends);
        let done = self.done(|ask| NodeEvent::Logout { ask, user: whose, id, ends }).await;
        if matches!(done, Ok(()) | Err(Failed::Unknown)) {
            self.count(Counter::Logout);
            self.record(from(of_session(AuditEvent::new(Kind::Logout), user, id), address)).await;
        }
        done
    }

    /// Hears from now on which sessions were ended before their time, on any node. Who is too slow misses some, and is told so.
    pub fn ended_sessions(&self) -> broadcast::Receiver<Revocation> {
        self.0.parts.listeners.follow()
    }
}
