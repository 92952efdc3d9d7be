//! The status of a result: a standard code, a message for people, and details for programs.

use std::ops::{Deref, DerefMut};

use durward_ir::{AttributeName, Fault, FaultCode, Value};
use smol_str::SmolStr;

/// Status code: no error.
pub const OK: &str = "urn:oasis:names:tc:xacml:1.0:status:ok";
/// Status code: attributes needed for a decision were not there.
pub const MISSING_ATTRIBUTE: &str = "urn:oasis:names:tc:xacml:1.0:status:missing-attribute";
/// Status code: something is written wrongly.
pub const SYNTAX_ERROR: &str = "urn:oasis:names:tc:xacml:1.0:status:syntax-error";
/// Status code: something went wrong while computing.
pub const PROCESSING_ERROR: &str = "urn:oasis:names:tc:xacml:1.0:status:processing-error";

/// How a decision came about; reads and writes like [`StatusParts`]. Nearly every decision went well, and so carries a
/// pointer to nothing instead of room for the parts.
#[derive(Clone, Debug, Default)]
pub struct Status(Option<Box<StatusParts>>);

/// What a status consists of (XACML 3.0, section 5.54).
#[derive(Clone, Debug)]
pub struct StatusParts {
    /// The code.
    pub code: StatusCode,
    /// A sentence for people.
    pub message: Option<String>,
    /// What a program may act on.
    pub detail: Option<StatusDetail>,
}

/// A status code with, perhaps, a finer one below it (section 5.55).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusCode {
    /// The code, an URI; at the top one of the four standard ones.
    pub value: SmolStr,
    /// The finer code.
    pub minor: Option<Box<StatusCode>>,
}

/// The detail of a status (section 5.57).
#[derive(Clone, Debug)]
pub enum StatusDetail {
    /// With [`MISSING_ATTRIBUTE`]: what was looked for.
    MissingAttributes(Vec<MissingAttribute>),
    /// Anything else, as it was read: XML text, or the string of the JSON form.
    Raw(String),
}

/// One attribute that was looked for (section 5.58).
#[derive(Clone, Debug)]
pub struct MissingAttribute {
    /// Its name.
    pub name: AttributeName,
    /// The identifier of its data type as read, for data types durward does not know.
    pub data_type_uri: Option<SmolStr>,
    /// Values of which one would do; usually none are listed.
    pub values: Vec<Value>,
}

static WENT_WELL: StatusParts = StatusParts::standard(OK);

impl Deref for Status {
    type Target = StatusParts;

    fn deref(&self) -> &StatusParts {
        self.0.as_deref().unwrap_or(&WENT_WELL)
    }
}

impl DerefMut for Status {
    fn deref_mut(&mut self) -> &mut StatusParts {
        self.0.get_or_insert_with(|| Box::new(StatusParts::standard(OK)))
    }
}

impl From<StatusParts> for Status {
    fn from(parts: StatusParts) -> Status {
        Status(Some(Box::new(parts)))
    }
}

impl Status {
    /// No error.
    pub const fn ok() -> Status {
        Status(None)
    }

    /// Something is written wrongly.
    pub fn syntax_error(message: impl Into<String>) -> Status {
        StatusParts { message: Some(message.into()), ..StatusParts::standard(SYNTAX_ERROR) }.into()
    }

    /// Something went wrong while computing.
    pub fn processing_error(message: impl Into<String>) -> Status {
        StatusParts { message: Some(message.into()), ..StatusParts::standard(PROCESSING_ERROR) }.into()
    }

    /// These attributes were needed and not there.
    pub fn missing_attributes(message: impl Into<String>, missing: Vec<AttributeName>) -> Status {
        let named = |name| MissingAttribute { name, data_type_uri: None, values: Vec::new() };
        let detail = (!missing.is_empty())
            .then(|| StatusDetail::MissingAttributes(missing.into_iter().map(named).collect()));
        StatusParts { message: Some(message.into()), detail, ..StatusParts::standard(MISSING_ATTRIBUTE) }
            .into()
    }

    /// Whether there was no error.
    pub fn is_ok(&self) -> bool {
        self.code.value == OK
    }
}

impl StatusParts {
    const fn standard(code: &'static str) -> StatusParts {
        StatusParts { code: StatusCode::standard(code), message: None, detail: None }
    }
}

impl StatusCode {
    const fn standard(code: &'static str) -> StatusCode {
        StatusCode { value: SmolStr::new_static(code), minor: None }
    }
}

impl From<&Fault> for Status {
    fn from(fault: &Fault) -> Status {
        match fault.code {
            FaultCode::MissingAttribute => {
                Status::missing_attributes(fault.message.clone(), fault.missing.clone())
            }
            FaultCode::SyntaxError => Status::syntax_error(fault.message.clone()),
            FaultCode::ProcessingError => Status::processing_error(fault.message.clone()),
        }
    }
}
