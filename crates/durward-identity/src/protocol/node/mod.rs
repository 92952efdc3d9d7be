//! One node: what goes in, and what comes out.

mod link;
mod permit;
mod time;
mod write;

use std::fmt;
use std::sync::Arc;

use self::link::Link;
use super::freshness::Freshness;
use super::message::{Answer, AskId, Effect, Event, Lack, Outlook};
use super::outbox::Outbox;
use super::settings::{Mode, NodeSettings, OnLost};
use super::used::{Use, UsedCodes};
use crate::entropy::{Entropy, bytes};
use crate::moment::Stamps;
use crate::session::{
    ClusterKey, Gate, Record, Revocation, SealedKey, Sessions, Standing, TOUCHES_MAX, Touch,
};
use crate::{IdentityError, Moment};

/// One node of a cluster, or the only one.
pub struct Node {
    settings: NodeSettings,
    sessions: Arc<Sessions>,
    cluster: ClusterKey,
    entropy: Arc<dyn Entropy>,
    stamps: Stamps,
    link: Link,
    /// Whether it has ever known everything.
    was_ready: bool,
    applied: u64,
    /// When the store was last heard.
    heard: Moment,
    outbox: Outbox,
    freshness: Freshness,
    used: UsedCodes,
    dropped: u64,
    /// Where sweeping is.
    turn: u64,
    /// How often keys were told, without a store.
    told_keys: u64,
    rotating: Option<Moment>,
    started: Option<Moment>,
}

impl Node {
    /// A node that knows nothing yet. The cluster key is the same on all nodes.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn new(
        settings: NodeSettings,
        sessions: Arc<Sessions>,
        cluster: ClusterKey,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Node, IdentityError> {
        let name = u64::from_be_bytes(bytes(&*entropy)?);
        sessions.set_gate(Gate::Closed);
        Ok(Node {
            settings,
            sessions,
            cluster,
            entropy,
            stamps: Stamps::default(),
            link: Link::Starting { until: None },
            was_ready: false,
            applied: 0,
            heard: Moment::default(),
            outbox: Outbox::new(name),
            freshness: Freshness::default(),
            used: UsedCodes::default(),
            dropped: 0,
            turn: 0,
            told_keys: 0,
            rotating: None,
            started: None,
        })
    }

    /// The sessions that this node changes and all threads read.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// What it can promise at the moment.
    pub fn outlook(&self) -> Outlook {
        let since = match self.link {
            Link::Lost { since } | Link::CatchingUp { since, .. } => Some(since),
            Link::Starting { .. } | Link::Live => None,
        };
        let (unsent, dropped, applied) = (self.outbox.len(), self.dropped, self.applied);
        Outlook { lack: self.lack(), since, unsent, dropped, applied }
    }

    fn lack(&self) -> Option<Lack> {
        match self.link {
            Link::Live => None,
            Link::Starting { .. } => Some(Lack::Starting),
            Link::Lost { .. } if self.was_ready => Some(Lack::Store),
            Link::CatchingUp { .. } if self.was_ready => Some(Lack::Behind),
            Link::Lost { .. } | Link::CatchingUp { .. } => Some(Lack::Starting),
        }
    }

    /// Takes an event; adds what is to be done.
    pub fn handle(&mut self, now: Moment, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Login { ask, user, level, properties } => {
                let answer = self.login(now, ask, user, level, properties, effects);
                answer_now(ask, answer, effects);
            }
            Event::Logout { ask, user, id, ends } => {
                self.end_asked(now, ask, Revocation::Session { user, id, ends }, effects);
            }
            // What is known here lies before this, even where it came from a node whose clock is ahead.
            Event::RevokeUser { ask, user } => {
                let newest = self.sessions.newest_of(&user);
                newest.into_iter().for_each(|stamp| self.stamps.see(stamp, now));
                let before = self.stamps.next(now);
                self.end_asked(now, ask, Revocation::User { user, before }, effects);
            }
            Event::RevokeAll { ask } => {
                self.stamps.see(self.sessions.newest(), now);
                let before = self.stamps.next(now);
                self.end_asked(now, ask, Revocation::All { before }, effects);
            }
            Event::Recall { ask, .. } if self.is_overloaded() => {
                effects.push(Effect::Answer { ask, answer: Answer::Unavailable(Lack::Overload) });
            }
            Event::Recall { ask, id, ends } => {
                self.sessions.recall(id, ends);
                self.publish(now, Some(ask), Record::Recalled { id, ends }, effects);
            }
            Event::Change { ask, user, id, shown, change } => {
                let answer = self.change(now, ask, user, id, (shown, change), effects);
                answer_now(ask, answer, effects);
            }
            Event::Refresh { ask, user, id, shown } => {
                let answer = self.refresh(now, &user, id, shown);
                answer_now(ask, Some(answer), effects);
            }
            Event::UseCode { ask, code } => {
                let answer = self.use_code(now, ask, code, effects);
                answer_now(ask, answer, effects);
            }
            Event::Validate { ask } => self.permit(now, ask, effects),
            Event::Rotate { ask } if self.is_overloaded() => {
                effects.push(Effect::Answer { ask, answer: Answer::Unavailable(Lack::Overload) });
            }
            Event::Rotate { ask } => self.rotate(now, Some(ask), effects),
            Event::Connected { last } => self.connected(now, last, effects),
            Event::Lost => self.lost(now, effects),
            Event::Delivered { number, after, id, record } => {
                if self.follows(now, number, after, effects) {
                    let code = self.apply(now, record, effects);
                    let pending = self.outbox.arrived(id);
                    self.applied_up_to(now, number, effects);
                    pending.into_iter().for_each(|pending| self.arrived(now, pending, code, effects));
                }
            }
            Event::Idle { last, after } => {
                if self.follows(now, last, after, effects) {
                    self.applied_up_to(now, last, effects);
                    self.passed(now, effects);
                }
            }
            Event::Stored { id, number } => {
                if self.outbox.went_back(id, number) {
                    self.store_went_back(now, number, effects);
                } else {
                    self.outbox.stored(id, number, self.settings.mode.is_assured());
                    self.passed(now, effects);
                }
            }
            Event::NotStored { id } => self.outbox.refused(id, now),
            Event::Last { question, last } if self.freshness.went_back(question, last) => {
                self.store_went_back(now, last, effects);
            }
            Event::Last { question, last } => {
                let next = self.freshness.answered(question, last, self.applied);
                effects.extend(next.map(|question| Effect::AskLast { question }));
                self.give_permits(effects);
            }
            Event::Told { record } => {
                self.apply(now, record, effects);
            }
            Event::Knows { records } => self.learn(now, records, effects),
            Event::Tick => self.tick(now, effects),
        }
    }

    /// Everything this node knows, for one that starts, in the mode `none`.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn knowledge(&self) -> Result<Vec<Record>, IdentityError> {
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
    pub fn knowledge_part(&self, turn: usize) -> Result<Option<Vec<Record>>, IdentityError> {
        let mut records = Vec::new();
        let Some(part) = turn.checked_sub(1) else {
            for key in self.sessions.ring().keys() {
                records.push(Record::Key(SealedKey(self.cluster.wrap(key, &*self.entropy)?)));
            }
            records.extend(self.sessions.snapshot_of_ended().into_iter().map(Record::Revoked));
            records.extend(self.used.records());
            return Ok(Some(records));
        };
        let Some((live, revocations)) = self.sessions.snapshot_of_part(part) else { return Ok(None) };
        records.extend(revocations.into_iter().map(Record::Revoked));
        let mut touches = Vec::new();
        for (live, used) in live {
            touches.push(Touch { user: live.user.clone(), id: live.id, at: used });
            records.push(Record::Login(live));
        }
        records.extend(touches.chunks(TOUCHES_MAX).map(|some| Record::Touched(some.to_vec())));
        Ok(Some(records))
    }

    /// Takes in what a record says; and of a code, whether it was good until then.
    fn apply(&mut self, now: Moment, record: Record, effects: &mut Vec<Effect>) -> Use {
        match record {
            Record::Used(code) => return self.used.insert(code),
            Record::Login(live) => {
                self.stamps.see(live.stamp, now);
                self.sessions.insert(&live, live.stamp.moment(), Standing::Confirmed);
            }
            Record::Revoked(revocation) => {
                match &revocation {
                    Revocation::User { before, .. } | Revocation::All { before } => {
                        self.stamps.see(*before, now)
                    }
                    Revocation::Session { .. } | Revocation::Ended { .. } => {}
                }
                self.sessions.revoke(&revocation, now);
                effects.push(Effect::Ended(revocation));
            }
            Record::Touched(touches) => touches.iter().for_each(|touch| self.sessions.touch(touch)),
            Record::Changed { user, id, change } => {
                self.sessions.change(&user, id, &change);
                effects.push(Effect::Changed(id));
            }
            Record::Recalled { id, ends } => self.sessions.recall(id, ends),
            Record::Key(SealedKey(wrapped)) => {
                let added = self.cluster.unwrap(&wrapped).and_then(|key| self.sessions.add_key(key, now));
                effects.extend(added.err().map(Effect::Trouble));
            }
        }
        Use::Unclear
    }

    fn set_gate(&self) {
        let is_stale_served = self.was_ready && self.settings.on_lost == OnLost::ServeStale;
        let is_live = self.link == Link::Live;
        let gate = match self.settings.mode {
            Mode::None | Mode::BestEffort if self.was_ready => Gate::Open,
            Mode::AssuredWrite if is_live || is_stale_served => Gate::Open,
            Mode::AssuredRead if is_live || is_stale_served => Gate::Asking,
            Mode::None | Mode::BestEffort | Mode::AssuredWrite | Mode::AssuredRead => Gate::Closed,
        };
        self.sessions.set_gate(gate);
    }

    /// Makes the mistake that [`Freshness`] is there to avoid.
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

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("link", &self.link)
            .field("applied", &self.applied)
            .finish_non_exhaustive()
    }
}

fn answer_now(ask: AskId, answer: Option<Answer>, effects: &mut Vec<Effect>) {
    effects.extend(answer.map(|answer| Effect::Answer { ask, answer }));
}
