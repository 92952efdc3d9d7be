//! Attribute sources (policy information points): where attributes come from that the request does not carry.

use std::fmt;

use durward_ir::{AttributeName, Value};
use durward_xacml::request::Request;

/// A place to ask for attributes that a policy reads and a request lacks (XACML 3.0, 7.3.5, the context handler's
/// part). Asked only for what a decision really read, once per attribute and decision.
///
/// ```
/// use durward_pdp::{AttributeName, AttributeSource, Request, SourceError, Value};
///
/// /// Everybody is a guest.
/// struct Guests;
///
/// impl AttributeSource for Guests {
///     fn provides(&self, name: &AttributeName) -> bool {
///         name.id == "role"
///     }
///     fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
///         Ok(vec![Value::Text("guest".into())])
///     }
/// }
/// ```
pub trait AttributeSource: Send + Sync {
    /// Whether the source may know this attribute. Asked once per attribute when policies are loaded, so the answer
    /// must not change.
    fn provides(&self, name: &AttributeName) -> bool;

    /// The attribute's values for this request; empty where there are none. Values of another data type than the
    /// name's are dropped.
    ///
    /// # Errors
    /// The source could not answer. The decision is then Indeterminate: what is unknown never permits.
    fn values(&self, name: &AttributeName, request: &Request) -> Result<Vec<Value>, SourceError>;

    /// Whether this only announces what a source given to [`Pdp::decide_with`](crate::Pdp::decide_with) provides. It is
    /// then not asked beside that one, and fails where it is asked alone.
    fn is_announcement(&self) -> bool {
        false
    }
}

/// Why an attribute source could not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// What went wrong, in the operator's words.
    pub message: String,
    /// The attribute that the source needs of the request and that is not there; the status then names it.
    pub missing: Option<Box<AttributeName>>,
}

impl SourceError {
    /// Something went wrong.
    pub fn new(message: impl Into<String>) -> SourceError {
        SourceError { message: message.into(), missing: None }
    }

    /// The source cannot be asked without this attribute.
    pub fn missing(name: AttributeName, message: impl Into<String>) -> SourceError {
        SourceError { message: message.into(), missing: Some(Box::new(name)) }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SourceError {}
