//! The tree of a policy document: what was written, in the shape of XACML 3.0, each part with its place.
//!
//! XACML 1.0, 1.1 and 2.0 are read into the same tree, so whatever comes after knows one form only. Identifiers
//! and values are text here: whether a function exists and a value fits its type is found when the tree is
//! lowered. Equal identifiers share their memory.

mod combiner;
mod effect;
mod expression;
mod issuer;
mod location;
mod notice;
mod reference;
mod target;
mod version;

use std::fmt;

use smol_str::SmolStr;

pub use combiner::{CombinerParameter, CombinerParameters, ParametersAbout};
pub use effect::Effect;
pub use expression::{
    Apply, AttributeDesignator, AttributeSelector, AttributeValue, Expression, Function, SelectorBase,
    VariableReference, XmlAttribute,
};
pub use issuer::{IssuerAttribute, Markup, PolicyIssuer};
pub use location::{NamespaceScope, XmlLocation};
pub use notice::{AttributeAssignmentExpression, NoticeExpression};
pub use reference::IdReference;
pub use target::{AllOf, AnyOf, Match, MatchAttribute, Target};
pub use version::{Version, VersionError, VersionPattern};

/// One policy document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The name the caller gave it: a file name, an address.
    pub source: SmolStr,
    /// The version of the standard it was written in.
    pub written_in: Standard,
    /// Its root element.
    pub root: PolicyOrSet,
}

/// A version of the XACML standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standard {
    /// XACML 1.0 and 1.1: they share one namespace.
    Xacml1,
    /// XACML 2.0.
    Xacml2,
    /// XACML 3.0.
    Xacml3,
}

/// A policy or a policy set.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyOrSet {
    /// `Policy`.
    Policy(Box<Policy>),
    /// `PolicySet`.
    PolicySet(Box<PolicySet>),
}

/// `PolicySet` (XACML 3.0, section 5.1).
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySet {
    /// Where it is written.
    pub place: XmlLocation,
    /// `PolicySetId`.
    pub id: SmolStr,
    /// `Version`; 1.0 where XACML 1 and 2 leave it out.
    pub version: Version,
    /// `PolicyCombiningAlgId`.
    pub combining_algorithm: SmolStr,
    /// `MaxDelegationDepth`.
    pub max_delegation_depth: Option<i64>,
    /// What the author says about it.
    pub description: Option<SmolStr>,
    /// `PolicyIssuer`; `None` is the trusted issuer.
    pub issuer: Option<PolicyIssuer>,
    /// `PolicySetDefaults/XPathVersion`.
    pub xpath_version: Option<SmolStr>,
    /// `Target`.
    pub target: Target,
    /// Policies, policy sets and references to them, in the order written.
    pub children: Vec<PolicySetChild>,
    /// `CombinerParameters`, `PolicyCombinerParameters` and `PolicySetCombinerParameters`, in order.
    pub combiner_parameters: Vec<CombinerParameters>,
    /// `ObligationExpressions`.
    pub obligations: Vec<NoticeExpression>,
    /// `AdviceExpressions`.
    pub advice: Vec<NoticeExpression>,
}

/// What a policy set combines.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicySetChild {
    /// A policy written in place.
    Policy(Box<Policy>),
    /// A policy set written in place.
    PolicySet(Box<PolicySet>),
    /// `PolicyIdReference`.
    PolicyReference(IdReference),
    /// `PolicySetIdReference`.
    PolicySetReference(IdReference),
}

/// `Policy` (XACML 3.0, section 5.14).
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Where it is written.
    pub place: XmlLocation,
    /// `PolicyId`.
    pub id: SmolStr,
    /// `Version`; 1.0 where XACML 1 and 2 leave it out.
    pub version: Version,
    /// `RuleCombiningAlgId`.
    pub combining_algorithm: SmolStr,
    /// `MaxDelegationDepth`.
    pub max_delegation_depth: Option<i64>,
    /// What the author says about it.
    pub description: Option<SmolStr>,
    /// `PolicyIssuer`; `None` is the trusted issuer.
    pub issuer: Option<PolicyIssuer>,
    /// `PolicyDefaults/XPathVersion`.
    pub xpath_version: Option<SmolStr>,
    /// `Target`.
    pub target: Target,
    /// `VariableDefinition`s, in order; their names are unique. References may stand before definitions.
    pub variables: Vec<VariableDefinition>,
    /// `Rule`s, in order; there may be none.
    pub rules: Vec<Rule>,
    /// `CombinerParameters` and `RuleCombinerParameters`, in order.
    pub combiner_parameters: Vec<CombinerParameters>,
    /// `ObligationExpressions`.
    pub obligations: Vec<NoticeExpression>,
    /// `AdviceExpressions`.
    pub advice: Vec<NoticeExpression>,
}

/// `Rule` (XACML 3.0, section 5.21).
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Where it is written.
    pub place: XmlLocation,
    /// `RuleId`. The standard asks for no uniqueness.
    pub id: SmolStr,
    /// `Effect`.
    pub effect: Effect,
    /// What the author says about it.
    pub description: Option<SmolStr>,
    /// `Target`; without one the rule has the target of its policy.
    pub target: Option<Target>,
    /// `Condition`; without one the rule holds wherever its target matches. Boxed, for most rules have none, and large
    /// documents consist of rules.
    pub condition: Option<Box<Condition>>,
    /// `ObligationExpressions`.
    pub obligations: Vec<NoticeExpression>,
    /// `AdviceExpressions`.
    pub advice: Vec<NoticeExpression>,
}

/// `Condition`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Where it is written.
    pub place: XmlLocation,
    /// The expression, to be of type boolean.
    pub expression: Expression,
}

/// `VariableDefinition`.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableDefinition {
    /// Where it is written.
    pub place: XmlLocation,
    /// `VariableId`.
    pub id: SmolStr,
    /// What it stands for.
    pub expression: Expression,
}

impl Standard {
    /// The version whose policies are written in this namespace.
    pub fn of_namespace(uri: &str) -> Option<Standard> {
        match uri {
            "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" => Some(Standard::Xacml3),
            "urn:oasis:names:tc:xacml:2.0:policy:schema:os" => Some(Standard::Xacml2),
            "urn:oasis:names:tc:xacml:1.0:policy" => Some(Standard::Xacml1),
            _ => None,
        }
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Standard::Xacml1 => "XACML 1",
            Standard::Xacml2 => "XACML 2.0",
            Standard::Xacml3 => "XACML 3.0",
        })
    }
}

impl PolicyOrSet {
    /// `PolicyId` or `PolicySetId`.
    pub fn id(&self) -> &SmolStr {
        match self {
            PolicyOrSet::Policy(policy) => &policy.id,
            PolicyOrSet::PolicySet(set) => &set.id,
        }
    }

    /// Its version.
    pub fn version(&self) -> &Version {
        match self {
            PolicyOrSet::Policy(policy) => &policy.version,
            PolicyOrSet::PolicySet(set) => &set.version,
        }
    }
}

impl PolicySetChild {
    /// Where it is written.
    pub fn place(&self) -> XmlLocation {
        match self {
            PolicySetChild::Policy(policy) => policy.place,
            PolicySetChild::PolicySet(set) => set.place,
            PolicySetChild::PolicyReference(reference) => reference.place,
            PolicySetChild::PolicySetReference(reference) => reference.place,
        }
    }
}
