//! The world: one gate, one authorization service, one client, a thief, and a network.

use std::collections::BTreeSet;
use std::time::Duration;

use durward_identity::Moment;
use durward_opcua::protocol::{
    ActivationIdentity, AuthorityAction, AuthorityEvent, AuthorityMachine, AuthorityRecord, AuthorityTimings,
    ChannelId, ClientAction, ClientEvent, ClientMachine, ClientTimings, ClockJump, DisciplinedClock,
    GateAction, GateEvent, GateMachine, GateRefusal, GateSessionId, GateTimings, NonceNumber, TokenApplicant,
};
use durward_opcua::token::{CutoffTarget, FeedMessage, PerRightKind, RightEnd, RightKind, StalenessLimits};

use super::missing::Mutant;
use super::truth::{Broken, Recall, Seen, Token, Truth};

pub(crate) const SUBJECT: u8 = 1;
const CLIENT: u8 = 1;
pub(super) const THIEF: u8 = 2;
const POLICY: u8 = 7;
pub(crate) const STALENESS: u8 = 1;
const LIFETIME: u8 = 4;
/// How far two clocks differ at most.
pub(crate) const DRIFT: u8 = 1;
const NEW_CHANNEL: u32 = 50;
const THIEVES_SESSION: GateSessionId = GateSessionId(100);

/// How large the world is.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) until: u8,
    pub(crate) recalls: u8,
    pub(crate) grants_again: u8,
    pub(crate) gate_restarts: u8,
    pub(crate) authority_restarts: u8,
    pub(crate) client_restarts: u8,
    pub(crate) new_channels: u8,
    pub(crate) repeats: u8,
    pub(crate) thefts: u8,
    pub(crate) sessions: u32,
    pub(crate) messages: usize,
    /// Gate ahead, authorization service ahead.
    pub(crate) drifts: Vec<(u8, u8)>,
    /// How often the gate's wall clock is set, and to how far ahead of where it was at first.
    pub(crate) clock_settings: u8,
    pub(crate) clock_ahead: Vec<i64>,
    pub(crate) hold: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) has_anonymous: bool,
    pub(crate) kinds: Vec<RightKind>,
}

/// The model.
#[derive(Clone, Debug)]
pub(crate) struct Plant {
    pub(crate) bounds: Bounds,
    pub(crate) mutant: Option<Mutant>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
/// What is under way. Questions of the client and answers to it come through at once: that they are late or lost it learns from what is
/// late or lost here, and what it does then is the same.
pub(crate) enum Message {
    Decided { ticket: u64, is_granted: bool, recalls_before: usize },
    Activate { session: GateSessionId, channel: ChannelId, nonce: NonceNumber, token: Token },
    Request { session: GateSessionId, channel: ChannelId, kind: RightKind },
    Feed(FeedMessage<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Pass,
    Deliver(Message),
    /// Delivered, and still under way.
    Repeat(Message),
    Send(RightKind),
    Recall,
    GrantAgain,
    RestartGate,
    RestartAuthority,
    RestartClient,
    NewChannel,
    Theft,
    SetClock(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Spent {
    recalls: u8,
    grants_again: u8,
    pub(super) gate_restarts: u8,
    authority_restarts: u8,
    client_restarts: u8,
    new_channels: u8,
    repeats: u8,
    thefts: u8,
    pub(super) clock_settings: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) now: u8,
    gate_ahead: u8,
    /// How far the gate's wall clock is wrong beside that, and the clock that it goes by.
    pub(super) gate_wrong: i64,
    gate_clock: DisciplinedClock,
    authority_ahead: u8,
    pub(crate) gate: GateMachine<Token>,
    pub(crate) authority: AuthorityMachine<u8, u32>,
    pub(super) store: Vec<AuthorityRecord<u8>>,
    pub(crate) client: ClientMachine<Token>,
    pub(crate) network: BTreeSet<Message>,
    is_granted: bool,
    /// The client's last request, and the service's last question.
    requests: u32,
    last_ticket: u64,
    /// The client's session and channel at the gate; both are numbered on.
    session: u32,
    channel: u32,
    pub(super) spent: Spent,
    pub(crate) truth: Truth,
}

fn seconds(count: u8) -> Duration {
    Duration::from_secs(count.into())
}

impl Plant {
    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn gate(&self, question: u64) -> GateMachine<Token> {
        let grace = if self.is(Mutant::GraceUnbounded) { seconds(200) } else { self.bounds.grace };
        let hold = PerRightKind::all(self.bounds.hold);
        let grace = PerRightKind { reading: grace, ..PerRightKind::all(Duration::ZERO) };
        let reach = StalenessLimits { staleness_max: seconds(STALENESS), hold, grace };
        let settings = GateTimings {
            reach,
            skew: seconds(DRIFT),
            token_lifetime_max: seconds(LIFETIME),
            ask_interval: seconds(1),
            has_anonymous: self.bounds.has_anonymous,
        };
        GateMachine::new(settings, question)
    }

    fn authority_settings(&self) -> AuthorityTimings {
        AuthorityTimings {
            token_lifetime: seconds(LIFETIME),
            cutoff_lifetime: seconds(LIFETIME) + self.bounds.grace,
            heartbeat_interval: seconds(1),
            dated_ahead_max: seconds(0),
        }
    }

    fn client(&self) -> ClientMachine<Token> {
        let settings = ClientTimings { patience: seconds(2), retry_min: seconds(1), retry_max: seconds(2) };
        ClientMachine::new(settings)
    }

    pub(crate) fn begin(&self, gate_ahead: u8, authority_ahead: u8) -> World {
        let started = Moment::from_s(u32::from(authority_ahead));
        let (authority, actions) = AuthorityMachine::new::<()>(self.authority_settings(), started);
        let mut world = World {
            now: 10,
            gate_ahead,
            gate_wrong: 0,
            gate_clock: DisciplinedClock::new(Moment::from_s(u32::from(10 + gate_ahead)), seconds(10)),
            authority_ahead,
            gate: self.gate(0),
            authority,
            store: Vec::new(),
            client: self.client(),
            network: BTreeSet::new(),
            is_granted: true,
            requests: 0,
            last_ticket: 0,
            session: 0,
            channel: 0,
            spent: Spent::default(),
            truth: Truth::default(),
        };
        self.authority_acts(&mut world, actions);
        world.network.clear();
        self.tell_gate(&mut world, GateEvent::AuthorityConnected);
        self.tell_client(&mut world, ClientEvent::Tick);
        world
    }

    pub(crate) fn possible(&self, world: &World, acts: &mut Vec<Act>) {
        let (bounds, spent) = (&self.bounds, &world.spent);
        if world.now >= 10 + bounds.until {
            return;
        }
        acts.push(Act::Pass);
        for message in &world.network {
            acts.push(Act::Deliver(message.clone()));
            if spent.repeats < bounds.repeats {
                acts.push(Act::Repeat(message.clone()));
            }
        }
        if world.client.is_active() {
            acts.extend(bounds.kinds.iter().map(|kind| Act::Send(*kind)));
        }
        for (is_left, act) in [
            (spent.recalls < bounds.recalls, Act::Recall),
            (spent.grants_again < bounds.grants_again && !world.is_granted, Act::GrantAgain),
            (spent.gate_restarts < bounds.gate_restarts, Act::RestartGate),
            (spent.authority_restarts < bounds.authority_restarts, Act::RestartAuthority),
            (spent.client_restarts < bounds.client_restarts, Act::RestartClient),
            (spent.new_channels < bounds.new_channels && world.client.is_active(), Act::NewChannel),
            (spent.thefts < bounds.thefts && world.stolen().is_some(), Act::Theft),
        ] {
            if is_left {
                acts.push(act);
            }
        }
        if spent.clock_settings < bounds.clock_settings {
            let others = bounds.clock_ahead.iter().filter(|ahead| **ahead != world.gate_wrong);
            acts.extend(others.map(|ahead| Act::SetClock(*ahead)));
        }
    }

    pub(crate) fn act(&self, before: &World, act: Act) -> World {
        let mut world = before.clone();
        world.truth.seen.clear();
        match act {
            Act::Pass => self.pass(&mut world),
            Act::Deliver(message) => {
                world.network.remove(&message);
                self.deliver(&mut world, message);
            }
            Act::Repeat(message) => {
                world.spent.repeats += 1;
                self.deliver(&mut world, message);
            }
            Act::Send(kind) => {
                let (session, channel) = (GateSessionId(world.session), ChannelId(world.channel));
                world.send(Message::Request { session, channel, kind }, &self.bounds);
            }
            Act::Recall => self.recall(&mut world),
            Act::GrantAgain => {
                world.spent.grants_again += 1;
                world.is_granted = true;
            }
            Act::RestartGate => {
                world.spent.gate_restarts += 1;
                world.truth.sessions.clear();
                world.truth.delivering.clear();
                world.truth.has_gate_restarted = true;
                world.gate = self.gate(u64::from(world.spent.gate_restarts));
                self.tell_gate(&mut world, GateEvent::AuthorityConnected);
            }
            Act::RestartAuthority => self.restart_authority(&mut world),
            Act::RestartClient => {
                world.spent.client_restarts += 1;
                world.client = self.client();
                self.tell_client(&mut world, ClientEvent::Tick);
            }
            Act::NewChannel => {
                world.spent.new_channels += 1;
                self.tell_gate(&mut world, GateEvent::ChannelClosed(ChannelId(before.channel)));
                world.channel = world.channel.max(world.session) + NEW_CHANNEL;
                self.tell_client(&mut world, ClientEvent::ChannelReplaced);
            }
            Act::Theft => self.steal(&mut world),
            Act::SetClock(ahead) => {
                world.spent.clock_settings += 1;
                world.gate_wrong = ahead;
                self.tell_gate(&mut world, GateEvent::Tick);
            }
        }
        world
    }

    fn pass(&self, world: &mut World) {
        world.now += 1;
        self.tell_gate(world, GateEvent::Tick);
        let actions = world.authority.step::<()>(world.authority_now(), AuthorityEvent::Tick);
        self.authority_acts(world, actions);
        self.tell_client(world, ClientEvent::Tick);
    }

    fn restart_authority(&self, world: &mut World) {
        world.spent.authority_restarts += 1;
        world.truth.has_authority_restarted = true;
        // The decision point was part of it.
        world.network.retain(|message| !matches!(message, Message::Decided { .. }));
        // Its clock goes back as far as it can.
        world.authority_ahead = 0;
        let restored = AuthorityMachine::restore(self.authority_settings(), world.store.clone());
        world.authority = restored.expect("the store begins with an epoch");
        self.tell_client(world, ClientEvent::AuthorityDown);
        self.tell_gate(world, GateEvent::AuthorityConnected);
    }

    /// The right is taken away first; then tokens are recalled.
    fn recall(&self, world: &mut World) {
        world.spent.recalls += 1;
        world.is_granted = false;
        let event = AuthorityEvent::Recall(CutoffTarget::Subject(SUBJECT));
        let actions = world.authority.step::<()>(world.authority_now(), event);
        let (at, sequence) = (world.now, world.authority.sequence());
        world.truth.recalls.push(Recall { at, sequence, is_heard: false });
        self.authority_acts(world, actions);
    }

    /// The thief has a session, a token that was under way, and the victim's session and nonce.
    fn steal(&self, world: &mut World) {
        world.spent.thefts += 1;
        let Some(token) = world.stolen() else { return };
        let (session, channel) = (THIEVES_SESSION, ChannelId(100));
        self.tell_gate_as(world, GateEvent::Create { session, channel, client: THIEF }, true);
        world.truth.sessions.insert(session, (None, THIEF));
        for session in [THIEVES_SESSION, GateSessionId(world.session)] {
            let Some(nonce) = world.gate.nonce(session) else { continue };
            self.activate(world, (session, channel), THIEF, nonce, token.clone());
            let kind = RightKind::Reading;
            self.tell_gate_as(world, GateEvent::Request { session, channel, kind }, true);
        }
        // It leaves: what it came to is in the truth.
        self.tell_gate_as(world, GateEvent::Close(THIEVES_SESSION), true);
        world.truth.sessions.remove(&THIEVES_SESSION);
    }

    fn deliver(&self, world: &mut World, message: Message) {
        match message {
            Message::Decided { ticket, is_granted, recalls_before } => {
                let mut ticket = if self.is(Mutant::TicketUnchecked) { world.last_ticket } else { ticket };
                if self.is(Mutant::DatedWhenSigned) {
                    // As if its decision were begun only now, with the answer of then.
                    let wanted = TokenApplicant { subject: SUBJECT, session: None, client: CLIENT };
                    let event = AuthorityEvent::Ask { request: world.requests, wanted };
                    for action in world.authority.step::<()>(world.authority_now(), event) {
                        if let AuthorityAction::Decide { ticket: anew, .. } = action {
                            ticket = anew;
                        }
                    }
                }
                let event = AuthorityEvent::Decided { ticket, granted_by: is_granted.then_some(POLICY) };
                let actions = world.authority.step::<()>(world.authority_now(), event);
                self.answer(world, actions, is_granted, recalls_before);
            }
            Message::Activate { session, channel, nonce, token } => {
                self.activate(world, (session, channel), CLIENT, nonce, token);
            }
            Message::Request { session, channel, kind } => {
                self.tell_gate(world, GateEvent::Request { session, channel, kind });
            }
            Message::Feed(message) => {
                world.note_feed(&message);
                let message = self.change_feed(world, message);
                self.tell_gate(world, GateEvent::Heard(message));
            }
        }
    }

    /// An activation reaches the gate, of which whoever runs the gate has verified signature and token.
    fn activate(
        &self,
        world: &mut World,
        (session, channel): (GateSessionId, ChannelId),
        client: u8,
        nonce: NonceNumber,
        mut token: Token,
    ) {
        let truly = token.clone();
        let is_again = world.gate.nonce(session).is_some_and(|nonce| nonce > NonceNumber(0));
        let mut nonce_shown = nonce;
        let mut client_shown = client;
        let forever = Moment::from_s(1_000);
        if self.is(Mutant::ExpiryOnlyAtActivation) && token.facts.expires > world.gate_now() {
            token.facts.expires = forever;
        }
        if self.is(Mutant::CutoffForgottenAtReactivation) && is_again {
            token.facts.issued = forever;
        }
        if self.is(Mutant::BindingUnchecked) {
            (client_shown, token.facts.client) = (client, client);
        }
        if self.is(Mutant::NonceReused) {
            nonce_shown = world.gate.nonce(session).unwrap_or(nonce);
        }
        let identity = ActivationIdentity::Token(token);
        let event =
            GateEvent::Activate { session, channel, client: client_shown, nonce: nonce_shown, identity };
        let actions = self.step_gate(world, event);
        for action in &actions {
            match action {
                GateAction::Activated(..) => {
                    if channel.0 > NEW_CHANNEL {
                        world.truth.seen.insert(Seen::Moved);
                    }
                    world.note_activation(session, client, nonce, nonce_shown, &truly);
                }
                GateAction::RefuseActivation(_, refusal) => world.note_refused_activation(client, *refusal),
                _ => {}
            }
        }
        self.gate_acts(world, actions, client == THIEF);
    }

    pub(crate) fn tell_gate(&self, world: &mut World, event: GateEvent<Token>) {
        self.tell_gate_as(world, event, false);
    }

    /// As whoever runs a gate does.
    fn step_gate(&self, world: &mut World, event: GateEvent<Token>) -> Vec<GateAction> {
        let jump = world.gate_clock.read(world.gate_wall(), seconds(world.now));
        let now = self.change_moment(world);
        let mut actions = Vec::new();
        let is_said = !self.is(Mutant::ClockSetBackUnsaid) && !self.is(Mutant::ClockOnlyForward);
        if matches!(jump, Some(ClockJump::Back(_))) && is_said {
            actions = world.gate.step(now, GateEvent::ClockSetBack);
        }
        actions.extend(world.gate.step(now, event));
        actions
    }

    fn tell_gate_as(&self, world: &mut World, event: GateEvent<Token>, is_thief: bool) {
        let served_as = match &event {
            GateEvent::Request { session, kind, .. } => Some((*session, *kind)),
            _ => None,
        };
        let actions = self.step_gate(world, event);
        for action in &actions {
            match (action, served_as) {
                (GateAction::Serve(_), Some((session, kind))) => {
                    world.note_served(&self.bounds, session, kind);
                }
                (GateAction::Refuse(_, refusal), Some(_)) => world.note_refused(*refusal),
                _ => {}
            }
        }
        self.gate_acts(world, actions, is_thief);
    }

    fn gate_acts(&self, world: &mut World, actions: Vec<GateAction>, is_thief: bool) {
        for action in actions {
            match action {
                GateAction::Activated(session, nonce) if !is_thief => {
                    world.truth.delivering.insert(session);
                    self.step_gate(world, GateEvent::Subscribed { session, has: true });
                    if session.0 == world.session {
                        self.tell_client(world, ClientEvent::Activated { nonce });
                    }
                }
                // A repeated one is refused where the first one was accepted: the client waits for no answer then.
                GateAction::RefuseActivation(session, refusal)
                    if !is_thief && session.0 == world.session && refusal != GateRefusal::Nonce =>
                {
                    self.tell_client(world, ClientEvent::ActivationRefused);
                }
                GateAction::Refuse(session, refusal) if session.0 == world.session && !is_thief => {
                    let event = match refusal {
                        GateRefusal::Ended(_) => ClientEvent::RightEnded,
                        _ => ClientEvent::SessionDown,
                    };
                    self.tell_client(world, event);
                }
                GateAction::StopDelivery(session) => {
                    world.truth.delivering.remove(&session);
                    world.truth.seen.insert(Seen::DeliveryStopped);
                }
                GateAction::ResumeDelivery(session) | GateAction::RecheckDelivery(session) => {
                    world.truth.delivering.insert(session);
                }
                GateAction::BecomeAnonymous(session, _) => {
                    world.truth.sessions.remove(&session);
                    world.truth.delivering.remove(&session);
                    world.truth.seen.insert(Seen::BecameAnonymous);
                }
                GateAction::CloseSession(session, ended) => {
                    world.truth.sessions.remove(&session);
                    world.truth.delivering.remove(&session);
                    if ended == RightEnd::Recalled {
                        world.truth.seen.insert(Seen::RefusedRecalled);
                    }
                }
                GateAction::AskCutoffs(question) => {
                    let event = AuthorityEvent::AskCutoffs { gate: (), question };
                    let actions = world.authority.step(world.authority_now(), event);
                    self.authority_acts(world, actions);
                }
                _ => {}
            }
        }
        for session in world.truth.delivering.clone() {
            world.note_served(&self.bounds, session, RightKind::Reading);
        }
    }

    fn authority_acts(&self, world: &mut World, actions: Vec<AuthorityAction<u8, u32, ()>>) {
        let (is_granted, recalls_before) = (world.is_granted, world.truth.recalls.len());
        self.answer(world, actions, is_granted, recalls_before);
    }

    /// Carries actions out; tokens among them were decided as said.
    fn answer(
        &self,
        world: &mut World,
        actions: Vec<AuthorityAction<u8, u32, ()>>,
        is_granted: bool,
        recalls_before: usize,
    ) {
        for action in actions {
            match action {
                AuthorityAction::Store(record) => self.store(world, record),
                // The decision point answers at once; the answer is under way for as long as may be.
                AuthorityAction::Decide { ticket, .. } => {
                    world.last_ticket = ticket;
                    let (is_granted, recalls_before) = (world.is_granted, world.truth.recalls.len());
                    world.send(Message::Decided { ticket, is_granted, recalls_before }, &self.bounds);
                }
                AuthorityAction::Issue { request, facts } => {
                    let facts = self.change_date(world, facts);
                    if recalls_before == world.truth.recalls.len() && facts.issued < world.last_cutoff() {
                        world.truth.broken.insert(Broken::IssuedDead);
                    }
                    let token = Token { facts, recalls_before, is_granted };
                    let (lifetime, renew_percent) = (seconds(LIFETIME), 75);
                    let event = ClientEvent::TokenGiven { request, token, lifetime, renew_percent };
                    self.tell_client(world, event);
                }
                AuthorityAction::Refuse { request, .. } => {
                    world.truth.seen.insert(Seen::Denied);
                    self.tell_client(world, ClientEvent::TokenDenied { request });
                }
                AuthorityAction::Publish(message) | AuthorityAction::Answer((), message) => {
                    world.send(Message::Feed(message), &self.bounds);
                }
            }
        }
    }

    pub(crate) fn tell_client(&self, world: &mut World, event: ClientEvent<Token>) {
        let actions = world.client.step(Moment::from_s(world.now.into()), event);
        for action in actions {
            match action {
                ClientAction::ConnectAuthority => self.tell_client(world, ClientEvent::AuthorityUp),
                ClientAction::AskToken { request } => {
                    world.requests = request;
                    let wanted = TokenApplicant { subject: SUBJECT, session: None, client: CLIENT };
                    let event = AuthorityEvent::Ask { request, wanted };
                    let actions = world.authority.step::<()>(world.authority_now(), event);
                    self.authority_acts(world, actions);
                }
                ClientAction::ConnectGate => {
                    if world.session < self.bounds.sessions {
                        world.session += 1;
                        world.channel = world.channel.max(world.session);
                        let (session, channel) = (GateSessionId(world.session), ChannelId(world.channel));
                        world.truth.sessions.insert(session, (None, CLIENT));
                        self.tell_gate(world, GateEvent::Create { session, channel, client: CLIENT });
                        self.tell_client(world, ClientEvent::SessionUp { nonce: NonceNumber(0) });
                    }
                }
                ClientAction::Activate { token, nonce } => {
                    let (session, channel) = (GateSessionId(world.session), ChannelId(world.channel));
                    world.send(Message::Activate { session, channel, nonce, token }, &self.bounds);
                }
                ClientAction::Fail(_) | ClientAction::Close => {}
            }
        }
    }
}

impl World {
    /// What the gate's clock would show had nobody set it.
    pub(crate) fn gate_now(&self) -> Moment {
        Moment::from_s(u32::from(self.now + self.gate_ahead))
    }

    pub(super) fn gate_wall(&self) -> Moment {
        Moment::from_ms(self.gate_now().ms().saturating_add_signed(self.gate_wrong * 1_000))
    }

    pub(super) fn gate_clock_now(&self) -> Moment {
        self.gate_clock.at(seconds(self.now))
    }

    pub(super) fn authority_now(&self) -> Moment {
        Moment::from_s(u32::from(self.now + self.authority_ahead))
    }

    /// Whatever does not fit is lost.
    fn send(&mut self, message: Message, bounds: &Bounds) {
        let is_beat = |message: &Message| matches!(message, Message::Feed(FeedMessage::Heartbeat { .. }));
        let beats = self.network.iter().filter(|message| is_beat(message)).count();
        if self.network.len() < bounds.messages && (!is_beat(&message) || beats < 2) {
            self.network.insert(message);
        }
    }

    /// A token that is under way, or in force.
    fn stolen(&self) -> Option<Token> {
        let under_way = |message: &Message| match message {
            Message::Activate { token, .. } => Some(token.clone()),
            _ => None,
        };
        self.network.iter().find_map(under_way)
    }

    fn last_cutoff(&self) -> Moment {
        let cutoff = |record: &AuthorityRecord<u8>| match record {
            AuthorityRecord::Cutoff { before, .. } => Some(*before),
            AuthorityRecord::Epoch(_) | AuthorityRecord::Mark(_) | AuthorityRecord::Sequence(_) => None,
        };
        self.store.iter().filter_map(cutoff).max().unwrap_or_default()
    }
}
