//! A question as an XACML request: decided by the tenant's policies, with what attribute sources know, and recorded result by result.

use std::sync::Arc;
use std::time::Instant;

use durward_pdp::record::Record;
use durward_pdp::xacml::response::Status;
use durward_pdp::{AttributeSource, Pdp, Request, Response};
use durward_sources::Rounds;
use hyper::StatusCode;

use super::{Asked, Asker, Panicked, Question, SubjectBy, Verdict, Wrong};
use crate::access::subject::attributes::{self, NO_SESSIONS, Named};
use crate::access::subject::fence::SubjectError;
use crate::decider::{Decision, Outcome};
use crate::decision_log::DecidedRequest;

impl Asker {
    pub(super) async fn decide_xacml(
        &self,
        asked: &Asked<'_>,
        question: &Question,
        by: &SubjectBy,
    ) -> Result<Verdict, Wrong> {
        // A tenant without policies: nothing can be decided.
        let Some(pdp) = self.policies.pdp_of(&asked.caller.tenant) else {
            let decision = Arc::new(Decision::plain(Outcome::Indeterminate));
            self.metrics.told(&decision, None);
            let verdict = Verdict::plain(Outcome::Indeterminate);
            if asked.logged.wants(&verdict)
                && let Some(account) = self.recorder.account(|| asked.as_logged())
            {
                let record = Record::failed(0, "there are no policies in force for this tenant");
                account.told(None, &decision, Some(Arc::new(record)), None);
            }
            return Ok(verdict);
        };
        let token = match by {
            SubjectBy::Token(token) => Some(token),
            SubjectBy::Found(found) => Some(found.shown()),
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
            let (snapshot, length) = (pdp.snapshot().id, asked.length);
            let decided = DecidedRequest { request, response, records, snapshot, duration, length };
            self.recorder.results(&asked.as_logged(), decided);
        }
        Ok(verdict)
    }

    /// The request with the subject that a token names.
    async fn named(&self, asked: &Asked<'_>, request: Request, by: &SubjectBy) -> Result<Named, Wrong> {
        let is_verified = matches!(by, SubjectBy::Verified);
        let lets_assert = is_verified || self.lets_assert(asked.caller);
        match attributes::looked_at(&request, lets_assert).map_err(Wrong::request)? {
            None => Ok(Named::of(request)),
            // Nothing that was verified is a token to be looked at, whatever its properties are called.
            Some(_) if is_verified => Err(Wrong::request(SubjectError::Mixed.to_string())),
            Some(tokens) => {
                let subjects = self.subjects.as_ref().ok_or_else(|| Wrong::request(NO_SESSIONS))?;
                let named = match by {
                    SubjectBy::Found(found) => tokens.named_as(request, subjects, found),
                    SubjectBy::Caller | SubjectBy::Token(_) | SubjectBy::Verified => {
                        Box::pin(tokens.named(request, subjects)).await
                    }
                };
                named.map_err(Wrong::request)
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
}
