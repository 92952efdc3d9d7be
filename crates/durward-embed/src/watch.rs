//! Subscriptions that are decided again and again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use durward_pdp::sapl::Decision;
use durward_pdp::stream::{PoliciesInForce, Subscription};

#[cfg(feature = "threads")]
use crate::bell::Bell;

/// A watched subscription. Dropping it unsubscribes.
pub struct Watch {
    /// Nothing once it is closed.
    subscription: Mutex<Option<Subscription<PoliciesInForce>>>,
    /// Rings when there is another decision, and when the watch is closed.
    #[cfg(feature = "threads")]
    bell: Arc<Bell>,
}

/// What comes of waiting for the next decision.
#[cfg(feature = "threads")]
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
        Watch {
            subscription: Mutex::new(Some(subscription)),
            #[cfg(feature = "threads")]
            bell: Arc::default(),
        }
    }

    /// Waits for the next decision, `limit` at most: the first at once, then each that is unlike the one given before. Who is slow sees only
    /// the latest. For one thread at a time: where several wait, each decision goes to one of them.
    #[cfg(feature = "threads")]
    pub fn next(&self, limit: Option<std::time::Duration>) -> Watched {
        let waker = std::task::Waker::from(Arc::clone(&self.bell));
        // A limit beyond what the clock can count is none.
        let end = limit.and_then(|limit| std::time::Instant::now().checked_add(limit));
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

    /// Ends it: whoever waits in `Watch::next` is told. A task in [`Watch::poll_next`] is not woken.
    pub fn close(&self) {
        drop(self.lock().take());
        #[cfg(feature = "threads")]
        self.bell.ring();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Subscription<PoliciesInForce>>> {
        self.subscription.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
