//! The index of a changed program: the base's index, and a small one beside it for new documents.
//!
//! What changed is told by the children of the two roots: those of the base that are there no more are passed over
//! wherever its index lists them ([`ground`]), and new ones are put between the others in document order
//! ([`newcomers`]). Everything below the root is as it was, or new as a whole.
//!
//! An index may leave out what stands behind a child that certainly decides. Where such a child is gone, those that it
//! may have hidden are shown again ([`hidden`]).

mod ground;
mod hidden;
mod newcomers;
mod table_decision;

use std::sync::Arc;

use durward_ir::combine::{Flow, PlainFold};
use durward_ir::evaluate::{Everything, ListPolicies, Shortlist, TargetMatch};
use durward_ir::program::{Node, NodeId, Program, Set};
use durward_ir::question::Question;

use crate::Index;
use crate::target::Targets;
pub use ground::{Base, Ground};
use hidden::HiddenChildren;
use newcomers::{NewChildPosition, NewChildren};

/// The index of a program that extends another one.
#[derive(Debug)]
pub struct LayeredIndex {
    ground: Arc<Ground>,
    /// The root of the program.
    root: NodeId,
    gone: RemovedChildren,
    newcomers: NewChildren,
    /// Of the elements that the base does not have; the first of them is the first that it does not have.
    targets: Targets,
    first: u32,
    hidden: HiddenChildren,
    /// How votes are combined, where that can be done without evaluation.
    fold: Option<PlainFold>,
}

/// The children of the base's root that are there no more, by their places.
#[derive(Clone, Debug, Default)]
struct RemovedChildren {
    places: Vec<u32>,
    /// One bit for each place.
    bits: Vec<u64>,
}

impl RemovedChildren {
    fn of(places: Vec<u32>) -> RemovedChildren {
        let mut bits = vec![0; places.last().map_or(0, |last| *last as usize / 64 + 1)];
        for place in &places {
            if let Some(word) = bits.get_mut(*place as usize / 64) {
                *word |= 1 << (place % 64);
            }
        }
        RemovedChildren { places, bits }
    }

    #[inline]
    fn contains(&self, place: u32) -> bool {
        self.bits.get(place as usize / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

impl LayeredIndex {
    /// The index of `program`, which extends that of the ground. `before` is that of another program that does, if there
    /// is one: what it has in common with this one is taken over. `None` where the two roots differ in more than their
    /// children, or where those that they have in common are not in the same order.
    pub(crate) fn of(
        ground: Arc<Ground>,
        before: Option<&LayeredIndex>,
        program: &Program,
    ) -> Option<LayeredIndex> {
        let (old, new) = (ground.root(), root(program)?);
        if old.algorithm != new.algorithm || program.base_len() != ground.program().nodes().len() {
            return None;
        }
        let first = program.base_len() as u32;
        let (gone, arrivals) = compare(&old.children, &new.children, first)?;
        let targets = Targets::of_later(program);
        let mut newcomers = NewChildren::of(program, &targets, first, &ground, arrivals);
        let before = before.filter(|before| Arc::ptr_eq(&before.ground, &ground));
        let known = before.map(|before| (&before.hidden, &before.gone));
        let hidden = HiddenChildren::of(&ground, &gone, known);
        let fold = ground.fold().filter(|_| hidden.is_empty());
        if fold.is_some() {
            newcomers.make_ready(program, before.map(|before| &before.newcomers));
        }
        Some(LayeredIndex {
            root: program.root(),
            gone: RemovedChildren::of(gone),
            newcomers,
            targets,
            first,
            hidden,
            fold,
            ground,
        })
    }

    /// What the index of the base is.
    pub(crate) fn base(&self) -> &Index {
        self.ground.index()
    }

    /// How many documents were put in force since the base was built.
    pub fn new_count(&self) -> usize {
        self.newcomers.len()
    }

    /// How many documents of the base are in force no more, or not as they were.
    pub fn gone_count(&self) -> usize {
        self.gone.places.len()
    }

    /// The children of the root: what the index of the base lists, without what is gone, and with what is new.
    fn merged(
        &self,
        question: &Question<'_>,
        list: ListPolicies,
        show: &mut dyn FnMut(NodeId, TargetMatch) -> Flow,
    ) {
        let candidates = self.newcomers.candidates(question, &self.targets, self.first);
        let mut coming = candidates.iter();
        let mut next = coming.next();
        let mut show_from_base = |place: u32, node: NodeId, known: TargetMatch| {
            while let Some(newcomer) = next.filter(|newcomer| newcomer.before <= place) {
                next = coming.next();
                if show(newcomer.node, newcomer.known) == Flow::Stop {
                    return Flow::Stop;
                }
            }
            show(node, known)
        };
        let flow = self.shown_by_base(question, list, &mut show_from_base);
        if flow == Flow::Stop {
            return;
        }
        for newcomer in next.into_iter().chain(coming) {
            if show(newcomer.node, newcomer.known) == Flow::Stop {
                return;
            }
        }
    }

    /// What the base has to show, in order, each with its place among the children of the root.
    fn shown_by_base(
        &self,
        question: &Question<'_>,
        list: ListPolicies,
        show: &mut dyn FnMut(u32, NodeId, TargetMatch) -> Flow,
    ) -> Flow {
        if !self.hidden.is_empty() {
            return self.shown_with_hidden(question, list, show);
        }
        let mut flow = Flow::Continue;
        self.ground.children(question, list, &mut |place, node, known| {
            if !self.gone.contains(place) {
                flow = show(place, node, known);
            }
            flow
        });
        flow
    }

    /// The same where something that is gone may have hidden others.
    #[cold]
    fn shown_with_hidden(
        &self,
        question: &Question<'_>,
        list: ListPolicies,
        show: &mut dyn FnMut(u32, NodeId, TargetMatch) -> Flow,
    ) -> Flow {
        let mut found: Vec<(u32, NodeId, TargetMatch)> = Vec::new();
        let mut first_gone = None;
        self.ground.children(question, list, &mut |place, node, known| {
            if self.gone.contains(place) {
                first_gone = first_gone.or(Some(place));
            } else {
                found.push((place, node, known));
            }
            Flow::Continue
        });
        if let Some(first_gone) = first_gone {
            let hidden = self.hidden.behind(first_gone, &self.ground);
            found.extend(hidden.filter(|(place, ..)| !self.gone.contains(*place)));
            // The one that is known to match comes first, and then is not shown again.
            found.sort_by_key(|(place, node, known)| (*place, *node, *known != TargetMatch::Match));
            found.dedup_by_key(|(_, node, _)| *node);
        }
        for (place, node, known) in found {
            if show(place, node, known) == Flow::Stop {
                return Flow::Stop;
            }
        }
        Flow::Continue
    }
}

/// The set of all root documents.
fn root(program: &Program) -> Option<&Set> {
    match program.node(program.root()) {
        Node::Set(set) => Some(&**set),
        Node::Rule(_) => None,
    }
}

/// The places of the old children that are not among the new ones, and the new ones that the base does not have.
fn compare(old: &[NodeId], new: &[NodeId], first: u32) -> Option<(Vec<u32>, Vec<NewChildPosition>)> {
    let (mut gone, mut arrivals) = (Vec::new(), Vec::new());
    let mut left = (0u32..).zip(old).peekable();
    for child in new {
        if child.0 >= first {
            let before = left.peek().map_or(old.len() as u32, |(place, _)| *place);
            arrivals.push((before, *child));
            continue;
        }
        loop {
            let (place, known) = left.next()?;
            if known == child {
                break;
            }
            gone.push(place);
        }
    }
    gone.extend(left.map(|(place, _)| place));
    Some((gone, arrivals))
}

impl Shortlist for LayeredIndex {
    fn children(
        &self,
        id: NodeId,
        set: &Set,
        question: &Question<'_>,
        list: ListPolicies,
        mut show: impl FnMut(NodeId, TargetMatch) -> Flow,
    ) {
        if !self.ground.is_dividing() || (id != self.root && id.0 >= self.first) {
            Everything.children(id, set, question, list, show);
        } else if id == self.root {
            self.merged(question, list, &mut show);
        } else {
            self.base().children(id, set, question, list, show);
        }
    }

    fn target(&self, id: NodeId, question: &Question<'_>) -> TargetMatch {
        match id.0.checked_sub(self.first) {
            Some(behind) => self.targets.known(NodeId(behind), question),
            None => self.base().target(id, question),
        }
    }
}
