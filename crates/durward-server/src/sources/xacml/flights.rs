//! Questions under way and answers that are still good: one question is asked once, however many requests want it.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use durward_pdp::Value;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

/// How many answers are remembered, of some hundred bytes each; who asks about ever new subjects fills no memory.
const ANSWERS_MAX: usize = 10_000;

/// A question: the number of the source, and what is asked there.
pub(super) type Key = (usize, Box<[String]>);

/// What came of it.
pub(super) type Answer = Result<Arc<[Value]>, Arc<str>>;

/// A table of questions.
#[derive(Clone, Default)]
pub(super) struct Flights(Arc<Mutex<HashMap<Key, Slot>>>);

enum Slot {
    Known { values: Arc<[Value]>, until: Instant },
    Asked(watch::Receiver<Option<Answer>>),
}

impl Flights {
    fn slots(&self) -> MutexGuard<'_, HashMap<Key, Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer, if it is known and good for some time yet.
    pub(super) fn known(&self, key: &Key) -> Option<Answer> {
        match self.slots().get(key) {
            Some(Slot::Known { values, until }) if Instant::now() < *until => Some(Ok(Arc::clone(values))),
            Some(Slot::Known { .. } | Slot::Asked(_)) | None => None,
        }
    }

    /// The answer: a known one, that of a question under way, or that of one asked now, on `runtime`, so that it goes on
    /// when those who wait for it do not.
    pub(super) async fn answer<F>(
        &self,
        runtime: &Handle,
        key: &Key,
        times: Times,
        ask: impl FnOnce() -> F,
    ) -> Answer
    where
        F: Future<Output = Result<Vec<Value>, String>> + Send + 'static,
    {
        let mut receiver = {
            let mut slots = self.slots();
            match slots.get(key) {
                Some(Slot::Known { values, until }) if Instant::now() < *until => {
                    return Ok(Arc::clone(values));
                }
                // One whose sender is gone ended without an answer.
                Some(Slot::Asked(receiver)) if receiver.has_changed().is_ok() => receiver.clone(),
                Some(_) | None => {
                    let receiver = self.depart(runtime, key, times, ask());
                    make_room(&mut slots);
                    slots.insert(key.clone(), Slot::Asked(receiver.clone()));
                    receiver
                }
            }
        };
        let ended = || Err("durward is stopping, or has made a mistake".into());
        match receiver.wait_for(Option::is_some).await {
            Ok(answer) => answer.clone().unwrap_or_else(ended),
            Err(_) => ended(),
        }
    }

    /// Asks. The table is locked meanwhile, so the task finds its own slot when it ends.
    fn depart(
        &self,
        runtime: &Handle,
        key: &Key,
        Times { answer, cache }: Times,
        ask: impl Future<Output = Result<Vec<Value>, String>> + Send + 'static,
    ) -> watch::Receiver<Option<Answer>> {
        let (sender, receiver) = watch::channel(None);
        let (flights, key) = (self.clone(), key.clone());
        runtime.spawn(async move {
            let late = || Err(format!("no answer within {} ms", answer.as_millis()));
            let found = timeout(answer, ask).await.unwrap_or_else(|_| late());
            let found: Answer = found.map(Arc::from).map_err(Arc::from);
            {
                let mut slots = flights.slots();
                match &found {
                    Ok(values) if !cache.is_zero() => {
                        let slot = Slot::Known { values: Arc::clone(values), until: Instant::now() + cache };
                        slots.insert(key, slot);
                    }
                    // A failure is never remembered: the next one asks again.
                    Ok(_) | Err(_) => drop(slots.remove(&key)),
                }
            }
            // Nobody may be waiting any more.
            let _ = sender.send(Some(found));
        });
        receiver
    }
}

/// How long things last.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// What a source may take.
    pub(super) answer: Duration,
    /// How long its answer is good.
    pub(super) cache: Duration,
}

/// Forgets what is out of date when the table is full; and if nothing is, something.
fn make_room(slots: &mut HashMap<Key, Slot>) {
    if slots.len() < ANSWERS_MAX {
        return;
    }
    let now = Instant::now();
    slots.retain(|_, slot| match slot {
        Slot::Known { until, .. } => now < *until,
        Slot::Asked(receiver) => receiver.has_changed().is_ok(),
    });
    if slots.len() >= ANSWERS_MAX
        && let Some(any) = slots.keys().next().cloned()
    {
        slots.remove(&any);
    }
}
