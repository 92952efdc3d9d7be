//! The requests under way on a connection of HTTP/2, so that whatever takes too long is noticed.
//!
//! Requests come and go thousands of times while the timer of a connection sleeps, so nothing is computed for them: the timer looks at
//! all of them when it wakes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use durward_settings::ServerSettings;
use tokio::sync::Notify;

/// What one request waits for, and since when.
#[derive(Clone, Copy, Debug)]
enum Wait {
    /// Its answer to be made, the body to come included; the body has a limit of its own.
    Answer(Instant),
    /// Its answer to be taken.
    Taking(Instant),
    /// The library to ask for the next event of a stream, which it does where there is room for one.
    Event(Instant),
}

/// All requests under way on one connection.
#[derive(Debug)]
pub(super) struct Requests {
    inner: Mutex<Inner>,
    /// The longest pause of a stream whose reader is there: events that keep it alive come more often.
    pause_max: Duration,
}

#[derive(Debug)]
struct Inner {
    /// By number.
    slots: Vec<Slot>,
    /// Numbers that are free.
    free: Vec<usize>,
    /// Since when there has been none.
    idle_since: Instant,
}

/// One number; requests have it one after the other.
#[derive(Debug, Default)]
struct Slot {
    /// `None` where the request has ended.
    wait: Option<Wait>,
    /// Ends the task of the request.
    end: Arc<Notify>,
    /// When that was done.
    ended: Option<Instant>,
}

/// What the timer of a connection finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeoutCheck {
    /// Nothing can be late before this.
    Nothing(Instant),
    /// There has been no request for as long as may be.
    Idle,
    /// A request was ended, and what was answered to it still is not taken.
    Stuck,
}

impl Requests {
    /// `keep_alive` is how often a stream of events says something at least.
    pub(super) fn new(settings: &ServerSettings, keep_alive: Duration) -> Requests {
        let inner = Inner { slots: Vec::new(), free: Vec::new(), idle_since: Instant::now() };
        Requests {
            inner: Mutex::new(inner),
            pause_max: keep_alive.saturating_add(settings.request_time_max()),
        }
    }

    /// One more request, until what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> RequestGuard {
        self.add(Wait::Answer(Instant::now()))
    }

    /// The same for one that is answered already.
    pub(super) fn begin_answered(self: &Arc<Self>, now: Instant) -> RequestGuard {
        self.add(Wait::Taking(now))
    }

    fn add(self: &Arc<Self>, wait: Wait) -> RequestGuard {
        let mut inner = self.lock();
        let number = match inner.free.pop() {
            Some(number) => number,
            None => {
                inner.slots.push(Slot::default());
                inner.slots.len() - 1
            }
        };
        inner.set(number, Some(wait));
        drop(inner);
        RequestGuard { requests: Arc::clone(self), number }
    }

    /// Since when there has been no request.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let inner = self.lock();
        (inner.free.len() == inner.slots.len()).then_some(inner.idle_since)
    }

    /// Ends each request that has waited too long, and tells `late` of it; others of the connection go on.
    pub(super) fn end_late(
        &self,
        now: Instant,
        settings: &ServerSettings,
        mut late: impl FnMut(),
    ) -> TimeoutCheck {
        let mut inner = self.lock();
        let request_time = settings.request_time_max();
        let mut earliest = None;
        for slot in &mut inner.slots {
            let Some(wait) = slot.wait else { continue };
            let mut limit = match (slot.ended, wait) {
                (Some(ended), _) => ended + request_time,
                // The body has been given up after half of this: the rest is for the refusal to go out.
                (None, Wait::Answer(since)) => since + 2 * request_time,
                (None, Wait::Taking(since)) => since + request_time,
                (None, Wait::Event(since)) => since + self.pause_max,
            };
            if limit <= now && slot.ended.is_some() {
                return TimeoutCheck::Stuck;
            }
            if limit <= now {
                slot.ended = Some(now);
                slot.end.notify_one();
                late();
                limit = now + request_time;
            }
            earliest = Some(earliest.map_or(limit, |earliest: Instant| earliest.min(limit)));
        }
        let idle_until = inner.idle_since + settings.idle_time_max();
        match earliest {
            Some(earliest) => TimeoutCheck::Nothing(earliest),
            None if idle_until <= now => TimeoutCheck::Idle,
            None => TimeoutCheck::Nothing(idle_until),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn set(&mut self, number: usize, wait: Option<Wait>) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        slot.wait = wait;
        // What was meant for this request must not end the next of its number.
        if wait.is_none() && slot.ended.take().is_some() {
            slot.end = Arc::default();
        }
    }
}

/// One request under way; dropping it ends the request.
#[derive(Debug)]
pub(super) struct RequestGuard {
    requests: Arc<Requests>,
    number: usize,
}

impl RequestGuard {
    /// What ends the request.
    pub(super) fn end(&self) -> Arc<Notify> {
        self.requests.lock().slots.get(self.number).map(|slot| Arc::clone(&slot.end)).unwrap_or_default()
    }

    /// Its answer is made, and to be taken.
    pub(super) fn is_answered(&self) {
        self.requests.lock().set(self.number, Some(Wait::Taking(Instant::now())));
    }

    /// The library has room for an event of its stream.
    pub(super) fn is_read(&self) {
        self.requests.lock().set(self.number, Some(Wait::Event(Instant::now())));
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut inner = self.requests.lock();
        inner.set(self.number, None);
        inner.free.push(self.number);
        if inner.free.len() == inner.slots.len() {
            inner.idle_since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn of_a_second() -> (ServerSettings, Arc<Requests>) {
        let settings = ServerSettings { request_time_ms_max: 1_000, ..ServerSettings::default() };
        let requests = Arc::new(Requests::new(&settings, 30 * SECOND));
        (settings, requests)
    }

    #[test]
    fn the_request_that_waits_longest_counts_and_an_idle_connection_has_its_own_time() {
        let begun = Instant::now();
        let (settings, requests) = of_a_second();
        let next = |now| match requests.end_late(now, &settings, || panic!("nothing is late")) {
            TimeoutCheck::Nothing(next) => next - begun,
            found @ (TimeoutCheck::Idle | TimeoutCheck::Stuck) => panic!("{found:?}"),
        };
        assert!(next(begun) >= settings.idle_time_max());
        let idle = requests.end_late(begun + 2 * settings.idle_time_max(), &settings, || {});
        assert_eq!(idle, TimeoutCheck::Idle);
        let first = requests.begin();
        let second = requests.begin();
        first.is_read();
        assert!(next(begun) >= 2 * SECOND && next(begun) < 20 * SECOND);
        drop(second);
        assert!(next(begun) >= 31 * SECOND, "a quiet stream may go on");
        first.is_answered();
        assert!(next(begun) < 20 * SECOND);
        drop(first);
        assert!(next(begun) >= settings.idle_time_max());
        let again = requests.begin();
        assert_eq!((again.number, requests.lock().slots.len()), (0, 2), "numbers are used again");
    }

    #[tokio::test]
    async fn a_late_request_is_ended_alone_and_what_is_stuck_ends_the_connection() {
        let begun = Instant::now();
        let (settings, requests) = of_a_second();
        let taken = requests.begin();
        let end_of_taken = taken.end();
        let late = requests.begin();
        let end_of_late = late.end();
        taken.is_read();
        late.is_answered();
        let mut count = 0;
        let now = begun + 3 * SECOND;
        assert!(matches!(requests.end_late(now, &settings, || count += 1), TimeoutCheck::Nothing(_)));
        assert_eq!(count, 1);
        end_of_late.notified().await;
        let other = tokio::time::timeout(Duration::from_millis(20), end_of_taken.notified()).await;
        assert!(other.is_err(), "the other goes on");
        assert_eq!(requests.end_late(now + 2 * SECOND, &settings, || {}), TimeoutCheck::Stuck);
        drop(late);
        assert!(matches!(requests.end_late(now + 2 * SECOND, &settings, || {}), TimeoutCheck::Nothing(_)));
        let next = requests.begin();
        assert!(!Arc::ptr_eq(&end_of_late, &next.end()), "its end is its own");
        drop((taken, next));
    }
}
