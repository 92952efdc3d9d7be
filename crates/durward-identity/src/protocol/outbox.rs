//! Records on their way to the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::message::AskId;
use crate::Moment;
use crate::session::{LiveSession, SessionRecord, User};

/// What names a record on its way, so that the store takes it once however often it is sent: the node's random number, and a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// The node's, new at each start.
    pub node: u64,
    /// Which of the node's records.
    pub count: u64,
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.node, self.count)
    }
}

/// What is done when a record has arrived.
#[derive(Clone, Debug)]
pub(super) enum OnStored {
    Nothing,
    /// Somebody waits to hear that it is done.
    Say {
        ask: AskId,
        deadline: Moment,
    },
    /// Somebody waits for the token of a session.
    Token {
        ask: AskId,
        deadline: Moment,
        live: LiveSession,
    },
    /// Somebody waits to hear whether the store has nothing before it that used up the same code.
    First {
        ask: AskId,
        deadline: Moment,
    },
    /// Nobody waits for the token any more: the session must end.
    End {
        live: LiveSession,
    },
}

#[derive(Debug)]
pub(super) struct PendingRecord {
    pub(super) record: SessionRecord,
    pub(super) then: OnStored,
    resend_at: Moment,
    /// Its number, once the store has acknowledged it.
    stored: Option<u64>,
    /// How far the node was when it was made: the store has it behind that.
    applied: u64,
}

/// INVARIANT: `stored` holds the number and the count of those of `pending` that have a number.

#[derive(Debug)]
pub(super) struct RecordOutbox {
    node: u64,
    last: u64,
    pending: BTreeMap<u64, PendingRecord>,
    stored: BTreeSet<(u64, u64)>,
}

impl RecordOutbox {
    pub(super) fn new(node: u64) -> RecordOutbox {
        RecordOutbox { node, last: 0, pending: BTreeMap::new(), stored: BTreeSet::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn name(&mut self) -> RecordId {
        self.last += 1;
        RecordId { node: self.node, count: self.last }
    }

    /// Keeps a record until the store has it.
    pub(super) fn keep(
        &mut self,
        record: SessionRecord,
        then: OnStored,
        resend_at: Moment,
        applied: u64,
    ) -> RecordId {
        let id = self.name();
        self.pending.insert(id.count, PendingRecord { record, then, resend_at, stored: None, applied });
        id
    }

    /// Whether a record has a number that the store had given out before it was made: then that is another store.
    pub(super) fn went_back(&self, id: RecordId, number: u64) -> bool {
        self.is_own(id) && self.pending.get(&id.count).is_some_and(|pending| number <= pending.applied)
    }

    /// How many logins of a user are under way.
    pub(super) fn logins_of(&self, user: &User) -> usize {
        let is_one = |pending: &&PendingRecord| {
            matches!(&pending.record, SessionRecord::Login(live) if live.user == *user)
                && matches!(pending.then, OnStored::Token { .. })
        };
        self.pending.values().filter(is_one).count()
    }

    fn is_own(&self, id: RecordId) -> bool {
        id.node == self.node
    }

    /// The store has acknowledged a record. In the assured modes it is kept until it is applied as well.
    pub(super) fn stored(&mut self, id: RecordId, number: u64, is_assured: bool) {
        if !self.is_own(id) {
            return;
        }
        if !is_assured {
            self.pending.remove(&id.count);
        } else if let Some(pending) = self.pending.get_mut(&id.count) {
            // Acknowledged twice, it has the number that was said first.
            let number = *pending.stored.get_or_insert(number);
            self.stored.insert((number, id.count));
        }
    }

    /// The store did not take a record: it is sent again at the next occasion.
    pub(super) fn refused(&mut self, id: RecordId, now: Moment) {
        if self.is_own(id)
            && let Some(pending) = self.pending.get_mut(&id.count)
        {
            pending.resend_at = now;
        }
    }

    /// The record came back from the store.
    pub(super) fn arrived(&mut self, id: RecordId) -> Option<PendingRecord> {
        if self.is_own(id) { self.take(id.count) } else { None }
    }

    fn take(&mut self, count: u64) -> Option<PendingRecord> {
        let pending = self.pending.remove(&count)?;
        pending.stored.inspect(|number| {
            self.stored.remove(&(*number, count));
        });
        Some(pending)
    }

    /// Those that the store has acknowledged, and that lie behind what is applied: they were replaced there before they came back.
    pub(super) fn passed(&mut self, applied: u64) -> Vec<PendingRecord> {
        let is_passed = |(number, _): &(u64, u64)| *number <= applied;
        let passed: Vec<u64> =
            self.stored.iter().copied().take_while(is_passed).map(|(_, count)| count).collect();
        passed.into_iter().filter_map(|count| self.take(count)).collect()
    }

    /// What is to be sent again.
    pub(super) fn due(&mut self, now: Moment, next: Moment) -> Vec<(RecordId, SessionRecord)> {
        let node = self.node;
        let due = self.pending.iter_mut().filter(|(_, it)| it.stored.is_none() && it.resend_at <= now);
        due.map(|(count, pending)| {
            pending.resend_at = next;
            (RecordId { node, count: *count }, pending.record.clone())
        })
        .collect()
    }

    /// Those who have waited for too long. Their records stay on their way.
    pub(super) fn late(&mut self, now: Moment) -> Vec<AskId> {
        let mut late = Vec::new();
        for pending in self.pending.values_mut() {
            pending.then = match std::mem::replace(&mut pending.then, OnStored::Nothing) {
                OnStored::Say { ask, deadline } | OnStored::First { ask, deadline } if deadline <= now => {
                    late.push(ask);
                    OnStored::Nothing
                }
                OnStored::Token { ask, deadline, live } if deadline <= now => {
                    late.push(ask);
                    OnStored::End { live }
                }
                then @ (OnStored::Nothing
                | OnStored::Say { .. }
                | OnStored::First { .. }
                | OnStored::Token { .. }
                | OnStored::End { .. }) => then,
            };
        }
        late
    }
}
