//! Parameters for combining algorithms (XACML 3.0, sections 5.16 to 5.20).

use smol_str::SmolStr;

use super::{AttributeValue, XmlLocation};

/// Parameters for a combining algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct CombinerParameters {
    /// Where they are written.
    pub place: XmlLocation,
    /// What they are about.
    pub about: ParametersAbout,
    /// The parameters, in order; there may be none.
    pub parameters: Vec<CombinerParameter>,
}

/// What combiner parameters are about.
#[derive(Clone, Debug, PartialEq)]
pub enum ParametersAbout {
    /// `CombinerParameters`: the combination as a whole.
    Algorithm,
    /// `RuleCombinerParameters`: the rule of this id.
    Rule(SmolStr),
    /// `PolicyCombinerParameters`: the policy of this id.
    Policy(SmolStr),
    /// `PolicySetCombinerParameters`: the policy set of this id.
    PolicySet(SmolStr),
}

/// `CombinerParameter`.
#[derive(Clone, Debug, PartialEq)]
pub struct CombinerParameter {
    /// Where it is written.
    pub place: XmlLocation,
    /// `ParameterName`.
    pub name: SmolStr,
    /// Its value.
    pub value: AttributeValue,
}
