//! A server: listens, keeps its bounds, ends sessions whose time is over.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opcua_types::{ApplicationDescription, ContextOwned, EndpointDescription};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::admission::{ConnectionAdmission, ConnectionSlot};
use super::budget::ByteBudget;
use super::connection::ServerConnection;
use super::endpoint::{self, Endpoint};
use super::logins::PasswordThrottle;
use super::service::{CloseReason, SessionHandler};
use super::store::{AuthenticationToken, SessionStore};
use crate::channel::{ChannelSettings, SecurityOffer, ServerChannel};
use crate::crypto::{SECRET_BYTES_MAX, random_bytes};
use crate::error::Error;
use crate::wire;

/// How often overdue sessions are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// After accepting failed (no file descriptors, mostly), it is tried again so much later.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Certificate, trust, sizes.
    pub channel: ChannelSettings,
    /// The application's URI, as in its certificate.
    pub application_uri: String,
    /// The product's URI.
    pub product_uri: String,
    /// The application's name.
    pub application_name: String,
    /// The URL that clients are told.
    pub endpoint_url: String,
    /// Security policies and modes, with their user tokens.
    pub endpoints: Vec<Endpoint>,
    /// Bounds.
    pub limits: ServerLimits,
}

/// Bounds of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections at a time. When there are as many, one without a session makes room.
    pub connections_max: usize,
    /// Connections at a time whose channel is being opened; others wait, as long as opening may take.
    pub half_open_max: usize,
    /// Of these, from one address (of IPv6: from one half of an address).
    pub half_open_per_address_max: usize,
    /// Sessions at a time.
    pub sessions_max: usize,
    /// Of these, sessions that only preferred clients may have ([`SessionHandler::is_preferred`]). One such client has a quarter of them at most.
    pub sessions_reserved: usize,
    /// Sessions at a time of one client, by its certificate.
    pub sessions_per_client_max: usize,
    /// Sessions at a time that were created on one channel or moved to it.
    pub sessions_per_channel_max: usize,
    /// Requests under way at a time on one connection; Publish requests count.
    pub requests_per_connection_max: usize,
    /// Bytes of requests under way at a time on one connection; not less than one message may have.
    pub request_bytes_per_connection_max: usize,
    /// Bytes of requests under way at a time on all connections; small requests do not count.
    pub request_bytes_max: usize,
    /// The shortest session timeout.
    pub session_timeout_min: Duration,
    /// The longest session timeout.
    pub session_timeout_max: Duration,
    /// A session that is not activated ends after this time, and so does a channel without a session.
    pub unactivated_max: Duration,
    /// Activations of one session at a time: each costs RSA.
    pub activations_per_session_max: u32,
    /// A session that was never activated ends after so many failed activations. One that is active has to wait after so many wrong proofs.
    pub activation_failures_max: u32,
    /// The longest secret of a user token, decrypted, in bytes.
    pub secret_bytes_max: usize,
}

impl ServerLimits {
    /// How many sessions there may be for such a client to get one more, and how many of its own.
    pub(super) fn sessions_of(&self, preferred: bool) -> (usize, usize) {
        if preferred && self.sessions_reserved > 0 {
            (self.sessions_max, self.sessions_per_client_max.min(self.sessions_reserved.div_ceil(4)))
        } else {
            (self.sessions_max.saturating_sub(self.sessions_reserved), self.sessions_per_client_max)
        }
    }
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            connections_max: 4_096,
            half_open_max: 256,
            half_open_per_address_max: 64,
            sessions_max: 2_048,
            sessions_reserved: 0,
            sessions_per_client_max: 2_048,
            sessions_per_channel_max: 32,
            requests_per_connection_max: 256,
            request_bytes_per_connection_max: 32 * 1024 * 1024,
            request_bytes_max: 256 * 1024 * 1024,
            session_timeout_min: Duration::from_secs(10),
            session_timeout_max: Duration::from_secs(3_600),
            unactivated_max: Duration::from_secs(30),
            activations_per_session_max: 4,
            activation_failures_max: 5,
            secret_bytes_max: SECRET_BYTES_MAX,
        }
    }
}

/// A server whose requests a [`SessionHandler`] answers.
pub struct SessionServer<S: SessionHandler> {
    core: Arc<ServerCore<S>>,
}

/// What all connections share.
pub(super) struct ServerCore<S: SessionHandler> {
    pub(super) settings: ServerSettings,
    pub(super) channel: Arc<ChannelSettings>,
    pub(super) offers: Arc<[SecurityOffer]>,
    pub(super) service: Arc<S>,
    pub(super) sessions: SessionStore<S>,
    pub(super) application: ApplicationDescription,
    pub(super) endpoints: Vec<EndpointDescription>,
    pub(super) context: ContextOwned,
    pub(super) logins: Arc<PasswordThrottle>,
    pub(super) budget: Arc<ByteBudget>,
    admission: Arc<ConnectionAdmission>,
    /// By channel id: what closes it.
    open: Mutex<HashMap<u32, Arc<Notify>>>,
    next_channel_id: AtomicU32,
    shutdown: Notify,
}

impl<S: SessionHandler> SessionServer<S> {
    /// Sets a server up.
    ///
    /// # Errors
    /// `BadConfigurationError`: an endpoint without security or user tokens, a policy identifier used twice, plain secrets over channels that
    /// are not encrypted, a certificate of another application.
    pub fn new(settings: ServerSettings, service: Arc<S>) -> Result<SessionServer<S>, Error> {
        endpoint::check(&settings)?;
        let start = u32::from_le_bytes(random_bytes()?);
        let core = ServerCore {
            channel: Arc::new(settings.channel.clone()),
            offers: settings.endpoints.iter().map(|endpoint| endpoint.offer).collect(),
            service,
            sessions: SessionStore::new(),
            application: endpoint::application(&settings),
            endpoints: endpoint::describe(&settings),
            context: wire::context(),
            logins: PasswordThrottle::new(Arc::clone(&settings.channel.clock)),
            budget: ByteBudget::of_server(&settings.limits),
            admission: ConnectionAdmission::new(&settings.limits),
            open: Mutex::default(),
            next_channel_id: AtomicU32::new(start),
            shutdown: Notify::new(),
            settings,
        };
        Ok(SessionServer { core: Arc::new(core) })
    }

    /// Serves clients that connect, until [`SessionServer::shutdown`]. TCP_NODELAY is always set.
    pub async fn serve(&self, listener: TcpListener) {
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        if let Err(error) = stream.set_nodelay(true) {
                            tracing::debug!(%peer, %error, "a connection broke at once");
                            continue;
                        }
                        let server = SessionServer { core: Arc::clone(&self.core) };
                        tokio::spawn(async move { server.accept(stream, Some(peer)).await });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "no connection can be accepted; trying again");
                        tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
                    }
                },
                _ = sweep.tick() => self.sweep(),
                () = self.core.shutdown.notified() => return,
            }
        }
    }

    /// Serves one client over any stream, to its end. Turned away at once when there are too many connections, all with sessions.
    pub async fn accept<T>(&self, stream: T, peer: Option<SocketAddr>)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let Some(place) = self.core.admission.enter(peer) else {
            tracing::warn!(?peer, "a client was turned away: there are as many connections as there may be");
            return;
        };
        let opened = tokio::select! {
            biased;
            () = place.must_leave() => {
                tracing::debug!(?peer, "a connection whose channel was not open made room for another one");
                return;
            }
            opened = self.open(stream, peer, &place) => opened,
        };
        if let Some(channel) = opened {
            ServerConnection::new(Arc::clone(&self.core), channel, place).serve().await;
        }
    }

    async fn open<T>(
        &self,
        stream: T,
        peer: Option<SocketAddr>,
        place: &ConnectionSlot,
    ) -> Option<ServerChannel>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        // A burst of clients waits for its turn; who waits is a socket and nothing else.
        let turn = tokio::time::timeout(self.core.channel.handshake_max, place.turn());
        let Ok(Some(_turn)) = turn.await else {
            tracing::warn!(?peer, "a client was turned away: too many connections are half open");
            return None;
        };
        let channel_id = self.core.next_channel_id();
        let (settings, offers) = (Arc::clone(&self.core.channel), Arc::clone(&self.core.offers));
        // Boxed: what opening needs is not kept for as long as the connection lives.
        let opened = Box::pin(ServerChannel::accept(stream, peer, settings, offers, channel_id)).await;
        opened.inspect_err(|error| tracing::info!(?peer, %error, "a channel was not opened")).ok()
    }

    /// Ends sessions whose time is over. [`SessionServer::serve`] does so by itself.
    pub fn sweep(&self) {
        for token in self.core.sessions.overdue(&self.core.settings.limits) {
            self.core.close_session(&token, CloseReason::Timeout);
        }
    }

    /// How many sessions there are, activated or not.
    pub fn session_count(&self) -> usize {
        self.core.sessions.len()
    }

    /// How many channels are open.
    pub fn channel_count(&self) -> usize {
        self.core.open().len()
    }

    /// What stands behind the sessions.
    pub fn service(&self) -> &Arc<S> {
        &self.core.service
    }

    /// Ends all sessions and channels, and [`SessionServer::serve`].
    pub fn shutdown(&self) {
        self.core.shutdown.notify_one();
        for token in self.core.sessions.all() {
            self.core.close_session(&token, CloseReason::Shutdown);
        }
        for closing in self.core.open().values() {
            closing.notify_one();
        }
    }
}

impl<S: SessionHandler> ServerCore<S> {
    /// See [`endpoint::as_asked`].
    pub(super) fn endpoints_as_asked(&self, asked: &str) -> Vec<EndpointDescription> {
        endpoint::as_asked(&self.endpoints, self.channel.own.certificate(), asked)
    }

    fn next_channel_id(&self) -> u32 {
        loop {
            let id = self.next_channel_id.fetch_add(1, Ordering::Relaxed);
            if id != 0 && !self.open().contains_key(&id) {
                return id;
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u32, Arc<Notify>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A channel is open: what will tell it to close.
    pub(super) fn channel_opened(&self, channel: u32) -> Arc<Notify> {
        let closing = Arc::new(Notify::new());
        self.open().insert(channel, Arc::clone(&closing));
        closing
    }

    /// A channel has ended, and with it sessions that only it could have activated.
    pub(super) fn channel_ended(&self, channel: u32) {
        self.open().remove(&channel);
        self.service.channel_closed(channel);
        for token in self.sessions.unactivated_on(channel) {
            self.sessions.remove(&token);
        }
    }

    /// Tells a channel to close.
    pub(super) fn close_channel(&self, channel: u32) {
        if let Some(closing) = self.open().get(&channel) {
            closing.notify_one();
        }
    }

    /// Ends a session; the service hears of it once, if it was activated.
    pub(super) fn close_session(&self, token: &AuthenticationToken, reason: CloseReason) -> bool {
        let Some(entry) = self.sessions.remove(token) else { return false };
        if let Some(active) = entry.active() {
            self.service.closed(active, reason);
        }
        true
    }
}

impl<S: SessionHandler> Clone for SessionServer<S> {
    fn clone(&self) -> SessionServer<S> {
        SessionServer { core: Arc::clone(&self.core) }
    }
}

impl<S: SessionHandler> fmt::Debug for SessionServer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("settings", &self.core.settings).finish_non_exhaustive()
    }
}
