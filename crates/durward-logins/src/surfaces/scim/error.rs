//! Errors in SCIM's form (RFC 7644, 3.12).

use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::problem::Problem;
use durward_session::{AccountFailed, Failed, Refused};
use hyper::StatusCode;
use serde_json::json;

use super::MEDIA_TYPE;

/// A refusal, with the standard's word for what is wrong where it has one.
#[derive(Debug)]
pub(super) struct ScimError {
    problem: Box<Problem>,
    kind: Option<&'static str>,
}

impl ScimError {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> ScimError {
        ScimError { problem: Box::new(Problem::new(status, detail)), kind: None }
    }

    /// 400, with its `scimType`.
    pub(super) fn bad(kind: &'static str, detail: impl Into<String>) -> ScimError {
        ScimError { problem: Box::new(Problem::new(StatusCode::BAD_REQUEST, detail)), kind: Some(kind) }
    }

    /// What the standard calls a conflict of names.
    pub(super) fn taken(detail: impl Into<String>) -> ScimError {
        ScimError { problem: Box::new(Problem::new(StatusCode::CONFLICT, detail)), kind: Some("uniqueness") }
    }

    pub(super) fn not_found(id: &str) -> ScimError {
        ScimError::new(StatusCode::NOT_FOUND, format!("there is no resource `{id}`"))
    }

    pub(super) fn into_answer(self) -> Answer {
        let mut document = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
            "status": self.problem.status().as_str(),
            "detail": self.problem.told(),
        });
        if let (Some(kind), Some(members)) = (self.kind, document.as_object_mut()) {
            members.insert("scimType".to_owned(), kind.into());
        }
        self.problem.into_answer_with(MEDIA_TYPE, document.to_string() + "\n")
    }
}

impl From<Problem> for ScimError {
    fn from(problem: Problem) -> ScimError {
        ScimError { problem: Box::new(problem), kind: None }
    }
}

impl From<AccountFailed> for ScimError {
    fn from(why: AccountFailed) -> ScimError {
        let detail = why.to_string();
        match why {
            AccountFailed::NoUser => ScimError::new(StatusCode::NOT_FOUND, detail),
            AccountFailed::Exists => ScimError::taken(detail),
            AccountFailed::Name(_)
            | AccountFailed::Password(_)
            | AccountFailed::Unchanged
            | AccountFailed::NotTaken(_) => ScimError::bad("invalidValue", detail),
            AccountFailed::Failed(Failed::Forbidden | Failed::SecondStepNeeded | Failed::Token(_)) => {
                ScimError::new(StatusCode::FORBIDDEN, detail)
            }
            AccountFailed::Failed(Failed::Delayed { retry_after })
            | AccountFailed::Refused(Refused::Delayed { retry_after } | Refused::Busy { retry_after }) => {
                Problem::unavailable(detail).retry_after(retry_after).into()
            }
            AccountFailed::Failed(_) | AccountFailed::Refused(_) | AccountFailed::Contended => {
                Problem::unavailable(detail).into()
            }
            AccountFailed::NotKept
            | AccountFailed::HasSecondStep
            | AccountFailed::NoSecondStep
            | AccountFailed::CodeNeeded
            | AccountFailed::NoPasskey
            | AccountFailed::Passkey(_)
            | AccountFailed::LinkOver
            | AccountFailed::NoEnrolment => ScimError::new(StatusCode::CONFLICT, detail),
        }
    }
}
