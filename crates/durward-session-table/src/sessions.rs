//! The table of sessions that all threads of a node share.
//!
//! It has 256 parts, each with a lock of its own; a user's sessions are in one part. Validation takes the part's lock for
//! reading, and writes only to note a use, once a second at most for a session.

mod writer;

use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::fast::SeedableRandomState;

use super::ended::EndedSessions;
use super::key::KeyRing;
use super::name::{Properties, SessionId, User};
use super::record::LiveSession;
use super::shard::{Confirmation, LimitPolicy, Session, Shard, TokenLookup};
use super::token::{self, Refusal, Scratch, SessionClaims};
use crate::{CLOCK_SKEW_MAX, Moment, Stamp};

pub use writer::TableWriter;

/// How many parts the table has: far more than there are cores.
const SHARDS: usize = 256;

/// How long sessions live and how many there may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    /// How long a session lives at most. The same on all nodes. Default: 120 minutes.
    pub lifetime_max: Duration,
    /// How long a session may be idle; zero means for ever. Default: 30 minutes.
    pub idle_max: Duration,
    /// How often nodes tell each other that a session is used; by so much a session may lie unused for longer.
    /// Default: 30 seconds.
    pub told_every: Duration,
    /// How many sessions a user may have; beyond, `on_limit` says what happens. With several nodes, logins at the same
    /// moment may go beyond it by one for each node. Default: none.
    pub per_user_max: Option<usize>,
    /// What a login beyond `per_user_max` does. Default: ends the oldest session.
    pub on_limit: LimitPolicy,
    /// How long a device may be known on which a user has logged in: so long an end of all sessions of a user is remembered at least, which
    /// ends what was given to devices before it as well. Default: nothing.
    pub devices_max: Duration,
    /// How many sessions and remembered revocations a node holds; beyond, logins are refused. Default: 4 million, some 800 MiB.
    pub sessions_max: usize,
}

impl Default for SessionSettings {
    fn default() -> SessionSettings {
        SessionSettings {
            lifetime_max: Duration::from_secs(120 * 60),
            idle_max: Duration::from_secs(30 * 60),
            told_every: Duration::from_secs(30),
            per_user_max: None,
            on_limit: LimitPolicy::default(),
            devices_max: Duration::ZERO,
            sessions_max: 4_000_000,
        }
    }
}

/// Whether validations are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationGate {
    /// All are answered from what this node knows.
    Open,
    /// Only those that asked the store first, and have its permit.
    Asking,
    /// None: the node does not know enough.
    Closed,
}

/// Whether reading a session counts as using it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It does: the time it lies unused begins anew.
    Use,
    /// It does not.
    Look,
}

/// That a node knew everything that was acknowledged when this was asked for. Only [`TableWriter::permit`] makes one; it is good for
/// one validation.
#[derive(Debug, PartialEq, Eq)]
pub struct FreshnessProof(());

/// Alone on its cache lines, so that two parts do not slow each other.
#[repr(align(128))]
#[derive(Debug)]
struct PaddedShard(RwLock<Shard>);

impl PaddedShard {
    /// A thread that panicked left nothing half done that matters: each step leaves a table that can be used.
    fn read(&self) -> RwLockReadGuard<'_, Shard> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Shard> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session table of a node, shared by its threads.
pub struct SessionTable {
    settings: SessionSettings,
    hasher: SeedableRandomState,
    parts: Box<[PaddedShard]>,
    ended: EndedSessions,
    ring: ArcSwap<KeyRing>,
    /// Sessions with a stamp up to this one are revoked.
    all_before: AtomicU64,
    /// The largest stamp of a session that the store confirmed.
    confirmed: AtomicU64,
    /// The largest stamp of a session of which this node has heard at all.
    seen: AtomicU64,
    live: AtomicUsize,
    revoked: AtomicUsize,
    gate: AtomicU8,
}

impl SessionTable {
    /// No sessions, no keys, and a closed gate.
    pub fn new(settings: SessionSettings) -> SessionTable {
        SessionTable::hashed(settings, SeedableRandomState::random())
    }

    /// As `new`, but with the same order in its tables for the same seed: a simulation must tell its story again.
    #[cfg(feature = "testing")]
    pub fn seeded(settings: SessionSettings, seed: u64) -> SessionTable {
        let shared = foldhash::SharedSeed::global_fixed();
        SessionTable::hashed(settings, SeedableRandomState::with_seed(seed, shared))
    }

    fn hashed(settings: SessionSettings, hasher: SeedableRandomState) -> SessionTable {
        SessionTable {
            settings,
            parts: (0..SHARDS).map(|_| PaddedShard(RwLock::new(Shard::new(hasher.clone())))).collect(),
            hasher,
            ended: EndedSessions::new(),
            ring: ArcSwap::default(),
            all_before: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            live: AtomicUsize::new(0),
            revoked: AtomicUsize::new(0),
            gate: AtomicU8::new(ValidationGate::Closed as u8),
        }
    }

    /// How long sessions live and how many there may be.
    pub fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// What a token says, if its session lives; and notes that it was used. The claims are in `scratch`.
    ///
    /// # Errors
    /// It is refused: whoever presented it is to be told no more than that.
    pub fn validate<'b>(
        &self,
        now: Moment,
        token: &str,
        scratch: &'b mut Scratch,
    ) -> Result<SessionClaims<'b>, Refusal> {
        match self.gate() {
            ValidationGate::Open => self.check(now, token, scratch, Purpose::Use),
            ValidationGate::Asking | ValidationGate::Closed => Err(Refusal::Unavailable),
        }
    }

    /// As [`SessionTable::validate`], and with a permit as [`SessionTable::validate_fresh`]; but the session does not count as used by
    /// it: it goes on growing old.
    ///
    /// # Errors
    /// It is refused.
    pub fn look<'b>(
        &self,
        now: Moment,
        token: &str,
        scratch: &'b mut Scratch,
        permit: Option<FreshnessProof>,
    ) -> Result<SessionClaims<'b>, Refusal> {
        match (self.gate(), permit) {
            (ValidationGate::Open, _) | (_, Some(FreshnessProof(()))) => {
                self.check(now, token, scratch, Purpose::Look)
            }
            (ValidationGate::Asking | ValidationGate::Closed, None) => Err(Refusal::Unavailable),
        }
    }

    /// As [`SessionTable::validate`], with the permit that the mode `assured-read` asks for.
    ///
    /// # Errors
    /// It is refused.
    pub fn validate_fresh<'b>(
        &self,
        now: Moment,
        token: &str,
        scratch: &'b mut Scratch,
        permit: FreshnessProof,
    ) -> Result<SessionClaims<'b>, Refusal> {
        let FreshnessProof(()) = permit;
        self.check(now, token, scratch, Purpose::Use)
    }

    fn check<'b>(
        &self,
        now: Moment,
        token: &str,
        scratch: &'b mut Scratch,
        purpose: Purpose,
    ) -> Result<SessionClaims<'b>, Refusal> {
        let claims = token::open(&self.ring.load(), now, token, scratch)?;
        if claims.stamp <= self.all_before() {
            return Err(Refusal::Revoked);
        }
        if self.outlives(claims.stamp, now) {
            return Err(Refusal::Expired);
        }
        let verdict = self.part(claims.key).read().check(&claims, now.seconds(), self.slack_s(), purpose);
        match (verdict, purpose) {
            (TokenLookup::Live, _) => Ok(claims),
            (TokenLookup::Refused(refusal), _) => Err(refusal),
            (TokenLookup::Unknown, _) if self.ended.contains(claims.id) => Err(Refusal::Revoked),
            (TokenLookup::Unknown, Purpose::Look) => Ok(claims),
            (TokenLookup::Unknown, Purpose::Use) => self.note(now, &claims).map(|()| claims),
        }
    }

    /// Whether a session is older than any may be now. It may have begun when they lived longer; but how long ends of sessions are
    /// remembered goes by how long they live now.
    fn outlives(&self, stamp: Stamp, now: Moment) -> bool {
        now > stamp.moment().plus(self.settings.lifetime_max).plus(CLOCK_SKEW_MAX)
    }

    /// Notes down a session that another node began and has not told of yet, or not to this node.
    fn note(&self, now: Moment, claims: &SessionClaims<'_>) -> Result<(), Refusal> {
        if self.known() >= self.settings.sessions_max {
            return Ok(());
        }
        let user = User::new(claims.realm, claims.subject).map_err(|_| Refusal::Malformed)?;
        let SessionClaims { id, stamp, ends, idle, level, .. } = *claims;
        let live = LiveSession { user, id, stamp, ends, idle, level, properties: Properties::new() };
        self.seen.fetch_max(stamp.us(), Ordering::Relaxed);
        let mut part = self.part(claims.key).write();
        // Whoever ends a session says so first and takes this lock after that: it is seen here, or undone there.
        if self.ended.contains(id) {
            return Err(Refusal::Revoked);
        }
        if part.insert(&live, now, Confirmation::Unconfirmed) {
            self.live.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        // Between the two locks somebody else may have noted it down, or ended it.
        match part.check(claims, now.seconds(), self.slack_s(), Purpose::Use) {
            TokenLookup::Live | TokenLookup::Unknown => Ok(()),
            TokenLookup::Refused(refusal) => Err(refusal),
        }
    }

    /// The sessions of a user, newest first.
    pub fn list(&self, user: &User) -> Vec<Session> {
        let mut sessions = self.part(user.key()).read().list(user.key());
        sessions.retain(|session| session.stamp > self.all_before());
        sessions
    }

    /// One session of a user.
    pub fn get(&self, user: &User, id: SessionId) -> Option<Session> {
        self.part(user.key()).read().get(id).filter(|session| session.stamp > self.all_before())
    }

    /// Whether a session was ended before its time, as far as is known here.
    pub fn is_revoked(&self, user: &User, id: SessionId, stamp: Stamp) -> bool {
        let part = self.part(user.key()).read();
        stamp <= self.all_before()
            || self.ended.contains(id)
            || part.get(id).is_none() && part.is_revoked(user.key(), stamp)
    }

    /// Whether all sessions of a user that began up to this moment were ended, as far as is known here.
    pub fn is_user_revoked(&self, user: &User, began: Moment) -> bool {
        // A stamp is larger than the moment it was given at.
        let stamp = Stamp::from_us(began.ms().saturating_mul(1000));
        stamp <= self.all_before() || self.part(user.key()).read().is_revoked(user.key(), stamp)
    }

    /// Whether what has this name, a session or another thing that is good for a while, was ended before its time.
    pub fn is_ended(&self, id: SessionId) -> bool {
        self.ended.contains(id)
    }

    /// Some sessions that are wanted, at most so many. Takes the locks of the table's parts one after the other.
    pub fn some(&self, max: usize, wanted: impl Fn(&User, &Session) -> bool) -> Vec<(User, Session)> {
        let mut found = Vec::new();
        for part in &self.parts {
            let part = part.read();
            let live = part.live().map(|(live, used)| {
                let LiveSession { user, id, stamp, ends, idle, level, properties } = live;
                (user, Session { id, stamp, ends, used, idle, level, properties })
            });
            let is_there = |(user, session): &(User, Session)| {
                session.stamp > self.all_before() && wanted(user, session)
            };
            found.extend(live.filter(is_there).take(max - found.len()));
            if found.len() >= max {
                break;
            }
        }
        found
    }

    /// Some of the users who have sessions here, at most so many. Looks at all users, a part at a time.
    pub fn users(&self, max: usize, wanted: impl Fn(&User) -> bool) -> Vec<User> {
        let mut found: Vec<User> = Vec::new();
        for part in &self.parts {
            let part = part.read();
            found.extend(part.users().filter(|user| wanted(user)).take(max - found.len()));
        }
        found
    }

    /// How many sessions are known.
    pub fn live_count(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// How many revocations are remembered.
    pub fn revoked_count(&self) -> usize {
        self.revoked.load(Ordering::Relaxed)
    }

    fn known(&self) -> usize {
        self.live_count().saturating_add(self.revoked_count())
    }

    /// Whether validations are answered.
    pub fn gate(&self) -> ValidationGate {
        match self.gate.load(Ordering::Acquire) {
            0 => ValidationGate::Open,
            1 => ValidationGate::Asking,
            _ => ValidationGate::Closed,
        }
    }

    /// The keys in use.
    pub fn ring(&self) -> KeyRing {
        KeyRing::clone(&self.ring.load())
    }

    /// Why a user may not have one more session, if so. Others may come first.
    pub fn full(&self, user: &User) -> Option<SessionLimitReached> {
        self.admit(user, 0).err()
    }

    /// Whether a user may have one more session, beside those that are under way; which ones must end for it.
    fn admit(&self, user: &User, under_way: usize) -> Result<Vec<Session>, SessionLimitReached> {
        if self.known() >= self.settings.sessions_max {
            return Err(SessionLimitReached::Node);
        }
        let Some(max) = self.settings.per_user_max else { return Ok(Vec::new()) };
        let part = self.part(user.key()).read();
        let too_many = (part.count(user.key()) + under_way + 1).saturating_sub(max);
        if too_many == 0 {
            return Ok(Vec::new());
        }
        match self.settings.on_limit {
            LimitPolicy::Refuse => Err(SessionLimitReached::User),
            LimitPolicy::DropOldest => {
                let mut sessions = part.list(user.key());
                sessions.sort_by_key(|session| session.stamp);
                sessions.truncate(too_many);
                Ok(sessions)
            }
        }
    }

    fn all_before(&self) -> Stamp {
        Stamp::from_us(self.all_before.load(Ordering::Acquire))
    }

    fn slack_s(&self) -> u32 {
        u32::try_from(self.settings.told_every.as_secs()).unwrap_or(u32::MAX)
    }

    fn part(&self, key: &str) -> &PaddedShard {
        // The shards' own tables use the hash's other bits.
        let number = (self.hasher.hash_one(key) >> 40) as usize % SHARDS;
        #[expect(clippy::indexing_slicing, reason = "there are SHARDS parts, from the constructor on")]
        &self.parts[number]
    }
}

impl fmt::Debug for SessionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("live", &self.live_count())
            .field("revoked", &self.revoked_count())
            .field("gate", &self.gate())
            .finish_non_exhaustive()
    }
}

/// Why there may not be one more session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionLimitReached {
    /// The user is at the limit, and the setting is to refuse.
    User,
    /// The node holds as many as it may.
    Node,
}
