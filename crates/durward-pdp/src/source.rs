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
}

/// Why an attribute source could not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// What went wrong, in the operator's words.
    pub message: String,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SourceError {}
