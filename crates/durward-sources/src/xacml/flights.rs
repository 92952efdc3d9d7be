//! Questions under way and answers that are still good: one question is asked once, however many requests want it.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use durward_net::trace;
use durward_pdp::{SourceError, Value};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

/// How many answers are cached, and questions under way: questions about ever new subjects must not fill the memory.
/// `sources.cache_bytes_max` limits their bytes.
const ANSWERS_MAX: usize = 10_000;

/// What an entry costs beside its texts: the table's own, and what the texts are held by.
const ENTRY_BYTES: usize = 256;

/// A question: the number of the source, and what is asked there.
pub(super) type Key = (usize, Box<[String]>);

/// What came of it.
pub(super) type Answer = Result<Arc<[Value]>, SourceError>;

/// A table of questions.
#[derive(Clone)]
pub(super) struct Flights(Arc<Mutex<Table>>);

struct Table {
    slots: HashMap<Key, Slot>,
    /// INVARIANT: what [`size`] says of all slots together.
    bytes: usize,
    bytes_max: usize,
}

enum Slot {
    Known { values: Arc<[Value]>, until: Instant },
    Asked(watch::Receiver<Option<Answer>>),
}

impl Flights {
    /// A table of at most so many bytes.
    pub(super) fn new(bytes_max: usize) -> Flights {
        Flights(Arc::new(Mutex::new(Table { slots: HashMap::new(), bytes: 0, bytes_max })))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer, if it is known and good for some time yet.
    pub(super) fn known(&self, key: &Key) -> Option<Answer> {
        match self.table().slots.get(key) {
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
        F: Future<Output = Result<Vec<Value>, SourceError>> + Send + 'static,
    {
        let mut receiver = {
            let mut table = self.table();
            match table.slots.get(key) {
                Some(Slot::Known { values, until }) if Instant::now() < *until => {
                    return Ok(Arc::clone(values));
                }
                // One whose sender is gone ended without an answer.
                Some(Slot::Asked(receiver)) if receiver.has_changed().is_ok() => receiver.clone(),
                Some(_) | None => {
                    let receiver = self.depart(runtime, key, times, ask());
                    table.insert(key.clone(), Slot::Asked(receiver.clone()));
                    receiver
                }
            }
        };
        let ended = || Err(SourceError::new("durward is stopping, or has made a mistake"));
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
        ask: impl Future<Output = Result<Vec<Value>, SourceError>> + Send + 'static,
    ) -> watch::Receiver<Option<Answer>> {
        let (sender, receiver) = watch::channel(None);
        let (flights, key) = (self.clone(), key.clone());
        runtime.spawn(trace::carried(async move {
            let late = || Err(SourceError::new(format!("no answer within {} ms", answer.as_millis())));
            let found = timeout(answer, ask).await.unwrap_or_else(|_| late());
            let found: Answer = found.map(Arc::from);
            {
                let mut table = flights.table();
                match &found {
                    Ok(values) if !cache.is_zero() => {
                        let slot = Slot::Known { values: Arc::clone(values), until: Instant::now() + cache };
                        table.insert(key, slot);
                    }
                    // A failure is never remembered: the next one asks again.
                    Ok(_) | Err(_) => table.remove(&key),
                }
            }
            // Nobody may be waiting any more.
            let _ = sender.send(Some(found));
        }));
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

impl Table {
    /// What does not fit even alone is not remembered.
    fn insert(&mut self, key: Key, slot: Slot) {
        self.remove(&key);
        let bytes = size(&key, &slot);
        if bytes > self.bytes_max {
            return;
        }
        if self.slots.len() >= ANSWERS_MAX || self.bytes + bytes > self.bytes_max {
            self.make_room(bytes);
        }
        self.bytes += bytes;
        self.slots.insert(key, slot);
    }

    fn remove(&mut self, key: &Key) {
        if let Some((key, slot)) = self.slots.remove_entry(key) {
            self.bytes -= size(&key, &slot);
        }
    }

    /// Forgets what is out of date; and if that is too little, anything, an eighth more than is needed, so that not each
    /// question walks over the table.
    fn make_room(&mut self, bytes: usize) {
        let now = Instant::now();
        let count_max = ANSWERS_MAX - ANSWERS_MAX / 8;
        let bytes_max = (self.bytes_max - self.bytes_max / 8).min(self.bytes_max.saturating_sub(bytes));
        self.keep(|slot| match slot {
            Slot::Known { until, .. } => now < *until,
            Slot::Asked(receiver) => receiver.has_changed().is_ok(),
        });
        if self.slots.len() < ANSWERS_MAX && self.bytes + bytes <= self.bytes_max {
            return;
        }
        let (mut count, mut left) = (self.slots.len(), self.bytes);
        self.slots.retain(|key, slot| {
            let is_kept = count <= count_max && left <= bytes_max;
            if !is_kept {
                count -= 1;
                left -= size(key, slot);
            }
            is_kept
        });
        self.bytes = left;
    }

    fn keep(&mut self, is_kept: impl Fn(&Slot) -> bool) {
        let mut left = self.bytes;
        self.slots.retain(|key, slot| {
            let is_kept = is_kept(slot);
            if !is_kept {
                left -= size(key, slot);
            }
            is_kept
        });
        self.bytes = left;
    }
}

/// The bytes of an entry, about. The same for as long as it is there.
fn size((_, texts): &Key, slot: &Slot) -> usize {
    let question: usize = texts.iter().map(|text| text.len() + size_of::<String>()).sum();
    let answer = match slot {
        Slot::Known { values, .. } => {
            values.iter().map(|value| value.lexical().len() + size_of::<Value>()).sum()
        }
        Slot::Asked(_) => 0,
    };
    ENTRY_BYTES + question + answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        (0, [format!("{number:0>100}")].into())
    }

    fn known(bytes: usize, until: Instant) -> Slot {
        Slot::Known { values: [Value::Text("x".repeat(bytes).into())].into(), until }
    }

    fn table(flights: &Flights) -> (usize, usize, usize) {
        let table = flights.table();
        let bytes = table.slots.iter().map(|(key, slot)| size(key, slot)).sum();
        (table.slots.len(), table.bytes, bytes)
    }

    /// Who gets large answers about ever new subjects fills no memory either.
    #[test]
    fn answers_together_take_no_more_than_their_bytes() {
        let flights = Flights::new(1 << 20);
        let later = Instant::now() + Duration::from_secs(600);
        for number in 0..100 {
            flights.table().insert(key(number), known(100_000, later));
            let (count, bytes, counted) = table(&flights);
            assert!(bytes <= 1 << 20 && bytes == counted, "{count} {bytes} {counted}");
            assert!(flights.known(&key(number)).is_some(), "the newest is there");
        }
        assert!(table(&flights).0 >= 8, "and others beside it");
        flights.table().insert(key(0), known(2 << 20, later));
        assert!(flights.known(&key(0)).is_none(), "what does not fit at all is not remembered");
        assert!(table(&flights).0 >= 8, "and drives out nothing");
    }

    #[test]
    fn what_is_out_of_date_goes_first() {
        let flights = Flights::new(1 << 20);
        let now = Instant::now();
        let later = now + Duration::from_secs(600);
        flights.table().insert(key(0), known(300_000, later));
        flights.table().insert(key(1), known(600_000, now));
        flights.table().insert(key(2), known(600_000, later));
        assert!(flights.known(&key(0)).is_some() && flights.known(&key(2)).is_some());
        assert_eq!(table(&flights).0, 2);
    }

    #[test]
    fn small_answers_are_bounded_by_their_number() {
        let flights = Flights::new(usize::MAX);
        let later = Instant::now() + Duration::from_secs(600);
        for number in 0..ANSWERS_MAX + 100 {
            flights.table().insert(key(number), known(1, later));
        }
        let (count, bytes, counted) = table(&flights);
        assert!(count <= ANSWERS_MAX && count > ANSWERS_MAX / 2, "{count}");
        assert_eq!(bytes, counted);
    }

    /// Through the door: what is asked is held while it is asked, and its answer after.
    #[tokio::test]
    async fn a_question_is_counted_while_it_is_asked_and_its_answer_after() {
        let flights = Flights::new(10_000);
        let times = Times { answer: Duration::from_secs(5), cache: Duration::from_secs(600) };
        for number in 0..50 {
            let ask = || async { Ok(vec![Value::Text("x".repeat(1_000).into())]) };
            flights.answer(&Handle::current(), &key(number), times, ask).await.unwrap();
        }
        let (count, bytes, counted) = table(&flights);
        assert!((1..10).contains(&count) && bytes <= 10_000 && bytes == counted, "{count} {bytes} {counted}");
    }
}
