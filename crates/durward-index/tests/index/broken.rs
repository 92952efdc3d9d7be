//! Indexes that are wrong on purpose: what compares indexes with the plain evaluator must notice each of them.

use durward_index::{Index, IndexKind, Settings};
use durward_ir::combine::Flow;
use durward_ir::evaluate::{ListPolicies, Shortlist, TargetMatch};
use durward_ir::program::{NodeId, Set};
use durward_ir::question::Question;

use crate::disagreement;
use crate::generate::{Facts, Generator, Shape, TestRandom};

/// What is wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Every third child is left out.
    Forgets,
    /// Children come in the order opposite to the document's.
    Reverses,
    /// What is not known for sure is said to match.
    Presumes,
    /// What matches is said not to.
    Denies,
}

/// A diagram with a fault.
struct Broken(Index, Fault);

impl Shortlist for Broken {
    fn children(
        &self,
        id: NodeId,
        set: &Set,
        question: &Question<'_>,
        list: ListPolicies,
        mut show: impl FnMut(NodeId, TargetMatch) -> Flow,
    ) {
        let mut shown = Vec::new();
        self.0.children(id, set, question, list, |child, known| {
            shown.push((child, known));
            Flow::Continue
        });
        match self.1 {
            Fault::Forgets => {
                shown =
                    shown.into_iter().enumerate().filter(|(at, _)| at % 3 != 2).map(|(_, one)| one).collect()
            }
            Fault::Reverses => shown.reverse(),
            Fault::Presumes => shown.iter_mut().for_each(|(_, known)| *known = TargetMatch::Match),
            Fault::Denies => {}
        }
        for (child, known) in shown {
            if show(child, known) == Flow::Stop {
                break;
            }
        }
    }

    fn target(&self, id: NodeId, question: &Question<'_>) -> TargetMatch {
        match (self.1, self.0.target(id, question)) {
            (Fault::Denies, TargetMatch::Match) => TargetMatch::NoMatch,
            (Fault::Presumes, TargetMatch::Unsure) => TargetMatch::Match,
            (Fault::Forgets | Fault::Reverses | Fault::Presumes | Fault::Denies, known) => known,
        }
    }
}

/// Of so many random programs at most one must show the fault.
const PROGRAMS: u64 = 300;

#[test]
fn broken_indexes_are_noticed() {
    for fault in [Fault::Forgets, Fault::Reverses, Fault::Presumes, Fault::Denies] {
        let is_noticed = |number: u64| {
            let mut random = TestRandom::new(number);
            let shape = Shape::random(&mut random);
            let program = Generator::new(&mut random, shape.clone()).program();
            let index = Index::build(IndexKind::Diagram, &program, &Settings::default());
            let broken = Broken(index, fault);
            (0..12).any(|_| disagreement(&program, &Facts::random(&mut random, &shape), &broken).is_some())
        };
        assert!((0..PROGRAMS).any(is_noticed), "{fault:?}");
    }
}
