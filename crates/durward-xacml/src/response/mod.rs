//! The answer: results with decision, status, obligations, advice and echoes, written as XML or JSON.

mod difference;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "json")]
mod json_read;
pub mod status;
mod xml;
mod xml_read;

use std::ops::{Deref, DerefMut};

use durward_ir::Value;
use smallvec::SmallVec;
use smol_str::SmolStr;

use crate::request::Categories;

pub use difference::differences;
#[cfg(feature = "json")]
pub(crate) use xml::data_type_as_written;
pub(crate) use xml::write_attributes;

pub use status::{MissingAttribute, Status, StatusCode, StatusDetail, StatusParts};

/// What the policies say (XACML 3.0, section 5.53). The finer kinds of Indeterminate never leave the decider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Access is granted, provided every obligation is understood and discharged.
    Permit,
    /// Access is refused.
    Deny,
    /// No decision could be made; the status says why.
    Indeterminate,
    /// No policy speaks about the request.
    NotApplicable,
}

/// A response: one result for each individual decision, at least one.
#[derive(Clone, Debug)]
pub struct Response {
    /// The results, in the order of the individual requests.
    pub results: Results,
}

/// Results; a single one, as most responses have, needs no memory of its own.
pub type Results = SmallVec<[ResultOf; 1]>;

/// One result (`<Result>`; named so because `Result` is Rust's).
#[derive(Clone, Debug)]
pub struct ResultOf {
    /// The decision.
    pub decision: Decision,
    /// How the decision came about; [`Status::ok`] unless something went wrong.
    pub status: Status,
    /// What must be done along with enforcing the decision, in order.
    pub obligations: Vec<Duty>,
    /// What may be done along with it, in order.
    pub advice: Vec<Duty>,
    /// The attributes echoed because the request marked them `IncludeInResult`.
    pub attributes: Echoes,
    /// The policies that applied; `None` where the request did not ask for them.
    pub policy_ids: Option<Vec<PolicyIdentifier>>,
    /// The resource the result is about (XACML 1.x and 2.0, `ResourceId`).
    pub resource_id: Option<Box<str>>,
}

// Up to two cache lines are moved without calling anybody, and responses are handed on.
const _: () = assert!(size_of::<Response>() <= 128);

/// The attributes echoed in a result; reads and writes like [`Categories`]. Most results echo nothing, and so carry
/// a pointer to nothing instead of room for it.
#[derive(Clone, Debug, Default)]
pub struct Echoes(Option<Box<Categories>>);

static NO_ECHOES: Categories = Categories::new();

impl Echoes {
    /// These attributes.
    pub fn of(categories: Categories) -> Echoes {
        if categories.is_empty() { Echoes(None) } else { Echoes(Some(Box::new(categories))) }
    }
}

impl Deref for Echoes {
    type Target = Categories;

    fn deref(&self) -> &Categories {
        self.0.as_deref().unwrap_or(&NO_ECHOES)
    }
}

impl DerefMut for Echoes {
    fn deref_mut(&mut self) -> &mut Categories {
        self.0.get_or_insert_default()
    }
}

/// One obligation or one piece of advice.
#[derive(Clone, Debug)]
pub struct Duty {
    /// Its identifier, an URI.
    pub id: SmolStr,
    /// Its parameters, in order.
    pub assignments: Vec<Assignment>,
}

/// One parameter of an obligation or of advice (`<AttributeAssignment>`).
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The attribute assigned to, an URI.
    pub id: SmolStr,
    /// The category of the attribute, if one was given.
    pub category: Option<SmolStr>,
    /// The issuer of the attribute, if one was given.
    pub issuer: Option<SmolStr>,
    /// The value.
    pub value: Value,
}

/// Whether a policy or a policy set is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyKind {
    /// A policy: `<PolicyIdReference>`.
    Policy,
    /// A policy set: `<PolicySetIdReference>`.
    PolicySet,
}

/// One policy or policy set that applied.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PolicyIdentifier {
    /// Which of the two it is.
    pub kind: PolicyKind,
    /// Its identifier, an URI.
    pub id: SmolStr,
    /// Its version.
    pub version: Option<SmolStr>,
}

impl Decision {
    /// The decision as both wire forms spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Permit => "Permit",
            Decision::Deny => "Deny",
            Decision::Indeterminate => "Indeterminate",
            Decision::NotApplicable => "NotApplicable",
        }
    }

    /// The decision spelled `text`, exactly so.
    pub fn parse(text: &str) -> Option<Decision> {
        match text {
            "Permit" => Some(Decision::Permit),
            "Deny" => Some(Decision::Deny),
            "Indeterminate" => Some(Decision::Indeterminate),
            "NotApplicable" => Some(Decision::NotApplicable),
            _ => None,
        }
    }
}

impl Response {
    /// A response of one result.
    pub fn of(result: ResultOf) -> Response {
        Response { results: Results::from_buf([result]) }
    }

    /// The response to a request that could not be read: Indeterminate with this status.
    pub fn indeterminate(status: Status) -> Response {
        Response::of(ResultOf::with_status(Decision::Indeterminate, status))
    }
}

impl ResultOf {
    /// A plain decision with status ok.
    pub fn new(decision: Decision) -> ResultOf {
        ResultOf::with_status(decision, Status::ok())
    }

    /// A plain decision with this status.
    pub fn with_status(decision: Decision, status: Status) -> ResultOf {
        ResultOf {
            decision,
            status,
            obligations: Vec::new(),
            advice: Vec::new(),
            attributes: Echoes::default(),
            policy_ids: None,
            resource_id: None,
        }
    }
}
