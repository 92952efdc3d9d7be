//! In which order a diagram looks at attributes, for people.

use durward_ir::program::{NodeId, SlotId};

use super::{DiagramEdge, DiagramIndex};
use crate::BuildMap;

/// Looking for more slots, or at more steps, would tell nobody more.
const STEPS_MAX: usize = 100_000;

impl DiagramIndex {
    /// The slots it looks at for a set: the nearest to the start first.
    pub(crate) fn order(&self, id: NodeId) -> Vec<SlotId> {
        let mut slots = Vec::new();
        let mut seen: BuildMap<DiagramEdge, ()> = BuildMap::default();
        let mut level: Vec<DiagramEdge> = vec![self.starts_of(id).deep];
        while !level.is_empty() && seen.len() < STEPS_MAX {
            let mut next = Vec::new();
            for step in level {
                if !step.is_list() && seen.insert(step, ()).is_none() {
                    self.look(step, &mut slots, &mut next);
                }
            }
            level = next;
        }
        slots
    }

    /// Notes what a step looks at, and where it leads.
    fn look(&self, step: DiagramEdge, slots: &mut Vec<SlotId>, next: &mut Vec<DiagramEdge>) {
        let mut note = |slot: SlotId| {
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        };
        match step.kind {
            DiagramEdge::NODE => {
                let Some(node) = self.nodes.get(step.at as usize) else { return };
                note(node.slot);
                next.extend(self.tables.branches(&node.table).into_iter().map(|(_, step)| step));
                next.extend([node.other, node.absent]);
            }
            DiagramEdge::FORK => next.extend(self.forks.get(step.at as usize).into_iter().flatten()),
            DiagramEdge::SIEVE => self.sieves.slots(step.at).into_iter().for_each(note),
            _ => {}
        }
    }
}
