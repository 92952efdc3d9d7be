//! Policy indexes: they find the policy elements that can apply to a request, so that the evaluator skips the others.
//!
//! Stands between the program (`durward-ir`) and its evaluator, through [`Shortlist`]. An index can be deleted and
//! every decision, every duty and their order stay the same; `tests/index` holds every index to that. What an
//! index saves is work: an element that it leaves out is not evaluated, so the attributes only that element reads
//! are not asked for, and its steps do not count towards [`durward_ir::evaluate::STEPS_MAX`].
//!
//! There is no policy language in here, no request format, and nothing that changes after [`Index::build`] but
//! counters. A program that differs from another one in a few documents has an index of its own ([`Index::change`]),
//! which is that of the other and a small one beside it.

mod bloom;
mod canonical;
mod changed;
mod diagram;
mod formula;
mod inline;
mod kind;
mod necessary;
mod plain;
mod settings;
mod sieve;
mod statistics;
mod survey;
mod target;

pub use bloom::BloomIndex;
pub use canonical::CanonicalIndex;
pub use changed::{Base, Ground, LayeredIndex};
pub use diagram::DiagramIndex;
pub use durward_ir::evaluate::Everything;
pub use kind::{IndexKind, UnknownIndex};
pub use settings::{Counting, Settings};
pub use statistics::{BloomStatistics, CanonicalStatistics, DiagramStatistics, Statistics};
pub use survey::{AttributeSelectivity, Survey};

use std::sync::Arc;

use durward_ir::combine::Flow;
use durward_ir::evaluate::{ListPolicies, Shortlist, TargetMatch};
use durward_ir::program::{NodeId, Program, Set, SlotId};
use durward_ir::question::Question;

/// Maps used while building. Their keys are numbers out of policies, which nobody chooses to clash, and nothing
/// depends on their order.
type BuildMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::FixedState>;

/// Up to this many policy elements `auto` does not index: evaluating them all costs about what an index costs.
const AUTO_SCAN_NODES_MAX: usize = 8;

/// An index of one program. To be used with that program only.
#[derive(Debug)]
pub enum Index {
    /// Every element, in order.
    Scan(Everything),
    /// A Bloom filter per target.
    Bloom(BloomIndex),
    /// Count-and-eliminate over bit sets.
    Canonical(CanonicalIndex),
    /// A decision diagram per set.
    Diagram(Box<DiagramIndex>),
    /// Any of these of another program, and what has changed since.
    Changed(Box<LayeredIndex>),
}

impl Index {
    /// Indexes a program. Takes time and memory about proportional to the program, within the limits of
    /// `settings`; past a limit the index leaves out less, and nothing else changes.
    pub fn build(kind: IndexKind, program: &Program, settings: &Settings) -> Index {
        Index::build_with_sources(kind, program, settings, &|_| false)
    }

    /// The same where attribute sources may be asked for some slots. Any index is right with any sources; one that
    /// was told of them divides policies by other slots while those are still unknown.
    pub fn build_with_sources(
        kind: IndexKind,
        program: &Program,
        settings: &Settings,
        is_sourced: &dyn Fn(SlotId) -> bool,
    ) -> Index {
        match kind {
            IndexKind::Scan => Index::Scan(Everything),
            IndexKind::Bloom => Index::Bloom(BloomIndex::build(program, settings)),
            IndexKind::Canonical => Index::Canonical(CanonicalIndex::build(program, settings)),
            IndexKind::Diagram => {
                Index::Diagram(Box::new(DiagramIndex::build(program, settings, is_sourced)))
            }
            IndexKind::Auto => Index::choose(program, settings, is_sourced).0,
        }
    }

    /// The index of a program that extends that of `ground`, in time about proportional to what it adds, and a small part
    /// of what building one takes for each document. `before` is the index of another such program, if there is one.
    /// `None` where the two have too little in common: then an index has to be built.
    pub fn change(ground: &Arc<Ground>, before: Option<&Index>, program: &Program) -> Option<Index> {
        let before = match before {
            Some(Index::Changed(changed)) => Some(&**changed),
            Some(Index::Scan(_) | Index::Bloom(_) | Index::Canonical(_) | Index::Diagram(_)) | None => None,
        };
        let changed = LayeredIndex::of(Arc::clone(ground), before, program)?;
        Some(Index::Changed(Box::new(changed)))
    }

    /// The kind in use; never [`IndexKind::Auto`].
    pub fn kind(&self) -> IndexKind {
        match self {
            Index::Scan(_) => IndexKind::Scan,
            Index::Bloom(_) => IndexKind::Bloom,
            Index::Canonical(_) => IndexKind::Canonical,
            Index::Diagram(_) => IndexKind::Diagram,
            Index::Changed(changed) => changed.base().kind(),
        }
    }

    /// What the index consists of and, where counted, did; of a changed one that which it began with.
    pub fn statistics(&self) -> Statistics {
        match self {
            Index::Scan(_) => Statistics::Scan,
            Index::Bloom(bloom) => Statistics::Bloom(bloom.statistics()),
            Index::Canonical(canonical) => Statistics::Canonical(canonical.statistics()),
            Index::Diagram(diagram) => Statistics::Diagram(diagram.statistics()),
            Index::Changed(changed) => changed.base().statistics(),
        }
    }

    /// One line for people: the kind in use and its size.
    pub fn describe(&self) -> String {
        match self {
            Index::Changed(changed) => {
                let (new, gone) = (changed.new_count(), changed.gone_count());
                format!("{}; {new} new and {gone} gone since", self.statistics())
            }
            Index::Scan(_) | Index::Bloom(_) | Index::Canonical(_) | Index::Diagram(_) => {
                self.statistics().to_string()
            }
        }
    }

    /// What suits a program, and why: `because ...`. Builds a diagram where that may suit, and says what came of it.
    pub fn choose(
        program: &Program,
        settings: &Settings,
        is_sourced: &dyn Fn(SlotId) -> bool,
    ) -> (Index, String) {
        let (nodes, atoms) = (program.nodes().len(), program.slots.atom_count());
        if nodes <= AUTO_SCAN_NODES_MAX {
            let reason = format!("because {nodes} policy elements are evaluated as fast as an index is read");
            return (Index::Scan(Everything), reason);
        }
        if atoms == 0 {
            let reason = "because no target compares an attribute with a value".to_owned();
            return (Index::Scan(Everything), reason);
        }
        let diagram = DiagramIndex::build(program, settings, is_sourced);
        let built = diagram.statistics();
        let told_apart = format!("{nodes} policy elements can be told apart by {atoms} values");
        if !built.is_full {
            let reason = match built.sieves {
                0 => format!("because {told_apart}"),
                sieves => format!(
                    "because {told_apart}; those that test now these, now those attributes go \
                     through {sieves} sieve{} instead of being copied over and over",
                    if sieves == 1 { "" } else { "s" }
                ),
            };
            return (Index::Diagram(Box::new(diagram)), reason);
        }
        let (full, canonical) = (built.nodes, CanonicalIndex::build(program, settings));
        if canonical.statistics().is_cut {
            let reason = format!(
                "because {told_apart}, although {full} nodes are its limit, and bit sets reach theirs"
            );
            return (Index::Diagram(Box::new(diagram)), reason);
        }
        let reason = format!("because {told_apart}, and {full} nodes of a diagram are its limit");
        (Index::Canonical(canonical), reason)
    }

    /// What there is to tell the elements of the largest set apart by.
    pub fn survey(&self, program: &Program, settings: &Settings) -> Survey {
        Survey::of(program, self, settings)
    }

    /// The attributes it looks at for a set, in the order in which it comes upon them.
    fn order(&self, id: NodeId) -> Vec<SlotId> {
        match self {
            Index::Scan(_) | Index::Bloom(_) => Vec::new(),
            Index::Canonical(canonical) => canonical.order(id),
            Index::Diagram(diagram) => diagram.order(id),
            Index::Changed(changed) => changed.base().order(id),
        }
    }
}

/// Asks whichever index it is. Callers that decide often match on the index once and hand the evaluator what is
/// inside, so that its code is made for that index.
impl Shortlist for Index {
    fn children(
        &self,
        id: NodeId,
        set: &Set,
        question: &Question<'_>,
        list: ListPolicies,
        show: impl FnMut(NodeId, TargetMatch) -> Flow,
    ) {
        match self {
            Index::Scan(everything) => everything.children(id, set, question, list, show),
            Index::Bloom(bloom) => bloom.children(id, set, question, list, show),
            Index::Canonical(canonical) => canonical.children(id, set, question, list, show),
            Index::Diagram(diagram) => diagram.children(id, set, question, list, show),
            Index::Changed(changed) => changed.children(id, set, question, list, show),
        }
    }

    fn target(&self, id: NodeId, question: &Question<'_>) -> TargetMatch {
        match self {
            Index::Scan(everything) => everything.target(id, question),
            Index::Bloom(bloom) => bloom.target(id, question),
            Index::Canonical(canonical) => canonical.target(id, question),
            Index::Diagram(diagram) => diagram.target(id, question),
            Index::Changed(changed) => changed.target(id, question),
        }
    }
}
