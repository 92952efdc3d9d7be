//! Subscriptions that are decided again and again, and the thread that drives them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use durward_pdp::sapl::Decision;
use durward_pdp::stream::{PoliciesInForce, Streams, Subscription};

use crate::bell::Bell;
use crate::point::{Clock, ms_of};

/// The longest sleep: if the clock is set, nothing waits for longer.
const SLEEP_MS_MAX: i64 = 1_000;

/// Drives the streams of a decision point on a thread of its own, from the first watched subscription on.
pub(crate) struct Driver {
    streams: Streams<PoliciesInForce>,
    bell: Arc<Bell>,
    clock: Clock,
    has_ended: Arc<AtomicBool>,
    is_running: Mutex<bool>,
}

impl Driver {
    pub(crate) fn new(streams: Streams<PoliciesInForce>, bell: Arc<Bell>, clock: Clock) -> Driver {
        Driver { streams, bell, clock, has_ended: Arc::default(), is_running: Mutex::new(false) }
    }

    /// Starts the thread unless it runs.
    pub(crate) fn start(&self) -> io::Result<()> {
        let mut is_running = self.is_running.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_running {
            let (streams, bell) = (self.streams.clone(), Arc::clone(&self.bell));
            let (clock, has_ended) = (Arc::clone(&self.clock), Arc::clone(&self.has_ended));
            let thread = thread::Builder::new().name("durward-watch".to_owned());
            thread.spawn(move || drive(&streams, &bell, &*clock, &has_ended))?;
            *is_running = true;
        }
        Ok(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Release);
        self.bell.ring();
    }
}

fn drive(
    streams: &Streams<PoliciesInForce>,
    bell: &Bell,
    clock: &dyn Fn() -> SystemTime,
    has_ended: &AtomicBool,
) {
    while !has_ended.load(Ordering::Acquire) {
        let now_ms = ms_of(clock());
        let next_ms = streams.tick(now_ms);
        let wait_ms = next_ms.map_or(SLEEP_MS_MAX, |next_ms| next_ms.saturating_sub(now_ms));
        let wait_ms = u64::try_from(wait_ms.clamp(0, SLEEP_MS_MAX)).unwrap_or_default();
        bell.wait_until(Instant::now().checked_add(Duration::from_millis(wait_ms)));
    }
}

/// A watched subscription. Dropping it unsubscribes.
pub struct Watch {
    /// Nothing once it is closed.
    subscription: Mutex<Option<Subscription<PoliciesInForce>>>,
    /// Rings when there is another decision, and when the watch is closed.
    bell: Arc<Bell>,
}

/// What comes of waiting for the next decision.
#[derive(Clone, Debug)]
pub enum Watched {
    /// Another decision.
    Decision(Decision),
    /// None within the time.
    Nothing,
    /// The watch was closed: there will be none.
    Closed,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("is_closed", &self.lock().is_none()).finish_non_exhaustive()
    }
}

impl Watch {
    pub(crate) fn new(subscription: Subscription<PoliciesInForce>) -> Watch {
        Watch { subscription: Mutex::new(Some(subscription)), bell: Arc::default() }
    }

    /// Waits for the next decision, `limit` at most: the first at once, then each that is unlike the one given before. Who is slow sees only
    /// the latest. For one thread at a time: where several wait, each decision goes to one of them.
    pub fn next(&self, limit: Option<Duration>) -> Watched {
        let waker = Waker::from(Arc::clone(&self.bell));
        // A limit beyond what the clock can count is none.
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            match self.poll_next(&mut Context::from_waker(&waker)) {
                Poll::Ready(Some(decision)) => return Watched::Decision(decision),
                Poll::Ready(None) => {
                    // For others that wait.
                    self.bell.ring();
                    return Watched::Closed;
                }
                Poll::Pending if self.bell.wait_until(end) => {}
                Poll::Pending => return Watched::Nothing,
            }
        }
    }

    /// The next decision, for a task; `None` once it is closed.
    pub fn poll_next(&self, task: &mut Context<'_>) -> Poll<Option<Decision>> {
        match &mut *self.lock() {
            Some(subscription) => {
                subscription.poll_next(task).map(|decision| Some(Arc::unwrap_or_clone(decision)))
            }
            None => Poll::Ready(None),
        }
    }

    /// Ends it: whoever waits in [`Watch::next`] is told. A task in [`Watch::poll_next`] is not woken.
    pub fn close(&self) {
        drop(self.lock().take());
        self.bell.ring();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Subscription<PoliciesInForce>>> {
        self.subscription.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
