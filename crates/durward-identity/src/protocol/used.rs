//! Second-factor codes that were used, on any node.
//!
//! Of a device it is enough to know the last one: what it showed before is none any more either. It is forgotten when no clock takes it.
//! Recovery codes are good until they are used, so what was used is never forgotten: 16 bytes each, and a user has ten.
//! Of what belongs to a session, grants and their turns, there are at most [`GRANTS_MAX`] for each: beyond that the oldest are over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::session::{GrantTurn, SessionRecord, UsedCode, User};
use crate::{CLOCK_SKEW_MAX, Moment};

/// How often it is looked what can be forgotten.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How many grants of one holder are remembered. A grant that is older than all of these is over.
const GRANTS_MAX: usize = 32;

/// The last code of a user's device that was used.
#[derive(Clone, Copy, Debug)]
struct LastUsedCode {
    since: Moment,
    until: Moment,
}

/// The grants of one holder that were used, oldest first: the last turn of each.
#[derive(Debug, Default)]
struct UsedGrants {
    /// INVARIANT: ascending by grant, at most [`GRANTS_MAX`].
    turns: Vec<(u64, u32)>,
    /// Grants up to this one are over.
    floor: Option<u64>,
    until: Moment,
}

impl UsedGrants {
    fn use_of(&self, grant: u64, turn: u32) -> CodeUse {
        if self.floor.is_some_and(|floor| grant <= floor) {
            return CodeUse::Forgotten;
        }
        let is_used = |(_, last): &(u64, u32)| *last >= turn;
        let is_again = self.turns.iter().find(|(known, _)| *known == grant).is_some_and(is_used);
        if is_again { CodeUse::Again } else { CodeUse::First }
    }

    fn insert(&mut self, used: GrantTurn) {
        self.until = self.until.max(used.until);
        match self.turns.iter_mut().find(|(known, _)| *known == used.grant) {
            Some((_, last)) => *last = used.turn.max(*last),
            None => {
                let at = self.turns.partition_point(|(known, _)| *known < used.grant);
                self.turns.insert(at, (used.grant, used.turn));
            }
        }
        if self.turns.len() > GRANTS_MAX {
            let (oldest, _) = self.turns.remove(0);
            self.floor = self.floor.max(Some(oldest));
        }
    }

    /// What others must insert to know the same.
    fn records(&self, holder: [u8; 16]) -> impl Iterator<Item = GrantTurn> {
        let until = self.until;
        let floor = self.floor.map(|grant| (grant, u32::MAX));
        let turns = floor.into_iter().chain(self.turns.iter().copied());
        turns.map(move |(grant, turn)| GrantTurn { holder, grant, turn, until })
    }
}

#[derive(Debug, Default)]
pub(super) struct UsedCodes {
    devices: BTreeMap<User, LastUsedCode>,
    recovery: BTreeSet<[u8; 16]>,
    grants: BTreeMap<[u8; 16], UsedGrants>,
    swept: Moment,
    /// The mistake that [`CodeUse`] is there to avoid, for the simulation to find.
    #[cfg(test)]
    pub(super) lets_everybody_in: bool,
}

/// What came of a code that was given to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeUse {
    /// Nothing that the store has before it used it up.
    First,
    /// It was used up before.
    Again,
    /// It is of a grant that newer ones of its holder have pushed out. It is over, and nobody knows any more whether it was used.
    Forgotten,
    /// The store has it, and nobody can say any more what it has before it.
    Unclear,
}

impl UsedCodes {
    /// What a code is worth at this moment.
    pub(super) fn use_of(&self, code: &UsedCode) -> CodeUse {
        let is_used = match code {
            UsedCode::Device { user, since, .. } => {
                self.devices.get(user).is_some_and(|last| last.since >= *since)
            }
            UsedCode::Recovery(name) => self.recovery.contains(name),
            UsedCode::Grant(used) => {
                let known = self.grants.get(&used.holder);
                return known.map_or(CodeUse::First, |known| known.use_of(used.grant, used.turn));
            }
        };
        if is_used { CodeUse::Again } else { CodeUse::First }
    }

    /// Takes note of a code, and says what it was worth until now.
    pub(super) fn insert(&mut self, code: UsedCode) -> CodeUse {
        let code_use = self.use_of(&code);
        #[cfg(test)]
        let code_use = if self.lets_everybody_in { CodeUse::First } else { code_use };
        if code_use != CodeUse::First {
            return code_use;
        }
        match code {
            UsedCode::Device { user, since, until } => {
                self.devices.insert(user, LastUsedCode { since, until });
            }
            UsedCode::Recovery(name) => {
                self.recovery.insert(name);
            }
            UsedCode::Grant(used) => self.grants.entry(used.holder).or_default().insert(used),
        }
        CodeUse::First
    }

    /// Forgets what no node takes any more, though its clock be as wrong as it may.
    pub(super) fn sweep(&mut self, now: Moment) {
        if now >= self.swept && now.since(self.swept) < SWEEP_EVERY {
            return;
        }
        self.swept = now;
        self.devices.retain(|_, last| now < last.until.plus(CLOCK_SKEW_MAX));
        self.grants.retain(|_, grants| now < grants.until.plus(CLOCK_SKEW_MAX));
    }

    /// What is known, for a node that asks.
    pub(super) fn records(&self) -> impl Iterator<Item = SessionRecord> {
        let devices = self.devices.iter().map(|(user, LastUsedCode { since, until })| {
            let (user, since, until) = (user.clone(), *since, *until);
            UsedCode::Device { user, since, until }
        });
        let recovery = self.recovery.iter().copied().map(UsedCode::Recovery);
        let grants = self.grants.iter().flat_map(|(holder, grants)| grants.records(*holder));
        devices.chain(recovery).chain(grants.map(UsedCode::Grant)).map(SessionRecord::Used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl UsedCodes {
        fn contains(&self, code: &UsedCode) -> bool {
            self.use_of(code) != CodeUse::First
        }
    }

    fn device(user: &str, step: u32) -> UsedCode {
        let user = User::new("/", user).unwrap();
        UsedCode::Device { user, since: Moment::from_s(step * 30), until: Moment::from_s(step * 30 + 60) }
    }

    #[test]
    fn a_code_uses_up_those_that_the_device_showed_before_and_no_others() {
        let mut used = UsedCodes::default();
        assert_eq!(used.insert(device("anna", 7)), CodeUse::First);
        assert_eq!(used.insert(device("anna", 7)), CodeUse::Again);
        assert_eq!(used.insert(device("anna", 6)), CodeUse::Again);
        assert_eq!(used.insert(device("berta", 6)), CodeUse::First);
        assert_eq!(used.insert(device("anna", 8)), CodeUse::First);
        assert_eq!(used.insert(UsedCode::Recovery([1; 16])), CodeUse::First);
        assert_eq!(used.insert(UsedCode::Recovery([1; 16])), CodeUse::Again);
        assert_eq!(used.insert(UsedCode::Recovery([2; 16])), CodeUse::First);
        let mut learned = UsedCodes::default();
        for record in used.records() {
            let SessionRecord::Used(code) = record else { panic!("{record:?}") };
            learned.insert(code);
        }
        assert!([device("anna", 8), device("berta", 6)].iter().all(|code| learned.contains(code)));
        assert!(!learned.contains(&device("anna", 9)));
        assert!(learned.contains(&UsedCode::Recovery([2; 16])));
    }

    fn turn(grant: u64, turn: u32) -> UsedCode {
        UsedCode::Grant(GrantTurn { holder: [3; 16], grant, turn, until: Moment::from_s(100) })
    }

    #[test]
    fn a_turn_uses_up_those_before_it_of_its_grant_and_no_others() {
        let mut used = UsedCodes::default();
        assert_eq!(used.insert(turn(5, 0)), CodeUse::First);
        assert_eq!(used.insert(turn(5, 0)), CodeUse::Again);
        assert_eq!(used.insert(turn(5, 1)), CodeUse::First);
        assert_eq!(used.insert(turn(5, 0)), CodeUse::Again);
        assert_eq!(used.insert(turn(4, 0)), CodeUse::First);
        let other = GrantTurn { holder: [4; 16], grant: 5, turn: 0, until: Moment::from_s(100) };
        assert_eq!(used.insert(UsedCode::Grant(other)), CodeUse::First);
        used.sweep(Moment::from_s(101).plus(CLOCK_SKEW_MAX + SWEEP_EVERY));
        assert!(used.grants.is_empty());
    }

    #[test]
    fn of_many_grants_the_oldest_are_over_and_whoever_learns_of_them_knows_that_too() {
        let mut used = UsedCodes::default();
        let most = GRANTS_MAX as u64;
        for grant in 1..=most + 2 {
            assert_eq!(used.insert(turn(grant, 1)), CodeUse::First);
        }
        let mut learned = UsedCodes::default();
        for record in used.records() {
            let SessionRecord::Used(code) = record else { panic!("{record:?}") };
            learned.insert(code);
        }
        for known in [&used, &learned] {
            // Which turns of these were used, nobody knows: a use of one is none that was made before.
            assert_eq!([1, 2].map(|grant| known.use_of(&turn(grant, 9))), [CodeUse::Forgotten; 2]);
            assert_eq!([1, 2].map(|last| known.use_of(&turn(3, last))), [CodeUse::Again, CodeUse::First]);
            assert!(!known.contains(&turn(most + 3, 0)));
            assert_eq!(known.grants[&[3; 16]].turns.len(), GRANTS_MAX);
        }
    }

    #[test]
    fn codes_of_devices_are_forgotten_when_no_clock_takes_them_and_recovery_codes_never() {
        let mut used = UsedCodes::default();
        let code = device("anna", 100);
        used.insert(code.clone());
        used.insert(UsedCode::Recovery([1; 16]));
        let until = Moment::from_s(100 * 30 + 60);
        used.sweep(until.plus(CLOCK_SKEW_MAX - Duration::from_millis(1)));
        assert!(used.contains(&code));
        used.sweep(until.plus(CLOCK_SKEW_MAX + SWEEP_EVERY));
        assert!(!used.contains(&code));
        // A clock that was set back does not stop it.
        used.insert(device("anna", 1));
        used.sweep(Moment::from_s(1_000));
        assert!(!used.contains(&device("anna", 1)));
        used.sweep(Moment::from_ms(u64::MAX));
        assert!(used.contains(&UsedCode::Recovery([1; 16])));
    }
}
