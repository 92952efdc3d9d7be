//! Expressions: what conditions, variables, matches and assignments are made of (XACML 3.0, 5.24 to 5.31).

use std::sync::Arc;

use smol_str::SmolStr;

use super::{NamespaceScope, XmlLocation};

/// One expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `Apply`: a function and its arguments.
    Apply(Apply),
    /// `AttributeValue`: a literal.
    Value(AttributeValue),
    /// `AttributeDesignator`: the bag of an attribute's values.
    Designator(AttributeDesignator),
    /// `AttributeSelector`: the bag of values an XPath finds in a content document.
    Selector(AttributeSelector),
    /// `VariableReference`.
    Variable(VariableReference),
    /// `Function`: the name of a function, as an argument of a higher-order one.
    Function(Function),
}

/// `Apply`. Arguments may be none; whether the function takes them is for the lowering to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply {
    /// Where it is written.
    pub place: XmlLocation,
    /// `FunctionId`.
    pub function: SmolStr,
    /// What the author says about it.
    pub description: Option<SmolStr>,
    /// The arguments, in order.
    pub arguments: Vec<Expression>,
}

/// `AttributeValue`: a literal, still text.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeValue {
    /// Where it is written.
    pub place: XmlLocation,
    /// `DataType`.
    pub data_type: SmolStr,
    /// The text, untrimmed, entities resolved, without that of child elements.
    pub text: SmolStr,
    /// The element's content as written, when it holds child elements (a structured data type); they are not
    /// checked for more than well-formedness.
    pub markup: Option<Box<str>>,
    /// The other XML attributes: `XPathCategory` of an xpathExpression, and any that extensions use.
    pub xml_attributes: Vec<XmlAttribute>,
    /// The namespace prefixes in scope, for values that are XPath expressions.
    pub scope: Arc<NamespaceScope>,
}

/// An XML attribute the schema leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct XmlAttribute {
    /// Its namespace; `None` for a name without prefix.
    pub namespace: Option<SmolStr>,
    /// Its local name.
    pub name: SmolStr,
    /// Its value.
    pub value: SmolStr,
}

/// `AttributeDesignator`.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeDesignator {
    /// Where it is written.
    pub place: XmlLocation,
    /// `Category`; for XACML 1 and 2 the category its element stands for, as a 3.0 identifier.
    pub category: SmolStr,
    /// `AttributeId`.
    pub id: SmolStr,
    /// `DataType`.
    pub data_type: SmolStr,
    /// `Issuer`; `None` matches every issuer.
    pub issuer: Option<SmolStr>,
    /// `MustBePresent`; false where XACML 1 and 2 leave it out.
    pub must_be_present: bool,
}

/// `AttributeSelector`.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeSelector {
    /// Where it is written.
    pub place: XmlLocation,
    /// The document the path is over.
    pub over: SelectorBase,
    /// The XPath expression, as written: `Path`, or `RequestContextPath` in XACML 1 and 2.
    pub path: SmolStr,
    /// `DataType`.
    pub data_type: SmolStr,
    /// `MustBePresent`; false where XACML 1 and 2 leave it out.
    pub must_be_present: bool,
    /// The namespace prefixes in scope.
    pub scope: Arc<NamespaceScope>,
}

/// Which document an [`AttributeSelector`] looks into.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectorBase {
    /// The `Content` of one category (XACML 3.0).
    Content {
        /// `Category`.
        category: SmolStr,
        /// `ContextSelectorId`: the attribute that holds the context node, if given.
        context_selector: Option<SmolStr>,
    },
    /// The whole request context document (XACML 1 and 2): elements `Request`, `Subject`, `ResourceContent`
    /// of the request schema of that version.
    RequestContext,
}

/// `VariableReference`.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableReference {
    /// Where it is written.
    pub place: XmlLocation,
    /// `VariableId`.
    pub id: SmolStr,
}

/// `Function`.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Where it is written.
    pub place: XmlLocation,
    /// `FunctionId`.
    pub id: SmolStr,
}

impl Expression {
    /// Where it is written.
    pub fn place(&self) -> XmlLocation {
        match self {
            Expression::Apply(node) => node.place,
            Expression::Value(node) => node.place,
            Expression::Designator(node) => node.place,
            Expression::Selector(node) => node.place,
            Expression::Variable(node) => node.place,
            Expression::Function(node) => node.place,
        }
    }
}

impl AttributeValue {
    /// The value of an XML attribute without namespace, such as `XPathCategory`.
    pub fn xml_attribute(&self, name: &str) -> Option<&SmolStr> {
        self.xml_attributes
            .iter()
            .find(|one| one.namespace.is_none() && one.name == name)
            .map(|one| &one.value)
    }
}
