//! The tree of a file of tests.
//!
//! Values in it are [`Expr`]s of literals only: arrays, objects, texts, numbers (perhaps with a sign before them),
//! booleans, `null` and `undefined`.

use smol_str::SmolStr;

use crate::syntax::Span;
use crate::syntax::tree::{Algorithm, Expr, FunctionName, Text};

/// One file.
#[derive(Clone, Debug, PartialEq)]
pub struct TestFile {
    /// The whole text.
    pub span: Span,
    /// Its requirements, in order; none only in a text with errors.
    pub requirements: Vec<Requirement>,
}

/// `requirement "name" { given ... scenario ... }`
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Where it is written.
    pub span: Span,
    /// Its name, unique in the file.
    pub name: Text,
    /// What holds for all its scenarios.
    pub given: Vec<Given>,
    /// Its scenarios, in order; none only in a text with errors.
    pub scenarios: Vec<Scenario>,
}

/// `scenario "name" given ... when ... expect ... then ... verify ...;`
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Where it is written, without the semicolon.
    pub span: Span,
    /// Its name, unique in the requirement.
    pub name: Text,
    /// What holds for this scenario, beside what its requirement says.
    pub given: Vec<Given>,
    /// The question.
    pub subscription: Subscription,
    /// What is decided at first.
    pub expectation: Expectation,
    /// What is decided after more has happened, in order.
    pub then: Vec<Then>,
    /// What must have been called.
    pub verify: Vec<Verification>,
}

/// One item of a `given`.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Where it is written, without its dash.
    pub span: Span,
    /// What is given.
    pub kind: GivenKind,
}

/// What is given.
#[derive(Clone, Debug, PartialEq)]
pub enum GivenKind {
    /// `document "name"`: this document alone, without combining.
    Document(Text),
    /// `documents "a", "b"`: these documents, combined.
    Documents(Vec<Text>),
    /// `priority deny or abstain errors propagate`: how documents are combined.
    Algorithm(Algorithm),
    /// `variables {...}`: an object.
    Variables(Expr),
    /// `secrets {...}`: an object.
    Secrets(Expr),
    /// `configuration "path"`: a folder with documents and `pdp.json`.
    Configuration(Text),
    /// `pdp-configuration "path"`: a `pdp.json`.
    PdpConfiguration(Text),
    /// `low-latency-mode true`
    LowLatencyMode(bool),
    /// `function library.name(...) maps to ...`
    Function(FunctionMock),
    /// `attribute "mock" <library.name> emits ...`
    Attribute(AttributeMock),
}

/// `function library.name(matcher, ...) maps to value`
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionMock {
    /// The function and the arguments it is replaced for.
    pub call: FunctionReference,
    /// What it gives.
    pub result: Outcome,
}

/// `library.name(matcher, ...)`
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionReference {
    /// The function.
    pub name: FunctionName,
    /// What its arguments must be; `None` without parentheses, which means the same as none at all.
    pub parameters: Option<Vec<Matcher>>,
}

/// `attribute "mock" entity.<library.name(matcher, ...)> emits value`
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeMock {
    /// The name by which a `then` speaks of it.
    pub id: Text,
    /// The attribute that is replaced.
    pub attribute: AttributeReference,
    /// Its first value, if it has one at once.
    pub emits: Option<Outcome>,
}

/// `entity.<library.name(matcher, ...)>`
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeReference {
    /// Where it is written.
    pub span: Span,
    /// What the entity must be; `None` for an attribute of the environment.
    pub entity: Option<Matcher>,
    /// The attribute.
    pub name: FunctionName,
    /// What its arguments must be; `None` without parentheses, which means the same as none at all.
    pub parameters: Option<Vec<Matcher>>,
}

/// What a function gives or an attribute emits.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A value.
    Value(Expr),
    /// `error`, `error("message")`
    Error(Option<Text>),
}

/// `when subject ... attempts action ... on resource ... in environment ... with secrets ...`
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    /// Where it is written.
    pub span: Span,
    /// The subject.
    pub subject: Expr,
    /// The action.
    pub action: Expr,
    /// The resource.
    pub resource: Expr,
    /// The environment: an object.
    pub environment: Option<Expr>,
    /// Secrets of the subscription: an object.
    pub secrets: Option<Expr>,
}

/// `then - attribute "mock" emits value expect ...`
#[derive(Clone, Debug, PartialEq)]
pub struct Then {
    /// Where it is written.
    pub span: Span,
    /// What happens, in order; at least one.
    pub emissions: Vec<Emission>,
    /// What is decided then.
    pub expectation: Expectation,
}

/// `attribute "mock" emits value`
#[derive(Clone, Debug, PartialEq)]
pub struct Emission {
    /// The name given to the attribute where it was replaced.
    pub id: Text,
    /// Its next value.
    pub value: Outcome,
}

/// `expect ...`
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Where it is written.
    pub span: Span,
    /// The decisions, in order; one unless they are listed with dashes.
    pub steps: Vec<ExpectedStep>,
}

/// One decision that is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedStep {
    /// Where it is written.
    pub span: Span,
    /// What it must be.
    pub kind: ExpectedKind,
}

/// What a decision must be.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedKind {
    /// `permit with obligations ... with resource ... with advice ...`: the decision has these, and perhaps more.
    Decision(ExpectedDecision),
    /// `permit once`, `permit 3 times`: so many decisions of this kind, one after the other.
    Times {
        /// The decision.
        decision: DecisionName,
        /// How often.
        times: u32,
    },
    /// `decision is permit, with obligation ...`: all of these hold.
    Matching(Vec<DecisionMatcher>),
}

/// A decision, and what it has at least.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedDecision {
    /// The decision.
    pub decision: DecisionName,
    /// Obligations it has.
    pub obligations: Vec<Expr>,
    /// What stands for the resource.
    pub resource: Option<Expr>,
    /// Advice it has.
    pub advice: Vec<Expr>,
}

/// A decision's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecisionName {
    /// `permit`
    Permit,
    /// `deny`
    Deny,
    /// `suspend`
    Suspend,
    /// `indeterminate`
    Indeterminate,
    /// `not-applicable`
    NotApplicable,
}

/// What holds for a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum DecisionMatcher {
    /// `any`
    Any,
    /// `is permit`
    Is(DecisionName),
    /// `with obligation ...`: there is one, and it is so.
    Obligation(Option<DutyMatcher>),
    /// `with advice ...`: there is some, and it is so.
    Advice(Option<DutyMatcher>),
    /// `with resource ...`: there is one, and it is so. Never [`DutyMatcher::Containing`].
    Resource(Option<DutyMatcher>),
}

/// What an obligation, advice or a resource must be.
#[derive(Clone, Debug, PartialEq)]
pub enum DutyMatcher {
    /// `equals value`
    Equals(Expr),
    /// `matching ...`
    Matching(NodeMatcher),
    /// `containing key "key" with value matching ...`
    Containing {
        /// The key it has.
        key: Text,
        /// What the value there is.
        value: Option<NodeMatcher>,
    },
}

/// What an argument or an entity must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Matcher {
    /// `any`
    Any,
    /// A value.
    Value(Expr),
    /// `matching ...`
    Matching(NodeMatcher),
}

/// What a value must be.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeMatcher {
    /// `null`
    Null,
    /// `text`, and which.
    Text(Option<TextMatcher>),
    /// `number`, and which, as written.
    Number(Option<SmolStr>),
    /// `boolean`, and which.
    Boolean(Option<bool>),
    /// `array where [...]`: for each of these an element of its own, wherever it stands.
    Array(Option<Vec<NodeMatcher>>),
    /// `object where { "key" is ... and ... }`
    Object(Option<Vec<MemberMatcher>>),
}

/// `"key" is matcher`
#[derive(Clone, Debug, PartialEq)]
pub struct MemberMatcher {
    /// The key.
    pub key: Text,
    /// What the value there is.
    pub value: NodeMatcher,
}

/// What a text must be.
#[derive(Clone, Debug, PartialEq)]
pub enum TextMatcher {
    /// `"text"`
    Is(Text),
    /// `null`
    Null,
    /// `blank`
    Blank,
    /// `empty`
    Empty,
    /// `null-or-empty`
    NullOrEmpty,
    /// `null-or-blank`
    NullOrBlank,
    /// `equal to "text" with compressed whitespace`
    EqualCompressed(Text),
    /// `equal to "text" case-insensitive`
    EqualIgnoringCase(Text),
    /// `with regex "pattern"`
    Regex(Text),
    /// `starting with "text"`
    Starting {
        /// The text.
        text: Text,
        /// `case-insensitive`
        ignoring_case: bool,
    },
    /// `ending with "text"`
    Ending {
        /// The text.
        text: Text,
        /// `case-insensitive`
        ignoring_case: bool,
    },
    /// `containing "text"`
    Containing {
        /// The text.
        text: Text,
        /// `case-insensitive`
        ignoring_case: bool,
    },
    /// `containing stream "a", "b" in order`
    InOrder(Vec<Text>),
    /// `with length 3`
    Length(u32),
}

/// `function ... is called once`, `attribute ... is called 3 times`
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// Where it is written, without its dash.
    pub span: Span,
    /// What is called.
    pub target: VerificationTarget,
    /// How often; 0 for `is never called`.
    pub times: u32,
}

/// What must have been called.
#[derive(Clone, Debug, PartialEq)]
pub enum VerificationTarget {
    /// `function library.name(matcher, ...)`
    Function(FunctionReference),
    /// `attribute entity.<library.name(matcher, ...)>`
    Attribute(AttributeReference),
}
