//! What really happened, and whether what was promised was kept.

use std::collections::{BTreeMap, BTreeSet};

use durward_opcua::protocol::SessionId;
use durward_opcua::token::{Bearer, Facts};

/// A token with what the world knows of its decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Token {
    pub(crate) facts: Facts<u8>,
    /// How many recalls there had been when it was decided.
    pub(crate) recalls_before: usize,
    /// Whether the policy granted it.
    pub(crate) is_granted: bool,
}

impl Bearer for Token {
    type Name = u8;

    fn facts(&self) -> &Facts<u8> {
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
    pub(crate) sessions: BTreeMap<SessionId, (Option<Token>, u8)>,
    pub(crate) delivering: BTreeSet<SessionId>,
    pub(crate) broken: BTreeSet<Broken>,
    /// What the last act has shown. Not what was shown before: histories would be told apart that come to the same.
    pub(crate) seen: BTreeSet<Seen>,
    pub(crate) has_gate_restarted: bool,
    pub(crate) has_authority_restarted: bool,
}
