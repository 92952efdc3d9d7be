//! The authorization service as a server: its address space behind sessions, its heartbeats.

use std::sync::Arc;
use std::time::Duration;

use opcua_types::{MessageSecurityMode, StatusCode};
use tokio::net::TcpListener;

use super::follow::PublishedCutoffs;
use super::identify::SESSION_TOKEN_TYPE;
use super::issue::TokenRequestRefused;
use super::service::AuthorizationService;
use super::subjects::Credential;
use super::{Authority, AuthorityNodes, CallerUser, MethodCaller, NODE_TABLE_BYTES_MAX, serve};
use crate::channel::ChannelSettings;
use crate::crypto::{SecurityPolicy, random_bytes};
use crate::error::Error;
use crate::plant::{HostService, PlantHost, UserLogin};
use crate::session::{
    ActivationAttempt, Endpoint, ServerLimits, ServerSettings, SessionServer, UserIdentity, UserTokenKind,
};

/// The longest that a heartbeat is late, as a part of its interval.
const BEAT_PARTS: u32 = 4;
/// The shortest time between two looks for heartbeats that are due.
const BEAT_MIN: Duration = Duration::from_millis(10);

/// Bytes of a request: a node table, and what is around it.
const MESSAGE_BYTES_MAX: u32 = NODE_TABLE_BYTES_MAX as u32 + 64 * 1024;
/// Sessions that only registered gates may have: a gate needs one, and one more while it reconnects.
const SESSIONS_RESERVED: usize = 256;
/// Sessions of one application.
const SESSIONS_PER_CLIENT_MAX: usize = 512;

/// A running authorization service.
pub struct AuthorizationServer {
    service: AuthorizationService,
    server: SessionServer<HostService<AuthorityAccess>>,
    host: Arc<PlantHost>,
    nodes: AuthorityNodes,
}

impl AuthorizationServer {
    /// Puts a service behind sessions.
    ///
    /// # Errors
    /// As of [`SessionServer::new`]; the service has a server already.
    pub fn new(
        settings: ServerSettings,
        service: AuthorizationService,
    ) -> Result<AuthorizationServer, Error> {
        let clock = Arc::clone(&service.inner.parts.clock);
        // Random bits fail where the system has none: a request under zeros is still bound to its session.
        let chance = || random_bytes().unwrap_or_default();
        let wrong = |error: crate::plant::SpaceError| {
            Error::new(StatusCode::BadConfigurationError, error.to_string())
        };
        let (space, nodes) =
            serve(&settings.application_uri, Arc::new(service.clone()), chance, clock()).map_err(wrong)?;
        let host = PlantHost::new(space, move || clock());
        service.inner.ledger.show(Arc::clone(&host), PublishedCutoffs::new(&nodes))?;
        let entrance = HostService::new(Arc::clone(&host), AuthorityAccess(service.clone()));
        let server = SessionServer::new(settings, Arc::new(entrance))?;
        Ok(AuthorizationServer { service, server, host, nodes })
    }

    /// The usual settings: every sound policy, encrypted; applications alone, names with passwords, certificates, durward sessions.
    pub fn settings(channel: ChannelSettings, application_uri: &str, endpoint_url: &str) -> ServerSettings {
        let kinds = [
            UserTokenKind::Anonymous,
            UserTokenKind::UserName,
            UserTokenKind::Certificate,
            UserTokenKind::Issued {
                token_type: SESSION_TOKEN_TYPE.to_owned(),
                issuer_endpoint_url: String::new(),
            },
        ];
        // A node table is the largest that is sent; every other request is small, and anybody who is trusted may send one.
        let mut channel = channel;
        let receive = &mut channel.limits.receive;
        receive.message_bytes_max = receive.message_bytes_max.min(MESSAGE_BYTES_MAX);
        let endpoint = |policy| Endpoint::new(policy, MessageSecurityMode::SignAndEncrypt, &kinds);
        ServerSettings {
            channel,
            application_uri: application_uri.to_owned(),
            product_uri: "urn:durward:opcua".to_owned(),
            application_name: "durward authorization service".to_owned(),
            endpoint_url: endpoint_url.to_owned(),
            endpoints: SecurityPolicy::SECURE.into_iter().map(endpoint).collect(),
            limits: ServerLimits {
                sessions_reserved: SESSIONS_RESERVED,
                sessions_per_client_max: SESSIONS_PER_CLIENT_MAX,
                ..ServerLimits::default()
            },
        }
    }

    /// Serves clients and gates, until [`AuthorizationServer::shutdown`].
    pub async fn serve(&self, listener: TcpListener) {
        tokio::select! {
            () = self.server.serve(listener) => {}
            () = self.host.run() => {}
            () = self.beat() => {}
        }
    }

    /// Lets the service's time pass.
    async fn beat(&self) {
        let every = (self.service.inner.settings.protocol.heartbeat_interval / BEAT_PARTS).max(BEAT_MIN);
        let mut interval = tokio::time::interval(every);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let inner = Arc::clone(&self.service.inner);
            // May wait for the disk.
            let ticked = tokio::task::spawn_blocking(move || inner.ledger.tick(inner.now())).await;
            if let Err(error) = ticked {
                tracing::error!(%error, "a heartbeat of the authorization service failed");
            }
        }
    }

    /// Ends sessions, channels and [`AuthorizationServer::serve`].
    pub fn shutdown(&self) {
        self.server.shutdown();
    }

    /// The service.
    pub fn service(&self) -> &AuthorizationService {
        &self.service
    }

    /// The ids of its nodes.
    pub fn nodes(&self) -> &AuthorityNodes {
        &self.nodes
    }

    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.server.session_count()
    }
}

/// Who may have a session with the service: every application that is trusted, users who prove to be one.
struct AuthorityAccess(AuthorizationService);

impl UserLogin for AuthorityAccess {
    fn is_preferred(&self, certificate: &[u8]) -> bool {
        self.0.inner.is_gate(certificate)
    }

    async fn login(&self, attempt: ActivationAttempt<'_, CallerUser>) -> Result<CallerUser, StatusCode> {
        let inner = Arc::clone(&self.0.inner);
        let (application, now) = (attempt.session.client.application_uri.clone(), attempt.moment);
        let identity = attempt.identity;
        let check = move || {
            let credential = match &identity {
                UserIdentity::Anonymous => return Ok(Ok(CallerUser::Anonymous)),
                UserIdentity::UserName { name, password } => Credential::Password { name, password },
                UserIdentity::Certificate(certificate) => Credential::Certificate(certificate),
                UserIdentity::Issued { token, .. } => Credential::Session(token),
            };
            Ok(inner.login(&application, &credential, now))
        };
        let user = self.0.inner.parts.workers.run_long(check).await.map_err(|error| error.status())?;
        user.map_err(|refusal| {
            let TokenRequestRefused { status, reason, .. } = refusal.into();
            self.0.inner.figures.count_refused(reason);
            status
        })
    }

    fn opened(&self, caller: &MethodCaller) {
        if self.0.may_follow(caller) {
            self.0.inner.figures.gate_came();
        }
    }

    fn closed(&self, caller: &MethodCaller) {
        if self.0.may_follow(caller) {
            self.0.inner.figures.gate_left();
        }
    }
}
