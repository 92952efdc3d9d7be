//! What a test expects of a decision, and what is amiss with one.

use durward_pdp::Value;
use durward_pdp::sapl::syntax::Span;
use durward_pdp::sapl::syntax::sapltest::tree::{
    DecisionMatcher, DecisionName, DutyMatcher, Expectation, ExpectedDecision, ExpectedKind,
};
use durward_pdp::sapl::{Decision, Outcome};

use crate::literal::{self, shown};
use crate::matcher::Part;
use crate::mocks::Mistake;

/// One decision that is expected, so many times.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) span: Span,
    pub(crate) times: u32,
    demands: Vec<Demand>,
}

#[derive(Debug)]
enum Demand {
    Anything,
    Outcome(Outcome),
    /// One of the obligations is so; any will do where nothing is said of it.
    Obligation(Option<Part>),
    Advice(Option<Part>),
    Resource(Option<Part>),
}

impl Step {
    /// The steps of an expectation, in order.
    ///
    /// # Errors
    /// A value or a matcher that is none.
    pub(crate) fn all(expectation: &Expectation) -> Result<Vec<Step>, Mistake> {
        let step = |step: &durward_pdp::sapl::syntax::sapltest::tree::ExpectedStep| {
            let (demands, times) = match &step.kind {
                ExpectedKind::Decision(decision) => (whole(decision), 1),
                ExpectedKind::Times { decision, times } => {
                    (Ok(vec![Demand::Outcome(outcome(*decision))]), *times)
                }
                ExpectedKind::Matching(matchers) => (matchers.iter().map(demand).collect(), 1),
            };
            Ok(Step { span: step.span, times, demands: demands.map_err(Mistake::at(step.span))? })
        };
        expectation.steps.iter().map(step).collect()
    }

    /// What is amiss; `None` if the decision is as expected.
    pub(crate) fn amiss(&self, decision: &Decision) -> Option<String> {
        self.demands.iter().find_map(|demand| demand.amiss(decision))
    }
}

/// Whatever a decision has besides what is said does no harm.
fn whole(expected: &ExpectedDecision) -> Result<Vec<Demand>, String> {
    let equal = |value: &_| literal::value(value).map(|value| Some(Part::Equal(value)));
    let mut demands = vec![Demand::Outcome(outcome(expected.decision))];
    for obligation in &expected.obligations {
        demands.push(Demand::Obligation(equal(obligation)?));
    }
    if let Some(resource) = &expected.resource {
        demands.push(Demand::Resource(equal(resource)?));
    }
    for advice in &expected.advice {
        demands.push(Demand::Advice(equal(advice)?));
    }
    Ok(demands)
}

fn demand(matcher: &DecisionMatcher) -> Result<Demand, String> {
    let part = |matcher: &Option<DutyMatcher>| matcher.as_ref().map(Part::new).transpose();
    Ok(match matcher {
        DecisionMatcher::Any => Demand::Anything,
        DecisionMatcher::Is(name) => Demand::Outcome(outcome(*name)),
        DecisionMatcher::Obligation(matcher) => Demand::Obligation(part(matcher)?),
        DecisionMatcher::Advice(matcher) => Demand::Advice(part(matcher)?),
        DecisionMatcher::Resource(matcher) => Demand::Resource(part(matcher)?),
    })
}

fn outcome(name: DecisionName) -> Outcome {
    match name {
        DecisionName::Permit => Outcome::Permit,
        DecisionName::Deny => Outcome::Deny,
        DecisionName::Suspend => Outcome::Suspend,
        DecisionName::Indeterminate => Outcome::Indeterminate,
        DecisionName::NotApplicable => Outcome::NotApplicable,
    }
}

impl Demand {
    fn amiss(&self, decision: &Decision) -> Option<String> {
        match self {
            Demand::Anything => None,
            Demand::Outcome(outcome) => {
                (decision.outcome != *outcome).then(|| format!("it is {}, not {outcome}", decision.outcome))
            }
            Demand::Obligation(part) => among("obligation", part.as_ref(), decision.obligations()),
            Demand::Advice(part) => among("advice", part.as_ref(), decision.advice()),
            Demand::Resource(part) => match (decision.resource(), part) {
                (None, _) => Some("it has no resource".to_owned()),
                (Some(resource), Some(part)) if !part.matches(resource) => {
                    Some(format!("its resource {} is not {}", shown(resource), described(Some(part))))
                }
                (Some(_), _) => None,
            },
        }
    }
}

fn among(
    what: &str,
    part: Option<&Part>,
    mut values: impl ExactSizeIterator<Item = Value>,
) -> Option<String> {
    if values.len() == 0 {
        return Some(format!("it has no {what}"));
    }
    let found = values.any(|value| part.is_none_or(|part| part.matches(&value)));
    (!found).then(|| format!("it has no {what} that is {}", described(part)))
}

fn described(part: Option<&Part>) -> String {
    match part {
        None => "there".to_owned(),
        Some(Part::Equal(value)) => shown(value),
        Some(Part::Matching(_)) => "as expected".to_owned(),
        Some(Part::Containing { key, value: None }) => format!("an object with the key `{key}`"),
        Some(Part::Containing { key, value: Some(_) }) => {
            format!("an object with the key `{key}` and a value there as expected")
        }
    }
}
