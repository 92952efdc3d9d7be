//! The handle through which subscribers and the driver reach the streams, from any thread.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use smol_str::SmolStr;

use super::broker::{Action, Broker, BrokerSettings};
use super::decider::{Decider, NothingKnown, Step, attempt};
use super::finder::{AttributeFinder, Finder};
use super::invocation::Key;
use super::publisher::{Inbox, Note, Publisher, Slot};
use super::store::{Aftermath, Named, Store, StreamsInfo, SubscribeError};

/// How many subscriptions are decided before the lock is given to whoever else waits for it: about a millisecond.
const SLICE: usize = 1_024;

/// How often a new subscription waits for sources that publish while they are being opened.
const SYNCHRONOUS_ROUNDS: usize = 4;

/// Streaming decisions: subscriptions, the attribute streams they use, and the policies in force.
///
/// Clones are handles to the same streams. It has no thread and no clock. Whoever holds it drives it: calls
/// [`Streams::tick`] when `wake` is called and when the time comes that `tick` gave.
pub struct Streams<P: Decider>(Arc<Shared<P>>);

struct Shared<P: Decider> {
    inbox: Arc<Inbox>,
    store: Mutex<Store<P>>,
}

impl<P: Decider> Clone for Streams<P> {
    fn clone(&self) -> Streams<P> {
        Streams(Arc::clone(&self.0))
    }
}

impl<P: Decider> std::fmt::Debug for Streams<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Streams").field(&self.info()).finish()
    }
}

/// What [`Streams::decide_once`] gives.
#[derive(Debug)]
pub enum Once<P: Decider> {
    /// The decision, for which no attribute was needed.
    Decided(P::Decision),
    /// A subscription whose first decision is the answer.
    Waiting(Subscription<P>),
}

impl<P: Decider> Streams<P> {
    /// Streams over these policies.
    ///
    /// `seed` is where all chance comes from; it spreads the retries of failed sources over time and guards nothing.
    /// `wake` is called, on any thread and sometimes without need, when [`Streams::tick`] is to be called; it must not
    /// call back.
    pub fn new(
        policies: Arc<P>,
        settings: BrokerSettings,
        seed: u64,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Streams<P> {
        let inbox = Inbox::new(wake);
        let broker = Broker::new(settings, seed, Arc::clone(&inbox));
        let store = Mutex::new(Store::new(policies, broker, Arc::clone(&inbox)));
        Streams(Arc::new(Shared { inbox, store }))
    }

    /// Takes a subscription and decides it, if that is possible without waiting for a source. Time is in milliseconds
    /// since 1970.
    ///
    /// # Errors
    /// There are as many subscriptions as can be numbered.
    pub fn subscribe(
        &self,
        subscription: P::Subscription,
        now_ms: i64,
    ) -> Result<Subscription<P>, SubscribeError> {
        let mut store = self.lock();
        let id = store.subscribe(subscription, now_ms);
        let aftermath = store.aftermath(now_ms);
        let handle = id.map(|id| Subscription { streams: self.clone(), id });
        drop(store);
        self.finish(aftermath);
        let handle = handle.ok_or(SubscribeError::Full)?;
        self.await_synchronous(now_ms, |store| store.is_decided(handle.id));
        Ok(handle)
    }

    /// Takes several subscriptions of one subscriber, by the names it gives them.
    ///
    /// # Errors
    /// No subscription, too many, or names that are blank or not unique.
    pub fn subscribe_all(
        &self,
        subscriptions: Vec<(SmolStr, P::Subscription)>,
        now_ms: i64,
    ) -> Result<MultiSubscription<P>, SubscribeError> {
        let mut store = self.lock();
        let group = store.subscribe_all(subscriptions, now_ms);
        let aftermath = store.aftermath(now_ms);
        let handle = group.map(|group| MultiSubscription { streams: self.clone(), group });
        drop(store);
        self.finish(aftermath);
        let handle = handle?;
        self.await_synchronous(now_ms, |store| store.is_group_decided(handle.group));
        Ok(handle)
    }

    /// Decides once. A decision that needs no attribute touches nothing that others use.
    ///
    /// # Errors
    /// As [`Streams::subscribe`].
    pub fn decide_once(&self, subscription: P::Subscription, now_ms: i64) -> Result<Once<P>, SubscribeError> {
        let policies = Arc::clone(self.lock().policies());
        match attempt(&*policies, &subscription, &NothingKnown) {
            Step::Decided(decision) => Ok(Once::Decided(decision)),
            Step::Needs(_) => self.subscribe(subscription, now_ms).map(Once::Waiting),
        }
    }

    /// Puts other policies in force: every subscription is decided again, in the ticks that follow.
    pub fn replace(&self, policies: Arc<P>, now_ms: i64) {
        self.change(now_ms, |store| store.replace(policies));
    }

    /// Sets the attribute finders; the first that serves an attribute is believed. Streams whose finder stays the same
    /// object go on undisturbed; values of the others hold until the new finders have one.
    pub fn set_finders(&self, finders: Vec<Finder>, now_ms: i64) {
        self.change(now_ms, |store| store.set_finders(finders));
    }

    fn change(&self, now_ms: i64, change: impl FnOnce(&mut Store<P>)) {
        let mut store = self.lock();
        change(&mut store);
        let aftermath = store.aftermath(now_ms);
        drop(store);
        self.finish(aftermath);
    }

    /// Takes what has happened since, decides again what it concerns, and wakes whoever gets another decision. Gives
    /// when to call again unless woken before: now, when there is more to do; never, when nothing depends on the time.
    ///
    /// One call does about a millisecond's work. A clock that goes back delays what waits for a time; nothing else
    /// happens.
    pub fn tick(&self, now_ms: i64) -> Option<i64> {
        self.change(now_ms, |store| store.slice(now_ms, SLICE));
        self.lock().announce(now_ms)
    }

    /// What there is.
    pub fn info(&self) -> StreamsInfo {
        self.lock().info()
    }

    fn lock(&self) -> MutexGuard<'_, Store<P>> {
        self.0.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sources may publish while they are being opened: the first decision need not wait for the driver then.
    fn await_synchronous(&self, now_ms: i64, is_decided: impl Fn(&Store<P>) -> bool) {
        for _ in 0..SYNCHRONOUS_ROUNDS {
            if self.0.inbox.is_empty() || is_decided(&self.lock()) {
                return;
            }
            self.change(now_ms, |store| store.slice(now_ms, SLICE));
        }
    }

    /// Does what must not be done with the lock held: it calls what others wrote.
    fn finish(&self, aftermath: Aftermath) {
        if aftermath.is_sooner {
            self.0.inbox.wake();
        }
        aftermath.wakers.into_iter().for_each(Waker::wake);
        let mut opened = Vec::new();
        for action in aftermath.actions {
            match action {
                // What was needed for a moment only, and is not any more.
                Action::Open { slot, .. } if slot.is_closed() => {}
                Action::Open { finder, key, slot } => opened.extend(open(&*finder, &key, slot)),
                Action::Close(handle) => close(handle),
            }
        }
        if opened.is_empty() {
            return;
        }
        let mut store = self.lock();
        let unwanted: Vec<_> =
            opened.into_iter().filter_map(|(slot, handle)| store.broker.opened(&slot, handle)).collect();
        drop(store);
        unwanted.into_iter().for_each(close);
    }
}

/// Opens a source. One that panics has failed.
fn open(finder: &dyn AttributeFinder, key: &Key, slot: Arc<Slot>) -> Option<(Arc<Slot>, Box<dyn Send>)> {
    let publisher = Publisher::new(Arc::clone(&slot));
    let spare = publisher.clone();
    let open = || finder.open(&key.invocation, &key.context, publisher);
    match catch_unwind(AssertUnwindSafe(open)) {
        Ok(handle) => Some((slot, handle)),
        Err(_) => {
            spare.fail("its attribute finder panicked");
            None
        }
    }
}

/// Closes a source. What it does then is its own affair.
fn close(handle: Box<dyn Send>) {
    drop(catch_unwind(AssertUnwindSafe(|| drop(handle))));
}

/// A live subscription. Dropping it unsubscribes.
pub struct Subscription<P: Decider> {
    streams: Streams<P>,
    id: u32,
}

impl<P: Decider> Subscription<P> {
    /// The next decision: the first once everything it needs is known, then each that is unlike the one given before.
    /// A slow subscriber sees only the latest. `wake` of the task is called when there is one.
    pub fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Arc<P::Decision>> {
        self.streams.lock().poll(self.id, task.waker())
    }

    /// As [`Subscription::poll_next`], to be awaited.
    pub async fn next(&mut self) -> Arc<P::Decision> {
        poll_fn(|task| self.poll_next(task)).await
    }

    /// The next decision if it is there.
    pub fn take(&mut self) -> Option<Arc<P::Decision>> {
        self.streams.lock().take(self.id)
    }
}

impl<P: Decider> std::fmt::Debug for Subscription<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Subscription").field(&self.id).finish()
    }
}

impl<P: Decider> Drop for Subscription<P> {
    fn drop(&mut self) {
        self.streams.0.inbox.put(Note::Gone(self.id));
    }
}

/// A live multi-subscription. Dropping it unsubscribes. A subscriber uses either [`MultiSubscription::poll_all`] or
/// [`MultiSubscription::poll_changed`], and what follows it.
pub struct MultiSubscription<P: Decider> {
    streams: Streams<P>,
    group: u32,
}

impl<P: Decider> MultiSubscription<P> {
    /// All decisions, in the order asked for: once all are there, then whenever one of them has changed.
    pub fn poll_all(&mut self, task: &mut Context<'_>) -> Poll<Named<P::Decision>> {
        self.streams.lock().poll_all(self.group, Some(task.waker()))
    }

    /// As [`MultiSubscription::poll_all`], to be awaited.
    pub async fn next_all(&mut self) -> Named<P::Decision> {
        poll_fn(|task| self.poll_all(task)).await
    }

    /// As [`MultiSubscription::poll_all`], if it is there.
    pub fn take_all(&mut self) -> Option<Named<P::Decision>> {
        ready(self.streams.lock().poll_all(self.group, None))
    }

    /// The decisions that changed: all of them once all are there, then those unlike what was given before.
    pub fn poll_changed(&mut self, task: &mut Context<'_>) -> Poll<Named<P::Decision>> {
        self.streams.lock().poll_changed(self.group, Some(task.waker()))
    }

    /// As [`MultiSubscription::poll_changed`], to be awaited.
    pub async fn next_changed(&mut self) -> Named<P::Decision> {
        poll_fn(|task| self.poll_changed(task)).await
    }

    /// As [`MultiSubscription::poll_changed`], if it is there.
    pub fn take_changed(&mut self) -> Option<Named<P::Decision>> {
        ready(self.streams.lock().poll_changed(self.group, None))
    }
}

impl<P: Decider> std::fmt::Debug for MultiSubscription<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MultiSubscription").field(&self.group).finish()
    }
}

impl<P: Decider> Drop for MultiSubscription<P> {
    fn drop(&mut self) {
        self.streams.0.inbox.put(Note::GroupGone(self.group));
    }
}

fn ready<T>(poll: Poll<T>) -> Option<T> {
    match poll {
        Poll::Ready(ready) => Some(ready),
        Poll::Pending => None,
    }
}
