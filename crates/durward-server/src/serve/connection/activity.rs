//! What a connection does, told by its task and looked at by whoever needs its place.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use durward_common::surfaces::http::phase::Phase;

use super::requests::Requests;

/// How long a connection that has asked something may be between two requests before another one can have its place: pauses of a client
/// at work are shorter.
const PAUSE: Duration = Duration::from_secs(10);

/// One connection's.
#[derive(Debug)]
pub(crate) struct Activity {
    stage: Mutex<Stage>,
    /// Whether a caller on it was authenticated.
    is_authenticated: AtomicBool,
}

/// What is spoken on it.
#[derive(Debug)]
enum Stage {
    /// Nothing yet, since it was accepted.
    Silent(Instant),
    Http1(Arc<Phase>),
    Http2(Arc<Requests>),
}

/// How little a connection would lose with its place; the more, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Idle {
    /// It is between two requests, for so long.
    Between(Duration),
    /// It has not asked anything, for so long.
    Silent(Duration),
}

impl Activity {
    pub(crate) fn new(now: Instant) -> Activity {
        Activity { stage: Mutex::new(Stage::Silent(now)), is_authenticated: AtomicBool::new(false) }
    }

    pub(super) fn speaks_http1(&self, phase: &Arc<Phase>) {
        self.set(Stage::Http1(Arc::clone(phase)));
    }

    pub(super) fn speaks_http2(&self, requests: &Arc<Requests>) {
        self.set(Stage::Http2(Arc::clone(requests)));
    }

    fn set(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    /// A caller on it was authenticated.
    #[inline]
    pub(crate) fn authenticate(&self) {
        if !self.is_authenticated.load(Ordering::Relaxed) {
            self.is_authenticated.store(true, Ordering::Relaxed);
        }
    }

    /// How idle it is, if it is, and nobody on it was authenticated.
    pub(crate) fn idle(&self, now: Instant) -> Option<Idle> {
        if self.is_authenticated.load(Ordering::Relaxed) {
            return None;
        }
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let since = match &*stage {
            Stage::Silent(since) => return Some(Idle::Silent(now.saturating_duration_since(*since))),
            Stage::Http1(phase) => phase.idle_since(),
            Stage::Http2(requests) => requests.idle_since(),
        };
        let pause = now.saturating_duration_since(since?);
        (pause >= PAUSE).then_some(Idle::Between(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_common::surfaces::http::phase::Wait;
    use durward_settings::ServerSettings;

    #[test]
    fn who_asks_is_not_idle_and_who_was_authenticated_never_is() {
        let begun = Instant::now();
        let later = begun + Duration::from_secs(60);
        let activity = Activity::new(begun);
        assert_eq!(activity.idle(later), Some(Idle::Silent(Duration::from_secs(60))));
        let phase = Arc::new(Phase::new(begun));
        activity.speaks_http1(&phase);
        assert_eq!(activity.idle(Instant::now()), None, "it has a pause between requests");
        assert!(matches!(activity.idle(later), Some(Idle::Between(_))));
        for wait in [Wait::Header, Wait::Answer, Wait::Taking, Wait::Event] {
            phase.set(wait);
            assert_eq!(activity.idle(later), None, "{wait:?}");
        }
        let requests = Arc::new(Requests::new(&ServerSettings::default(), PAUSE));
        activity.speaks_http2(&requests);
        assert!(matches!(activity.idle(later), Some(Idle::Between(_))));
        let request = requests.begin();
        assert_eq!(activity.idle(later), None);
        drop(request);
        activity.authenticate();
        assert_eq!(activity.idle(later), None);
    }

    #[test]
    fn the_silent_go_first_and_then_the_longest_idle() {
        let [short, long] = [1, 9].map(Duration::from_secs);
        let mut idle = [Idle::Silent(short), Idle::Between(long), Idle::Silent(long), Idle::Between(short)];
        idle.sort();
        let expected = [Idle::Between(short), Idle::Between(long), Idle::Silent(short), Idle::Silent(long)];
        assert_eq!(idle, expected);
    }
}
