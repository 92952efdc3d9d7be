//! What is done because time has passed: sending again, giving up, new keys, sweeping.

use super::SessionNode;
use super::link::StoreLink;
use crate::Moment;
use crate::protocol::message::{AskId, AskOutcome, Lack, NodeEffect};
use crate::protocol::settings::Mode;
use crate::session::{SealKey, SealedKey, SessionRecord, TOUCHES_MAX, TableWriter};

impl SessionNode {
    pub(super) fn tick(&mut self, now: Moment, effects: &mut Vec<NodeEffect>) {
        let started = *self.started.get_or_insert(now);
        self.start_alone(now, effects);
        match self.link {
            StoreLink::CatchingUp { target, .. } => self.missed(now, target, effects),
            // It may be that nothing happens, or that nothing is heard: the store says so every second.
            StoreLink::Live if self.settings.mode != Mode::None && self.is_deaf(now) => {
                self.missed(now, self.applied, effects);
            }
            StoreLink::Live | StoreLink::Starting { .. } | StoreLink::Lost { .. } => {}
        }
        self.send_again(now, false, effects);
        for ask in self.outbox.late(now) {
            effects.push(NodeEffect::Answer { ask, answer: AskOutcome::Unknown });
        }
        let (late, question) = self.freshness.expired(now, self.settings.ask_within, self.applied);
        effects.extend(question.map(|question| NodeEffect::AskLast { question }));
        for ask in late {
            effects.push(NodeEffect::Answer { ask, answer: self.permit_without_store() });
        }
        self.rotate_when_due(now, effects);
        self.sweep(now, started, effects);
    }

    pub(super) fn rotate(&mut self, now: Moment, ask: Option<AskId>, effects: &mut Vec<NodeEffect>) {
        let key = SealKey::generate(&*self.entropy, now.plus(self.settings.key_lead));
        let sealed = key.and_then(|key| Ok((self.cluster.wrap(&key, &*self.entropy)?, key)));
        let (wrapped, key) = match sealed {
            Ok(sealed) => sealed,
            Err(error) => {
                effects.extend(
                    ask.map(|ask| NodeEffect::Answer { ask, answer: AskOutcome::Unavailable(Lack::Key) }),
                );
                effects.push(NodeEffect::Trouble(error.of("no new key")));
                return;
            }
        };
        self.rotating = Some(now);
        if !self.settings.mode.is_assured() {
            effects.extend(self.sessions.add_key(key, now).err().map(NodeEffect::Trouble));
        }
        self.publish(now, ask, SessionRecord::Key(SealedKey(wrapped)), effects);
    }

    /// All nodes see that a key has had its time; the one that says so first is followed by the others.
    pub(super) fn rotate_when_due(&mut self, now: Moment, effects: &mut Vec<NodeEffect>) {
        if self.link != StoreLink::Live || !self.sessions.ring().wants_rotation(now, self.settings.key_period)
        {
            return;
        }
        let patience = self.settings.write_within + self.settings.key_lead;
        if self.rotating.is_none_or(|since| now.since(since) > patience) {
            self.rotate(now, None, effects);
        }
    }

    /// Goes through the table twice in the time in which uses are told.
    pub(super) fn sweep(&mut self, now: Moment, started: Moment, effects: &mut Vec<NodeEffect>) {
        let turns = TableWriter::turns() as u64;
        let pass_ms =
            u64::try_from(self.sessions.settings().told_every.as_millis() / 2).unwrap_or(u64::MAX).max(1);
        let elapsed_ms = now.ms().saturating_sub(started.ms());
        let due = elapsed_ms.saturating_mul(turns) / pass_ms;
        // A clock that went back, or a long sleep: one pass is enough.
        if due < self.turn || due - self.turn > turns {
            self.turn = due.saturating_sub(turns);
        }
        let mut touches = Vec::new();
        while self.turn < due {
            self.turn += 1;
            self.sessions.sweep(now, usize::try_from(self.turn % turns).unwrap_or(0), &mut touches);
        }
        self.used.sweep(now);
        self.tell_keys(pass_ms, elapsed_ms, effects);
        for some in touches.chunks(TOUCHES_MAX) {
            self.publish(now, None, SessionRecord::Touched(some.to_vec()), effects);
        }
    }

    /// Without a store, a node that missed a key learns of it when all are told again.
    pub(super) fn tell_keys(&mut self, every_ms: u64, elapsed_ms: u64, effects: &mut Vec<NodeEffect>) {
        if self.settings.mode != Mode::None || !self.was_ready || elapsed_ms / every_ms == self.told_keys {
            return;
        }
        self.told_keys = elapsed_ms / every_ms;
        for key in self.sessions.ring().keys() {
            let wrapped = self.cluster.wrap(key, &*self.entropy);
            effects.extend(
                wrapped.ok().map(|key| NodeEffect::Tell { record: SessionRecord::Key(SealedKey(key)) }),
            );
        }
    }
}
