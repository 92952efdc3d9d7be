//! A question as an XACML request: decided by the tenant's policies, with what attribute sources know, and recorded result by result.

use std::sync::Arc;
use std::time::Instant;

use durward_pdp::record::Record;
use durward_pdp::xacml::response::Status;
use durward_pdp::{AttributeSource, Pdp, Request, Response};
use durward_sources::Rounds;
use hyper::StatusCode;

use super::decide::{Asking, Logged, Panicked};
use super::question::{Question, Wrong};
use super::verdict::Verdict;
use crate::access::subject::Shown;
use crate::access::subject::attributes::{self, NO_SESSIONS, Named};
use crate::decider::{Decision, Outcome};
use crate::decision_log::DecidedRequest;

impl Asking<'_> {
    pub(super) async fn decide_xacml(
        &self,
        question: &Question,
        token: Option<Shown>,
        logged: Logged,
    ) -> Result<Verdict, Wrong> {
        let surface = self.surface;
        // A tenant without policies: nothing can be decided.
        let Some(pdp) = surface.policies.pdp_of(&self.identity.tenant) else {
            let decision = Arc::new(Decision::plain(Outcome::Indeterminate));
            surface.metrics.told(&decision, None);
            if let Some(account) = self.account() {
                let record = Record::failed(0, "there are no policies in force for this tenant");
                account.told(None, &decision, Some(Arc::new(record)), None);
            }
            return Ok(Verdict::plain(Outcome::Indeterminate));
        };
        let request = surface.attributes.request(question, token.as_ref())?;
        let mut named = self.named(request).await?;
        let mut request = std::mem::replace(&mut named.request, Request::builder().build());
        let begun = Instant::now();
        let (mut response, records) = self.response(&pdp, &request).await?;
        let duration = begun.elapsed();
        named.settle(&mut request, &mut response);
        surface.metrics.decided(response.results.iter().map(|result| result.decision), duration);
        let verdict = Verdict::of_xacml(&response.results);
        let is_told =
            logged == Logged::Each || verdict.is_true(&surface.telling(question.context.as_deref()));
        if is_told && surface.recorder.is_on() {
            let (snapshot, length) = (pdp.snapshot().id, self.length);
            let decided = DecidedRequest { request, response, records, snapshot, duration, length };
            surface.recorder.results(&self.caller(), decided);
        }
        Ok(verdict)
    }

    /// The request with the subject that a token names.
    async fn named(&self, request: Request) -> Result<Named, Wrong> {
        let lets_assert = self.surface.fence.lets_assert(Some(self.identity));
        match attributes::looked_at(&request, lets_assert).map_err(Wrong::request)? {
            None => Ok(Named::of(request)),
            Some(tokens) => {
                let subjects = self.surface.subjects.as_ref().ok_or_else(|| Wrong::request(NO_SESSIONS))?;
                tokens.named(request, subjects).await.map_err(Wrong::request)
            }
        }
    }

    async fn response(&self, pdp: &Pdp, request: &Request) -> Result<(Response, Vec<Record>), Wrong> {
        let recorder = &self.surface.recorder;
        let failed = |Panicked| {
            Wrong::new(StatusCode::INTERNAL_SERVER_ERROR, "a mistake in durward; nothing was decided")
        };
        let Some(sources) = &self.surface.sources else {
            let decide = || match recorder.is_on() {
                true => pdp.decide_recorded(request, recorder.recording()),
                false => (pdp.decide(request), Vec::new()),
            };
            return self.guarded(decide).map_err(failed);
        };
        let mut records = Vec::new();
        let decide = |source: &dyn AttributeSource| {
            self.guarded(|| {
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
