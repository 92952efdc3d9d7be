//! Decisions without evaluation where policies have changed: the base's diagram without the removed children, combined with the new ones.
//!
//! As in the base, an element of which not all can be seen at once leaves the question to the evaluator.

use std::sync::Arc;

use durward_ir::combine::{Effects, PlainFold, Verdict};
use durward_ir::program::{DutyExpr, ExprId, Node, NodeId, Program, Quick, Rule};
use durward_ir::question::{Number, SlotReader};

use super::LayeredIndex;
use super::newcomers::{NewChildren, SlotNewcomers};
use crate::plain::{effects_of, laden, verdict_of};

/// Newcomers with more elements are left to the evaluator.
const ELEMENTS_MAX: usize = 64;

/// A newcomer, made ready.
#[derive(Debug)]
pub(super) struct PreparedNewcomer {
    element: PreparedElement,
}

#[derive(Debug)]
enum PreparedElement {
    /// The evaluator has to be asked.
    Unready,
    Rule {
        effects: Effects,
        /// All that must hold.
        conditions: Box<[Quick]>,
        /// Whether something goes along with it.
        is_laden: bool,
    },
    Set {
        target: Option<Quick>,
        fold: Box<PlainFold>,
        /// The effects that something goes along with.
        laden: Effects,
        children: Box<[PreparedElement]>,
    },
}

impl PreparedNewcomer {
    pub(super) fn of(program: &Program, id: NodeId) -> PreparedNewcomer {
        let mut elements_left = ELEMENTS_MAX;
        PreparedNewcomer {
            element: element(program, id, &mut elements_left).unwrap_or(PreparedElement::Unready),
        }
    }

    /// What it says; `None` where that cannot be seen at once.
    #[inline]
    fn says(&self, program: &Program, reader: &impl SlotReader) -> Option<Effects> {
        self.element.says(program, reader)
    }
}

fn element(program: &Program, id: NodeId, elements_left: &mut usize) -> Option<PreparedElement> {
    *elements_left = elements_left.checked_sub(1)?;
    match program.node(id) {
        Node::Rule(rule) => self::rule(program, rule),
        Node::Set(set) => {
            let quick = |target: ExprId| Quick::of(program, target);
            let target = match set.target {
                Some(target) => Some(quick(target)?),
                None => None,
            };
            let fold = Box::new(PlainFold::of(set.algorithm)?);
            let children = set.children.iter().map(|child| element(program, *child, elements_left));
            let children = children.collect::<Option<_>>()?;
            Some(PreparedElement::Set { target, fold, laden: laden(set), children })
        }
    }
}

fn rule(program: &Program, rule: &Rule) -> Option<PreparedElement> {
    let conditions = rule.target.into_iter().chain(rule.condition);
    let conditions = conditions.map(|condition| Quick::of(program, condition)).collect::<Option<_>>()?;
    let goes_along = |duty: &DutyExpr| duty.on == rule.effect;
    let is_laden = rule.transform.is_some() || rule.duties.iter().any(goes_along);
    Some(PreparedElement::Rule { effects: Effects::only(rule.effect), conditions, is_laden })
}

impl PreparedElement {
    /// Recursion goes as deep as policy sets do.
    fn says(&self, program: &Program, reader: &impl SlotReader) -> Option<Effects> {
        match self {
            PreparedElement::Unready => None,
            PreparedElement::Rule { effects, conditions, is_laden } => {
                for condition in conditions {
                    if !condition.truth(program, reader)? {
                        return Some(Effects::NONE);
                    }
                }
                (!is_laden).then_some(*effects)
            }
            PreparedElement::Set { target, fold, laden, children } => {
                if let Some(target) = target
                    && !target.truth(program, reader)?
                {
                    return Some(Effects::NONE);
                }
                let said = combined(fold, children, program, reader)?;
                (said.bits() & laden.bits() == 0).then_some(said)
            }
        }
    }
}

fn combined(
    fold: &PlainFold,
    children: &[PreparedElement],
    program: &Program,
    reader: &impl SlotReader,
) -> Option<Effects> {
    let mut effects = Effects::NONE;
    for child in children {
        effects = effects.union(child.says(program, reader)?);
        if matches!(fold, PlainFold::First(_)) && effects != Effects::NONE {
            return Some(effects);
        }
    }
    effects_of(match fold {
        PlainFold::First(otherwise) => *otherwise,
        PlainFold::Any(verdicts) => verdicts.of(effects)?,
    })
}

impl LayeredIndex {
    /// What the program says, if that can be seen at once; nothing goes along with it then. Exactly what the evaluator would
    /// say.
    #[inline]
    pub fn table_decision(&self, program: &Program, reader: &impl SlotReader) -> Option<Verdict> {
        let fold = self.fold.as_ref()?;
        match fold {
            PlainFold::Any(verdicts) => {
                let is_gone = |node| self.gone.contains(self.ground.owner(node));
                let mut effects = self.ground.diagram()?.effects_without(program, reader, &is_gone)?;
                self.newcomers.look(program, reader, |_, said| effects = effects.union(said))?;
                verdicts.of(effects)
            }
            PlainFold::First(otherwise) => self.first(program, reader, *otherwise),
        }
    }

    /// The same where the first vote counts.
    fn first(&self, program: &Program, reader: &impl SlotReader, otherwise: Verdict) -> Option<Verdict> {
        let is_gone = |node| self.gone.contains(self.ground.owner(node));
        let of_base = self.ground.diagram()?.first_without(program, reader, &is_gone)?;
        let mut of_new: Option<(u32, Effects)> = None;
        self.newcomers.look(program, reader, |number, said| {
            if said != Effects::NONE && of_new.is_none_or(|(first, _)| number < first) {
                of_new = Some((number, said));
            }
        })?;
        let comes_first = |number: u32, node| {
            self.newcomers.before(number).is_some_and(|before| before <= self.ground.owner(node))
        };
        let said = match (of_base, of_new) {
            (Some((node, _)), Some((number, said))) if comes_first(number, node) => Some(said),
            (Some((_, said)), _) | (None, Some((_, said))) => Some(said),
            (None, None) => None,
        };
        Some(said.map_or(otherwise, verdict_of))
    }
}

impl NewChildren {
    /// Gives all that may apply, by their numbers, with what they say. `None` where that cannot be seen at once.
    #[inline]
    fn look(
        &self,
        program: &Program,
        reader: &impl SlotReader,
        mut note: impl FnMut(u32, Effects),
    ) -> Option<()> {
        let mut look = |numbers: &[u32]| {
            for number in numbers {
                let form: &Arc<PreparedNewcomer> = self.forms.get(*number as usize)?;
                note(*number, form.says(program, reader)?);
            }
            Some(())
        };
        look(&self.free)?;
        for pivot in &self.pivots {
            look(pivot.seen(reader)?)?;
        }
        Some(())
    }
}

impl SlotNewcomers {
    /// Those that may apply; `None` where that cannot be seen at once.
    #[inline]
    fn seen(&self, reader: &impl SlotReader) -> Option<&[u32]> {
        match reader.number(self.slot) {
            Number::ABSENT => Some(&self.if_absent),
            Number::OTHER | Number::OTHER_TEXT => Some(&[]),
            Number::UNASKED | Number::MANY => None,
            number => Some(number.atom().map_or(&[], |atom| self.askers(atom))),
        }
    }
}
