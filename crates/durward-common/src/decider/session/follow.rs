//! One subscription of a session, through what becomes of the session.
//!
//! ```text
//!   Finding --- found ---> Known --- something changed ---> Finding
//!      |                     |
//!      |                     '--- it ended: deny ---> Over
//!      '--- this node cannot say: indeterminate ---> Finding, after a while
//! ```

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use durward_pdp::ir::Value;
use durward_pdp::record::Record;
use durward_session::Purpose;
use smol_str::SmolStr;

use super::{outcome, reason, with_subject};
use crate::access::subject::{NotTaken, Shown, Subjects, Turn, Turning, document};
use crate::decider::{Decider, Decision, Decisions, Full, Outcome, Subscription};

/// How soon it is tried again where this node could not say.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A session that was found: the subject that policies see, and what tells what becomes of it.
struct ResolvedSession {
    subject: Value,
    /// The subject as a text, to tell whether it is another one.
    text: String,
    turn: Turning,
}

type Finding = Pin<Box<dyn Future<Output = Result<ResolvedSession, NotTaken>> + Send>>;

fn find(subjects: Subjects, shown: Shown, purpose: Purpose) -> Finding {
    Box::pin(async move {
        let (subject, turn) = subjects.follow(shown, purpose).await?;
        let subject = document::of(&subject);
        let text = format!("{subject:?}");
        Ok(ResolvedSession { subject, text, turn })
    })
}

/// The same after a while, where this node could not say. That a stream stays open is no use of the session.
fn find_again(subjects: Subjects, shown: Shown) -> Finding {
    Box::pin(async move {
        loop {
            tokio::time::sleep(TRY_AGAIN_AFTER).await;
            match find(subjects.clone(), shown.clone(), Purpose::Look).await {
                Err(NotTaken::Unknown) => {}
                found => return found,
            }
        }
    })
}

pub(super) struct Follow {
    subjects: Subjects,
    inner: Arc<dyn Decider>,
    tenant: SmolStr,
    subscription: Subscription,
    shown: Shown,
    state: State,
    /// What is decided for the subject as it is.
    decided: Option<(String, Box<dyn Decisions>)>,
    /// What was said last: nothing is said twice.
    said: Option<Arc<Decision>>,
    /// The record of that.
    record: Option<Arc<Record>>,
}

enum State {
    Finding(Finding),
    Known(Turning),
    /// Nothing changes any more.
    Over,
}

impl Follow {
    pub(super) fn new(
        subjects: Subjects,
        inner: Arc<dyn Decider>,
        tenant: &str,
        subscription: Subscription,
        shown: Shown,
    ) -> Follow {
        // Asking is a use of the session.
        let state = State::Finding(find(subjects.clone(), shown.clone(), Purpose::Use));
        let tenant = tenant.into();
        Follow {
            subjects,
            inner,
            tenant,
            subscription,
            shown,
            state,
            decided: None,
            said: None,
            record: None,
        }
    }

    /// The session is not to be counted on. It may be later, where this node could not say.
    fn without(&mut self, why: NotTaken) -> Option<Arc<Decision>> {
        self.decided = None;
        self.state = match why {
            NotTaken::Unknown => State::Finding(find_again(self.subjects.clone(), self.shown.clone())),
            NotTaken::Refused => State::Over,
        };
        self.own(outcome(why), reason(why))
    }

    /// For good.
    fn over(&mut self, outcome: Outcome, reason: &str) -> Option<Arc<Decision>> {
        self.decided = None;
        self.state = State::Over;
        self.own(outcome, reason)
    }

    /// A decision that no policy made.
    fn own(&mut self, outcome: Outcome, reason: &str) -> Option<Arc<Decision>> {
        self.news(Arc::new(Decision::plain(outcome)), || Some(Arc::new(Record::failed(0, reason))))
    }

    fn found(&mut self, found: ResolvedSession) -> Option<Arc<Decision>> {
        let ResolvedSession { subject, text, turn } = found;
        self.state = State::Known(turn);
        if self.decided.as_ref().is_some_and(|(known, _)| *known == text) {
            return None;
        }
        let subscription = with_subject(&self.subscription, subject);
        match self.inner.subscribe(&self.tenant, subscription) {
            Ok(decisions) => {
                self.decided = Some((text, decisions));
                None
            }
            Err(Full) => self.over(Outcome::Indeterminate, "there are too many subscriptions"),
        }
    }

    fn turned(&mut self, turn: Turn) -> Option<Arc<Decision>> {
        match turn {
            Turn::Over(why) => self.without(why),
            Turn::Stopped => self.over(Outcome::Indeterminate, "this node follows no sessions any more"),
            Turn::Changed => {
                self.state = State::Finding(find(self.subjects.clone(), self.shown.clone(), Purpose::Look));
                None
            }
        }
    }

    /// The decision, unless it was said already.
    fn news(
        &mut self,
        decision: Arc<Decision>,
        record: impl FnOnce() -> Option<Arc<Record>>,
    ) -> Option<Arc<Decision>> {
        if self.said.as_ref().is_some_and(|said| said.equals(&decision)) {
            return None;
        }
        self.record = record();
        self.said = Some(Arc::clone(&decision));
        Some(decision)
    }
}

impl Decisions for Follow {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Arc<Decision>> {
        loop {
            // What has become of the session first: once its end is known, no other decision is told.
            let said = match &mut self.state {
                State::Over => return Poll::Pending,
                State::Finding(finding) => match finding.as_mut().poll(task) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(why)) => self.without(why),
                    Poll::Ready(Ok(found)) => self.found(found),
                },
                State::Known(turn) => match turn.as_mut().poll(task) {
                    Poll::Ready(turn) => self.turned(turn),
                    Poll::Pending => {
                        let Some((_, decisions)) = &mut self.decided else { return Poll::Pending };
                        match decisions.poll_next(task) {
                            Poll::Pending => return Poll::Pending,
                            Poll::Ready(decision) => {
                                let record = decisions.record();
                                self.news(decision, || record)
                            }
                        }
                    }
                },
            };
            if let Some(decision) = said {
                return Poll::Ready(decision);
            }
        }
    }

    fn record(&self) -> Option<Arc<Record>> {
        self.record.clone()
    }
}
