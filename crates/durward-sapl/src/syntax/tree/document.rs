//! Documents: imports, schemas, and one policy or one set of policies.

use super::{Expr, Name, Span, Text};

/// One document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The whole text.
    pub span: Span,
    /// `import ...`, in order.
    pub imports: Vec<Import>,
    /// `subject schema ...`, in order. They belong to the whole document, also when it is a set.
    pub schemas: Vec<SchemaStatement>,
    /// The policy or the set; `None` only in a text with errors.
    pub root: Option<Root>,
}

/// What a document holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Root {
    /// One policy.
    Policy(Policy),
    /// One set of policies.
    Set(PolicySet),
}

/// `import library.function as alias`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Where it is written.
    pub span: Span,
    /// All segments but the last; at least one. Only a library of one segment names anything there is.
    pub library: Vec<Name>,
    /// The last segment: the function or attribute.
    pub function: Name,
    /// The name it gets in this document; its own if there is none.
    pub alias: Option<Name>,
}

/// `subject enforced schema {...}`.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaStatement {
    /// Where it is written.
    pub span: Span,
    /// Which part of the subscription it is about.
    pub element: Element,
    /// Whether the document applies only to subscriptions that comply.
    pub enforced: bool,
    /// The schema.
    pub schema: Expr,
}

/// A part of the subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// `subject`
    Subject,
    /// `action`
    Action,
    /// `resource`
    Resource,
    /// `environment`
    Environment,
}

/// `set "name" algorithm for target var ...; policy ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySet {
    /// Where it is written.
    pub span: Span,
    /// Its name.
    pub name: Text,
    /// How the votes of its policies are combined.
    pub algorithm: Algorithm,
    /// `for ...`: whether it applies; always if there is none.
    pub target: Option<Expr>,
    /// Its variables, seen by all its policies, in order.
    pub variables: Vec<Variable>,
    /// Its policies, in order; none only in a text with errors.
    pub policies: Vec<Policy>,
}

/// `priority deny or abstain errors propagate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Where it is written.
    pub span: Span,
    /// How votes are combined.
    pub mode: Mode,
    /// What holds if no policy applies.
    pub default: DefaultDecision,
    /// What becomes of errors; `None` if that is not written, which means the same as `abstain`.
    pub errors: Option<ErrorHandling>,
}

/// How the votes of policies are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `first`
    First,
    /// `priority deny`
    PriorityDeny,
    /// `priority permit`
    PriorityPermit,
    /// `priority suspend`
    PrioritySuspend,
    /// `unanimous`
    Unanimous,
    /// `unanimous strict`
    UnanimousStrict,
    /// `unique`
    Unique,
}

/// What is decided if no policy applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefaultDecision {
    /// `deny`
    Deny,
    /// `abstain`: not applicable.
    Abstain,
    /// `permit`
    Permit,
    /// `suspend`
    Suspend,
}

/// What becomes of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorHandling {
    /// `abstain`: not applicable.
    Abstain,
    /// `propagate`: indeterminate.
    Propagate,
}

/// `policy "name" permit ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Where it is written.
    pub span: Span,
    /// Its name.
    pub name: Text,
    /// What it says if it applies.
    pub effect: Effect,
    /// Conditions and variables, in order.
    pub body: Vec<Statement>,
    /// `obligation ...`, in order.
    pub obligations: Vec<Expr>,
    /// `advice ...`, in order.
    pub advice: Vec<Expr>,
    /// `transform ...`: what stands for the resource.
    pub transform: Option<Expr>,
}

/// What a policy says if it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// `permit`
    Permit,
    /// `deny`
    Deny,
    /// `suspend`
    Suspend,
}

/// One statement of a policy's body; its semicolon is not part of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A variable, seen by what follows.
    Variable(Variable),
    /// A condition: the policy applies if all of its conditions are true.
    Condition(Expr),
}

/// `var name = value schema ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Where it is written, without the semicolon.
    pub span: Span,
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Expr,
    /// `schema ...`: hints for editors, without effect on a decision.
    pub schemas: Vec<Expr>,
}
