//! The policies of each tenant, and the streams of decisions by them.
//!
//! What can be decided at once is; what has to wait for attributes, or is to be decided again and again, is a
//! subscription in the tenant's store of streams. One thread drives the stores of all tenants: it sleeps until a source
//! has published, a subscriber has gone, or a time has come.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use durward_pdp::ir::question::{Attributes, RawSubscription};
use durward_pdp::plan::Columns;
use durward_pdp::record::{Recorded, Recording};
use durward_pdp::stream::{Finder, PackedSubscription, PoliciesInForce, SubscribeError};
use durward_pdp::{Attempt, Pdp, RequestLanguage};
use smol_str::SmolStr;

use super::contract::{Decider, Decisions, Full, MultiDecisions, NoPlan, Once, Planning};
use super::live::Live;
use super::{Decision, MultiSubscription, Subscription};
use crate::base::Clock;
use crate::base::long_work::LongWork;

/// Tenants that have no policies and yet streams. Tenants come from credentials, so there are only as many as the
/// operator has made up.
const WITHOUT_POLICIES_MAX: usize = 10_000;

/// How long the thread sleeps at most, so that a signal that got lost costs no more.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// How many plans are made at once, each by a thread of its own: what decides has the other cores.
const PLANS_AT_ONCE_MAX: usize = 2;

/// How many plans may wait until they are made: some seconds' worth.
const PLANS_WAITING_MAX: usize = 32;

/// One tenant: its policies, if it has any, and its streams.
#[derive(Clone)]
struct Tenant {
    pdp: Option<Arc<Pdp>>,
    streams: Live,
    /// Whether all its policies are XACML's, and nobody has asked since they are.
    is_foreign: Arc<AtomicBool>,
}

impl Tenant {
    fn new(pdp: Option<&Arc<Pdp>>, streams: Live) -> Tenant {
        let is_foreign = pdp.is_some_and(|pdp| pdp.mismatch(RequestLanguage::Sapl).is_some());
        Tenant { pdp: pdp.cloned(), streams, is_foreign: Arc::new(AtomicBool::new(is_foreign)) }
    }

    /// Says once of each policies that SAPL's clients ask XACML's alone.
    #[inline]
    fn note(&self, name: &str) {
        if self.is_foreign.load(Ordering::Relaxed) && self.is_foreign.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                tenant = ?name,
                "a SAPL subscription was asked of policies that are all XACML's: they see its keys as attributes \
                 (docs/sapl.md, \"SAPL and XACML together\"); send XACML requests to /pdp"
            );
        }
    }
}

/// Decides for tenants by the policies each of them has. Clones are handles to the same.
#[derive(Clone)]
pub struct Tenants(Arc<Inner>);

struct Inner {
    tenants: ArcSwap<HashMap<SmolStr, Tenant, foldhash::fast::RandomState>>,
    /// Held while tenants are added or replaced.
    changing: Mutex<Vec<Finder>>,
    clock: Clock,
    seed: u64,
    signal: Arc<Signal>,
    /// What is recorded of decisions; `None` where nobody records any.
    recording: Option<Recording>,
    planning: LongWork,
}

/// Wakes the thread.
#[derive(Default)]
struct Signal {
    is_raised: Mutex<bool>,
    raised: Condvar,
}

impl Signal {
    fn raise(&self) {
        *self.is_raised.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.raised.notify_one();
    }

    fn wait(&self, time: Duration) {
        let is_raised = self.is_raised.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.raised.wait_timeout_while(is_raised, time, |is_raised| !*is_raised);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.signal.raise();
    }
}

impl std::fmt::Debug for Tenants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.tenants.load().keys()).finish()
    }
}

impl Tenants {
    /// No tenants yet; `finders` give the attributes that policies ask for.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn new(clock: Clock, finders: Vec<Finder>) -> std::io::Result<Tenants> {
        Tenants::start(clock, finders, None)
    }

    /// The same, with a record of every decision.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn recording(clock: Clock, finders: Vec<Finder>, recording: Recording) -> std::io::Result<Tenants> {
        Tenants::start(clock, finders, Some(recording))
    }

    fn start(clock: Clock, finders: Vec<Finder>, recording: Option<Recording>) -> std::io::Result<Tenants> {
        let mut seed = [0; 8];
        // It spreads retries over time and guards nothing.
        let _ = getrandom::fill(&mut seed);
        let inner = Arc::new(Inner {
            tenants: ArcSwap::default(),
            changing: Mutex::new(finders),
            clock,
            seed: u64::from_ne_bytes(seed),
            signal: Arc::default(),
            recording,
            planning: LongWork::new(PLANS_AT_ONCE_MAX, PLANS_WAITING_MAX),
        });
        let (weak, signal) = (Arc::downgrade(&inner), Arc::clone(&inner.signal));
        thread::Builder::new().name("streams".into()).spawn(move || drive(&weak, &signal))?;
        Ok(Tenants(inner))
    }

    /// Puts the policies of a tenant in force: those that its decision point has now. To be called again whenever they
    /// change; with `None` the tenant has no policies any more, and everything is indeterminate.
    pub fn put(&self, tenant: &str, pdp: Option<&Arc<Pdp>>) {
        let inner = &self.0;
        let finders = inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let policies = pdp.map_or_else(PoliciesInForce::absent, PoliciesInForce::of);
        let known = inner.tenants.load().get(tenant).map(|known| known.streams.clone());
        match known {
            Some(streams) => {
                // First for those who ask once: whoever has been told of a change by a stream does not hear of what was before.
                inner.insert(tenant, Tenant::new(pdp, streams.clone()));
                streams.replace(policies, inner.now_ms());
            }
            None => {
                let streams = inner.streams(policies, &finders);
                inner.insert(tenant, Tenant::new(pdp, streams));
            }
        }
    }

    /// The tenant; one without policies is added when it is first asked for.
    fn tenant(&self, name: &str) -> Result<Tenant, Full> {
        let inner = &self.0;
        if let Some(tenant) = inner.tenants.load().get(name) {
            return Ok(tenant.clone());
        }
        let finders = inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let tenants = inner.tenants.load();
        if let Some(tenant) = tenants.get(name) {
            return Ok(tenant.clone());
        }
        if tenants.values().filter(|tenant| tenant.pdp.is_none()).count() >= WITHOUT_POLICIES_MAX {
            return Err(Full);
        }
        let tenant = Tenant::new(None, inner.streams(PoliciesInForce::absent(), &finders));
        inner.insert(name, tenant.clone());
        Ok(tenant)
    }
}

impl Tenants {
    /// What a tenant's policies say, where nobody records it.
    #[inline]
    fn unrecorded(&self, tenant: &str, decide: impl FnOnce(&Pdp) -> Option<Decision>) -> Option<Decision> {
        if self.0.recording.is_some() {
            return None;
        }
        let tenants = self.0.tenants.load();
        let known = tenants.get(tenant)?;
        let decision = decide(known.pdp.as_ref()?)?;
        known.note(tenant);
        Some(decision)
    }
}

impl Inner {
    fn now_ms(&self) -> i64 {
        let since = (self.clock)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn streams(&self, policies: Arc<PoliciesInForce>, finders: &[Finder]) -> Live {
        let signal = Arc::clone(&self.signal);
        let streams = Live::new(policies, self.recording, self.seed, move || signal.raise());
        streams.set_finders(finders.to_vec(), self.now_ms());
        streams
    }

    /// With `changing` held.
    fn insert(&self, name: &str, tenant: Tenant) {
        let mut tenants = HashMap::clone(&self.tenants.load());
        tenants.insert(name.into(), tenant);
        self.tenants.store(Arc::new(tenants));
        self.signal.raise();
    }

    /// Does what is due; when something is due next.
    fn tick(&self) -> Option<i64> {
        let tenants = self.tenants.load_full();
        tenants.values().filter_map(|tenant| tenant.streams.tick(self.now_ms())).min()
    }
}

/// Ticks for as long as there are handles.
fn drive(inner: &Weak<Inner>, signal: &Signal) {
    loop {
        let Some(alive) = inner.upgrade() else { return };
        let next_ms = alive.tick();
        let time = next_ms.map_or(SLEEP_MAX, |next_ms| {
            let time = u64::try_from(next_ms.saturating_sub(alive.now_ms())).unwrap_or(0);
            Duration::from_millis(time).min(SLEEP_MAX)
        });
        drop(alive);
        if !time.is_zero() {
            signal.wait(time);
        }
    }
}

impl Decider for Tenants {
    fn decide_once(&self, tenant: &str, subscription: Subscription) -> Result<Once, Full> {
        if let Some(known @ Tenant { pdp: Some(pdp), .. }) = self.0.tenants.load().get(tenant) {
            known.note(tenant);
            match self.0.recording {
                None => {
                    let attempt = pdp.attempt_once(&subscription);
                    if attempt.needs.is_empty() {
                        return Ok(Once::Decided(attempt.decision));
                    }
                }
                Some(recording) => {
                    let (attempt, record) = pdp.attempt_once_recorded(&subscription, recording);
                    if attempt.needs.is_empty() {
                        let (decision, record) = (Arc::new(attempt.decision), Arc::new(record));
                        return Ok(Once::Recorded(Recorded { decision, record }));
                    }
                }
            }
        }
        self.subscribe(tenant, subscription).map(Once::Waiting)
    }

    fn decide_raw(&self, tenant: &str, raw: &RawSubscription<'_>) -> Option<Decision> {
        self.unrecorded(tenant, |pdp| pdp.decide_raw(raw))
    }

    fn decide_known(&self, tenant: &str, known: &dyn Attributes) -> Option<Decision> {
        self.unrecorded(tenant, |pdp| {
            // Whoever asks is to see that it asks in the wrong language, and may ask in the other.
            if pdp.mismatch(RequestLanguage::Sapl).is_some() {
                return None;
            }
            let Attempt { decision, needs } = pdp.decide_known(known);
            needs.is_empty().then_some(decision)
        })
    }

    fn plan<'d>(
        &'d self,
        tenant: &'d str,
        subscription: Subscription,
        columns: Arc<Columns>,
    ) -> Planning<'d> {
        Box::pin(async move {
            let tenants = self.0.tenants.load_full();
            let Some(known @ Tenant { pdp: Some(pdp), .. }) = tenants.get(tenant) else {
                return Err(NoPlan::NotPermitted);
            };
            known.note(tenant);
            let pdp = Arc::clone(pdp);
            let planned = self.0.planning.run(move || pdp.plan(&subscription, &columns)).await;
            planned.map_err(|_| NoPlan::Busy)?.map_err(NoPlan::Unplannable)
        })
    }

    fn snapshot(&self, tenant: &str) -> u64 {
        let tenants = self.0.tenants.load();
        let pdp = tenants.get(tenant).and_then(|known| known.pdp.as_ref());
        pdp.map_or(0, |pdp| pdp.snapshot().id)
    }

    fn subscribe(&self, tenant: &str, subscription: Subscription) -> Result<Box<dyn Decisions>, Full> {
        let known = self.tenant(tenant)?;
        known.note(tenant);
        let streams = known.streams;
        let subscribed = streams.subscribe(PackedSubscription::from(&subscription), self.0.now_ms());
        subscribed.map_err(full)
    }

    fn subscribe_all(
        &self,
        tenant: &str,
        subscriptions: MultiSubscription,
    ) -> Result<Box<dyn MultiDecisions>, Full> {
        let known = self.tenant(tenant)?;
        known.note(tenant);
        let streams = known.streams;
        let packed = subscriptions
            .subscriptions
            .iter()
            .map(|(id, subscription)| (id.clone(), PackedSubscription::from(subscription)));
        streams.subscribe_all(packed.collect(), self.0.now_ms()).map_err(full)
    }
}

/// The others do not happen: whoever asks has looked at number and ids.
fn full(error: SubscribeError) -> Full {
    tracing::debug!(%error, "a subscription could not be taken");
    Full
}
