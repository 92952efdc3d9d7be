//! What really happened, and whether what was promised was kept.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use durward_opcua::protocol::{GateRefusal, GateSessionId, NonceNumber};
use durward_opcua::token::{FeedMessage, HasTokenFacts, RightEnd, RightKind, TokenFacts};

use super::world::{Bounds, DRIFT, STALENESS, THIEF, World};

/// A token with what the world knows of its decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Token {
    pub(crate) facts: TokenFacts<u8>,
    /// How many recalls there had been when it was decided.
    pub(crate) recalls_before: usize,
    /// Whether the policy granted it.
    pub(crate) is_granted: bool,
}

impl HasTokenFacts for Token {
    type Name = u8;

    fn facts(&self) -> &TokenFacts<u8> {
        &self.facts
    }
}

/// Something that was promised never to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Broken {
    ServedWithoutActivation,
    ServedUngranted,
    ServedToAnotherClient,
    ServedAfterTheEnd,
    ServedRecalledTooLong,
    ServedRecalledThatWasHeardOf,
    NonceTwice,
    IssuedDead,
}

/// Something that should be possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Seen {
    Activated,
    Served,
    Renewed,
    RefusedRecalled,
    RefusedExpired,
    DeliveryStopped,
    ServedInGrace,
    ServedAfterGateRestart,
    ServedAfterAuthorityRestart,
    ThiefRefused,
    ReplayRefused,
    Denied,
    BecameAnonymous,
    Moved,
    ServedAfterClockWasWrong,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Recall {
    pub(crate) at: u8,
    pub(crate) sequence: u64,
    /// Whether the gate has ever heard this very cutoff.
    pub(crate) is_heard: bool,
}

/// What the world knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Truth {
    pub(crate) recalls: Vec<Recall>,
    /// The highest number of a cutoff that the gate was told of.
    pub(crate) told: u64,
    /// The token that each session was activated with last, and the client that really is behind it.
    pub(crate) sessions: BTreeMap<GateSessionId, (Option<Token>, u8)>,
    pub(crate) delivering: BTreeSet<GateSessionId>,
    pub(crate) broken: BTreeSet<Broken>,
    /// What the last act has shown. Not what was shown before: histories would be told apart that come to the same.
    pub(crate) seen: BTreeSet<Seen>,
    pub(crate) has_gate_restarted: bool,
    pub(crate) has_authority_restarted: bool,
}

impl World {
    pub(super) fn note_feed(&mut self, message: &FeedMessage<u8>) {
        let (sequence, is_all) = match message {
            FeedMessage::Cutoff { sequence, .. } => (*sequence, false),
            FeedMessage::Heartbeat { sequence, .. } => {
                self.truth.told = self.truth.told.max(*sequence);
                return;
            }
            FeedMessage::Snapshot { sequence, .. } => (*sequence, true),
        };
        self.truth.told = self.truth.told.max(sequence);
        for recall in &mut self.truth.recalls {
            recall.is_heard |= recall.sequence == sequence || is_all && recall.sequence <= sequence;
        }
    }

    pub(super) fn note_activation(
        &mut self,
        session: GateSessionId,
        client: u8,
        nonce: NonceNumber,
        shown: NonceNumber,
        token: &Token,
    ) {
        if nonce != shown {
            self.truth.broken.insert(Broken::NonceTwice);
        }
        let before = self.truth.sessions.get(&session).and_then(|(token, _)| token.clone());
        if before.is_some_and(|before| before.facts.issued < token.facts.issued) {
            self.truth.seen.insert(Seen::Renewed);
        }
        self.truth.seen.insert(Seen::Activated);
        self.truth.sessions.insert(session, (Some(token.clone()), client));
    }

    pub(super) fn note_refused_activation(&mut self, client: u8, refusal: GateRefusal) {
        if client == THIEF {
            self.truth.seen.insert(Seen::ThiefRefused);
        } else if refusal == GateRefusal::Nonce {
            self.truth.seen.insert(Seen::ReplayRefused);
        }
        self.note_refused(refusal);
    }

    pub(super) fn note_refused(&mut self, refusal: GateRefusal) {
        match refusal {
            GateRefusal::Ended(RightEnd::Recalled) => self.truth.seen.insert(Seen::RefusedRecalled),
            GateRefusal::Ended(RightEnd::Expired) => self.truth.seen.insert(Seen::RefusedExpired),
            _ => false,
        };
    }

    /// A request was served, or a value delivered: was it right?
    pub(super) fn note_served(&mut self, bounds: &Bounds, session: GateSessionId, kind: RightKind) {
        let (gate_now, now) = (self.gate_now(), self.now);
        let anonymous = bounds.has_anonymous;
        let truth = &mut self.truth;
        let Some((Some(token), client)) = truth.sessions.get(&session).cloned() else {
            if !anonymous {
                truth.broken.insert(Broken::ServedWithoutActivation);
            }
            return;
        };
        if !token.is_granted {
            truth.broken.insert(Broken::ServedUngranted);
        }
        if token.facts.client != client {
            truth.broken.insert(Broken::ServedToAnotherClient);
        }
        let grace = if kind == RightKind::Reading { bounds.grace } else { Duration::ZERO };
        if gate_now >= token.facts.expires.plus(grace) {
            truth.broken.insert(Broken::ServedAfterTheEnd);
        } else if gate_now >= token.facts.expires {
            truth.seen.insert(Seen::ServedInGrace);
        }
        for recall in truth.recalls.iter().skip(token.recalls_before) {
            let is_bounded = bounds.hold.is_some() || truth.told >= recall.sequence;
            if recall.is_heard {
                truth.broken.insert(Broken::ServedRecalledThatWasHeardOf);
            } else if is_bounded && now - recall.at > STALENESS + DRIFT {
                truth.broken.insert(Broken::ServedRecalledTooLong);
            }
        }
        truth.seen.insert(Seen::Served);
        if self.spent.clock_settings > 1 && self.gate_wrong == 0 {
            truth.seen.insert(Seen::ServedAfterClockWasWrong);
        }
        if truth.has_gate_restarted {
            truth.seen.insert(Seen::ServedAfterGateRestart);
        }
        if truth.has_authority_restarted {
            truth.seen.insert(Seen::ServedAfterAuthorityRestart);
        }
    }
}
