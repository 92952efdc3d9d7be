//! The same where some of those that are listed are gone: for programs that extend the one that the diagrams are of.

use durward_ir::combine::{Effects, PlainFold};
use durward_ir::program::{NodeId, Program};
use durward_ir::question::SlotReader;

use super::{PackedEdge, PackedEntry};
use crate::DiagramIndex;

impl DiagramIndex {
    /// How the votes of the root's children are combined, if that can be done without evaluation: then also without those that
    /// are gone. `program` is the one that the diagrams are of.
    pub(crate) fn root_fold(&self, program: &Program) -> Option<PlainFold> {
        let set = self.packed.sets.get(self.packed.entry? as usize)?;
        let is_root = program.entry() == program.root() && set.target.is_none();
        let has_owners = self.packed.whose.len() == self.packed.marks.len();
        (is_root && has_owners && set.laden == Effects::NONE).then_some(set.fold)
    }

    fn root_way(&self) -> Option<PackedEdge> {
        Some(self.packed.sets.get(self.packed.entry? as usize)?.start)
    }

    /// The effects of all below the root that are not gone; `None` where that cannot be seen at once.
    #[inline]
    pub(crate) fn effects_without(
        &self,
        program: &Program,
        reader: &impl SlotReader,
        is_gone: &impl Fn(NodeId) -> bool,
    ) -> Option<Effects> {
        let mut effects = Effects::NONE;
        self.gather_without(program, self.root_way()?, &mut effects, reader, is_gone)?;
        Some(effects)
    }

    /// Recursion goes as deep as forks do.
    #[inline]
    fn gather_without(
        &self,
        program: &Program,
        way: PackedEdge,
        effects: &mut Effects,
        reader: &impl SlotReader,
        is_gone: &impl Fn(NodeId) -> bool,
    ) -> Option<()> {
        let way = self.glide(way, reader);
        if way.kind() == PackedEdge::FORK {
            return self.gather_both_without(program, way, effects, reader, is_gone);
        }
        for (mark, node) in self.listed(way)? {
            *effects = effects.union(self.says_unless(program, mark, node, reader, is_gone)?);
        }
        Some(())
    }

    fn gather_both_without(
        &self,
        program: &Program,
        fork: PackedEdge,
        effects: &mut Effects,
        reader: &impl SlotReader,
        is_gone: &impl Fn(NodeId) -> bool,
    ) -> Option<()> {
        if let Some(sieve) = fork.as_sieve() {
            return self.gather_sieve_without(program, sieve, effects, reader, is_gone);
        }
        let ways = self.packed.forks.get(fork.place())?;
        ways.iter().try_for_each(|way| self.gather_without(program, *way, effects, reader, is_gone))
    }

    /// The first below the root that has something to say and is not gone, and what it says.
    pub(crate) fn first_without(
        &self,
        program: &Program,
        reader: &impl SlotReader,
        is_gone: &impl Fn(NodeId) -> bool,
    ) -> Option<Option<(NodeId, Effects)>> {
        let way = self.glide(self.root_way()?, reader);
        if let Some(sieve) = way.as_sieve() {
            return self.first_in_sieve(program, sieve, reader, is_gone);
        }
        for (mark, node) in self.listed(way)? {
            let effects = self.says_unless(program, mark, node, reader, is_gone)?;
            if effects != Effects::NONE {
                return Some(Some((node, effects)));
            }
        }
        Some(None)
    }

    /// Most have nothing to say, and then it does not matter whether they are gone.
    #[inline]
    pub(super) fn says_unless(
        &self,
        program: &Program,
        mark: PackedEntry,
        node: NodeId,
        reader: &impl SlotReader,
        is_gone: &impl Fn(NodeId) -> bool,
    ) -> Option<Effects> {
        match self.says(program, mark, reader) {
            Some(Effects::NONE) => Some(Effects::NONE),
            _ if is_gone(node) => Some(Effects::NONE),
            said => said,
        }
    }

    /// A list, and whom its marks are of.
    #[inline]
    fn listed(&self, way: PackedEdge) -> Option<impl Iterator<Item = (PackedEntry, NodeId)>> {
        let marks = self.marks(way)?;
        let first = (way.0 as usize & super::LISTS_MAX) + usize::from(way.length() == PackedEdge::LENGTH_MAX);
        let whose = self.packed.whose.get(first..first + marks.len())?;
        Some(marks.iter().copied().zip(whose.iter().copied()))
    }
}
