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
    /// What one customer can have of IPv6: for delays only.
    Site,
    /// A user's passwords, from where nobody knows them.
    User,
    /// A user's codes, from where nobody knows them.
    Code,
    /// A user at one of their usual addresses.
    Known,
    /// A user on one of their devices.
    Device,
    /// A user on all their devices together: nobody waits in line there.
    AllDevices,
    /// A user at an address, or at its neighbours, where nobody knows them: for delays only, nobody waits in line there.
    Stranger,
}

/// The count in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BlockingCount {
    pub(super) whose: CountedBy,
    pub(super) key: u64,
}

impl BlockingCount {
    pub(super) fn of(whose: CountedBy, key: u64) -> BlockingCount {
        BlockingCount { whose, key }
    }
}

/// A user's counts of one proof.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserCounts {
    /// The count from where nobody knows them.
    pub(super) unknown: BlockingCount,
    pub(super) pair: u64,
    pub(super) is_known: bool,
    /// Where a device of the user's was shown, and it was not taken out.
    pub(super) device: Option<u64>,
    /// The count of all the user's devices.
    pub(super) all_devices: u64,
}

impl UserCounts {
    /// The count that applies on the user's device, at their address, or elsewhere.
    pub(super) fn spot(&self) -> BlockingCount {
        match (self.device, self.is_known) {
            (Some(device), _) => BlockingCount::of(CountedBy::Device, device),
            (None, true) => BlockingCount::of(CountedBy::Known, self.pair),
            (None, false) => self.unknown,
        }
    }
}

/// What is known of somebody who tries a password of a user, neither on a device of theirs nor at a usual address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stranger {
    /// The failures with this user from this address.
    pub(super) pair: u64,
    /// And from its neighbours.
    pub(super) neighbours: u64,
    pub(super) turn: StrangerTurn,
}

/// Whose turn it is first, of strangers who wait for the same user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StrangerTurn {
    /// Has come a moment ago, and nobody of these addresses has failed with this user.
    New,
    /// Has come before, and nobody of these addresses has failed.
    Waiting,
    /// Somebody of these addresses has failed.
    Guessing,
}

/// The user and the address of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptOrigin {
    pub(super) address: u64,
    /// The site of an address of IPv6.
    pub(super) site: Option<u64>,
    pub(super) own: UserCounts,
    /// Counts that are reset as well when the credentials are right.
    pub(super) beside: Option<UserCounts>,
    pub(super) stranger: Option<Stranger>,
}

impl AttemptOrigin {
    /// The count of the user.
    pub(super) fn who(&self) -> BlockingCount {
        self.own.spot()
    }

    /// The count of the address.
    pub(super) fn address(&self) -> BlockingCount {
        BlockingCount::of(CountedBy::Address, self.address)
    }

    /// Whether it comes from a device of the user's: what others of the same address did is not in its way.
    pub(super) fn is_on_device(&self) -> bool {
        self.own.device.is_some()
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
