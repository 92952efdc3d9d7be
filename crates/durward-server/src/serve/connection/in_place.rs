//! Requests whose answers wait for nothing, answered where their connection is read: a task of each costs more than what it does.
//!
//! ```text
//!   connection reads ---> new requests ---> polled once, one after the other ---> answered: written with the next turn of the connection
//!                                                     '---> what waits, or comes too late in the turn: a task of its own
//! ```
//!
//! All that a turn of the connection has read is answered before anything is written, so that answers go out together.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How long a connection answers before it reads and writes again; what is left goes to other cores. Some hundred short answers.
const TURN_TIME_MAX: Duration = Duration::from_millis(1);

/// After how many requests a connection looks at the clock, which costs what a hundredth of a request does.
const LOOK_EVERY: u32 = 8;

/// The time in which a connection answers what it has read.
pub(super) struct Turn {
    begun: Instant,
    answered: u32,
    is_over: bool,
}

impl Turn {
    pub(super) fn begin() -> Turn {
        Turn { begun: Instant::now(), answered: 0, is_over: false }
    }

    /// Whether there is time for one more, which is answered then.
    pub(super) fn has_time(&mut self) -> bool {
        self.answered += 1;
        if self.answered.is_multiple_of(LOOK_EVERY) {
            self.is_over |= self.begun.elapsed() >= TURN_TIME_MAX;
        }
        !self.is_over
    }
}

/// Polls a request's work once, and gives it a task of its own if it waits for something: it tells that task what it waits for when it is
/// polled again. `end` ends it when the request is late.
pub(super) fn poll_here(work: impl Future<Output = ()> + Send + 'static, end: Arc<Notify>) {
    let mut work = Box::pin(work);
    let mut nobody = Context::from_waker(Waker::noop());
    // What panics ends its own request, as it would in a task of its own.
    let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut nobody)));
    if let Ok(Poll::Pending) = polled {
        spawn(work, end);
    }
}

/// Does a request's work in a task of its own until it is done or late. What it had asked for is reset then, and others of its connection
/// go on.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static, end: Arc<Notify>) {
    tokio::spawn(async move {
        tokio::select! {
            () = work => {}
            () = end.notified() => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    /// Counts when it is done.
    fn counting(done: &Arc<AtomicUsize>) -> impl Future<Output = ()> + Send + 'static {
        let done = Arc::clone(done);
        async move {
            done.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn what_waits_for_nothing_is_done_without_a_runtime() {
        let done = Arc::default();
        for number in 1..=3 {
            poll_here(counting(&done), Arc::default());
            assert_eq!(done.load(Ordering::SeqCst), number);
        }
    }

    #[tokio::test]
    async fn what_waits_goes_on_in_a_task_of_its_own() {
        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let work = async move {
            let answer = gone.await;
            let _ = tell.send(answer.is_ok());
        };
        poll_here(work, Arc::default());
        // It waits with nobody to wake, until its own task has polled it.
        go.send(()).unwrap();
        assert!(tokio::time::timeout(Duration::from_secs(30), told).await.unwrap().unwrap());
    }

    #[tokio::test]
    async fn what_is_late_is_ended() {
        let (tell, told) = oneshot::channel::<()>();
        let end = Arc::new(Notify::new());
        let work = async move {
            std::future::pending::<()>().await;
            let _ = tell.send(());
        };
        poll_here(work, Arc::clone(&end));
        end.notify_one();
        assert!(tokio::time::timeout(Duration::from_secs(30), told).await.unwrap().is_err());
    }

    #[test]
    fn a_panic_ends_one_request_and_no_other() {
        let done = Arc::default();
        poll_here(async { panic!("on purpose") }, Arc::default());
        poll_here(counting(&done), Arc::default());
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }
}
