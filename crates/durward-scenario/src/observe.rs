//! Evaluates with the plain evaluator, and records what of the documents was covered.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use durward_pdp::Value;
use durward_pdp::ir::combine::{Algorithm, Effects, Mode, Verdict, Vote, Voting};
use durward_pdp::ir::evaluate::{Evaluator, Everything, ListPolicies, Trace, Unwatched};
use durward_pdp::ir::program::{
    Builder, Expr, ExprId, Node, NodeId, Program, Set, SetKind, SourceLocation, Voters,
};
use durward_pdp::ir::question::{Encoding, NoContent, Question};
use durward_pdp::sapl::lower::{Outline, lower_for_tests};
use durward_pdp::sapl::{Configuration, Decision, Document};
use smol_str::SmolStr;

use crate::coverage::PolicyCoverage;
use crate::documents::TestDocuments;
use crate::error::PlayError;
use crate::given::{AttributeSubscription, ScenarioSetup, joined};
use crate::world::ScenarioWorld;

/// The documents of a scenario, lowered.
pub(crate) struct LoweredDocuments {
    program: Program,
    /// The elements by where they are written.
    nodes: HashMap<SourceLocation, NodeId>,
    outlines: Vec<PlannedElement>,
    /// The number among all documents of each document here.
    numbers: Vec<usize>,
}

/// A policy or a set, and in which order the engine looks at its conditions.
struct PlannedElement {
    outline: Outline,
    /// By number: first constants, then what asks no attribute, then the others; each as they are written.
    order: Vec<usize>,
    /// How many of these ask no attribute.
    pure: usize,
}

impl PlannedElement {
    fn new(outline: Outline, builder: &Builder) -> PlannedElement {
        let stratum = |at: &usize| {
            let facts = outline.conditions.get(*at).map(|id| builder.facts(*id)).unwrap_or_default();
            (facts.streams, facts.depends)
        };
        let mut order: Vec<usize> = (0..outline.conditions.len()).collect();
        order.sort_by_key(stratum);
        let pure = order.iter().filter(|at| !stratum(at).0).count();
        PlannedElement { order, pure, outline }
    }
}

/// The stage of the last scenario: the next one usually has the same documents, and lowering is most of the work.
#[derive(Default)]
pub(crate) struct LoweredCache {
    last: Option<CachedLowering>,
}

struct CachedLowering {
    documents: Vec<usize>,
    configuration: Configuration,
    stand_ins: HashSet<SmolStr>,
    stage: LoweredDocuments,
}

impl LoweredCache {
    /// The stage of a scenario.
    ///
    /// # Errors
    /// What is wrong with the documents, in lines.
    pub(crate) fn get(
        &mut self,
        setting: &ScenarioSetup,
        documents: &TestDocuments,
        stand_ins: HashSet<SmolStr>,
        coverage: &mut PolicyCoverage,
    ) -> Result<&LoweredDocuments, PlayError> {
        let same = |kept: &CachedLowering| {
            kept.documents == setting.documents
                && kept.stand_ins == stand_ins
                && is_same(&kept.configuration, &setting.configuration)
        };
        let kept = match self.last.take() {
            Some(kept) if same(&kept) => kept,
            Some(_) | None => {
                let stage = LoweredDocuments::new(setting, documents, &stand_ins)?;
                stage.constants(coverage);
                let (documents, configuration) = (setting.documents.clone(), setting.configuration.clone());
                CachedLowering { documents, configuration, stand_ins, stage }
            }
        };
        Ok(&self.last.insert(kept).stage)
    }
}

/// Whether two configurations mean the same; flags have no meaning here.
fn is_same(one: &Configuration, other: &Configuration) -> bool {
    let variables = |configuration: &Configuration| Value::Object(Arc::clone(configuration.variables()));
    one.voting == other.voting && variables(one).equals(&variables(other))
}

/// A decision, and why it is Indeterminate if it is.
#[derive(Clone, Debug)]
pub(crate) struct ObservedDecision {
    pub(crate) decision: Decision,
    pub(crate) reason: Option<String>,
}

impl LoweredDocuments {
    /// # Errors
    /// What is wrong with the documents, in lines.
    fn new(
        setting: &ScenarioSetup,
        documents: &TestDocuments,
        stand_ins: &HashSet<SmolStr>,
    ) -> Result<LoweredDocuments, PlayError> {
        let mut read: Vec<Document> = Vec::with_capacity(setting.documents.len());
        for known in setting.documents.iter().filter_map(|number| documents.all().get(*number)) {
            read.push(known.read.as_ref().map_err(|problems| PlayError::new(joined(problems)))?.clone());
        }
        let mut builder = Builder::new();
        let (children, outlines) = lower_for_tests(&read, &setting.configuration, &mut builder, stand_ins)
            .map_err(|problems| PlayError::new(joined(&problems)))?;
        let effects = children.iter().filter_map(|child| builder.effects(*child));
        let root = Set {
            id: SmolStr::new_static("root"),
            version: SmolStr::default(),
            kind: SetKind::Root,
            target: None,
            algorithm: Algorithm::Voting(setting.configuration.voting),
            effects: effects.fold(Effects::NONE, Effects::union),
            children,
            voters: Voters::default(),
            duties: Vec::new(),
            place: SourceLocation { source: u32::MAX, ..SourceLocation::default() },
        };
        let outlines = outlines.into_iter().map(|outline| PlannedElement::new(outline, &builder)).collect();
        let program = builder.finish(root);
        let nodes = program.nodes().map(|(id, node)| (node.place(), id)).collect();
        Ok(LoweredDocuments { program, nodes, outlines, numbers: setting.documents.clone() })
    }

    /// Decides with what is known; `None` where an attribute that matters has no value yet.
    pub(crate) fn decide(
        &self,
        world: &ScenarioWorld,
        when: AttributeSubscription,
        coverage: &mut PolicyCoverage,
    ) -> Option<ObservedDecision> {
        world.begin();
        let question = self.question(world);
        let watch = EvaluationWatch::default();
        let evaluator = Evaluator::new(&self.program, &question, &Everything, &watch, ListPolicies::No);
        let vote = evaluator.decide();
        let votes = watch.votes.into_inner();
        let has_all = when == AttributeSubscription::Lazily || self.gather(world, &votes);
        if !question.invocations().is_empty() || !has_all {
            return None;
        }
        world.count();
        self.observe(world, &votes, vote.verdict, coverage);
        let reason = vote.fault.as_ref().map(|fault| fault.message.clone());
        Some(ObservedDecision { decision: vote.into(), reason })
    }

    fn question<'a>(&'a self, world: &'a ScenarioWorld) -> Question<'a> {
        // An encoding that is none at all is for no program.
        const NONE: &Encoding = &Encoding::none();
        Question::new(&self.program.slots, world, &NoContent, &[], NONE)
    }

    /// Asks for every attribute of the policies that were looked at, whether the decision needs it or not; says whether
    /// all of them have values. A condition that asks for none and is false ends a policy before that.
    fn gather(&self, world: &ScenarioWorld, votes: &HashMap<NodeId, Option<Verdict>>) -> bool {
        let mut has_all = true;
        for PlannedElement { outline, order, pure } in &self.outlines {
            let is_met = self.nodes.get(&outline.place).is_some_and(|node| votes.contains_key(node));
            let is_false = |at: &usize| self.truth_of(world, outline, *at) == Some(Ok(false));
            let (pure, streams) = order.split_at_checked(*pure).unwrap_or_default();
            world.note_attributes_only();
            if !is_met || self.is_barred(world, outline) || pure.iter().any(is_false) {
                continue;
            }
            for at in streams {
                let truth = self.truth_of(world, outline, *at);
                has_all &= truth.is_some();
                if truth == Some(Ok(false)) {
                    // The evaluator went no further: from here on, functions are called for the first time.
                    world.note_all();
                }
            }
        }
        has_all
    }

    /// Whether a set asks its policies up to the first that has anything to say.
    fn is_first(&self, outline: &Outline) -> bool {
        let node = self.nodes.get(&outline.place).map(|node| self.program.node(*node));
        let Some(Node::Set(set)) = node else { return false };
        matches!(set.algorithm, Algorithm::Voting(Voting { mode: Mode::First, .. }))
    }

    fn truth_of(&self, world: &ScenarioWorld, outline: &Outline, at: usize) -> Option<Result<bool, ()>> {
        self.truth(world, *outline.conditions.get(at)?)
    }

    fn is_barred(&self, world: &ScenarioWorld, outline: &Outline) -> bool {
        outline.gates.iter().any(|gate| self.truth(world, *gate) != Some(Ok(true)))
    }

    /// Notes which elements were looked at, what they said, and which of their conditions held.
    fn observe(
        &self,
        world: &ScenarioWorld,
        votes: &HashMap<NodeId, Option<Verdict>>,
        decision: Verdict,
        coverage: &mut PolicyCoverage,
    ) {
        world.stop_noting();
        let mut sets = Vec::new();
        let mut element = 0;
        let mut document = None;
        let mut is_set_open = true;
        let mut is_first = false;
        for planned in &self.outlines {
            let outline = &planned.outline;
            if document != Some(outline.document) {
                (document, element, is_set_open) = (Some(outline.document), 0, true);
                is_first = false;
            }
            let Some(number) = self.numbers.get(outline.document) else { continue };
            let verdict = match self.nodes.get(&outline.place) {
                Some(node) => votes.get(node).copied(),
                // One that never applies did not become an element. It was as good as looked at.
                None if is_set_open => Some(Some(Verdict::NotApplicable)),
                None => None,
            };
            let is_set = element == 0 && coverage.is_set(*number);
            let place = (*number, element);
            element += 1;
            let Some(verdict) = verdict else {
                is_set_open &= !is_set;
                continue;
            };
            let is_open = self.walk(world, planned, place, is_set, coverage);
            let verdict = verdict.unwrap_or(Verdict::NotApplicable);
            if is_set {
                is_set_open = is_open;
                is_first = self.is_first(outline);
                sets.push(place);
            } else {
                coverage.came(place, decision);
                // What stands behind the first that has anything to say is not asked.
                is_set_open &= !is_first || verdict == Verdict::NotApplicable;
            }
            coverage.voted(place, verdict, is_open);
        }
        sets.into_iter().for_each(|set| coverage.came(set, decision));
    }

    /// Evaluates the conditions of one element, in the engine's order, up to the first that is false. Says whether the
    /// target of a set lets its policies be looked at.
    fn walk(
        &self,
        world: &ScenarioWorld,
        PlannedElement { outline, order, .. }: &PlannedElement,
        place: (usize, usize),
        is_set: bool,
        coverage: &mut PolicyCoverage,
    ) -> bool {
        if self.is_barred(world, outline) {
            return false;
        }
        if is_set {
            let truth = outline.target.map_or(Some(Ok(true)), |target| self.truth(world, target));
            coverage.target(place, truth);
            return truth == Some(Ok(true));
        }
        for at in order {
            let truth = self.truth_of(world, outline, *at);
            coverage.condition(place, *at, truth);
            if truth == Some(Ok(false)) {
                break;
            }
        }
        true
    }

    /// Whether it holds; `Some(Err)` where that fails, `None` where an attribute that matters has no value yet.
    fn truth(&self, world: &ScenarioWorld, id: ExprId) -> Option<Result<bool, ()>> {
        let question = self.question(world);
        let evaluator = Evaluator::new(&self.program, &question, &Everything, &Unwatched, ListPolicies::No);
        let truth = evaluator.truth(id).map_err(|_| ());
        question.invocations().is_empty().then_some(truth)
    }

    /// What of the conditions can only ever be true or only false, by document, element and condition.
    fn constants(&self, coverage: &mut PolicyCoverage) {
        let mut element = 0;
        let mut document = None;
        for PlannedElement { outline, .. } in &self.outlines {
            if document != Some(outline.document) {
                (document, element) = (Some(outline.document), 0);
            }
            let Some(number) = self.numbers.get(outline.document) else { continue };
            let constant = |id: ExprId| matches!(self.program.expr(id), Expr::Constant(_) | Expr::Failed(_));
            let target = outline.target.is_some_and(constant);
            let conditions = outline.conditions.iter().map(|id| constant(*id)).collect();
            coverage.constants((*number, element), target, conditions);
            element += 1;
        }
    }
}

/// Notes which elements were evaluated, and how they voted.
#[derive(Default)]
struct EvaluationWatch {
    /// `None` for one that was begun and not finished.
    votes: RefCell<HashMap<NodeId, Option<Verdict>>>,
}

impl Trace for EvaluationWatch {
    fn enter(&self, id: NodeId) {
        self.votes.borrow_mut().insert(id, None);
    }

    fn leave(&self, id: NodeId, vote: &Vote) {
        self.votes.borrow_mut().insert(id, Some(vote.verdict));
    }
}
