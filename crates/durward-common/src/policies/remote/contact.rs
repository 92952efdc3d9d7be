//! How long nothing was heard, and what follows from it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::policies::InForce;

/// When the server of a tenant was heard last.
pub(super) struct Contact {
    last: Mutex<Instant>,
    is_closed: AtomicBool,
    news: Notify,
}

impl Contact {
    pub(super) fn new() -> Contact {
        Contact { last: Mutex::new(Instant::now()), is_closed: AtomicBool::new(false), news: Notify::new() }
    }

    pub(super) fn heard(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.news.notify_one();
    }

    /// Whether the policies were taken out of force since this was asked last.
    pub(super) fn take_closed(&self) -> bool {
        self.is_closed.swap(false, Ordering::AcqRel)
    }

    fn last(&self) -> Instant {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes policies stale, and takes them out of force, when the time has come.
    pub(super) async fn watch(&self, in_force: &InForce, tenant: &str) {
        let settings = &in_force.settings.remote_bundles;
        let after = |ms: u64| (ms > 0).then(|| Duration::from_millis(ms));
        let (stale, closed) = (after(settings.stale_after_ms), after(settings.fail_closed_after_ms));
        let never = || Instant::now() + Duration::from_secs(24 * 3600);
        let mut told = (None, None);
        loop {
            let last = self.last();
            let due = |time: Option<Duration>, told: Option<Instant>| {
                time.filter(|_| told != Some(last)).and_then(|time| last.checked_add(time))
            };
            let (stale_at, closed_at) = (due(stale, told.0), due(closed, told.1));
            let next = [stale_at, closed_at].into_iter().flatten().min().unwrap_or_else(never);
            tokio::select! {
                () = sleep_until(next) => {}
                () = self.news.notified() => continue,
            }
            let now = Instant::now();
            if self.last() != last {
                continue;
            }
            if stale_at.is_some_and(|at| at <= now) {
                told.0 = Some(last);
                let seconds = now.duration_since(last).as_secs_f64();
                in_force.lose_contact(tenant, format!("no contact with the server for {seconds:.1} s"));
            }
            if closed_at.is_some_and(|at| at <= now) {
                told.1 = Some(last);
                self.is_closed.store(true, Ordering::Release);
                in_force.close(tenant);
            }
        }
    }
}
