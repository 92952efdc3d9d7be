//! Runs [`protocol::ClientMachine`](crate::protocol::ClientMachine): feeds it events, carries out its actions, decides nothing itself.
//!
//! What comes back of an attempt that the machine has given up is thrown away: attempts carry a number and the moment at which the
//! machine gives them up, activations the nonce that they are over.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::StatusCode;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

use super::authority::{AuthorityLink, AuthorityTarget};
use super::claims::AccessToken;
use super::failure::{FailureMeaning, is_of_token, passes};
use super::resource::DiscoveredResource;
use super::shared::{ClientShared, LiveSession};
use crate::channel::ClientChannel;
use crate::error::Error;
use crate::protocol::{ClientAction, ClientEvent, ClientFailure, ClientMachine, ClientTimings, NonceNumber};
use crate::session::{ClientIdentity, ClientSession, connect_channel};

/// The longest and the shortest time for which the driver sleeps.
const SLEEP_MAX: Duration = Duration::from_secs(60);
const SLEEP_MIN: Duration = Duration::from_millis(50);
/// How long a session may take to close.
const CLOSE_MAX: Duration = Duration::from_secs(2);

type ClientToken = Arc<AccessToken>;

/// What happens to a client, before the machine hears of it.
pub(super) enum DriverEvent {
    Authority { attempt: u64, result: Result<Arc<AuthorityLink>, Error> },
    AuthorityLost { attempt: u64, error: Error },
    Token { request: u32, result: Result<ClientToken, Error> },
    Session { attempt: u64, result: Result<OpenedSession, Error> },
    SessionLost { generation: u64, error: Error },
    ChannelLost { generation: u64, error: Error },
    Channel { generation: u64, result: Result<ClientChannel, Error> },
    Activated { nonce: NonceNumber, result: Result<(), Error> },
    RightEnded { generation: u64, error: Error },
    Stop,
}

/// A session with the resource, and what the policy says of the authorization service whose tokens it takes.
pub(super) struct OpenedSession {
    session: ClientSession,
    issuer_endpoint_url: Arc<str>,
}

/// An attempt to open something.
struct OpenAttempt {
    number: u64,
    give_up_at: Moment,
    task: JoinHandle<()>,
}

pub(super) struct ClientDriver {
    shared: Arc<ClientShared>,
    machine: ClientMachine<ClientToken>,
    /// The resource as it was discovered; asked again after a failure.
    resource: Arc<CachedToken>,
    /// The resource as a session with it has proved it.
    proved: watch::Sender<Option<Arc<DiscoveredResource>>>,
    numbers: u64,
    nonces: u32,
    connecting_authority: Option<OpenAttempt>,
    authority: Option<(u64, Arc<AuthorityLink>)>,
    connecting: Option<OpenAttempt>,
    live: Option<Arc<LiveSession>>,
    /// A channel for the session that is there, to which the next activation moves it.
    replacement: Option<ClientChannel>,
    /// Whether such a channel is being opened.
    is_reconnecting: bool,
    /// The channel whose end will be told.
    watched: Option<Arc<ClientChannel>>,
}

impl ClientDriver {
    pub(super) fn new(shared: Arc<ClientShared>) -> ClientDriver {
        let settings = &shared.settings;
        let machine = ClientMachine::new(ClientTimings {
            patience: settings.patience,
            retry_min: settings.retry_min,
            retry_max: settings.retry_max,
        });
        ClientDriver {
            shared,
            machine,
            resource: Arc::default(),
            proved: watch::Sender::new(None),
            numbers: 0,
            nonces: 0,
            connecting_authority: None,
            authority: None,
            connecting: None,
            live: None,
            replacement: None,
            is_reconnecting: false,
            watched: None,
        }
    }

    /// Runs until it is stopped.
    pub(super) async fn run(mut self, mut events: mpsc::UnboundedReceiver<DriverEvent>) {
        self.step(ClientEvent::Tick);
        while let Some(wake_at) = self.machine.wake_at() {
            let sleep = wake_at.since(self.shared.now()).clamp(SLEEP_MIN, SLEEP_MAX);
            match tokio::time::timeout(sleep, events.recv()).await {
                Ok(Some(event)) => self.take(event),
                Ok(None) => self.step(ClientEvent::Stop),
                Err(_) => self.step(ClientEvent::Tick),
            }
        }
    }

    /// Tells the machine, and does what it says.
    fn step(&mut self, event: ClientEvent<ClientToken>) {
        let actions = self.machine.step(self.shared.now(), event);
        if self.machine.nonce().is_none() {
            self.drop_session(false);
        }
        for action in actions {
            self.act(action);
        }
        let is_active = self.machine.is_active() && self.live.is_some();
        self.shared.status.send_if_modified(|status| {
            let was_active = std::mem::replace(&mut status.is_active, is_active);
            was_active != is_active
        });
    }

    fn act(&mut self, action: ClientAction<ClientToken>) {
        match action {
            ClientAction::ConnectAuthority => self.connect_authority(),
            ClientAction::AskToken { request } => self.ask_token(request),
            ClientAction::ConnectGate => self.connect(),
            ClientAction::Activate { token, nonce } => self.activate(&token, nonce),
            ClientAction::Fail(failure) => {
                if failure == ClientFailure::Ended {
                    *self.shared.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
                }
                tracing::warn!(?failure, "the client has no token that counts");
                self.shared.status.send_modify(|status| status.failure = Some(failure));
            }
            ClientAction::Close => self.close(),
        }
    }

    fn take(&mut self, event: DriverEvent) {
        // Time passes first: what came too late is given up before it is looked at.
        self.step(ClientEvent::Tick);
        match event {
            DriverEvent::Authority { attempt, result } => self.authority_came(attempt, result),
            DriverEvent::AuthorityLost { attempt, error } => {
                if self.authority.as_ref().is_some_and(|(number, _)| *number == attempt) {
                    self.failed(&error, "the session with the authorization service is lost");
                    self.drop_authority();
                    self.step(ClientEvent::AuthorityDown);
                }
            }
            DriverEvent::Token { request, result } => self.token_came(request, result),
            DriverEvent::Session { attempt, result } => self.session_came(attempt, result),
            DriverEvent::SessionLost { generation, error } if self.is_live(generation) => {
                self.failed(&error, "the session is lost");
                self.step(ClientEvent::SessionDown);
            }
            DriverEvent::ChannelLost { generation, error } if self.is_live(generation) => {
                self.reconnect(generation, &error)
            }
            DriverEvent::Channel { generation, result } if self.is_live(generation) => {
                self.channel_came(result)
            }
            DriverEvent::RightEnded { generation, error } if self.is_live(generation) => {
                self.failed(&error, "the right has ended");
                self.step(ClientEvent::RightEnded);
            }
            DriverEvent::SessionLost { .. }
            | DriverEvent::ChannelLost { .. }
            | DriverEvent::Channel { .. }
            | DriverEvent::RightEnded { .. } => {}
            DriverEvent::Activated { nonce, result } => self.activation_came(nonce, result),
            DriverEvent::Stop => self.step(ClientEvent::Stop),
        }
    }

    fn is_live(&self, generation: u64) -> bool {
        self.live.as_ref().is_some_and(|live| live.generation == generation)
    }

    fn failed(&self, error: &Error, what: &'static str) {
        self.failed_for_now(error, what, false);
    }

    fn failed_for_now(&self, error: &Error, what: &'static str, may_pass: bool) {
        tracing::info!(%error, "{what}");
        self.shared
            .status
            .send_modify(|status| (status.error, status.may_pass) = (Some(error.clone()), may_pass));
    }

    fn attempt(&mut self, last: Option<OpenAttempt>) -> (u64, Moment) {
        if let Some(last) = last {
            last.task.abort();
        }
        self.numbers += 1;
        (self.numbers, self.shared.now().plus(self.shared.settings.patience))
    }

    /// Whether this is the result of the attempt that counts, and came in time.
    fn is_due(attempt: Option<&OpenAttempt>, number: u64, now: Moment) -> bool {
        attempt.is_some_and(|attempt| attempt.number == number && now < attempt.give_up_at)
    }

    fn connect_authority(&mut self) {
        self.drop_authority();
        let last = self.connecting_authority.take();
        let (number, give_up_at) = self.attempt(last);
        let (shared, proved) = (Arc::clone(&self.shared), self.proved.subscribe());
        let task = tokio::spawn(async move {
            let result = open_authority(&shared, proved).await.map(Arc::new);
            let _ = shared.events.send(DriverEvent::Authority { attempt: number, result });
        });
        self.connecting_authority = Some(OpenAttempt { number, give_up_at, task });
    }

    fn authority_came(&mut self, number: u64, result: Result<Arc<AuthorityLink>, Error>) {
        if !Self::is_due(self.connecting_authority.as_ref(), number, self.shared.now()) {
            return;
        }
        self.connecting_authority = None;
        match result {
            Ok(link) => {
                let (channel, events) = (link.session().channel(), self.shared.events.clone());
                tokio::spawn(async move {
                    let error = channel.closed().await;
                    let _ = events.send(DriverEvent::AuthorityLost { attempt: number, error });
                });
                self.authority = Some((number, link));
                self.shared.status.send_modify(|status| status.authority_sessions += 1);
                self.step(ClientEvent::AuthorityUp);
            }
            Err(error) => {
                self.failed(&error, "no session with the authorization service");
                self.step(ClientEvent::AuthorityDown);
            }
        }
    }

    fn ask_token(&mut self, request: u32) {
        let Some((attempt, link)) = self.authority.clone() else { return };
        let events = self.shared.events.clone();
        tokio::spawn(async move {
            let error = match link.request().await {
                Ok(token) => {
                    let _ = events.send(DriverEvent::Token { request, result: Ok(Arc::new(token)) });
                    return;
                }
                Err(error) => error,
            };
            let lost = match FailureMeaning::of(error.status()) {
                FailureMeaning::Lost => true,
                // Slow, or gone? The machine asks again in either case.
                FailureMeaning::Silent => link.session().ping().await.is_err(),
                FailureMeaning::Ended | FailureMeaning::Refused => {
                    let _ = events.send(DriverEvent::Token { request, result: Err(error) });
                    return;
                }
            };
            if lost {
                let _ = events.send(DriverEvent::AuthorityLost { attempt, error });
            }
        });
    }

    fn token_came(&mut self, request: u32, result: Result<ClientToken, Error>) {
        match result {
            Ok(token) => {
                *self.shared.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&token));
                self.shared.status.send_modify(|status| status.tokens += 1);
                let (lifetime, renew_percent) = (token.lifetime(), (self.shared.settings.jitter)());
                self.step(ClientEvent::TokenGiven { request, token, lifetime, renew_percent });
            }
            Err(error) => {
                self.failed(&error, "the authorization service gives no token");
                self.step(ClientEvent::TokenDenied { request });
            }
        }
    }

    fn connect(&mut self) {
        let last = self.connecting.take();
        let (number, give_up_at) = self.attempt(last);
        let (shared, resource) = (Arc::clone(&self.shared), Arc::clone(&self.resource));
        let proved = self.proved.clone();
        let task = tokio::spawn(async move {
            let result = open_session(&shared, &resource, &proved).await;
            let _ = shared.events.send(DriverEvent::Session { attempt: number, result });
        });
        self.connecting = Some(OpenAttempt { number, give_up_at, task });
    }

    fn session_came(&mut self, number: u64, result: Result<OpenedSession, Error>) {
        if !Self::is_due(self.connecting.as_ref(), number, self.shared.now()) {
            return;
        }
        self.connecting = None;
        match result {
            Ok(OpenedSession { session, issuer_endpoint_url }) => {
                let live = Arc::new(LiveSession { session, issuer_endpoint_url, generation: number });
                self.watch_channel(&live);
                self.live = Some(live);
                self.shared.status.send_modify(|status| status.sessions += 1);
                self.nonces = self.nonces.wrapping_add(1);
                self.step(ClientEvent::SessionUp { nonce: NonceNumber(self.nonces) });
            }
            Err(error) => {
                self.failed(&error, "no session with the resource");
                self.step(ClientEvent::SessionDown);
            }
        }
    }

    fn watch_channel(&mut self, live: &Arc<LiveSession>) {
        let (channel, events, generation) =
            (live.session.channel(), self.shared.events.clone(), live.generation);
        if self.watched.as_ref().is_some_and(|watched| Arc::ptr_eq(watched, &channel)) {
            return;
        }
        self.watched = Some(Arc::clone(&channel));
        tokio::spawn(async move {
            let error = channel.closed().await;
            let _ = events.send(DriverEvent::ChannelLost { generation, error });
        });
    }

    /// The channel is gone; the session may be there still. Another channel to the same endpoint shows it.
    fn reconnect(&mut self, generation: u64, error: &Error) {
        let Some(live) = self.live.clone() else { return };
        if self.is_reconnecting || live.session.channel().ended().is_none() {
            return;
        }
        self.is_reconnecting = true;
        self.failed(error, "the channel is lost");
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            let settings = &shared.settings;
            let opening = connect_channel(&settings.url, live.session.endpoint(), &settings.session);
            let result = tokio::time::timeout(settings.patience, opening).await;
            let late =
                |_| Err(Error::new(StatusCode::BadTimeout, "the resource did not open a channel in time"));
            let result = result.unwrap_or_else(late);
            let _ = shared.events.send(DriverEvent::Channel { generation, result });
        });
    }

    fn channel_came(&mut self, result: Result<ClientChannel, Error>) {
        self.is_reconnecting = false;
        match result {
            Ok(channel) => {
                self.replacement = Some(channel);
                self.shared.status.send_modify(|status| status.channels += 1);
                self.step(ClientEvent::ChannelReplaced);
            }
            Err(error) => {
                self.failed(&error, "no channel to the resource");
                self.step(ClientEvent::SessionDown);
            }
        }
    }

    fn activate(&mut self, token: &ClientToken, nonce: NonceNumber) {
        let Some(live) = self.live.clone() else { return };
        let identity = ClientIdentity::Jwt {
            token: Zeroizing::new(token.text().as_bytes().to_vec()),
            issuer_endpoint_url: Arc::clone(&live.issuer_endpoint_url),
        };
        let (channel, events) = (self.replacement.take(), self.shared.events.clone());
        tokio::spawn(async move {
            let result = match channel {
                Some(channel) => live.session.activate_on(channel, &identity).await,
                None => live.session.activate(&identity).await,
            };
            let _ = events.send(DriverEvent::Activated { nonce, result });
        });
    }

    fn activation_came(&mut self, nonce: NonceNumber, result: Result<(), Error>) {
        // Of a session, or a channel, that was given up meanwhile.
        if self.machine.nonce() != Some(nonce) {
            return;
        }
        match result {
            Ok(()) => {
                let Some(live) = self.live.clone() else { return };
                self.watch_channel(&live);
                // Before anybody may use the session: whoever was answered on it finds its activation counted.
                self.shared.status.send_modify(|status| {
                    status.activations += 1;
                    (status.failure, status.error) = (None, None);
                });
                self.shared.live.store(Some(live));
                self.nonces = self.nonces.wrapping_add(1);
                self.step(ClientEvent::Activated { nonce: NonceNumber(self.nonces) });
            }
            Err(error) => {
                self.failed_for_now(&error, "the session was not activated", passes(error.status()));
                let against_token = is_of_token(error.status());
                self.step(if against_token {
                    ClientEvent::ActivationRefused
                } else {
                    ClientEvent::SessionDown
                });
            }
        }
    }

    /// Gives the session up. Its subscriptions stay for a while: the next session may take them over.
    fn drop_session(&mut self, delete_subscriptions: bool) {
        (self.replacement, self.is_reconnecting, self.watched) = (None, false, None);
        self.shared.live.store(None);
        if let Some(live) = self.live.take() {
            tokio::spawn(async move {
                let _ = tokio::time::timeout(CLOSE_MAX, live.session.close(delete_subscriptions)).await;
                live.session.channel().close();
            });
        }
    }

    fn drop_authority(&mut self) {
        let Some((_, link)) = self.authority.take() else { return };
        tokio::spawn(async move {
            let _ = tokio::time::timeout(CLOSE_MAX, link.session().close(true)).await;
            link.session().channel().close();
        });
    }

    fn close(&mut self) {
        for attempt in [self.connecting.take(), self.connecting_authority.take()].into_iter().flatten() {
            attempt.task.abort();
        }
        self.drop_session(true);
        self.drop_authority();
        *self.shared.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.shared.status.send_modify(|status| (status.is_stopped, status.is_active) = (true, false));
    }
}

type CachedToken = tokio::sync::Mutex<Option<Arc<DiscoveredResource>>>;

/// The resource, discovered once for both links.
async fn discovered(shared: &ClientShared, cached: &CachedToken) -> Result<Arc<DiscoveredResource>, Error> {
    let mut cached = cached.lock().await;
    if let Some(resource) = cached.as_ref() {
        return Ok(Arc::clone(resource));
    }
    let resource = Arc::new(DiscoveredResource::discover(&shared.settings).await?);
    *cached = Some(Arc::clone(&resource));
    Ok(resource)
}

async fn open_session(
    shared: &ClientShared,
    cached: &CachedToken,
    proved: &watch::Sender<Option<Arc<DiscoveredResource>>>,
) -> Result<OpenedSession, Error> {
    let resource = discovered(shared, cached).await?;
    match resource.connect(&shared.settings).await {
        Ok(session) => {
            let issuer_endpoint_url = resource.issuer_endpoint_url();
            proved.send_replace(Some(resource));
            Ok(OpenedSession { session, issuer_endpoint_url })
        }
        Err(error) => {
            // A server that was set up anew has other endpoints, or another certificate.
            *cached.lock().await = None;
            Err(error)
        }
    }
}

async fn open_authority(
    shared: &ClientShared,
    mut proved: watch::Receiver<Option<Arc<DiscoveredResource>>>,
) -> Result<AuthorityLink, Error> {
    let settings = &shared.settings;
    let given = &settings.authority;
    let target = match (&given.url, &given.resource_id) {
        // All is known: the resource need not be there.
        (Some(url), Some(resource_id)) if given.server.pin.is_some() => AuthorityTarget {
            url: url.clone(),
            server: given.server.clone(),
            resource_id: resource_id.clone(),
            token_endpoint: None,
        },
        // The service is told the user's password, and discovery is not proof: whoever changed the answer of the resource would name a service
        // of their own. The attempt waits, as long as the machine lets it, for the session that proves the answer.
        (Some(_) | None, _) => {
            let resource = proved.wait_for(Option::is_some).await.ok().and_then(|resource| resource.clone());
            let resource = resource.ok_or_else(|| Error::new(StatusCode::BadShutdown, "the client ends"))?;
            resource.authority().clone()
        }
    };
    AuthorityLink::connect(target, given.clone(), settings.kept_session())
        .await
        .map_err(|error| error.of("authorization service"))
}
