//! OPA's data API for clients that speak it and cannot be changed: `/v1/data/{path}`, `/v0/data/{path}` and `/health`, below a path that is
//! set. What is asked at which path has a fixed shape (`opa.documents`); nothing is evaluated there but the policies of the tenant.
//!
//! ```text
//!   {"input": ..} --> shape: questions --> verdicts --> shape: {"result": ..}
//! ```
//!
//! What cannot be read or decided is `false`, an empty list, a filter that no row passes, a mask of `NULL`.

mod authzen;
mod masks;
mod trino;

use std::sync::Arc;

use durward_common::access::auth::Identity;
use durward_common::base::metrics::Metrics;
use durward_common::decision_log::Surface as Way;
use durward_common::question::{Asked, Asker, Counted, Logged, Question, SubjectBy, Verdict, Wrong};
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Call, allow, text_answer};
use durward_pdp::ir::value::Object;
use durward_pdp::ir::{Value, json};
use durward_settings::{OpaSettings, OpaShape, Settings};
use hyper::{Method, StatusCode};
use serde_json::{Value as Json, json};

use crate::surfaces::callers::{self, CallerNames, Callers, REASON, Received, is_kind};

const NAMES: CallerNames = CallerNames {
    caller: "opa",
    body_bytes_max: "opa.callers.body_bytes_max",
    requests_per_second_max: "opa.callers.requests_per_second_max",
};

/// The paths, as `docs/routes.md` has them: path, methods, who, what.
pub const ROUTES: &[(&str, &str, &str, &str)] = &[
    ("/opa/v1/data/{path}", "POST", WHO, "decides about `input` as OPA's data API does"),
    ("/opa/v0/data/{path}", "POST", WHO, "does the same with a bare input and a bare result"),
    (
        "/opa/health",
        "GET",
        "anyone who can connect; if `opa.on` is set",
        "tells whether questions are answered",
    ),
];

const WHO: &str = "callers that `[auth]` or `[opa.callers]` accepts; if `opa.on` is set";

/// What requests are answered with.
pub(crate) struct Surface {
    asker: Arc<Asker>,
    callers: Callers,
    metrics: Arc<Metrics>,
    settings: OpaSettings,
}

/// Which of the two versions of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V0,
    V1,
}

/// A request by somebody who may ask.
#[derive(Clone, Copy)]
struct Asking<'a> {
    asker: &'a Asker,
    caller: &'a Identity,
    call: &'a Call,
    route: &'static str,
    length: usize,
}

/// Why there is no answer of the shape.
enum Refused {
    /// Whoever asks may not.
    Caller(Problem),
    /// In OPA's words.
    Error(StatusCode, String),
}

impl Surface {
    pub(crate) fn new(settings: &Settings, asker: &Arc<Asker>, parts: &callers::Parts<'_>) -> Surface {
        let settings = settings.opa.clone();
        Surface {
            asker: Arc::clone(asker),
            callers: Callers::new(&settings.callers, NAMES, parts),
            metrics: Arc::clone(parts.metrics),
            settings,
        }
    }

    /// Whether this is one of its paths.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.settings.on
            && self.below(path).is_some_and(|below| below == "/health" || version_of(below).is_some())
    }

    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(self.settings.path.as_str()).filter(|below| below.starts_with('/'))
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, call: &Call, request: hyper::Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        let below = self.below(&path).unwrap_or_default();
        let Some((version, document)) = version_of(below) else { return self.health(request.method()) };
        if request.method() != Method::POST {
            return method_not_allowed(&["POST"]);
        }
        match self.result(call, version, document, request).await {
            Ok(result) => told(version, &call.id, result),
            Err(Refused::Caller(problem)) => problem.into_answer(durward_common::surfaces::http::Form::Json),
            Err(Refused::Error(status, message)) => error(status, &message),
        }
    }

    fn health(&self, method: &Method) -> Answer {
        match *method {
            Method::GET if self.asker.decider().is_some() => text_answer("application/json", "{}"),
            Method::GET => error(StatusCode::INTERNAL_SERVER_ERROR, "nobody decides yet"),
            _ => method_not_allowed(&["GET"]),
        }
    }

    /// The result; `None` is undefined.
    async fn result(
        &self,
        call: &Call,
        version: Version,
        document: &str,
        request: hyper::Request<Incoming>,
    ) -> Result<Option<Json>, Refused> {
        let Received { caller, body, .. } =
            self.callers.receive(call, request).await.map_err(Refused::Caller)?;
        let body = body.map_err(|problem| Refused::Error(problem.status(), problem.told()))?;
        let Some(shape) = self.settings.shape_at(document) else { return Ok(None) };
        let input = input(version, &body)?;
        let (asker, route) = (&*self.asker, route(shape));
        let asking = Asking { asker, caller: &caller, call, route, length: body.len() };
        let most = self.settings.batch_max;
        let answer = match shape {
            OpaShape::Authzen => asking.is_permitted(authzen::question(input.as_ref())).await.map(Json::from),
            OpaShape::AuthzenObject => {
                let allowed = asking.is_permitted(authzen::question(input.as_ref())).await;
                allowed.map(|allowed| json!({ "allow": allowed }))
            }
            OpaShape::TrinoAllow => {
                asking.is_permitted(trino::question(input.as_ref())).await.map(Json::from)
            }
            OpaShape::TrinoBatch => trino::batch(&asking, input.as_ref(), most).await,
            OpaShape::TrinoRowFilters => masks::row_filters(&asking, input.as_ref()).await,
            OpaShape::TrinoColumnMask => {
                return masks::column_mask(&asking, input.as_ref())
                    .await
                    .map_err(|wrong| self.refused(wrong));
            }
            OpaShape::TrinoBatchColumnMasks => masks::batch(&asking, input.as_ref(), most).await,
        };
        answer.map(Some).map_err(|wrong| self.refused(wrong))
    }

    fn refused(&self, wrong: Wrong) -> Refused {
        if wrong.status == StatusCode::PAYLOAD_TOO_LARGE {
            self.metrics.limit_hit("opa.batch_max");
        }
        Refused::Error(wrong.status, wrong.message)
    }
}

impl Asking<'_> {
    async fn decide(&self, question: &Question) -> Result<Verdict, Wrong> {
        let asked = Asked {
            caller: self.caller,
            client: Some(self.call.client),
            request_id: &self.call.id,
            trace: &self.call.trace,
            surface: Way::Opa,
            route: self.route,
            length: self.length,
            logged: Logged::Each,
            counted: Counted::ByAsker,
        };
        self.asker.decide(&asked, question, &SubjectBy::Caller).await
    }

    /// Whether it is a permit without obligations; no question is none.
    async fn is_permitted(&self, question: Option<Question>) -> Result<bool, Wrong> {
        let Some(question) = question else { return Ok(false) };
        Ok(self.decide(&question).await?.is_permit_for(|kind| is_kind(kind, REASON)))
    }
}

/// What `docs` and the decision log call a shape.
const fn route(shape: OpaShape) -> &'static str {
    match shape {
        OpaShape::Authzen | OpaShape::AuthzenObject => "authzen",
        OpaShape::TrinoAllow => "trino-allow",
        OpaShape::TrinoBatch => "trino-batch",
        OpaShape::TrinoRowFilters => "trino-row-filters",
        OpaShape::TrinoColumnMask => "trino-column-mask",
        OpaShape::TrinoBatchColumnMasks => "trino-batch-column-masks",
    }
}

fn version_of(below: &str) -> Option<(Version, &str)> {
    let of = |beginning: &str, version| Some((version, below.strip_prefix(beginning)?));
    of("/v1/data/", Version::V1).or_else(|| of("/v0/data/", Version::V0))
}

/// The input of a request; `None` where there is none.
fn input(version: Version, body: &[u8]) -> Result<Option<Arc<Object>>, Refused> {
    let wrong = |message: String| Refused::Error(StatusCode::BAD_REQUEST, message);
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    let value = json::read_unique(body).map_err(|error| wrong(format!("the body is no JSON: {error}")))?;
    let value = match version {
        Version::V0 => value,
        Version::V1 => {
            let object = value.as_object().ok_or_else(|| wrong("the body must be an object".to_owned()))?;
            object.get("input").cloned().unwrap_or(Value::Null)
        }
    };
    Ok(value.as_object().cloned())
}

fn told(version: Version, id: &str, result: Option<Json>) -> Answer {
    let text = match (version, result) {
        (Version::V1, Some(result)) => json!({ "decision_id": id, "result": result }),
        (Version::V1, None) => json!({ "decision_id": id }),
        (Version::V0, Some(result)) => result,
        (Version::V0, None) => return error(StatusCode::NOT_FOUND, "the document is undefined"),
    };
    text_answer("application/json", text.to_string())
}

/// An error in OPA's words.
fn error(status: StatusCode, message: &str) -> Answer {
    let code = match status {
        StatusCode::BAD_REQUEST => "invalid_parameter",
        StatusCode::NOT_FOUND => "undefined_document",
        _ => "internal_error",
    };
    let mut answer = text_answer("application/json", json!({ "code": code, "message": message }).to_string());
    *answer.status_mut() = status;
    answer
}

fn method_not_allowed(methods: &[&str]) -> Answer {
    let mut answer = error(StatusCode::METHOD_NOT_ALLOWED, "this path takes another method");
    allow(answer.headers_mut(), methods);
    answer
}
