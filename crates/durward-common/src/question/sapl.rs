//! A question as a SAPL subscription: decided by the tenant's policies and recorded.

use std::sync::Arc;
use std::time::Instant;

use durward_pdp::ir::Value;
use durward_pdp::ir::path::Element;
use durward_pdp::record::{Record, Recorded};
use hyper::StatusCode;

use super::{Asked, Asker, Panicked, Question, SubjectBy, Verdict, Wrong};
use crate::access::subject::fence::SubjectError;
use crate::access::subject::{Shown, document};
use crate::decider::{Decision, Full, Once, Outcome, Subscription};

impl Asker {
    pub(super) async fn decide_sapl(
        &self,
        asked: &Asked<'_>,
        question: &Question,
        by: &SubjectBy,
    ) -> Result<Verdict, Wrong> {
        let subscription = self.subscription(question, by);
        self.check_subject(asked, subscription.element(Element::Subject), by)?;
        let account = self.recorder.account(|| asked.as_logged());
        let account = account.map(|account| match by {
            // A log has the subject as it was shown, however often it was looked at.
            SubjectBy::Found(found) => {
                let as_shown = self.mapping.subscription(question, Some(named_by(found.shown())));
                account.asks_once(&as_shown, asked.length)
            }
            SubjectBy::Caller | SubjectBy::Token(_) | SubjectBy::Verified => {
                account.asks_once(&subscription, asked.length)
            }
        });
        let begun = Instant::now();
        let (decision, record) = self.decided(asked, subscription).await?;
        let verdict = Verdict::of_sapl(&decision);
        let time = Some(begun.elapsed());
        self.metrics.told(&decision, time);
        if let Some(account) = account.filter(|_| asked.logged.wants(&verdict)) {
            account.told(None, &decision, record, time);
        }
        Ok(verdict)
    }

    pub(super) fn subscription(&self, question: &Question, by: &SubjectBy) -> Subscription {
        self.mapping.subscription(question, shown_subject(by))
    }

    pub(super) fn check_subject(
        &self,
        asked: &Asked<'_>,
        subject: &Value,
        by: &SubjectBy,
    ) -> Result<(), Wrong> {
        let checked = match by {
            SubjectBy::Verified => self.fence.check_verified(subject),
            // What is bound to a key is never found: whoever looked has seen no proof.
            SubjectBy::Found(_) => Ok(()),
            SubjectBy::Caller | SubjectBy::Token(_) => self.fence.check(subject, asked.caller),
        };
        checked.map_err(|error| match error {
            SubjectError::Mixed | SubjectError::Bound => Wrong::request(error.to_string()),
            SubjectError::Asserted => Wrong::asserted(),
        })
    }

    async fn decided(
        &self,
        asked: &Asked<'_>,
        subscription: Subscription,
    ) -> Result<(Arc<Decision>, Option<Arc<Record>>), Wrong> {
        let Some(decider) = self.decider.get() else {
            return Err(Wrong::new(StatusCode::SERVICE_UNAVAILABLE, "nobody decides yet; try again"));
        };
        let tenant = &asked.caller.tenant;
        Ok(match self.guarded(asked, || decider.decide_once(tenant, subscription)) {
            Ok(Ok(Once::Decided(decision))) => (Arc::new(decision), None),
            Ok(Ok(Once::Recorded(Recorded { decision, record }))) => (decision, Some(record)),
            Ok(Ok(Once::Waiting(mut decisions))) => {
                let decision = std::future::poll_fn(|task| decisions.poll_next(task)).await;
                (decision, decisions.record())
            }
            Ok(Err(Full)) => {
                self.metrics.limit_hit("sapl.subscriptions");
                let message = "there is no room for a question that waits for attributes; try again";
                return Err(Wrong::new(StatusCode::SERVICE_UNAVAILABLE, message));
            }
            Err(Panicked) => {
                let record = Record::failed(0, "a mistake in durward");
                (Arc::new(Decision::plain(Outcome::Indeterminate)), Some(Arc::new(record)))
            }
        })
    }
}

/// What is in the place of a subject that is named by a token: the token, or whose it was found to be.
fn shown_subject(by: &SubjectBy) -> Option<Value> {
    match by {
        SubjectBy::Caller | SubjectBy::Verified => None,
        SubjectBy::Token(shown) => Some(named_by(shown)),
        SubjectBy::Found(found) => Some(document::of(found.subject())),
    }
}

fn named_by(shown: &Shown) -> Value {
    let (name, token) = match shown {
        Shown::Session(token) => ("session", token),
        Shown::Jwt(token) => ("jwt", token),
    };
    Value::object([(name, Value::Text(token.clone()))])
}
