//! A part of the table of sessions: those of some of the users.
//!
//! A session takes 64 bytes here, a user 24 and the name, each about 11 in an index: see the `memory` example.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use super::name::{Level, Properties, SessionId, User};
use super::record::{LiveSession, SessionChange, Touch};
use super::sessions::Purpose;
use super::slab::{NONE, Slab};
use super::token::{Refusal, SessionClaims};
use crate::{CLOCK_SKEW_MAX, Moment, Stamp};

/// What happens at a login of a user who is at the session limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LimitPolicy {
    /// The login is refused.
    Refuse,
    /// The session that began first is ended.
    #[default]
    DropOldest,
}

/// A session, as those see it who list them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// What names it.
    pub id: SessionId,
    /// When the login was.
    pub stamp: Stamp,
    /// When it ends, however much it is used.
    pub ends: Moment,
    /// How long it may lie unused; zero is for ever.
    pub idle: Duration,
    /// When it was last used, as far as this node knows; to the second.
    pub used: Moment,
    /// How sure it is who the user is.
    pub level: Level,
    /// What is kept with it.
    pub properties: Properties,
}

/// Whether a store has confirmed a session, or one node alone knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// A store has it.
    Confirmed,
    /// This node knows of it, and perhaps nobody else.
    Unconfirmed,
}

/// Which sessions a revocation of a user, or of all, comes after, besides those whose stamps say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevocationReach {
    /// After all that this node knows: it was asked for here, or another node told of it, where there is no store.
    Known,
    /// After all that the store confirmed: this node reads the store in order, and has come to the revocation.
    Confirmed,
    /// After those with a stamp of about the same time: it is a part of what is known, and nobody says what came before it.
    Stamped,
}

/// The result of looking up a decrypted token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenLookup {
    Live,
    /// Nothing speaks against it; it should be noted down.
    Unknown,
    Refused(Refusal),
}

/// INVARIANT: `previous` and `next` are the session's neighbours in the list of its user's sessions, newest first.
#[derive(Debug)]
struct SessionSlot {
    id: [u8; 16],
    stamp: Stamp,
    user: u32,
    previous: u32,
    next: u32,
    ends_s: u32,
    idle_s: u32,
    /// When it was last used. Written under a lock for reading, hence atomic.
    used_s: AtomicU32,
    /// The last use that other nodes know of.
    told_s: u32,
    level: Level,
    is_confirmed: bool,
    properties: Option<Box<Properties>>,
}

#[derive(Debug)]
struct UserSlot {
    key: Box<str>,
    /// The newest session.
    first: u32,
    count: u32,
}

#[derive(Debug)]
struct RevokedUser {
    key: Box<str>,
    before: Stamp,
    until_s: u32,
}

/// Sessions of some users. One thread at a time changes it; many may look.
#[derive(Debug)]
pub(super) struct Shard {
    hasher: SeedableRandomState,
    sessions: Slab<SessionSlot>,
    by_id: HashTable<u32>,
    users: Slab<UserSlot>,
    by_user: HashTable<u32>,
    revoked_users: HashTable<RevokedUser>,
}

impl Shard {
    pub(super) const fn new(hasher: SeedableRandomState) -> Shard {
        Shard {
            hasher,
            sessions: Slab::new(),
            by_id: HashTable::new(),
            users: Slab::new(),
            by_user: HashTable::new(),
            revoked_users: HashTable::new(),
        }
    }

    /// Looks whether a session may be used now, and notes that it was, where that is the purpose.
    pub(super) fn check(
        &self,
        claims: &SessionClaims<'_>,
        now_s: u32,
        slack_s: u32,
        purpose: Purpose,
    ) -> TokenLookup {
        let Some(kept) = self.number(claims.id).and_then(|number| self.sessions.get(number)) else {
            return self.check_unknown(claims, now_s, slack_s);
        };
        let used_s = kept.used_s.load(Ordering::Relaxed);
        if is_idle(used_s, kept.idle_s, now_s, slack_s) {
            return TokenLookup::Refused(Refusal::Idle);
        }
        // Written once a second at most, so that cores do not take the line from each other at each use.
        if used_s < now_s && purpose == Purpose::Use {
            kept.used_s.fetch_max(now_s, Ordering::Relaxed);
        }
        TokenLookup::Live
    }

    /// Nobody has told of the session, or it has ended. Its last use is its login then.
    fn check_unknown(&self, claims: &SessionClaims<'_>, now_s: u32, slack_s: u32) -> TokenLookup {
        if self.is_revoked(claims.key, claims.stamp) {
            return TokenLookup::Refused(Refusal::Revoked);
        }
        let idle_s = u32::try_from(claims.idle.as_secs()).unwrap_or(u32::MAX);
        if is_idle(claims.stamp.moment().seconds(), idle_s, now_s, slack_s) {
            return TokenLookup::Refused(Refusal::Idle);
        }
        TokenLookup::Unknown
    }

    pub(super) fn is_revoked(&self, key: &str, stamp: Stamp) -> bool {
        self.revoked_up_to(key).is_some_and(|before| stamp <= before)
    }

    fn revoked_up_to(&self, key: &str) -> Option<Stamp> {
        if self.revoked_users.is_empty() {
            return None;
        }
        let revoked = self.revoked_users.find(self.hasher.hash_one(key), |user| *user.key == *key);
        revoked.map(|user| user.before)
    }

    fn number(&self, id: SessionId) -> Option<u32> {
        let is_it = |number: &u32| self.sessions.get(*number).is_some_and(|kept| kept.id == id.0);
        self.by_id.find(id.hash(), is_it).copied()
    }

    fn holder(&self, key: &str) -> Option<u32> {
        let is_it = |number: &u32| self.users.get(*number).is_some_and(|user| *user.key == *key);
        self.by_user.find(self.hasher.hash_one(key), is_it).copied()
    }

    /// Notes a session down, or that it is confirmed. Whether it is new; a revoked one is not noted.
    pub(super) fn insert(&mut self, live: &LiveSession, used: Moment, standing: Confirmation) -> bool {
        if self.is_revoked(live.user.key(), live.stamp) {
            return false;
        }
        if let Some(number) = self.number(live.id) {
            if let Some(kept) = self.sessions.get_mut(number) {
                kept.is_confirmed |= standing == Confirmation::Confirmed;
                if kept.properties.is_none() && !live.properties.is_empty() {
                    kept.properties = Some(Box::new(live.properties.clone()));
                }
            }
            return false;
        }
        let Some(user) = self.holder_or_new(live.user.key()) else { return false };
        let next = self.users.get(user).map_or(NONE, |holder| holder.first);
        let kept = SessionSlot {
            id: live.id.0,
            stamp: live.stamp,
            user,
            previous: NONE,
            next,
            ends_s: live.ends.seconds(),
            idle_s: u32::try_from(live.idle.as_secs()).unwrap_or(u32::MAX),
            used_s: AtomicU32::new(used.seconds()),
            told_s: used.seconds(),
            level: live.level,
            is_confirmed: standing == Confirmation::Confirmed,
            properties: (!live.properties.is_empty()).then(|| Box::new(live.properties.clone())),
        };
        let Some(number) = self.sessions.insert(kept) else { return false };
        if let Some(next) = self.sessions.get_mut(next) {
            next.previous = number;
        }
        if let Some(holder) = self.users.get_mut(user) {
            holder.first = number;
            holder.count += 1;
        }
        let sessions = &self.sessions;
        self.by_id.insert_unique(live.id.hash(), number, |number| hash_of(sessions, *number));
        true
    }

    fn holder_or_new(&mut self, key: &str) -> Option<u32> {
        if let Some(number) = self.holder(key) {
            return Some(number);
        }
        let number = self.users.insert(UserSlot { key: key.into(), first: NONE, count: 0 })?;
        let (users, hasher) = (&self.users, &self.hasher);
        let hash = |number: &u32| users.get(*number).map_or(0, |user| hasher.hash_one(&*user.key));
        self.by_user.insert_unique(hasher.hash_one(key), number, hash);
        Some(number)
    }

    /// Takes a session out of the table.
    fn remove(&mut self, number: u32) {
        let Some(kept) = self.sessions.remove(number) else { return };
        let hash = SessionId(kept.id).hash();
        if let Ok(entry) = self.by_id.find_entry(hash, |other| *other == number) {
            entry.remove();
        }
        if let Some(next) = self.sessions.get_mut(kept.next) {
            next.previous = kept.previous;
        }
        if let Some(previous) = self.sessions.get_mut(kept.previous) {
            previous.next = kept.next;
        }
        let Some(holder) = self.users.get_mut(kept.user) else { return };
        holder.count = holder.count.saturating_sub(1);
        if kept.previous == NONE {
            holder.first = kept.next;
        }
        if holder.count == 0 {
            self.remove_holder(kept.user);
        }
    }

    fn remove_holder(&mut self, number: u32) {
        let Some(holder) = self.users.remove(number) else { return };
        let hash = self.hasher.hash_one(&*holder.key);
        if let Ok(entry) = self.by_user.find_entry(hash, |other| *other == number) {
            entry.remove();
        }
    }

    /// Ends a session. Whether it was known.
    pub(super) fn end(&mut self, id: SessionId) -> bool {
        let number = self.number(id);
        if let Some(number) = number {
            self.remove(number);
        }
        number.is_some()
    }

    /// Ends a user's sessions up to a stamp and remembers it. How many were known.
    pub(super) fn revoke_user(&mut self, key: &str, before: Stamp, until: Moment) -> usize {
        let ended: Vec<u32> =
            self.of_user(key).filter(|(_, kept)| kept.stamp <= before).map(|(number, _)| number).collect();
        for number in &ended {
            self.remove(*number);
        }
        let (hash, until_s) = (self.hasher.hash_one(key), until.seconds());
        match self.revoked_users.find_mut(hash, |user| *user.key == *key) {
            Some(user) => {
                user.before = user.before.max(before);
                user.until_s = user.until_s.max(until_s);
            }
            None => {
                let hasher = &self.hasher;
                let user = RevokedUser { key: key.into(), before, until_s };
                self.revoked_users.insert_unique(hash, user, |other| hasher.hash_one(&*other.key));
            }
        }
        ended.len()
    }

    /// The sessions of a user, or of all, that a revocation ends although their stamps are after its own; and when each ends.
    pub(super) fn before_in_order(
        &self,
        key: Option<&str>,
        stamp: Stamp,
        reach: RevocationReach,
    ) -> Vec<(SessionId, Moment)> {
        let latest = stamp.moment().plus(CLOCK_SKEW_MAX);
        let is_one = |kept: &SessionSlot| {
            kept.stamp > stamp
                && match reach {
                    RevocationReach::Known => true,
                    RevocationReach::Confirmed => kept.is_confirmed,
                    RevocationReach::Stamped => kept.is_confirmed && kept.stamp.moment() <= latest,
                }
        };
        let ends = |kept: &SessionSlot| (SessionId(kept.id), Moment::from_s(kept.ends_s));
        match key {
            Some(key) => self.of_user(key).filter(|(_, it)| is_one(it)).map(|(_, it)| ends(it)).collect(),
            None => self.sessions.iter().filter(|(_, it)| is_one(it)).map(|(_, it)| ends(it)).collect(),
        }
    }

    fn of_user(&self, key: &str) -> impl Iterator<Item = (u32, &SessionSlot)> {
        let mut next = self.holder(key).and_then(|user| self.users.get(user)).map_or(NONE, |user| user.first);
        std::iter::from_fn(move || {
            let number = next;
            let kept = self.sessions.get(number)?;
            next = kept.next;
            Some((number, kept))
        })
    }

    /// The user's sessions, newest first.
    pub(super) fn list(&self, key: &str) -> Vec<Session> {
        self.of_user(key).map(|(_, kept)| kept.session()).collect()
    }

    pub(super) fn count(&self, key: &str) -> usize {
        self.holder(key).and_then(|user| self.users.get(user)).map_or(0, |user| user.count as usize)
    }

    pub(super) fn get(&self, id: SessionId) -> Option<Session> {
        self.number(id).and_then(|number| self.sessions.get(number)).map(SessionSlot::session)
    }

    /// Notes a use that another node saw.
    pub(super) fn touch(&mut self, id: SessionId, at_s: u32) {
        if let Some(kept) = self.number(id).and_then(|number| self.sessions.get_mut(number)) {
            kept.used_s.fetch_max(at_s, Ordering::Relaxed);
            kept.told_s = kept.told_s.max(at_s);
        }
    }

    /// Changes a session. Properties that would be too many together with those that came before are left as they are.
    pub(super) fn change(&mut self, id: SessionId, change: &SessionChange) {
        if let Some(kept) = self.number(id).and_then(|number| self.sessions.get_mut(number)) {
            kept.level = kept.level.max(change.level);
            if let Ok(properties) = change.of(kept.properties.as_deref().cloned().unwrap_or_default()) {
                kept.properties = (!properties.is_empty()).then(|| Box::new(properties));
            }
        }
    }

    /// Drops what has ended and what need not be remembered any more; gives the uses that others should know of.
    /// How many sessions were dropped.
    pub(super) fn sweep(
        &mut self,
        now_s: u32,
        slack_s: u32,
        all_before: Stamp,
        touches: &mut Vec<Touch>,
    ) -> usize {
        let has_ended = |kept: &SessionSlot| {
            let used_s = kept.used_s.load(Ordering::Relaxed);
            kept.ends_s <= now_s || is_idle(used_s, kept.idle_s, now_s, slack_s) || kept.stamp <= all_before
        };
        let ended: Vec<u32> =
            self.sessions.iter().filter(|(_, kept)| has_ended(kept)).map(|(number, _)| number).collect();
        for number in &ended {
            self.remove(*number);
        }
        self.revoked_users.retain(|user| user.until_s >= now_s);
        self.tell(slack_s, touches);
        ended.len()
    }

    fn tell(&mut self, slack_s: u32, touches: &mut Vec<Touch>) {
        let is_news = |kept: &SessionSlot| {
            kept.idle_s > 0
                && kept.used_s.load(Ordering::Relaxed) >= kept.told_s.saturating_add(slack_s.max(1))
        };
        let news: Vec<u32> =
            self.sessions.iter().filter(|(_, kept)| is_news(kept)).map(|(number, _)| number).collect();
        for number in news {
            let Some(kept) = self.sessions.get_mut(number) else { continue };
            let used_s = *kept.used_s.get_mut();
            kept.told_s = used_s;
            let Some(user) = self.users.get(kept.user).and_then(|user| User::of_key(&user.key)) else {
                continue;
            };
            touches.push(Touch { user, id: SessionId(kept.id), at: Moment::from_s(used_s) });
        }
    }

    /// What is known of sessions, for a node that asks.
    pub(super) fn live(&self) -> impl Iterator<Item = (LiveSession, Moment)> {
        self.sessions.iter().filter_map(|(_, kept)| {
            let user = self.users.get(kept.user).and_then(|user| User::of_key(&user.key))?;
            let Session { id, stamp, ends, idle, used, level, properties } = kept.session();
            Some((LiveSession { user, id, stamp, ends, idle, level, properties }, used))
        })
    }

    /// Those who have sessions.
    pub(super) fn users(&self) -> impl Iterator<Item = User> {
        self.users.iter().filter_map(|(_, user)| User::of_key(&user.key))
    }

    /// The users whose sessions were ended, up to which stamp.
    pub(super) fn revoked_users(&self) -> impl Iterator<Item = (User, Stamp)> {
        self.revoked_users.iter().filter_map(|user| Some((User::of_key(&user.key)?, user.before)))
    }

    /// For how many users revocations are remembered.
    pub(super) fn revoked_count(&self) -> usize {
        self.revoked_users.len()
    }
}

impl SessionSlot {
    fn session(&self) -> Session {
        Session {
            id: SessionId(self.id),
            stamp: self.stamp,
            ends: Moment::from_s(self.ends_s),
            idle: Duration::from_secs(u64::from(self.idle_s)),
            used: Moment::from_s(self.used_s.load(Ordering::Relaxed)),
            level: self.level,
            properties: self.properties.as_deref().cloned().unwrap_or_default(),
        }
    }
}

/// Other nodes are told of a use only so often (`slack_s`): so much later, all know.
fn is_idle(used_s: u32, idle_s: u32, now_s: u32, slack_s: u32) -> bool {
    idle_s > 0 && now_s > used_s.saturating_add(idle_s).saturating_add(slack_s)
}

fn hash_of(sessions: &Slab<SessionSlot>, number: u32) -> u64 {
    sessions.get(number).map_or(0, |kept| SessionId(kept.id).hash())
}
