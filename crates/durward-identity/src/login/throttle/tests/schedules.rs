//! Logins that come, are decided and go in any order, held to a model that keeps every failure and searches all of them.

use std::collections::BTreeMap;

use durward_testdata::TestRandom;

use super::*;

const USER_FREE: u32 = 2;
const ADDRESS_FREE: u32 = 5;

/// Whose failures: an address's, a user's with one proof, a user's with it at an address where he is known by it, or those with a
/// password of a user at an address where nobody knows him.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Address(u32),
    User(u32, CredentialKind),
    Known(u32, u32, CredentialKind),
    Stranger(u32, u32),
}

/// Somebody who tries or waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Who {
    user: u32,
    address: u32,
    proof: CredentialKind,
    /// By a password and by a code.
    is_known: [bool; 2],
}

impl Who {
    fn own(self, proof: CredentialKind) -> Whose {
        let is_known = match proof {
            CredentialKind::Password => self.is_known[0],
            CredentialKind::Code => self.is_known[1],
        };
        match is_known {
            true => Whose::Known(self.user, self.address, proof),
            false => Whose::User(self.user, proof),
        }
    }

    fn counts(self) -> [Whose; 2] {
        [self.own(self.proof), Whose::Address(self.address)]
    }

    /// What may delay him: addresses here are all neighbours, so that nobody's turn comes before another's.
    fn delays(self) -> impl Iterator<Item = Whose> {
        let [own, address] = self.counts();
        let is_stranger = own == Whose::User(self.user, CredentialKind::Password);
        let stranger = is_stranger.then_some(Whose::Stranger(self.user, self.address));
        [own, address].into_iter().chain(stranger)
    }

    /// What is shown to be his when it was he.
    fn shown(self) -> &'static [CredentialKind] {
        match self.proof {
            CredentialKind::Password => &[CredentialKind::Password],
            CredentialKind::Code => &[CredentialKind::Code, CredentialKind::Password],
        }
    }
}

/// What is to be remembered, without a bound.
#[derive(Default)]
struct Model {
    /// Failures that were not forgiven.
    failures: BTreeMap<Whose, Vec<Moment>>,
    /// Until when there is a delay.
    until: BTreeMap<Whose, Moment>,
    known: BTreeMap<(u32, u32, CredentialKind), Moment>,
}

impl Model {
    fn free(whose: Whose) -> (u32, Duration) {
        let settings = settings();
        match whose {
            Whose::Address(_) => (ADDRESS_FREE, settings.address_delay_max),
            Whose::User(_, CredentialKind::Password) => (USER_FREE, settings.turn * 2),
            Whose::User(..) | Whose::Known(..) | Whose::Stranger(..) => (USER_FREE, settings.user_delay_max),
        }
    }

    /// One fades in each span without another.
    fn failed(&self, whose: Whose, now: Moment) -> u32 {
        let faded = |count: u32, from: Moment, to: Moment| {
            let spans = to.since(from).as_millis() / settings().forgotten_after.as_millis();
            count.saturating_sub(spans as u32)
        };
        let (mut count, mut last) = (0, now);
        for moment in self.failures.get(&whose).into_iter().flatten() {
            count = faded(count, last, *moment) + 1;
            last = *moment;
        }
        faded(count, last, now)
    }

    fn delay(&self, who: Who, now: Moment) -> Option<Duration> {
        let until = who.delays().filter_map(|whose| self.until.get(&whose)).max()?;
        (*until > now).then(|| until.since(now))
    }

    fn end(&mut self, who: Who, now: Moment, outcome: AttemptOutcome) {
        match outcome {
            AttemptOutcome::Undecided => {}
            AttemptOutcome::Succeeded => {
                if who.proof == CredentialKind::Password {
                    for whose in who.delays().filter(|whose| matches!(whose, Whose::Stranger(..))) {
                        self.failures.remove(&whose);
                        self.until.remove(&whose);
                    }
                }
                for proof in who.shown() {
                    let pair = Whose::Known(who.user, who.address, *proof);
                    for whose in [who.own(*proof), pair] {
                        self.failures.remove(&whose);
                        self.until.remove(&whose);
                    }
                    self.known.insert((who.user, who.address, *proof), now);
                }
            }
            AttemptOutcome::Failed => {
                for whose in who.delays() {
                    self.failures.entry(whose).or_default().push(now);
                    let (free, longest) = Model::free(whose);
                    let failed = self.failed(whose, now);
                    if failed > free {
                        let delay = Duration::from_secs(1 << (failed - free - 1).min(20)).min(longest);
                        self.until.insert(whose, now.plus(delay));
                    }
                }
            }
        }
    }
}

fn settings() -> ThrottleSettings {
    ThrottleSettings { user_free: USER_FREE, address_free: ADDRESS_FREE, ..ThrottleSettings::default() }
}

struct World {
    throttle: LoginThrottle,
    model: Model,
    now: Moment,
    trying: Vec<(Who, LoginAttempt)>,
    waiting: BTreeMap<QueueTicket, Who>,
    /// How often somebody went, waited and was delayed.
    seen: [u32; 3],
}

impl World {
    fn new() -> World {
        World {
            throttle: LoginThrottle::new(settings()),
            model: Model::default(),
            now: at(0),
            trying: Vec::new(),
            waiting: BTreeMap::new(),
            seen: [0; 3],
        }
    }

    fn under_way(&self, whose: Whose) -> u32 {
        self.trying.iter().filter(|(who, _)| who.counts().contains(&whose)).count() as u32
    }

    /// The promise: no more than what is free and one, or one at a time; never before a delay is over.
    fn tries(&mut self, who: Who, attempt: LoginAttempt) {
        assert_eq!(self.model.delay(who, self.now), None, "{who:?}");
        for whose in who.counts() {
            let (under_way, failed) = (self.under_way(whose), self.model.failed(whose, self.now));
            let (free, _) = Model::free(whose);
            assert!(under_way == 0 || under_way + failed <= free, "{whose:?}: {under_way} and {failed}");
        }
        self.trying.push((who, attempt));
        self.seen[0] += 1;
    }

    fn is_delayed(&mut self, who: Who, delay: RetryDelay) {
        assert_eq!(self.model.delay(who, self.now), Some(delay.retry_after), "{who:?}");
        self.seen[2] += 1;
    }

    fn come(&mut self, user: u32, from: u32, proof: CredentialKind) {
        let known_for = settings().known_for;
        let is_known = [CredentialKind::Password, CredentialKind::Code].map(|proof| {
            let known = self.model.known.get(&(user, from, proof));
            known.is_some_and(|at| self.now.since(*at) < known_for)
        });
        let who = Who { user, address: from, proof, is_known };
        let name = super::user(&format!("user{user}"));
        match self.throttle.attempt(self.now, proof, &name, address(from)) {
            ThrottleDecision::Go(attempt) => self.tries(who, attempt),
            ThrottleDecision::Delayed(delay) => self.is_delayed(who, delay),
            ThrottleDecision::Wait(place) => {
                assert_eq!(self.model.delay(who, self.now), None);
                self.waiting.insert(place, who);
                self.seen[1] += 1;
            }
            ThrottleDecision::Crowded => panic!("not so many wait"),
        }
    }

    /// Each place has one turn. Of those who try the same, who came first has it first.
    fn take(&mut self, turns: ReadyTickets) {
        for (place, turn) in turns {
            let who = self.waiting.remove(&place).expect("one turn");
            match turn {
                Ok(attempt) => {
                    let first = self.waiting.iter().find(|(_, other)| **other == who);
                    assert!(
                        first.is_none_or(|(other, _)| *other > place),
                        "{who:?}: {place:?} before {other:?}",
                        other = first
                    );
                    self.tries(who, attempt);
                }
                Err(delay) => self.is_delayed(who, delay),
            }
        }
    }

    fn decide(&mut self, chance: &mut TestRandom) {
        if self.trying.is_empty() {
            return;
        }
        let (who, attempt) = self.trying.swap_remove(chance.below(self.trying.len()));
        let outcome = match chance.below(6) {
            0 | 1 => AttemptOutcome::Succeeded,
            2..=4 => AttemptOutcome::Failed,
            _ => AttemptOutcome::Undecided,
        };
        self.model.end(who, self.now, outcome);
        let turns = self.throttle.end(self.now, attempt, outcome);
        self.take(turns);
    }

    fn leave(&mut self, chance: &mut TestRandom) {
        if self.waiting.is_empty() {
            return;
        }
        let place = *self.waiting.keys().nth(chance.below(self.waiting.len())).unwrap();
        self.waiting.remove(&place);
        let turns = self.throttle.leave(self.now, place);
        self.take(turns);
    }

    /// Whoever waits, waits for somebody who tries: at his own count or his address's, or for one of the same name who waits for
    /// an address where somebody tries.
    fn nobody_is_forgotten(&self) {
        assert_eq!(self.throttle.waiting(), self.waiting.len());
        let is_tried = |whose: Whose| self.under_way(whose) > 0;
        for (place, who) in &self.waiting {
            let [own, from] = who.counts();
            let others = self.waiting.values().filter(|other| other.counts()[0] == own);
            let mut addresses = others.map(|other| other.counts()[1]);
            assert!(is_tried(own) || is_tried(from) || addresses.any(is_tried), "{place:?} of {who:?}");
        }
    }
}

/// Plays one schedule, and says what was seen.
fn play(seed: u64) -> [u32; 3] {
    let mut chance = TestRandom::new(seed);
    let mut world = World::new();
    let number = |end: u32, chance: &mut TestRandom| chance.below(end as usize) as u32;
    let (users, addresses) = (1 + number(4, &mut chance), 1 + number(4, &mut chance));
    // Some schedules are rushes, some take their time.
    let haste = number(60, &mut chance) + 1;
    for _ in 0..400 {
        match chance.below(20) {
            0..=8 => {
                let proof = [CredentialKind::Password, CredentialKind::Password, CredentialKind::Code]
                    [chance.below(3)];
                world.come(number(users, &mut chance), number(addresses, &mut chance), proof);
            }
            9..=17 => world.decide(&mut chance),
            18 => world.leave(&mut chance),
            _ => world.now = world.now.plus(Duration::from_secs(u64::from(number(haste * 20, &mut chance)))),
        }
        world.nobody_is_forgotten();
    }
    while !world.trying.is_empty() {
        world.decide(&mut chance);
        world.nobody_is_forgotten();
    }
    assert!(world.waiting.is_empty());
    world.seen
}

#[test]
fn whatever_the_order_no_more_is_tried_than_is_free_and_everybody_has_his_turn() {
    let mut seen = [0; 3];
    for seed in 0..2_000 {
        let one = play(seed);
        seen.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
    }
    assert!(seen.iter().all(|count| *count > 10_000), "nothing happened: {seen:?}");
}
