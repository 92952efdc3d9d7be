//! Logins, ends and changes: what goes to the store, and what is answered when it comes back.

use super::SessionNode;
use crate::Moment;
use crate::protocol::message::{AskId, AskOutcome, Lack, NodeEffect};
use crate::protocol::outbox::{OnStored, PendingRecord};
use crate::protocol::settings::Mode;
use crate::protocol::used::CodeUse;
use crate::session::{
    Confirmation, Level, LiveSession, Properties, Revocation, RevocationReach, Session, SessionChange,
    SessionId, SessionRecord, UsedCode, User, ValidationGate,
};

impl SessionNode {
    pub(super) fn login(
        &mut self,
        now: Moment,
        ask: AskId,
        user: User,
        level: Level,
        properties: Properties,
        effects: &mut Vec<NodeEffect>,
    ) -> Option<AskOutcome> {
        if let Some(lack) = self.cannot_write() {
            return Some(AskOutcome::Unavailable(lack));
        }
        let under_way = match self.sessions.settings().per_user_max {
            Some(_) => self.outbox.logins_of(&user),
            None => 0,
        };
        let must_end = match self.sessions.admit(&user, under_way) {
            Ok(sessions) => sessions,
            Err(full) => return Some(AskOutcome::Full(full)),
        };
        let Ok(id) = SessionId::random(&*self.entropy) else {
            return Some(AskOutcome::Unavailable(Lack::Key));
        };
        for session in must_end {
            let oldest = Revocation::Session { user: user.clone(), id: session.id, ends: session.ends };
            self.end(now, None, oldest, effects);
        }
        let (ends, idle) = {
            let settings = self.sessions.settings();
            (now.plus(settings.lifetime_max), settings.idle_max)
        };
        let live = LiveSession { user, id, stamp: self.stamps.next(now), ends, idle, level, properties };
        let deadline = now.plus(self.settings.write_within);
        self.begin(now, ask, deadline, live, effects)
    }

    pub(super) fn begin(
        &mut self,
        now: Moment,
        ask: AskId,
        deadline: Moment,
        live: LiveSession,
        effects: &mut Vec<NodeEffect>,
    ) -> Option<AskOutcome> {
        match self.settings.mode {
            Mode::None => {
                let answer = self.token(now, &live);
                self.sessions.insert(&live, now, Confirmation::Confirmed);
                effects.push(NodeEffect::Tell { record: SessionRecord::Login(live) });
                Some(answer)
            }
            Mode::BestEffort => {
                let answer = self.token(now, &live);
                self.sessions.insert(&live, now, Confirmation::Unconfirmed);
                self.store(now, SessionRecord::Login(live), OnStored::Nothing, effects);
                Some(answer)
            }
            Mode::AssuredWrite | Mode::AssuredRead => {
                let record = SessionRecord::Login(live.clone());
                self.store(now, record, OnStored::Token { ask, deadline, live }, effects);
                None
            }
        }
    }

    pub(super) fn token(&self, now: Moment, live: &LiveSession) -> AskOutcome {
        match self.sessions.seal(&*self.entropy, now, live) {
            Ok(token) => AskOutcome::Token { id: live.id, token },
            Err(_) => AskOutcome::Unavailable(Lack::Key),
        }
    }

    /// Somebody asks for an end of sessions.
    pub(super) fn end_asked(
        &mut self,
        now: Moment,
        ask: AskId,
        revocation: Revocation,
        effects: &mut Vec<NodeEffect>,
    ) {
        if self.is_overloaded() {
            effects.push(NodeEffect::Answer { ask, answer: AskOutcome::Unavailable(Lack::Overload) });
        } else {
            self.end(now, Some(ask), revocation, effects);
        }
    }

    /// Whether so much waits for the store that nothing more may: twice what makes it refuse logins, so that those do not keep
    /// logouts out.
    pub(super) fn is_overloaded(&self) -> bool {
        self.settings.mode != Mode::None && self.outbox.len() >= self.settings.outbox_max.saturating_mul(2)
    }

    /// Ends sessions: here at once, elsewhere as the mode says. Refusing too early harms nobody.
    pub(super) fn end(
        &mut self,
        now: Moment,
        ask: Option<AskId>,
        revocation: Revocation,
        effects: &mut Vec<NodeEffect>,
    ) {
        self.sessions.revoke(&revocation, now, RevocationReach::Known);
        effects.push(NodeEffect::Ended(revocation.clone()));
        self.publish(now, ask, SessionRecord::Revoked(revocation), effects);
    }

    /// Lets the others know; answers `Done` when that is as sure as the mode promises.
    pub(super) fn publish(
        &mut self,
        now: Moment,
        ask: Option<AskId>,
        record: SessionRecord,
        effects: &mut Vec<NodeEffect>,
    ) {
        let deadline = now.plus(self.settings.write_within);
        match self.settings.mode {
            Mode::None => effects.push(NodeEffect::Tell { record }),
            Mode::BestEffort => self.store(now, record, OnStored::Nothing, effects),
            Mode::AssuredWrite | Mode::AssuredRead => {
                let then = ask.map_or(OnStored::Nothing, |ask| OnStored::Say { ask, deadline });
                self.store(now, record, then, effects);
                return;
            }
        }
        effects.extend(ask.map(|ask| NodeEffect::Answer { ask, answer: AskOutcome::Done }));
    }

    /// Whether a code was good until now. In the assured modes the order of the store says so: of two nodes that take the same code at
    /// the same moment, each puts it there, and the one that is behind the other finds it used.
    pub(super) fn use_code(
        &mut self,
        now: Moment,
        ask: AskId,
        code: UsedCode,
        effects: &mut Vec<NodeEffect>,
    ) -> Option<AskOutcome> {
        if let Some(lack) = self.cannot_write() {
            return Some(AskOutcome::Unavailable(lack));
        }
        match self.used.use_of(&code) {
            CodeUse::First => {}
            CodeUse::Again => return Some(AskOutcome::Used),
            CodeUse::Forgotten => return Some(AskOutcome::Forgotten),
            CodeUse::Unclear => return Some(AskOutcome::Unknown),
        }
        if self.settings.mode.is_assured() {
            let deadline = now.plus(self.settings.write_within);
            self.store(now, SessionRecord::Used(code), OnStored::First { ask, deadline }, effects);
            return None;
        }
        self.used.insert(code.clone());
        self.publish(now, None, SessionRecord::Used(code), effects);
        Some(AskOutcome::Done)
    }

    /// The token that is answered with has the level of the one that was shown, unless the change itself raises it: whoever got hold of
    /// one from before a second step does not come by another one.
    pub(super) fn change(
        &mut self,
        now: Moment,
        ask: AskId,
        user: User,
        id: SessionId,
        (shown, change): (Level, SessionChange),
        effects: &mut Vec<NodeEffect>,
    ) -> Option<AskOutcome> {
        if let Some(lack) = self.cannot_write() {
            return Some(AskOutcome::Unavailable(lack));
        }
        let Some(session) = self.sessions.get(&user, id) else { return Some(AskOutcome::NoSession) };
        let live = live(&user, &session, session.level.min(shown).max(change.level));
        let record = SessionRecord::Changed { user: user.clone(), id, change: change.clone() };
        if self.settings.mode.is_assured() {
            let deadline = now.plus(self.settings.write_within);
            self.store(now, record, OnStored::Token { ask, deadline, live }, effects);
            return None;
        }
        self.sessions.change(&user, id, &change);
        effects.push(NodeEffect::Changed(id));
        self.publish(now, None, record, effects);
        Some(self.token(now, &live))
    }

    pub(super) fn refresh(&self, now: Moment, user: &User, id: SessionId, shown: Level) -> AskOutcome {
        if self.sessions.gate() == ValidationGate::Closed {
            return AskOutcome::Unavailable(self.lack().unwrap_or(Lack::Store));
        }
        let Some(session) = self.sessions.get(user, id) else { return AskOutcome::NoSession };
        self.token(now, &live(user, &session, session.level.min(shown)))
    }

    /// Why a login cannot be taken now.
    pub(super) fn cannot_write(&self) -> Option<Lack> {
        let lack = match self.settings.mode {
            Mode::None | Mode::BestEffort if self.was_ready => None,
            Mode::AssuredWrite | Mode::AssuredRead if self.outbox.len() >= self.settings.outbox_max => {
                Some(Lack::Overload)
            }
            Mode::None | Mode::BestEffort | Mode::AssuredWrite | Mode::AssuredRead => self.lack(),
        };
        lack.or_else(|| self.lack_of_key())
    }

    /// Puts a record on its way to the store.
    pub(super) fn store(
        &mut self,
        now: Moment,
        record: SessionRecord,
        then: OnStored,
        effects: &mut Vec<NodeEffect>,
    ) {
        let is_spared = match &record {
            SessionRecord::Touched(_) | SessionRecord::Guesses(_) => true,
            SessionRecord::Login(_) | SessionRecord::Changed { .. } | SessionRecord::Used(_) => {
                !self.settings.mode.is_assured() && self.outbox.len() >= self.settings.outbox_max
            }
            // What nobody asked for, but a limit of sessions, in `best-effort`: it has ended here.
            SessionRecord::Revoked(_) | SessionRecord::Recalled { .. } => {
                !self.settings.mode.is_assured() && self.is_overloaded()
            }
            SessionRecord::Key(_) => false,
        };
        if is_spared {
            match (&record, self.is_connected()) {
                (SessionRecord::Touched(_) | SessionRecord::Guesses(_), true) => {
                    let id = self.outbox.name();
                    effects.push(NodeEffect::Store { id, record });
                }
                (_, _) => self.dropped += 1,
            }
            return;
        }
        let id = self.outbox.keep(record.clone(), then, now.plus(self.settings.resend_after), self.applied);
        if self.is_connected() {
            effects.push(NodeEffect::Store { id, record });
        }
    }

    pub(super) fn send_again(&mut self, now: Moment, all: bool, effects: &mut Vec<NodeEffect>) {
        if !self.is_connected() {
            return;
        }
        let due = if all { Moment::from_ms(u64::MAX) } else { now };
        let again = self.outbox.due(due, now.plus(self.settings.resend_after));
        effects.extend(again.into_iter().map(|(id, record)| NodeEffect::Store { id, record }));
    }

    pub(super) fn passed(&mut self, now: Moment, effects: &mut Vec<NodeEffect>) {
        for pending in self.outbox.passed(self.applied) {
            self.arrived(now, pending, CodeUse::Unclear, effects);
        }
    }

    /// An own record is where it should be. Of a code, what it was worth when the store came to it.
    pub(super) fn arrived(
        &mut self,
        now: Moment,
        pending: PendingRecord,
        code: CodeUse,
        effects: &mut Vec<NodeEffect>,
    ) {
        match pending.then {
            OnStored::Nothing => {}
            OnStored::First { ask, .. } => {
                let answer = match code {
                    CodeUse::First => AskOutcome::Done,
                    CodeUse::Again => AskOutcome::Used,
                    CodeUse::Forgotten => AskOutcome::Forgotten,
                    CodeUse::Unclear => AskOutcome::Unknown,
                };
                effects.push(NodeEffect::Answer { ask, answer });
            }
            OnStored::Say { ask, .. } => effects.push(NodeEffect::Answer { ask, answer: AskOutcome::Done }),
            OnStored::End { live } => {
                // Of a change that nobody waits for any more, the session stays.
                if matches!(pending.record, SessionRecord::Login(_)) {
                    let LiveSession { user, id, ends, .. } = live;
                    self.end(now, None, Revocation::Session { user, id, ends }, effects);
                }
            }
            OnStored::Token { ask, live, .. } if self.sessions.get(&live.user, live.id).is_some() => {
                let answer = self.token(now, &live);
                effects.push(NodeEffect::Answer { ask, answer });
            }
            // A revocation that the store has before a login has ended its session. Whether it was meant for this login, whose password
            // may have been looked at before, nobody knows: who asks again does so after it.
            OnStored::Token { ask, .. } => {
                let is_login = matches!(pending.record, SessionRecord::Login(_));
                let answer = if is_login { AskOutcome::Unknown } else { AskOutcome::NoSession };
                effects.push(NodeEffect::Answer { ask, answer });
            }
        }
    }
}

/// A session for a token of this level.
fn live(user: &User, session: &Session, level: Level) -> LiveSession {
    let Session { id, stamp, ends, idle, .. } = *session;
    LiveSession { user: user.clone(), id, stamp, ends, idle, level, properties: session.properties.clone() }
}
