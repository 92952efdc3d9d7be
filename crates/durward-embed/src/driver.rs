//! The thread that drives watched subscriptions.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use durward_pdp::stream::{PoliciesInForce, Streams};

use crate::bell::Bell;
use crate::point::{Clock, ms_of};

/// The longest sleep: if the clock is set, nothing waits for longer.
const SLEEP_MS_MAX: i64 = 1_000;

/// Drives the streams of a decision point on a thread of its own, from the first watched subscription on.
pub(crate) struct Driver {
    streams: Streams<PoliciesInForce>,
    bell: Arc<Bell>,
    clock: Clock,
    has_ended: Arc<AtomicBool>,
    is_running: Mutex<bool>,
}

impl Driver {
    pub(crate) fn new(streams: Streams<PoliciesInForce>, bell: Arc<Bell>, clock: Clock) -> Driver {
        Driver { streams, bell, clock, has_ended: Arc::default(), is_running: Mutex::new(false) }
    }

    /// Starts the thread unless it runs.
    pub(crate) fn start(&self) -> io::Result<()> {
        let mut is_running = self.is_running.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_running {
            let (streams, bell) = (self.streams.clone(), Arc::clone(&self.bell));
            let (clock, has_ended) = (Arc::clone(&self.clock), Arc::clone(&self.has_ended));
            let thread = thread::Builder::new().name("durward-watch".to_owned());
            thread.spawn(move || drive(&streams, &bell, &*clock, &has_ended))?;
            *is_running = true;
        }
        Ok(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Release);
        self.bell.ring();
    }
}

fn drive(
    streams: &Streams<PoliciesInForce>,
    bell: &Bell,
    clock: &dyn Fn() -> SystemTime,
    has_ended: &AtomicBool,
) {
    while !has_ended.load(Ordering::Acquire) {
        let now_ms = ms_of(clock());
        let next_ms = streams.tick(now_ms);
        let wait_ms = next_ms.map_or(SLEEP_MS_MAX, |next_ms| next_ms.saturating_sub(now_ms));
        let wait_ms = u64::try_from(wait_ms.clamp(0, SLEEP_MS_MAX)).unwrap_or_default();
        bell.wait_until(Instant::now().checked_add(Duration::from_millis(wait_ms)));
    }
}
