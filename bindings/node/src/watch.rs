//! Watched subscriptions: no thread waits for them. What changes a decision wakes JavaScript, which asks for the decision then.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use durward_embed::{DecisionPoint, Watch};
use napi::bindgen_prelude::Unknown;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Result, Status};
use napi_derive::napi;

use crate::answer::{Answer, answer};

/// A function of JavaScript that is called from any thread, without arguments; it does not keep the process alive.
pub type WakeFunction = ThreadsafeFunction<(), Unknown<'static>, (), Status, false, true>;

/// Calls the function. Where the process or the worker ends, nobody is there to be woken.
struct Waking(WakeFunction);

impl Wake for Waking {
    fn wake(self: Arc<Waking>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Waking>) {
        self.0.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

/// A watched subscription.
#[napi]
pub struct NativeWatch {
    watch: Watch,
    waker: Waker,
    /// Ends with the watch at the earliest: it has the thread that drives the watch.
    _point: Arc<DecisionPoint>,
}

impl NativeWatch {
    pub(crate) fn new(watch: Watch, wake: WakeFunction, point: Arc<DecisionPoint>) -> NativeWatch {
        NativeWatch { watch, waker: Waker::from(Arc::new(Waking(wake))), _point: point }
    }
}

#[napi]
impl NativeWatch {
    /// The next decision; nothing where there is none yet, in which case `wake` will be called, or where the watch is closed.
    #[napi(catch_unwind)]
    pub fn poll(&self) -> Result<Option<Answer>> {
        match self.watch.poll_next(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(decision) => Ok(decision.as_ref().map(answer)),
            Poll::Pending => Ok(None),
        }
    }

    /// Ends it.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.watch.close();
    }
}
