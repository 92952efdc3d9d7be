//! Queues of logins that wait for attempts under way, first come, first served.

use std::collections::{HashMap, VecDeque};

use super::cells::AttemptCount;
use super::{LINE_LENGTH_MAX, WAITING_MAX};

/// The identifier of a queued login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueTicket(pub(super) u64);

/// Which table counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CountedBy {
    Address,
    User,
    /// A user at one of their usual addresses.
    Known,
}

/// The count in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BlockingCount {
    pub(super) whose: CountedBy,
    pub(super) key: u64,
}

/// A user's counts of one proof.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserCounts {
    pub(super) user: u64,
    pub(super) pair: u64,
    pub(super) is_known: bool,
}

impl UserCounts {
    /// The count that applies at the user's address.
    pub(super) fn spot(&self) -> BlockingCount {
        match self.is_known {
            true => BlockingCount { whose: CountedBy::Known, key: self.pair },
            false => BlockingCount { whose: CountedBy::User, key: self.user },
        }
    }
}

/// The user and the address of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptOrigin {
    pub(super) address: u64,
    pub(super) own: UserCounts,
    /// Counts that are reset as well when the credentials are right.
    pub(super) beside: Option<UserCounts>,
}

impl AttemptOrigin {
    /// The count of the user.
    pub(super) fn who(&self) -> BlockingCount {
        self.own.spot()
    }

    /// The count of the address.
    pub(super) fn address(&self) -> BlockingCount {
        BlockingCount { whose: CountedBy::Address, key: self.address }
    }
}

#[derive(Debug)]
pub(super) struct QueuedAttempt {
    pub(super) place: QueueTicket,
    pub(super) claim: AttemptOrigin,
    /// Its part of the user's count, once it waits for the address only.
    pub(super) part: Option<AttemptCount>,
}

/// All lines.
#[derive(Debug, Default)]
pub(super) struct AttemptQueues {
    last: u64,
    /// INVARIANT: no line is empty.
    lines: HashMap<BlockingCount, VecDeque<QueuedAttempt>>,
    /// In whose line each stands.
    places: HashMap<QueueTicket, BlockingCount>,
}

impl AttemptQueues {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether anybody waits there.
    pub(super) fn is_there(&self, spot: BlockingCount) -> bool {
        self.lines.contains_key(&spot)
    }

    /// Whether one more may stand there.
    pub(super) fn has_place(&self, spot: BlockingCount) -> bool {
        self.len() < WAITING_MAX && self.lines.get(&spot).is_none_or(|line| line.len() < LINE_LENGTH_MAX)
    }

    /// A name for somebody who is to stand in a line.
    pub(super) fn place(&mut self) -> QueueTicket {
        self.last += 1;
        QueueTicket(self.last)
    }

    pub(super) fn stand(&mut self, spot: BlockingCount, waiter: QueuedAttempt) {
        self.places.insert(waiter.place, spot);
        self.lines.entry(spot).or_default().push_back(waiter);
    }

    /// Whoever has stood there longest.
    pub(super) fn next(&mut self, spot: BlockingCount) -> Option<QueuedAttempt> {
        let line = self.lines.get_mut(&spot)?;
        let waiter = line.pop_front()?;
        self.places.remove(&waiter.place);
        self.tidy(spot);
        Some(waiter)
    }

    /// The login leaves the queue.
    pub(super) fn leave(&mut self, place: QueueTicket) -> Option<QueuedAttempt> {
        let spot = self.places.remove(&place)?;
        let line = self.lines.get_mut(&spot)?;
        let at = line.iter().position(|waiter| waiter.place == place)?;
        let waiter = line.remove(at);
        self.tidy(spot);
        waiter
    }

    fn tidy(&mut self, spot: BlockingCount) {
        if self.lines.get(&spot).is_some_and(VecDeque::is_empty) {
            self.lines.remove(&spot);
        }
    }
}
