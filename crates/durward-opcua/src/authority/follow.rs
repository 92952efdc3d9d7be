//! What gates follow: the cutoffs in force, each change with the next sequence number, and a heartbeat.
//!
//! A gate subscribes to the event for what is new and to `Sequence` and `Heartbeat` as data. After a gap in the sequence, and when it
//! begins, it reads `Revocations` whole.

use durward_identity::Moment;
use opcua_types::ByteString;

use super::AuthorityNodes;
use crate::plant::{Event, Server};

/// Cutoffs that are in force at the same time. They end with the longest token, so that there are few.
pub const CUTOFFS_MAX: usize = 10_000;

/// The cutoffs as the address space shows them.
#[derive(Clone, Debug)]
pub struct Cutoffs {
    nodes: AuthorityNodes,
    in_force: Vec<(Moment, ByteString)>,
    sequence: u64,
    heartbeat: u64,
}

impl Cutoffs {
    /// None yet.
    pub fn new(nodes: &AuthorityNodes) -> Cutoffs {
        Cutoffs { nodes: nodes.clone(), in_force: Vec::new(), sequence: 0, heartbeat: 0 }
    }

    /// Puts a cutoff in force until no token can be alive that it concerns, and tells gates of it at once. False where there are
    /// [`CUTOFFS_MAX`]: the caller then must widen one (to everybody) instead.
    pub fn publish(&mut self, server: &mut Server, cutoff: ByteString, until: Moment, now: Moment) -> bool {
        self.in_force.retain(|(ends, _)| now < *ends);
        if self.in_force.len() >= CUTOFFS_MAX {
            return false;
        }
        self.in_force.push((until, cutoff.clone()));
        self.sequence += 1;
        let all: Vec<ByteString> = self.in_force.iter().map(|(_, cutoff)| cutoff.clone()).collect();
        // Both in one go: whoever reads has them of the same moment.
        server.space_mut().set(&self.nodes.revocations, all, now);
        server.space_mut().set(&self.nodes.sequence, self.sequence, now);
        let event = self.event(server, cutoff, now);
        server.raise(&[event]);
        true
    }

    fn event(&self, server: &Server, cutoff: ByteString, now: Moment) -> Event {
        let id = (u128::from(now.ms()) << 64) | u128::from(self.sequence);
        let nodes = &self.nodes;
        let event = Event::new(
            server.space(),
            &nodes.event_type,
            &nodes.gates,
            id.to_be_bytes(),
            "rights were recalled",
            500,
            now,
        );
        let cutoffs: Vec<ByteString> = vec![cutoff];
        event.with(nodes.namespace, "Sequence", self.sequence).with(nodes.namespace, "Cutoffs", cutoffs)
    }

    /// The service lives. Gates that see no change of it for too long know that they may have missed something.
    pub fn beat(&mut self, server: &mut Server, now: Moment) {
        self.heartbeat += 1;
        server.space_mut().set(&self.nodes.heartbeat, self.heartbeat, now);
    }

    /// The number of the last change.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    #[cfg(test)]
    pub(super) fn in_force_for_tests(&mut self, cutoff: ByteString, until: Moment) {
        self.in_force.push((until, cutoff));
    }
}
