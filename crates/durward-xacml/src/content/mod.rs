//! The XML a request carries in `<Content>`, and XPath 1.0 over it: attribute selectors (XACML 3.0, section 7.3.7),
//! the functions over nodes (A.3.15) and the content selectors of the Multiple Decision Profile.
//!
//! ```
//! use durward_xacml::content::{Content, XPath};
//!
//! let names = [("md".into(), "http://www.medico.com/schemas/record".into())];
//! let content = Content::parse("<md:record><md:name>Bart</md:name></md:record>", &names)?;
//! let path = XPath::compile("//md:name/text()", &names)?;
//! let selected = content.select(&path, None)?;
//! assert_eq!(selected.iter().map(|node| content.text(*node)).collect::<Vec<_>>(), ["Bart"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Why an engine of its own
//!
//! Content comes from whoever asks, and so may the paths. The engines published were given hostile paths and
//! documents: `sxd-xpath` 0.4 overflows the stack on nested parentheses and panics on a prefix that is not bound;
//! `simdxml` 0.2 overflows it too, cannot be told what a policy's prefixes mean and refuses expressions that are not
//! paths; `xee-xpath` 0.1 (XPath 3.1) takes over 20 seconds for 100 parentheses and adds 200 crates and 6 MB; `uppsala` 0.12
//! keeps its limits, but cannot read `(//a)[1]` or `processing-instruction('x')`, has no namespace nodes, and lets a
//! prefix that is not bound select nothing. A policy whose path selects nothing without a word is a hole, so the
//! language is implemented here, in full and no more.
//!
//! # What holds
//!
//! - Every limit below is an error when met, never a shorter answer. Reading is not recursive; expressions nest
//!   to [`XPATH_DEPTH_MAX`] and evaluating one recurses no deeper than it nests.
//! - An expression is checked when it is compiled: unbound prefixes, unknown functions, wrong numbers and types of
//!   arguments. What can fail later is only the number of steps.
//! - The whole of XPath 1.0 (`http://www.w3.org/TR/1999/REC-xpath-19991116`) with all axes and core functions,
//!   except variables, of which XACML has none. `id()` finds `xml:id`, since there is no document type.
//! - Nothing of XPath 2.0 (`http://www.w3.org/TR/2007/REC-xpath20-20070123`): a policy or request that declares it is
//!   refused, and so are `for`, `if`, `some`, `every`, sequences, casts and the further functions.

mod axes;
mod declared;
mod error;
mod evaluate;
mod expression;
mod functions;
mod lexer;
mod limits;
mod name;
mod operators;
mod ordering;
mod parser;
mod path;
mod pointer;
mod read;
mod request;
mod tree;
mod value;
mod xpath;

#[cfg(test)]
mod tests;

pub use declared::{OTHER_VERSION_HELP, OtherVersion, check_version};
pub use error::{ContentError, XPathError, XPathErrorKind};
pub use limits::{
    CONTENT_BYTES_MAX, CONTENT_DEPTH_MAX, CONTENT_NODES_MAX, XPATH_BYTES_MAX, XPATH_DEPTH_MAX,
    XPATH_REQUEST_STEPS_MAX, XPATH_STEPS_MAX,
};
pub use request::Contents;
pub use tree::{Content, NodeId};
pub use xpath::XPath;

use evaluate::Evaluation;
use value::Outcome;

/// What an expression evaluates to.
#[derive(Clone, Debug, PartialEq)]
pub enum Selected {
    /// Nodes, in document order, none twice.
    Nodes(Vec<NodeId>),
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// A truth value.
    Boolean(bool),
}

impl Content {
    /// Evaluates an expression. The context node is `context`, or the document node.
    ///
    /// # Errors
    /// More than [`XPATH_STEPS_MAX`] steps.
    pub fn evaluate(&self, path: &XPath, context: Option<NodeId>) -> Result<Selected, XPathError> {
        let mut steps = XPATH_STEPS_MAX;
        self.evaluate_within(path, context, &mut steps)
    }

    /// Like [`Content::evaluate`], with a number of steps shared between evaluations, which is lowered by what this
    /// one takes.
    ///
    /// # Errors
    /// No steps left.
    pub fn evaluate_within(
        &self,
        path: &XPath,
        context: Option<NodeId>,
        steps: &mut u64,
    ) -> Result<Selected, XPathError> {
        let mut evaluation = Evaluation::new(self, *steps);
        let outcome = evaluation.run(path.expression(), context.unwrap_or(NodeId::DOCUMENT));
        *steps = evaluation.steps_left();
        Ok(match outcome? {
            Outcome::Nodes(nodes) => Selected::Nodes(nodes),
            Outcome::Text(text) => Selected::Text(text.into_owned()),
            Outcome::Number(number) => Selected::Number(number),
            Outcome::Boolean(boolean) => Selected::Boolean(boolean),
        })
    }

    /// The nodes an expression selects, in document order, none twice.
    ///
    /// # Errors
    /// An expression that gives no nodes (see [`XPath::selects_nodes`]); more than [`XPATH_STEPS_MAX`] steps.
    pub fn select(&self, path: &XPath, context: Option<NodeId>) -> Result<Vec<NodeId>, XPathError> {
        match self.evaluate(path, context)? {
            Selected::Nodes(nodes) => Ok(nodes),
            Selected::Text(_) | Selected::Number(_) | Selected::Boolean(_) => Err(path.no_nodes()),
        }
    }

    /// Whether the two share a node: `xpath-node-equal` (A.3.15).
    ///
    /// Both are in document order without repeats, as [`Content::select`] gives them.
    pub fn share_node(&self, first: &[NodeId], second: &[NodeId]) -> bool {
        first.iter().any(|node| second.binary_search(node).is_ok())
    }

    /// Whether a node of `second` is one of `first`, or lies under one: `xpath-node-match` (A.3.15).
    ///
    /// Both are in document order without repeats, as [`Content::select`] gives them.
    pub fn covers_node(&self, first: &[NodeId], second: &[NodeId]) -> bool {
        first.iter().any(|&node| {
            let at = second.partition_point(|other| *other < node);
            second.get(at).is_some_and(|&other| other == node || self.lies_under(other, node))
        })
    }
}
