//! A path, compiled.

use std::fmt;

use smol_str::SmolStr;

use super::error::{XPathError, XPathErrorKind};
use super::expression::{Expression, ValueKind};
use super::parser;

/// A compiled XPath expression. It holds the namespaces it needs; compile it once and use it for every content.
#[derive(Clone, Debug)]
pub struct XPath {
    text: SmolStr,
    expression: Expression,
}

impl XPath {
    /// Compiles an expression; `namespaces` are the prefixes bound where it stands. Names without a prefix are in
    /// no namespace, whatever the default namespace is (XPath 1.0, section 2.3).
    ///
    /// # Errors
    /// Anything that is not XPath 1.0; a prefix that is not bound; [`XPATH_BYTES_MAX`] or [`XPATH_DEPTH_MAX`].
    ///
    /// [`XPATH_BYTES_MAX`]: super::XPATH_BYTES_MAX
    /// [`XPATH_DEPTH_MAX`]: super::XPATH_DEPTH_MAX
    pub fn compile(path: &str, namespaces: &[(SmolStr, SmolStr)]) -> Result<XPath, XPathError> {
        let expression = parser::parse(path, namespaces)?;
        Ok(XPath { text: SmolStr::new(path.trim()), expression })
    }

    /// Whether the expression gives nodes, as attribute selectors and functions over nodes need.
    pub fn selects_nodes(&self) -> bool {
        self.expression.kind() == ValueKind::Nodes
    }

    /// What the expression gives, in words.
    fn gives(&self) -> &'static str {
        match self.expression.kind() {
            ValueKind::Nodes => "nodes",
            ValueKind::Text => "a text",
            ValueKind::Number => "a number",
            ValueKind::Boolean => "a truth value",
        }
    }

    /// What is wrong with it where nodes are needed.
    pub(super) fn no_nodes(&self) -> XPathError {
        let message = format!("`{self}` selects no nodes but gives {}", self.gives());
        XPathError { kind: XPathErrorKind::NoNodes, message }
    }

    pub(super) fn expression(&self) -> &Expression {
        &self.expression
    }
}

impl fmt::Display for XPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
