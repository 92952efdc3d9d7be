//! What of the documents was covered: sets and policies that applied, conditions that were true and false.

use std::fmt;
use std::sync::Arc;

use durward_pdp::ir::combine::{Effects, Verdict};
use durward_pdp::ir::program::Effect;
use durward_pdp::sapl::syntax::tree::{self, DefaultDecision, Policy, PolicySet, Root, Statement};
use durward_pdp::sapl::syntax::{LineColumn, LineIndex, Span};
use smol_str::SmolStr;

use crate::documents::{TestDocument, TestDocuments};
use crate::hits::{CoverageHits, ElementOutcome, GateRatios};

/// What of all documents was covered.
#[derive(Clone, Debug, Default)]
pub struct PolicyCoverage {
    /// The documents that could be read, by path.
    pub documents: Vec<DocumentCoverage>,
    /// Of each document, by number, its place above.
    places: Vec<Option<usize>>,
    hits: CoverageHits,
}

/// What of one document was covered.
#[derive(Clone, Debug)]
pub struct DocumentCoverage {
    /// Where it lies.
    pub path: SmolStr,
    /// Its text.
    pub text: Arc<str>,
    /// Its set, if it is one, and its policies, in order.
    pub elements: Vec<CoveredElement>,
    lines: LineIndex,
    /// Where each line begins.
    starts: Vec<u32>,
}

/// A set or a policy.
#[derive(Clone, Debug)]
pub struct CoveredElement {
    /// Which of both.
    pub kind: ElementKind,
    /// Its name.
    pub name: SmolStr,
    /// Where its name is written, with `policy` or `set` before it.
    pub head: Span,
    /// How often it was looked at.
    pub looked_at: u64,
    /// How often it applied: a policy said its effect, or a set let its policies be asked.
    pub applied: u64,
    /// How often it did not apply.
    pub not_applicable: u64,
    /// How often it failed.
    pub failed: u64,
    /// The target of a set that has one; the conditions of a policy.
    pub conditions: Vec<ConditionBranch>,
    /// What it can say.
    effects: Effects,
}

/// What an element is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementKind {
    /// A policy set.
    Set,
    /// A policy.
    Policy,
}

/// A condition, which can be true or false.
#[derive(Clone, Debug)]
pub struct ConditionBranch {
    /// Where it is written.
    pub span: Span,
    /// How often it was true.
    pub times_true: u64,
    /// How often it was false.
    pub times_false: u64,
    /// How often it was neither: it failed, or was no truth value.
    pub times_failed: u64,
    /// Whether it is the same whatever is asked. Then it is not asked to be both true and false.
    pub is_constant: bool,
}

impl ConditionBranch {
    fn new(span: Span) -> ConditionBranch {
        ConditionBranch { span, times_true: 0, times_false: 0, times_failed: 0, is_constant: false }
    }

    fn note(&mut self, truth: Option<Result<bool, ()>>) {
        match truth {
            Some(Ok(true)) => self.times_true += 1,
            Some(Ok(false)) => self.times_false += 1,
            Some(Err(())) => self.times_failed += 1,
            None => {}
        }
    }

    /// How many of its outcomes came, of how many.
    pub fn outcomes(&self) -> CoverageRatio {
        let came = u64::from(self.times_true > 0) + u64::from(self.times_false > 0);
        let is_met = came > 0 || self.times_failed > 0;
        if self.is_constant { CoverageRatio::new(u64::from(is_met), 1) } else { CoverageRatio::new(came, 2) }
    }
}

impl CoveredElement {
    fn set(set: &PolicySet) -> CoveredElement {
        let target = set.target.iter().map(|target| ConditionBranch::new(target.span));
        let head = Span::new(set.span.start, set.name.span.end);
        let default = match set.algorithm.default {
            DefaultDecision::Permit => Effects::PERMIT,
            DefaultDecision::Deny => Effects::DENY,
            DefaultDecision::Suspend => Effects::SUSPEND,
            DefaultDecision::Abstain => Effects::NONE,
        };
        let effects = set.policies.iter().fold(default, |all, policy| all.union(effects(policy)));
        CoveredElement::new(ElementKind::Set, set.name.text.clone(), head, target.collect(), effects)
    }

    fn policy(policy: &Policy) -> CoveredElement {
        let condition = |statement: &Statement| match statement {
            Statement::Condition(condition) => Some(ConditionBranch::new(condition.span)),
            Statement::Variable(_) => None,
        };
        let head = Span::new(policy.span.start, policy.name.span.end);
        let conditions = policy.body.iter().filter_map(condition).collect();
        CoveredElement::new(ElementKind::Policy, policy.name.text.clone(), head, conditions, effects(policy))
    }

    fn new(
        kind: ElementKind,
        name: SmolStr,
        head: Span,
        conditions: Vec<ConditionBranch>,
        effects: Effects,
    ) -> CoveredElement {
        CoveredElement {
            kind,
            name,
            head,
            looked_at: 0,
            applied: 0,
            not_applicable: 0,
            failed: 0,
            conditions,
            effects,
        }
    }

    /// How many of its own outcomes came: that it applies, and that it does not if it can.
    pub fn outcomes(&self) -> CoverageRatio {
        let applied = u64::from(self.applied > 0);
        let can_be_passed_by = self.conditions.iter().any(|condition| !condition.is_constant);
        if can_be_passed_by {
            CoverageRatio::new(applied + u64::from(self.not_applicable > 0), 2)
        } else {
            CoverageRatio::new(applied, 1)
        }
    }
}

fn effects(policy: &Policy) -> Effects {
    Effects::only(match policy.effect {
        tree::Effect::Permit => Effect::Permit,
        tree::Effect::Deny => Effect::Deny,
        tree::Effect::Suspend => Effect::Suspend,
    })
}

impl DocumentCoverage {
    fn new(known: &TestDocument) -> Option<DocumentCoverage> {
        let elements = match known.read.as_ref().ok()?.tree.root.as_ref()? {
            Root::Policy(policy) => vec![CoveredElement::policy(policy)],
            Root::Set(set) => [CoveredElement::set(set)]
                .into_iter()
                .chain(set.policies.iter().map(CoveredElement::policy))
                .collect(),
        };
        let text = Arc::clone(&known.text);
        let breaks = text.bytes().zip(1..).filter(|(byte, _)| *byte == b'\n').map(|(_, behind)| behind);
        let starts = [0].into_iter().chain(breaks).collect();
        Some(DocumentCoverage {
            path: known.path.clone(),
            elements,
            lines: LineIndex::new(&text),
            text,
            starts,
        })
    }

    /// The first and the last line of a piece of the text, from 1. Looked up: without going through the text.
    pub(crate) fn lines_of(&self, span: Span) -> (u32, u32) {
        let line = |offset: u32| self.starts.partition_point(|start| *start <= offset) as u32;
        (line(span.start), line(span.end.saturating_sub(1).max(span.start)))
    }

    /// Line and column of the beginning of a piece of the text.
    pub fn place(&self, span: Span) -> LineColumn {
        self.lines.place(&self.text, span.start)
    }

    /// The conditions of all elements.
    pub fn conditions(&self) -> impl Iterator<Item = &ConditionBranch> {
        self.elements.iter().flat_map(|element| &element.conditions)
    }

    /// The outcomes that came, of all elements and all conditions.
    pub fn branches(&self) -> CoverageRatio {
        let elements = self.elements.iter().map(CoveredElement::outcomes);
        elements.chain(self.conditions().map(ConditionBranch::outcomes)).sum()
    }
}

impl PolicyCoverage {
    /// Takes up documents that are not taken up yet.
    pub(crate) fn take_up(&mut self, documents: &TestDocuments) {
        for known in documents.all().iter().skip(self.places.len()) {
            let covered = DocumentCoverage::new(known);
            self.places.push(covered.is_some().then_some(self.documents.len()));
            self.documents.extend(covered);
        }
    }

    fn element(&mut self, (document, element): (usize, usize)) -> Option<&mut CoveredElement> {
        let place = (*self.places.get(document)?)?;
        self.documents.get_mut(place)?.elements.get_mut(element)
    }

    /// Whether a document is a set.
    pub(crate) fn is_set(&mut self, document: usize) -> bool {
        self.element((document, 0)).is_some_and(|element| element.kind == ElementKind::Set)
    }

    pub(crate) fn constants(&mut self, place: (usize, usize), target: bool, conditions: Vec<bool>) {
        let Some(element) = self.element(place) else { return };
        let known = match element.kind {
            ElementKind::Set => vec![target],
            ElementKind::Policy => conditions,
        };
        for (condition, is_constant) in element.conditions.iter_mut().zip(known) {
            condition.is_constant = is_constant;
        }
    }

    /// The target of a set that has one, or else nothing; a set is open where its target holds or is not there.
    pub(crate) fn target(&mut self, place: (usize, usize), truth: Option<Result<bool, ()>>) {
        self.note(place, 0, truth);
        let line = self.written(place, 0).map(|written| written.line);
        self.hits.target(place.0, line, truth == Some(Ok(true)));
    }

    pub(crate) fn condition(&mut self, place: (usize, usize), at: usize, truth: Option<Result<bool, ()>>) {
        self.note(place, at, truth);
        if let (Some(Ok(came)), Some(written)) = (truth, self.written(place, at)) {
            self.hits.condition(place.0, written.line, written.column, came);
        }
    }

    fn note(&mut self, place: (usize, usize), at: usize, truth: Option<Result<bool, ()>>) {
        if let Some(condition) = self.element(place).and_then(|element| element.conditions.get_mut(at)) {
            condition.note(truth);
        }
    }

    /// Where a condition is written.
    fn written(&self, (document, element): (usize, usize), at: usize) -> Option<LineColumn> {
        let covered = self.documents.get((*self.places.get(document)?)?)?;
        Some(covered.place(covered.elements.get(element)?.conditions.get(at)?.span))
    }

    /// What came of an element that was looked at, where this is the decision; of sets after their policies.
    pub(crate) fn came(&mut self, place: (usize, usize), decision: Verdict) {
        let Some(element) = self.element(place) else { return };
        let (kind, has_conditions) = (element.kind, !element.conditions.is_empty());
        let came = ElementOutcome { effects: element.effects, decision };
        match kind {
            ElementKind::Set => self.hits.set(place.0, came),
            ElementKind::Policy => self.hits.policy(place.0, has_conditions, came),
        }
    }

    /// What gates are asked of: the ratios as SAPL's own `test` counts them, of the documents that scenarios met.
    pub fn gates(&self) -> GateRatios {
        self.hits.ratios()
    }

    /// An element was looked at; `is_open` says of a set whether its policies were, too.
    pub(crate) fn voted(&mut self, place: (usize, usize), verdict: Verdict, is_open: bool) {
        let Some(element) = self.element(place) else { return };
        element.looked_at += 1;
        let applied = match (element.kind, verdict) {
            (ElementKind::Set, _) if is_open => Some(true),
            (_, Verdict::Permit | Verdict::Deny | Verdict::Suspend) => Some(true),
            (_, Verdict::NotApplicable) => Some(false),
            (_, Verdict::Indeterminate(_)) => None,
        };
        match applied {
            Some(true) => element.applied += 1,
            Some(false) => element.not_applicable += 1,
            None => element.failed += 1,
        }
    }

    fn elements(&self, kind: ElementKind) -> CoverageRatio {
        let elements = self.documents.iter().flat_map(|document| &document.elements);
        let of_kind = elements.filter(|element| element.kind == kind);
        of_kind.map(|element| CoverageRatio::new(u64::from(element.applied > 0), 1)).sum()
    }

    /// The policy sets whose policies were asked at least once.
    pub fn policy_sets(&self) -> CoverageRatio {
        self.elements(ElementKind::Set)
    }

    /// The policies, those in sets included, that applied at least once.
    pub fn policies(&self) -> CoverageRatio {
        self.elements(ElementKind::Policy)
    }

    /// The conditions that were both true and false. Those that are the same whatever is asked need be met only.
    pub fn conditions(&self) -> CoverageRatio {
        let conditions = self.documents.iter().flat_map(DocumentCoverage::conditions);
        conditions.map(|condition| CoverageRatio::new(u64::from(condition.outcomes().is_full()), 1)).sum()
    }

    /// The outcomes that came: true and false of each condition, applicable and not applicable of each element.
    pub fn branches(&self) -> CoverageRatio {
        self.documents.iter().map(DocumentCoverage::branches).sum()
    }
}

/// So many of so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoverageRatio {
    /// How many.
    pub covered: u64,
    /// Of how many.
    pub total: u64,
}

impl CoverageRatio {
    pub(crate) fn new(covered: u64, total: u64) -> CoverageRatio {
        CoverageRatio { covered, total }
    }

    /// Whether nothing is missing.
    pub fn is_full(self) -> bool {
        self.covered >= self.total
    }

    /// In percent; 100 of nothing.
    pub fn percent(self) -> f64 {
        if self.total == 0 { 100.0 } else { self.covered as f64 * 100.0 / self.total as f64 }
    }
}

impl std::iter::Sum for CoverageRatio {
    fn sum<I: Iterator<Item = CoverageRatio>>(ratios: I) -> CoverageRatio {
        ratios.fold(CoverageRatio::default(), |sum, one| {
            CoverageRatio::new(sum.covered + one.covered, sum.total + one.total)
        })
    }
}

/// `66.6 % (2 of 3)`: never rounded up; `none` of nothing.
impl fmt::Display for CoverageRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total == 0 {
            return f.pad("none");
        }
        let tenths = (self.percent() * 10.0).floor() / 10.0;
        write!(f, "{tenths} % ({} of {})", self.covered, self.total)
    }
}
