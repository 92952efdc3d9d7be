//! Waiting for moments of the clock that durward was given.

use std::time::{Duration, SystemTime};

use tokio::time::sleep;

use crate::Clock;

/// The longest sleep: if the clock is set forward, what waits for a time is late by at most this.
const NAP_MAX: Duration = Duration::from_secs(10);

/// Milliseconds since 1970; the clock may stand before that.
pub(super) fn milliseconds(clock: &Clock) -> i64 {
    let now = clock();
    match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |past| -past),
    }
}

/// Waits until the clock shows this time; the clock may be set meanwhile.
pub(super) async fn sleep_until(clock: &Clock, time_ms: i64) {
    loop {
        let left_ms = time_ms.saturating_sub(milliseconds(clock));
        let Ok(left_ms @ 1..) = u64::try_from(left_ms) else { return };
        sleep(Duration::from_millis(left_ms).min(NAP_MAX)).await;
    }
}
