//! One node: what goes in, and what comes out.

mod link;
mod permit;
mod time;
mod write;

use std::fmt;
use std::sync::Arc;

use self::link::StoreLink;
use super::freshness::FreshnessQueries;
use super::message::{AskId, AskOutcome, Lack, NodeEffect, NodeEvent, NodeHealth};
use super::outbox::{RecordId, RecordOutbox};
use super::repeats::AppliedRevocations;
use super::settings::{Mode, NodeSettings, OnLost};
use super::used::{CodeUse, UsedCodes};
use crate::entropy::{Entropy, bytes};
use crate::moment::Stamps;
use crate::session::{
    ClusterKey, Confirmation, Revocation, RevocationReach, SealedKey, SessionRecord, SessionTable,
    TOUCHES_MAX, TableWriter, Touch, ValidationGate,
};
use crate::{IdentityError, Moment};

/// One node of a cluster, or the only one.
pub struct SessionNode {
    settings: NodeSettings,
    sessions: TableWriter,
    cluster: ClusterKey,
    entropy: Arc<dyn Entropy>,
    stamps: Stamps,
    link: StoreLink,
    /// Whether it has ever known everything.
    was_ready: bool,
    applied: u64,
    /// When the store was last heard.
    heard: Moment,
    outbox: RecordOutbox,
    freshness: FreshnessQueries,
    used: UsedCodes,
    revocations: AppliedRevocations,
    dropped: u64,
    /// Where sweeping is.
    turn: u64,
    /// How often keys were told, without a store.
    told_keys: u64,
    rotating: Option<Moment>,
    started: Option<Moment>,
}

impl SessionNode {
    /// A node that knows nothing yet. The cluster key is the same on all nodes.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn new(
        settings: NodeSettings,
        sessions: Arc<SessionTable>,
        cluster: ClusterKey,
        entropy: Arc<dyn Entropy>,
    ) -> Result<SessionNode, IdentityError> {
        let name = u64::from_be_bytes(bytes(&*entropy)?);
        let sessions = TableWriter::new(sessions);
        sessions.set_gate(ValidationGate::Closed);
        Ok(SessionNode {
            settings,
            sessions,
            cluster,
            entropy,
            stamps: Stamps::default(),
            link: StoreLink::Starting { until: None },
            was_ready: false,
            applied: 0,
            heard: Moment::default(),
            outbox: RecordOutbox::new(name),
            freshness: FreshnessQueries::default(),
            used: UsedCodes::default(),
            revocations: AppliedRevocations::default(),
            dropped: 0,
            turn: 0,
            told_keys: 0,
            rotating: None,
            started: None,
        })
    }

    /// The sessions that this node changes and all threads read.
    pub fn sessions(&self) -> &Arc<SessionTable> {
        self.sessions.table()
    }

    /// What it can promise at the moment.
    pub fn outlook(&self) -> NodeHealth {
        let since = match self.link {
            StoreLink::Lost { since } | StoreLink::CatchingUp { since, .. } => Some(since),
            StoreLink::Starting { .. } | StoreLink::Live => None,
        };
        let (unsent, dropped, applied) = (self.outbox.len(), self.dropped, self.applied);
        NodeHealth { lack: self.lack().or_else(|| self.lack_of_key()), since, unsent, dropped, applied }
    }

    /// There is no key yet to seal sessions with: it is on its way to the store.
    fn lack_of_key(&self) -> Option<Lack> {
        self.sessions.ring().keys().next().is_none().then_some(Lack::Key)
    }

    fn lack(&self) -> Option<Lack> {
        match self.link {
            StoreLink::Live => None,
            StoreLink::Starting { .. } => Some(Lack::Starting),
            StoreLink::Lost { .. } if self.was_ready => Some(Lack::Store),
            StoreLink::CatchingUp { .. } if self.was_ready => Some(Lack::Behind),
            StoreLink::Lost { .. } | StoreLink::CatchingUp { .. } => Some(Lack::Starting),
        }
    }

    /// Takes an event; adds what is to be done.
    pub fn handle(&mut self, now: Moment, event: NodeEvent, effects: &mut Vec<NodeEffect>) {
        match event {
            NodeEvent::Login { ask, user, level, properties } => {
                let answer = self.login(now, ask, user, level, properties, effects);
                answer_now(ask, answer, effects);
            }
            NodeEvent::Logout { ask, user, id, ends } => {
                self.end_asked(now, ask, Revocation::Session { user, id, ends }, effects);
            }
            // What is known here lies before this, even where it came from a node whose clock is ahead.
            NodeEvent::RevokeUser { ask, user } => {
                let newest = self.sessions.newest_of(&user);
                newest.into_iter().for_each(|stamp| self.stamps.see(stamp, now));
                let before = self.stamps.next(now);
                self.end_asked(now, ask, Revocation::User { user, before }, effects);
            }
            NodeEvent::RevokeAll { ask } => {
                self.stamps.see(self.sessions.newest(), now);
                let before = self.stamps.next(now);
                self.end_asked(now, ask, Revocation::All { before }, effects);
            }
            NodeEvent::Recall { ask, .. } if self.is_overloaded() => {
                effects.push(NodeEffect::Answer { ask, answer: AskOutcome::Unavailable(Lack::Overload) });
            }
            NodeEvent::Recall { ask, id, ends } => {
                self.sessions.recall(id, ends);
                self.publish(now, Some(ask), SessionRecord::Recalled { id, ends }, effects);
            }
            NodeEvent::Change { ask, user, id, shown, change } => {
                let answer = self.change(now, ask, user, id, (shown, change), effects);
                answer_now(ask, answer, effects);
            }
            NodeEvent::Refresh { ask, user, id, shown } => {
                let answer = self.refresh(now, &user, id, shown);
                answer_now(ask, Some(answer), effects);
            }
            NodeEvent::UseCode { ask, code } => {
                let answer = self.use_code(now, ask, code, effects);
                answer_now(ask, answer, effects);
            }
            NodeEvent::Guesses { ask, news } => {
                self.publish(now, None, SessionRecord::Guesses(news), effects);
                answer_now(ask, Some(AskOutcome::Done), effects);
            }
            NodeEvent::Validate { ask } => self.permit(now, ask, effects),
            NodeEvent::Rotate { ask } if self.is_overloaded() => {
                effects.push(NodeEffect::Answer { ask, answer: AskOutcome::Unavailable(Lack::Overload) });
            }
            NodeEvent::Rotate { ask } => self.rotate(now, Some(ask), effects),
            NodeEvent::Connected { last } => self.connected(now, last, effects),
            NodeEvent::Lost => self.lost(now, effects),
            NodeEvent::Delivered { number, after, id, record } => {
                if self.follows(now, number, after, effects) {
                    let code = self.apply_stored(now, id, record, effects);
                    let pending = self.outbox.arrived(id);
                    self.applied_up_to(now, number, effects);
                    pending.into_iter().for_each(|pending| self.arrived(now, pending, code, effects));
                }
            }
            NodeEvent::Idle { last, after } => {
                if self.follows(now, last, after, effects) {
                    self.applied_up_to(now, last, effects);
                    self.passed(now, effects);
                }
            }
            NodeEvent::Stored { id, number } => {
                if self.outbox.went_back(id, number) {
                    self.store_went_back(now, number, effects);
                } else {
                    self.outbox.stored(id, number, self.settings.mode.is_assured());
                    self.passed(now, effects);
                }
            }
            NodeEvent::NotStored { id } => self.outbox.refused(id, now),
            NodeEvent::Last { question, last } if self.freshness.went_back(question, last) => {
                self.store_went_back(now, last, effects);
            }
            NodeEvent::Last { question, last } => {
                let next = self.freshness.answered(question, last, self.applied);
                effects.extend(next.map(|question| NodeEffect::AskLast { question }));
                self.give_permits(effects);
            }
            NodeEvent::Told { record } => {
                self.apply(now, record, RevocationReach::Known, effects);
            }
            NodeEvent::Knows { records } => self.learn(now, records, effects),
            NodeEvent::Tick => self.tick(now, effects),
        }
    }

    /// Everything this node knows, for one that starts, in the mode `none`.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn knowledge(&self) -> Result<Vec<SessionRecord>, IdentityError> {
        let mut records = Vec::new();
        for turn in 0.. {
            let Some(part) = self.knowledge_part(turn)? else { break };
            records.extend(part);
        }
        Ok(records)
    }

    /// The same in parts, so that nobody need hold all of it: by turns from 0 on, and nothing when there are no more. What happens
    /// between two turns may be in a part or not; whoever puts parts together applies what happened since the first again, after them.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn knowledge_part(&self, turn: usize) -> Result<Option<Vec<SessionRecord>>, IdentityError> {
        let mut records = Vec::new();
        let Some(part) = turn.checked_sub(1) else {
            for key in self.sessions.ring().keys() {
                records.push(SessionRecord::Key(SealedKey(self.cluster.wrap(key, &*self.entropy)?)));
            }
            records.extend(self.sessions.snapshot_of_ended().into_iter().map(SessionRecord::Revoked));
            records.extend(self.used.records());
            return Ok(Some(records));
        };
        let Some((live, revocations)) = self.sessions.snapshot_of_part(part) else { return Ok(None) };
        records.extend(revocations.into_iter().map(SessionRecord::Revoked));
        let mut touches = Vec::new();
        for (live, used) in live {
            touches.push(Touch { user: live.user.clone(), id: live.id, at: used });
            records.push(SessionRecord::Login(live));
        }
        records.extend(touches.chunks(TOUCHES_MAX).map(|some| SessionRecord::Touched(some.to_vec())));
        Ok(Some(records))
    }

    /// Takes in a record that the store has next in its order.
    fn apply_stored(
        &mut self,
        now: Moment,
        id: RecordId,
        record: SessionRecord,
        effects: &mut Vec<NodeEffect>,
    ) -> CodeUse {
        let is_repeated =
            matches!(&record, SessionRecord::Revoked(Revocation::User { .. } | Revocation::All { .. }))
                && !self.revocations.insert(id);
        // Sessions that began between the two are none of its.
        if is_repeated {
            return CodeUse::Unclear;
        }
        self.apply(now, record, RevocationReach::Confirmed, effects)
    }

    /// Takes in what a record says; and of a code, whether it was good until then.
    fn apply(
        &mut self,
        now: Moment,
        record: SessionRecord,
        reach: RevocationReach,
        effects: &mut Vec<NodeEffect>,
    ) -> CodeUse {
        match record {
            SessionRecord::Used(code) => return self.used.insert(code),
            SessionRecord::Login(live) => {
                self.stamps.see(live.stamp, now);
                self.sessions.insert(&live, live.stamp.moment(), Confirmation::Confirmed);
            }
            SessionRecord::Revoked(revocation) => {
                match &revocation {
                    Revocation::User { before, .. } | Revocation::All { before } => {
                        self.stamps.see(*before, now)
                    }
                    Revocation::Session { .. } | Revocation::Ended { .. } => {}
                }
                self.sessions.revoke(&revocation, now, reach);
                effects.push(NodeEffect::Ended(revocation));
            }
            SessionRecord::Touched(touches) => touches.iter().for_each(|touch| self.sessions.touch(touch)),
            SessionRecord::Changed { user, id, change } => {
                self.sessions.change(&user, id, &change);
                effects.push(NodeEffect::Changed(id));
            }
            SessionRecord::Recalled { id, ends } => self.sessions.recall(id, ends),
            SessionRecord::Guesses(news) => effects.push(NodeEffect::Guessed(news)),
            SessionRecord::Key(SealedKey(wrapped)) => {
                let added = self.cluster.unwrap(&wrapped).and_then(|key| self.sessions.add_key(key, now));
                effects.extend(added.err().map(NodeEffect::Trouble));
            }
        }
        CodeUse::Unclear
    }

    fn set_gate(&self) {
        let is_stale_served = self.was_ready && self.settings.on_lost == OnLost::ServeStale;
        let is_live = self.link == StoreLink::Live;
        let gate = match self.settings.mode {
            Mode::None | Mode::BestEffort if self.was_ready => ValidationGate::Open,
            Mode::AssuredWrite if is_live || is_stale_served => ValidationGate::Open,
            Mode::AssuredRead if is_live || is_stale_served => ValidationGate::Asking,
            Mode::None | Mode::BestEffort | Mode::AssuredWrite | Mode::AssuredRead => ValidationGate::Closed,
        };
        self.sessions.set_gate(gate);
    }

    /// Makes the mistake that [`FreshnessQueries`] is there to avoid.
    #[cfg(test)]
    pub(super) fn break_freshness(&mut self) {
        self.freshness.joins_what_is_under_way = true;
    }

    /// Makes the mistake that the order of codes in the store is there to avoid.
    #[cfg(test)]
    pub(super) fn break_codes(&mut self) {
        self.used.lets_everybody_in = true;
    }
}

impl fmt::Debug for SessionNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("link", &self.link)
            .field("applied", &self.applied)
            .finish_non_exhaustive()
    }
}

fn answer_now(ask: AskId, answer: Option<AskOutcome>, effects: &mut Vec<NodeEffect>) {
    effects.extend(answer.map(|answer| NodeEffect::Answer { ask, answer }));
}
