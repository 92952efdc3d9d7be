//! Work that takes longer than others may wait: done on threads beside those that answer, a few at a time. Whoever finds all places
//! taken is told to come again.

use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places of one kind of work. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct LongWork {
    /// Of those at work, and those that wait.
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// A turn to work, until all its clones are dropped.
#[derive(Clone, Debug)]
pub struct Turn {
    _permits: Arc<[OwnedSemaphorePermit; 2]>,
}

/// As many wait as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPlace;

impl LongWork {
    /// At most `at_once_max` pieces of work at once, and `waiting_max` that wait.
    pub fn new(at_once_max: usize, waiting_max: usize) -> LongWork {
        let places = at_once_max.saturating_add(waiting_max).min(Semaphore::MAX_PERMITS);
        LongWork { places: Arc::new(Semaphore::new(places)), turns: Arc::new(Semaphore::new(at_once_max)) }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// As many wait as may.
    pub async fn turn(&self) -> Result<Turn, NoPlace> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| NoPlace)?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| NoPlace)?;
        Ok(Turn { _permits: Arc::new([place, turn]) })
    }

    /// Does the work when it is its turn.
    ///
    /// # Errors
    /// As many wait as may, or the program ends.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoPlace> {
        let turn = self.turn().await?;
        turn.run(work).await
    }
}

impl Turn {
    /// Does the work. The turn lasts at least until it is done, also when whoever waits for it has gone.
    ///
    /// # Errors
    /// The program ends.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoPlace> {
        let turn = self.clone();
        let working = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(turn);
            result
        });
        match working.await {
            Ok(result) => Ok(result),
            // As if it had been done here.
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            Err(_) => Err(NoPlace),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// The runtime has one thread: were the work done there, nobody would be left to say that it may end.
    #[tokio::test]
    async fn work_keeps_no_thread_that_answers() {
        let work = LongWork::new(1, 0);
        let (go_on, may_go_on) = mpsc::channel();
        let (result, ()) =
            tokio::join!(work.run(move || may_go_on.recv()), async { go_on.send(7).unwrap_or_default() });
        assert_eq!(result, Ok(Ok(7)));
    }

    #[tokio::test]
    async fn whoever_finds_no_place_is_told_at_once() {
        let work = LongWork::new(1, 1);
        let first = work.turn().await.unwrap();
        let waiting = tokio::spawn({
            let work = work.clone();
            async move { work.run(|| 7).await }
        });
        while work.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(work.run(|| 8).await, Err(NoPlace));
        drop(first);
        assert_eq!(waiting.await.unwrap(), Ok(7));
        assert_eq!(work.run(|| 8).await, Ok(8));
    }

    /// A client that goes away must not make room for more work than may be done at once.
    #[tokio::test]
    async fn a_turn_lasts_as_long_as_its_work() {
        let work = LongWork::new(1, 0);
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let (begun, is_begun) = tokio::sync::oneshot::channel();
        let caller = tokio::spawn({
            let work = work.clone();
            async move {
                work.run(move || {
                    let _ = begun.send(());
                    let _ = may_go_on.recv();
                })
                .await
            }
        });
        is_begun.await.unwrap();
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        assert_eq!(work.run(|| ()).await, Err(NoPlace));
        drop(go_on);
        while work.run(|| ()).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}
