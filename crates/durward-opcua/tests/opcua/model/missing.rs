//! Checks that are missing: put before the machines, so that the product has no switch for them.

use durward_identity::Moment;
use durward_opcua::protocol::AuthorityRecord;
use durward_opcua::token::{Cutoffs, FeedMessage, TokenFacts};

use super::world::{Plant, World};

/// A check that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// The end of a token is looked at when a session is activated, and not again.
    ExpiryOnlyAtActivation,
    /// A token that is presented when a session is activated again is not held against cutoffs.
    CutoffForgottenAtReactivation,
    /// Nobody compares the certificate of the token with that of the channel.
    BindingUnchecked,
    /// Tokens are dated by the clock, whatever was recalled in that second.
    DatedByTheClock,
    /// A cutoff is dated by the clock: tokens of the same second live on.
    CutoffByTheClock,
    /// Tokens are dated when they are signed, not when their decision is begun.
    DatedWhenSigned,
    /// An answer of the decision point counts for whichever question was put last.
    TicketUnchecked,
    /// Grace never ends.
    GraceUnbounded,
    /// A heartbeat counts from when it arrives, not from when it was sent.
    HeartbeatsCountOnArrival,
    /// Nobody compares the number of a heartbeat with what was heard.
    GapsUnseen,
    /// A gate that was started takes any snapshot, not only the answer to its own question.
    AnySnapshotAfterRestart,
    /// A nonce is good more than once.
    NonceReused,
    /// The authorization service stores cutoffs, but no marks.
    MarksNotStored,
    /// The authorization service tells of a cutoff, but does not store it.
    CutoffsNotStored,
    /// The gate goes by its wall clock, and not back with it.
    ClockOnlyForward,
    /// The gate goes on as before when its clock was set back.
    ClockSetBackUnsaid,
}

impl Plant {
    pub(super) fn change_feed(&self, world: &World, message: FeedMessage<u8>) -> FeedMessage<u8> {
        match message {
            FeedMessage::Heartbeat { epoch, time, .. } if self.is(Mutant::GapsUnseen) => {
                FeedMessage::Heartbeat { epoch, sequence: world.gate.feed().known(), time }
            }
            FeedMessage::Heartbeat { epoch, sequence, .. } if self.is(Mutant::HeartbeatsCountOnArrival) => {
                FeedMessage::Heartbeat { epoch, sequence, time: world.gate_now() }
            }
            FeedMessage::Snapshot { epoch, sequence, time, cutoffs, .. }
                if self.is(Mutant::AnySnapshotAfterRestart) =>
            {
                let question = u64::from(world.spent.gate_restarts);
                FeedMessage::Snapshot { epoch, sequence, time, question, cutoffs }
            }
            FeedMessage::Cutoff { epoch, sequence, target, before } if self.is(Mutant::CutoffByTheClock) => {
                FeedMessage::Cutoff { epoch, sequence, target, before: a_second_before(before) }
            }
            FeedMessage::Snapshot { epoch, sequence, time, question, cutoffs }
                if self.is(Mutant::CutoffByTheClock) =>
            {
                let mut earlier = Cutoffs::default();
                for (target, before) in cutoffs.iter() {
                    earlier.add(target.clone(), a_second_before(before));
                }
                FeedMessage::Snapshot { epoch, sequence, time, question, cutoffs: earlier.into() }
            }
            other => other,
        }
    }

    /// The moment that the gate's machine is told. It does not go back by itself.
    pub(super) fn change_moment(&self, world: &World) -> Moment {
        if self.is(Mutant::ClockOnlyForward) {
            return world.gate_wall();
        }
        world.gate_clock_now()
    }

    pub(super) fn change_date(&self, world: &World, mut facts: TokenFacts<u8>) -> TokenFacts<u8> {
        if self.is(Mutant::DatedByTheClock) {
            facts.issued = world.authority_now();
        }
        facts
    }

    pub(super) fn store(&self, world: &mut World, record: AuthorityRecord<u8>) {
        match record {
            AuthorityRecord::Mark(_) if self.is(Mutant::MarksNotStored) => {}
            AuthorityRecord::Cutoff { .. }
                if self.is(Mutant::CutoffsNotStored) && !world.truth.recalls.is_empty() => {}
            AuthorityRecord::Mark(_) => {
                world.store.retain(|record| !matches!(record, AuthorityRecord::Mark(_)));
                world.store.push(record);
            }
            AuthorityRecord::Epoch(_) | AuthorityRecord::Sequence(_) | AuthorityRecord::Cutoff { .. } => {
                world.store.push(record)
            }
        }
    }
}

fn a_second_before(moment: Moment) -> Moment {
    Moment::from_ms(moment.ms().saturating_sub(1_000))
}
