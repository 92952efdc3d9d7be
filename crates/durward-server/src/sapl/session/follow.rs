//! One subscription of a session, through what becomes of the session.
//!
//! ```text
//!   Finding --- found ---> Known --- something changed ---> Finding
//!      |                     |
//!      |                     '--- it ended: deny ---> Over
//!      '--- this node cannot say: indeterminate ---> Finding, after a while
//! ```

use std::sync::Arc;
use std::task::{Context, Poll};

use durward_pdp::ir::{Value, json};
use durward_session::{Purpose, Service};
use smol_str::SmolStr;

use super::look::{Finding, Found, HowOften, Turn, Turning, find, find_again};
use super::with_subject;
use crate::sapl::{Decider, Decision, Decisions, Full, Outcome, Subscription};

pub(super) struct Follow {
    service: Service,
    inner: Arc<dyn Decider>,
    tenant: SmolStr,
    subscription: Subscription,
    token: SmolStr,
    often: HowOften,
    state: State,
    /// What is decided for the subject as it is.
    decided: Option<(String, Box<dyn Decisions>)>,
    /// What was said last: nothing is said twice.
    said: Option<Arc<Decision>>,
}

enum State {
    Finding(Finding),
    Known(Turning),
    /// Nothing changes any more.
    Over,
}

impl Follow {
    pub(super) fn new(
        service: Service,
        inner: Arc<dyn Decider>,
        tenant: &str,
        subscription: Subscription,
        token: SmolStr,
        often: HowOften,
    ) -> Follow {
        // Asking is a use of the session.
        let state = State::Finding(find(service.clone(), token.clone(), Purpose::Use, often));
        let tenant = tenant.into();
        Follow { service, inner, tenant, subscription, token, often, state, decided: None, said: None }
    }

    /// The session is not to be counted on. It may be later, where this node could not say.
    fn without(&mut self, outcome: Outcome) -> Option<Arc<Decision>> {
        self.decided = None;
        self.state = match (outcome, self.often) {
            (Outcome::Indeterminate, HowOften::Always) => {
                State::Finding(find_again(self.service.clone(), self.token.clone()))
            }
            (_, _) => State::Over,
        };
        self.news(Arc::new(Decision::plain(outcome)))
    }

    /// For good.
    fn over(&mut self, outcome: Outcome) -> Option<Arc<Decision>> {
        self.decided = None;
        self.state = State::Over;
        self.news(Arc::new(Decision::plain(outcome)))
    }

    fn found(&mut self, found: Found) -> Option<Arc<Decision>> {
        let Found { subject, turn } = found;
        self.state = State::Known(turn);
        if self.decided.as_ref().is_some_and(|(known, _)| *known == subject) {
            return None;
        }
        let value = json::read(subject.as_bytes()).unwrap_or(Value::Undefined);
        let subscription = with_subject(&self.subscription, value);
        match self.inner.subscribe(&self.tenant, subscription) {
            Ok(decisions) => {
                self.decided = Some((subject, decisions));
                None
            }
            Err(Full) => self.over(Outcome::Indeterminate),
        }
    }

    fn turned(&mut self, turn: Turn) -> Option<Arc<Decision>> {
        match turn {
            Turn::Over(outcome) => self.without(outcome),
            Turn::Stopped => self.over(Outcome::Indeterminate),
            Turn::Changed => {
                let finding = find(self.service.clone(), self.token.clone(), Purpose::Look, HowOften::Always);
                self.state = State::Finding(finding);
                None
            }
        }
    }

    /// The decision, unless it was said already.
    fn news(&mut self, decision: Arc<Decision>) -> Option<Arc<Decision>> {
        if self.said.as_ref().is_some_and(|said| said.equals(&decision)) {
            return None;
        }
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
                    Poll::Ready(Err(outcome)) => self.without(outcome),
                    Poll::Ready(Ok(found)) => self.found(found),
                },
                State::Known(turn) => match turn.as_mut().poll(task) {
                    Poll::Ready(turn) => self.turned(turn),
                    Poll::Pending => {
                        let Some((_, decisions)) = &mut self.decided else { return Poll::Pending };
                        match decisions.poll_next(task) {
                            Poll::Pending => return Poll::Pending,
                            Poll::Ready(decision) => self.news(decision),
                        }
                    }
                },
            };
            if let Some(decision) = said {
                return Poll::Ready(decision);
            }
        }
    }
}
