//! Policies that both languages can say: tests of attributes, effects, and sets whose first answer counts.
//!
//! Names and values are made by the scenarios, of letters, digits, `-`, `_`, `.` and `/`: nothing has to be escaped.

/// What an attribute is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    Subject,
    Resource,
    Action,
    Environment,
}

/// An attribute of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) category: Category,
    /// The key of the object; empty for the whole value.
    pub(super) key: &'static str,
}

/// A condition.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// The attribute is one of these.
    IsOneOf(Attribute, Vec<String>),
    /// The attribute has several values, and one of them is one of these.
    HasOneOf(Attribute, Vec<String>),
    /// The attribute is a number and at least this.
    AtLeast(Attribute, usize),
    /// The attribute is a number, at least the first and below the second.
    IsWithin(Attribute, usize, usize),
    /// The attribute is a text that begins with this.
    StartsWith(Attribute, String),
    /// Both are numbers, and the first is greater.
    IsAbove(Attribute, Attribute),
    /// Who asks belongs to this: by the graph of who belongs to what in SAPL, by an attribute in XACML.
    IsMemberOf(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Permit,
    Deny,
}

/// A condition for an effect: all of its tests.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) effect: Effect,
    pub(super) tests: Vec<Test>,
    /// The policy that is to be logged where the rule permits.
    pub(super) log: Option<String>,
}

/// A document.
#[derive(Clone, Debug)]
pub(super) enum Document {
    Policy(Rule),
    /// Where `target` holds, the first rule that applies.
    Set {
        name: String,
        target: Test,
        rules: Vec<Rule>,
    },
}

impl Attribute {
    pub(super) const fn of(category: Category, key: &'static str) -> Attribute {
        Attribute { category, key }
    }
}
