//! What changes the table: the state machine of the node does, and nobody else.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{FreshnessProof, SHARDS, SessionLimitReached, SessionTable, ValidationGate};
use crate::entropy::Entropy;
use crate::key::SealKey;
use crate::name::{SessionId, User};
use crate::record::{ENDED_MAX, LiveSession, Revocation, SessionChange, Touch};
use crate::shard::{Confirmation, RevocationReach, Session, Shard};
use crate::token::{self, SessionClaims};
use crate::{CLOCK_SKEW_MAX, IdentityError, Moment, Stamp};

/// The session table of a node, as its state machine changes it; also reads what everybody reads.
///
/// `durward-identity` has the state machine and does not re-export this: whoever has a [`SessionTable`] of it can neither begin or end a
/// session, nor open the gate, nor make a [`FreshnessProof`].
#[derive(Debug)]
pub struct TableWriter {
    table: Arc<SessionTable>,
}

impl Deref for TableWriter {
    type Target = SessionTable;

    fn deref(&self) -> &SessionTable {
        &self.table
    }
}

impl TableWriter {
    /// What changes this table.
    pub fn new(table: Arc<SessionTable>) -> TableWriter {
        TableWriter { table }
    }

    /// The table, for those who read it.
    pub fn table(&self) -> &Arc<SessionTable> {
        &self.table
    }

    /// A permit for one validation. The caller has made sure that the node knows everything that was acknowledged when it was asked for.
    pub fn permit(&self) -> FreshnessProof {
        FreshnessProof(())
    }

    /// Says whether validations are answered from now on.
    pub fn set_gate(&self, gate: ValidationGate) {
        self.gate.store(gate as u8, Ordering::Release);
    }

    /// Takes a key into use, and drops those that no living session was sealed with.
    ///
    /// # Errors
    /// There would be more than [`KEYS_MAX`](crate::KEYS_MAX).
    pub fn add_key(&self, key: SealKey, now: Moment) -> Result<(), IdentityError> {
        self.ring.store(std::sync::Arc::new(self.ring.load().with(key, now, self.settings.lifetime_max)?));
        Ok(())
    }

    /// The token of a session, at most [`TOKEN_LENGTH_MAX`](crate::TOKEN_LENGTH_MAX) characters long. The session need not be in the table.
    ///
    /// # Errors
    /// There is no key, or no randomness.
    pub fn seal(
        &self,
        entropy: &dyn Entropy,
        now: Moment,
        live: &LiveSession,
    ) -> Result<String, IdentityError> {
        let LiveSession { user, id, stamp, ends, idle, level, .. } = live;
        let (realm, subject, key) = (user.realm(), user.subject(), user.key());
        let claims = SessionClaims {
            id: *id,
            stamp: *stamp,
            ends: *ends,
            idle: *idle,
            level: *level,
            realm,
            subject,
            key,
        };
        token::seal(&self.ring.load(), entropy, now, &claims)
    }

    /// Whether a user may have one more session, beside those that are under way; which ones must end for it.
    ///
    /// # Errors
    /// The user or the node has as many sessions as it may.
    pub fn admit(&self, user: &User, under_way: usize) -> Result<Vec<Session>, SessionLimitReached> {
        self.table.admit(user, under_way)
    }

    /// Notes a login down, unless its session has ended already.
    pub fn insert(&self, live: &LiveSession, used: Moment, standing: Confirmation) {
        self.seen.fetch_max(live.stamp.us(), Ordering::Relaxed);
        if standing == Confirmation::Confirmed {
            self.confirmed.fetch_max(live.stamp.us(), Ordering::Relaxed);
        }
        if live.stamp <= self.all_before() {
            return;
        }
        let mut part = self.part(live.user.key()).write();
        if !self.ended.contains(live.id) && part.insert(live, used, standing) {
            self.live.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The largest stamp of a session of a user, of which this node knows.
    pub fn newest_of(&self, user: &User) -> Option<Stamp> {
        self.list(user).iter().map(|session| session.stamp).max()
    }

    /// The largest stamp of a session of which this node has heard.
    pub fn newest(&self) -> Stamp {
        Stamp::from_us(self.seen.load(Ordering::Relaxed))
    }

    /// Ends sessions, and remembers that for as long as tokens of them could be shown.
    pub fn revoke(&self, revocation: &Revocation, now: Moment, reach: RevocationReach) {
        // The stamps that it ends may be ahead by as much as clocks differ, and are believed for as much longer.
        let until = now.plus(self.settings.lifetime_max).plus(2 * CLOCK_SKEW_MAX);
        match revocation {
            Revocation::Session { user, id, ends } => {
                self.revoked.fetch_add(usize::from(self.ended.insert(*id, *ends)), Ordering::Relaxed);
                let ended = self.part(user.key()).write().end(*id);
                self.live.fetch_sub(usize::from(ended), Ordering::Relaxed);
            }
            Revocation::User { user, before: stamp } => {
                let stamp = stamp.sane(now);
                let until = until.max(now.plus(self.settings.devices_max).plus(2 * CLOCK_SKEW_MAX));
                let mut part = self.part(user.key()).write();
                self.end_before(&mut part, Some(user.key()), stamp, reach);
                let before = part.revoked_count();
                let ended = part.revoke_user(user.key(), stamp, until);
                self.count(&part, before, ended);
            }
            Revocation::Ended { sessions } => self.revoke_ended(sessions),
            // Those in the table go at the next sweep; nobody gets in with them from here on.
            Revocation::All { before } => {
                let stamp = before.sane(now);
                self.all_before.fetch_max(stamp.us(), Ordering::AcqRel);
                let newest = match reach {
                    RevocationReach::Known => &self.seen,
                    RevocationReach::Confirmed | RevocationReach::Stamped => &self.confirmed,
                };
                if newest.load(Ordering::Relaxed) > stamp.us() {
                    self.parts.iter().for_each(|part| self.end_before(&mut part.write(), None, stamp, reach));
                }
            }
        }
    }

    /// Ends the sessions that a revocation comes after, though their stamps are after its own: who revoked had not heard of them and has a
    /// clock behind theirs, by whatever. The order counts, and no clock. They are ended one by one: a later stamp for the revocation
    /// itself would end sessions that the store has after it, on those nodes alone that still held the ones before it.
    fn end_before(&self, part: &mut Shard, key: Option<&str>, stamp: Stamp, reach: RevocationReach) {
        for (id, ends) in part.before_in_order(key, stamp, reach) {
            // First said, then taken out, under the part's lock: see `note`.
            self.revoked.fetch_add(usize::from(self.ended.insert(id, ends)), Ordering::Relaxed);
            self.live.fetch_sub(usize::from(part.end(id)), Ordering::Relaxed);
        }
    }

    /// Whose sessions they are was not said: where there are any, they are looked for in all parts.
    fn revoke_ended(&self, sessions: &[(SessionId, Moment)]) {
        for (id, ends) in sessions {
            self.revoked.fetch_add(usize::from(self.ended.insert(*id, *ends)), Ordering::Relaxed);
            if self.live_count() > 0 {
                let ended = self.parts.iter().any(|part| part.write().end(*id));
                self.live.fetch_sub(usize::from(ended), Ordering::Relaxed);
            }
        }
    }

    /// Keeps the counts right after a part was changed under its lock.
    fn count(&self, part: &Shard, revoked_before: usize, ended: usize) {
        let revoked = part.revoked_count();
        if revoked >= revoked_before {
            self.revoked.fetch_add(revoked - revoked_before, Ordering::Relaxed);
        } else {
            self.revoked.fetch_sub(revoked_before - revoked, Ordering::Relaxed);
        }
        self.live.fetch_sub(ended, Ordering::Relaxed);
    }

    /// Notes that a session was used, on another node for instance. Nothing where the session is not known.
    pub fn touch(&self, touch: &Touch) {
        self.part(touch.user.key()).write().touch(touch.id, touch.at.seconds());
    }

    /// Changes a session's level and properties. Nothing where the session is not known.
    pub fn change(&self, user: &User, id: SessionId, change: &SessionChange) {
        self.part(user.key()).write().change(id, change);
    }

    /// Remembers a name that is no session's, of a token or a grant, as ended until `ends`.
    pub fn recall(&self, id: SessionId, ends: Moment) {
        self.revoked.fetch_add(usize::from(self.ended.insert(id, ends)), Ordering::Relaxed);
    }

    /// Drops what has ended from one part of the table, `turn` modulo their number; adds the uses that others should know of.
    pub fn sweep(&self, now: Moment, turn: usize, touches: &mut Vec<Touch>) {
        let Some(part) = self.parts.get(turn % SHARDS) else { return };
        let mut part = part.write();
        let before = part.revoked_count();
        let ended = part.sweep(now.seconds(), self.slack_s(), self.all_before(), touches);
        self.count(&part, before, ended);
        self.revoked.fetch_sub(self.ended.sweep(now, turn), Ordering::Relaxed);
    }

    /// How many turns [`TableWriter::sweep`] takes for the whole table.
    pub const fn turns() -> usize {
        SHARDS
    }

    /// What has ended, beside what [`TableWriter::snapshot_of_part`] tells.
    pub fn snapshot_of_ended(&self) -> Vec<Revocation> {
        let mut revocations = vec![Revocation::All { before: self.all_before() }];
        let ended = self.ended.all();
        revocations.extend(ended.chunks(ENDED_MAX).map(|some| Revocation::Ended { sessions: some.to_vec() }));
        revocations
    }

    /// The sessions of a part of the table with their last use, and which users' were ended up to when. Nothing where there are no
    /// more parts. For a node that asks another what it knows.
    #[expect(clippy::type_complexity, reason = "two lists for one caller")]
    pub fn snapshot_of_part(&self, number: usize) -> Option<(Vec<(LiveSession, Moment)>, Vec<Revocation>)> {
        let part = self.parts.get(number)?.read();
        let users = part.revoked_users();
        let revocations = users.map(|(user, before)| Revocation::User { user, before }).collect();
        // What was revoked with all and is not swept yet must not come back where the clock was set back meanwhile.
        let is_live = |(live, _): &(LiveSession, Moment)| live.stamp > self.all_before();
        Some((part.live().filter(is_live).collect(), revocations))
    }
}
