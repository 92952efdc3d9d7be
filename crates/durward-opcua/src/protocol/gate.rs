//! The gate: sessions, the tokens that they stand on, and what is known of recalled ones.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::StatusCode;

use crate::token::{Bearer, Ended, Feed, FeedMessage, Heard, Kind, Reach, until};

/// A session: a number that is never given again, not after a restart either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u32);

/// A secure channel. It keeps its number when its keys are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub u32);

/// The number of a server nonce within its session. The random bytes are kept by whoever runs the machine; a signature counts only with
/// the number of the bytes that it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonce(pub u32);

/// What a gate is set to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GateSettings {
    /// How long rights outlive the last word of the authorization service.
    pub reach: Reach,
    /// How far ahead of the gate's clock messages of the service may be dated.
    pub skew: Duration,
    /// The longest that a token lives.
    pub token_lifetime_max: Duration,
    /// How often cutoffs are asked for while some are missing.
    pub ask_interval: Duration,
    /// Whether a session whose token has ended goes on as an anonymous one (Part 6, 6.5.2.3). Otherwise it is closed.
    pub has_anonymous: bool,
}

/// Who a session is activated as.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Identity<T> {
    /// By a verified token.
    Token(T),
    /// Nobody.
    Anonymous,
}

/// What happens at a gate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GateEvent<T: Bearer> {
    /// A session was created over a channel with this client certificate.
    Create {
        /// The session.
        session: SessionId,
        /// The channel.
        channel: ChannelId,
        /// The client's certificate.
        client: T::Name,
    },
    /// An activation, of which signature and token were verified.
    Activate {
        /// The session.
        session: SessionId,
        /// The channel it came over.
        channel: ChannelId,
        /// The certificate of that channel.
        client: T::Name,
        /// The nonce that was signed.
        nonce: Nonce,
        /// Who it is to be.
        identity: Identity<T>,
    },
    /// Whoever runs the gate has fetched the next token of the session's user, who cannot, and has verified it.
    Renew {
        /// The session.
        session: SessionId,
        /// The session's nonce since the user was taken: after another activation, nothing is renewed any more.
        nonce: Nonce,
        /// The token: of the same subject and client.
        token: T,
    },
    /// A request.
    Request {
        /// The session.
        session: SessionId,
        /// The channel it came over.
        channel: ChannelId,
        /// What it wants, at least.
        kind: Kind,
    },
    /// The session has subscriptions, or has none any more.
    Subscribed {
        /// The session.
        session: SessionId,
        /// Whether it has.
        has: bool,
    },
    /// A channel is gone. Its sessions wait for another one.
    ChannelClosed(ChannelId),
    /// A session was closed, or was idle for too long.
    Close(SessionId),
    /// The authorization service can be asked, again.
    AuthorityConnected,
    /// It said something.
    Heard(FeedMessage<T::Name>),
    /// Time has passed. Comes at least once in each [`GateSettings::ask_interval`].
    Tick,
    /// The clock was set back to this moment. What stood on a token ends: it might live longer than it was given. All cutoffs are asked for anew:
    /// some may have been forgotten too early, and an answer says whether the clocks agree now.
    ClockSetBack,
}

/// What a gate does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GateAction {
    /// Answer CreateSession with this nonce.
    Created(SessionId, Nonce),
    /// Answer ActivateSession with a new nonce. What is asked from now on is asked in the name of the new identity.
    Activated(SessionId, Nonce),
    /// Refuse ActivateSession, or the renewal. What was in force stays in force, and the nonce stays.
    RefuseActivation(SessionId, Refusal),
    /// Hand the request on.
    Serve(SessionId),
    /// Refuse the request.
    Refuse(SessionId, Refusal),
    /// Rule on all monitored items again (Part 2, 6.20), and deliver what may be delivered: the user has changed.
    RecheckDelivery(SessionId),
    /// Deliver nothing any more, what waits in queues included.
    StopDelivery(SessionId),
    /// Deliver again.
    ResumeDelivery(SessionId),
    /// The session goes on as an anonymous one.
    BecomeAnonymous(SessionId, Ended),
    /// Close the session.
    CloseSession(SessionId, Ended),
    /// Ask the authorization service for all cutoffs, with the number of the question.
    AskCutoffs(u64),
    /// For log, audit and health.
    Note(GateNote),
}

/// What an operator should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateNote {
    /// A token has ended, and is served on.
    GraceBegan(SessionId),
    /// Cutoffs were lost on the way.
    CutoffsMissing,
    /// A message is dated further ahead than clocks may differ.
    ClocksDiffer,
}

/// Why a gate refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
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
    Ended(Ended),
}

impl Refusal {
    /// What the client is told of a refused request.
    pub fn status(self) -> StatusCode {
        match self {
            Refusal::NoSession => StatusCode::BadSessionIdInvalid,
            Refusal::NotActivated => StatusCode::BadSessionNotActivated,
            Refusal::OtherChannel => StatusCode::BadSecureChannelIdInvalid,
            Refusal::OtherClient => StatusCode::BadSecurityChecksFailed,
            Refusal::OtherUser => StatusCode::BadIdentityChangeNotSupported,
            Refusal::Nonce => StatusCode::BadNonceInvalid,
            Refusal::Anonymous => StatusCode::BadIdentityTokenRejected,
            Refusal::Ended(_) => StatusCode::BadUserAccessDenied,
        }
    }

    /// What the client is told of a refused activation.
    pub fn activation_status(self) -> StatusCode {
        match self {
            Refusal::OtherClient | Refusal::Ended(_) => StatusCode::BadIdentityTokenRejected,
            Refusal::NoSession
            | Refusal::NotActivated
            | Refusal::OtherChannel
            | Refusal::OtherUser
            | Refusal::Nonce
            | Refusal::Anonymous => self.status(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoSession => {
                f.write_str("there is no such session: it was closed, or the gate was restarted")
            }
            Refusal::NotActivated => f.write_str("the session is not activated"),
            Refusal::OtherChannel => {
                f.write_str("the session is bound to another channel: activate it over this one")
            }
            Refusal::OtherClient => f.write_str("the certificate is not that of the session's client"),
            Refusal::OtherUser => f.write_str("over another channel the user must stay the same"),
            Refusal::Nonce => f.write_str("the nonce was used already: sign the last one"),
            Refusal::Anonymous => f.write_str("anonymous sessions are not allowed"),
            Refusal::Ended(ended) => ended.fmt(f),
        }
    }
}

/// What a session stands on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Standing<T> {
    /// Created, not activated.
    Created,
    /// A token.
    Token(T),
    /// Nothing: whatever nobody in particular may do.
    Anonymous,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Session<T: Bearer> {
    /// The channel it is bound to; `None` while it waits for another one.
    channel: Option<ChannelId>,
    client: T::Name,
    nonce: Nonce,
    standing: Standing<T>,
    delivery: Delivery,
    is_in_grace: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Delivery {
    /// No subscription.
    None,
    Running,
    Stopped,
}

/// A gate. Has a moment of its own that never goes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gate<T: Bearer> {
    settings: GateSettings,
    now: Moment,
    sessions: BTreeMap<SessionId, Session<T>>,
    feed: Feed<T::Name>,
    question: u64,
    /// When cutoffs may be asked for again.
    ask_from: Moment,
}

impl<T: Bearer> Gate<T> {
    /// A gate that was started just now: without sessions, and without any knowledge of cutoffs, so that no token counts yet. `question`
    /// is a number that no gate had before, not this one before it was restarted either: chance gives it.
    pub fn new(settings: GateSettings, question: u64) -> Gate<T> {
        let (sessions, feed) = (BTreeMap::new(), Feed::default());
        Gate { settings, now: Moment::default(), sessions, feed, question, ask_from: Moment::default() }
    }

    /// What is known of cutoffs: publish it to [`Watch`](crate::token::Watch) when a step has changed it.
    pub fn feed(&self) -> &Feed<T::Name> {
        &self.feed
    }

    /// What a session stands on.
    pub fn standing(&self, session: SessionId) -> Option<&Standing<T>> {
        self.sessions.get(&session).map(|session| &session.standing)
    }

    /// The number of the question that a first snapshot must answer.
    pub fn question(&self) -> u64 {
        self.question
    }

    /// The nonce that the next activation of a session must be signed over.
    pub fn nonce(&self, session: SessionId) -> Option<Nonce> {
        self.sessions.get(&session).map(|session| session.nonce)
    }

    /// Whether a request may be handed on: the session is there, is activated, came over its channel, and its right has not ended.
    ///
    /// # Errors
    /// It may not.
    pub fn admit(
        &self,
        now: Moment,
        session: SessionId,
        channel: ChannelId,
        kind: Kind,
    ) -> Result<(), Refusal> {
        let session = self.sessions.get(&session).ok_or(Refusal::NoSession)?;
        if session.channel != Some(channel) {
            return Err(Refusal::OtherChannel);
        }
        match &session.standing {
            Standing::Created => Err(Refusal::NotActivated),
            Standing::Anonymous => Ok(()),
            Standing::Token(token) => self.counts(now, token, kind).map_err(Refusal::Ended),
        }
    }

    fn counts(&self, now: Moment, token: &T, kind: Kind) -> Result<(), Ended> {
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

    fn create(&mut self, id: SessionId, channel: ChannelId, client: T::Name) -> GateAction {
        if self.sessions.contains_key(&id) {
            return GateAction::Refuse(id, Refusal::NoSession);
        }
        let session = Session {
            channel: Some(channel),
            client,
            nonce: Nonce(0),
            standing: Standing::Created,
            delivery: Delivery::None,
            is_in_grace: false,
        };
        self.sessions.insert(id, session);
        GateAction::Created(id, Nonce(0))
    }

    /// The order of the checks: session, certificate, channel, nonce, identity. Nothing changes unless all of them pass; then everything
    /// changes at once.
    fn activate(
        &mut self,
        id: SessionId,
        channel: ChannelId,
        client: &T::Name,
        nonce: Nonce,
        identity: Identity<T>,
    ) -> Result<Vec<GateAction>, Refusal> {
        let session = self.sessions.get(&id).ok_or(Refusal::NoSession)?;
        if session.client != *client {
            return Err(Refusal::OtherClient);
        }
        if session.channel != Some(channel) {
            may_move(session, &identity)?;
        }
        if session.nonce != nonce {
            return Err(Refusal::Nonce);
        }
        let standing = self.accept(client, identity)?;
        let next = nonce.0.checked_add(1).map(Nonce).ok_or(Refusal::Nonce)?;
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
        id: SessionId,
        nonce: Nonce,
        token: T,
        actions: &mut Vec<GateAction>,
    ) -> Result<(), Refusal> {
        let session = self.sessions.get(&id).ok_or(Refusal::NoSession)?;
        if session.nonce != nonce {
            return Err(Refusal::Nonce);
        }
        let Standing::Token(before) = &session.standing else { return Err(Refusal::OtherUser) };
        if before.facts().subject != token.facts().subject {
            return Err(Refusal::OtherUser);
        }
        let standing = self.accept(&session.client, Identity::Token(token))?;
        if let Some(session) = self.sessions.get_mut(&id) {
            (session.standing, session.is_in_grace) = (standing, false);
            recheck(id, &mut session.delivery, actions);
        }
        Ok(())
    }

    fn accept(&self, client: &T::Name, identity: Identity<T>) -> Result<Standing<T>, Refusal> {
        match identity {
            Identity::Anonymous if self.settings.has_anonymous => Ok(Standing::Anonymous),
            Identity::Anonymous => Err(Refusal::Anonymous),
            Identity::Token(token) if token.facts().client != *client => Err(Refusal::OtherClient),
            // Grace serves what was in force; it lets nothing in.
            Identity::Token(token) if token.facts().expires <= self.now => {
                Err(Refusal::Ended(Ended::Expired))
            }
            Identity::Token(token) => {
                let ended = |kind| self.counts(self.now, &token, kind).err();
                // Enough that one kind counts: the others are refused request by request.
                match Kind::ALL.map(ended) {
                    [Some(ended), Some(_), Some(_)] => Err(Refusal::Ended(ended)),
                    _ => Ok(Standing::Token(token)),
                }
            }
        }
    }

    fn subscribe(&mut self, session: SessionId, has: bool) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.delivery = match (has, session.delivery) {
                (false, _) => Delivery::None,
                (true, Delivery::None) => Delivery::Running,
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
            Heard::FromTheFuture => actions.push(GateAction::Note(GateNote::ClocksDiffer)),
            Heard::News if self.feed.has_gap() && !had_gap => {
                actions.push(GateAction::Note(GateNote::CutoffsMissing));
            }
            Heard::News | Heard::Nothing => {}
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
                self.sessions.retain(|id, session| session.end(*id, Ended::ClockSetBack, settings, actions));
            }
            Touched::All => {
                self.sessions.retain(|id, session| session.review(*id, now, settings, feed, actions));
            }
            Touched::One(id) => {
                let keep = |session: &mut Session<T>| session.review(id, now, settings, feed, actions);
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
    One(SessionId),
    None,
}

impl<T: Bearer> GateEvent<T> {
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

impl<T: Bearer> Session<T> {
    /// Ends what has ended. Whether the session goes on.
    fn review(
        &mut self,
        id: SessionId,
        now: Moment,
        settings: &GateSettings,
        feed: &Feed<T::Name>,
        actions: &mut Vec<GateAction>,
    ) -> bool {
        let Standing::Token(token) = &self.standing else { return true };
        let is_expired = token.facts().expires <= now;
        let until = until(token.facts(), feed, &settings.reach);
        let counts = Kind::ALL.map(|kind| until.of(kind).at(now));
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
        id: SessionId,
        ended: Ended,
        settings: &GateSettings,
        actions: &mut Vec<GateAction>,
    ) -> bool {
        match self.standing {
            Standing::Token(_) => {}
            Standing::Created | Standing::Anonymous => return true,
        }
        if settings.has_anonymous {
            self.standing = Standing::Anonymous;
            actions.push(GateAction::BecomeAnonymous(id, ended));
            recheck(id, &mut self.delivery, actions);
        } else {
            actions.push(GateAction::CloseSession(id, ended));
        }
        settings.has_anonymous
    }
}

/// Whether a session may be activated over another channel: it was activated before, and its user stays.
fn may_move<T: Bearer>(session: &Session<T>, identity: &Identity<T>) -> Result<(), Refusal> {
    match (&session.standing, identity) {
        (Standing::Created, _) => Err(Refusal::OtherChannel),
        (Standing::Anonymous, Identity::Anonymous) => Ok(()),
        (Standing::Token(token), Identity::Token(next)) if token.facts().subject == next.facts().subject => {
            Ok(())
        }
        (Standing::Token(_) | Standing::Anonymous, Identity::Token(_) | Identity::Anonymous) => {
            Err(Refusal::OtherUser)
        }
    }
}

/// Where there are subscriptions, has them ruled on in the name of the new user.
fn recheck(id: SessionId, delivery: &mut Delivery, actions: &mut Vec<GateAction>) {
    if *delivery != Delivery::None {
        *delivery = Delivery::Running;
        actions.push(GateAction::RecheckDelivery(id));
    }
}

/// Starts or stops delivery where the right to read begins or ends.
fn deliver(
    id: SessionId,
    delivery: Delivery,
    reading: Result<(), Ended>,
    actions: &mut Vec<GateAction>,
) -> Delivery {
    match (delivery, reading) {
        (Delivery::Running, Err(_)) => {
            actions.push(GateAction::StopDelivery(id));
            Delivery::Stopped
        }
        (Delivery::Stopped, Ok(())) => {
            actions.push(GateAction::ResumeDelivery(id));
            Delivery::Running
        }
        (Delivery::None, _) | (Delivery::Running, Ok(())) | (Delivery::Stopped, Err(_)) => delivery,
    }
}

/// Why a session is at its end: nothing counts any more, and nothing can make it count again. Silence can end.
fn for_good(counts: [Result<(), Ended>; 3], is_expired: bool) -> Option<Ended> {
    if counts.iter().any(Result::is_ok) {
        return None;
    }
    let mut reasons = counts.into_iter().filter_map(Result::err);
    if reasons.any(|reason| reason == Ended::Recalled) {
        return Some(Ended::Recalled);
    }
    is_expired.then_some(Ended::Expired)
}
