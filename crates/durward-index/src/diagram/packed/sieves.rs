//! Combines what sieves leave; the targets of those children are known to match.

use durward_ir::combine::{Effects, Flow};
use durward_ir::program::{NodeId, Program};
use durward_ir::question::SlotReader;

use super::PackedEdge;
use crate::DiagramIndex;

impl PackedEdge {
    pub(super) fn of_sieve(number: u32) -> PackedEdge {
        if number < PackedEdge::SIEVE {
            PackedEdge(PackedEdge::FORK | PackedEdge::SIEVE | number)
        } else {
            PackedEdge::LOST
        }
    }

    /// The number of a sieve.
    #[inline]
    pub(super) fn as_sieve(self) -> Option<u32> {
        let is_sieve = self.kind() == PackedEdge::FORK && self.0 & PackedEdge::SIEVE != 0;
        is_sieve.then_some(self.0 & (PackedEdge::SIEVE - 1))
    }
}

impl DiagramIndex {
    /// Adds the effects of all that a sieve leaves.
    pub(super) fn gather_sieve(
        &self,
        program: &Program,
        sieve: u32,
        effects: &mut Effects,
        reader: &impl SlotReader,
    ) -> Option<()> {
        self.sieves.pour_by_reader(sieve, reader, |at, _| {
            let mark = self.packed.poured.get(at)?;
            *effects = effects.union(self.says(program, *mark, reader)?);
            Some(Flow::Continue)
        })
    }

    /// The same without those that are gone.
    pub(super) fn gather_sieve_without(
        &self,
        program: &Program,
        sieve: u32,
        effects: &mut Effects,
        reader: &impl SlotReader,
        is_gone: &impl Fn(NodeId) -> bool,
    ) -> Option<()> {
        self.sieves.pour_by_reader(sieve, reader, |at, node| {
            let mark = self.packed.poured.get(at)?;
            *effects = effects.union(self.says_unless(program, *mark, node, reader, is_gone)?);
            Some(Flow::Continue)
        })
    }

    /// The first of those left that has something to say and is not gone, and what it says.
    pub(super) fn first_in_sieve(
        &self,
        program: &Program,
        sieve: u32,
        reader: &impl SlotReader,
        is_gone: &impl Fn(NodeId) -> bool,
    ) -> Option<Option<(NodeId, Effects)>> {
        let mut first = None;
        self.sieves.pour_by_reader(sieve, reader, |at, node| {
            let mark = self.packed.poured.get(at)?;
            let said = self.says_unless(program, *mark, node, reader, is_gone)?;
            if said == Effects::NONE {
                return Some(Flow::Continue);
            }
            first = Some((node, said));
            Some(Flow::Stop)
        })?;
        Some(first)
    }
}
