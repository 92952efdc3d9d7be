//! What all sessions of a gate share: the state machine and what its actions do, the tables, the figures.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use durward_identity::Moment;
use opcua_types::StatusCode;
use tokio::sync::{Notify, watch};

use super::audit::{GateAuditEvent, GateAuditKind, GateCounters};
use super::link::SessionLink;
use super::names::NamespaceNames;
use super::nodes::TablesInForce;
use super::owners::SubscriptionOwners;
use super::rights::{DeliveryFlags, FixedRights};
use super::service::GateUser;
use super::settings::GateSettings;
use super::upstream::Upstream;
use crate::crypto::random_bytes;
use crate::error::Error;
use crate::protocol::{
    ActivationIdentity, ChannelId, ClockJump, DisciplinedClock, GateAction, GateEvent, GateMachine, GateNote,
    GateRefusal, GateSessionId, NonceNumber,
};
use crate::session::{ActiveSession, SessionInfo};
use crate::token::{
    FeedMessage, HasTokenFacts, RightEnd, RightKind, RightsClock, TokenFacts, TokenVerifier, VerifiedToken,
};

/// An accepted token, as the state machine sees it. One that the gate fetched in a user's name stands in for that user's client: the client's certificate is
/// proven by its channel, and the token never leaves the gate.
#[derive(Clone, Debug)]
pub(super) struct AcceptedToken {
    pub(super) token: Arc<VerifiedToken>,
    pub(super) facts: TokenFacts<Arc<str>>,
}

impl HasTokenFacts for AcceptedToken {
    type Name = Arc<str>;

    fn facts(&self) -> &TokenFacts<Arc<str>> {
        &self.facts
    }
}

/// One session, as the gate keeps it beside the session layer.
pub(super) struct GateSessionCell {
    /// The session's number in this process.
    pub(super) number: u64,
    /// The client's ApplicationUri.
    pub(super) application: Arc<str>,
    /// The client's certificate, by its thumbprint.
    pub(super) client: Arc<str>,
    /// The machine's name for the session: from its first activation on.
    pub(super) id: OnceLock<GateSessionId>,
    pub(super) flags: DeliveryFlags,
    pub(super) link: OnceLock<Arc<SessionLink>>,
    /// From the first request on.
    pub(super) active: OnceLock<Weak<ActiveSession<GateCore>>>,
    /// Whose rights the session has: the last user that the machine took.
    pub(super) user: Mutex<Weak<GateUser>>,
}

impl GateSessionCell {
    pub(super) fn new(info: &SessionInfo, client: Arc<str>) -> GateSessionCell {
        GateSessionCell {
            number: info.number,
            application: info.client.application_uri.as_str().into(),
            client,
            id: OnceLock::new(),
            flags: DeliveryFlags::default(),
            link: OnceLock::new(),
            active: OnceLock::new(),
            user: Mutex::new(Weak::new()),
        }
    }

    pub(super) fn user(&self) -> Option<Arc<GateUser>> {
        self.user.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    pub(super) fn set_user(&self, user: &Arc<GateUser>) {
        *self.user.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(user);
    }

    /// Ends the session in the session layer, if a request has come for it yet; otherwise the first one finds it ended.
    pub(super) fn close(&self) {
        self.flags.ended.store(true, Ordering::Release);
        if let Some(session) = self.active.get().and_then(Weak::upgrade) {
            session.close();
        }
    }
}

/// What all sessions share. Stands behind the session layer as its service.
pub(super) struct GateCore {
    pub(super) this: Weak<GateCore>,
    pub(super) settings: GateSettings,
    pub(super) verifier: ArcSwap<TokenVerifier>,
    pub(super) watch: Arc<RightsClock>,
    /// Lock order: the machine, then the clock. The watch is set while it is locked.
    clock: Mutex<DisciplinedClock>,
    /// INVARIANT: while it is written, flags and the watch follow: whoever sees a flag sees the feed that set it.
    machine: RwLock<GateMachine<AcceptedToken>>,
    cells: Mutex<HashMap<GateSessionId, Arc<GateSessionCell>>>,
    next_session: AtomicU32,
    pub(super) tables: ArcSwap<TablesInForce>,
    /// Those of the last session that was opened upstream.
    pub(super) names: ArcSwapOption<NamespaceNames>,
    pub(super) upstream: Upstream,
    pub(super) owned: Mutex<SubscriptionOwners>,
    /// Held while one session takes subscriptions from another: before the mediators of both.
    pub(super) transfers: Mutex<()>,
    pub(super) figures: GateCounters,
    /// Cutoffs are to be asked for.
    pub(super) ask: Notify,
    /// The nodes are to be browsed again.
    pub(super) browse: Notify,
    /// Counts the tables.
    pub(super) table_changes: watch::Sender<u64>,
    pub(super) shutdown: watch::Sender<bool>,
}

impl GateCore {
    pub(super) fn new(settings: GateSettings) -> Result<Arc<GateCore>, Error> {
        let now = (settings.channel.clock)();
        let question = u64::from_le_bytes(random_bytes()?);
        let wrong = |error: crate::token::NodeTableError| {
            Error::new(StatusCode::BadConfigurationError, format!("anonymous rights: {error}"))
        };
        let none: [&str; 0] = [];
        FixedRights::new(settings.anonymous.as_ref(), &none).map_err(wrong)?;
        let upstream = Upstream::new(settings.upstream.clone())?;
        Ok(Arc::new_cyclic(|this| GateCore {
            this: this.clone(),
            verifier: ArcSwap::from_pointee(settings.verifier(settings.keys.clone())),
            watch: Arc::new(RightsClock::new(settings.reach, now)),
            clock: Mutex::new(DisciplinedClock::new(now, (settings.uptime)())),
            machine: RwLock::new(GateMachine::new(settings.machine(), question)),
            cells: Mutex::default(),
            next_session: AtomicU32::new(1),
            tables: ArcSwap::from_pointee(TablesInForce::default()),
            names: ArcSwapOption::empty(),
            upstream,
            owned: Mutex::default(),
            transfers: Mutex::default(),
            figures: GateCounters::default(),
            ask: Notify::new(),
            browse: Notify::new(),
            table_changes: watch::Sender::new(0),
            shutdown: watch::Sender::new(false),
            settings,
        }))
    }

    /// The moment, which all rights see from now on.
    pub(super) fn now(&self) -> Moment {
        let clock = self.clock();
        let now = clock.at((self.settings.uptime)());
        self.watch.set_now(now);
        now
    }

    fn clock(&self) -> MutexGuard<'_, DisciplinedClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moment, corrected by the wall clock. Only with the machine's lock: a jump back is for it to hear before anything else.
    fn read_clock(&self) -> (Moment, Option<ClockJump>) {
        let (wall, uptime) = ((self.settings.channel.clock)(), (self.settings.uptime)());
        let mut clock = self.clock();
        let jump = clock.read(wall, uptime);
        let now = clock.at(uptime);
        self.watch.set_now(now);
        (now, jump)
    }

    fn cells(&self) -> MutexGuard<'_, HashMap<GateSessionId, Arc<GateSessionCell>>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every session that the machine has.
    pub(super) fn all_cells(&self) -> Vec<Arc<GateSessionCell>> {
        self.cells().values().cloned().collect()
    }

    /// Whether a request may be handed on.
    pub(super) fn admit(
        &self,
        now: Moment,
        session: GateSessionId,
        channel: ChannelId,
        kind: RightKind,
    ) -> Result<(), GateRefusal> {
        self.machine.read().unwrap_or_else(PoisonError::into_inner).admit(now, session, channel, kind)
    }

    /// The number of the question that the next first snapshot must answer.
    pub(super) fn question(&self) -> u64 {
        self.machine.read().unwrap_or_else(PoisonError::into_inner).question()
    }

    /// The number of the nonce that the next activation signs.
    pub(super) fn nonce(&self, session: GateSessionId) -> Option<NonceNumber> {
        self.machine.read().unwrap_or_else(PoisonError::into_inner).nonce(session)
    }

    /// Makes a session known to the machine, under a number that no other had.
    pub(super) fn create(&self, cell: &Arc<GateSessionCell>, channel: ChannelId) -> GateSessionId {
        let session = GateSessionId(self.next_session.fetch_add(1, Ordering::Relaxed));
        self.cells().insert(session, Arc::clone(cell));
        let client = Arc::clone(&cell.client);
        let _ = self.step(GateEvent::Create { session, channel, client });
        session
    }

    /// Has the machine take a user, or refuse.
    pub(super) fn activate(
        &self,
        cell: &GateSessionCell,
        session: GateSessionId,
        channel: ChannelId,
        nonce: NonceNumber,
        identity: ActivationIdentity<AcceptedToken>,
    ) -> Result<(), GateRefusal> {
        let client = Arc::clone(&cell.client);
        self.step(GateEvent::Activate { session, channel, client, nonce, identity })
    }

    /// The session has subscriptions, or has none any more.
    pub(super) fn subscribed(&self, session: GateSessionId, has: bool) {
        let _ = self.step(GateEvent::Subscribed { session, has });
    }

    /// Forgets a session.
    pub(super) fn forget(&self, session: GateSessionId) {
        let _ = self.step(GateEvent::Close(session));
        self.cells().remove(&session);
    }

    pub(super) fn hear(&self, message: FeedMessage<Arc<str>>) {
        if let FeedMessage::Cutoff { .. } = &message {
            GateCounters::count(&self.figures.cutoffs);
        }
        let _ = self.step(GateEvent::Heard(message));
    }

    /// Takes a step of the machine and carries its actions out in their order. What sets a flag or the feed is done before anybody else
    /// steps; what calls others is done after the lock is free.
    pub(super) fn step(&self, event: GateEvent<AcceptedToken>) -> Result<(), GateRefusal> {
        let is_news = matches!(event, GateEvent::Heard(_));
        let (now, jump, actions) = {
            let mut machine = self.machine.write().unwrap_or_else(PoisonError::into_inner);
            let (now, jump) = self.read_clock();
            let is_set_back = matches!(jump, Some(ClockJump::Back(_)));
            let mut actions =
                if is_set_back { machine.step(now, GateEvent::ClockSetBack) } else { Vec::new() };
            actions.extend(machine.step(now, event));
            if is_news || is_set_back {
                self.watch.publish(machine.feed().clone());
            }
            let complete = machine.feed().complete_until();
            let staleness = complete.map_or(u64::MAX, |until| now.ms().saturating_sub(until.ms()));
            self.figures.staleness_ms.store(staleness, Ordering::Relaxed);
            let cells = self.cells();
            for action in &actions {
                set_flags(&cells, action);
            }
            (now, jump, actions)
        };
        if let Some(jump) = jump {
            self.note_jump(now, jump);
        }
        let mut outcome = Ok(());
        for action in actions {
            match action {
                GateAction::RefuseActivation(_, refusal) | GateAction::Refuse(_, refusal) => {
                    outcome = Err(refusal)
                }
                GateAction::CloseSession(session, ended) => self.end(now, session, ended),
                GateAction::AskCutoffs(_) => self.ask.notify_one(),
                GateAction::BecomeAnonymous(session, ended) => {
                    let cell = self.cells().get(&session).cloned();
                    if let Some(cell) = cell {
                        let reason = format!("{ended}; the session goes on as an anonymous one");
                        self.tell(now, Some(&cell), GateAuditKind::Ended { reason: &reason });
                        self.rights_changed(session);
                    }
                }
                GateAction::Note(note) => self.note(now, note),
                GateAction::StopDelivery(session) | GateAction::ResumeDelivery(session) => {
                    self.rights_changed(session);
                }
                // With another user: when the session layer has it.
                GateAction::Created(..)
                | GateAction::Activated(..)
                | GateAction::Serve(_)
                | GateAction::RecheckDelivery(_) => {}
            }
        }
        outcome
    }

    fn rights_changed(&self, session: GateSessionId) {
        let link = self.cells().get(&session).and_then(|cell| cell.link.get().cloned());
        if let Some(link) = link {
            link.rights_changed(self);
        }
    }

    fn end(&self, now: Moment, session: GateSessionId, ended: RightEnd) {
        let cell = self.cells().get(&session).cloned();
        if let Some(cell) = cell {
            GateCounters::count(&self.figures.ended);
            self.tell(now, Some(&cell), GateAuditKind::Ended { reason: &ended.to_string() });
            cell.close();
        }
    }

    fn note_jump(&self, now: Moment, jump: ClockJump) {
        GateCounters::count(&self.figures.clock_jumps);
        let text = match jump {
            ClockJump::Ahead(by) => {
                format!(
                    "the clock was set ahead by {} s: tokens that have ended by it are ended",
                    by.as_secs()
                )
            }
            ClockJump::Back(by) => format!(
                "the clock was set back by {} s: all tokens are ended, and recalled ones are asked for again",
                by.as_secs()
            ),
        };
        tracing::warn!("{text}");
        self.tell(now, None, GateAuditKind::Note { text: &text });
    }

    fn note(&self, now: Moment, note: GateNote) {
        let (session, text) = match note {
            GateNote::GraceBegan(session) => (
                Some(session),
                "the token has ended and is served on: the authorization service is out of reach",
            ),
            GateNote::CutoffsMissing => {
                (None, "messages of the authorization service were lost: asking again")
            }
            GateNote::ClocksDiffer => {
                (None, "a message of the authorization service is dated too far ahead: compare the clocks")
            }
        };
        let cell = session.and_then(|session| self.cells().get(&session).cloned());
        let session = cell.as_deref().map_or(0, |cell| cell.number);
        tracing::warn!(session, "{text}");
        self.tell(now, cell.as_deref(), GateAuditKind::Note { text });
    }

    /// Tells the audit.
    pub(super) fn tell(&self, moment: Moment, cell: Option<&GateSessionCell>, what: GateAuditKind<'_>) {
        let user = cell.and_then(GateSessionCell::user);
        let subject = user.as_ref().and_then(|user| user.subject()).unwrap_or_default();
        self.settings.audit.record(&GateAuditEvent {
            moment,
            session: cell.map_or(0, |cell| cell.number),
            client: cell.map_or("", |cell| &cell.application),
            subject,
            what,
        });
    }
}

fn set_flags(cells: &HashMap<GateSessionId, Arc<GateSessionCell>>, action: &GateAction) {
    let set = |session: &GateSessionId, change: &dyn Fn(&DeliveryFlags)| {
        if let Some(cell) = cells.get(session) {
            change(&cell.flags);
        }
    };
    match action {
        GateAction::Activated(session, _) => {
            set(session, &|flags| flags.demoted.store(false, Ordering::Release))
        }
        // The rights are asked for each notification when it is delivered: with the new user's, all are ruled on again.
        GateAction::RecheckDelivery(session) | GateAction::ResumeDelivery(session) => {
            set(session, &|flags| flags.stopped.store(false, Ordering::Release));
        }
        GateAction::StopDelivery(session) => {
            set(session, &|flags| flags.stopped.store(true, Ordering::Release))
        }
        GateAction::BecomeAnonymous(session, _) => {
            set(session, &|flags| flags.demoted.store(true, Ordering::Release))
        }
        GateAction::CloseSession(session, _) => {
            set(session, &|flags| flags.ended.store(true, Ordering::Release))
        }
        GateAction::Created(..)
        | GateAction::RefuseActivation(..)
        | GateAction::Serve(_)
        | GateAction::Refuse(..)
        | GateAction::AskCutoffs(_)
        | GateAction::Note(_) => {}
    }
}
