//! Subscriptions whose subject is a session: `{"session": "TOKEN"}`.
//!
//! The subject that policies see says whose session it is: name, realm, level, groups, attributes, properties. Whoever shows a token
//! that is not accepted is denied, whatever policies say; a live decision turns to deny in the moment the session ends, for good.
//! Where this node cannot say, the decision is indeterminate. Asking counts as a use of the session; that a stream stays open does not.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use durward_pdp::ir::Value;
use durward_pdp::ir::json;
use durward_pdp::ir::path::Element;
use durward_session::identity::session::{Refusal, Session};
use durward_session::identity::user::Account;
use durward_session::{EndedSessions, Failed, Purpose, Service, Who};
use serde_json::json;
use smol_str::SmolStr;

use super::{
    Decider, Decision, Decisions, Full, MultiDecisions, MultiSubscription, Named, Once, Outcome, Subscription,
};

/// How often a session is looked at that may end without being told: by lying unused, or by its time.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Puts sessions in the place of tokens, before another one decides.
pub(crate) struct OfSessions {
    inner: Arc<dyn Decider>,
    service: Service,
}

impl OfSessions {
    pub(crate) fn new(inner: Arc<dyn Decider>, service: Service) -> OfSessions {
        OfSessions { inner, service }
    }

    fn follow(&self, tenant: &str, subscription: Subscription, token: SmolStr) -> Follow {
        Follow {
            state: State::Finding(find(self.service.clone(), token), Box::new(subscription)),
            inner: Arc::clone(&self.inner),
            tenant: tenant.into(),
        }
    }
}

/// The token, where the subject is one.
fn token(subscription: &Subscription) -> Option<SmolStr> {
    let Value::Object(subject) = subscription.element(Element::Subject) else { return None };
    match subject.get("session") {
        Some(Value::Text(token)) if subject.len() == 1 => Some(SmolStr::from(token.as_str())),
        Some(_) | None => None,
    }
}

/// The subject that policies see.
fn subject(who: &Who, session: &Session, account: Option<&Account>) -> Value {
    let properties: serde_json::Map<String, serde_json::Value> =
        session.properties.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let none = (Vec::new(), std::collections::BTreeMap::new());
    let (groups, attributes) =
        account.map_or((&none.0, &none.1), |account| (&account.groups, &account.attributes));
    let document = json!({
        "user": who.user.subject(),
        "realm": who.user.realm(),
        "session": who.id.to_string(),
        "level": session.level.0,
        "groups": groups,
        "attributes": attributes,
        "properties": properties,
    });
    json::read(document.to_string().as_bytes()).unwrap_or(Value::Undefined)
}

fn with_subject(subscription: &Subscription, subject: Value) -> Subscription {
    let of = |element| subscription.element(element).clone();
    let made =
        Subscription::new(subject, of(Element::Action), of(Element::Resource), of(Element::Environment));
    made.with_secrets(subscription.secrets().clone())
}

/// A session that was found, and what is heard of its end.
struct Found {
    subject: Value,
    over: Over,
}

/// Ready when the session is over, with what is decided then.
type Over = Pin<Box<dyn Future<Output = Outcome> + Send>>;

type Finding = Pin<Box<dyn Future<Output = Result<Found, Outcome>> + Send>>;

/// What is decided for a token that is not accepted.
fn outcome(failed: &Failed) -> Outcome {
    match failed {
        Failed::Token(Refusal::Unavailable)
        | Failed::Directory(_)
        | Failed::Unavailable(_)
        | Failed::Unknown => Outcome::Indeterminate,
        Failed::Token(_)
        | Failed::Forbidden
        | Failed::NoSession
        | Failed::UnknownRealm
        | Failed::Code
        | Failed::Delayed { .. }
        | Failed::Properties(_) => Outcome::Deny,
    }
}

fn find(service: Service, token: SmolStr) -> Finding {
    Box::pin(async move {
        // Before looking: what ends in between is heard.
        let ended = service.ended();
        let found = service.session(&token, Purpose::Use).await.map_err(|failed| outcome(&failed))?;
        let (who, session) = found;
        let account = service.account(&who.user).await.map_err(|failed| outcome(&failed))?;
        // Whoever is no user any more, or may not log in, has no say either.
        let account = account.filter(|account| !account.disabled).ok_or(Outcome::Deny)?;
        let subject = subject(&who, &session, Some(&account));
        Ok(Found { subject, over: Box::pin(until_over(service, token, who, ended)) })
    })
}

async fn until_over(service: Service, token: SmolStr, who: Who, mut ended: EndedSessions) -> Outcome {
    loop {
        tokio::select! {
            told = ended.next() => match told {
                // The node has stopped.
                None => return Outcome::Indeterminate,
                Some(told) if told.concerns(&who) => {}
                Some(_) => continue,
            },
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        if let Err(refusal) = service.validate(&token, Purpose::Look).await {
            return outcome(&Failed::Token(refusal));
        }
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
                    Poll::Ready(Err(outcome)) => return self.say(outcome),
                    Poll::Ready(Ok(Found { subject, over })) => {
                        let subscription = with_subject(subscription, subject);
                        match self.inner.subscribe(&self.tenant, subscription) {
                            Ok(decisions) => self.state = State::Deciding(decisions, over),
                            Err(Full) => return self.say(Outcome::Indeterminate),
                        }
                    }
                },
                State::Deciding(decisions, over) => {
                    // The end first: once it is known, no other decision is told.
                    if let Poll::Ready(outcome) = over.as_mut().poll(task) {
                        return self.say(outcome);
                    }
                    return decisions.poll_next(task);
                }
            }
        }
    }
}

impl Decider for OfSessions {
    fn decide_once(&self, tenant: &str, subscription: Subscription) -> Result<Once, Full> {
        match token(&subscription) {
            None => self.inner.decide_once(tenant, subscription),
            Some(token) => Ok(Once::Waiting(Box::new(self.follow(tenant, subscription, token)))),
        }
    }

    fn subscribe(&self, tenant: &str, subscription: Subscription) -> Result<Box<dyn Decisions>, Full> {
        match token(&subscription) {
            None => self.inner.subscribe(tenant, subscription),
            Some(token) => Ok(Box::new(self.follow(tenant, subscription, token))),
        }
    }

    fn subscribe_all(
        &self,
        tenant: &str,
        subscriptions: MultiSubscription,
    ) -> Result<Box<dyn MultiDecisions>, Full> {
        if !subscriptions.subscriptions.iter().any(|(_, one)| token(one).is_some()) {
            return self.inner.subscribe_all(tenant, subscriptions);
        }
        let mut members = Vec::new();
        for (id, subscription) in subscriptions.subscriptions {
            let decisions: Box<dyn Decisions> = match token(&subscription) {
                Some(token) => Box::new(self.follow(tenant, subscription, token)),
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
