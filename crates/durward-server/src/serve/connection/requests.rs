//! The requests under way on a connection of HTTP/2, so that whatever takes too long is noticed.
//!
//! Requests come and go thousands of times while the timer of a connection sleeps, so nothing is computed for them: the timer looks at
//! all of them when it wakes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::settings::ServerSettings;

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
    /// By number; `None` where one has ended.
    waits: Vec<Option<Wait>>,
    /// Numbers that are free.
    free: Vec<usize>,
    /// Since when there has been none.
    idle_since: Instant,
}

impl Requests {
    /// `keep_alive` is how often a stream of events says something at least.
    pub(super) fn new(settings: &ServerSettings, keep_alive: Duration) -> Requests {
        let inner = Inner { waits: Vec::new(), free: Vec::new(), idle_since: Instant::now() };
        Requests {
            inner: Mutex::new(inner),
            pause_max: keep_alive.saturating_add(settings.request_time_max()),
        }
    }

    /// One more request, until what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Place {
        let mut inner = self.lock();
        let wait = Some(Wait::Answer(Instant::now()));
        let number = match inner.free.pop() {
            Some(number) => number,
            None => {
                inner.waits.push(None);
                inner.waits.len() - 1
            }
        };
        inner.set(number, wait);
        drop(inner);
        Place { requests: Arc::clone(self), number }
    }

    /// The earliest moment at which the connection has waited too long, and which setting says so.
    pub(super) fn deadline(&self, settings: &ServerSettings) -> (Instant, &'static str) {
        let inner = self.lock();
        let limit = |wait: &Wait| match *wait {
            // The body has been given up after half of this: the rest is for the refusal to go out.
            Wait::Answer(since) => since + 2 * settings.request_time_max(),
            Wait::Taking(since) => since + settings.request_time_max(),
            Wait::Event(since) => since + self.pause_max,
        };
        match inner.waits.iter().flatten().map(limit).min() {
            Some(earliest) => (earliest, "request_time_ms_max"),
            None => (inner.idle_since + settings.idle_time_max(), "idle_time_ms_max"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn set(&mut self, number: usize, wait: Option<Wait>) {
        if let Some(slot) = self.waits.get_mut(number) {
            *slot = wait;
        }
    }
}

/// One request under way.
#[derive(Debug)]
pub(super) struct Place {
    requests: Arc<Requests>,
    number: usize,
}

impl Place {
    /// Its answer is made, and to be taken.
    pub(super) fn is_answered(&self) {
        self.requests.lock().set(self.number, Some(Wait::Taking(Instant::now())));
    }

    /// The library has room for an event of its stream.
    pub(super) fn is_read(&self) {
        self.requests.lock().set(self.number, Some(Wait::Event(Instant::now())));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inner = self.requests.lock();
        inner.set(self.number, None);
        inner.free.push(self.number);
        if inner.free.len() == inner.waits.len() {
            inner.idle_since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_that_waits_longest_counts_and_an_idle_connection_has_its_own_time() {
        let settings = ServerSettings { request_time_ms_max: 1_000, ..ServerSettings::default() };
        let requests = Arc::new(Requests::new(&settings, Duration::from_secs(30)));
        let begun = Instant::now();
        assert_eq!(requests.deadline(&settings).1, "idle_time_ms_max");
        let first = requests.begin();
        let second = requests.begin();
        first.is_read();
        let (moment, setting) = requests.deadline(&settings);
        assert_eq!(setting, "request_time_ms_max");
        assert!(moment >= begun + Duration::from_secs(2) && moment < begun + Duration::from_secs(20));
        drop(second);
        assert!(
            requests.deadline(&settings).0 >= begun + Duration::from_secs(31),
            "a quiet stream may go on"
        );
        first.is_answered();
        assert!(requests.deadline(&settings).0 < begun + Duration::from_secs(20));
        drop(first);
        assert_eq!(requests.deadline(&settings).1, "idle_time_ms_max");
        let again = requests.begin();
        assert_eq!((again.number, requests.lock().waits.len()), (0, 2), "numbers are used again");
    }
}
