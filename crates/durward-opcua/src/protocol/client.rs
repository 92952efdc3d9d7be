//! The client: keeps a session with the authorization service, a token, and a session at a gate that stands on it.

use std::time::Duration;

use durward_identity::Moment;

use super::gate::NonceNumber;

/// Timing settings of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientTimings {
    /// How long an answer is waited for.
    pub patience: Duration,
    /// How long after a failure it is tried again, at first. Doubles with each failure.
    pub retry_min: Duration,
    /// The longest pause between two tries.
    pub retry_max: Duration,
}

/// What happens to a client. `T` is a token as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClientEvent<T> {
    /// There is a session with the authorization service.
    AuthorityUp,
    /// It is lost, or could not be had.
    AuthorityDown,
    /// A token was given.
    TokenGiven {
        /// The request that it answers.
        request: u32,
        /// The token.
        token: T,
        /// How long it lives. Not its end: clocks differ.
        lifetime: Duration,
        /// At how many hundredths of its life it is to be renewed: 75 to 85, by chance, so that a fleet does not renew at once.
        renew_percent: u8,
    },
    /// The authorization service says no.
    TokenDenied {
        /// The request that it answers.
        request: u32,
    },
    /// The gate has created a session.
    SessionUp {
        /// The first nonce.
        nonce: NonceNumber,
    },
    /// The channel to the gate was lost and is there again; the session may still be there.
    ChannelReplaced,
    /// The session is lost, or could not be had.
    SessionDown,
    /// The gate has activated the session.
    Activated {
        /// The nonce for the next time.
        nonce: NonceNumber,
    },
    /// The gate has refused to.
    ActivationRefused,
    /// The gate has refused a request because the right has ended.
    RightEnded,
    /// Time has passed.
    Tick,
    /// The client is to end.
    Stop,
}

/// What a client does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClientAction<T> {
    /// Open a session with the authorization service, and keep it.
    ConnectAuthority,
    /// Ask it for a token.
    AskToken {
        /// Names the request.
        request: u32,
    },
    /// Open a channel and a session at the gate.
    ConnectGate,
    /// Activate the session with a token, over its nonce.
    Activate {
        /// The token.
        token: T,
        /// The nonce.
        nonce: NonceNumber,
    },
    /// For whoever started the client.
    Fail(ClientFailure),
    /// Close what is open.
    Close,
}

/// A failed step of a client, which it will retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientFailure {
    /// The authorization service says no.
    Denied,
    /// The gate does not accept the token.
    Refused,
    /// The token has ended, and no other one could be had.
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct HeldToken<T> {
    token: T,
    renew_at: Moment,
    ends_at: Moment,
    /// Whether the session was activated with it, or its activation is under way.
    is_presented: bool,
}

/// Something on the other side: there, or to be tried for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LinkState {
    Down { retry_at: Moment },
    Opening { give_up_at: Moment },
    Up,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SessionState {
    None,
    Created(NonceNumber),
    /// `was_active`: requests go on under the old token meanwhile.
    Activating {
        nonce: NonceNumber,
        give_up_at: Moment,
        was_active: bool,
    },
    Active(NonceNumber),
}

/// A client. Has a moment of its own that never goes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientMachine<T> {
    settings: ClientTimings,
    now: Moment,
    authority: LinkState,
    gate: LinkState,
    session: SessionState,
    token: Option<HeldToken<T>>,
    /// The request under way, and when it is given up.
    asked: Option<(u32, Moment)>,
    ask_from: Moment,
    /// How often in a row something failed.
    failures: u8,
    requests: u32,
    is_stopped: bool,
}

impl<T: Clone> ClientMachine<T> {
    /// A client that has nothing yet. Give it a tick, and it begins.
    pub fn new(settings: ClientTimings) -> ClientMachine<T> {
        let down = LinkState::Down { retry_at: Moment::default() };
        ClientMachine {
            settings,
            now: Moment::default(),
            authority: down,
            gate: down,
            session: SessionState::None,
            token: None,
            asked: None,
            ask_from: Moment::default(),
            failures: 0,
            requests: 0,
            is_stopped: false,
        }
    }

    /// Whether requests may be sent: the session is activated, with a token that has not ended by this client's clock.
    pub fn is_active(&self) -> bool {
        let is_activated = match self.session {
            SessionState::Active(_) => true,
            SessionState::Activating { was_active, .. } => was_active,
            SessionState::None | SessionState::Created(_) => false,
        };
        is_activated && self.token.is_some() && !self.is_stopped
    }

    /// The nonce of the session that it has; nothing when it has none: then whatever session is still open is to be given up, and what
    /// comes back of an activation of it does not count.
    pub fn nonce(&self) -> Option<NonceNumber> {
        match self.session {
            SessionState::None => None,
            SessionState::Created(nonce)
            | SessionState::Activating { nonce, .. }
            | SessionState::Active(nonce) => Some(nonce),
        }
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// When it wants the next tick; `None` only after it was stopped. So it never waits for ever.
    pub fn wake_at(&self) -> Option<Moment> {
        let link = |link: LinkState| match link {
            LinkState::Down { retry_at } => Some(retry_at),
            LinkState::Opening { give_up_at } => Some(give_up_at),
            LinkState::Up => None,
        };
        let activating = match self.session {
            SessionState::Activating { give_up_at, .. } => Some(give_up_at),
            SessionState::None | SessionState::Created(_) | SessionState::Active(_) => None,
        };
        let token = self.token.as_ref().map(|held| held.ends_at);
        let asking = match (&self.asked, &self.token) {
            (Some((_, give_up_at)), _) => Some(*give_up_at),
            // Nobody can be asked yet: that is when the link is up.
            (None, _) if self.authority != LinkState::Up => None,
            (None, Some(held)) => Some(held.renew_at.max(self.ask_from)),
            (None, None) => Some(self.ask_from),
        };
        let all = [link(self.authority), link(self.gate), activating, token, asking];
        all.into_iter().flatten().min().filter(|_| !self.is_stopped)
    }

    /// Takes an event at a moment.
    pub fn step(&mut self, now: Moment, event: ClientEvent<T>) -> Vec<ClientAction<T>> {
        self.now = now.max(self.now);
        let mut actions = Vec::new();
        if self.is_stopped {
            return actions;
        }
        match event {
            ClientEvent::AuthorityUp => self.authority = LinkState::Up,
            ClientEvent::AuthorityDown => {
                (self.authority, self.asked) = (LinkState::Down { retry_at: self.pause() }, None);
            }
            ClientEvent::TokenGiven { request, token, lifetime, renew_percent } => {
                self.take(request, token, lifetime, renew_percent);
            }
            ClientEvent::TokenDenied { request } => self.denied(request, &mut actions),
            ClientEvent::SessionUp { nonce } => {
                (self.gate, self.session) = (LinkState::Up, SessionState::Created(nonce));
                self.present_again();
            }
            ClientEvent::ChannelReplaced => self.activate_anew(),
            ClientEvent::SessionDown => self.lose_session(),
            ClientEvent::Activated { nonce } => {
                (self.session, self.failures) = (SessionState::Active(nonce), 0);
            }
            ClientEvent::ActivationRefused => {
                actions.push(ClientAction::Fail(ClientFailure::Refused));
                self.start_over();
            }
            ClientEvent::RightEnded => self.start_over(),
            ClientEvent::Tick => self.pass_time(&mut actions),
            ClientEvent::Stop => {
                self.is_stopped = true;
                actions.push(ClientAction::Close);
                return actions;
            }
        }
        self.go_on(&mut actions);
        actions
    }

    fn take(&mut self, request: u32, token: T, lifetime: Duration, renew_percent: u8) {
        if self.asked.is_none_or(|(asked, _)| asked != request) {
            return;
        }
        let renew = lifetime * u32::from(renew_percent.clamp(75, 85)) / 100;
        let (renew_at, ends_at) = (self.now.plus(renew), self.now.plus(lifetime));
        self.token = Some(HeldToken { token, renew_at, ends_at, is_presented: false });
        (self.asked, self.failures) = (None, 0);
    }

    fn denied(&mut self, request: u32, actions: &mut Vec<ClientAction<T>>) {
        if self.asked.is_some_and(|(asked, _)| asked == request) {
            (self.asked, self.ask_from) = (None, self.pause());
            actions.push(ClientAction::Fail(ClientFailure::Denied));
        }
    }

    /// The token is refused: another one, and with it a session anew.
    fn start_over(&mut self) {
        if self.token.take().is_some() {
            self.ask_from = self.ask_from.max(self.pause());
        }
        self.lose_session();
    }

    fn lose_session(&mut self) {
        (self.gate, self.session) = (LinkState::Down { retry_at: self.pause() }, SessionState::None);
        self.present_again();
    }

    fn present_again(&mut self) {
        if let Some(held) = &mut self.token {
            held.is_presented = false;
        }
    }

    /// The same session, the same token, the last nonce.
    fn activate_anew(&mut self) {
        self.session = match self.session {
            SessionState::Active(nonce) => SessionState::Created(nonce),
            // Whether the gate took it nobody knows, and so not which nonce is the last one.
            SessionState::Activating { .. } | SessionState::None => {
                self.gate = LinkState::Down { retry_at: self.now };
                SessionState::None
            }
            created @ SessionState::Created(_) => created,
        };
        self.present_again();
    }

    fn pass_time(&mut self, actions: &mut Vec<ClientAction<T>>) {
        let now = self.now;
        if self.token.as_ref().is_some_and(|held| held.ends_at <= now) {
            self.token = None;
            actions.push(ClientAction::Fail(ClientFailure::Ended));
            // The gate has closed the session as well.
            self.lose_session();
        }
        if self.asked.is_some_and(|(_, give_up_at)| give_up_at <= now) {
            // The answer may be lost with the link: a new request, under a new number, on the same session.
            (self.asked, self.ask_from) = (None, self.pause());
        }
        if matches!(self.authority, LinkState::Opening { give_up_at } if give_up_at <= now) {
            self.authority = LinkState::Down { retry_at: self.pause() };
        }
        let is_gate_late = matches!(self.gate, LinkState::Opening { give_up_at } if give_up_at <= now);
        let is_activation_late =
            matches!(self.session, SessionState::Activating { give_up_at, .. } if give_up_at <= now);
        if is_gate_late || is_activation_late {
            self.lose_session();
        }
    }

    /// When the next try may be made, by how often it failed.
    fn pause(&mut self) -> Moment {
        let pause = self.settings.retry_min.saturating_mul(1 << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        self.now.plus(pause.min(self.settings.retry_max))
    }

    /// Does whatever is due: links first, then a token, then an activation.
    fn go_on(&mut self, actions: &mut Vec<ClientAction<T>>) {
        let (now, give_up_at) = (self.now, self.now.plus(self.settings.patience));
        let is_due = |link: LinkState| matches!(link, LinkState::Down { retry_at } if retry_at <= now);
        if is_due(self.authority) {
            self.authority = LinkState::Opening { give_up_at };
            actions.push(ClientAction::ConnectAuthority);
        }
        if is_due(self.gate) {
            self.gate = LinkState::Opening { give_up_at };
            actions.push(ClientAction::ConnectGate);
        }
        let is_token_due = self.token.as_ref().is_none_or(|held| held.renew_at <= now);
        if is_token_due && self.asked.is_none() && self.ask_from <= now && self.authority == LinkState::Up {
            self.requests = self.requests.wrapping_add(1);
            self.asked = Some((self.requests, give_up_at));
            actions.push(ClientAction::AskToken { request: self.requests });
        }
        let (nonce, was_active) = match self.session {
            SessionState::Created(nonce) => (nonce, false),
            SessionState::Active(nonce) => (nonce, true),
            SessionState::None | SessionState::Activating { .. } => return,
        };
        if let Some(held) = self.token.as_mut().filter(|held| !held.is_presented) {
            held.is_presented = true;
            self.session = SessionState::Activating { nonce, give_up_at, was_active };
            actions.push(ClientAction::Activate { token: held.token.clone(), nonce });
        }
    }
}
