//! The revocation feed in the address space: the last cutoffs, their count, and a heartbeat. `feed` says how a gate uses it.

use std::collections::VecDeque;

use durward_identity::Moment;
use opcua_types::ByteString;

use super::AuthorityNodes;
use crate::plant::{PlantEvent, PlantServer};

/// Cutoffs in the value of `Revocations`. More of them between two samples leave a gap in the sequence, after which gates ask for all.
pub const RECENT_MAX: usize = 64;

/// The last cutoffs as the address space shows them.
#[derive(Clone, Debug)]
pub struct PublishedCutoffs {
    nodes: AuthorityNodes,
    recent: VecDeque<ByteString>,
}

impl PublishedCutoffs {
    /// None yet.
    pub fn new(nodes: &AuthorityNodes) -> PublishedCutoffs {
        PublishedCutoffs { nodes: nodes.clone(), recent: VecDeque::new() }
    }

    /// Tells gates of a cutoff, which comes encoded. `sequence` is its number.
    pub fn publish(&mut self, server: &mut PlantServer, sequence: u64, cutoff: ByteString, now: Moment) {
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(cutoff.clone());
        let all: Vec<ByteString> = self.recent.iter().cloned().collect();
        // Both in one go: whoever reads has them of the same moment.
        server.space_mut().set(&self.nodes.revocations, all, now);
        server.space_mut().set(&self.nodes.sequence, sequence, now);
        let event = self.event(server, sequence, cutoff, now);
        server.raise(&[event]);
    }

    fn event(&self, server: &PlantServer, sequence: u64, cutoff: ByteString, now: Moment) -> PlantEvent {
        let id = (u128::from(now.ms()) << 64) | u128::from(sequence);
        let nodes = &self.nodes;
        let event = PlantEvent::new(
            server.space(),
            &nodes.event_type,
            &nodes.gates,
            id.to_be_bytes(),
            "rights were recalled",
            500,
            now,
        );
        let cutoffs: Vec<ByteString> = vec![cutoff];
        event.with(nodes.namespace, "Sequence", sequence).with(nodes.namespace, "Cutoffs", cutoffs)
    }

    /// The service lives: shows a heartbeat, which comes encoded.
    pub fn beat(&self, server: &mut PlantServer, heartbeat: ByteString, now: Moment) {
        server.space_mut().set(&self.nodes.heartbeat, heartbeat, now);
    }
}
