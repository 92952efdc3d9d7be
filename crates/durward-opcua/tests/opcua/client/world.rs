//! A plant that takes tokens, an authorization service that gives them, and a wire between that can be cut.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use durward_identity::Moment;
use durward_opcua::authority::{
    AccessTokenRequest, Authority, CallerSessionId, CallerUser, FinishRequest, MethodCaller, NodeTableUpload,
    RefreshRequest, Reply, Resource, ServiceDescription, StartRequest, Tokens, serve,
};
use durward_opcua::channel::ChannelSettings;
use durward_opcua::client::{JWT_TOKEN_TYPE, TokenClientSettings};
use durward_opcua::crypto::{OwnCertificate, SecurityPolicy, TokenSecurity};
use durward_opcua::plant::{PlantHost, boiler};
use durward_opcua::session::{
    ActivationAttempt, ActiveSession, CloseReason, Endpoint, PinnedApplication, ServerSettings, SessionCall,
    SessionHandler, SessionInfo, SessionServer, UserIdentity, UserTokenKind,
};
use opcua_types::{ByteString, DateTime, MessageSecurityMode, StatusCode, UserTokenPolicy, UserTokenType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};

use crate::fixture::{CLIENT, NOW, SERVER, channel_settings, client_settings_of, own, server_settings};

static AUTHORITY: LazyLock<OwnCertificate> = LazyLock::new(|| own("urn:test:authority"));
static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Time passes here.
pub(super) fn clock() -> Moment {
    NOW.plus(BEGIN.elapsed())
}

fn channel(own: &OwnCertificate) -> ChannelSettings {
    ChannelSettings { clock: Arc::new(clock), ..channel_settings(own) }
}

/// A token: what a JWT looks like, with a signature that says whether it is one.
pub(super) fn token(subject: &str, audience: &str, number: u64, lifetime: Duration) -> String {
    let seconds = |moment: Moment| moment.ms() as f64 / 1_000.0;
    let claims = serde_json::json!({
        "sub": subject, "aud": audience, "jti": number, "iat": seconds(clock()), "exp": seconds(clock().plus(lifetime)),
    });
    let part = |json: &str| URL_SAFE_NO_PAD.encode(json);
    format!("{}.{}.{}", part("{}"), part(&claims.to_string()), part("signed"))
}

/// What the resource's server makes of a token.
pub(super) struct Bearer {
    user: CallerUser,
    ends: Option<Moment>,
}

/// A server of nodes behind sessions.
pub(super) struct Nodes {
    pub(super) host: Arc<PlantHost>,
    /// Whether no token is taken.
    pub(super) refuses: AtomicBool,
    /// The channels that activations came over.
    pub(super) activations: Mutex<Vec<u32>>,
    /// The policies under which tokens came.
    pub(super) policies: Mutex<Vec<String>>,
    /// The session that asked last.
    pub(super) last: Mutex<Option<Arc<ActiveSession<Nodes>>>>,
}

impl Nodes {
    fn caller(session: &SessionInfo, bearer: &Bearer) -> MethodCaller {
        MethodCaller {
            session: CallerSessionId(session.number),
            certificate: Some(Arc::from(session.client.certificate.der())),
            application_uri: Arc::from(session.client.application_uri.as_str()),
            user: bearer.user.clone(),
            encrypted: session.security_mode == MessageSecurityMode::SignAndEncrypt,
        }
    }
}

impl SessionHandler for Nodes {
    type User = Bearer;
    type State = ();

    async fn authenticate(&self, attempt: ActivationAttempt<'_, Bearer>) -> Result<Bearer, StatusCode> {
        self.activations.lock().unwrap().push(attempt.channel.id);
        self.policies.lock().unwrap().push(attempt.policy_id.to_owned());
        if self.refuses.load(Ordering::Relaxed) {
            return Err(StatusCode::BadIdentityTokenRejected);
        }
        let token = match &attempt.identity {
            UserIdentity::Anonymous => return Ok(Bearer { user: CallerUser::Anonymous, ends: None }),
            UserIdentity::Issued { token, token_type } if token_type == JWT_TOKEN_TYPE => token.clone(),
            _ => return Err(StatusCode::BadIdentityTokenInvalid),
        };
        let text = String::from_utf8(token.to_vec()).unwrap();
        let parts: Vec<_> = text.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
        let claims: serde_json::Value = serde_json::from_slice(&parts[1]).unwrap();
        let ends = Moment::from_ms((claims["exp"].as_f64().unwrap() * 1_000.0) as u64);
        if parts[2] != b"signed" || claims["aud"] != "urn:test:plc" || ends <= clock() {
            return Err(StatusCode::BadIdentityTokenRejected);
        }
        Ok(Bearer { user: CallerUser::Token(Arc::from(claims["sub"].as_str().unwrap())), ends: Some(ends) })
    }

    fn same_user(&self, current: &Bearer, next: &Bearer) -> bool {
        current.user == next.user
    }

    async fn opened(&self, _session: &SessionInfo, _user: &Arc<Bearer>) -> Result<(), StatusCode> {
        Ok(())
    }

    fn user_changed(&self, session: &Arc<ActiveSession<Nodes>>) {
        self.host.change_user(&Nodes::caller(session.info(), &session.user()));
    }

    async fn answer(&self, call: SessionCall<Nodes>) -> Result<Bytes, StatusCode> {
        if call.user.ends.is_some_and(|ends| ends <= clock()) {
            return Err(StatusCode::BadUserAccessDenied);
        }
        let caller = Nodes::caller(call.session.info(), &call.user);
        *self.last.lock().unwrap() = Some(Arc::clone(&call.session));
        self.host.answer(&caller, call.request.type_id, &call.body).await.map(Bytes::from)
    }

    fn closed(&self, session: &Arc<ActiveSession<Nodes>>, reason: CloseReason) {
        let delete =
            matches!(reason, CloseReason::Client { delete_subscriptions: true } | CloseReason::Shutdown);
        self.host.close_session(CallerSessionId(session.info().number), delete);
    }
}

/// A server that runs, and can be ended.
pub(super) struct Running {
    pub(super) server: SessionServer<Nodes>,
    pub(super) address: SocketAddr,
    tasks: [AbortHandle; 2],
    serving: Option<JoinHandle<()>>,
}

impl Running {
    async fn start(
        at: Option<SocketAddr>,
        settings: ServerSettings,
        server: durward_opcua::plant::PlantServer,
    ) -> Running {
        let host = PlantHost::new(server, clock);
        let nodes = Nodes {
            host: Arc::clone(&host),
            refuses: AtomicBool::new(false),
            activations: Mutex::default(),
            policies: Mutex::default(),
            last: Mutex::default(),
        };
        let listener = TcpListener::bind(at.unwrap_or_else(|| "127.0.0.1:0".parse().unwrap())).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = SessionServer::new(settings, Arc::new(nodes)).unwrap();
        let serving = server.clone();
        let serving = tokio::spawn(async move { serving.serve(listener).await });
        let ticking = tokio::spawn(async move { host.run().await });
        Running {
            server,
            address,
            tasks: [serving.abort_handle(), ticking.abort_handle()],
            serving: Some(serving),
        }
    }

    pub(super) async fn stop(&mut self) {
        self.server.shutdown();
        self.tasks[1].abort();
        if let Some(serving) = self.serving.take() {
            tokio::time::timeout(Duration::from_secs(5), serving).await.unwrap().unwrap();
        }
    }

    pub(super) fn url(&self) -> String {
        format!("opc.tcp://{}", self.address)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.shutdown();
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// Gives tokens to everybody, for as long as it is set to.
pub(super) struct Issuer {
    pub(super) lifetime: Duration,
    pub(super) denies: AtomicBool,
    issued: AtomicU64,
    pub(super) asked: Mutex<Vec<&'static str>>,
}

impl Issuer {
    pub(super) fn new(lifetime: Duration) -> Arc<Issuer> {
        Arc::new(Issuer {
            lifetime,
            denies: AtomicBool::new(false),
            issued: AtomicU64::new(0),
            asked: Mutex::default(),
        })
    }

    fn give(&self, how: &'static str, caller: &MethodCaller, resource: &str) -> Result<String, StatusCode> {
        self.asked.lock().unwrap().push(how);
        if self.denies.load(Ordering::Relaxed) {
            return Err(StatusCode::BadUserAccessDenied);
        }
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        Ok(token(&caller.application_uri, resource, number, self.lifetime))
    }

    fn tokens(&self, how: &'static str, caller: &MethodCaller, resource: &str) -> Result<Tokens, StatusCode> {
        let access_token = self.give(how, caller, resource)?;
        let expiry = DateTime::ymd(2030, 1, 1);
        Ok(Tokens {
            access_token,
            access_token_expiry: expiry,
            refresh_token: format!("refresh {}", self.issued.load(Ordering::Relaxed)),
            refresh_token_expiry: expiry,
        })
    }
}

fn reply<T: Send + 'static>(result: Result<T, StatusCode>) -> Reply<T> {
    Box::pin(std::future::ready(result))
}

impl Authority for Issuer {
    fn describe(&self) -> ServiceDescription {
        ServiceDescription {
            service_uri: "urn:test:authority".to_owned(),
            service_certificate: AUTHORITY.certificate().der().to_vec(),
            user_token_policies: vec![UserTokenPolicy {
                policy_id: "anonymous".into(),
                token_type: UserTokenType::Anonymous,
                ..UserTokenPolicy::default()
            }],
        }
    }

    fn resource(&self, resource_id: &str) -> Option<Resource> {
        (resource_id == "urn:test:plc").then_some(Resource { certificate: None })
    }

    fn request_access_token(
        &self,
        caller: &MethodCaller,
        request: AccessTokenRequest,
        _now: Moment,
    ) -> Reply<String> {
        reply(self.give("request", caller, &request.resource_id))
    }

    fn start_request_token(
        &self,
        _caller: &MethodCaller,
        request: &StartRequest,
        _now: Moment,
    ) -> Reply<ByteString> {
        assert_eq!(request.policy_id, "anonymous");
        reply(Ok(ByteString::null()))
    }

    fn finish_request_token(
        &self,
        caller: &MethodCaller,
        request: FinishRequest,
        _now: Moment,
    ) -> Reply<Tokens> {
        reply(self.tokens("finish", caller, &request.started.resource_id))
    }

    fn refresh_token(&self, caller: &MethodCaller, request: RefreshRequest, _now: Moment) -> Reply<Tokens> {
        let right = request.refresh_token == format!("refresh {}", self.issued.load(Ordering::Relaxed));
        let refused = Err(StatusCode::BadIdentityTokenRejected);
        reply(if right { self.tokens("refresh", caller, &request.resource_id) } else { refused })
    }

    fn publish_node_table(&self, _caller: &MethodCaller, _table: NodeTableUpload, _now: Moment) -> Reply<()> {
        reply(Ok(()))
    }

    fn ask_cutoffs(&self, _caller: &MethodCaller, _question: u64, _now: Moment) -> Reply<ByteString> {
        reply(Err(StatusCode::BadUserAccessDenied))
    }

    fn may_follow(&self, _caller: &MethodCaller) -> bool {
        false
    }
}

fn settings(of: &OwnCertificate, kinds: &[UserTokenKind], security: Option<TokenSecurity>) -> ServerSettings {
    let mut endpoint =
        Endpoint::new(SecurityPolicy::Basic256Sha256, MessageSecurityMode::SignAndEncrypt, kinds);
    if let Some(security) = security {
        endpoint.tokens.iter_mut().for_each(|token| token.security = security);
    }
    ServerSettings {
        channel: channel(of),
        application_uri: of.certificate().application_uri().unwrap().to_owned(),
        endpoints: vec![endpoint],
        ..server_settings()
    }
}

pub(super) async fn authority(at: Option<SocketAddr>, issuer: &Arc<Issuer>) -> Running {
    let chance = {
        let counter = AtomicU64::new(1);
        move || u128::from(counter.fetch_add(1, Ordering::Relaxed)).to_be_bytes()
    };
    let (server, _) = serve("urn:test:authority", Arc::clone(issuer), chance, clock()).unwrap();
    Running::start(at, settings(&AUTHORITY, &[UserTokenKind::Anonymous], None), server).await
}

/// How the resource is set up.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) issuer_endpoint_url: String,
    /// Policies for issued tokens that come before: their types and issuers.
    pub(super) before: Vec<(&'static str, &'static str)>,
    pub(super) security: TokenSecurity,
    pub(super) channel_lifetime: Option<Duration>,
}

impl Setup {
    /// As the standard spells it, sent once inside the encrypted channel.
    pub(super) fn new(authority: &Running) -> Setup {
        let said = serde_json::json!({
            "ua:resourceId": "urn:test:plc",
            "ua:authorityUrl": authority.url(),
            "ua:authorityProfileUri": "http://opcfoundation.org/UA/Authorization#OPCUA",
        });
        Setup {
            issuer_endpoint_url: said.to_string(),
            before: Vec::new(),
            security: TokenSecurity::Plain,
            channel_lifetime: None,
        }
    }
}

pub(super) async fn resource(at: Option<SocketAddr>, setup: &Setup) -> Running {
    let issued = |token_type: &str, issuer_endpoint_url: &str| UserTokenKind::Issued {
        token_type: token_type.to_owned(),
        issuer_endpoint_url: issuer_endpoint_url.to_owned(),
    };
    let mut kinds: Vec<UserTokenKind> =
        setup.before.iter().map(|(token_type, said)| issued(token_type, said)).collect();
    kinds.push(issued(JWT_TOKEN_TYPE, &setup.issuer_endpoint_url));
    let mut settings = settings(&SERVER, &kinds, Some(setup.security));
    for (number, token) in settings.endpoints.iter_mut().flat_map(|endpoint| &mut endpoint.tokens).enumerate()
    {
        token.id.push_str(&number.to_string());
    }
    if let Some(lifetime) = setup.channel_lifetime {
        (settings.channel.lifetime_min, settings.channel.lifetime_max) = (lifetime, lifetime);
    }
    Running::start(at, settings, boiler("urn:test:server", 5, clock()).unwrap()).await
}

pub(super) fn client(url: &str) -> TokenClientSettings {
    let mut session = client_settings_of(&CLIENT);
    session.channel = Arc::new(channel(&CLIENT));
    let mut settings = TokenClientSettings::new(url, session);
    (settings.patience, settings.retry_min) = (Duration::from_secs(10), Duration::from_millis(50));
    settings.retry_max = Duration::from_millis(200);
    settings.jitter = Arc::new(|| 75);
    settings.authority.server.pin = Some(PinnedApplication::ApplicationUri("urn:test:authority".to_owned()));
    settings
}

/// A wire that can be cut: what goes in on one side comes out on the other, until then.
pub(super) struct Wire {
    pub(super) address: SocketAddr,
    connections: Arc<Mutex<Vec<AbortHandle>>>,
    listening: AbortHandle,
}

impl Wire {
    pub(super) async fn to(server: SocketAddr) -> Wire {
        Wire::changing(server, Vec::new(), Vec::new()).await
    }

    /// Somebody on the wire changes bytes that the server sends, where they are not encrypted.
    pub(super) async fn changing(server: SocketAddr, from: Vec<u8>, to: Vec<u8>) -> Wire {
        assert_eq!(from.len(), to.len(), "lengths before the bytes would be wrong");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
        let made = Arc::clone(&connections);
        let listening = tokio::spawn(async move {
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let (from, to) = (from.clone(), to.clone());
                let copying = tokio::spawn(async move {
                    let mut far = TcpStream::connect(server).await.unwrap();
                    near.set_nodelay(true).unwrap();
                    far.set_nodelay(true).unwrap();
                    if from.is_empty() {
                        drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
                    } else {
                        change(near, far, &from, &to).await;
                    }
                });
                made.lock().unwrap().push(copying.abort_handle());
            }
        });
        Wire { address, connections, listening: listening.abort_handle() }
    }

    pub(super) fn url(&self) -> String {
        format!("opc.tcp://{}", self.address)
    }

    pub(super) fn cut(&self) {
        self.connections.lock().unwrap().drain(..).for_each(|connection| connection.abort());
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.listening.abort();
        self.cut();
    }
}

/// Passes bytes on, whole reads at a time: what is looked for comes in one, over loopback.
async fn change(mut near: TcpStream, mut far: TcpStream, from: &[u8], to: &[u8]) {
    let ((mut near_in, mut near_out), (mut far_in, mut far_out)) = (near.split(), far.split());
    let back = async {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = far_in.read(&mut buffer).await {
            for at in 0..count.saturating_sub(from.len() - 1) {
                if buffer[at..at + from.len()] == *from {
                    buffer[at..at + from.len()].copy_from_slice(to);
                }
            }
            if near_out.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! { _ = tokio::io::copy(&mut near_in, &mut far_out) => {}, () = back => {} }
}
