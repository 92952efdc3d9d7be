//! SAPL's policies and sets in SAPL's words: how they were written, and what became of it.
//!
//! Votes are those that the evaluation came to. Conditions are asked one by one, of the same evaluator, for what each of
//! them says.

use std::collections::{HashMap, HashSet};

use durward_ir::combine::{ErrorHandling, Verdict, Vote, Voting};
use durward_ir::evaluate::{Evaluator, Everything, ListPolicies, Unwatched};
use durward_ir::program::{NodeId, Program, SourceLocation, Written, WrittenCondition};
use durward_ir::question::Question;
use durward_sapl::{Decision, Outcome};

use super::near::Given;
use super::reason::Case;
use super::{Explained, ExplainedCondition, fault_message, reason};

/// What an element said.
pub(super) struct Seen {
    verdict: Verdict,
    /// Why it failed, if it did.
    fault: String,
    /// In SAPL's words, with all that goes along.
    decision: Decision,
}

impl Seen {
    pub(super) fn of(vote: &Vote) -> Seen {
        Seen { verdict: vote.verdict, fault: fault_message(vote), decision: Decision::from(vote.clone()) }
    }
}

/// Puts what there is to tell of the documents of SAPL in the place of what the evaluation told of them.
pub(super) fn tell(
    program: &Program,
    question: &Question<'_>,
    given: Given<'_>,
    seen: &HashMap<NodeId, Seen>,
    top: &mut Explained,
) {
    let explainer = Explainer { program, question, given, seen };
    let written = question.aside(|| program.written.iter().map(|one| explainer.explained(one)).collect());
    let xacml = std::mem::replace(&mut top.children, written);
    let nodes: HashSet<NodeId> = program.written.iter().filter_map(|one| one.node).collect();
    top.children
        .extend(xacml.into_iter().filter(|child| child.node.is_none_or(|node| !nodes.contains(&node))));
    let root = program.root();
    if let Some(reason) = seen.get(&root).and_then(|seen| explainer.combined(root, seen)) {
        top.reason = reason;
    }
}

/// What explanations of SAPL are made of.
struct Explainer<'a> {
    program: &'a Program,
    question: &'a Question<'a>,
    given: Given<'a>,
    seen: &'a HashMap<NodeId, Seen>,
}

impl Explainer<'_> {
    /// A policy or a set, and the policies in it.
    fn explained(&self, written: &Written) -> Explained {
        let kind = if written.effect.is_some() { "policy" } else { "set" };
        let mut explained = Explained {
            kind,
            id: written.id.to_string(),
            place: self.place(written.place),
            ..Explained::default()
        };
        let Some(node) = written.node else {
            // What is false whatever is asked was left out.
            explained.outcome = Outcome::NotApplicable.to_string();
            explained.conditions = self.conditions(written);
            if explained.conditions.iter().all(|condition| condition.outcome == "true") {
                explained.reason = "its conditions contradict one another".into();
            }
            return explained;
        };
        match self.seen.get(&node) {
            Some(seen) => self.tell(&mut explained, written, node, seen),
            None => {
                explained.outcome = "NOT_EVALUATED".into();
                explained.reason = "it cannot change the decision".into();
            }
        }
        explained
    }

    fn tell(&self, explained: &mut Explained, written: &Written, node: NodeId, seen: &Seen) {
        explained.outcome = Outcome::from(seen.verdict).to_string();
        explained.obligations = seen.decision.obligations().map(|value| reason::shown(&value)).collect();
        explained.advice = seen.decision.advice().map(|value| reason::shown(&value)).collect();
        explained.resource = seen.decision.resource().map(reason::shown);
        explained.conditions = self.conditions(written);
        let holds = explained.conditions.iter().all(|condition| condition.outcome == "true");
        match seen.verdict {
            _ if !holds => {}
            _ if written.effect.is_none() => {
                explained.reason = self.combined(node, seen).unwrap_or_default();
                explained.children = written.policies.iter().map(|policy| self.explained(policy)).collect();
            }
            Verdict::Indeterminate(_) => explained.reason.clone_from(&seen.fault),
            Verdict::NotApplicable => explained.reason = "its conditions contradict one another".into(),
            Verdict::Permit | Verdict::Deny | Verdict::Suspend => {}
        }
    }

    /// All conditions if they hold; else the enforced schemas that do not, if the first of them is false; else the one that is false, or
    /// those that fail.
    fn conditions(&self, written: &Written) -> Vec<ExplainedCondition> {
        let all = |is_schema: bool| -> (Vec<ExplainedCondition>, Vec<ExplainedCondition>) {
            let wanted = written.conditions.iter().filter(move |condition| condition.is_schema == is_schema);
            wanted
                .map(|condition| self.condition(condition))
                .partition(|condition| condition.outcome == "true")
        };
        let (mut hold, mut others) = all(true);
        if others.first().is_some_and(|schema| schema.outcome == "false") {
            return others;
        }
        let (conditions, mut broken) = all(false);
        if let Some(at) = broken.iter().position(|condition| condition.outcome == "false") {
            return vec![broken.swap_remove(at)];
        }
        others.append(&mut broken);
        hold.extend(conditions);
        if others.is_empty() { hold } else { others }
    }

    fn condition(&self, condition: &WrittenCondition) -> ExplainedCondition {
        let case = Case { program: self.program, question: self.question, given: self.given };
        let evaluator =
            Evaluator::new(self.program, self.question, &Everything, &Unwatched, ListPolicies::No);
        let attributes = reason::attributes(&case, condition.expr);
        let (outcome, why) = match (evaluator.truth(condition.expr), attributes) {
            (Ok(true), attributes) => ("true", attributes.unwrap_or_default()),
            (Ok(false), None) => ("false", String::new()),
            (Ok(false), Some(_)) => ("false", reason::why_false(&case, condition.expr)),
            (Err(fault), attributes) => {
                let attributes = attributes.map(|attributes| format!("; {attributes}"));
                ("error", format!("{}{}", fault.whole_message(), attributes.unwrap_or_default()))
            }
        };
        ExplainedCondition {
            place: self.place(condition.place),
            text: condition.text.to_string(),
            outcome,
            reason: why,
        }
    }

    fn place(&self, place: SourceLocation) -> String {
        match self.program.source(place.source) {
            Some(source) => format!("{source}:{}:{}", place.line, place.column),
            None => String::new(),
        }
    }

    /// How the votes of the children of a set came to its own; `None` for a set of XACML.
    fn combined(&self, id: NodeId, seen: &Seen) -> Option<String> {
        let durward_ir::program::Node::Set(set) = self.program.node(id) else { return None };
        let durward_ir::combine::Algorithm::Voting(voting) = set.algorithm else { return None };
        let votes: Vec<(&str, Verdict)> = set
            .children
            .iter()
            .filter_map(|child| {
                Some((self.program.node(*child).id().as_str(), self.seen.get(child)?.verdict))
            })
            .filter(|(_, verdict)| *verdict != Verdict::NotApplicable)
            .collect();
        Some(format!("{voting}: {}", result(voting, &votes, seen)))
    }
}

/// What the votes that are not NotApplicable came to.
fn result(voting: Voting, votes: &[(&str, Verdict)], seen: &Seen) -> String {
    let errors = match voting.errors {
        ErrorHandling::Abstain => "errors abstain",
        ErrorHandling::Propagate => "errors propagate",
    };
    let failed = votes.iter().filter(|(_, verdict)| !is_effect(*verdict));
    let failed = listed(failed.map(|(id, _)| format!("`{id}`")));
    match (seen.verdict, voting.default) {
        (verdict, Some(_)) if votes.is_empty() => {
            format!("nothing applies, and the default is {}", Outcome::from(verdict))
        }
        (_, _) if votes.is_empty() => "nothing applies, and there is no default".into(),
        (Verdict::NotApplicable | Verdict::Indeterminate(_), _) if failed.is_empty() => {
            format!("what applies does not agree, and {errors}")
        }
        (Verdict::NotApplicable | Verdict::Indeterminate(_), _) => format!("{failed} failed, and {errors}"),
        (verdict, _) => {
            let winners = votes.iter().filter(|(_, vote)| *vote == verdict).map(|(id, _)| format!("`{id}`"));
            let losers = votes.iter().filter(|(_, vote)| *vote != verdict);
            let losers = listed(losers.map(|(id, vote)| format!("`{id}` ({})", Outcome::from(*vote))));
            let winners = listed(winners);
            let over = if losers.is_empty() { String::new() } else { format!(", over {losers}") };
            format!("{} by {winners}{over}", Outcome::from(verdict))
        }
    }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    reason::list(items.collect())
}

const fn is_effect(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Permit | Verdict::Deny | Verdict::Suspend)
}
