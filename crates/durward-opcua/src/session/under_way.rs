//! Requests of a connection that are being answered.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

/// Answers that have to wait for something. They come in the order in which they are ready.
pub(super) struct PendingAnswers<T> {
    answers: FuturesUnordered<Pin<Box<dyn Future<Output = T> + Send>>>,
}

impl<T> PendingAnswers<T> {
    pub(super) fn new() -> PendingAnswers<T> {
        PendingAnswers { answers: FuturesUnordered::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.answers.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Takes an answer that may have been polled before: it is polled again before anything is waited for.
    pub(super) fn push(&mut self, answer: Pin<Box<dyn Future<Output = T> + Send>>) {
        self.answers.push(answer);
    }

    /// The next answer that is ready; for ever waits who asks where there is none. Can be dropped at any time.
    pub(super) async fn next(&mut self) -> T {
        poll_fn(|context| {
            // `FuturesUnordered` wakes its task each time it has polled all of its futures. That would cost each request another turn of the
            // connection's task, and the waking of a thread to take it. So all is polled before the waker is there to be woken; what becomes
            // ready in between is found by the second poll.
            let first = self.poll_next(&mut Context::from_waker(Waker::noop()));
            if first.is_ready() { first } else { self.poll_next(context) }
        })
        .await
    }

    /// An answer that is ready now.
    pub(super) fn ready(&mut self) -> Option<T> {
        match self.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<T> {
        ready!(self.answers.poll_next_unpin(context)).map_or(Poll::Pending, Poll::Ready)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Count>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_woken_only_for_an_answer() {
        let mut under_way = PendingAnswers::new();
        let (answers, waits): (Vec<_>, Vec<_>) = (0..3).map(|_| oneshot::channel::<u32>()).unzip();
        for wait in waits {
            under_way.push(Box::pin(async { wait.await.unwrap() }));
        }
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        for (number, answer) in (1..).zip(answers) {
            assert!(pin!(under_way.next()).poll(&mut context).is_pending());
            assert_eq!(count.0.load(Ordering::Relaxed), number - 1, "woken for nothing");
            answer.send(7).unwrap();
            assert_eq!(count.0.load(Ordering::Relaxed), number, "not woken");
            assert_eq!(pin!(under_way.next()).poll(&mut context), Poll::Ready(7));
        }
        assert!(under_way.is_empty());
        assert!(pin!(under_way.next()).poll(&mut context).is_pending());
        assert_eq!(under_way.ready(), None);
    }
}
