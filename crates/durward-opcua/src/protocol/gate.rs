//! The gate: sessions, the tokens that they stand on, and what is known of recalled ones.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::StatusCode;

use crate::token::{
    Feed, FeedMessage, FeedOutcome, HasTokenFacts, RightEnd, RightKind, StalenessLimits, until,
};

/// A session: a number that is never given again, not after a restart either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GateSessionId(pub u32);

/// A secure channel. It keeps its number when its keys are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub u32);

/// The number of a server nonce within its session. The random bytes are kept by whoever runs the machine; a signature counts only with
/// the number of the bytes that it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NonceNumber(pub u32);

/// What a gate is set to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GateTimings {
    /// How long rights outlive the last word of the authorization service.
    pub reach: StalenessLimits,
    /// How far ahead of the gate's clock messages of the service may be dated.
    pub skew: Duration,
    /// The longest that a token lives.
    pub token_lifetime_max: Duration,
    /// How often cutoffs are asked for while some are missing.
    pub ask_interval: Duration,
    /// Whether a session whose token has ended goes on as an anonymous one (Part 6, 6.5.2.3). Otherwise it is closed.
    pub has_anonymous: bool,
}

/// The identity that a session is activated with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ActivationIdentity<T> {
    /// By a verified token.
    Token(T),
    /// Nobody.
    Anonymous,
}

/// What happens at a gate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GateEvent<T: HasTokenFacts> {
    /// A session was created over a channel with this client certificate.
    Create {
        /// The session.
        session: GateSessionId,
        /// The channel.
        channel: ChannelId,
        /// The client's certificate.
        client: T::Name,
    },
    /// An activation, of which signature and token were verified.
    Activate {
        /// The session.
        session: GateSessionId,
        /// The channel it came over.
        channel: ChannelId,
        /// The certificate of that channel.
        client: T::Name,
        /// The nonce that was signed.
        nonce: NonceNumber,
        /// Who it is to be.
        identity: ActivationIdentity<T>,
    },
    /// Whoever runs the gate has fetched the next token of the session's user, who cannot, and has verified it.
    Renew {
        /// The session.
        session: GateSessionId,
        /// The session's nonce since the user was taken: after another activation, nothing is renewed any more.
        nonce: NonceNumber,
        /// The token: of the same subject and client.
        token: T,
    },
    /// A request.
    Request {
        /// The session.
        session: GateSessionId,
        /// The channel it came over.
        channel: ChannelId,
        /// What it wants, at least.
        kind: RightKind,
    },
    /// The session has subscriptions, or has none any more.
    Subscribed {
        /// The session.
        session: GateSessionId,
        /// Whether it has.
        has: bool,
    },
    /// A channel is gone. Its sessions wait for another one.
    ChannelClosed(ChannelId),
    /// A session was closed, or was idle for too long.
    Close(GateSessionId),
    /// The authorization service can be asked, again.
    AuthorityConnected,
    /// It said something.
    Heard(FeedMessage<T::Name>),
    /// Time has passed. Comes at least once in each [`GateTimings::ask_interval`].
    Tick,
    /// The clock was set back to this moment. What stood on a token ends: it might live longer than it was given. All cutoffs are asked for anew:
    /// some may have been forgotten too early, and an answer says whether the clocks agree now.
    ClockSetBack,
}

/// What a gate does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GateAction {
    /// Answer CreateSession with this nonce.
    Created(GateSessionId, NonceNumber),
    /// Answer ActivateSession with a new nonce. What is asked from now on is asked in the name of the new identity.
    Activated(GateSessionId, NonceNumber),
    /// Refuse ActivateSession, or the renewal. What was in force stays in force, and the nonce stays.
    RefuseActivation(GateSessionId, GateRefusal),
    /// Hand the request on.
    Serve(GateSessionId),
    /// Refuse the request.
    Refuse(GateSessionId, GateRefusal),
    /// Rule on all monitored items again (Part 2, 6.20), and deliver what may be delivered: the user has changed.
    RecheckDelivery(GateSessionId),
    /// Deliver nothing any more, what waits in queues included.
    StopDelivery(GateSessionId),
    /// Deliver again.
    ResumeDelivery(GateSessionId),
    /// The session goes on as an anonymous one.
    BecomeAnonymous(GateSessionId, RightEnd),
    /// Close the session.
    CloseSession(GateSessionId, RightEnd),
    /// Ask the authorization service for all cutoffs, with the number of the question.
    AskCutoffs(u64),
    /// For log, audit and health.
    Note(GateNote),
}

/// What an operator should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateNote {
    /// A token has ended, and is served on.
    GraceBegan(GateSessionId),
    /// Cutoffs were lost on the way.
    CutoffsMissing,
    /// A message is dated further ahead than clocks may differ.
    ClocksDiffer,
}

/// Why a gate refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateRefusal {
    /// There is no such session.
    NoSession,
    /// It was not activated.
    NotActivated,
    /// It is bound to another channel.
    OtherChannel,
    /// The channel has another certificate than the session was created with, or the token is bound to another one.
    OtherClient,
    /// On another channel the user must stay the same (Part 4, 5.7.3).
    OtherUser,
    /// The nonce was used, or is not the last one.
    Nonce,
    /// Anonymous sessions are not allowed.
    Anonymous,
    /// The right has ended.
    Ended(RightEnd),
}

impl GateRefusal {
    /// What the client is told of a refused request.
    pub fn status(self) -> StatusCode {
        match self {
            GateRefusal::NoSession => StatusCode::BadSessionIdInvalid,
            GateRefusal::NotActivated => StatusCode::BadSessionNotActivated,
            GateRefusal::OtherChannel => StatusCode::BadSecureChannelIdInvalid,
            GateRefusal::OtherClient => StatusCode::BadSecurityChecksFailed,
            GateRefusal::OtherUser => StatusCode::BadIdentityChangeNotSupported,
            GateRefusal::Nonce => StatusCode::BadNonceInvalid,
            GateRefusal::Anonymous => StatusCode::BadIdentityTokenRejected,
            GateRefusal::Ended(_) => StatusCode::BadUserAccessDenied,
        }
    }

    /// What the client is told of a refused activation.
    pub fn activation_status(self) -> StatusCode {
        match self {
            GateRefusal::OtherClient | GateRefusal::Ended(_) => StatusCode::BadIdentityTokenRejected,
            GateRefusal::NoSession
            | GateRefusal::NotActivated
            | GateRefusal::OtherChannel
            | GateRefusal::OtherUser
            | GateRefusal::Nonce
            | GateRefusal::Anonymous => self.status(),
        }
    }
}

impl fmt::Display for GateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateRefusal::NoSession => {
                f.write_str("there is no such session: it was closed, or the gate was restarted")
            }
            GateRefusal::NotActivated => f.write_str("the session is not activated"),
            GateRefusal::OtherChannel => {
                f.write_str("the session is bound to another channel: activate it over this one")
            }
            GateRefusal::OtherClient => f.write_str("the certificate is not that of the session's client"),
            GateRefusal::OtherUser => f.write_str("over another channel the user must stay the same"),
            GateRefusal::Nonce => f.write_str("the nonce was used already: sign the last one"),
            GateRefusal::Anonymous => f.write_str("anonymous sessions are not allowed"),
            GateRefusal::Ended(ended) => ended.fmt(f),
        }
    }
}

/// What the rights of a session rest on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionStanding<T> {
    /// Created, not activated.
    Created,
    /// A token.
    Token(T),
    /// Nothing: whatever nobody in particular may do.
    Anonymous,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MachineSession<T: HasTokenFacts> {
    /// The channel it is bound to; `None` while it waits for another one.
    channel: Option<ChannelId>,
    client: T::Name,
    nonce: NonceNumber,
    standing: SessionStanding<T>,
    delivery: DeliveryState,
    is_in_grace: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum DeliveryState {
    /// No subscription.
    None,
    Running,
    Stopped,
}

/// A gate. Has a moment of its own that never goes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GateMachine<T: HasTokenFacts> {
    settings: GateTimings,
    now: Moment,
    sessions: BTreeMap<GateSessionId, MachineSession<T>>,
    feed: Feed<T::Name>,
    question: u64,
    /// When cutoffs may be asked for again.
    ask_from: Moment,
}

impl<T: HasTokenFacts> GateMachine<T> {
    /// A gate that was started just now: without sessions, and without any knowledge of cutoffs, so that no token counts yet. `question`
    /// is a number that no gate had before, not this one before it was restarted either: chance gives it.
    pub fn new(settings: GateTimings, question: u64) -> GateMachine<T> {
        let (sessions, feed) = (BTreeMap::new(), Feed::default());
        GateMachine {
            settings,
            now: Moment::default(),
            sessions,
            feed,
            question,
            ask_from: Moment::default(),
        }
    }

    /// What is known of cutoffs: publish it to [`RightsClock`](crate::token::RightsClock) when a step has changed it.
    pub fn feed(&self) -> &Feed<T::Name> {
        &self.feed
    }

    /// What a session stands on.
    pub fn standing(&self, session: GateSessionId) -> Option<&SessionStanding<T>> {
        self.sessions.get(&session).map(|session| &session.standing)
    }

    /// The number of the question that a first snapshot must answer.
    pub fn question(&self) -> u64 {
        self.question
    }

    /// The nonce that the next activation of a session must be signed over.
    pub fn nonce(&self, session: GateSessionId) -> Option<NonceNumber> {
        self.sessions.get(&session).map(|session| session.nonce)
    }

    /// Whether a request may be handed on: the session is there, is activated, came over its channel, and its right has not ended.
    ///
    /// # Errors
    /// It may not.
    pub fn admit(
        &self,
        now: Moment,
        session: GateSessionId,
        channel: ChannelId,
        kind: RightKind,
    ) -> Result<(), GateRefusal> {
        let session = self.sessions.get(&session).ok_or(GateRefusal::NoSession)?;
        if session.channel != Some(channel) {
            return Err(GateRefusal::OtherChannel);
        }
        match &session.standing {
            SessionStanding::Created => Err(GateRefusal::NotActivated),
            SessionStanding::Anonymous => Ok(()),
            SessionStanding::Token(token) => self.counts(now, token, kind).map_err(GateRefusal::Ended),
        }
    }

    fn counts(&self, now: Moment, token: &T, kind: RightKind) -> Result<(), RightEnd> {
        until(token.facts(), &self.feed, &self.settings.reach).of(kind).at(now.max(self.now))
    }

    /// Takes an event at a moment.
    pub fn step(&mut self, now: Moment, event: GateEvent<T>) -> Vec<GateAction> {
        let is_set_back = matches!(event, GateEvent::ClockSetBack);
        self.now = if is_set_back { now } else { now.max(self.now) };
        let mut actions = Vec::new();
        let touched = event.touches();
        match event {
            GateEvent::Create { session, channel, client } => {
                actions.push(self.create(session, channel, client));
            }
            GateEvent::Activate { session, channel, client, nonce, identity } => {
                match self.activate(session, channel, &client, nonce, identity) {
                    Ok(done) => actions.extend(done),
                    Err(refusal) => actions.push(GateAction::RefuseActivation(session, refusal)),
                }
            }
            GateEvent::Renew { session, nonce, token } => {
                if let Err(refusal) = self.renew(session, nonce, token, &mut actions) {
                    actions.push(GateAction::RefuseActivation(session, refusal));
                }
            }
            GateEvent::Request { session, channel, kind } => {
                actions.push(match self.admit(self.now, session, channel, kind) {
                    Ok(()) => GateAction::Serve(session),
                    Err(refusal) => GateAction::Refuse(session, refusal),
                });
            }
            GateEvent::Subscribed { session, has } => self.subscribe(session, has),
            GateEvent::ChannelClosed(channel) => self.close_channel(channel),
            GateEvent::Close(session) => {
                self.sessions.remove(&session);
            }
            GateEvent::AuthorityConnected => self.ask(&mut actions),
            GateEvent::ClockSetBack => {
                // Only what the service says from now on can tell whether the clocks agree: an answer to the question before may be an old one.
                self.question = self.question.wrapping_add(1);
                self.feed.doubt();
                self.ask_from = Moment::default();
            }
            GateEvent::Heard(message) => self.hear(message, &mut actions),
            GateEvent::Tick => {
                let lifetime_max =
                    self.settings.token_lifetime_max.saturating_add(self.settings.reach.grace_max());
                self.feed.forget(self.now, lifetime_max);
            }
        }
        self.ask_where_needed(&mut actions);
        self.review(touched, &mut actions);
        actions
    }

    fn create(&mut self, id: GateSessionId, channel: ChannelId, client: T::Name) -> GateAction {
        if self.sessions.contains_key(&id) {
            return GateAction::Refuse(id, GateRefusal::NoSession);
        }
        let session = MachineSession {
            channel: Some(channel),
            client,
            nonce: NonceNumber(0),
            standing: SessionStanding::Created,
            delivery: DeliveryState::None,
            is_in_grace: false,
        };
        self.sessions.insert(id, session);
        GateAction::Created(id, NonceNumber(0))
    }

    /// The order of the checks: session, certificate, channel, nonce, identity. Nothing changes unless all of them pass; then everything
    /// changes at once.
    fn activate(
        &mut self,
        id: GateSessionId,
        channel: ChannelId,
        client: &T::Name,
        nonce: NonceNumber,
        identity: ActivationIdentity<T>,
    ) -> Result<Vec<GateAction>, GateRefusal> {
        let session = self.sessions.get(&id).ok_or(GateRefusal::NoSession)?;
        if session.client != *client {
            return Err(GateRefusal::OtherClient);
        }
        if session.channel != Some(channel) {
            may_move(session, &identity)?;
        }
        if session.nonce != nonce {
            return Err(GateRefusal::Nonce);
        }
        let standing = self.accept(client, identity)?;
        let next = nonce.0.checked_add(1).map(NonceNumber).ok_or(GateRefusal::Nonce)?;
        let mut actions = vec![GateAction::Activated(id, next)];
        if let Some(session) = self.sessions.get_mut(&id) {
            (session.channel, session.nonce, session.standing) = (Some(channel), next, standing);
            session.is_in_grace = false;
            recheck(id, &mut session.delivery, &mut actions);
        }
        Ok(actions)
    }

    /// The session stays what it is but for its token.
    fn renew(
        &mut self,
        id: GateSessionId,
        nonce: NonceNumber,
        token: T,
        actions: &mut Vec<GateAction>,
    ) -> Result<(), GateRefusal> {
        let session = self.sessions.get(&id).ok_or(GateRefusal::NoSession)?;
        if session.nonce != nonce {
            return Err(GateRefusal::Nonce);
        }
        let SessionStanding::Token(before) = &session.standing else { return Err(GateRefusal::OtherUser) };
        if before.facts().subject != token.facts().subject {
            return Err(GateRefusal::OtherUser);
        }
        let standing = self.accept(&session.client, ActivationIdentity::Token(token))?;
        if let Some(session) = self.sessions.get_mut(&id) {
            (session.standing, session.is_in_grace) = (standing, false);
            recheck(id, &mut session.delivery, actions);
        }
        Ok(())
    }

    fn accept(
        &self,
        client: &T::Name,
        identity: ActivationIdentity<T>,
    ) -> Result<SessionStanding<T>, GateRefusal> {
        match identity {
            ActivationIdentity::Anonymous if self.settings.has_anonymous => Ok(SessionStanding::Anonymous),
            ActivationIdentity::Anonymous => Err(GateRefusal::Anonymous),
            ActivationIdentity::Token(token) if token.facts().client != *client => {
                Err(GateRefusal::OtherClient)
            }
            // Grace serves what was in force; it lets nothing in.
            ActivationIdentity::Token(token) if token.facts().expires <= self.now => {
                Err(GateRefusal::Ended(RightEnd::Expired))
            }
            ActivationIdentity::Token(token) => {
                let ended = |kind| self.counts(self.now, &token, kind).err();
                // Enough that one kind counts: the others are refused request by request.
                match RightKind::ALL.map(ended) {
                    [Some(ended), Some(_), Some(_)] => Err(GateRefusal::Ended(ended)),
                    _ => Ok(SessionStanding::Token(token)),
                }
            }
        }
    }

    fn subscribe(&mut self, session: GateSessionId, has: bool) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.delivery = match (has, session.delivery) {
                (false, _) => DeliveryState::None,
                (true, DeliveryState::None) => DeliveryState::Running,
                (true, delivery) => delivery,
            };
        }
    }

    fn close_channel(&mut self, channel: ChannelId) {
        for session in self.sessions.values_mut().filter(|session| session.channel == Some(channel)) {
            session.channel = None;
        }
    }

    fn hear(&mut self, message: FeedMessage<T::Name>, actions: &mut Vec<GateAction>) {
        let had_gap = self.feed.has_gap();
        match self.feed.hear(self.now, self.settings.skew, self.question, message) {
            FeedOutcome::FromTheFuture => actions.push(GateAction::Note(GateNote::ClocksDiffer)),
            FeedOutcome::News if self.feed.has_gap() && !had_gap => {
                actions.push(GateAction::Note(GateNote::CutoffsMissing));
            }
            FeedOutcome::News | FeedOutcome::Nothing => {}
        }
    }

    /// Asks for cutoffs where some may be missing: none were heard, there is a gap, or the service is silent.
    fn ask_where_needed(&mut self, actions: &mut Vec<GateAction>) {
        let is_silent = |complete: Moment| complete.plus(self.settings.reach.staleness_max) <= self.now;
        let is_needed = self.feed.has_gap() || self.feed.complete_until().is_none_or(is_silent);
        if is_needed && self.ask_from <= self.now {
            self.ask(actions);
        }
    }

    fn ask(&mut self, actions: &mut Vec<GateAction>) {
        self.ask_from = self.now.plus(self.settings.ask_interval);
        actions.push(GateAction::AskCutoffs(self.question));
    }

    /// Ends what has ended: by time, by a cutoff, or by silence.
    fn review(&mut self, touched: Touched, actions: &mut Vec<GateAction>) {
        let (now, settings, feed) = (self.now, &self.settings, &self.feed);
        match touched {
            Touched::AllForGood => {
                self.sessions
                    .retain(|id, session| session.end(*id, RightEnd::ClockSetBack, settings, actions));
            }
            Touched::All => {
                self.sessions.retain(|id, session| session.review(*id, now, settings, feed, actions));
            }
            Touched::One(id) => {
                let keep = |session: &mut MachineSession<T>| session.review(id, now, settings, feed, actions);
                if !self.sessions.get_mut(&id).is_none_or(keep) {
                    self.sessions.remove(&id);
                }
            }
            Touched::None => {}
        }
    }
}

/// Which sessions an event may bring to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touched {
    /// And each of them comes to it.
    AllForGood,
    All,
    One(GateSessionId),
    None,
}

impl<T: HasTokenFacts> GateEvent<T> {
    fn touches(&self) -> Touched {
        match self {
            GateEvent::Activate { session, .. }
            | GateEvent::Renew { session, .. }
            | GateEvent::Request { session, .. }
            | GateEvent::Subscribed { session, .. } => Touched::One(*session),
            GateEvent::Create { .. } | GateEvent::ChannelClosed(_) | GateEvent::Close(_) => Touched::None,
            GateEvent::AuthorityConnected | GateEvent::Heard(_) | GateEvent::Tick => Touched::All,
            GateEvent::ClockSetBack => Touched::AllForGood,
        }
    }
}

impl<T: HasTokenFacts> MachineSession<T> {
    /// Ends what has ended. Whether the session goes on.
    fn review(
        &mut self,
        id: GateSessionId,
        now: Moment,
        settings: &GateTimings,
        feed: &Feed<T::Name>,
        actions: &mut Vec<GateAction>,
    ) -> bool {
        let SessionStanding::Token(token) = &self.standing else { return true };
        let is_expired = token.facts().expires <= now;
        let until = until(token.facts(), feed, &settings.reach);
        let counts = RightKind::ALL.map(|kind| until.of(kind).at(now));
        if is_expired && !self.is_in_grace && counts.iter().any(Result::is_ok) {
            self.is_in_grace = true;
            actions.push(GateAction::Note(GateNote::GraceBegan(id)));
        }
        self.delivery = deliver(id, self.delivery, until.reading.at(now), actions);
        match for_good(counts, is_expired) {
            Some(ended) => self.end(id, ended, settings, actions),
            None => true,
        }
    }

    /// Its token has ended for good. Whether the session goes on without one.
    fn end(
        &mut self,
        id: GateSessionId,
        ended: RightEnd,
        settings: &GateTimings,
        actions: &mut Vec<GateAction>,
    ) -> bool {
        match self.standing {
            SessionStanding::Token(_) => {}
            SessionStanding::Created | SessionStanding::Anonymous => return true,
        }
        if settings.has_anonymous {
            self.standing = SessionStanding::Anonymous;
            actions.push(GateAction::BecomeAnonymous(id, ended));
            recheck(id, &mut self.delivery, actions);
        } else {
            actions.push(GateAction::CloseSession(id, ended));
        }
        settings.has_anonymous
    }
}

/// Whether a session may be activated over another channel: it was activated before, and its user stays.
fn may_move<T: HasTokenFacts>(
    session: &MachineSession<T>,
    identity: &ActivationIdentity<T>,
) -> Result<(), GateRefusal> {
    match (&session.standing, identity) {
        (SessionStanding::Created, _) => Err(GateRefusal::OtherChannel),
        (SessionStanding::Anonymous, ActivationIdentity::Anonymous) => Ok(()),
        (SessionStanding::Token(token), ActivationIdentity::Token(next))
            if token.facts().subject == next.facts().subject =>
        {
            Ok(())
        }
        (
            SessionStanding::Token(_) | SessionStanding::Anonymous,
            ActivationIdentity::Token(_) | ActivationIdentity::Anonymous,
        ) => Err(GateRefusal::OtherUser),
    }
}

/// Where there are subscriptions, has them ruled on in the name of the new user.
fn recheck(id: GateSessionId, delivery: &mut DeliveryState, actions: &mut Vec<GateAction>) {
    if *delivery != DeliveryState::None {
        *delivery = DeliveryState::Running;
        actions.push(GateAction::RecheckDelivery(id));
    }
}

/// Starts or stops delivery where the right to read begins or ends.
fn deliver(
    id: GateSessionId,
    delivery: DeliveryState,
    reading: Result<(), RightEnd>,
    actions: &mut Vec<GateAction>,
) -> DeliveryState {
    match (delivery, reading) {
        (DeliveryState::Running, Err(_)) => {
            actions.push(GateAction::StopDelivery(id));
            DeliveryState::Stopped
        }
        (DeliveryState::Stopped, Ok(())) => {
            actions.push(GateAction::ResumeDelivery(id));
            DeliveryState::Running
        }
        (DeliveryState::None, _) | (DeliveryState::Running, Ok(())) | (DeliveryState::Stopped, Err(_)) => {
            delivery
        }
    }
}

/// Why a session is at its end: nothing counts any more, and nothing can make it count again. Silence can end.
fn for_good(counts: [Result<(), RightEnd>; 3], is_expired: bool) -> Option<RightEnd> {
    if counts.iter().any(Result::is_ok) {
        return None;
    }
    let mut reasons = counts.into_iter().filter_map(Result::err);
    if reasons.any(|reason| reason == RightEnd::Recalled) {
        return Some(RightEnd::Recalled);
    }
    is_expired.then_some(RightEnd::Expired)
}
