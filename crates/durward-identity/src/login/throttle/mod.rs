//! Delays that grow with failures, for users and for addresses.
//!
//! Failures are counted three times: for an address, for a user from anywhere, and for a user from an address from which they have logged in before. An attack on a user's name from elsewhere makes the second count grow, and the user still gets in from their usual addresses, where only the third one counts. From elsewhere they have to wait, never longer than `user_delay_max`; and attempts that
//! come too early are refused without being counted, so that nobody can keep the delay up by hammering.
//!
//! Codes of the second step are counted apart from passwords, both for the user and for the usual address: an attacker who knows the password gains no further guesses at the code by presenting the password in between, and their address does not become a usual one for codes. A right code comes after a right
//! password, so it ends both counts. The count of an address is one for all.
//!
//! An attempt under way may become a failure, so it takes of what is free like one: however many come at once, no more are tried than
//! one after the other. A login that only such attempts block is not refused but queued until they are decided: most logins are right, and then its turn comes. When they fail and a delay begins, the queued logins are told of it.
//!
//! A login waits for the count of its user first, then for that of its address. Lock order is user, then address, so there is no deadlock.
//!
//! Counts stand in tables of a fixed size, at places that nobody outside can foresee. When a place is full, the smallest count goes.

mod cells;
mod line;

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::Duration;

use foldhash::quality::RandomState;

use self::cells::{AttemptCount, AttemptRoom, CounterTable, ThrottleRule};
use self::line::{AttemptOrigin, AttemptQueues, BlockingCount, CountedBy, QueuedAttempt, UserCounts};
use crate::Moment;
use crate::session::User;

pub use self::line::QueueTicket;

/// How many logins may wait for the result of earlier ones of the same user or address: as many as may wait for
/// hashing, and as many as a server with its usual settings has connections. Further ones are refused with the advice
/// to try again.
const LINE_LENGTH_MAX: usize = 1024;
/// How many logins may wait in all those queues together: each keeps its request, some KiB.
const WAITING_MAX: usize = 4096;

/// How many users are remembered whose delay an administrator removed. Further users wait, at their usual addresses,
/// until the delay is over.
const FORGIVEN_MAX: usize = 256;

/// From when on who has to wait, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleSettings {
    /// How many failures of a user cost nothing. One attempt more than that may be under way at once. Default: 3.
    pub user_free: u32,
    /// The same from an address: many people may stand behind one. Default: 20.
    pub address_free: u32,
    /// The first delay; each further failure doubles it. Default: 1 second.
    pub delay: Duration,
    /// The longest delay for a user. Default: 1 minute.
    pub user_delay_max: Duration,
    /// The longest delay for an address. Default: 15 minutes.
    pub address_delay_max: Duration,
    /// After how long without a failure one failure is forgotten. Default: 5 minutes.
    pub forgotten_after: Duration,
    /// How long an address from which a user has logged in counts as usual. Default: 30 days.
    pub known_for: Duration,
}

impl Default for ThrottleSettings {
    fn default() -> ThrottleSettings {
        ThrottleSettings {
            user_free: 3,
            address_free: 20,
            delay: Duration::from_secs(1),
            user_delay_max: Duration::from_secs(60),
            address_delay_max: Duration::from_secs(15 * 60),
            forgotten_after: Duration::from_secs(5 * 60),
            known_for: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// The attempt has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDelay {
    /// For `Retry-After`.
    pub retry_after: Duration,
}

/// Somebody may try: [`LoginThrottle::end`] is to be told how it went. Until then it is in the way of others like a failure.
#[derive(Debug)]
#[must_use = "an attempt that is not told of is in the way of others for ever"]
pub struct LoginAttempt {
    claim: AttemptOrigin,
    who: AttemptCount,
    address: AttemptCount,
}

/// The kind of credential that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CredentialKind {
    /// A password.
    Password,
    /// A code of the second step, or a recovery code: after a password that was right.
    Code,
}

/// Whether an attempt may be made.
#[derive(Debug)]
#[must_use = "who may try or waits is counted until it is told what came of it"]
pub enum ThrottleDecision {
    /// The attempt may be made.
    Go(LoginAttempt),
    /// When those before it are decided: [`LoginThrottle::end`] gives the place its turn, or [`LoginThrottle::leave`] is told that it waits
    /// no longer.
    Wait(QueueTicket),
    /// Not before the delay is over. The attempt was not counted.
    Delayed(RetryDelay),
    /// Too many stand in line. That was not counted.
    Crowded,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The credentials were right. The user's failures with this kind of credential are forgotten, and after a code with passwords too; what the address failed with
    /// other names is not.
    Succeeded,
    /// The credentials were wrong, or nobody can say.
    Failed,
    /// It could not be found out who it was: the attempt does not count.
    Undecided,
}

/// Places whose turn it is: they may try, or have to wait for a delay to pass. Each place is given one turn.
pub type ReadyTickets = Vec<(QueueTicket, Result<LoginAttempt, RetryDelay>)>;

/// Counts failures, and says who has to wait. About 6 MiB, whatever comes, and what stands in line.
#[derive(Debug)]
pub struct LoginThrottle {
    known_for: Duration,
    hasher: RandomState,
    addresses: CounterTable,
    users: CounterTable,
    /// Users at addresses from which they have logged in.
    known: CounterTable,
    /// Users whom an operator has let in again, and when: what they failed before at addresses of theirs, which are not known by the
    /// user, is forgotten when they come from there.
    forgiven: VecDeque<(u64, Moment)>,
    lines: AttemptQueues,
}

impl LoginThrottle {
    /// Nobody has failed yet.
    pub fn new(settings: ThrottleSettings) -> LoginThrottle {
        let ThrottleSettings { delay, forgotten_after, known_for, .. } = settings;
        let of_user = ThrottleRule {
            free: settings.user_free,
            delay,
            delay_max: settings.user_delay_max,
            forgotten_after,
        };
        let of_address =
            ThrottleRule { free: settings.address_free, delay_max: settings.address_delay_max, ..of_user };
        LoginThrottle {
            known_for,
            hasher: RandomState::default(),
            addresses: CounterTable::new(of_address),
            users: CounterTable::new(of_user),
            known: CounterTable::new(of_user),
            forgiven: VecDeque::new(),
            lines: AttemptQueues::default(),
        }
    }

    /// Whether somebody may try to log in now.
    pub fn attempt(
        &mut self,
        now: Moment,
        proof: CredentialKind,
        user: &User,
        address: IpAddr,
    ) -> ThrottleDecision {
        let claim = self.claim(now, proof, user, address);
        let of = self.user_key(CredentialKind::Password, user);
        if let Some((_, at)) = self.forgiven.iter().find(|(user, _)| *user == of) {
            for own in [Some(claim.own), claim.beside].into_iter().flatten() {
                self.known.forgive_before(*at, own.pair);
            }
        }
        if let Some(delay) = self.delay(now, &claim) {
            return ThrottleDecision::Delayed(delay);
        }
        let (who, address) = (claim.who(), claim.address());
        let (spot, has_part) = match (self.is_free(now, who), self.is_free(now, address)) {
            (true, true) => return ThrottleDecision::Go(self.begin(now, claim)),
            (true, false) => (address, true),
            (false, _) => (who, false),
        };
        if !self.lines.has_place(spot) {
            return ThrottleDecision::Crowded;
        }
        let part = has_part.then(|| self.table(who).begin(now, who.key));
        let place = self.lines.place();
        self.lines.stand(spot, QueuedAttempt { place, claim, part });
        ThrottleDecision::Wait(place)
    }

    /// Says what came of an attempt. Whose turn it is after that.
    #[must_use = "whoever has a turn is to be told"]
    pub fn end(&mut self, now: Moment, attempt: LoginAttempt, outcome: AttemptOutcome) -> ReadyTickets {
        let LoginAttempt { claim, who, address } = attempt;
        let spot = claim.who();
        self.table(spot).end(who);
        self.addresses.end(address);
        // The address last, to be served first: those in its line have waited for themselves already.
        let mut spots = vec![spot];
        match outcome {
            AttemptOutcome::Succeeded => {
                self.succeed(now, claim.own);
                if let Some(own) = claim.beside {
                    self.succeed(now, own);
                    spots.push(own.spot());
                }
            }
            AttemptOutcome::Failed => {
                self.table(spot).fail(now, spot.key);
                self.addresses.fail(now, claim.address);
            }
            AttemptOutcome::Undecided => {}
        }
        spots.push(claim.address());
        self.serve(now, spots)
    }

    fn succeed(&mut self, now: Moment, own: UserCounts) {
        let spot = own.spot();
        self.table(spot).forgive(spot.key);
        self.known.note(now, own.pair);
    }

    /// Somebody waits no longer. Whose turn it is after that. Nothing happens where the place has had its turn.
    #[must_use = "whoever has a turn is to be told"]
    pub fn leave(&mut self, now: Moment, place: QueueTicket) -> ReadyTickets {
        let Some(QueuedAttempt { claim, part, .. }) = self.lines.leave(place) else {
            return ReadyTickets::new();
        };
        let spot = claim.who();
        if let Some(part) = part {
            self.table(spot).end(part);
        }
        self.serve(now, vec![spot])
    }

    /// An operator lets a user in again. Whose turn it is after that.
    #[must_use = "whoever has a turn is to be told"]
    pub fn forgive(&mut self, now: Moment, user: &User) -> ReadyTickets {
        let keys = [CredentialKind::Password, CredentialKind::Code].map(|proof| self.user_key(proof, user));
        for key in keys {
            self.users.forgive(key);
        }
        let [of, _] = keys;
        self.forgiven.retain(|(user, _)| *user != of);
        if self.forgiven.len() >= FORGIVEN_MAX {
            self.forgiven.pop_front();
        }
        self.forgiven.push_back((of, now));
        self.serve(now, keys.map(|key| BlockingCount { whose: CountedBy::User, key }).into())
    }

    /// How many stand in line.
    pub fn waiting(&self) -> usize {
        self.lines.len()
    }

    /// Gives turns at these counts, the last one first, and at those where that changes something.
    fn serve(&mut self, now: Moment, mut spots: Vec<BlockingCount>) -> ReadyTickets {
        let mut turns = ReadyTickets::new();
        while let Some(spot) = spots.pop() {
            // As many as have room; all of them where a delay has begun, to be told of it.
            if self.room(now, spot) == AttemptRoom::Full {
                continue;
            }
            let Some(waiter) = self.lines.next(spot) else { continue };
            spots.push(spot);
            turns.extend(self.call(now, spot, waiter, &mut spots));
        }
        turns
    }

    /// A count that a login was queued for has room now. Its turn comes, unless it has to wait for its address as well.
    fn call(
        &mut self,
        now: Moment,
        spot: BlockingCount,
        waiter: QueuedAttempt,
        spots: &mut Vec<BlockingCount>,
    ) -> Option<(QueueTicket, Result<LoginAttempt, RetryDelay>)> {
        let QueuedAttempt { place, claim, part } = waiter;
        let who = claim.who();
        match (self.delay(now, &claim), part) {
            (Some(delay), None) => Some((place, Err(delay))),
            (Some(delay), Some(part)) => {
                self.table(who).end(part);
                spots.push(who);
                Some((place, Err(delay)))
            }
            (None, Some(who)) => {
                let address = self.addresses.begin(now, claim.address);
                Some((place, Ok(LoginAttempt { claim, who, address })))
            }
            // Its turn comes at once where nobody waits. It has waited already, so the queue's length does not reject it.
            (None, None) => {
                let part = Some(self.table(spot).begin(now, spot.key));
                self.lines.stand(claim.address(), QueuedAttempt { place, claim, part });
                spots.push(claim.address());
                None
            }
        }
    }

    fn begin(&mut self, now: Moment, claim: AttemptOrigin) -> LoginAttempt {
        let who = self.table(claim.who()).begin(now, claim.who().key);
        let address = self.addresses.begin(now, claim.address);
        LoginAttempt { claim, who, address }
    }

    /// The longer of the user's delay and the address's.
    fn delay(&self, now: Moment, claim: &AttemptOrigin) -> Option<RetryDelay> {
        let until = |spot| match self.room(now, spot) {
            AttemptRoom::Delayed(until) => Some(until),
            AttemptRoom::Free | AttemptRoom::Full => None,
        };
        let until = until(claim.who()).max(until(claim.address()))?;
        Some(RetryDelay { retry_after: until.since(now) })
    }

    /// Whether somebody may come in here and passes nobody who waits.
    fn is_free(&self, now: Moment, spot: BlockingCount) -> bool {
        self.room(now, spot) == AttemptRoom::Free && !self.lines.is_there(spot)
    }

    fn room(&self, now: Moment, spot: BlockingCount) -> AttemptRoom {
        let table = match spot.whose {
            CountedBy::Address => &self.addresses,
            CountedBy::User => &self.users,
            CountedBy::Known => &self.known,
        };
        table.room(now, spot.key)
    }

    fn table(&mut self, spot: BlockingCount) -> &mut CounterTable {
        match spot.whose {
            CountedBy::Address => &mut self.addresses,
            CountedBy::User => &mut self.users,
            CountedBy::Known => &mut self.known,
        }
    }

    fn claim(&self, now: Moment, proof: CredentialKind, user: &User, address: IpAddr) -> AttemptOrigin {
        let network = network(address);
        let own = |proof| self.own(now, proof, user, network);
        let beside = match proof {
            CredentialKind::Password => None,
            CredentialKind::Code => Some(own(CredentialKind::Password)),
        };
        AttemptOrigin { address: self.key(&(1, network)), own: own(proof), beside }
    }

    fn own(&self, now: Moment, proof: CredentialKind, user: &User, network: u64) -> UserCounts {
        let kind = match proof {
            CredentialKind::Password => 3,
            CredentialKind::Code => 5,
        };
        let pair = self.key(&(kind, user.key(), network));
        let is_known = self.known.is_within(now, pair, self.known_for);
        UserCounts { user: self.user_key(proof, user), pair, is_known }
    }

    fn user_key(&self, proof: CredentialKind, user: &User) -> u64 {
        let kind = match proof {
            CredentialKind::Password => 2,
            CredentialKind::Code => 4,
        };
        self.key(&(kind, user.key()))
    }

    fn key(&self, of: &impl std::hash::Hash) -> u64 {
        self.hasher.hash_one(of).max(1)
    }
}

/// An address, as failures are counted by it; of IPv6 the first half, which is what one customer has.
pub fn network(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64 | (1 << 63),
    }
}

#[cfg(test)]
mod tests;
