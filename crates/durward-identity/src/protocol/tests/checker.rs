//! What must hold: written down from outside, by when things were asked for and when they were answered.

use crate::protocol::Mode;
use crate::session::SessionId;

/// A node, and which of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) node: usize,
    pub(super) count: u64,
}

/// Whose sessions end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Session(SessionId),
    User(usize),
    All,
}

/// Sessions were to end.
#[derive(Clone, Debug)]
pub(super) struct End {
    scope: Scope,
    by: Life,
    asked: u64,
    done: Option<u64>,
}

/// A session whose token was given out.
#[derive(Clone, Debug)]
pub(super) struct IssuedSession {
    pub(super) id: SessionId,
    pub(super) user: usize,
    pub(super) token: String,
    pub(super) asked: u64,
    pub(super) answered: u64,
}

#[derive(Debug)]
pub(super) struct Checker {
    pub(super) mode: Mode,
    pub(super) sessions: Vec<IssuedSession>,
    ends: Vec<End>,
}

impl Checker {
    pub(super) fn new(mode: Mode) -> Checker {
        Checker { mode, sessions: Vec::new(), ends: Vec::new() }
    }

    /// Somebody asks for an end. Its number.
    pub(super) fn ends(&mut self, scope: Scope, by: Life, now: u64) -> usize {
        self.ends.push(End { scope, by, asked: now, done: None });
        self.ends.len() - 1
    }

    pub(super) fn done(&mut self, end: usize, now: u64) {
        self.ends[end].done = Some(now);
    }

    fn covering(&self, issued: &IssuedSession) -> impl Iterator<Item = &End> {
        self.ends.iter().filter(|end| match end.scope {
            Scope::Session(id) => id == issued.id,
            Scope::User(user) => user == issued.user,
            Scope::All => true,
        })
    }

    /// Whether a session certainly was there before its end was asked for. Without an order that the store gives, a node whose
    /// clock is 30 s behind cannot mean what it has not heard of.
    fn was_before(&self, issued: &IssuedSession, end: &End) -> bool {
        let slack = match (self.mode, end.scope) {
            (Mode::None | Mode::BestEffort, Scope::User(_) | Scope::All) => 45_000,
            (Mode::None | Mode::BestEffort, Scope::Session(_)) => 0,
            (Mode::AssuredWrite | Mode::AssuredRead, _) => 0,
        };
        issued.answered + slack < end.asked
    }

    /// A session was accepted.
    pub(super) fn accepted(&self, issued: &IssuedSession, at: Life, began: u64) -> Result<(), String> {
        let told = self.covering(issued).find(|end| {
            let is_before = self.was_before(issued, end) && end.done.is_some_and(|done| done < began);
            is_before
                && match self.mode {
                    Mode::None | Mode::BestEffort => end.by == at,
                    Mode::AssuredWrite => end.by.node == at.node,
                    Mode::AssuredRead => true,
                }
        });
        told.map_or(Ok(()), |end| {
            Err(format!("accepted after its end: {issued:?} at {at:?}, {began}: {end:?}"))
        })
    }

    /// Whether a session may have been ended: by whoever was not over when it began.
    fn may_have_ended(&self, issued: &IssuedSession) -> bool {
        // Where nodes do not agree on an order, a clock that is 30 s off may take a login for an earlier one.
        let slack =
            if self.mode == Mode::AssuredRead || self.mode == Mode::AssuredWrite { 0 } else { 45_000 };
        self.covering(issued).any(|end| end.done.is_none_or(|done| issued.asked <= done + slack))
    }

    /// All is well again, and everybody has had time: what each node must say.
    pub(super) fn at_the_end(
        &self,
        issued: &IssuedSession,
        is_accepted: bool,
        at: Life,
        lives: &[u64],
    ) -> Result<(), String> {
        let must_be_refused = self.covering(issued).find(|end| {
            let is_before = self.was_before(issued, end) && end.done.is_some();
            is_before
                && match self.mode {
                    Mode::None => end.by == at,
                    // What was behind the answer dies with the node.
                    Mode::BestEffort => lives[end.by.node] == end.by.count,
                    Mode::AssuredWrite | Mode::AssuredRead => true,
                }
        });
        if let Some(end) = must_be_refused.filter(|_| is_accepted) {
            return Err(format!("at the end accepted: {issued:?} at {at:?}, though {end:?}"));
        }
        let is_assured = self.mode == Mode::AssuredRead || self.mode == Mode::AssuredWrite;
        if is_assured && !is_accepted && !self.may_have_ended(issued) {
            return Err(format!("at the end refused, without a reason: {issued:?} at {at:?}"));
        }
        Ok(())
    }
}
