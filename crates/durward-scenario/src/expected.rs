//! Expectations about a decision, and how one fails them.

use durward_pdp::Value;
use durward_pdp::sapl::syntax::Span;
use durward_pdp::sapl::syntax::sapltest::tree::{
    DecisionMatcher, DecisionName, DutyMatcher, Expectation, ExpectedDecision, ExpectedKind,
};
use durward_pdp::sapl::{Decision, Outcome};

use crate::error::{PlayError, TestError};
use crate::literal::{self, shown};
use crate::matcher::PartMatcher;

/// One decision that is expected, so many times.
#[derive(Debug)]
pub(crate) struct ExpectedStep {
    pub(crate) span: Span,
    pub(crate) times: u32,
    demands: Vec<DecisionDemand>,
}

#[derive(Debug)]
enum DecisionDemand {
    Anything,
    Outcome(Outcome),
    /// One of the obligations is so; any will do where nothing is said of it.
    Obligation(Option<PartMatcher>),
    Advice(Option<PartMatcher>),
    Resource(Option<PartMatcher>),
}

impl ExpectedStep {
    /// The steps of an expectation, in order.
    ///
    /// # Errors
    /// A value or a matcher that is none.
    pub(crate) fn all(expectation: &Expectation) -> Result<Vec<ExpectedStep>, TestError> {
        let step = |step: &durward_pdp::sapl::syntax::sapltest::tree::ExpectedStep| {
            let (demands, times) = match &step.kind {
                ExpectedKind::Decision(decision) => (whole(decision), 1),
                ExpectedKind::Times { decision, times } => {
                    (Ok(vec![DecisionDemand::Outcome(outcome(*decision))]), *times)
                }
                ExpectedKind::Matching(matchers) => (matchers.iter().map(demand).collect(), 1),
            };
            Ok(ExpectedStep { span: step.span, times, demands: demands.map_err(TestError::at(step.span))? })
        };
        expectation.steps.iter().map(step).collect()
    }

    /// What is amiss; `None` if the decision is as expected.
    pub(crate) fn amiss(&self, decision: &Decision) -> Option<String> {
        self.demands.iter().find_map(|demand| demand.amiss(decision))
    }
}

/// Whatever a decision has besides what is said does no harm.
fn whole(expected: &ExpectedDecision) -> Result<Vec<DecisionDemand>, PlayError> {
    let equal = |value: &_| literal::value(value).map(|value| Some(PartMatcher::Equal(value)));
    let mut demands = vec![DecisionDemand::Outcome(outcome(expected.decision))];
    for obligation in &expected.obligations {
        demands.push(DecisionDemand::Obligation(equal(obligation)?));
    }
    if let Some(resource) = &expected.resource {
        demands.push(DecisionDemand::Resource(equal(resource)?));
    }
    for advice in &expected.advice {
        demands.push(DecisionDemand::Advice(equal(advice)?));
    }
    Ok(demands)
}

fn demand(matcher: &DecisionMatcher) -> Result<DecisionDemand, PlayError> {
    let part = |matcher: &Option<DutyMatcher>| matcher.as_ref().map(PartMatcher::new).transpose();
    Ok(match matcher {
        DecisionMatcher::Any => DecisionDemand::Anything,
        DecisionMatcher::Is(name) => DecisionDemand::Outcome(outcome(*name)),
        DecisionMatcher::Obligation(matcher) => DecisionDemand::Obligation(part(matcher)?),
        DecisionMatcher::Advice(matcher) => DecisionDemand::Advice(part(matcher)?),
        DecisionMatcher::Resource(matcher) => DecisionDemand::Resource(part(matcher)?),
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

impl DecisionDemand {
    fn amiss(&self, decision: &Decision) -> Option<String> {
        match self {
            DecisionDemand::Anything => None,
            DecisionDemand::Outcome(outcome) => {
                (decision.outcome != *outcome).then(|| format!("it is {}, not {outcome}", decision.outcome))
            }
            DecisionDemand::Obligation(part) => among("obligation", part.as_ref(), decision.obligations()),
            DecisionDemand::Advice(part) => among("advice", part.as_ref(), decision.advice()),
            DecisionDemand::Resource(part) => match (decision.resource(), part) {
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
    part: Option<&PartMatcher>,
    mut values: impl ExactSizeIterator<Item = Value>,
) -> Option<String> {
    if values.len() == 0 {
        return Some(format!("it has no {what}"));
    }
    let found = values.any(|value| part.is_none_or(|part| part.matches(&value)));
    (!found).then(|| format!("it has no {what} that is {}", described(part)))
}

fn described(part: Option<&PartMatcher>) -> String {
    match part {
        None => "there".to_owned(),
        Some(PartMatcher::Equal(value)) => shown(value),
        Some(PartMatcher::Matching(_)) => "as expected".to_owned(),
        Some(PartMatcher::Containing { key, value: None }) => format!("an object with the key `{key}`"),
        Some(PartMatcher::Containing { key, value: Some(_) }) => {
            format!("an object with the key `{key}` and a value there as expected")
        }
    }
}
