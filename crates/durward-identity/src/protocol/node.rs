//! One node: what goes in, what comes out, and the link to the store between.

use std::fmt;
use std::sync::Arc;

use super::freshness::Freshness;
use super::message::{Answer, AskId, Effect, Event, Lack, Outlook};
use super::outbox::{Outbox, Pending, Then};
use super::settings::{Mode, NodeSettings, OnLost};
use crate::entropy::{Entropy, bytes};
use crate::moment::Stamps;
use crate::session::{
    ClusterKey, Fresh, Gate, Level, Live, Properties, Record, Revocation, SealKey, SealedKey, SessionId,
    Sessions, Standing, TOUCHES_MAX, Touch, User,
};
use crate::{IdentityError, Moment};

/// The link to the store. In the mode `none`, the other nodes stand in its place at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Starting {
        until: Option<Moment>,
    },
    Lost {
        since: Moment,
    },
    /// It asked for what it lacks at `asked`.
    CatchingUp {
        target: u64,
        since: Moment,
        asked: Moment,
    },
    Live,
}

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
                self.end(now, Some(ask), Revocation::Session { user, id, ends }, effects);
            }
            // What is known here lies before this, even where it came from a node whose clock is ahead.
            Event::RevokeUser { ask, user } => {
                let newest = self.sessions.newest_of(&user);
                newest.into_iter().for_each(|stamp| self.stamps.see(stamp, now));
                let before = self.stamps.next(now);
                self.end(now, Some(ask), Revocation::User { user, before }, effects);
            }
            Event::RevokeAll { ask } => {
                self.stamps.see(self.sessions.newest(), now);
                let before = self.stamps.next(now);
                self.end(now, Some(ask), Revocation::All { before }, effects);
            }
            Event::Change { ask, user, id, level, properties } => {
                let answer = self.change(now, ask, user, id, (level, properties), effects);
                answer_now(ask, answer, effects);
            }
            Event::Refresh { ask, user, id } => {
                let answer = self.refresh(now, &user, id);
                answer_now(ask, Some(answer), effects);
            }
            Event::Validate { ask } => self.permit(now, ask, effects),
            Event::Rotate { ask } => self.rotate(now, Some(ask), effects),
            Event::Connected { last } => self.connected(now, last, effects),
            Event::Lost => self.lost(now, effects),
            Event::Delivered { number, after, id, record } => {
                if self.follows(now, number, after, effects) {
                    self.apply(now, record, effects);
                    let pending = self.outbox.arrived(id);
                    self.applied_up_to(now, number, effects);
                    pending.into_iter().for_each(|pending| self.arrived(now, pending, effects));
                }
            }
            Event::Idle { last, after } => {
                if self.follows(now, last, after, effects) {
                    self.applied_up_to(now, last, effects);
                    self.passed(now, effects);
                }
            }
            Event::Stored { id, number } => {
                self.outbox.stored(id, number, self.settings.mode.is_assured());
                self.passed(now, effects);
            }
            Event::NotStored { id } => self.outbox.refused(id, now),
            Event::Last { question, last } => {
                let next = self.freshness.answered(question, last);
                effects.extend(next.map(|question| Effect::AskLast { question }));
                self.give_permits(effects);
            }
            Event::Told { record } => self.apply(now, record, effects),
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
        for key in self.sessions.ring().keys() {
            records.push(Record::Key(SealedKey(self.cluster.wrap(key, &*self.entropy)?)));
        }
        let (live, revocations) = self.sessions.snapshot();
        records.extend(revocations.into_iter().map(Record::Revoked));
        let mut touches = Vec::new();
        for (live, used) in live {
            touches.push(Touch { user: live.user.clone(), id: live.id, at: used });
            records.push(Record::Login(live));
        }
        records.extend(touches.chunks(TOUCHES_MAX).map(|some| Record::Touched(some.to_vec())));
        Ok(records)
    }

    fn login(
        &mut self,
        now: Moment,
        ask: AskId,
        user: User,
        level: Level,
        properties: Properties,
        effects: &mut Vec<Effect>,
    ) -> Option<Answer> {
        if let Some(lack) = self.cannot_write() {
            return Some(Answer::Unavailable(lack));
        }
        let must_end = match self.sessions.admit(&user) {
            Ok(sessions) => sessions,
            Err(full) => return Some(Answer::Full(full)),
        };
        let Ok(id) = SessionId::random(&*self.entropy) else { return Some(Answer::Unavailable(Lack::Key)) };
        for session in must_end {
            let oldest = Revocation::Session { user: user.clone(), id: session.id, ends: session.ends };
            self.end(now, None, oldest, effects);
        }
        let (ends, idle) = {
            let settings = self.sessions.settings();
            (now.plus(settings.lifetime_max), settings.idle_max)
        };
        let live = Live { user, id, stamp: self.stamps.next(now), ends, idle, level, properties };
        let deadline = now.plus(self.settings.write_within);
        self.begin(now, ask, deadline, live, effects)
    }

    fn begin(
        &mut self,
        now: Moment,
        ask: AskId,
        deadline: Moment,
        live: Live,
        effects: &mut Vec<Effect>,
    ) -> Option<Answer> {
        match self.settings.mode {
            Mode::None => {
                let answer = self.token(now, &live);
                self.sessions.insert(&live, now, Standing::Confirmed);
                effects.push(Effect::Tell { record: Record::Login(live) });
                Some(answer)
            }
            Mode::BestEffort => {
                let answer = self.token(now, &live);
                self.sessions.insert(&live, now, Standing::Unconfirmed);
                self.store(now, Record::Login(live), Then::Nothing, effects);
                Some(answer)
            }
            Mode::AssuredWrite | Mode::AssuredRead => {
                let record = Record::Login(live.clone());
                self.store(now, record, Then::Token { ask, deadline, live }, effects);
                None
            }
        }
    }

    fn token(&self, now: Moment, live: &Live) -> Answer {
        match self.sessions.seal(&*self.entropy, now, live) {
            Ok(token) => Answer::Token { id: live.id, token },
            Err(_) => Answer::Unavailable(Lack::Key),
        }
    }

    /// Ends sessions: here at once, elsewhere as the mode says. Refusing too early harms nobody.
    fn end(&mut self, now: Moment, ask: Option<AskId>, revocation: Revocation, effects: &mut Vec<Effect>) {
        self.sessions.revoke(&revocation, now);
        effects.push(Effect::Ended(revocation.clone()));
        self.publish(now, ask, Record::Revoked(revocation), effects);
    }

    /// Lets the others know; answers `Done` when that is as sure as the mode promises.
    fn publish(&mut self, now: Moment, ask: Option<AskId>, record: Record, effects: &mut Vec<Effect>) {
        let deadline = now.plus(self.settings.write_within);
        match self.settings.mode {
            Mode::None => effects.push(Effect::Tell { record }),
            Mode::BestEffort => self.store(now, record, Then::Nothing, effects),
            Mode::AssuredWrite | Mode::AssuredRead => {
                let then = ask.map_or(Then::Nothing, |ask| Then::Say { ask, deadline });
                self.store(now, record, then, effects);
                return;
            }
        }
        effects.extend(ask.map(|ask| Effect::Answer { ask, answer: Answer::Done }));
    }

    fn change(
        &mut self,
        now: Moment,
        ask: AskId,
        user: User,
        id: SessionId,
        (level, properties): (Level, Properties),
        effects: &mut Vec<Effect>,
    ) -> Option<Answer> {
        if let Some(lack) = self.cannot_write() {
            return Some(Answer::Unavailable(lack));
        }
        let Some(session) = self.sessions.get(&user, id) else { return Some(Answer::NoSession) };
        let (stamp, ends, idle) = (session.stamp, session.ends, session.idle);
        let live = Live { user: user.clone(), id, stamp, ends, idle, level, properties: properties.clone() };
        let record = Record::Changed { user: user.clone(), id, level, properties: properties.clone() };
        if self.settings.mode.is_assured() {
            let deadline = now.plus(self.settings.write_within);
            self.store(now, record, Then::Token { ask, deadline, live }, effects);
            return None;
        }
        self.sessions.change(&user, id, level, &properties);
        self.publish(now, None, record, effects);
        Some(self.token(now, &live))
    }

    fn refresh(&self, now: Moment, user: &User, id: SessionId) -> Answer {
        if self.sessions.gate() == Gate::Closed {
            return Answer::Unavailable(self.lack().unwrap_or(Lack::Store));
        }
        let Some(session) = self.sessions.get(user, id) else { return Answer::NoSession };
        let (stamp, ends, idle) = (session.stamp, session.ends, session.idle);
        let (level, properties) = (session.level, session.properties);
        self.token(now, &Live { user: user.clone(), id, stamp, ends, idle, level, properties })
    }

    /// Why a login cannot be taken now.
    fn cannot_write(&self) -> Option<Lack> {
        let lack = match self.settings.mode {
            Mode::None | Mode::BestEffort if self.was_ready => None,
            Mode::AssuredWrite | Mode::AssuredRead if self.outbox.len() >= self.settings.outbox_max => {
                Some(Lack::Overload)
            }
            Mode::None | Mode::BestEffort | Mode::AssuredWrite | Mode::AssuredRead => self.lack(),
        };
        lack.or_else(|| self.sessions.ring().keys().next().is_none().then_some(Lack::Key))
    }

    /// Puts a record on its way to the store.
    fn store(&mut self, now: Moment, record: Record, then: Then, effects: &mut Vec<Effect>) {
        let is_spared = match &record {
            Record::Touched(_) => true,
            Record::Login(_) | Record::Changed { .. } => {
                !self.settings.mode.is_assured() && self.outbox.len() >= self.settings.outbox_max
            }
            Record::Revoked(_) | Record::Key(_) => false,
        };
        if is_spared {
            match (&record, self.is_connected()) {
                (Record::Touched(_), true) => {
                    let id = self.outbox.name();
                    effects.push(Effect::Store { id, record });
                }
                (_, _) => self.dropped += 1,
            }
            return;
        }
        let id = self.outbox.keep(record.clone(), then, now.plus(self.settings.resend_after));
        if self.is_connected() {
            effects.push(Effect::Store { id, record });
        }
    }

    fn is_connected(&self) -> bool {
        match self.link {
            Link::CatchingUp { .. } | Link::Live => true,
            Link::Starting { .. } | Link::Lost { .. } => false,
        }
    }

    fn permit(&mut self, now: Moment, ask: AskId, effects: &mut Vec<Effect>) {
        let is_asked = self.settings.mode == Mode::AssuredRead && self.link == Link::Live;
        if is_asked {
            let question = self.freshness.join(ask, now.plus(self.settings.ask_within));
            effects.extend(question.map(|question| Effect::AskLast { question }));
        } else {
            let answer = self.permit_without_store();
            effects.push(Effect::Answer { ask, answer });
        }
    }

    /// What a validation is told when the store is not asked, or does not answer.
    fn permit_without_store(&self) -> Answer {
        let stale = self.was_ready && self.settings.on_lost == OnLost::ServeStale;
        let is_open = match self.settings.mode {
            Mode::None | Mode::BestEffort | Mode::AssuredWrite => self.sessions.gate() == Gate::Open,
            Mode::AssuredRead => stale,
        };
        if is_open {
            Answer::Permit(Fresh(()))
        } else {
            Answer::Unavailable(self.lack().unwrap_or(Lack::Store))
        }
    }

    fn give_permits(&mut self, effects: &mut Vec<Effect>) {
        let ready = self.freshness.applied(self.applied);
        effects
            .extend(ready.into_iter().map(|ask| Effect::Answer { ask, answer: Answer::Permit(Fresh(())) }));
    }

    fn rotate(&mut self, now: Moment, ask: Option<AskId>, effects: &mut Vec<Effect>) {
        let key = SealKey::generate(&*self.entropy, now.plus(self.settings.key_lead));
        let sealed = key.and_then(|key| Ok((self.cluster.wrap(&key, &*self.entropy)?, key)));
        let (wrapped, key) = match sealed {
            Ok(sealed) => sealed,
            Err(error) => {
                effects.extend(ask.map(|ask| Effect::Answer { ask, answer: Answer::Unavailable(Lack::Key) }));
                effects.push(Effect::Trouble(error.of("no new key")));
                return;
            }
        };
        self.rotating = Some(now);
        if !self.settings.mode.is_assured() {
            effects.extend(self.sessions.add_key(key, now).err().map(Effect::Trouble));
        }
        self.publish(now, ask, Record::Key(SealedKey(wrapped)), effects);
    }

    fn connected(&mut self, now: Moment, last: u64, effects: &mut Vec<Effect>) {
        if last < self.applied {
            effects.push(Effect::Trouble(IdentityError::new(format!(
                "the store ends with record {last}, and this node has seen record {}: the store has lost what it had \
                 acknowledged; restore it, or restart the nodes to accept that",
                self.applied
            ))));
            self.lost(now, effects);
            return;
        }
        self.link = Link::CatchingUp { target: last, since: self.since(now), asked: now };
        effects.push(Effect::CatchUp { after: self.applied });
        self.set_gate();
        self.send_again(now, true, effects);
    }

    fn since(&self, now: Moment) -> Moment {
        match self.link {
            Link::Lost { since } | Link::CatchingUp { since, .. } => since,
            Link::Starting { .. } | Link::Live => now,
        }
    }

    fn lost(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        self.link = Link::Lost { since: self.since(now) };
        self.set_gate();
        for ask in self.freshness.abandon() {
            effects.push(Effect::Answer { ask, answer: self.permit_without_store() });
        }
    }

    fn is_deaf(&self, now: Moment) -> bool {
        now.since(self.heard) > self.settings.silence_max
    }

    /// Whether something from the store is what comes next here. What was missed is asked for again.
    fn follows(&mut self, now: Moment, number: u64, after: u64, effects: &mut Vec<Effect>) -> bool {
        if !self.is_connected() {
            return false;
        }
        self.heard = now;
        if number < self.applied {
            return false;
        }
        if after > self.applied {
            self.missed(now, number, effects);
            return false;
        }
        number > self.applied || after == number
    }

    /// Something up to a number did not come. It is asked for, though not for every record that shows so.
    fn missed(&mut self, now: Moment, number: u64, effects: &mut Vec<Effect>) {
        let (target, asked) = match self.link {
            Link::CatchingUp { target, asked, .. } => (target.max(number), Some(asked)),
            Link::Starting { .. } | Link::Lost { .. } | Link::Live => (number, None),
        };
        let is_asked = asked.is_some_and(|asked| now.since(asked) < self.settings.resend_after);
        if !is_asked {
            effects.push(Effect::CatchUp { after: self.applied });
        }
        let asked = asked.filter(|_| is_asked).unwrap_or(now);
        self.link = Link::CatchingUp { target, since: self.since(now), asked };
        self.set_gate();
    }

    fn apply(&mut self, now: Moment, record: Record, effects: &mut Vec<Effect>) {
        match record {
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
            Record::Changed { user, id, level, properties } => {
                self.sessions.change(&user, id, level, &properties);
            }
            Record::Key(SealedKey(wrapped)) => {
                let added = self.cluster.unwrap(&wrapped).and_then(|key| self.sessions.add_key(key, now));
                effects.extend(added.err().map(Effect::Trouble));
            }
        }
    }

    fn applied_up_to(&mut self, now: Moment, number: u64, effects: &mut Vec<Effect>) {
        self.applied = self.applied.max(number);
        if let Link::CatchingUp { target, asked, .. } = &mut self.link {
            // As long as records come, nothing is asked for again.
            *asked = now.max(*asked);
            if *target <= self.applied {
                self.ready();
            }
        }
        self.give_permits(effects);
    }

    fn ready(&mut self) {
        self.link = Link::Live;
        self.was_ready = true;
        self.set_gate();
    }

    /// An own record is where it should be.
    fn arrived(&mut self, now: Moment, pending: Pending, effects: &mut Vec<Effect>) {
        match pending.then {
            Then::Nothing => {}
            Then::Say { ask, .. } => effects.push(Effect::Answer { ask, answer: Answer::Done }),
            Then::End { live } => {
                // Of a change that nobody waits for any more, the session stays.
                if matches!(pending.record, Record::Login(_)) {
                    let Live { user, id, ends, .. } = live;
                    self.end(now, None, Revocation::Session { user, id, ends }, effects);
                }
            }
            Then::Token { ask, deadline, live } => self.arrived_session(now, ask, deadline, live, effects),
        }
    }

    /// The store has a session; but a revocation that came first there may have ended it.
    fn arrived_session(
        &mut self,
        now: Moment,
        ask: AskId,
        deadline: Moment,
        live: Live,
        effects: &mut Vec<Effect>,
    ) {
        if self.sessions.get(&live.user, live.id).is_some() {
            let answer = self.token(now, &live);
            effects.push(Effect::Answer { ask, answer });
            return;
        }
        // The revocation was not for this login, which came after it, but could not know of it: it begins anew.
        let fresh = SessionId::random(&*self.entropy);
        let Ok(id) = fresh else {
            effects.push(Effect::Answer { ask, answer: Answer::Unavailable(Lack::Key) });
            return;
        };
        let again = Live { id, stamp: self.stamps.next(now), ..live };
        let answer = self.begin(now, ask, deadline, again, effects);
        answer_now(ask, answer, effects);
    }

    fn passed(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        for pending in self.outbox.passed(self.applied) {
            self.arrived(now, pending, effects);
        }
    }

    /// Another node has said what it knows.
    fn learn(&mut self, now: Moment, records: Vec<Record>, effects: &mut Vec<Effect>) {
        for record in records {
            self.apply(now, record, effects);
        }
        if let Link::Starting { .. } = self.link {
            self.ready();
        }
    }

    fn tick(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        let started = *self.started.get_or_insert(now);
        self.start_alone(now, effects);
        match self.link {
            Link::CatchingUp { target, .. } => self.missed(now, target, effects),
            // It may be that nothing happens, or that nothing is heard: the store says so every second.
            Link::Live if self.settings.mode != Mode::None && self.is_deaf(now) => {
                self.missed(now, self.applied, effects);
            }
            Link::Live | Link::Starting { .. } | Link::Lost { .. } => {}
        }
        self.send_again(now, false, effects);
        for ask in self.outbox.late(now) {
            effects.push(Effect::Answer { ask, answer: Answer::Unknown });
        }
        let (late, question) = self.freshness.expired(now, self.settings.ask_within);
        effects.extend(question.map(|question| Effect::AskLast { question }));
        for ask in late {
            effects.push(Effect::Answer { ask, answer: self.permit_without_store() });
        }
        self.rotate_when_due(now, effects);
        self.sweep(now, started, effects);
    }

    /// Without a store, the first to start finds nobody. The sessions of nodes that were there before have died with them: what they
    /// revoked is not known.
    fn start_alone(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        let (Mode::None, Link::Starting { until }) = (self.settings.mode, self.link) else { return };
        match until {
            None => {
                effects.push(Effect::AskPeers);
                self.link = Link::Starting { until: Some(now.plus(self.settings.ask_within)) };
            }
            Some(until) if until <= now => {
                let before = self.stamps.next(now);
                self.sessions.revoke(&Revocation::All { before }, now);
                self.ready();
            }
            Some(_) => {}
        }
    }

    fn send_again(&mut self, now: Moment, all: bool, effects: &mut Vec<Effect>) {
        if !self.is_connected() {
            return;
        }
        let due = if all { Moment::from_ms(u64::MAX) } else { now };
        let again = self.outbox.due(due, now.plus(self.settings.resend_after));
        effects.extend(again.into_iter().map(|(id, record)| Effect::Store { id, record }));
    }

    /// All nodes see that a key has had its time; the one that says so first is followed by the others.
    fn rotate_when_due(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        if self.link != Link::Live || !self.sessions.ring().wants_rotation(now, self.settings.key_period) {
            return;
        }
        let patience = self.settings.write_within + self.settings.key_lead;
        if self.rotating.is_none_or(|since| now.since(since) > patience) {
            self.rotate(now, None, effects);
        }
    }

    /// Goes through the table twice in the time in which uses are told.
    fn sweep(&mut self, now: Moment, started: Moment, effects: &mut Vec<Effect>) {
        let turns = Sessions::turns() as u64;
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
        self.tell_keys(pass_ms, elapsed_ms, effects);
        for some in touches.chunks(TOUCHES_MAX) {
            self.publish(now, None, Record::Touched(some.to_vec()), effects);
        }
    }

    /// Without a store, a node that missed a key learns of it when all are told again.
    fn tell_keys(&mut self, every_ms: u64, elapsed_ms: u64, effects: &mut Vec<Effect>) {
        if self.settings.mode != Mode::None || !self.was_ready || elapsed_ms / every_ms == self.told_keys {
            return;
        }
        self.told_keys = elapsed_ms / every_ms;
        for key in self.sessions.ring().keys() {
            let wrapped = self.cluster.wrap(key, &*self.entropy);
            effects.extend(wrapped.ok().map(|key| Effect::Tell { record: Record::Key(SealedKey(key)) }));
        }
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
