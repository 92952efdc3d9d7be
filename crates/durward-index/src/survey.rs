//! Selectivity survey for policy authors: which attributes separate policies, how well, in which order, and which policies nothing separates.
//!
//! How well is a matter of what is asked, which nobody knows ahead. It is reckoned as indexes do when they choose an
//! order: as if every value were asked for as often as policies name it.

use std::collections::BTreeMap;
use std::fmt;

use durward_ir::program::{Atom, Node, NodeId, Program, Set, SlotId};

use crate::necessary::{self, NecessaryTests};
use crate::target::Targets;
use crate::{BuildMap, Index, Settings};

/// More attributes are only counted.
const ATTRIBUTES_SHOWN: usize = 12;

/// See [`Index::survey`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survey {
    /// How many elements the largest set has.
    pub children: usize,
    /// How many of them nothing limits: no index can leave them out.
    pub unlimited: usize,
    /// How many of them never apply.
    pub never: usize,
    /// What limits the others, the most telling first.
    pub attributes: Vec<AttributeSelectivity>,
    /// The attributes that the index looks at in that set, in the order in which it comes upon them.
    pub order: Vec<String>,
}

/// An attribute, and how well it tells the elements of a set apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttributeSelectivity {
    /// The attribute.
    pub name: String,
    /// How many elements ask for some of its values.
    pub children: usize,
    /// How many values they ask for.
    pub values: usize,
    /// How many elements are left on the average once it is known.
    pub left: usize,
}

impl Survey {
    pub(crate) fn of(program: &Program, index: &Index, settings: &Settings) -> Survey {
        let Some((id, set)) = largest_set(program) else { return Survey::default() };
        let targets = Targets::build(program);
        let necessary = necessary::of_nodes(program, &targets, settings.necessary_atoms_max);
        let mut survey = Survey { children: set.children.len(), ..Survey::default() };
        let mut asked: BTreeMap<SlotId, (usize, BuildMap<Atom, usize>)> = BTreeMap::new();
        for child in &set.children {
            let Some(necessary) = necessary.get(child.0 as usize) else { continue };
            survey.never += usize::from(necessary.is_never());
            survey.unlimited += usize::from(!necessary.is_never() && necessary.limits().is_empty());
            note(necessary, &mut asked);
        }
        survey.attributes = asked
            .into_iter()
            .map(|(slot, (children, askers))| {
                let sum: usize = askers.values().sum();
                let squares: usize = askers.values().map(|askers| askers * askers).sum();
                let left = survey.children - survey.never - children + squares.div_ceil(sum.max(1));
                AttributeSelectivity { name: name_of(program, slot), children, values: askers.len(), left }
            })
            .collect();
        survey.attributes.sort_by_key(|attribute| attribute.left);
        survey.order = index.order(id).into_iter().map(|slot| name_of(program, slot)).collect();
        survey
    }
}

fn note(necessary: &NecessaryTests, asked: &mut BTreeMap<SlotId, (usize, BuildMap<Atom, usize>)>) {
    for limit in necessary.limits() {
        let (children, askers) = asked.entry(limit.slot).or_default();
        *children += 1;
        for atom in limit.atoms.iter() {
            *askers.entry(*atom).or_default() += 1;
        }
    }
}

/// The first of those with the most children.
fn largest_set(program: &Program) -> Option<(NodeId, &Set)> {
    let sets = program.nodes().filter_map(|(id, node)| match node {
        Node::Set(set) => Some((id, &**set)),
        Node::Rule(_) => None,
    });
    sets.max_by_key(|(id, set)| (set.children.len(), *id))
}

/// As policies call it: `subject.role` of a subscription, else the identifier. Where pieces of its values are looked at,
/// that is said besides.
fn name_of(program: &Program, slot: SlotId) -> String {
    let origin = program.slots.origin(slot);
    let name = program.slots.name(origin);
    let own = match program.slots.path(origin) {
        Some(_) if name.id.is_empty() => name.category.to_string(),
        Some(_) => format!("{}.{}", name.category, name.id),
        None => name.id.to_string(),
    };
    if origin == slot { own } else { format!("{own} (ranges)") }
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the largest set has {}", count(self.children, "element"))?;
        for attribute in self.attributes.iter().take(ATTRIBUTES_SHOWN) {
            let AttributeSelectivity { name, children, values, left } = attribute;
            let values = count(*values, "value");
            writeln!(
                f,
                "  `{name}` limits {children} of them to {values}, and leaves {left} on the average"
            )?;
        }
        if let more @ 1.. = self.attributes.len().saturating_sub(ATTRIBUTES_SHOWN) {
            writeln!(f, "  and {} more", count(more, "attribute"))?;
        }
        if !self.order.is_empty() {
            let order: Vec<String> = self.order.iter().map(|name| format!("`{name}`")).collect();
            writeln!(f, "looked at in this order, by how few each leaves: {}", order.join(", "))?;
        }
        if self.never > 0 {
            writeln!(f, "never applying: {}", self.never)?;
        }
        writeln!(f, "told apart by no attribute, and evaluated for every request: {}", self.unlimited)
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
