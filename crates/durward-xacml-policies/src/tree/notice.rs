//! Obligations and advice (XACML 3.0, sections 5.37 to 5.41).

use smol_str::SmolStr;

use super::{Effect, Expression, XmlLocation};

/// `ObligationExpression` or `AdviceExpression`: they differ only in which list they stand.
#[derive(Clone, Debug, PartialEq)]
pub struct NoticeExpression {
    /// Where it is written.
    pub place: XmlLocation,
    /// `ObligationId` or `AdviceId`.
    pub id: SmolStr,
    /// `FulfillOn` or `AppliesTo`.
    pub on: Effect,
    /// `AttributeAssignmentExpression`s, in order; there may be none. An `AttributeAssignment` of XACML 1 and 2
    /// is one whose expression is a value.
    pub assignments: Vec<AttributeAssignmentExpression>,
}

/// `AttributeAssignmentExpression`.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeAssignmentExpression {
    /// Where it is written.
    pub place: XmlLocation,
    /// `AttributeId`.
    pub id: SmolStr,
    /// `Category`.
    pub category: Option<SmolStr>,
    /// `Issuer`.
    pub issuer: Option<SmolStr>,
    /// What is assigned.
    pub expression: Expression,
}
