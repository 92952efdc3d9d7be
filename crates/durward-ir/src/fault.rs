//! Why an evaluation has no answer: the error value that makes a decision Indeterminate.

use std::borrow::Cow;
use std::fmt;

use crate::attribute::AttributeName;

/// The standard status of a failed evaluation (XACML 3.0, section B.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCode {
    /// An attribute that had to be present was not.
    MissingAttribute,
    /// A value or expression has the wrong form.
    SyntaxError,
    /// Anything else that went wrong while computing: division by zero, a bag of the wrong size.
    ProcessingError,
}

/// An error met while evaluating. It is a value of the evaluation, not a failure of the decision point:
/// the decision becomes Indeterminate and carries this as its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The standard status code.
    pub code: FaultCode,
    /// What went wrong, in the policy author's words. It may be part of an answer.
    pub message: String,
    /// What lies behind it, in the operator's words (addresses, directories, answers of services): for logs, records and
    /// explanations, never part of an answer.
    pub cause: Option<String>,
    /// The attributes that were looked for and not found; filled only for [`FaultCode::MissingAttribute`].
    pub missing: Vec<AttributeName>,
}

/// The result of evaluating anything. Boxed because faults are rare and answers are hot.
pub type Evaluated<T> = Result<T, Box<Fault>>;

impl Fault {
    /// A [`FaultCode::ProcessingError`] with this message.
    pub fn processing(message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault {
            code: FaultCode::ProcessingError,
            message: message.into(),
            cause: None,
            missing: Vec::new(),
        })
    }

    /// A [`FaultCode::SyntaxError`] with this message.
    pub fn syntax(message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault {
            code: FaultCode::SyntaxError,
            message: message.into(),
            cause: None,
            missing: Vec::new(),
        })
    }

    /// A selector that must find something, and finds nothing. No attribute is named as missing: a path is none
    /// (XACML 3.0, 5.58 asks for an `AttributeId`; 5.57 lets the detail be left out).
    pub fn selects_nothing(path: &str) -> Box<Fault> {
        let message = format!("the path `{path}` selects nothing");
        Box::new(Fault { code: FaultCode::MissingAttribute, message, cause: None, missing: Vec::new() })
    }

    /// A [`FaultCode::MissingAttribute`] for this attribute.
    pub fn missing(attribute: AttributeName) -> Box<Fault> {
        let message = format!("attribute `{}` is missing", attribute.id);
        Box::new(Fault { code: FaultCode::MissingAttribute, message, cause: None, missing: vec![attribute] })
    }

    /// The message with the cause behind it: for operators and authors, not for whoever asks for decisions.
    pub fn whole_message(&self) -> Cow<'_, str> {
        match &self.cause {
            None => Cow::Borrowed(&self.message),
            Some(cause) => Cow::Owned(format!("{}: {cause}", self.message)),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}
