//! What drives streams of decisions: calls them when something has happened and when a time has come.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use durward_pdp::stream::{BrokerSettings, Decider, Streams};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

use crate::Clock;

/// The longest nap: a clock that is set forward delays what waits for a time by no more than this.
const NAP_MAX: Duration = Duration::from_secs(10);

/// Milliseconds since 1970; the clock may stand before that.
pub(crate) fn milliseconds(clock: &Clock) -> i64 {
    let now = clock();
    match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |past| -past),
    }
}

/// Streams over these policies, and what drives them: a future that never ends, to be spawned on one runtime. Dropping it
/// stops the streams where they are.
///
/// `seed` spreads the retries of failed sources over time and guards nothing.
pub fn drive<P: Decider>(
    policies: Arc<P>,
    settings: BrokerSettings,
    seed: u64,
    clock: Clock,
) -> (Streams<P>, impl Future<Output = ()> + Send + use<P>) {
    let awake = Arc::new(Notify::new());
    let wake = Arc::clone(&awake);
    let streams = Streams::new(policies, settings, seed, move || wake.notify_one());
    (streams.clone(), run(streams, awake, clock))
}

async fn run<P: Decider>(streams: Streams<P>, awake: Arc<Notify>, clock: Clock) {
    loop {
        let now_ms = milliseconds(&clock);
        match streams.tick(now_ms) {
            // There is more to do, and others want to run too.
            Some(next_ms) if next_ms <= now_ms => yield_now().await,
            next => {
                let nap = next.map_or(NAP_MAX, |next_ms| {
                    Duration::from_millis(next_ms.saturating_sub(now_ms).unsigned_abs()).min(NAP_MAX)
                });
                // Whether woken or not: it is time to look.
                let _ = timeout(nap, awake.notified()).await;
            }
        }
    }
}

/// Waits until the clock shows this time; the clock may be set meanwhile.
pub(crate) async fn sleep_until(clock: &Clock, time_ms: i64) {
    loop {
        let left_ms = time_ms.saturating_sub(milliseconds(clock));
        let Ok(left_ms @ 1..) = u64::try_from(left_ms) else { return };
        sleep(Duration::from_millis(left_ms).min(NAP_MAX)).await;
    }
}
