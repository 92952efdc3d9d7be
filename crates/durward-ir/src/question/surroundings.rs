//! What a question is asked in: the content of the request, and the way to ask another one.

use crate::fault::{Evaluated, Fault};
use crate::program::Selector;
use crate::value::Value;

/// What surrounds the attributes of a question: the content of the request, and the way to ask another question.
/// Implemented by the language the request is written in.
pub trait Surroundings {
    /// The values a selector selects; an empty bag where there is no content.
    ///
    /// # Errors
    /// A selected node that is not of the selector's data type, an ill-typed path, a spent budget.
    fn select(&self, selector: &Selector) -> Evaluated<Vec<Value>>;
    /// How many nodes the path selects. `path` is an [`Value::XPathExpression`] or, in XACML 2.0, a text.
    ///
    /// # Errors
    /// See [`Surroundings::select`].
    fn node_count(&self, path: &Value) -> Evaluated<u64>;
    /// Whether any node of the first path is one of the second (XACML 3.0, A.3.15).
    ///
    /// # Errors
    /// See [`Surroundings::select`].
    fn node_equal(&self, first: &Value, second: &Value) -> Evaluated<bool>;
    /// Whether any node of the second path is one of the first, or lies under one (XACML 3.0, A.3.15).
    ///
    /// # Errors
    /// See [`Surroundings::select`].
    fn node_match(&self, first: &Value, second: &Value) -> Evaluated<bool>;
    /// Whether this request with `category` replaced by `attributes` (the XML of an `<Attributes>` element) is
    /// permitted (XACML 3.0, A.3.16).
    ///
    /// # Errors
    /// Attributes that cannot be read; too many such questions within one request.
    fn access_permitted(&self, category: &str, attributes: &str) -> Evaluated<bool>;
    /// Whether one of the answers above failed because a budget was spent, rather than because of what was asked.
    /// Such a decision is Indeterminate as a whole.
    fn is_spent(&self) -> bool {
        false
    }
}

/// A request without content.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoContent;

impl Surroundings for NoContent {
    fn select(&self, _: &Selector) -> Evaluated<Vec<Value>> {
        Ok(Vec::new())
    }
    fn node_count(&self, _: &Value) -> Evaluated<u64> {
        Ok(0)
    }
    fn node_equal(&self, _: &Value, _: &Value) -> Evaluated<bool> {
        Ok(false)
    }
    fn node_match(&self, _: &Value, _: &Value) -> Evaluated<bool> {
        Ok(false)
    }
    fn access_permitted(&self, _: &str, _: &str) -> Evaluated<bool> {
        Err(Fault::processing("`access-permitted` needs a whole request, and there is none here"))
    }
}
