//! Delays that grow with failures, for users and for addresses.
//!
//! Failures are counted for an address and for a user. Of a user there are several counts, of which one applies to an attempt: on a device
//! that shows a token of an earlier login, at an address from which they have logged in before, and elsewhere. An attack on a user's name from
//! elsewhere makes the last one grow, and the user still gets in on their devices and from their usual addresses, where only failures there
//! count. All devices of a user together have one more count, above which none of them counts as theirs. Attempts that come too early are refused without being counted, so that nobody can keep a delay up by hammering.
//!
//! Elsewhere, attempts with a user's password have turns, a few in a minute, for the user and whoever guesses: that bounds the guesses.
//! Whoever has come a moment ago from addresses that have not failed with this user has the next turn ([`StrangerTurn`]); then those who wait
//! for longer; then addresses that failed, each of which has besides a delay of its own that doubles up to `user_delay_max`. So whoever guesses from a few
//! thousand addresses does not keep the owner out who comes from another one. Whoever has ever new addresses, one for each turn, does; then
//! a device, a usual address or an operator helps.
//!
//! Nodes that share their counts tell each other of failures (`news`), so that all together give about the guesses of one. Each waits a random part of a
//! moment longer ([`LoginThrottle::shared`]), so that the next turn is on one of them, and the others hear of it.
//!
//! Codes of the second step are counted apart from passwords, on each device and at each usual address too: an attacker who knows the
//! password gains no further guesses at the code by presenting the password in between, and their address does not become a usual one for codes. A right code comes after a right
//! password, so it ends both counts. The count of an address is one for all.
//!
//! An attempt under way may become a failure, so it takes of what is free like one: however many come at once, no more are tried than
//! one after the other. A login that only such attempts block is not refused but queued until they are decided: most logins are right, and then its turn comes. When they fail and a delay begins, the queued logins are told of it.
//!
//! A login waits for the count of its user first, then for that of its address. Lock order is user, then address, so there is no deadlock.
//!
//! Counts stand in tables of a fixed size, at places that nobody outside can foresee. When a place is full, the smallest count goes.

mod cells;
mod keys;
mod line;
mod news;
mod settings;

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::Duration;

use foldhash::quality::RandomState;

use self::cells::{AttemptCount, AttemptRoom, CELLS, CounterTable, ThrottleRule};
use self::keys::CountKeys;
use self::line::{
    AttemptOrigin, AttemptQueues, BlockingCount, CountedBy, QueuedAttempt, Stranger, StrangerTurn, UserCounts,
};
use self::news::UntoldGuesses;
use crate::Moment;
use crate::session::User;

pub use self::line::QueueTicket;
pub use self::news::{COUNT_CHANGES_MAX, CountChange, GuessNews};
pub use self::settings::ThrottleSettings;

/// How many logins may wait for the result of earlier ones of the same user or address: as many as may wait for
/// hashing, and as many as a server with its usual settings has connections. Further ones are refused with the advice
/// to try again.
const LINE_LENGTH_MAX: usize = 1024;
/// How many logins may wait in all those queues together: each keeps its request, some KiB.
const WAITING_MAX: usize = 4096;

/// How many users are remembered whose delay an administrator removed. Further users wait, at their usual addresses,
/// until the delay is over.
const FORGIVEN_MAX: usize = 256;

/// How long whoever comes from new addresses counts as new: long enough for some turns.
const NEW_FOR: Duration = Duration::from_secs(60);
/// After so long, addresses that have waited and not failed count as new again.
const NEW_AGAIN_AFTER: Duration = Duration::from_secs(24 * 3600);

/// After this number of failures that have not faded, a device no longer counts as known.
const DEVICE_FAILURES_MAX: u32 = 10;

/// So many failures on all devices of a user together, that are not forgotten or are under way, take all of them out. Whoever collects proofs, each of
/// which is good for as long as a directory does not tell of another password, gains no guesses with more of them.
const ALL_DEVICES_FAILURES_MAX: u32 = 30;

/// How many failures of a site cost nothing, as a multiple of those of one address: many people may be behind it.
const SITE_TIMES: u32 = 10;

/// The place in [`StrangerTurn`] order costs half a turn each.
const TURN_STEPS: u32 = 2;

/// The attempt has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDelay {
    /// For `Retry-After`.
    pub retry_after: Duration,
    /// Whether it is one of those who have the next turn: it is worth waiting for, and few do.
    pub is_next: bool,
}

/// What names a device of a user's; no secret. Whoever says that an attempt comes from one has seen a proof of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId(pub [u8; 16]);

/// Somebody may try: [`LoginThrottle::end`] is to be told how it went. Until then it is in the way of others like a failure.
#[derive(Debug)]
#[must_use = "an attempt that is not told of is in the way of others for ever"]
pub struct LoginAttempt {
    claim: AttemptOrigin,
    who: AttemptCount,
    /// Of a device's attempt its part of the count of all devices, of others that of the address.
    beside: AttemptCount,
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

/// Counts failures, and says who has to wait. About 8 MiB, whatever comes, and what stands in line.
#[derive(Debug)]
pub struct LoginThrottle {
    known_for: Duration,
    turn: Duration,
    keys: CountKeys,
    hasher: RandomState,
    addresses: CounterTable,
    /// Sites of IPv6, each of which has many networks.
    sites: CounterTable,
    users: CounterTable,
    codes: CounterTable,
    /// Users at addresses from which they have logged in.
    known: CounterTable,
    /// Users on their devices.
    devices: CounterTable,
    /// Users on all their devices together.
    all_devices: CounterTable,
    /// Users at other addresses, and at the neighbours of those.
    strangers: CounterTable,
    /// Users whom an operator has let in again, and when: what was failed before on their devices and at single addresses, which are not
    /// found by the user, is forgotten when somebody comes from there.
    forgiven: VecDeque<(u64, Moment)>,
    lines: AttemptQueues,
    /// What other nodes are to be told, where there may be any.
    untold: Option<UntoldGuesses>,
}

impl LoginThrottle {
    /// Nobody has failed yet.
    pub fn new(settings: ThrottleSettings) -> LoginThrottle {
        LoginThrottle::with_keys(settings, CountKeys::random())
    }

    /// As [`LoginThrottle::new`], for one of several nodes with the same secret, which are told what it counts ([`LoginThrottle::take_news`]) and tell
    /// it what they count ([`LoginThrottle::hear`]).
    pub fn shared(settings: ThrottleSettings, secret: &[u8; 32]) -> LoginThrottle {
        let mut throttle = LoginThrottle::with_keys(settings, CountKeys::new(secret));
        throttle.untold = Some(UntoldGuesses::new(throttle.hasher.hash_one(0)));
        throttle
    }

    fn with_keys(settings: ThrottleSettings, keys: CountKeys) -> LoginThrottle {
        let ThrottleSettings { delay, forgotten_after, known_for, turn, .. } = settings;
        let own = ThrottleRule {
            free: settings.user_free,
            delay,
            delay_max: settings.user_delay_max,
            forgotten_after,
        };
        // The longest turn, and what nodes wait longer.
        let longest = turn * 2 + turn / 4;
        let of_user = ThrottleRule { delay_max: longest.min(settings.user_delay_max), ..own };
        let of_address =
            ThrottleRule { free: settings.address_free, delay_max: settings.address_delay_max, ..own };
        LoginThrottle {
            known_for,
            turn,
            keys,
            hasher: RandomState::default(),
            addresses: CounterTable::new(of_address, CELLS),
            sites: CounterTable::new(
                ThrottleRule { free: of_address.free.saturating_mul(SITE_TIMES), ..of_address },
                CELLS / 8,
            ),
            users: CounterTable::new(of_user, CELLS),
            // Only who knows a password is counted here.
            codes: CounterTable::new(own, CELLS / 8),
            known: CounterTable::new(own, CELLS),
            devices: CounterTable::new(own, CELLS / 4),
            all_devices: CounterTable::new(own, CELLS / 8),
            strangers: CounterTable::new(own, CELLS / 2),
            forgiven: VecDeque::new(),
            lines: AttemptQueues::default(),
            untold: None,
        }
    }

    /// Whether somebody may try to log in now, of whom no device is known.
    pub fn attempt(
        &mut self,
        now: Moment,
        proof: CredentialKind,
        user: &User,
        address: IpAddr,
    ) -> ThrottleDecision {
        self.attempt_on(now, proof, user, address, None)
    }

    /// Whether somebody may try to log in now, on a device from which this user has logged in before.
    pub fn attempt_on(
        &mut self,
        now: Moment,
        proof: CredentialKind,
        user: &User,
        address: IpAddr,
        device: Option<DeviceId>,
    ) -> ThrottleDecision {
        let claim = self.claim(now, proof, user, address, device);
        if let Some(delay) = self.delay(now, &claim) {
            return ThrottleDecision::Delayed(delay);
        }
        let (who, address) = (claim.who(), claim.address());
        let (who_free, address_free) = (self.is_free_of(now, &claim), self.is_address_free(now, &claim));
        let (spot, has_part) = match (who_free, address_free) {
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
        let LoginAttempt { claim, who, beside } = attempt;
        let spot = claim.who();
        self.table(spot).end(who);
        match claim.is_on_device() {
            true => self.all_devices.end(beside),
            false => self.addresses.end(beside),
        }
        // The address last, to be served first: those in its line have waited for themselves already.
        let mut spots = vec![spot];
        match outcome {
            AttemptOutcome::Succeeded => {
                self.succeed(now, claim.own);
                if let Some(own) = claim.beside {
                    self.succeed(now, own);
                    spots.push(own.spot());
                }
                self.forgive_strangers(now, &claim);
            }
            AttemptOutcome::Failed => {
                self.fail(now, spot);
                self.fail(now, claim.address());
                if let Some(site) = claim.site {
                    self.fail(now, BlockingCount::of(CountedBy::Site, site));
                }
                if claim.is_on_device() {
                    self.fail(now, BlockingCount::of(CountedBy::AllDevices, claim.own.all_devices));
                }
                if let Some(Stranger { pair, neighbours, .. }) = claim.stranger {
                    self.fail(now, BlockingCount::of(CountedBy::Stranger, pair));
                    self.fail(now, BlockingCount::of(CountedBy::Stranger, neighbours));
                }
            }
            AttemptOutcome::Undecided => {}
        }
        spots.push(claim.address());
        self.serve(now, spots)
    }

    fn succeed(&mut self, now: Moment, own: UserCounts) {
        self.forgive_count(now, own.spot());
        self.known.note(now, own.pair);
    }

    fn forgive_strangers(&mut self, now: Moment, claim: &AttemptOrigin) {
        if let Some(Stranger { pair, neighbours, .. }) = claim.stranger {
            self.forgive_count(now, BlockingCount::of(CountedBy::Stranger, pair));
            self.forgive_count(now, BlockingCount::of(CountedBy::Stranger, neighbours));
        }
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
        let [of_passwords, of_codes] = self.keys.of_user(user);
        let [passwords_on_devices, codes_on_devices] = self.keys.of_devices(user);
        let counts = [
            BlockingCount::of(CountedBy::User, of_passwords),
            BlockingCount::of(CountedBy::Code, of_codes),
            BlockingCount::of(CountedBy::AllDevices, passwords_on_devices),
            BlockingCount::of(CountedBy::AllDevices, codes_on_devices),
        ];
        self.forgive_user(now, counts);
        self.serve(now, counts.into())
    }

    /// That an operator forgave a user, for the counts that come to light later.
    fn remember_forgiven(&mut self, at: Moment, of: u64) {
        self.forgiven.retain(|(user, _)| *user != of);
        if self.forgiven.len() >= FORGIVEN_MAX {
            self.forgiven.pop_front();
        }
        self.forgiven.push_back((of, at));
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
            if self.is_served(now, spot) {
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
                let beside = self.addresses.begin(now, claim.address);
                Some((place, Ok(LoginAttempt { claim, who, beside })))
            }
            (None, None) if claim.is_on_device() => Some((place, Ok(self.begin(now, claim)))),
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
        let beside = match claim.is_on_device() {
            true => self.all_devices.begin(now, claim.own.all_devices),
            false => self.addresses.begin(now, claim.address),
        };
        LoginAttempt { claim, who, beside }
    }

    /// The longest of the delays that apply.
    fn delay(&self, now: Moment, claim: &AttemptOrigin) -> Option<RetryDelay> {
        // While it stood in line: when it is tried again, it is no device's.
        if claim.is_on_device() && self.are_devices_out(now, claim.own.all_devices) {
            return Some(RetryDelay { retry_after: self.turn, is_next: false });
        }
        let of_address = match claim.is_on_device() {
            true => None,
            false => until(self.addresses.room(now, claim.address)).max(self.until_of_site(now, claim)),
        };
        let of_pair = claim.stranger.and_then(|stranger| until(self.strangers.room(now, stranger.pair)));
        let of_turn = until(self.room_of(now, claim));
        let last = of_turn.max(of_pair).max(of_address)?;
        let is_new = claim.stranger.is_some_and(|stranger| stranger.turn == StrangerTurn::New);
        let is_next = is_new && of_pair.is_none() && of_address.is_none();
        Some(RetryDelay { retry_after: last.since(now), is_next })
    }

    /// When the delay of the site is over, where there is one. Nobody waits in line there: what is under way is counted with the network.
    fn until_of_site(&self, now: Moment, claim: &AttemptOrigin) -> Option<Moment> {
        claim.site.and_then(|site| until(self.sites.room(now, site)))
    }

    /// Whether somebody may come in at their user's count, and passes nobody who waits.
    fn is_free_of(&self, now: Moment, claim: &AttemptOrigin) -> bool {
        self.room_of(now, claim) == AttemptRoom::Free && !self.lines.is_there(claim.who())
    }

    /// The same at the count of the address, which does not count on a device.
    fn is_address_free(&self, now: Moment, claim: &AttemptOrigin) -> bool {
        let spot = claim.address();
        claim.is_on_device() || self.room(now, spot) == AttemptRoom::Free && !self.lines.is_there(spot)
    }

    /// Whether nobody gets a turn at a count until attempts under way are decided.
    fn is_served(&self, now: Moment, spot: BlockingCount) -> bool {
        // Where turns differ, a delay that is there for one may be over for another.
        let is_full = spot.whose == CountedBy::User && self.users.is_full(now, spot.key);
        is_full || self.room(now, spot) == AttemptRoom::Full
    }

    /// Whether no device counts as the user's.
    fn are_devices_out(&self, now: Moment, all_devices: u64) -> bool {
        self.all_devices.taken(now, all_devices) > ALL_DEVICES_FAILURES_MAX
    }

    /// The room for an attempt at the count of its user.
    fn room_of(&self, now: Moment, claim: &AttemptOrigin) -> AttemptRoom {
        let spot = claim.who();
        match claim.stranger {
            Some(stranger) => self.users.room_within(now, spot.key, self.longest(spot.key, stranger.turn)),
            None => self.room(now, spot),
        }
    }

    /// The longest delay for a user before the turn of such a stranger. Each of several nodes waits another moment more after each
    /// failure, up to a quarter of a turn, so that all hear of the attempt on the first of them.
    fn longest(&self, key: u64, turn: StrangerTurn) -> Duration {
        let steps = match turn {
            StrangerTurn::New => 0,
            StrangerTurn::Waiting => 1,
            StrangerTurn::Guessing => 2,
        };
        let longest = self.turn + self.turn / TURN_STEPS * steps;
        let last = self.users.last_delayed(key).filter(|_| self.untold.is_some());
        let spread_ms = u64::try_from(self.turn.as_millis() / 4).unwrap_or(u64::MAX);
        let more = last.map_or(0, |last| self.hasher.hash_one((key, last)) % spread_ms.max(1));
        longest + Duration::from_millis(more)
    }

    fn room(&self, now: Moment, spot: BlockingCount) -> AttemptRoom {
        let table = match spot.whose {
            CountedBy::Address => &self.addresses,
            CountedBy::Site => &self.sites,
            CountedBy::User => &self.users,
            CountedBy::Code => &self.codes,
            CountedBy::Known => &self.known,
            CountedBy::Device => &self.devices,
            CountedBy::AllDevices => &self.all_devices,
            CountedBy::Stranger => &self.strangers,
        };
        table.room(now, spot.key)
    }

    fn table(&mut self, spot: BlockingCount) -> &mut CounterTable {
        match spot.whose {
            CountedBy::Address => &mut self.addresses,
            CountedBy::Site => &mut self.sites,
            CountedBy::User => &mut self.users,
            CountedBy::Code => &mut self.codes,
            CountedBy::Known => &mut self.known,
            CountedBy::Device => &mut self.devices,
            CountedBy::AllDevices => &mut self.all_devices,
            CountedBy::Stranger => &mut self.strangers,
        }
    }

    fn claim(
        &mut self,
        now: Moment,
        proof: CredentialKind,
        user: &User,
        address: IpAddr,
        device: Option<DeviceId>,
    ) -> AttemptOrigin {
        let network = network(address);
        let [of_passwords, of_codes] = self.keys.of_user(user);
        let pair = self.keys.of_pair(user, network);
        let devices = device.map(|device| self.keys.of_device(user, device));
        let forgiven = self.forgiven.iter().find(|(user, _)| *user == of_passwords).map(|(_, at)| *at);
        if let Some(at) = forgiven {
            [pair.password, pair.code].iter().for_each(|key| self.known.forgive_before(at, *key));
            devices.iter().flatten().for_each(|key| self.devices.forgive_before(at, *key));
            let neighbours = self.keys.of_neighbours(user, address);
            [pair.stranger, neighbours].iter().for_each(|key| self.strangers.forgive_before(at, *key));
        }
        let [passwords_on_devices, codes_on_devices] = self.keys.of_devices(user);
        let device = |key: Option<u64>, all_devices| {
            key.filter(|key| self.devices.failures(now, *key) <= DEVICE_FAILURES_MAX)
                .filter(|_| !self.are_devices_out(now, all_devices))
        };
        let by_password = UserCounts {
            unknown: BlockingCount::of(CountedBy::User, of_passwords),
            pair: pair.password,
            is_known: self.known.is_within(now, pair.password, self.known_for),
            device: device(devices.map(|[password, _]| password), passwords_on_devices),
            all_devices: passwords_on_devices,
        };
        let by_code = UserCounts {
            unknown: BlockingCount::of(CountedBy::Code, of_codes),
            pair: pair.code,
            is_known: self.known.is_within(now, pair.code, self.known_for),
            device: device(devices.map(|[_, code]| code), codes_on_devices),
            all_devices: codes_on_devices,
        };
        let (own, beside) = match proof {
            CredentialKind::Password => (by_password, None),
            CredentialKind::Code => (by_code, Some(by_password)),
        };
        let is_stranger = own.spot().whose == CountedBy::User;
        let stranger = is_stranger.then(|| self.stranger(now, user, address, (of_passwords, pair.stranger)));
        let site = self.keys.of_site(address);
        AttemptOrigin { address: self.keys.of_address(network), site, own, beside, stranger }
    }

    fn stranger(
        &mut self,
        now: Moment,
        user: &User,
        address: IpAddr,
        (of_user, pair): (u64, u64),
    ) -> Stranger {
        let neighbours = self.keys.of_neighbours(user, address);
        // Who has come before is of interest, and noted, only where turns are waited for.
        let turn = if self.users.last_delayed(of_user).is_none() {
            StrangerTurn::New
        } else if self.strangers.failures(now, neighbours) > 0 {
            StrangerTurn::Guessing
        } else if now.since(self.strangers.since(now, neighbours, NEW_AGAIN_AFTER)) < NEW_FOR {
            StrangerTurn::New
        } else {
            StrangerTurn::Waiting
        };
        Stranger { pair, neighbours, turn }
    }
}

/// When a delay is over, if there is one.
fn until(room: AttemptRoom) -> Option<Moment> {
    match room {
        AttemptRoom::Delayed(until) => Some(until),
        AttemptRoom::Free | AttemptRoom::Full => None,
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
