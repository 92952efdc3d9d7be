//! A decision point that a test moves by hand: Alice may read for as long as the test says so, and whoever asks for `later` waits until
//! then.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use durward_pdp::Value;
use durward_pdp::ir::datatype::Decimal;
use durward_pdp::ir::path::Element;
use durward_server::decider::{
    Decider, Decision, Decisions, Full, MultiDecisions, MultiSubscription, Named, Once, Outcome, Subscription,
};

/// What is the case. Clones are handles to the same.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_closed: bool,
    is_later: bool,
    wakers: Vec<Waker>,
    open: usize,
}

impl World {
    /// Whether Alice may read, from now on.
    pub(crate) fn close(&self, is_closed: bool) {
        let mut state = self.0.lock().unwrap();
        state.is_closed = is_closed;
        state.wakers.drain(..).for_each(Waker::wake);
    }

    /// Answers whoever asks for `later`, from now on.
    pub(crate) fn answer_later(&self) {
        let mut state = self.0.lock().unwrap();
        state.is_later = true;
        state.wakers.drain(..).for_each(Waker::wake);
    }

    /// How many subscriptions there are.
    pub(crate) fn open(&self) -> usize {
        self.0.lock().unwrap().open
    }

    fn decide(&self, tenant: &str, subscription: &Subscription) -> Decision {
        let is = |value: &Value, text: &str| value.equals(&Value::Text(text.into()));
        let is_closed = self.0.lock().unwrap().is_closed;
        let subject = subscription.element(Element::Subject);
        assert!(!is(subject, "panic"), "asked for");
        if is(subject, "tenant") {
            return Decision::new(Outcome::Permit, [], [], Some(Value::Text(tenant.into())));
        }
        if is(subject, "secret") {
            let secrets = Some(subscription.secrets()).filter(|secrets| !secrets.is_undefined());
            return Decision::new(Outcome::Permit, [], [], secrets.cloned());
        }
        if !is(subject, "alice") {
            return Decision::plain(Outcome::NotApplicable);
        }
        if is_closed {
            return Decision::plain(Outcome::Deny);
        }
        let number = Value::Number(Decimal::parse("1.50").unwrap());
        let log = Value::object([("type", Value::Text("log".into())), ("n", number)]);
        let resource = Value::object([("big", Value::Number(Decimal::parse("1E+3").unwrap()))]);
        Decision::new(Outcome::Permit, [log], [Value::Text("hint".into())], Some(resource))
    }
}

struct Live {
    world: World,
    tenant: String,
    subscriptions: MultiSubscription,
    told: Vec<Option<Decision>>,
}

impl Live {
    fn new(world: &World, tenant: &str, subscriptions: MultiSubscription) -> Live {
        world.0.lock().unwrap().open += 1;
        let told = vec![None; subscriptions.subscriptions.len()];
        Live { world: world.clone(), tenant: tenant.into(), subscriptions, told }
    }

    /// The places of the decisions that changed, and all decisions.
    fn poll(&mut self, task: &mut Context<'_>) -> Poll<(Vec<usize>, Named)> {
        let all =
            self.subscriptions.subscriptions.iter().map(|(id, subscription)| {
                (id.clone(), Arc::new(self.world.decide(&self.tenant, subscription)))
            });
        let all: Named = all.collect();
        let changed: Vec<usize> = (0..all.len())
            .filter(|at| !self.told[*at].as_ref().is_some_and(|told| told.equals(&all[*at].1)))
            .collect();
        if changed.is_empty() {
            self.world.0.lock().unwrap().wakers.push(task.waker().clone());
            return Poll::Pending;
        }
        self.told = all.iter().map(|(_, decision)| Some((**decision).clone())).collect();
        Poll::Ready((changed, all))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.world.0.lock().unwrap().open -= 1;
    }
}

impl Decisions for Live {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Arc<Decision>> {
        self.poll(task).map(|(_, all)| Arc::clone(&all[0].1))
    }
}

impl MultiDecisions for Live {
    fn poll_all(&mut self, task: &mut Context<'_>) -> Poll<Named> {
        self.poll(task).map(|(_, all)| all)
    }

    fn poll_changed(&mut self, task: &mut Context<'_>) -> Poll<Named> {
        self.poll(task).map(|(changed, all)| changed.into_iter().map(|at| all[at].clone()).collect())
    }
}

/// A single decision that is waited for.
struct Later(World);

impl Later {
    fn new(world: &World) -> Later {
        world.0.lock().unwrap().open += 1;
        Later(world.clone())
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().open -= 1;
    }
}

impl Decisions for Later {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Arc<Decision>> {
        let mut state = self.0.0.lock().unwrap();
        if state.is_later {
            return Poll::Ready(Arc::new(Decision::plain(Outcome::Permit)));
        }
        state.wakers.push(task.waker().clone());
        Poll::Pending
    }
}

impl Decider for World {
    fn decide_once(&self, tenant: &str, subscription: Subscription) -> Result<Once, Full> {
        if subscription.element(Element::Subject).equals(&Value::Text("later".into())) {
            return Ok(Once::Waiting(Box::new(Later::new(self))));
        }
        Ok(Once::Decided(self.decide(tenant, &subscription)))
    }

    fn subscribe(&self, tenant: &str, subscription: Subscription) -> Result<Box<dyn Decisions>, Full> {
        let subscriptions = vec![("".into(), subscription)];
        Ok(Box::new(Live::new(self, tenant, MultiSubscription { subscriptions })))
    }

    fn subscribe_all(
        &self,
        tenant: &str,
        subscriptions: MultiSubscription,
    ) -> Result<Box<dyn MultiDecisions>, Full> {
        Ok(Box::new(Live::new(self, tenant, subscriptions)))
    }
}
