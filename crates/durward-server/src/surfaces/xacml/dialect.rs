//! Decisions as clients of other decision points ask for them: WSO2's entitlement API and AuthzForce's domains.
//!
//! All of it is XACML to the same decision point; what differs is what bodies are taken for, and how refusals look.

use durward_common::surfaces::http::negotiate::{Offer, choose};
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Form, escape, text_answer, text_of};
use durward_pdp::Request;
use durward_pdp::xacml::request::identifiers::{ACTION_ID, RESOURCE_ID, SUBJECT_ID};
use durward_pdp::xacml::request::{ErrorLocation, RequestError, RequestErrorKind, Version};
use durward_pdp::xacml::response::{ResultOf, Status};
use durward_pdp::{Decision, Response};
use hyper::StatusCode;
use hyper::header::HeaderMap;
use serde::Deserialize;

/// Whose clients ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The REST profile's.
    Rest,
    /// AuthzForce's: refusals are `<error>`.
    Authzforce,
    /// WSO2's: JSON has short identifiers, and refusals are 200 with a code of its own.
    Wso2(Wso2),
}

/// What of WSO2's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wso2 {
    /// A request of XACML, XML or JSON.
    Pdp,
    /// Subject, resource, action and environment as four texts.
    Attributes,
    /// The same, answered with `true` or `false`.
    Truth,
}

/// WSO2's code for a request that cannot be read.
const WSO2_UNREADABLE: u16 = 40020;

/// Identifiers that WSO2 gives the four texts.
const WSO2_ENVIRONMENT_ID: &str = "urn:oasis:names:tc:xacml:1.0:environment:environment-id";

const JSON: Offer = Offer { main: "application", sub: "json", version: None };
const XML: Offer = Offer { main: "application", sub: "xml", version: None };

const HOME_XML: &str = "<resources xmlns=\"http://ietf.org/ns/home-documents\"><resource \
                        rel=\"http://docs.oasis-open.org/ns/xacml/relation/pdp\"><link href=\"/pdp\"/></resource></resources>";

const HOME_JSON: &str = "{\"resources\":[{\"rel\":\"http://docs.oasis-open.org/ns/xacml/relation/pdp\",\
                         \"link\":{\"href\":\"/pdp\"}}]}";

impl Dialect {
    /// Whether JSON has short identifiers, where the settings do not say so.
    pub(crate) fn has_short_ids(self) -> bool {
        match self {
            Dialect::Rest | Dialect::Authzforce => false,
            Dialect::Wso2(_) => true,
        }
    }

    /// Where it is asked, for the decision log.
    pub(crate) fn route(self) -> &'static str {
        match self {
            Dialect::Rest => "/pdp",
            Dialect::Authzforce => "/domains/{domain}/pdp",
            Dialect::Wso2(Wso2::Pdp) => "/api/identity/entitlement/decision/pdp",
            Dialect::Wso2(Wso2::Attributes) => "/api/identity/entitlement/decision/by-attrib",
            Dialect::Wso2(Wso2::Truth) => "/api/identity/entitlement/decision/by-attrib-boolean",
        }
    }

    /// A refusal as its clients know them.
    pub(crate) fn refusal(self, problem: Problem, form: Form) -> Answer {
        // What is about the connection, or about the server, is everybody's.
        let is_of_request = problem.status() == StatusCode::BAD_REQUEST;
        match self {
            Dialect::Authzforce => {
                let message = problem.told();
                let (media_type, text) = match form {
                    Form::Xml => {
                        ("application/xml", format!("<error><message>{}</message></error>", escape(&message)))
                    }
                    Form::Json => {
                        ("application/json", serde_json::json!({"error": {"message": message}}).to_string())
                    }
                };
                problem.into_answer_with(media_type, text)
            }
            // Whoever waits for `true` or `false` takes an object for true.
            Dialect::Wso2(Wso2::Truth) => problem.into_answer(form),
            Dialect::Wso2(_) if is_of_request => {
                let message = format!("Request Parse Exception. {}", problem.told());
                match form {
                    Form::Json => {
                        let bean = serde_json::json!({"code": WSO2_UNREADABLE, "message": message});
                        text_answer("application/json", bean.to_string())
                    }
                    Form::Xml => {
                        let message = escape(&message);
                        let bean = format!(
                            "<exceptionBean><code>{WSO2_UNREADABLE}</code><message>{message}</message></exceptionBean>"
                        );
                        text_answer("application/xml", bean)
                    }
                }
            }
            Dialect::Rest | Dialect::Wso2(_) => problem.into_answer(form),
        }
    }

    /// What becomes of an error of a request: Balana, which is within WSO2's server, answers XML that it cannot read with
    /// Indeterminate.
    pub(crate) fn status_of(self, form: Form, error: &RequestError) -> Option<Status> {
        let is_too_large = error.kind == RequestErrorKind::Limit;
        (self == Dialect::Wso2(Wso2::Pdp) && form == Form::Xml && !is_too_large).then(|| error.status())
    }

    /// The answer in another form than XACML's, where there is one.
    pub(crate) fn written(self, response: &Response) -> Option<Answer> {
        match self {
            Dialect::Rest | Dialect::Authzforce | Dialect::Wso2(Wso2::Pdp) => None,
            // XML whatever `Accept` says.
            Dialect::Wso2(Wso2::Attributes) => {
                Some(text_answer("application/xml", response.to_xml(Version::V3)))
            }
            Dialect::Wso2(Wso2::Truth) => {
                // Obligations cannot be told, and who does not know them must not permit (7.18).
                let is_permit =
                    |result: &ResultOf| result.decision == Decision::Permit && result.obligations.is_empty();
                let is_permitted = !response.results.is_empty() && response.results.iter().all(is_permit);
                Some(text_answer("application/json", if is_permitted { "true" } else { "false" }))
            }
        }
    }

    /// The request in a body that is none of XACML; `None` where bodies are XACML.
    ///
    /// # Errors
    /// It is not what is asked for.
    pub(crate) fn read(self, form: Form, bytes: &[u8]) -> Option<Result<Request, RequestError>> {
        match self {
            Dialect::Rest | Dialect::Authzforce | Dialect::Wso2(Wso2::Pdp) => None,
            Dialect::Wso2(Wso2::Attributes) => Some(Four::read(form, bytes).map(Four::request)),
            // WSO2 leaves the environment out here.
            Dialect::Wso2(Wso2::Truth) => {
                Some(Four::read(form, bytes).map(|four| Four { environment: None, ..four }.request()))
            }
        }
    }
}

/// WSO2's home document.
pub(crate) fn wso2_home(headers: &HeaderMap) -> Answer {
    match choose(text_of(headers, &hyper::header::ACCEPT), &[JSON, XML]) {
        Some(XML) => text_answer("application/xml", HOME_XML),
        Some(_) | None => text_answer("application/json", HOME_JSON),
    }
}

/// `DecisionRequest`: four texts in place of a request.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Four {
    subject: Option<String>,
    action: Option<String>,
    resource: Option<String>,
    environment: Option<Vec<String>>,
}

impl Four {
    fn read(form: Form, bytes: &[u8]) -> Result<Four, RequestError> {
        let wrong = |message: &str| RequestError {
            kind: RequestErrorKind::Structure,
            message: message.to_owned(),
            place: ErrorLocation::Whole,
        };
        match form {
            Form::Json => serde_json::from_slice(bytes).map_err(|_| {
                wrong(
                    "expected an object with the texts `subject`, `resource` and `action`, and the array `environment`, \
                     all of which may be missing",
                )
            }),
            Form::Xml => Err(wrong("send `DecisionRequest` as JSON; XML is taken by `/pdp` here")),
        }
    }

    fn request(self) -> Request {
        let mut builder = Request::builder();
        if let Some(subject) = self.subject {
            builder = builder.subject(SUBJECT_ID, subject);
        }
        if let Some(resource) = self.resource {
            builder = builder.resource(RESOURCE_ID, resource);
        }
        if let Some(action) = self.action {
            builder = builder.action(ACTION_ID, action);
        }
        for environment in self.environment.unwrap_or_default() {
            builder = builder.environment(WSO2_ENVIRONMENT_ID, environment);
        }
        builder.build()
    }
}
