//! Evaluating: the decision, by the plain evaluator, and what of the documents it took.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use durward_pdp::Value;
use durward_pdp::ir::combine::{Algorithm, Effects, Verdict, Vote};
use durward_pdp::ir::evaluate::{Evaluator, Everything, ListPolicies, Trace, Unwatched};
use durward_pdp::ir::program::{Builder, Expr, ExprId, NodeId, Place, Program, Set, SetKind, Voters};
use durward_pdp::ir::question::{Encoding, NoContent, Question};
use durward_pdp::sapl::lower::{Outline, lower_for_tests};
use durward_pdp::sapl::{Configuration, Decision, Document};
use smol_str::SmolStr;

use crate::coverage::Coverage;
use crate::documents::Documents;
use crate::given::{Setting, joined};
use crate::world::World;

/// The documents of a scenario, lowered.
pub(crate) struct Stage {
    program: Program,
    /// The elements by where they are written.
    nodes: HashMap<Place, NodeId>,
    outlines: Vec<Outline>,
    /// The number among all documents of each document here.
    numbers: Vec<usize>,
}

/// The stage of the last scenario: the next one usually has the same documents, and lowering is most of the work.
#[derive(Default)]
pub(crate) struct Stages {
    last: Option<Kept>,
}

struct Kept {
    documents: Vec<usize>,
    configuration: Configuration,
    stand_ins: HashSet<SmolStr>,
    stage: Stage,
}

impl Stages {
    /// The stage of a scenario.
    ///
    /// # Errors
    /// What is wrong with the documents, in lines.
    pub(crate) fn get(
        &mut self,
        setting: &Setting,
        documents: &Documents,
        stand_ins: HashSet<SmolStr>,
        coverage: &mut Coverage,
    ) -> Result<&Stage, String> {
        let same = |kept: &Kept| {
            kept.documents == setting.documents
                && kept.stand_ins == stand_ins
                && is_same(&kept.configuration, &setting.configuration)
        };
        let kept = match self.last.take() {
            Some(kept) if same(&kept) => kept,
            Some(_) | None => {
                let stage = Stage::new(setting, documents, &stand_ins)?;
                stage.constants(coverage);
                let (documents, configuration) = (setting.documents.clone(), setting.configuration.clone());
                Kept { documents, configuration, stand_ins, stage }
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
pub(crate) struct Decided {
    pub(crate) decision: Decision,
    pub(crate) reason: Option<String>,
}

impl Stage {
    /// # Errors
    /// What is wrong with the documents, in lines.
    fn new(setting: &Setting, documents: &Documents, stand_ins: &HashSet<SmolStr>) -> Result<Stage, String> {
        let mut read: Vec<Document> = Vec::with_capacity(setting.documents.len());
        for known in setting.documents.iter().filter_map(|number| documents.all().get(*number)) {
            read.push(known.read.as_ref().map_err(|problems| joined(problems))?.clone());
        }
        let mut builder = Builder::new();
        let (children, outlines) = lower_for_tests(&read, &setting.configuration, &mut builder, stand_ins)
            .map_err(|problems| joined(&problems))?;
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
            place: Place { source: u32::MAX, ..Place::default() },
        };
        let program = builder.finish(root);
        let nodes = program.nodes().map(|(id, node)| (node.place(), id)).collect();
        Ok(Stage { program, nodes, outlines, numbers: setting.documents.clone() })
    }

    /// Decides with what is known; `None` where an attribute that matters has no value yet.
    pub(crate) fn decide(&self, world: &World, coverage: &mut Coverage) -> Option<Decided> {
        world.begin();
        let question = self.question(world);
        let watch = Watch::default();
        let evaluator = Evaluator::new(&self.program, &question, &Everything, &watch, ListPolicies::No);
        let vote = evaluator.decide();
        if !question.invocations().is_empty() {
            return None;
        }
        world.count();
        self.observe(world, &watch.votes.into_inner(), coverage);
        let reason = vote.fault.as_ref().map(|fault| fault.message.clone());
        Some(Decided { decision: vote.into(), reason })
    }

    fn question<'a>(&'a self, world: &'a World) -> Question<'a> {
        // An encoding that is none at all is for no program.
        const NONE: &Encoding = &Encoding::none();
        Question::new(&self.program.slots, world, &NoContent, &[], NONE)
    }

    /// Notes which elements were looked at, what they said, and which of their conditions held.
    fn observe(&self, world: &World, votes: &HashMap<NodeId, Option<Verdict>>, coverage: &mut Coverage) {
        world.stop_noting();
        let mut element = 0;
        let mut document = None;
        let mut is_set_open = true;
        for outline in &self.outlines {
            if document != Some(outline.document) {
                (document, element, is_set_open) = (Some(outline.document), 0, true);
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
            let is_open = self.walk(world, outline, place, coverage);
            if is_set {
                is_set_open = is_open;
            }
            coverage.voted(place, verdict.unwrap_or(Verdict::NotApplicable), is_open);
        }
    }

    /// Evaluates the conditions of one element, in order, up to the first that does not hold. Says whether the target of a
    /// set lets its policies be looked at.
    fn walk(&self, world: &World, outline: &Outline, place: (usize, usize), coverage: &mut Coverage) -> bool {
        if outline.gates.iter().any(|gate| self.truth(world, *gate) != Some(Ok(true))) {
            return false;
        }
        if let Some(target) = outline.target {
            let truth = self.truth(world, target);
            coverage.target(place, truth);
            return truth == Some(Ok(true));
        }
        for (at, condition) in outline.conditions.iter().enumerate() {
            let truth = self.truth(world, *condition);
            coverage.condition(place, at, truth);
            if truth == Some(Ok(false)) {
                break;
            }
        }
        true
    }

    /// Whether it holds; `Some(Err)` where that fails, `None` where an attribute that matters has no value yet.
    fn truth(&self, world: &World, id: ExprId) -> Option<Result<bool, ()>> {
        let question = self.question(world);
        let evaluator = Evaluator::new(&self.program, &question, &Everything, &Unwatched, ListPolicies::No);
        let truth = evaluator.truth(id).map_err(|_| ());
        question.invocations().is_empty().then_some(truth)
    }

    /// What of the conditions can only ever be true or only false, by document, element and condition.
    fn constants(&self, coverage: &mut Coverage) {
        let mut element = 0;
        let mut document = None;
        for outline in &self.outlines {
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
struct Watch {
    /// `None` for one that was begun and not finished.
    votes: RefCell<HashMap<NodeId, Option<Verdict>>>,
}

impl Trace for Watch {
    fn enter(&self, id: NodeId) {
        self.votes.borrow_mut().insert(id, None);
    }

    fn leave(&self, id: NodeId, vote: &Vote) {
        self.votes.borrow_mut().insert(id, Some(vote.verdict));
    }
}
