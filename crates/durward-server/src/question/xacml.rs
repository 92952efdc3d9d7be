//! A question as an XACML request: decided by the tenant's policies, with what attribute sources know, and recorded result by result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_pdp::record::{Failure, Record};
use durward_pdp::xacml::response::Status;
use durward_pdp::{AttributeSource, Decision, Pdp, Request, Response};
use durward_sources::Rounds;
use hyper::StatusCode;

use super::{Asked, Asker, Panicked, Question, SubjectBy, Verdict, Wrong};
use crate::access::subject::attributes::{self, NO_SESSIONS, Named, token_reason};
use crate::access::subject::fence::SubjectError;
use crate::decider::Outcome;
use crate::decision_log::{Entry, LoggedAnswer};

impl Asker {
    pub(super) async fn decide_xacml(
        &self,
        asked: &Asked<'_>,
        question: &Question,
        by: &SubjectBy,
    ) -> Result<Verdict, Wrong> {
        // A tenant without policies: nothing can be decided.
        let Some(pdp) = self.policies.pdp_of(&asked.caller.tenant) else {
            return Ok(Verdict::plain(Outcome::Indeterminate));
        };
        let token = match by {
            SubjectBy::Token(token) => Some(token),
            SubjectBy::Caller | SubjectBy::Verified => None,
        };
        let request = self.attributes.request(question, token)?;
        let mut named = self.named(asked, request, by).await?;
        let mut request = std::mem::replace(&mut named.request, Request::builder().build());
        let begun = Instant::now();
        let (mut response, records) = self.response(asked, &pdp, &request).await?;
        let duration = begun.elapsed();
        named.settle(&mut request, &mut response);
        self.metrics.decided(response.results.iter().map(|result| result.decision), duration);
        let verdict = Verdict::of_xacml(&response.results);
        if self.recorder.is_on() && asked.logged.wants(&verdict) {
            self.record(asked, &pdp, request, response, records, duration);
        }
        Ok(verdict)
    }

    /// The request with the subject that a token names.
    async fn named(&self, asked: &Asked<'_>, request: Request, by: &SubjectBy) -> Result<Named, Wrong> {
        let lets_assert = *by == SubjectBy::Verified || self.lets_assert(asked.caller);
        match attributes::looked_at(&request, lets_assert).map_err(Wrong::request)? {
            None => Ok(Named::of(request)),
            // Nothing that was verified is a token to be looked at, whatever its properties are called.
            Some(_) if *by == SubjectBy::Verified => Err(Wrong::request(SubjectError::Mixed.to_string())),
            Some(tokens) => {
                let subjects = self.subjects.as_ref().ok_or_else(|| Wrong::request(NO_SESSIONS))?;
                tokens.named(request, subjects).await.map_err(Wrong::request)
            }
        }
    }

    async fn response(
        &self,
        asked: &Asked<'_>,
        pdp: &Pdp,
        request: &Request,
    ) -> Result<(Response, Vec<Record>), Wrong> {
        let recorder = &self.recorder;
        let failed = |Panicked| {
            Wrong::new(StatusCode::INTERNAL_SERVER_ERROR, "a mistake in durward; nothing was decided")
        };
        let Some(sources) = &self.sources else {
            let decide = || match recorder.is_on() {
                true => pdp.decide_recorded(request, recorder.recording()),
                false => (pdp.decide(request), Vec::new()),
            };
            return self.guarded(asked, decide).map_err(failed);
        };
        let mut records = Vec::new();
        let decide = |source: &dyn AttributeSource| {
            self.guarded(asked, || {
                if !recorder.is_on() {
                    return pdp.decide_with(request, source);
                }
                let (response, recorded) = pdp.decide_recorded_with(request, source, recorder.recording());
                records = recorded;
                response
            })
        };
        Ok(match sources.decide(decide).await.map_err(failed)? {
            Rounds::Enough(response) => (response, records),
            Rounds::TooMany(message) => {
                let snapshot = records.first().map_or_else(|| pdp.snapshot().id, |record| record.snapshot);
                let records = vec![Record::failed(snapshot, &message)];
                (Response::indeterminate(Status::processing_error(message)), records)
            }
        })
    }

    /// Hands the decision log an entry for each result.
    fn record(
        &self,
        asked: &Asked<'_>,
        pdp: &Pdp,
        request: Request,
        response: Response,
        mut records: Vec<Record>,
        duration: Duration,
    ) {
        let parts = response.results.len();
        if records.len() != parts {
            records = vec![Record { snapshot: pdp.snapshot().id, ..Record::default() }; parts];
        }
        let mut request = Some(request);
        for ((number, result), mut record) in response.results.into_iter().enumerate().zip(records) {
            if let Some(reason) = token_reason(&result) {
                // No policy decided about a subject whose token is not taken.
                let failures = vec![Failure::outside(reason)];
                record = Record { snapshot: record.snapshot, failures, ..Record::default() };
            } else if result.decision != Decision::Indeterminate {
                record.failures.clear();
            } else if record.failures.is_empty() {
                let message = result.status.message.as_deref().unwrap_or("no reason is known");
                record.failures = vec![Failure::outside(message)];
            }
            self.recorder.trace((asked.surface, asked.route, asked.request_id), None, &record);
            self.recorder.record(|time| {
                let request = request.take().map(Box::new);
                Entry {
                    time,
                    surface: asked.surface,
                    route: asked.route,
                    request_id: asked.request_id.into(),
                    client: asked.client,
                    tenant: asked.caller.tenant.clone(),
                    caller: Some(asked.caller.name.clone()).filter(|name| !name.is_empty()),
                    duration: Some(duration),
                    record: Arc::new(record),
                    bytes: if request.is_some() { asked.length } else { 0 },
                    answer: LoggedAnswer::Result {
                        request,
                        result: Box::new(result),
                        part: (number + 1, parts),
                    },
                }
            });
        }
    }
}
