//! Those who wait for what comes of attempts under way, first come, first served.

use std::collections::{HashMap, VecDeque};

use super::cells::Part;
use super::{LINE_LENGTH_MAX, WAITING_MAX};

/// What names somebody who waits for his turn to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub(super) u64);

/// Which table counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Whose {
    Address,
    User,
    /// A user at an address from which he has logged in.
    Known,
}

/// The count in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spot {
    pub(super) whose: Whose,
    pub(super) key: u64,
}

/// A user's counts of one proof.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) user: u64,
    pub(super) pair: u64,
    pub(super) is_known: bool,
}

impl Own {
    /// The one that counts from where he is.
    pub(super) fn spot(&self) -> Spot {
        match self.is_known {
            true => Spot { whose: Whose::Known, key: self.pair },
            false => Spot { whose: Whose::User, key: self.user },
        }
    }
}

/// Who tries from where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) address: u64,
    pub(super) own: Own,
    /// What is forgiven as well when it is he.
    pub(super) beside: Option<Own>,
}

impl Claim {
    /// The count of him.
    pub(super) fn who(&self) -> Spot {
        self.own.spot()
    }

    /// The count of his address.
    pub(super) fn address(&self) -> Spot {
        Spot { whose: Whose::Address, key: self.address }
    }
}

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) place: Place,
    pub(super) claim: Claim,
    /// His part of the count of him, once he waits for his address only.
    pub(super) part: Option<Part>,
}

/// All lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    last: u64,
    /// INVARIANT: no line is empty.
    lines: HashMap<Spot, VecDeque<Waiter>>,
    /// In whose line each stands.
    places: HashMap<Place, Spot>,
}

impl Lines {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether anybody waits there.
    pub(super) fn is_there(&self, spot: Spot) -> bool {
        self.lines.contains_key(&spot)
    }

    /// Whether one more may stand there.
    pub(super) fn has_place(&self, spot: Spot) -> bool {
        self.len() < WAITING_MAX && self.lines.get(&spot).is_none_or(|line| line.len() < LINE_LENGTH_MAX)
    }

    /// A name for somebody who is to stand in a line.
    pub(super) fn place(&mut self) -> Place {
        self.last += 1;
        Place(self.last)
    }

    pub(super) fn stand(&mut self, spot: Spot, waiter: Waiter) {
        self.places.insert(waiter.place, spot);
        self.lines.entry(spot).or_default().push_back(waiter);
    }

    /// Whoever has stood there longest.
    pub(super) fn next(&mut self, spot: Spot) -> Option<Waiter> {
        let line = self.lines.get_mut(&spot)?;
        let waiter = line.pop_front()?;
        self.places.remove(&waiter.place);
        self.tidy(spot);
        Some(waiter)
    }

    /// He goes.
    pub(super) fn leave(&mut self, place: Place) -> Option<Waiter> {
        let spot = self.places.remove(&place)?;
        let line = self.lines.get_mut(&spot)?;
        let at = line.iter().position(|waiter| waiter.place == place)?;
        let waiter = line.remove(at);
        self.tidy(spot);
        waiter
    }

    fn tidy(&mut self, spot: Spot) {
        if self.lines.get(&spot).is_some_and(VecDeque::is_empty) {
            self.lines.remove(&spot);
        }
    }
}
