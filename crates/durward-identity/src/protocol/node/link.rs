//! The link to the store: whether this node has all that the store has.

use super::SessionNode;
use crate::protocol::message::NodeEffect;
use crate::protocol::settings::Mode;
use crate::session::{Revocation, RevocationReach, SessionRecord};
use crate::{IdentityError, Moment};

/// The link to the store. In the mode `none`, the other nodes stand in its place at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreLink {
    Starting {
        until: Option<Moment>,
    },
    Lost {
        since: Moment,
    },
    /// It asked for what it lacks at `asked`.
    CatchingUp {
        target: u64,
        since: Moment,
        asked: Moment,
    },
    Live,
}

impl SessionNode {
    pub(super) fn is_connected(&self) -> bool {
        match self.link {
            StoreLink::CatchingUp { .. } | StoreLink::Live => true,
            StoreLink::Starting { .. } | StoreLink::Lost { .. } => false,
        }
    }

    pub(super) fn connected(&mut self, now: Moment, last: u64, effects: &mut Vec<NodeEffect>) {
        if last < self.applied {
            self.store_went_back(now, last, effects);
            return;
        }
        self.link = StoreLink::CatchingUp { target: last, since: self.since(now), asked: now };
        effects.push(NodeEffect::CatchUp { after: self.applied });
        self.set_gate();
        self.send_again(now, true, effects);
    }

    /// The store has less than this node had from it.
    pub(super) fn store_went_back(&mut self, now: Moment, last: u64, effects: &mut Vec<NodeEffect>) {
        effects.push(NodeEffect::Trouble(IdentityError::new(format!(
            "the store ends with record {last}, and this node has seen record {}: the store has lost what it had \
             acknowledged; restore it, or restart the nodes to accept that",
            self.applied
        ))));
        self.lost(now, effects);
    }

    pub(super) fn since(&self, now: Moment) -> Moment {
        match self.link {
            StoreLink::Lost { since } | StoreLink::CatchingUp { since, .. } => since,
            StoreLink::Starting { .. } | StoreLink::Live => now,
        }
    }

    pub(super) fn lost(&mut self, now: Moment, effects: &mut Vec<NodeEffect>) {
        self.link = StoreLink::Lost { since: self.since(now) };
        self.set_gate();
        for ask in self.freshness.abandon() {
            effects.push(NodeEffect::Answer { ask, answer: self.permit_without_store() });
        }
    }

    pub(super) fn is_deaf(&self, now: Moment) -> bool {
        now.since(self.heard) > self.settings.silence_max
    }

    /// Whether something from the store is what comes next here. What was missed is asked for again.
    pub(super) fn follows(
        &mut self,
        now: Moment,
        number: u64,
        after: u64,
        effects: &mut Vec<NodeEffect>,
    ) -> bool {
        if !self.is_connected() {
            return false;
        }
        self.heard = now;
        if number < self.applied {
            return false;
        }
        if after > self.applied {
            self.missed(now, number, effects);
            return false;
        }
        number > self.applied || after == number
    }

    /// Something up to a number did not come. It is asked for, though not for every record that shows so.
    pub(super) fn missed(&mut self, now: Moment, number: u64, effects: &mut Vec<NodeEffect>) {
        let (target, asked) = match self.link {
            StoreLink::CatchingUp { target, asked, .. } => (target.max(number), Some(asked)),
            StoreLink::Starting { .. } | StoreLink::Lost { .. } | StoreLink::Live => (number, None),
        };
        let is_asked = asked.is_some_and(|asked| now.since(asked) < self.settings.resend_after);
        if !is_asked {
            effects.push(NodeEffect::CatchUp { after: self.applied });
        }
        let asked = asked.filter(|_| is_asked).unwrap_or(now);
        self.link = StoreLink::CatchingUp { target, since: self.since(now), asked };
        self.set_gate();
    }

    pub(super) fn applied_up_to(&mut self, now: Moment, number: u64, effects: &mut Vec<NodeEffect>) {
        self.applied = self.applied.max(number);
        if let StoreLink::CatchingUp { target, asked, .. } = &mut self.link {
            // As long as records come, nothing is asked for again.
            *asked = now.max(*asked);
            if *target <= self.applied {
                self.ready();
            }
        }
        self.give_permits(effects);
    }

    pub(super) fn ready(&mut self) {
        self.link = StoreLink::Live;
        self.was_ready = true;
        self.set_gate();
    }

    /// Another node has said what it knows.
    pub(super) fn learn(&mut self, now: Moment, records: Vec<SessionRecord>, effects: &mut Vec<NodeEffect>) {
        for record in records {
            self.apply(now, record, RevocationReach::Stamped, effects);
        }
        if let StoreLink::Starting { .. } = self.link {
            self.ready();
        }
    }

    /// Without a store, the first to start finds nobody. The sessions of nodes that were there before have died with them: what they
    /// revoked is not known.
    pub(super) fn start_alone(&mut self, now: Moment, effects: &mut Vec<NodeEffect>) {
        let (Mode::None, StoreLink::Starting { until }) = (self.settings.mode, self.link) else { return };
        match until {
            None => {
                effects.push(NodeEffect::AskPeers);
                self.link = StoreLink::Starting { until: Some(now.plus(self.settings.ask_within)) };
            }
            Some(until) if until <= now => {
                let before = self.stamps.next(now);
                self.sessions.revoke(&Revocation::All { before }, now, RevocationReach::Stamped);
                self.ready();
            }
            Some(_) => {}
        }
    }
}
