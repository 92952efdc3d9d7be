//! The clock of a gate: it goes on by itself, by what the machine counts since its start, and is corrected by the wall clock within bounds.
//!
//! A wall clock that is set while the gate runs would else lengthen tokens (set back) or end all of them (set ahead, were it for one reading).

use std::time::Duration;

use durward_identity::Moment;

/// The wall clock is followed up to this far: ahead at once, back slowly.
pub const CLOCK_STEP_MAX: Duration = Duration::from_secs(1);
/// A wall clock that is further away is believed once it has been so for this long. A machine that wakes up accepts
/// for so much longer what expired in its sleep.
pub const CLOCK_DOUBT_MAX: Duration = Duration::from_secs(1);
/// All its readings meanwhile agree with the first up to this: one that stands still does not.
const AGREEMENT_MS: u64 = 100;
/// Back, by one millisecond of so many: tokens live no longer than by this part.
const SLEW: u64 = 10;
/// Readings that follow each other sooner change nothing.
const READING_MS: u64 = 10;

/// The wall clock was set while the gate runs, and is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClockJump {
    /// Ahead.
    Ahead(Duration),
    /// Back: what was ended by time may count again, and what is known of cutoffs may have been forgotten too early. See
    /// [`GateEvent::ClockSetBack`](super::GateEvent::ClockSetBack).
    Back(Duration),
}

/// How far the wall clock is ahead, if it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ClockOffset {
    Ahead(u64),
    Back(u64),
}

impl ClockOffset {
    fn of(wall: Moment, now: Moment) -> ClockOffset {
        if wall >= now {
            ClockOffset::Ahead(wall.ms() - now.ms())
        } else {
            ClockOffset::Back(now.ms() - wall.ms())
        }
    }

    fn agrees(self, other: ClockOffset) -> bool {
        match (self, other) {
            (ClockOffset::Ahead(one), ClockOffset::Ahead(other))
            | (ClockOffset::Back(one), ClockOffset::Back(other)) => one.abs_diff(other) <= AGREEMENT_MS,
            (ClockOffset::Ahead(_), ClockOffset::Back(_)) | (ClockOffset::Back(_), ClockOffset::Ahead(_)) => {
                false
            }
        }
    }
}

/// A clock that goes on by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DisciplinedClock {
    now: Moment,
    /// When it was `now`, by what the machine counts, in milliseconds.
    at_ms: u64,
    /// The wall clock is far away since then.
    doubt: Option<(ClockOffset, u64)>,
}

fn whole_ms(uptime: Duration) -> u64 {
    u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX)
}

impl DisciplinedClock {
    /// Set by the wall clock; `uptime` is what the machine has counted since any moment: it never goes back and is never set.
    pub fn new(wall: Moment, uptime: Duration) -> DisciplinedClock {
        DisciplinedClock { now: wall, at_ms: whole_ms(uptime), doubt: None }
    }

    /// The moment. It never goes back but where [`DisciplinedClock::read`] says so.
    pub fn at(&self, uptime: Duration) -> Moment {
        self.now.plus(Duration::from_millis(whole_ms(uptime).saturating_sub(self.at_ms)))
    }

    /// Corrects it by a reading of the wall clock: at least every few hundred milliseconds.
    pub fn read(&mut self, wall: Moment, uptime: Duration) -> Option<ClockJump> {
        let at_ms = whole_ms(uptime).max(self.at_ms);
        let elapsed = at_ms - self.at_ms;
        if elapsed < READING_MS {
            return None;
        }
        let expected = self.now.plus(Duration::from_millis(elapsed));
        let offset = ClockOffset::of(wall, expected);
        let step_max = whole_ms(CLOCK_STEP_MAX);
        (self.now, self.at_ms) = (expected, at_ms);
        match offset {
            ClockOffset::Ahead(ahead) if ahead <= step_max => (self.now, self.doubt) = (wall, None),
            ClockOffset::Back(back) if back <= step_max => {
                let corrected = expected.ms().saturating_sub(back.min(elapsed / SLEW));
                (self.now, self.doubt) = (Moment::from_ms(corrected), None);
            }
            ClockOffset::Ahead(_) | ClockOffset::Back(_) => return self.doubt(offset, wall),
        }
        None
    }

    fn doubt(&mut self, offset: ClockOffset, wall: Moment) -> Option<ClockJump> {
        let first = self.doubt.filter(|(first, _)| first.agrees(offset));
        let (_, since) = *self.doubt.insert(first.unwrap_or((offset, self.at_ms)));
        if self.at_ms - since < whole_ms(CLOCK_DOUBT_MAX) {
            return None;
        }
        (self.now, self.doubt) = (wall, None);
        Some(match offset {
            ClockOffset::Ahead(by) => ClockJump::Ahead(Duration::from_millis(by)),
            ClockOffset::Back(by) => ClockJump::Back(Duration::from_millis(by)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Moment = Moment::from_s(1_780_272_000);

    /// Readings every 50 ms: how far the wall clock is from the truth, in milliseconds, by when; and for how long. What the clock shows beside the
    /// truth in the end, and its jumps.
    fn run(wall: impl Fn(u64) -> i64, for_ms: u64) -> (i64, Vec<ClockJump>) {
        let moment = |ms: i64| Moment::from_ms(START.ms().saturating_add_signed(ms));
        let mut clock = DisciplinedClock::new(moment(wall(0)), Duration::ZERO);
        let (mut jumps, mut before) = (Vec::new(), clock.at(Duration::ZERO));
        for at in (0..=for_ms).step_by(50) {
            let uptime = Duration::from_millis(at);
            let jump = clock.read(moment(at as i64 + wall(at)), uptime);
            let now = clock.at(uptime);
            assert!(now >= before || matches!(jump, Some(ClockJump::Back(_))), "the clock went back unsaid");
            before = now;
            jumps.extend(jump);
        }
        let shown = clock.at(Duration::from_millis(for_ms)).ms() as i64;
        (shown - START.ms() as i64 - for_ms as i64, jumps)
    }

    #[test]
    fn small_differences_are_followed() {
        assert_eq!(run(|_| 0, 10_000), (0, vec![]));
        assert_eq!(run(|at| if at > 1_000 { 900 } else { 0 }, 10_000), (900, vec![]));
        // 900 ms back take 9 s.
        assert_eq!(run(|at| if at > 1_000 { -900 } else { 0 }, 11_000), (-900, vec![]));
        let (shown, _) = run(|at| if at > 1_000 { -900 } else { 0 }, 5_000);
        assert_eq!(shown, -400, "back by a tenth of what passes");
    }

    #[test]
    fn one_wrong_reading_changes_nothing() {
        const YEAR_MS: i64 = 365 * 86_400_000;
        for wrong in [YEAR_MS, -YEAR_MS, 2_000, -2_000] {
            assert_eq!(run(|at| if at == 1_000 { wrong } else { 0 }, 10_000), (0, vec![]));
        }
    }

    #[test]
    fn a_clock_that_was_set_is_believed_when_it_stays_so() {
        let hour = Duration::from_secs(3_600);
        let set = |to: i64| move |at: u64| if at >= 1_000 { to } else { 0 };
        assert_eq!(run(set(3_600_000), 1_950), (0, vec![]));
        assert_eq!(run(set(3_600_000), 2_000), (3_600_000, vec![ClockJump::Ahead(hour)]));
        assert_eq!(run(set(-3_600_000), 2_000), (-3_600_000, vec![ClockJump::Back(hour)]));
    }

    /// One that was frozen, or counts much too fast, is never believed.
    #[test]
    fn a_clock_that_stands_still_does_not_hold_the_gates_clock() {
        let (shown, jumps) = run(|at| -(at as i64), 600_000);
        assert_eq!(jumps, []);
        // Followed by a tenth until it is a second away.
        assert!((-120..=0).contains(&shown), "{shown} ms");
    }

    #[test]
    fn what_is_less_than_a_millisecond_is_not_lost() {
        let mut clock = DisciplinedClock::new(START, Duration::ZERO);
        for step in 0..100_000_u64 {
            let uptime = Duration::from_micros(step * 300);
            clock.read(START.plus(uptime), uptime);
        }
        assert_eq!(clock.at(Duration::from_secs(30)), START.plus(Duration::from_secs(30)));
    }
}
