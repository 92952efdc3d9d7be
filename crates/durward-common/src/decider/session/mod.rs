//! Subscriptions whose subject is a session, or a token from one: `{"session": "TOKEN"}`, `{"jwt": "TOKEN"}`.
//!
//! The subject that policies see says whose session it is: name, realm, level, groups, attributes, properties. Whoever shows a token
//! that is not accepted is denied, whatever policies say; a live decision turns to deny in the moment the session ends, for good.
//! Where this node cannot say, the decision is indeterminate until it can. Asking counts as a use of the session;
//! that a stream stays open does not.

mod follow;
mod once;

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use durward_pdp::ir::Value;
use durward_pdp::ir::path::Element;
use durward_pdp::ir::question::{Attributes, RawSubscription};
use durward_pdp::plan::Columns;
use durward_pdp::record::Record;
use smol_str::SmolStr;

use follow::Follow;
use once::DecideOnce;

use super::{
    Decider, Decision, Decisions, Full, MultiDecisions, MultiSubscription, Named, NoPlan, Once, Outcome,
    Planning, Subscription,
};
use crate::access::subject::{NotTaken, Shown, Subjects, document};

/// Puts sessions in the place of tokens, before another one decides.
pub struct OfSessions {
    inner: Arc<dyn Decider>,
    subjects: Subjects,
}

impl OfSessions {
    /// Asks `inner` with the subjects that tokens are of.
    pub fn new(inner: Arc<dyn Decider>, subjects: Subjects) -> OfSessions {
        OfSessions { inner, subjects }
    }

    fn follow(&self, tenant: &str, subscription: Subscription, shown: Shown) -> Follow {
        Follow::new(self.subjects.clone(), Arc::clone(&self.inner), tenant, subscription, shown)
    }

    /// What is shown, where the subject is one.
    fn shown(&self, subscription: &Subscription) -> Option<Shown> {
        let shown = document::shown(subscription.element(Element::Subject));
        shown.filter(|shown| self.subjects.has(shown))
    }
}

/// What is decided where a token is not to be counted on.
fn outcome(not_taken: NotTaken) -> Outcome {
    match not_taken {
        NotTaken::Refused => Outcome::Deny,
        NotTaken::Unknown => Outcome::Indeterminate,
    }
}

/// Why, in the record.
fn reason(not_taken: NotTaken) -> &'static str {
    match not_taken {
        NotTaken::Refused => "the token that the subject is named by is not accepted",
        NotTaken::Unknown => "whether the subject's token is good cannot be said at the moment",
    }
}

fn with_subject(subscription: &Subscription, subject: Value) -> Subscription {
    let of = |element| subscription.element(element).clone();
    let made =
        Subscription::new(subject, of(Element::Action), of(Element::Resource), of(Element::Environment));
    made.with_secrets(subscription.secrets().clone())
}

impl Decider for OfSessions {
    fn decide_once(&self, tenant: &str, subscription: Subscription) -> Result<Once, Full> {
        match self.shown(&subscription) {
            None => self.inner.decide_once(tenant, subscription),
            Some(shown) => {
                let (subjects, inner) = (self.subjects.clone(), Arc::clone(&self.inner));
                Ok(Once::Waiting(Box::new(DecideOnce::new(subjects, inner, tenant, subscription, shown))))
            }
        }
    }

    fn decide_raw(&self, tenant: &str, raw: &RawSubscription<'_>) -> Option<Decision> {
        let may_show = document::TOKENS.iter().any(|name| raw.has_key(Element::Subject, name));
        if may_show { None } else { self.inner.decide_raw(tenant, raw) }
    }

    fn decide_known(&self, tenant: &str, known: &dyn Attributes) -> Option<Decision> {
        self.inner.decide_known(tenant, known)
    }

    fn plan<'d>(
        &'d self,
        tenant: &'d str,
        subscription: Subscription,
        columns: Arc<Columns>,
    ) -> Planning<'d> {
        let Some(shown) = self.shown(&subscription) else {
            return self.inner.plan(tenant, subscription, columns);
        };
        Box::pin(async move {
            let subject = self.subjects.find(&shown).await.map_err(|not_taken| match not_taken {
                NotTaken::Refused => NoPlan::NotPermitted,
                NotTaken::Unknown => NoPlan::Unknown,
            })?;
            let subscription = with_subject(&subscription, document::of(&subject));
            self.inner.plan(tenant, subscription, columns).await
        })
    }

    fn snapshot(&self, tenant: &str) -> u64 {
        self.inner.snapshot(tenant)
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

    fn record(&self, id: &str) -> Option<Arc<Record>> {
        let (_, decisions) = self.members.iter().find(|(name, _)| name == id)?;
        decisions.record()
    }
}
