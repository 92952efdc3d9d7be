//! What nodes tell each other of failures, so that all of them together give no more guesses than one.

use super::cells::CounterTable;
use super::line::{BlockingCount, CountedBy};
use super::{LoginThrottle, ReadyTickets};
use crate::{CLOCK_SKEW_MAX, Moment};

pub use durward_session_table::{COUNT_CHANGES_MAX, CountChange, GuessNews};

/// How many changes wait until they are told; further ones are counted here alone.
const UNTOLD_MAX: usize = 4096;

/// The bit of [`CountChange::table`] that forgives.
const FORGIVEN: u8 = 0x80;

/// Stands for a table where an operator forgives a user, at their usual addresses too.
const BY_OPERATOR: u8 = 7 | FORGIVEN;

/// What this node has to tell.
#[derive(Debug)]
pub(super) struct UntoldGuesses {
    from: u64,
    changes: Vec<CountChange>,
}

impl UntoldGuesses {
    pub(super) fn new(from: u64) -> UntoldGuesses {
        UntoldGuesses { from, changes: Vec::new() }
    }

    fn add(&mut self, table: u8, key: u64) {
        if self.changes.len() < UNTOLD_MAX {
            self.changes.push(CountChange { table, key });
        }
    }
}

impl LoginThrottle {
    /// What other nodes are to be told, if there is anything; again until there is nothing.
    pub fn take_news(&mut self, now: Moment) -> Option<GuessNews> {
        let untold = self.untold.as_mut().filter(|untold| !untold.changes.is_empty())?;
        let rest = untold.changes.split_off(untold.changes.len().min(COUNT_CHANGES_MAX));
        let changes = std::mem::replace(&mut untold.changes, rest);
        Some(GuessNews { from: untold.from, at: now, changes })
    }

    /// Whether there is anything to tell.
    pub fn has_news(&self) -> bool {
        self.untold.as_ref().is_some_and(|untold| !untold.changes.is_empty())
    }

    /// Counts what another node tells. Whose turn it is after that. What this node has told itself is no news.
    #[must_use = "whoever has a turn is to be told"]
    pub fn hear(&mut self, now: Moment, news: &GuessNews) -> ReadyTickets {
        if self.untold.as_ref().is_some_and(|untold| untold.from == news.from) {
            return ReadyTickets::new();
        }
        let at = heard_at(now, news.at);
        let mut forgiven = Vec::new();
        for CountChange { table, key } in &news.changes {
            if *table == BY_OPERATOR {
                self.remember_forgiven(at, *key);
            }
            // A table that a newer node has and this one does not is passed over.
            let Some(whose) = whose(table & !FORGIVEN) else { continue };
            let spot = BlockingCount { whose, key: *key };
            if table & FORGIVEN == 0 {
                self.count_elsewhere(at, spot);
            } else {
                self.table(spot).forgive(spot.key);
                forgiven.push(spot);
            }
        }
        self.serve(now, forgiven)
    }

    fn count_elsewhere(&mut self, at: Moment, spot: BlockingCount) {
        let table: &mut CounterTable = self.table(spot);
        // A failure makes nobody known.
        if spot.whose != CountedBy::Known || table.has(spot.key) {
            table.fail_elsewhere(at, spot.key);
        }
    }

    /// An attempt failed: here, and for all others.
    pub(super) fn fail(&mut self, now: Moment, spot: BlockingCount) {
        self.table(spot).fail(now, spot.key);
        if let Some(untold) = &mut self.untold {
            untold.add(number(spot.whose), spot.key);
        }
    }

    /// Failures are forgotten, here and by all others.
    pub(super) fn forgive_count(&mut self, now: Moment, spot: BlockingCount) {
        let has_failed = self.table(spot).failures(now, spot.key) > 0;
        self.table(spot).forgive(spot.key);
        if let Some(untold) = self.untold.as_mut().filter(|_| has_failed) {
            untold.add(number(spot.whose) | FORGIVEN, spot.key);
        }
    }

    /// An operator forgives a user, here and everywhere. Others may have counted what this node has not.
    pub(super) fn forgive_user(&mut self, now: Moment, counts: [BlockingCount; 4]) {
        for spot in counts {
            self.table(spot).forgive(spot.key);
            if let Some(untold) = &mut self.untold {
                untold.add(number(spot.whose) | FORGIVEN, spot.key);
            }
        }
        let [of_passwords, ..] = counts;
        self.remember_forgiven(now, of_passwords.key);
        if let Some(untold) = &mut self.untold {
            untold.add(BY_OPERATOR, of_passwords.key);
        }
    }
}

/// When a failure was, by this node's clock. What was told just now was now, whatever the other's clock says.
fn heard_at(now: Moment, at: Moment) -> Moment {
    if at > now || now.since(at) < CLOCK_SKEW_MAX { now } else { at }
}

fn number(whose: CountedBy) -> u8 {
    match whose {
        CountedBy::Address => 1,
        CountedBy::User => 2,
        CountedBy::Code => 3,
        CountedBy::Known => 4,
        CountedBy::Device => 5,
        CountedBy::Stranger => 6,
        // 7 is an operator's.
        CountedBy::AllDevices => 8,
        CountedBy::Site => 9,
    }
}

fn whose(number: u8) -> Option<CountedBy> {
    let all = [
        CountedBy::Address,
        CountedBy::User,
        CountedBy::Code,
        CountedBy::Known,
        CountedBy::Device,
        CountedBy::Stranger,
        CountedBy::AllDevices,
        CountedBy::Site,
    ];
    all.into_iter().find(|whose| self::number(*whose) == number)
}
