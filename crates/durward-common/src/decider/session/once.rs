//! One decision about a session: the session is found, and then it is decided as without one. Nothing of it is followed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use durward_pdp::record::{Record, Recorded};
use smol_str::SmolStr;

use super::{outcome, reason, with_subject};
use crate::access::subject::{NotTaken, Shown, Subject, Subjects, document};
use crate::decider::{Decider, Decision, Decisions, Full, Once, Outcome, Subscription};

type Finding = Pin<Box<dyn Future<Output = Result<Subject, NotTaken>> + Send>>;

/// A decision on its way.
pub(super) struct DecideOnce {
    inner: Arc<dyn Decider>,
    tenant: SmolStr,
    subscription: Subscription,
    state: State,
    record: Option<Arc<Record>>,
}

enum State {
    Finding(Finding),
    /// Policies wait for attributes.
    Waiting(Box<dyn Decisions>),
    /// It is told, and nothing comes behind it.
    Told,
}

impl DecideOnce {
    pub(super) fn new(
        subjects: Subjects,
        inner: Arc<dyn Decider>,
        tenant: &str,
        subscription: Subscription,
        shown: Shown,
    ) -> DecideOnce {
        // Asking is a use of the session.
        let state = State::Finding(Box::pin(async move { subjects.find(&shown).await }));
        DecideOnce { inner, tenant: tenant.into(), subscription, state, record: None }
    }

    fn found(&mut self, found: Result<Subject, NotTaken>) -> Option<Arc<Decision>> {
        let subject = match found {
            Ok(subject) => document::of(&subject),
            Err(why) => return Some(self.own(outcome(why), reason(why))),
        };
        match self.inner.decide_once(&self.tenant, with_subject(&self.subscription, subject)) {
            Ok(Once::Decided(decision)) => Some(self.tell(Arc::new(decision), None)),
            Ok(Once::Recorded(Recorded { decision, record })) => Some(self.tell(decision, Some(record))),
            Ok(Once::Waiting(decisions)) => {
                self.state = State::Waiting(decisions);
                None
            }
            Err(Full) => Some(self.own(Outcome::Indeterminate, "there are too many subscriptions")),
        }
    }

    /// A decision that no policy made.
    fn own(&mut self, outcome: Outcome, reason: &str) -> Arc<Decision> {
        self.tell(Arc::new(Decision::plain(outcome)), Some(Arc::new(Record::failed(0, reason))))
    }

    fn tell(&mut self, decision: Arc<Decision>, record: Option<Arc<Record>>) -> Arc<Decision> {
        self.state = State::Told;
        self.record = record;
        decision
    }
}

impl Decisions for DecideOnce {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Arc<Decision>> {
        loop {
            let told = match &mut self.state {
                State::Told => return Poll::Pending,
                State::Finding(finding) => match finding.as_mut().poll(task) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(found) => self.found(found),
                },
                State::Waiting(decisions) => match decisions.poll_next(task) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(decision) => {
                        let record = decisions.record();
                        Some(self.tell(decision, record))
                    }
                },
            };
            if let Some(decision) = told {
                return Poll::Ready(decision);
            }
        }
    }

    fn record(&self) -> Option<Arc<Record>> {
        self.record.clone()
    }
}
