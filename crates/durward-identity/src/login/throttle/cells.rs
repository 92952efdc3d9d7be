//! Tables of a fixed size that count failures and attempts under way.

use std::time::Duration;

use crate::Moment;

/// How many counts the largest tables hold: 32 bytes each.
pub(super) const CELLS: usize = 1 << 16;
/// How many counts share a place.
const WAYS: usize = 8;

/// When a count makes wait, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThrottleRule {
    /// So many failures cost nothing.
    pub(super) free: u32,
    pub(super) delay: Duration,
    pub(super) delay_max: Duration,
    pub(super) forgotten_after: Duration,
}

impl ThrottleRule {
    fn delay_ms(&self, failures: u32) -> u32 {
        let Some(beyond) = failures.checked_sub(self.free + 1) else { return 0 };
        let doubled = self.delay.saturating_mul(1 << beyond.min(20));
        u32::try_from(doubled.min(self.delay_max).as_millis()).unwrap_or(u32::MAX)
    }
}

/// Whether there is room for one more attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptRoom {
    /// There is.
    Free,
    /// There may be, when those under way are decided.
    Full,
    /// There is none before this.
    Delayed(Moment),
}

/// A count that an attempt under way is part of.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptCount {
    key: u64,
    born: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct CounterCell {
    /// 0 is nobody.
    key: u64,
    /// The last failure; of known pairs the last failure or login.
    at: Moment,
    failures: u32,
    under_way: u32,
    /// How long after `at` it may be tried again.
    delay_ms: u32,
    /// Tells this cell from those that had its key and were pushed out: their attempts are not taken from its own.
    born: u32,
}

impl CounterCell {
    /// What is not forgotten of the failures.
    fn failures(&self, now: Moment, rule: &ThrottleRule) -> u32 {
        let forgotten = now.since(self.at).as_millis() / rule.forgotten_after.as_millis().max(1);
        self.failures.saturating_sub(u32::try_from(forgotten).unwrap_or(u32::MAX))
    }

    /// The delay is no longer than this here.
    fn room(&self, now: Moment, rule: &ThrottleRule, longest: Duration) -> AttemptRoom {
        let until = self.at.plus(Duration::from_millis(self.delay_ms.into()).min(longest));
        if self.delay_ms > 0 && until > now {
            return AttemptRoom::Delayed(until);
        }
        if self.is_full(now, rule) { AttemptRoom::Full } else { AttemptRoom::Free }
    }

    /// Beyond what is free one at a time.
    fn is_full(&self, now: Moment, rule: &ThrottleRule) -> bool {
        self.under_way > 0 && self.failures(now, rule).saturating_add(self.under_way) > rule.free
    }

    /// How much would be lost with it.
    fn weight(&self) -> (u32, Moment) {
        (self.failures.saturating_add(self.under_way), self.at)
    }
}

#[derive(Debug)]
pub(super) struct CounterTable {
    cells: Box<[[CounterCell; WAYS]]>,
    rule: ThrottleRule,
    born: u32,
}

impl CounterTable {
    /// Nothing is counted yet, and so many counts have room.
    pub(super) fn new(rule: ThrottleRule, cells: usize) -> CounterTable {
        CounterTable {
            cells: vec![[CounterCell::default(); WAYS]; (cells / WAYS).max(1)].into(),
            rule,
            born: 0,
        }
    }

    pub(super) fn room(&self, now: Moment, key: u64) -> AttemptRoom {
        self.room_within(now, key, self.rule.delay_max)
    }

    /// The room for somebody whose delay is no longer than this.
    pub(super) fn room_within(&self, now: Moment, key: u64, longest: Duration) -> AttemptRoom {
        self.get(key).map_or(AttemptRoom::Free, |cell| cell.room(now, &self.rule, longest))
    }

    /// Whether somebody tries, and nobody else may until that is decided.
    pub(super) fn is_full(&self, now: Moment, key: u64) -> bool {
        self.get(key).is_some_and(|cell| cell.is_full(now, &self.rule))
    }

    /// How many failures are not forgotten.
    pub(super) fn failures(&self, now: Moment, key: u64) -> u32 {
        self.get(key).map_or(0, |cell| cell.failures(now, &self.rule))
    }

    /// How many failures are not forgotten, and how many attempts are under way, which may become some.
    pub(super) fn taken(&self, now: Moment, key: u64) -> u32 {
        self.get(key).map_or(0, |cell| cell.failures(now, &self.rule).saturating_add(cell.under_way))
    }

    /// When the last failure was, if it has a delay.
    pub(super) fn last_delayed(&self, key: u64) -> Option<Moment> {
        self.get(key).filter(|cell| cell.delay_ms > 0).map(|cell| cell.at)
    }

    /// Since when something is known for the key, which is noted now if it was not; begun anew where that is longer ago than `span`.
    pub(super) fn since(&mut self, now: Moment, key: u64, span: Duration) -> Moment {
        let Some(cell) = self.get_mut(now, key) else { return now };
        if now.since(cell.at) >= span {
            cell.at = now;
        }
        cell.at
    }

    /// Whether something was noted for the key within this time.
    pub(super) fn is_within(&self, now: Moment, key: u64, span: Duration) -> bool {
        self.get(key).is_some_and(|cell| now.since(cell.at) < span)
    }

    /// An attempt is under way.
    pub(super) fn begin(&mut self, now: Moment, key: u64) -> AttemptCount {
        let mut part = AttemptCount { key, born: 0 };
        if let Some(cell) = self.get_mut(now, key) {
            cell.under_way = cell.under_way.saturating_add(1);
            part.born = cell.born;
        }
        part
    }

    /// It is no longer.
    pub(super) fn end(&mut self, part: AttemptCount) {
        if let Some(cell) = self.find_mut(part.key).filter(|cell| cell.born == part.born) {
            cell.under_way = cell.under_way.saturating_sub(1);
        }
    }

    /// An attempt failed.
    pub(super) fn fail(&mut self, now: Moment, key: u64) {
        let rule = self.rule;
        if let Some(cell) = self.get_mut(now, key) {
            cell.failures = cell.failures(now, &rule).saturating_add(1);
            cell.at = now;
            cell.delay_ms = rule.delay_ms(cell.failures);
        }
    }

    /// An attempt failed elsewhere, some time ago.
    pub(super) fn fail_elsewhere(&mut self, at: Moment, key: u64) {
        let rule = self.rule;
        if let Some(cell) = self.get_mut(at, key) {
            cell.failures = cell.failures(at, &rule).saturating_add(1);
            cell.at = cell.at.max(at);
            cell.delay_ms = rule.delay_ms(cell.failures);
        }
    }

    /// Whether there is a count for the key.
    pub(super) fn has(&self, key: u64) -> bool {
        self.get(key).is_some()
    }

    /// Forgets failures. Attempts under way stay.
    pub(super) fn forgive(&mut self, key: u64) {
        if let Some(cell) = self.find_mut(key) {
            (cell.failures, cell.delay_ms) = (0, 0);
        }
    }

    /// Forgets failures up to a moment.
    pub(super) fn forgive_before(&mut self, at: Moment, key: u64) {
        if let Some(cell) = self.find_mut(key).filter(|cell| cell.at <= at) {
            (cell.failures, cell.delay_ms) = (0, 0);
        }
    }

    /// Forgets failures, and notes that there was something else.
    pub(super) fn note(&mut self, now: Moment, key: u64) {
        if let Some(cell) = self.get_mut(now, key) {
            (cell.failures, cell.delay_ms, cell.at) = (0, 0, now);
        }
    }

    fn get(&self, key: u64) -> Option<&CounterCell> {
        self.cells.get(self.place(key))?.iter().find(|cell| cell.key == key)
    }

    fn find_mut(&mut self, key: u64) -> Option<&mut CounterCell> {
        let place = self.place(key);
        self.cells.get_mut(place)?.iter_mut().find(|cell| cell.key == key)
    }

    /// The cell with the key; else the one with the least to lose, emptied for it.
    fn get_mut(&mut self, now: Moment, key: u64) -> Option<&mut CounterCell> {
        let place = self.place(key);
        let cells = self.cells.get_mut(place)?;
        let at = cells.iter().position(|cell| cell.key == key);
        let at = at.or_else(|| (0..WAYS).min_by_key(|at| cells.get(*at).map(CounterCell::weight)))?;
        let cell = cells.get_mut(at)?;
        if cell.key != key {
            self.born = self.born.wrapping_add(1);
            *cell = CounterCell { key, at: now, born: self.born, ..CounterCell::default() };
        }
        Some(cell)
    }

    fn place(&self, key: u64) -> usize {
        (key >> 20) as usize % self.cells.len().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_s(1_700_000_000);

    fn table(free: u32) -> CounterTable {
        let rule = ThrottleRule {
            free,
            delay: Duration::from_secs(1),
            delay_max: Duration::from_secs(60),
            forgotten_after: Duration::from_secs(300),
        };
        CounterTable::new(rule, CELLS)
    }

    #[test]
    fn what_is_under_way_and_what_failed_share_what_is_free() {
        let mut table = table(3);
        table.fail(NOW, 7);
        table.fail(NOW, 7);
        let first = table.begin(NOW, 7);
        assert_eq!(table.room(NOW, 7), AttemptRoom::Free);
        let _ = table.begin(NOW, 7);
        assert_eq!(table.room(NOW, 7), AttemptRoom::Full);
        table.end(first);
        assert_eq!(table.room(NOW, 7), AttemptRoom::Free);
        table.fail(NOW, 7);
        assert_eq!(table.room(NOW, 7), AttemptRoom::Full);
        table.fail(NOW, 7);
        assert_eq!(table.room(NOW, 7), AttemptRoom::Delayed(NOW.plus(Duration::from_secs(1))));
    }

    /// Failures fade also where none follow.
    #[test]
    fn what_is_forgotten_makes_room_before_the_next_failure() {
        let mut table = table(3);
        for _ in 0..5 {
            table.fail(NOW, 7);
        }
        let later = |failures: u64| NOW.plus(Duration::from_secs(300 * failures));
        let _ = table.begin(later(1), 7);
        assert_eq!(table.room(later(1), 7), AttemptRoom::Full, "one at a time");
        assert_eq!(table.room(later(2), 7), AttemptRoom::Full);
        assert_eq!(table.room(later(3), 7), AttemptRoom::Free);
    }

    #[test]
    fn an_attempt_whose_count_was_pushed_out_is_not_taken_from_the_next_one() {
        let mut table = table(0);
        let key = 1 << 20;
        let old = table.begin(NOW, key);
        let neighbours = (1..=WAYS as u64).map(|low| key + low);
        for neighbour in neighbours {
            table.fail(NOW, neighbour);
            table.fail(NOW, neighbour);
        }
        assert_eq!(table.room(NOW, key), AttemptRoom::Free, "pushed out");
        let _ = table.begin(NOW, key);
        table.end(old);
        assert_eq!(table.room(NOW, key), AttemptRoom::Full);
    }

    #[test]
    fn a_clock_that_goes_back_delays_nobody_who_has_not_failed() {
        let mut table = table(3);
        table.note(NOW, 7);
        assert_eq!(table.room(Moment::from_s(1_600_000_000), 7), AttemptRoom::Free);
    }
}
