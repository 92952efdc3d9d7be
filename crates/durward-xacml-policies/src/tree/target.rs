//! Targets: to which requests a policy or rule applies (XACML 3.0, sections 5.6 to 5.9).

use smol_str::SmolStr;

use super::{AttributeDesignator, AttributeSelector, AttributeValue, XmlLocation};

/// `Target`: all of these must hold; none means every request matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Where it is written.
    pub place: XmlLocation,
    /// `AnyOf`; XACML 1 and 2: one for each of `Subjects`, `Resources`, `Actions`, `Environments`.
    pub any_of: Vec<AnyOf>,
}

/// `AnyOf`: one of these must hold; there is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct AnyOf {
    /// Where it is written.
    pub place: XmlLocation,
    /// `AllOf`; XACML 1 and 2: one for each `Subject`, `Resource`, `Action`, `Environment`.
    pub all_of: Vec<AllOf>,
}

/// `AllOf`: all of these must hold; there is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct AllOf {
    /// Where it is written.
    pub place: XmlLocation,
    /// `Match`; XACML 1 and 2: `SubjectMatch`, `ResourceMatch`, `ActionMatch`, `EnvironmentMatch`.
    pub matches: Vec<Match>,
}

/// `Match`: the function must be true of the value and one of the attribute's values.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Where it is written.
    pub place: XmlLocation,
    /// `MatchId`.
    pub function: SmolStr,
    /// The first argument.
    pub value: AttributeValue,
    /// Where the second argument comes from.
    pub attribute: MatchAttribute,
}

/// The attribute side of a [`Match`].
#[derive(Clone, Debug, PartialEq)]
pub enum MatchAttribute {
    /// `AttributeDesignator`.
    Designator(AttributeDesignator),
    /// `AttributeSelector`.
    Selector(AttributeSelector),
}
