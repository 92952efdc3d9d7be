//! Builds the packed form of a diagram's lists and sieves.

use durward_ir::combine::PlainFold;
use durward_ir::program::{ExprId, Node, NodeId, Program, Quick, Rule};

use super::{
    LISTS_MAX, NUMBERS_MAX, PLACES_MAX, PackedDiagram, PackedEdge, PackedEntry, PackedNode, PackedSet,
};
use crate::BuildMap;
use crate::diagram::{DiagramEdge, DiagramIndex, DiagramNode, ListEntry};
use crate::plain::laden;

/// Where more than one child in so many needs the evaluator, or has something that goes along with it, most questions
/// would be looked at in vain.
const UNREADY_PART: usize = 32;

impl PackedDiagram {
    /// Makes ready what a diagram consists of.
    pub(in crate::diagram) fn of(program: &Program, diagram: &DiagramIndex) -> PackedDiagram {
        let mut maker = PackedBuilder {
            program,
            diagram,
            is_order_free: is_order_free(program),
            ways: Vec::new(),
            wide: BuildMap::default(),
            lists: BuildMap::default(),
            marks: Vec::new(),
            whose: Vec::new(),
            poured: vec![PackedEntry::UNREADY; diagram.sieves.conjunctions()],
            conditions: Vec::new(),
            known: BuildMap::default(),
            sets: Vec::new(),
            known_sets: BuildMap::default(),
        };
        let mut nodes = Vec::with_capacity(diagram.nodes.len());
        for (place, node) in (0..).zip(&diagram.nodes) {
            nodes.push(maker.lookout(place, node));
        }
        let forks = diagram.forks.iter().map(|ways| ways.map(|step| maker.way(step))).collect();
        let entry = maker.set(program.entry(), false);
        PackedDiagram {
            nodes: nodes.into(),
            ways: maker.ways.into(),
            wide: maker.wide,
            forks,
            marks: maker.marks.into(),
            whose: maker.whose.into(),
            poured: maker.poured.into(),
            conditions: maker.conditions.into(),
            sets: maker.sets.into(),
            entry,
        }
    }
}

/// Makes ready what a diagram consists of.
struct PackedBuilder<'p> {
    program: &'p Program,
    diagram: &'p DiagramIndex,
    /// Whether it never matters in which order a list is looked at.
    is_order_free: bool,
    ways: Vec<PackedEdge>,
    wide: BuildMap<(u32, u32), PackedEdge>,
    /// Where the marks of a list are, by its place in the diagram.
    lists: BuildMap<(u32, u32), PackedEdge>,
    marks: Vec<PackedEntry>,
    whose: Vec<NodeId>,
    poured: Vec<PackedEntry>,
    conditions: Vec<Quick>,
    /// The numbers of conditions; `None` of those that have to be evaluated.
    known: BuildMap<ExprId, Option<u32>>,
    sets: Vec<PackedSet>,
    /// By set and whether its target is known to match.
    known_sets: BuildMap<(NodeId, bool), Option<u32>>,
}

impl PackedBuilder<'_> {
    fn lookout(&mut self, place: u32, node: &DiagramNode) -> PackedNode {
        let branches = self.diagram.tables.branches(&node.table);
        let low = branches.iter().map(|(number, _)| *number).min().unwrap_or(PackedNode::STATES);
        let high = branches.iter().map(|(number, _)| *number + 1).max().unwrap_or(low);
        let count = (high - low) as usize;
        let ways_max = (branches.len() * PackedNode::SPREAD_MAX).max(PackedNode::WAYS_MIN);
        let is_wide = count > ways_max;
        let (absent, other) = (self.way(node.absent), self.way(node.other));
        let first = self.ways.len();
        // In the order of the states' numbers.
        self.ways.extend([absent, other, PackedEdge::LOST, PackedEdge::LOST, other]);
        if is_wide {
            self.ways.push(PackedEdge(PackedEdge::WIDE | place));
            self.wide.insert((place, 0), other);
            for (number, step) in branches {
                let way = self.way(step);
                self.wide.insert((place, number), way);
            }
            return PackedNode { slot: node.slot, low, count: 0, first: first as u32 };
        }
        let atoms = self.ways.len();
        self.ways.resize(atoms + count + 1, other);
        for (number, step) in branches {
            let way = self.way(step);
            if let Some(entry) = self.ways.get_mut(atoms + (number - low) as usize) {
                *entry = way;
            }
        }
        PackedNode { slot: node.slot, low, count: count as u32, first: first as u32 }
    }

    fn way(&mut self, step: DiagramEdge) -> PackedEdge {
        let kind = match step.kind {
            DiagramEdge::NODE => PackedEdge::NODE,
            DiagramEdge::FORK => PackedEdge::FORK,
            DiagramEdge::SIEVE => return self.sieve(step.at),
            DiagramEdge::MANY | DiagramEdge::ALL => return PackedEdge::LOST,
            _ => return self.list(step),
        };
        let places_max = if kind == PackedEdge::FORK { PackedEdge::SIEVE as usize - 1 } else { PLACES_MAX };
        if step.at as usize > places_max { PackedEdge::LOST } else { PackedEdge(kind | step.at) }
    }

    fn sieve(&mut self, number: u32) -> PackedEdge {
        let (first, members) = self.diagram.sieves.members(number);
        let marks: Vec<PackedEntry> = members.map(|node| self.mark(node, true)).collect();
        let needs_more =
            |mark: &&PackedEntry| **mark == PackedEntry::UNREADY || mark.0 & PackedEntry::LADEN != 0;
        if marks.iter().filter(needs_more).count() > marks.len() / UNREADY_PART {
            return PackedEdge::LOST;
        }
        if let Some(places) = self.poured.get_mut(first..first + marks.len()) {
            places.copy_from_slice(&marks);
        }
        PackedEdge::of_sieve(number)
    }

    fn list(&mut self, step: DiagramEdge) -> PackedEdge {
        if let Some(way) = self.lists.get(&(step.at, step.kind)) {
            return *way;
        }
        let entries = self.diagram.list(step);
        let mark = |entry: &ListEntry| (self.mark(entry.node, entry.is_known_match()), entry.node);
        let mut marks: Vec<(PackedEntry, NodeId)> = entries.iter().map(mark).collect();
        if self.is_order_free {
            // What is answered in the same way stands in the same places, so that it can be foreseen.
            marks.sort_by_key(|(mark, _)| self.way_to_answer(*mark));
        }
        let at = self.marks.len();
        // Not worth a look where the evaluator would have to be asked in the end.
        let is_unready = marks.first().is_some_and(|(mark, _)| *mark == PackedEntry::UNREADY);
        let way = if is_unready || at > LISTS_MAX {
            PackedEdge::LOST
        } else {
            let length = (marks.len() as u32).min(PackedEdge::LENGTH_MAX);
            if length == PackedEdge::LENGTH_MAX {
                self.push(PackedEntry(marks.len() as u32), NodeId(u32::MAX));
            }
            marks.into_iter().for_each(|(mark, node)| self.push(mark, node));
            PackedEdge(PackedEdge::LIST | length << PackedEdge::LENGTH_SHIFT | at as u32)
        };
        self.lists.insert((step.at, step.kind), way);
        way
    }

    fn push(&mut self, mark: PackedEntry, node: NodeId) {
        self.marks.push(mark);
        if self.program.is_extensible() {
            self.whose.push(node);
        }
    }

    fn mark(&mut self, id: NodeId, is_known_match: bool) -> PackedEntry {
        let mark = match self.program.node(id) {
            Node::Rule(rule) => self.rule(rule, is_known_match),
            Node::Set(_) => self.set(id, is_known_match).map(PackedEntry::of_set),
        };
        mark.unwrap_or(PackedEntry::UNREADY)
    }

    fn rule(&mut self, rule: &Rule, is_known_match: bool) -> Option<PackedEntry> {
        let target = rule.target.filter(|_| !is_known_match);
        let condition = match (target, rule.condition) {
            (None, None) => None,
            (Some(only), None) | (None, Some(only)) => Some(self.condition(only)?),
            // Rare, since targets are what diagrams divide by.
            (Some(_), Some(_)) => return None,
        };
        let is_laden = rule.transform.is_some() || rule.duties.iter().any(|duty| duty.on == rule.effect);
        Some(PackedEntry::of_rule(rule.effect, is_laden, condition))
    }

    /// A number for how a mark is answered; the evaluator first, since then the rest does not matter.
    fn way_to_answer(&self, mark: PackedEntry) -> u8 {
        if mark == PackedEntry::UNREADY {
            return 0;
        }
        let condition =
            (mark.0 >> PackedEntry::SHIFT).checked_sub(1).filter(|_| mark.0 & PackedEntry::SET == 0);
        condition.and_then(|at| self.conditions.get(at as usize)).map_or(1, |quick| 2 + quick.kind())
    }

    fn condition(&mut self, id: ExprId) -> Option<u32> {
        if let Some(number) = self.known.get(&id) {
            return *number;
        }
        let number =
            Quick::of(self.program, id).filter(|_| self.conditions.len() < NUMBERS_MAX).map(|quick| {
                self.conditions.push(quick);
                self.conditions.len() as u32 - 1
            });
        self.known.insert(id, number);
        number
    }

    fn set(&mut self, id: NodeId, is_known_match: bool) -> Option<u32> {
        if let Some(number) = self.known_sets.get(&(id, is_known_match)) {
            return *number;
        }
        let number =
            self.packed_set(id, is_known_match).filter(|_| self.sets.len() < NUMBERS_MAX).map(|set| {
                self.sets.push(set);
                self.sets.len() as u32 - 1
            });
        self.known_sets.insert((id, is_known_match), number);
        number
    }

    fn packed_set(&mut self, id: NodeId, is_known_match: bool) -> Option<PackedSet> {
        let Node::Set(set) = self.program.node(id) else { return None };
        let start = self.way(self.diagram.starts_of(id).deep);
        let fold = PlainFold::of(set.algorithm)?;
        let target = match set.target.filter(|_| !is_known_match) {
            Some(target) => Some(self.condition(target)?),
            None => None,
        };
        Some(PackedSet { start, fold, laden: laden(set), target })
    }
}

fn is_order_free(program: &Program) -> bool {
    program.nodes().all(|(_, node)| match node {
        Node::Set(set) => !matches!(PlainFold::of(set.algorithm), Some(PlainFold::First(_))),
        Node::Rule(_) => true,
    })
}
