//! What goes into a node, and what comes out.

use std::fmt;

use super::outbox::RecordId;
use crate::login::GuessNews;
use crate::session::{
    FreshnessProof, Level, Properties, Revocation, SessionChange, SessionId, SessionLimitReached,
    SessionRecord, UsedCode, User,
};
use crate::{IdentityError, Moment};

/// What names a question of the driver's, in its answer. The driver chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(pub u64);

/// An input of the state machine.
#[derive(Clone, Debug)]
pub enum NodeEvent {
    /// A user has authenticated and gets a session.
    Login {
        /// Answered with a token.
        ask: AskId,
        /// Who.
        user: User,
        /// How sure it is.
        level: Level,
        /// What is kept with the session.
        properties: Properties,
    },
    /// A session ends before its time.
    Logout {
        /// Answered when it is as sure as the mode promises.
        ask: AskId,
        /// Whose.
        user: User,
        /// Which.
        id: SessionId,
        /// When it would have ended.
        ends: Moment,
    },
    /// All sessions of a user end.
    RevokeUser {
        /// As in `Logout`.
        ask: AskId,
        /// Whose.
        user: User,
    },
    /// All sessions end.
    RevokeAll {
        /// As in `Logout`.
        ask: AskId,
    },
    /// What was given out for a while ends before: a token, whose name is no session's.
    Recall {
        /// As in `Logout`.
        ask: AskId,
        /// Its name.
        id: SessionId,
        /// When it would have ended.
        ends: Moment,
    },
    /// A session's level rises, or its properties change. Tokens keep the level they have: the answer is a new one.
    Change {
        /// Answered with a token.
        ask: AskId,
        /// Whose.
        user: User,
        /// Which.
        id: SessionId,
        /// The level of the token that was shown: the new one has no higher one but by this change.
        shown: Level,
        /// How it changes.
        change: SessionChange,
    },
    /// A session is used on, with a token under the newest key.
    Refresh {
        /// Answered with a token.
        ask: AskId,
        /// Whose.
        user: User,
        /// Which.
        id: SessionId,
        /// The level of the token that was shown: the new one has no higher one.
        shown: Level,
    },
    /// A directory took a code of a second step: whether it was good until now, wherever else it may have been used.
    UseCode {
        /// Answered with `Done` by whoever is the first as surely as the mode promises, with `Used` to everybody else.
        ask: AskId,
        /// The code.
        code: UsedCode,
    },
    /// Logins failed here: other nodes count them too, as well as can be.
    Guesses {
        /// Answered with `Done` at once.
        ask: AskId,
        /// What the throttle counted.
        news: GuessNews,
    },
    /// A validation asks for a permit, in the mode `assured-read`.
    Validate {
        /// Answered with a permit.
        ask: AskId,
    },
    /// An operator wants another key.
    Rotate {
        /// As in `Logout`.
        ask: AskId,
    },
    /// The store can be reached; its last record has this number.
    Connected {
        /// The number.
        last: u64,
    },
    /// The store cannot be reached.
    Lost,
    /// A record from the store.
    Delivered {
        /// Its number.
        number: u64,
        /// The number of the one that was sent before it, or from where sending began: nothing lies between.
        after: u64,
        /// What it was sent as.
        id: RecordId,
        /// What it says.
        record: SessionRecord,
    },
    /// The store has sent everything up to a number. Comes once a second, and at once where there is nothing to send.
    Idle {
        /// The number.
        last: u64,
        /// The number of the record that was sent before this.
        after: u64,
    },
    /// The store has a record.
    Stored {
        /// Which.
        id: RecordId,
        /// Its number there.
        number: u64,
    },
    /// The store did not take a record, or nobody knows.
    NotStored {
        /// Which.
        id: RecordId,
    },
    /// The store's answer to [`NodeEffect::AskLast`].
    Last {
        /// The question.
        question: u64,
        /// The number of the last record that was acknowledged before the answer.
        last: u64,
    },
    /// Another node tells, in the mode `none`.
    Told {
        /// What.
        record: SessionRecord,
    },
    /// Another node's answer to [`NodeEffect::AskPeers`], complete.
    Knows {
        /// What [`Node::knowledge`] gave there.
        records: Vec<SessionRecord>,
    },
    /// Time has passed. Every half a second or so.
    Tick,
}

/// An output of the state machine, for the driver to carry out.
#[derive(Debug, PartialEq, Eq)]
pub enum NodeEffect {
    /// Give the record to the store; `Stored` or `NotStored` comes back.
    Store {
        /// What it is sent as.
        id: RecordId,
        /// What it says.
        record: SessionRecord,
    },
    /// Tell all other nodes, as well as can be.
    Tell {
        /// What.
        record: SessionRecord,
    },
    /// Send the store's records from after a number on, from now on.
    CatchUp {
        /// The number.
        after: u64,
    },
    /// Ask the store for the number of its last record.
    AskLast {
        /// Comes back in `Last`.
        question: u64,
    },
    /// Ask another node for what it knows.
    AskPeers,
    /// Answer the driver's question.
    Answer {
        /// Which.
        ask: AskId,
        /// The answer.
        answer: AskOutcome,
    },
    /// Sessions have ended: whoever acts on them should look again.
    Ended(Revocation),
    /// A session changed: who follows it looks again.
    Changed(SessionId),
    /// Logins failed on a node, this one or another: the throttle is to hear of it.
    Guessed(GuessNews),
    /// Something is wrong that an operator should know.
    Trouble(IdentityError),
}

/// The outcome of a request of the driver.
#[derive(Debug, PartialEq, Eq)]
pub enum AskOutcome {
    /// The session's token.
    Token {
        /// The session.
        id: SessionId,
        /// Its token.
        token: String,
    },
    /// It is done, as surely as the mode promises.
    Done,
    /// What to validate with.
    Permit(FreshnessProof),
    /// There is no such session.
    NoSession,
    /// The code was used before.
    Used,
    /// The turn is of a grant that newer grants of its holder have pushed out: it is over, used or not.
    Forgotten,
    /// There may not be one more session.
    Full(SessionLimitReached),
    /// It cannot be done now, and was not.
    Unavailable(Lack),
    /// The store did not say in time whether it has it. A logout has been done here and is still on its way; a login comes to
    /// nothing; a code is used up, and gives nothing.
    Unknown,
}

/// What a node is waiting for before it can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It has just started, and does not know yet what the others know.
    Starting,
    /// It has no connection to the store.
    Store,
    /// It has one again, and catches up.
    Behind,
    /// The store is too slow: too much is on its way.
    Overload,
    /// There is no key yet, or no randomness.
    Key,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lack::Starting => {
                "this node has just started and learns what the others know; try again in a moment"
            }
            Lack::Store => "this node has no connection to the session store; try another node",
            Lack::Behind => "this node catches up with the session store; try again in a moment",
            Lack::Overload => "too much waits for the session store; try again later",
            Lack::Key => "this node has no key to seal sessions with yet; try again in a moment",
        })
    }
}

/// What a node can guarantee at the moment, for its health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeHealth {
    /// What it lacks.
    pub lack: Option<Lack>,
    /// Since when it is without the store.
    pub since: Option<Moment>,
    /// How many records the store does not have yet.
    pub unsent: usize,
    /// How many records of logins and uses were given up, in `best-effort`.
    pub dropped: u64,
    /// The store's number up to which it has applied everything.
    pub applied: u64,
}
