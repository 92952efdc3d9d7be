//! Who issued a policy (XACML 3.0, section 5.3; administration and delegation profile).

use std::sync::Arc;

use smol_str::SmolStr;

use super::{AttributeValue, NamespaceScope, XmlLocation};

/// `PolicyIssuer` (XACML 3.0, section 5.3).
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyIssuer {
    /// Where it is written.
    pub place: XmlLocation,
    /// `Content`.
    pub content: Option<Markup>,
    /// `Attribute`s, in order.
    pub attributes: Vec<IssuerAttribute>,
}

/// Free XML, kept as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Markup {
    /// Where the element that holds it begins.
    pub place: XmlLocation,
    /// The text between the start tag and the end tag; it is well-formed and holds one root element.
    pub text: Box<str>,
    /// The namespace prefixes in scope around it.
    pub scope: Arc<NamespaceScope>,
}

/// `Attribute` of a policy issuer.
#[derive(Clone, Debug, PartialEq)]
pub struct IssuerAttribute {
    /// Where it is written.
    pub place: XmlLocation,
    /// `AttributeId`.
    pub id: SmolStr,
    /// `Issuer`.
    pub issuer: Option<SmolStr>,
    /// `IncludeInResult`.
    pub include_in_result: bool,
    /// Its values; there is at least one.
    pub values: Vec<AttributeValue>,
}
