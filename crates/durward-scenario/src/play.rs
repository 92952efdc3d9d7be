//! Playing one scenario: the question, what happens, and whether the decisions that come are those expected.

use std::collections::{HashSet, VecDeque};

use durward_pdp::Value;
use durward_pdp::sapl::Subscription;
use durward_pdp::sapl::syntax::Span;
use durward_pdp::sapl::syntax::sapltest::tree::{
    Emission, Expectation, Scenario, Verification, VerificationTarget,
};
use durward_pdp::sapl::syntax::tree::Expr;
use smol_str::SmolStr;

use crate::coverage::PolicyCoverage;
use crate::documents::TestDocuments;
use crate::error::TestError;
use crate::expected::ExpectedStep;
use crate::given::{AttributeSubscription, ScenarioSetup};
use crate::literal::{self, cut, shown};
use crate::mocks::{AttributePattern, FunctionPattern, STAND_INS_MAX, emitted};
use crate::observe::{LoweredCache, LoweredDocuments, ObservedDecision};
use crate::world::ScenarioWorld;

/// An expectation that failed, and its location.
#[derive(Debug)]
pub(crate) struct ExpectationFailure {
    pub(crate) span: Span,
    pub(crate) message: String,
}

/// Plays a scenario.
///
/// # Errors
/// The scenario makes no sense, or its documents do not.
pub(crate) fn play(
    text: &str,
    scenario: &Scenario,
    setting: ScenarioSetup,
    documents: &TestDocuments,
    stages: &mut LoweredCache,
    coverage: &mut PolicyCoverage,
) -> Result<Option<ExpectationFailure>, TestError> {
    let (functions, attributes) = verified(&scenario.verify)?;
    let names: Vec<SmolStr> = functions.iter().map(|(_, pattern)| pattern.name.clone()).collect();
    let mocked = setting.functions.iter().map(|mock| mock.call.name.clone());
    let stand_ins: HashSet<SmolStr> = mocked.chain(names.iter().cloned()).collect();
    let stage =
        stages.get(&setting, documents, stand_ins, coverage).map_err(TestError::at(scenario.name.span))?;
    let world = ScenarioWorld::new(subscription(scenario)?, setting.functions, setting.attributes, names);
    let subscribing = setting.subscribing;
    let mut playing = ScenarioRun { text, stage, world, subscribing, coverage, decisions: VecDeque::new() };
    for emission in scenario.then.iter().flat_map(|then| &then.emissions) {
        playing.number(emission)?;
    }
    playing.decide();
    if let Some(failure) = playing.expect(&scenario.expectation)? {
        return Ok(Some(failure));
    }
    for then in &scenario.then {
        for emission in &then.emissions {
            playing.emit(emission)?;
        }
        if let Some(failure) = playing.expect(&then.expectation)? {
            return Ok(Some(failure));
        }
    }
    let calls = functions.iter().find_map(|(wanted, pattern)| playing.function_calls(wanted, pattern));
    Ok(calls
        .or_else(|| attributes.iter().find_map(|(wanted, pattern)| playing.attribute_calls(wanted, pattern))))
}

fn subscription(scenario: &Scenario) -> Result<Subscription, TestError> {
    let asked = &scenario.subscription;
    let read = |value: &Expr| literal::value(value).map_err(TestError::at(value.span));
    let maybe = |value: &Option<Expr>| value.as_ref().map_or(Ok(Value::Undefined), read);
    let (subject, action, resource) = (read(&asked.subject)?, read(&asked.action)?, read(&asked.resource)?);
    let subscription = Subscription::new(subject, action, resource, maybe(&asked.environment)?);
    Ok(subscription.with_secrets(maybe(&asked.secrets)?))
}

type MockedFunctions<'t> = Vec<(&'t Verification, FunctionPattern)>;
type MockedAttributes<'t> = Vec<(&'t Verification, AttributePattern)>;

fn verified(verify: &[Verification]) -> Result<(MockedFunctions<'_>, MockedAttributes<'_>), TestError> {
    if let Some(beyond) = verify.get(STAND_INS_MAX) {
        let message = format!("a scenario verifies at most {STAND_INS_MAX} functions and attributes");
        return Err(TestError::at(beyond.span)(message));
    }
    let (mut functions, mut attributes) = (Vec::new(), Vec::new());
    for wanted in verify {
        let mistake = TestError::at(wanted.span);
        match &wanted.target {
            VerificationTarget::Function(call) => {
                functions.push((wanted, FunctionPattern::new(call).map_err(mistake)?));
            }
            VerificationTarget::Attribute(attribute) => {
                attributes.push((wanted, AttributePattern::new(attribute).map_err(mistake)?));
            }
        }
    }
    Ok((functions, attributes))
}

struct ScenarioRun<'a> {
    /// The text of the test.
    text: &'a str,
    stage: &'a LoweredDocuments,
    world: ScenarioWorld,
    subscribing: AttributeSubscription,
    coverage: &'a mut PolicyCoverage,
    /// The decisions that came and were not expected yet.
    decisions: VecDeque<ObservedDecision>,
}

impl ScenarioRun<'_> {
    fn decide(&mut self) {
        self.decisions.extend(self.stage.decide(&self.world, self.subscribing, self.coverage));
    }

    /// An attribute emits: there is a new decision, perhaps the same as before, if the policies asked for it.
    fn emit(&mut self, emission: &Emission) -> Result<(), TestError> {
        let number = self.number(emission)?;
        let value = emitted(&emission.value).map_err(TestError::at(emission.id.span))?;
        if self.world.emit(number, value) {
            self.decide();
        }
        Ok(())
    }

    /// The attribute that emits.
    fn number(&self, emission: &Emission) -> Result<usize, TestError> {
        self.world.attribute(&emission.id.text).ok_or_else(|| {
            let known: Vec<String> = self.world.attribute_ids().map(|id| format!("`{id}`")).collect();
            let known = match known.as_slice() {
                [] => "none is given".to_owned(),
                known => format!("there are {}", known.join(", ")),
            };
            TestError::at(emission.id.span)(format!("no attribute is called `{}`; {known}", emission.id.text))
        })
    }

    /// A single decision is held against the last that came, as whoever is slow sees only that; several against those that
    /// came, one after the other.
    fn expect(&mut self, expectation: &Expectation) -> Result<Option<ExpectationFailure>, TestError> {
        let steps = ExpectedStep::all(expectation)?;
        if let [ExpectedStep { times: 1, .. }] = steps.as_slice() {
            self.decisions.drain(..self.decisions.len().saturating_sub(1));
        }
        for step in &steps {
            for _ in 0..step.times {
                let Some(came) = self.decisions.pop_front() else { return Ok(Some(self.nothing(step.span))) };
                if let Some(amiss) = step.amiss(&came.decision) {
                    return Ok(Some(self.other(step.span, &came, &amiss)));
                }
            }
        }
        Ok(None)
    }

    fn nothing(&self, span: Span) -> ExpectationFailure {
        let silent = self.world.silent();
        let why = if silent.is_empty() {
            "nothing happened that the policies asked for".to_owned()
        } else {
            format!("no value was emitted for {}", quoted(&silent, ""))
        };
        ExpectationFailure {
            span,
            message: format!("expected: {}\ncame: no further decision; {why}", self.words(span)),
        }
    }

    fn other(&self, span: Span, came: &ObservedDecision, amiss: &str) -> ExpectationFailure {
        let json = cut(&came.decision.to_json());
        let mut message = format!("expected: {}\ncame: {json}; {amiss}", self.words(span));
        if let Some(reason) = &came.reason {
            message.push_str(&format!("\nbecause: {}", cut(reason)));
        }
        let unknown = self.world.unknown();
        if !unknown.is_empty() {
            let names = quoted(&unknown, "attribute ");
            message.push_str(&format!("\nnote: the test says nothing about {names}: undefined"));
        }
        ExpectationFailure { span, message }
    }

    /// What the test says there, in one line.
    fn words(&self, span: Span) -> String {
        cut(&span.text(self.text).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn function_calls(&self, wanted: &Verification, pattern: &FunctionPattern) -> Option<ExpectationFailure> {
        let calls = self.world.calls();
        let of_name: Vec<_> = calls.iter().filter(|call| call.name == pattern.name).collect();
        let fit = |call: &&&crate::world::FunctionCall| pattern.fits(&call.name, &call.arguments).is_some();
        let count = of_name.iter().filter(fit).count();
        let calls = of_name.iter().map(|call| format!("{}({})", call.name, list(&call.arguments)));
        self.miscounted(wanted, count, calls.collect())
    }

    fn attribute_calls(
        &self,
        wanted: &Verification,
        pattern: &AttributePattern,
    ) -> Option<ExpectationFailure> {
        let asked = self.world.asked();
        let of_name: Vec<_> = asked.iter().filter(|one| one.name == pattern.name).collect();
        let count = of_name.iter().filter(|one| pattern.fits(one).is_some()).count();
        let calls = of_name.iter().map(|one| {
            let entity = one.entity.as_ref().map(|entity| shown(entity) + ".").unwrap_or_default();
            format!("{entity}<{}({})>", one.name, list(&one.arguments))
        });
        self.miscounted(wanted, count, calls.collect())
    }

    fn miscounted(
        &self,
        wanted: &Verification,
        count: usize,
        calls: Vec<String>,
    ) -> Option<ExpectationFailure> {
        const SHOWN_MAX: usize = 5;
        if count == wanted.times as usize {
            return None;
        }
        let times = match count {
            0 => "never".to_owned(),
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let mut message = format!("expected: {}\ncame: it was called {times}", self.words(wanted.span));
        for call in calls.iter().take(SHOWN_MAX) {
            message.push_str(&format!("\ncall: {}", cut(call)));
        }
        if calls.len() > SHOWN_MAX {
            message.push_str(&format!("\nand {} more calls", calls.len() - SHOWN_MAX));
        }
        Some(ExpectationFailure { span: wanted.span, message })
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn quoted(names: &[SmolStr], what: &str) -> String {
    names.iter().map(|name| format!("{what}`{name}`")).collect::<Vec<_>>().join(", ")
}
