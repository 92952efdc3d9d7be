//! `/doors/kubernetes/authorize`: the authorization webhook of Kubernetes' API servers.
//!
//! ```text
//!   SubjectAccessReview --> review --> question --> verdict --> status --> SubjectAccessReview
//! ```
//!
//! A permit allows, a deny is final, and where no policy applies durward has no opinion: the next authorizer is asked. Whatever goes wrong
//! once a caller is known is an answer of its own, so that `failurePolicy` of the API server decides only about what never reached durward.

mod review;
mod status;
mod timeout;

use std::sync::Arc;

use durward_common::access::auth::Identity;
use durward_common::decider::Outcome;
use durward_common::decision_log::Surface as Way;
use durward_common::question::{Asked, Asker, Counted, Logged, SubjectBy, Verdict, Wrong};
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Call, Form, text_answer, text_of};
use durward_settings::{KubernetesErrors, KubernetesSettings, Settings};
use hyper::{StatusCode, header};

use self::review::Review;
use self::status::Status;
use crate::surfaces::callers::{self, CallerNames, Callers, REASON, Received, is_json, is_of, reason};

const NAMES: CallerNames = CallerNames {
    caller: "kubernetes",
    body_bytes_max: "kubernetes.callers.body_bytes_max",
    requests_per_second_max: "kubernetes.callers.requests_per_second_max",
};

/// What requests are answered with.
pub(crate) struct Surface {
    asker: Arc<Asker>,
    callers: Callers,
    settings: KubernetesSettings,
}

impl Surface {
    pub(crate) fn new(settings: &Settings, asker: &Arc<Asker>, parts: &callers::Parts<'_>) -> Surface {
        let settings = settings.kubernetes.clone();
        let callers = Callers::new(&settings.callers, NAMES, parts);
        Surface { asker: Arc::clone(asker), callers, settings }
    }

    /// Answers one review.
    pub(crate) async fn answer(&self, call: &Call, request: hyper::Request<Incoming>) -> Answer {
        let answered = match self.callers.receive(call, request).await {
            Ok(received) => self.reviewed(call, received).await,
            Err(problem) => Err(problem),
        };
        match answered {
            Ok(status) => text_answer("application/json", status.to_json()),
            Err(problem) => problem.into_answer(Form::Json),
        }
    }

    /// # Errors
    /// What passes: an API server asks again.
    async fn reviewed(&self, call: &Call, received: Received) -> Result<Status, Problem> {
        let Received { caller, head, body } = received;
        let body = match body {
            Ok(body) => body,
            Err(problem) if problem.status() == StatusCode::SERVICE_UNAVAILABLE => return Err(problem),
            Err(problem) => return Ok(self.failed(problem.told())),
        };
        if !is_json(text_of(&head.headers, &header::CONTENT_TYPE)) {
            return Ok(self.failed("the body must be `application/json`".to_owned()));
        }
        let time_max = match timeout::of_query(head.uri.query().unwrap_or_default()) {
            Ok(time_max) => time_max,
            Err(error) => return Ok(self.failed(error)),
        };
        let review = match Review::read(&body) {
            Ok(review) => review,
            Err(error) => return Ok(self.failed(error)),
        };
        if self.settings.is_exempt(review.user(), review.groups()) {
            return Ok(Status::NoOpinion);
        }
        let deciding = self.decided(call, &caller, &review, body.len());
        let Some(time_max) = time_max else { return deciding.await };
        match tokio::time::timeout(time_max, deciding).await {
            Ok(decided) => decided,
            Err(_) => Ok(self.failed(format!("nothing was decided within {} ms", time_max.as_millis()))),
        }
    }

    async fn decided(
        &self,
        call: &Call,
        caller: &Identity,
        review: &Review,
        length: usize,
    ) -> Result<Status, Problem> {
        let asked = Asked {
            caller,
            client: Some(call.client),
            request_id: &call.id,
            trace: &call.trace,
            surface: Way::Kubernetes,
            route: "authorize",
            length,
            logged: Logged::Each,
            counted: Counted::ByAsker,
        };
        match self.asker.decide(&asked, &review.question, &SubjectBy::Caller).await {
            Ok(verdict) => Ok(self.status(&verdict)),
            Err(Wrong { status: StatusCode::SERVICE_UNAVAILABLE, message }) => {
                Err(Problem::unavailable(message))
            }
            Err(Wrong { status: StatusCode::TOO_MANY_REQUESTS, .. }) => Err(Problem::too_many()),
            Err(wrong) => Ok(self.failed(wrong.message)),
        }
    }

    fn status(&self, verdict: &Verdict) -> Status {
        let reason = reason(verdict);
        match verdict.outcome {
            Outcome::Permit => match verdict.obligations.iter().find(|duty| !is_of(duty, REASON)) {
                None => Status::Allowed { reason },
                Some(unknown) => Status::Denied {
                    reason: format!(
                        "permitted with an obligation that Kubernetes cannot fulfil: {}",
                        unknown.kind
                    ),
                },
            },
            Outcome::Deny => {
                Status::Denied { reason: reason.unwrap_or_else(|| "denied by a policy".to_owned()) }
            }
            Outcome::NotApplicable => Status::NoOpinion,
            Outcome::Suspend => self.failed("the decision is suspended".to_owned()),
            Outcome::Indeterminate => self.failed("the policies could not be evaluated".to_owned()),
        }
    }

    /// What is answered where nothing was decided.
    fn failed(&self, error: String) -> Status {
        Status::Failed { error, is_denied: self.settings.errors == KubernetesErrors::Deny }
    }
}
