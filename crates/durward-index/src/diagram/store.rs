//! Nodes and lists in the making; equal ones are kept once.

use std::hash::BuildHasher;

use durward_ir::program::{Atom, SlotId};
use foldhash::fast::FixedState;

use super::table::BranchTables;
use super::{DiagramEdge, DiagramNode, ListEntry};
use crate::BuildMap;
use crate::Settings;

/// Places are numbers of 32 bits; half of that leaves room for what is added in one go.
const NUMBERS_MAX: usize = 1 << 31;

/// All diagrams together.
#[derive(Debug)]
pub(super) struct DiagramStore {
    pub(super) nodes: Vec<DiagramNode>,
    pub(super) forks: Vec<[DiagramEdge; 2]>,
    pub(super) tables: BranchTables,
    pub(super) lists: Vec<ListEntry>,
    known_nodes: BuildMap<NodeKey, DiagramEdge>,
    /// Digest of a list to one with that digest. A clash only costs the sharing.
    known_lists: BuildMap<u64, DiagramEdge>,
    list_count: usize,
    nodes_max: usize,
    entries_max: usize,
}

/// How long a store was.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreMark {
    /// Nodes, forks, entries of lists.
    lengths: (usize, usize, usize),
    list_count: usize,
    tables: (usize, usize),
}

/// What makes two nodes interchangeable.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(super) struct NodeKey {
    pub(super) slot: SlotId,
    pub(super) absent: DiagramEdge,
    pub(super) other: DiagramEdge,
    /// Where no source is asked for the slot, this does not matter.
    pub(super) unasked: Option<DiagramEdge>,
    pub(super) branches: Vec<(Atom, DiagramEdge)>,
    /// Whether a slot with several values takes all their branches; else the walk ends.
    pub(super) is_mergeable: bool,
}

impl DiagramStore {
    pub(super) fn new(settings: &Settings) -> DiagramStore {
        DiagramStore {
            nodes: Vec::new(),
            forks: Vec::new(),
            tables: BranchTables::default(),
            lists: Vec::new(),
            known_nodes: BuildMap::default(),
            known_lists: BuildMap::default(),
            list_count: 0,
            nodes_max: settings.diagram_nodes_max.min(NUMBERS_MAX),
            entries_max: settings.diagram_entries_max.min(NUMBERS_MAX),
        }
    }

    /// Whether a limit of the settings is reached.
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() + self.forks.len() >= self.nodes_max
            || self.lists.len() + self.tables.len() >= self.entries_max
    }

    /// How many different lists there are.
    pub(super) fn list_count(&self) -> usize {
        self.list_count
    }

    /// The list of these, and how many entries had to be added for it.
    pub(super) fn list(&mut self, entries: &[ListEntry]) -> (DiagramEdge, usize) {
        let digest = FixedState::default().hash_one(entries);
        if let Some(step) = self.known_lists.get(&digest)
            && self.lists.get(step.at as usize..(step.at + step.kind) as usize) == Some(entries)
        {
            return (*step, 0);
        }
        let step = DiagramEdge { at: self.lists.len() as u32, kind: entries.len() as u32 };
        self.lists.extend_from_slice(entries);
        self.known_lists.insert(digest, step);
        self.list_count += 1;
        (step, entries.len())
    }

    /// As long as the store is now.
    pub(super) fn mark(&self) -> StoreMark {
        let lengths = (self.nodes.len(), self.forks.len(), self.lists.len());
        StoreMark { lengths, list_count: self.list_count, tables: self.tables.lengths() }
    }

    /// Forgets what was added since.
    pub(super) fn go_back_to(&mut self, mark: StoreMark) {
        let (nodes, forks, lists) = mark.lengths;
        self.nodes.truncate(nodes);
        self.forks.truncate(forks);
        self.lists.truncate(lists);
        self.tables.truncate(mark.tables);
        self.list_count = mark.list_count;
        self.known_nodes.retain(|_, step| (step.at as usize) < nodes);
        self.known_lists.retain(|_, step| (step.at as usize) < lists);
    }

    pub(super) fn node(&mut self, key: NodeKey) -> DiagramEdge {
        // Where it is not mergeable the node stays: it is what ends the walk of a slot with several values.
        let is_alike = key.absent == key.other && key.unasked.is_none_or(|unasked| unasked == key.other);
        if key.is_mergeable && key.branches.is_empty() && is_alike {
            return key.other;
        }
        if let Some(step) = self.known_nodes.get(&key) {
            return *step;
        }
        let at = self.nodes.len() as u32;
        let table = self.tables.add(&key.branches, key.other);
        let NodeKey { slot, absent, other, is_mergeable, .. } = key;
        let unasked = key.unasked.unwrap_or(DiagramEdge::UNDIVIDED);
        self.nodes.push(DiagramNode { slot, absent, other, unasked, table, is_mergeable });
        let step = DiagramEdge { at, kind: DiagramEdge::NODE };
        self.known_nodes.insert(key, step);
        step
    }

    pub(super) fn fork(&mut self, ways: [DiagramEdge; 2]) -> DiagramEdge {
        self.forks.push(ways);
        DiagramEdge { at: self.forks.len() as u32 - 1, kind: DiagramEdge::FORK }
    }

    /// Gives back what only building needs.
    pub(super) fn finish(&mut self) {
        self.tables.finish();
        self.known_nodes = BuildMap::default();
        self.known_lists = BuildMap::default();
    }

    /// The memory of what stays.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
            + size_of_val(&*self.forks)
            + size_of_val(&*self.lists)
            + self.tables.bytes()
    }
}
