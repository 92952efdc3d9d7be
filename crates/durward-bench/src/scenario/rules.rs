//! Policies that both languages can say: tests of attributes, effects, and sets whose first answer counts.
//!
//! Names and values are made by the scenarios, of letters, digits, `-`, `_`, `.` and `/`: nothing has to be escaped.

/// What an attribute is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleCategory {
    Subject,
    Resource,
    Action,
    Environment,
}

/// An attribute of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuleAttribute {
    pub(super) category: RuleCategory,
    /// The key of the object; empty for the whole value.
    pub(super) key: &'static str,
}

/// A condition.
#[derive(Clone, Debug)]
pub(super) enum RuleTest {
    /// The attribute is one of these.
    IsOneOf(RuleAttribute, Vec<String>),
    /// The attribute has several values, and one of them is one of these.
    HasOneOf(RuleAttribute, Vec<String>),
    /// The attribute is a number and at least this.
    AtLeast(RuleAttribute, usize),
    /// The attribute is a number, at least the first and below the second.
    IsWithin(RuleAttribute, usize, usize),
    /// The attribute is a text that begins with this.
    StartsWith(RuleAttribute, String),
    /// Both are numbers, and the first is greater.
    IsAbove(RuleAttribute, RuleAttribute),
    /// Who asks belongs to this: by the graph of who belongs to what in SAPL, by an attribute in XACML.
    IsMemberOf(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleEffect {
    Permit,
    Deny,
}

/// A condition for an effect: all of its tests.
#[derive(Clone, Debug)]
pub(super) struct ScenarioRule {
    pub(super) name: String,
    pub(super) effect: RuleEffect,
    pub(super) tests: Vec<RuleTest>,
    /// The policy that is to be logged where the rule permits.
    pub(super) log: Option<String>,
}

/// A document.
#[derive(Clone, Debug)]
pub(super) enum RuleDocument {
    Policy(ScenarioRule),
    /// Where `target` holds, the first rule that applies.
    Set {
        name: String,
        target: RuleTest,
        rules: Vec<ScenarioRule>,
    },
}

impl RuleAttribute {
    pub(super) const fn of(category: RuleCategory, key: &'static str) -> RuleAttribute {
        RuleAttribute { category, key }
    }
}
