//! Subscriptions whose subject is a session, or a token from one: `{"session": "TOKEN"}`, `{"jwt": "TOKEN"}`.
//!
//! The subject that policies see says whose session it is: name, realm, level, groups, attributes, properties. Whoever shows a token
//! that is not accepted is denied, whatever policies say; a live decision turns to deny in the moment the session ends, for good.
//! Where this node cannot say, the decision is indeterminate. Asking counts as a use of the session; that a stream stays open does not.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use durward_pdp::ir::Value;
use durward_pdp::ir::path::Element;
use smol_str::SmolStr;

use super::{
    Decider, Decision, Decisions, Full, MultiDecisions, MultiSubscription, Named, Once, Outcome, Subscription,
};
use crate::subject::{NotTaken, Over, Shown, Subjects, document};

/// Puts sessions in the place of tokens, before another one decides.
pub(crate) struct OfSessions {
    inner: Arc<dyn Decider>,
    subjects: Subjects,
}

impl OfSessions {
    pub(crate) fn new(inner: Arc<dyn Decider>, subjects: Subjects) -> OfSessions {
        OfSessions { inner, subjects }
    }

    fn follow(&self, tenant: &str, subscription: Subscription, shown: Shown) -> Follow {
        Follow {
            state: State::Finding(find(self.subjects.clone(), shown), Box::new(subscription)),
            inner: Arc::clone(&self.inner),
            tenant: tenant.into(),
        }
    }

    /// What is shown, where the subject is one.
    fn shown(&self, subscription: &Subscription) -> Option<Shown> {
        let shown = document::shown(subscription.element(Element::Subject));
        shown.filter(|shown| self.subjects.has(shown))
    }
}

fn with_subject(subscription: &Subscription, subject: Value) -> Subscription {
    let of = |element| subscription.element(element).clone();
    let made =
        Subscription::new(subject, of(Element::Action), of(Element::Resource), of(Element::Environment));
    made.with_secrets(subscription.secrets().clone())
}

type Finding = Pin<Box<dyn Future<Output = Result<(Value, Over), NotTaken>> + Send>>;

fn find(subjects: Subjects, shown: Shown) -> Finding {
    Box::pin(async move {
        let (subject, over) = subjects.follow(shown).await?;
        Ok((document::of(&subject), over))
    })
}

fn outcome(not_taken: NotTaken) -> Outcome {
    match not_taken {
        NotTaken::Refused => Outcome::Deny,
        NotTaken::Unknown => Outcome::Indeterminate,
    }
}

/// One subscription, through its states.
struct Follow {
    state: State,
    inner: Arc<dyn Decider>,
    tenant: SmolStr,
}

enum State {
    Finding(Finding, Box<Subscription>),
    Deciding(Box<dyn Decisions>, Over),
    /// It was said; nothing changes any more.
    Over,
}

impl Follow {
    fn say(&mut self, outcome: Outcome) -> Poll<Arc<Decision>> {
        self.state = State::Over;
        Poll::Ready(Arc::new(Decision::plain(outcome)))
    }
}

impl Decisions for Follow {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Arc<Decision>> {
        loop {
            match &mut self.state {
                State::Over => return Poll::Pending,
                State::Finding(finding, subscription) => match finding.as_mut().poll(task) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(why)) => return self.say(outcome(why)),
                    Poll::Ready(Ok((subject, over))) => {
                        let subscription = with_subject(subscription, subject);
                        match self.inner.subscribe(&self.tenant, subscription) {
                            Ok(decisions) => self.state = State::Deciding(decisions, over),
                            Err(Full) => return self.say(Outcome::Indeterminate),
                        }
                    }
                },
                State::Deciding(decisions, over) => {
                    // The end first: once it is known, no other decision is told.
                    if let Poll::Ready(why) = over.as_mut().poll(task) {
                        return self.say(outcome(why));
                    }
                    return decisions.poll_next(task);
                }
            }
        }
    }
}

impl Decider for OfSessions {
    fn decide_once(&self, tenant: &str, subscription: Subscription) -> Result<Once, Full> {
        match self.shown(&subscription) {
            None => self.inner.decide_once(tenant, subscription),
            Some(shown) => Ok(Once::Waiting(Box::new(self.follow(tenant, subscription, shown)))),
        }
    }

    fn subscribe(&self, tenant: &str, subscription: Subscription) -> Result<Box<dyn Decisions>, Full> {
        match self.shown(&subscription) {
            None => self.inner.subscribe(tenant, subscription),
            Some(shown) => Ok(Box::new(self.follow(tenant, subscription, shown))),
        }
    }

    fn subscribe_all(
        &self,
        tenant: &str,
        subscriptions: MultiSubscription,
    ) -> Result<Box<dyn MultiDecisions>, Full> {
        if !subscriptions.subscriptions.iter().any(|(_, one)| self.shown(one).is_some()) {
            return self.inner.subscribe_all(tenant, subscriptions);
        }
        let mut members = Vec::new();
        for (id, subscription) in subscriptions.subscriptions {
            let decisions: Box<dyn Decisions> = match self.shown(&subscription) {
                Some(shown) => Box::new(self.follow(tenant, subscription, shown)),
                None => self.inner.subscribe(tenant, subscription)?,
            };
            members.push((id, decisions));
        }
        Ok(Box::new(FollowAll { members, known: HashMap::new() }))
    }
}

/// Several subscriptions, each followed alone.
struct FollowAll {
    members: Vec<(SmolStr, Box<dyn Decisions>)>,
    known: HashMap<SmolStr, Arc<Decision>>,
}

impl FollowAll {
    /// Takes what there is. What has changed, in the order of the caller.
    fn changed(&mut self, task: &mut Context<'_>) -> Named {
        let mut changed = Vec::new();
        for (id, decisions) in &mut self.members {
            let mut latest = None;
            while let Poll::Ready(decision) = decisions.poll_next(task) {
                latest = Some(decision);
            }
            if let Some(decision) = latest {
                self.known.insert(id.clone(), Arc::clone(&decision));
                changed.push((id.clone(), decision));
            }
        }
        changed
    }
}

impl MultiDecisions for FollowAll {
    fn poll_all(&mut self, task: &mut Context<'_>) -> Poll<Named> {
        if self.changed(task).is_empty() || self.known.len() < self.members.len() {
            return Poll::Pending;
        }
        let all = self.members.iter();
        Poll::Ready(all.filter_map(|(id, _)| Some((id.clone(), self.known.get(id).cloned()?))).collect())
    }

    fn poll_changed(&mut self, task: &mut Context<'_>) -> Poll<Named> {
        match self.changed(task) {
            changed if changed.is_empty() => Poll::Pending,
            changed => Poll::Ready(changed),
        }
    }
}
