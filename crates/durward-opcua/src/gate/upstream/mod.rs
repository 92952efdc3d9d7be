//! Sessions with the server behind the gate: one for each session of a client, and one to look at its nodes.

mod plain;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use opcua_types::{BinaryDecodable, BinaryEncodable, EndpointDescription, MessageInfo, StatusCode};

use super::settings::UpstreamSettings;
use crate::channel::ClientChannel;
use crate::error::Error;
use crate::session::{ClientSession, choose, connect_channel, discover};
use plain::PlainSession;

/// A session with the server.
pub(super) enum UpstreamSession {
    Secure(ClientSession),
    /// Without security: the server has none.
    Plain(Box<PlainSession>),
}

/// Finds the server and opens sessions.
pub(super) struct Upstream {
    pub(super) settings: UpstreamSettings,
    found: ArcSwapOption<DiscoveredServer>,
}

/// What discovery said: kept until a session cannot be opened by it.
struct DiscoveredServer {
    endpoints: Vec<EndpointDescription>,
    chosen: EndpointDescription,
    is_secure: bool,
}

impl Upstream {
    /// # Errors
    /// `BadConfigurationError`: settings that want security and none.
    pub(super) fn new(settings: UpstreamSettings) -> Result<Upstream, Error> {
        let wants_security = settings.wish.is_some() || settings.client.server.pin.is_some();
        if settings.danger_upstream_without_security && wants_security {
            return Err(Error::new(
                StatusCode::BadConfigurationError,
                "without security nothing proves which application a server is: remove `danger_upstream_without_security`, or the pin and \
                 the wished security policy",
            ));
        }
        Ok(Upstream { settings, found: ArcSwapOption::empty() })
    }

    /// Opens a session and activates it. What was discovered before is tried first, then the server is asked again.
    pub(super) async fn open(&self) -> Result<UpstreamSession, Error> {
        if let Some(found) = self.found.load_full() {
            match self.open_at(&found).await {
                Ok(session) => return Ok(session),
                Err(error) => tracing::debug!(%error, "the server's endpoints are asked for again"),
            }
        }
        let found = Arc::new(self.discover().await?);
        let session = self.open_at(&found).await?;
        self.found.store(Some(found));
        Ok(session)
    }

    async fn discover(&self) -> Result<DiscoveredServer, Error> {
        let settings = &self.settings;
        let endpoints = discover(&settings.url, &settings.client).await?;
        let chosen = choose(&endpoints, settings.wish);
        // What is answered without security decides nothing about security: whoever left endpoints out would be told the gate's password.
        if settings.danger_upstream_without_security {
            let offers_security = chosen.is_ok();
            let chosen = plain::endpoint(&endpoints).cloned().ok_or_else(|| {
                Error::new(
                    StatusCode::BadSecurityPolicyRejected,
                    "the server has no endpoint without security: remove `danger_upstream_without_security`",
                )
            })?;
            tracing::warn!(
                url = settings.url,
                offers_security,
                "the gate talks to a server without security"
            );
            return Ok(DiscoveredServer { chosen, is_secure: false, endpoints });
        }
        let chosen = chosen.cloned().map_err(|error| {
            Error::new(
                error.status(),
                format!(
                    "{}: the server offers no security that is supported here; `danger_upstream_without_security` \
                     has the gate talk to it without any",
                    error.reason()
                ),
            )
        })?;
        Ok(DiscoveredServer { chosen, is_secure: true, endpoints })
    }

    async fn open_at(&self, found: &DiscoveredServer) -> Result<UpstreamSession, Error> {
        let settings = &self.settings;
        if !found.is_secure {
            let session = PlainSession::open(&settings.url, &found.chosen, settings).await?;
            return Ok(UpstreamSession::Plain(Box::new(session)));
        }
        let channel = connect_channel(&settings.url, &found.chosen, &settings.client).await?;
        let mut client = settings.client.clone();
        // The server would end a session whose client is idle; the client's own session decides when it is.
        client.keep_alive = client.keep_alive.or(Some(client.session_timeout / 3));
        let session = ClientSession::create(channel, found.chosen.clone(), &found.endpoints, client).await?;
        session.activate(&settings.identity).await?;
        Ok(UpstreamSession::Secure(session))
    }

    /// Moves a session to a new channel, where its own broke.
    pub(super) async fn rejoin(&self, session: &UpstreamSession) -> Result<(), Error> {
        let settings = &self.settings;
        match session {
            UpstreamSession::Secure(session) => {
                let channel = connect_channel(&settings.url, session.endpoint(), &settings.client).await?;
                session.activate_on(channel, &settings.identity).await
            }
            UpstreamSession::Plain(session) => session.rejoin(&settings.url, settings).await,
        }
    }
}

impl UpstreamSession {
    /// The authentication token, as it stands in requests.
    pub(super) fn token(&self) -> &[u8] {
        match self {
            UpstreamSession::Secure(session) => session.authentication_token(),
            UpstreamSession::Plain(session) => session.token(),
        }
    }

    /// Whether somebody has to keep the session alive now. A secure one keeps itself alive.
    pub(super) fn is_ping_due(&self) -> bool {
        match self {
            UpstreamSession::Secure(_) => false,
            UpstreamSession::Plain(session) => session.is_ping_due(),
        }
    }

    /// The channel now.
    pub(super) fn channel(&self) -> Arc<ClientChannel> {
        match self {
            UpstreamSession::Secure(session) => session.channel(),
            UpstreamSession::Plain(session) => session.channel(),
        }
    }

    /// Sends a request of the gate's own.
    pub(super) async fn call<Q, R>(&self, request: &Q) -> Result<R, Error>
    where
        Q: BinaryEncodable + MessageInfo + Sync,
        R: BinaryDecodable + MessageInfo,
    {
        match self {
            UpstreamSession::Secure(session) => session.call(request).await,
            UpstreamSession::Plain(session) => session.call(request).await,
        }
    }

    /// Closes session and channel.
    pub(super) async fn close(&self, delete_subscriptions: bool) {
        let closed = match self {
            UpstreamSession::Secure(session) => session.close(delete_subscriptions).await,
            UpstreamSession::Plain(session) => session.close(delete_subscriptions).await,
        };
        if let Err(error) = closed {
            tracing::debug!(%error, "an upstream session was not closed in order");
        }
    }
}

/// Whether a status says that the server does not have the session any more.
pub(super) fn is_session_lost(status: StatusCode) -> bool {
    [
        StatusCode::BadSessionIdInvalid,
        StatusCode::BadSessionClosed,
        StatusCode::BadSessionNotActivated,
        StatusCode::BadIdentityChangeNotSupported,
    ]
    .contains(&status)
}

/// What a client is told of an error between gate and server: nothing that would speak of its own channel.
pub(super) fn told(status: StatusCode) -> StatusCode {
    let own = [
        StatusCode::BadTimeout,
        StatusCode::BadResponseTooLarge,
        StatusCode::BadRequestTooLarge,
        StatusCode::BadEncodingLimitsExceeded,
    ];
    if own.contains(&status) { status } else { StatusCode::BadServerNotConnected }
}
