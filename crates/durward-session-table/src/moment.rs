//! Moments, and stamps that order what happened.

use std::time::{Duration, SystemTime};

/// How far the clocks of two nodes may differ. Tokens from further in the future are refused, and timestamps from
/// there are ignored.
pub const CLOCK_SKEW_MAX: Duration = Duration::from_secs(120);

/// A moment by somebody's clock: milliseconds since 1970 began, UTC. Arithmetic saturates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// So many milliseconds after 1970 began.
    pub const fn from_ms(ms: u64) -> Moment {
        Moment(ms)
    }

    /// So many seconds after 1970 began.
    pub const fn from_s(seconds: u32) -> Moment {
        Moment(seconds as u64 * 1000)
    }

    /// What a clock shows: whole milliseconds, and for a clock that stands before 1970 the moment it began.
    pub fn of(time: SystemTime) -> Moment {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Moment::default().plus(since)
    }

    /// Milliseconds since 1970 began.
    pub const fn ms(self) -> u64 {
        self.0
    }

    /// Whole seconds since 1970 began; nothing after 2106.
    pub fn seconds(self) -> u32 {
        u32::try_from(self.0 / 1000).unwrap_or(u32::MAX)
    }

    /// This much later.
    #[must_use]
    pub fn plus(self, span: Duration) -> Moment {
        Moment(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How much later this is than that; nothing when it is not.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// When a login or a revocation happened, in microseconds since 1970 began, made so that it orders what one node knows of: see
/// [`Stamps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Stamp(u64);

impl Stamp {
    /// So many microseconds after 1970 began.
    pub const fn from_us(us: u64) -> Stamp {
        Stamp(us)
    }

    /// Microseconds since 1970 began.
    pub const fn us(self) -> u64 {
        self.0
    }

    /// The clock's moment that is nearest.
    pub const fn moment(self) -> Moment {
        Moment(self.0 / 1000)
    }

    /// The stamp, or the furthest that clocks may differ ([`CLOCK_SKEW_MAX`]) where it is beyond that.
    pub(crate) fn sane(self, now: Moment) -> Stamp {
        self.min(Stamp(now.plus(CLOCK_SKEW_MAX).0.saturating_mul(1000)))
    }
}

/// Gives stamps: a clock that never goes back and is never behind a stamp it was shown (a hybrid logical clock). With a
/// clock 30 s behind the others', stamps run ahead of that clock; the order of what is known is kept.
#[derive(Debug, Default)]
pub struct Stamps {
    last: Stamp,
}

impl Stamps {
    /// A stamp larger than all given or seen.
    pub fn next(&mut self, now: Moment) -> Stamp {
        self.last = Stamp(now.0.saturating_mul(1000).max(self.last.0.saturating_add(1)));
        self.last
    }

    /// Takes note of a stamp that another node gave. One that is ahead of `now` is followed by no more than [`CLOCK_SKEW_MAX`].
    pub fn see(&mut self, stamp: Stamp, now: Moment) {
        self.last = self.last.max(stamp.sane(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_order_what_was_seen_whatever_the_clock_says() {
        let mut late = Stamps::default();
        let from_a_fast_clock = Stamp::from_us(90_000_000);
        let before = late.next(Moment::from_ms(60_000));
        late.see(from_a_fast_clock, Moment::from_ms(60_000));
        let after = late.next(Moment::from_ms(60_001));
        assert!(before < from_a_fast_clock && from_a_fast_clock < after);
    }

    #[test]
    fn stamps_never_go_back_with_the_clock() {
        let mut stamps = Stamps::default();
        let first = stamps.next(Moment::from_ms(5_000));
        assert!(stamps.next(Moment::from_ms(4_000)) > first);
    }

    #[test]
    fn a_clock_out_of_its_mind_takes_nobody_along() {
        let mut stamps = Stamps::default();
        let now = Moment::from_ms(1_000);
        stamps.see(Stamp::from_us(u64::MAX), now);
        assert!(stamps.next(now).moment() <= now.plus(CLOCK_SKEW_MAX));
    }
}
