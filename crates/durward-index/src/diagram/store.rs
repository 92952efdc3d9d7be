//! Nodes and lists in the making; equal ones are kept once.

use durward_ir::program::{Atom, SlotId};

use super::table::Tables;
use super::{Branching, Entry, Step};
use crate::Map;
use crate::Settings;

/// Places are numbers of 32 bits; half of that leaves room for what is added in one go.
const NUMBERS_MAX: usize = 1 << 31;

/// All diagrams together.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) nodes: Vec<Branching>,
    pub(super) forks: Vec<[Step; 2]>,
    pub(super) tables: Tables,
    pub(super) lists: Vec<Entry>,
    known_nodes: Map<NodeKey, Step>,
    known_lists: Map<Vec<Entry>, Step>,
    nodes_max: usize,
    entries_max: usize,
}

/// What makes two nodes interchangeable.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(super) struct NodeKey {
    pub(super) slot: SlotId,
    pub(super) absent: Step,
    pub(super) other: Step,
    /// Where no source is asked for the slot, this does not matter.
    pub(super) unasked: Option<Step>,
    pub(super) branches: Vec<(Atom, Step)>,
    /// Whether a slot with several values takes all their branches; else the walk ends.
    pub(super) is_mergeable: bool,
}

impl Store {
    pub(super) fn new(settings: &Settings) -> Store {
        Store {
            nodes: Vec::new(),
            forks: Vec::new(),
            tables: Tables::default(),
            lists: Vec::new(),
            known_nodes: Map::default(),
            known_lists: Map::default(),
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
        self.known_lists.len()
    }

    pub(super) fn known_list(&self, entries: &[Entry]) -> Option<Step> {
        self.known_lists.get(entries).copied()
    }

    pub(super) fn add_list(&mut self, entries: Vec<Entry>) -> Step {
        let step = Step { at: self.lists.len() as u32, kind: entries.len() as u32 };
        self.lists.extend_from_slice(&entries);
        self.known_lists.insert(entries, step);
        step
    }

    pub(super) fn node(&mut self, key: NodeKey) -> Step {
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
        let unasked = key.unasked.unwrap_or(Step::UNDIVIDED);
        self.nodes.push(Branching { slot, absent, other, unasked, table, is_mergeable });
        let step = Step { at, kind: Step::NODE };
        self.known_nodes.insert(key, step);
        step
    }

    pub(super) fn fork(&mut self, ways: [Step; 2]) -> Step {
        if ways.contains(&Step::UNDIVIDED) {
            return Step::UNDIVIDED;
        }
        self.forks.push(ways);
        Step { at: self.forks.len() as u32 - 1, kind: Step::FORK }
    }

    /// Gives back what only building needs.
    pub(super) fn finish(&mut self) {
        self.tables.finish();
        self.known_nodes = Map::default();
        self.known_lists = Map::default();
    }

    /// The memory of what stays.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
            + size_of_val(&*self.forks)
            + size_of_val(&*self.lists)
            + self.tables.bytes()
    }
}
