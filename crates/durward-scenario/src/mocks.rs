//! Mocks of functions and attributes in one scenario.

use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::question::Invocation;
use durward_pdp::sapl::syntax::sapltest::tree;
use durward_pdp::sapl::syntax::tree::FunctionName;
use smol_str::SmolStr;

use crate::error::PlayError;
use crate::literal;
use crate::matcher::ArgumentMatcher;

/// How many calls of functions one scenario may verify: a policy can call a function in a loop, and each call is kept
/// with its arguments.
pub const CALLS_MAX: usize = 10_000;

/// How many different attributes one scenario may ask for: each is kept to recognize it again.
pub const ATTRIBUTES_MAX: usize = 1_000;

/// How many functions and attributes one scenario may mock, and how many it may verify: every call is compared with
/// all of them.
pub const STAND_INS_MAX: usize = 1_000;

/// The name with dots: `time.now`.
pub(crate) fn full_name(name: &FunctionName) -> SmolStr {
    let segments: Vec<&str> = name.segments.iter().map(|segment| segment.text.as_str()).collect();
    segments.join(".").into()
}

/// A function with certain arguments.
#[derive(Clone, Debug)]
pub(crate) struct FunctionPattern {
    pub(crate) name: SmolStr,
    arguments: Vec<ArgumentMatcher>,
}

impl FunctionPattern {
    pub(crate) fn new(reference: &tree::FunctionReference) -> Result<FunctionPattern, PlayError> {
        let arguments = ArgumentMatcher::all(reference.parameters.as_ref())?;
        Ok(FunctionPattern { name: full_name(&reference.name), arguments })
    }

    /// How well it fits a call; `None` where it does not.
    pub(crate) fn fits(&self, name: &str, arguments: &[Value]) -> Option<u64> {
        if self.name == name { fits(&self.arguments, arguments) } else { None }
    }
}

/// An attribute with certain arguments, perhaps of a certain entity.
#[derive(Clone, Debug)]
pub(crate) struct AttributePattern {
    pub(crate) name: SmolStr,
    entity: Option<ArgumentMatcher>,
    arguments: Vec<ArgumentMatcher>,
}

impl AttributePattern {
    pub(crate) fn new(reference: &tree::AttributeReference) -> Result<AttributePattern, PlayError> {
        Ok(AttributePattern {
            name: full_name(&reference.name),
            entity: reference.entity.as_ref().map(ArgumentMatcher::new).transpose()?,
            arguments: ArgumentMatcher::all(reference.parameters.as_ref())?,
        })
    }

    /// How well it fits; `None` where it does not.
    pub(crate) fn fits(&self, invocation: &Invocation) -> Option<u64> {
        if self.name != invocation.name {
            return None;
        }
        let entity = match (&self.entity, &invocation.entity) {
            (None, None) => 0,
            (Some(argument), Some(entity)) if argument.matches(entity) => argument.specificity(),
            (Some(_), Some(_)) | (Some(_), None) | (None, Some(_)) => return None,
        };
        Some(entity + fits(&self.arguments, &invocation.arguments)?)
    }
}

/// As many arguments, and each as it must be.
fn fits(patterns: &[ArgumentMatcher], arguments: &[Value]) -> Option<u64> {
    let fit = patterns.len() == arguments.len()
        && patterns.iter().zip(arguments).all(|(pattern, argument)| pattern.matches(argument));
    fit.then(|| patterns.iter().map(ArgumentMatcher::specificity).sum())
}

/// What stands in for a function.
#[derive(Clone, Debug)]
pub(crate) struct FunctionMock {
    pub(crate) call: FunctionPattern,
    pub(crate) result: Evaluated<Value>,
}

impl FunctionMock {
    pub(crate) fn new(mock: &tree::FunctionMock) -> Result<FunctionMock, PlayError> {
        let result = outcome(&mock.result, "the function of the test fails")?;
        Ok(FunctionMock { call: FunctionPattern::new(&mock.call)?, result })
    }
}

/// What stands in for an attribute.
#[derive(Clone, Debug)]
pub(crate) struct AttributeMock {
    pub(crate) id: SmolStr,
    pub(crate) attribute: AttributePattern,
    /// Its value now; `None` where it has none yet.
    pub(crate) value: Option<Evaluated<Value>>,
}

impl AttributeMock {
    pub(crate) fn new(mock: &tree::AttributeMock) -> Result<AttributeMock, PlayError> {
        let value = mock.emits.as_ref().map(emitted).transpose()?;
        Ok(AttributeMock {
            id: mock.id.text.clone(),
            attribute: AttributePattern::new(&mock.attribute)?,
            value,
        })
    }
}

/// What an attribute emits.
pub(crate) fn emitted(emitted: &tree::Outcome) -> Result<Evaluated<Value>, PlayError> {
    outcome(emitted, "the attribute of the test fails")
}

fn outcome(outcome: &tree::Outcome, unsaid: &str) -> Result<Evaluated<Value>, PlayError> {
    match outcome {
        tree::Outcome::Value(value) => literal::value(value).map(Ok),
        tree::Outcome::Error(message) => {
            Ok(Err(Fault::processing(message.as_ref().map_or(unsaid, |message| message.text.as_str()))))
        }
    }
}

/// The one that fits best; of several that fit as well, the first.
pub(crate) fn best<T>(all: &[T], fits: impl Fn(&T) -> Option<u64>) -> Option<usize> {
    let mut best: Option<(usize, u64)> = None;
    for (at, one) in all.iter().enumerate() {
        if let Some(fit) = fits(one)
            && best.is_none_or(|(_, other)| fit > other)
        {
            best = Some((at, fit));
        }
    }
    best.map(|(at, _)| at)
}
