//! Requests whose answers wait for nothing, answered where their connection is read: a task of each costs more than what it does.
//!
//! ```text
//!   connection reads ---> new requests ---> polled once, one after the other ---> answered: written with the next turn of the connection
//!                                                     '---> what waits, or comes too late in the turn: a task of its own
//! ```
//!
//! All that a turn of the connection has read is answered before anything is written, so that answers go out together.

use std::future::Future;
use std::mem::swap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hyper::rt::Executor;
use tokio::sync::Notify;

use super::requests::Requests;

/// How long a connection answers before it reads and writes again; what is left goes to other cores. Some hundred short answers.
const TURN_TIME_MAX: Duration = Duration::from_millis(1);

/// The task of a request, and what ends it when the request is late.
struct NewTask {
    work: Pin<Box<dyn Future<Output = ()> + Send>>,
    end: Arc<Notify>,
}

impl NewTask {
    /// Polls it once, and gives it a task of its own if it waits for something: it tells that task what it waits for when it is polled again.
    fn poll_here(mut self) {
        let mut nobody = Context::from_waker(Waker::noop());
        // What panics ends its own request, as it would in a task of its own.
        let polled = catch_unwind(AssertUnwindSafe(|| self.work.as_mut().poll(&mut nobody)));
        if let Ok(Poll::Pending) = polled {
            self.spawn();
        }
    }

    fn spawn(self) {
        spawn(self.work, self.end);
    }
}

/// Runs a task until it is done or late.
fn spawn(task: impl Future<Output = ()> + Send + 'static, end: Arc<Notify>) {
    tokio::spawn(async move {
        tokio::select! {
            () = task => {}
            () = end.notified() => {}
        }
    });
}

/// The tasks that a connection has begun in its turn.
#[derive(Clone)]
pub(super) struct InPlace(Arc<Inner>);

struct Inner {
    requests: Arc<Requests>,
    /// Whether the request that began last is a short one.
    is_short: AtomicBool,
    new: Mutex<Vec<NewTask>>,
}

/// Runs the task of each request until the request is late; what it had asked for is reset then, and others of its connection go on.
impl<F: Future<Output = ()> + Send + 'static> Executor<F> for InPlace {
    /// The library hands over a request's task as soon as it has called the service for it.
    fn execute(&self, task: F) {
        let end = self.0.requests.end_of_last();
        if self.0.is_short.swap(false, Ordering::Relaxed) {
            self.lock().push(NewTask { work: Box::pin(task), end });
        } else {
            spawn(task, end);
        }
    }
}

impl InPlace {
    pub(super) fn new(requests: &Arc<Requests>) -> InPlace {
        let (is_short, new) = (AtomicBool::new(false), Mutex::default());
        InPlace(Arc::new(Inner { requests: Arc::clone(requests), is_short, new }))
    }

    /// Says of the request that begins now whether its answer is made quickly where it waits for nothing.
    pub(super) fn begins(&self, is_short: bool) {
        self.0.is_short.store(is_short, Ordering::Relaxed);
    }

    /// Polls all that is new. Whether there was anything.
    pub(super) fn poll_new(&self, turn: &mut Turn) -> bool {
        swap(&mut *self.lock(), &mut turn.0);
        if turn.0.is_empty() {
            return false;
        }
        let begun = Instant::now();
        for task in turn.0.drain(..) {
            if begun.elapsed() < TURN_TIME_MAX { task.poll_here() } else { task.spawn() }
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Vec<NewTask>> {
        self.0.new.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for what is polled in a turn, used again and again.
#[derive(Default)]
pub(super) struct Turn(Vec<NewTask>);

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::oneshot;

    use super::*;
    use crate::base::settings::ServerSettings;

    fn tasks() -> InPlace {
        InPlace::new(&Arc::new(Requests::new(&ServerSettings::default(), Duration::from_secs(1))))
    }

    /// Counts when it is done.
    fn counting(done: &Arc<AtomicUsize>) -> impl Future<Output = ()> + Send + 'static {
        let done = Arc::clone(done);
        async move {
            done.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn what_waits_for_nothing_is_done_in_the_turn_without_a_runtime() {
        let (tasks, done, mut turn) = (tasks(), Arc::default(), Turn::default());
        assert!(!tasks.poll_new(&mut turn));
        for _ in 0..3 {
            tasks.begins(true);
            tasks.execute(counting(&done));
        }
        assert_eq!(done.load(Ordering::SeqCst), 0, "nothing is done before all is read");
        assert!(tasks.poll_new(&mut turn));
        assert_eq!(done.load(Ordering::SeqCst), 3);
        assert!(!tasks.poll_new(&mut turn));
    }

    #[tokio::test]
    async fn what_waits_goes_on_in_a_task_of_its_own() {
        let (tasks, mut turn) = (tasks(), Turn::default());
        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        tasks.begins(true);
        tasks.execute(async move {
            let answer = gone.await;
            let _ = tell.send(answer.is_ok());
        });
        assert!(tasks.poll_new(&mut turn));
        // It waits with nobody to wake, until its own task has polled it.
        go.send(()).unwrap();
        assert!(tokio::time::timeout(Duration::from_secs(30), told).await.unwrap().unwrap());
    }

    #[tokio::test]
    async fn a_panic_ends_one_request_and_no_other() {
        let (tasks, done, mut turn) = (tasks(), Arc::default(), Turn::default());
        tasks.begins(true);
        tasks.execute(async { panic!("on purpose") });
        tasks.begins(true);
        tasks.execute(counting(&done));
        assert!(tasks.poll_new(&mut turn));
        // Telling of a panic takes longer than a turn may.
        while done.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_may_take_long_never_keeps_the_connection() {
        let (tasks, done, mut turn) = (tasks(), Arc::default(), Turn::default());
        tasks.begins(false);
        tasks.execute(counting(&done));
        assert!(!tasks.poll_new(&mut turn), "it has a task of its own");
        while done.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    }
}
