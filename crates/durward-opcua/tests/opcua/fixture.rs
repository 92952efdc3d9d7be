//! A server and clients for tests of channels and sessions, over TCP on this machine.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use bytes::Bytes;
use durward_identity::Moment;
use durward_opcua::channel::{ChannelSettings, PeerRole, PeerTrust, SecurityOffer, Workers};
use durward_opcua::crypto::{KeyLength, OwnCertificate, SecretFormat, SecurityPolicy};
use durward_opcua::error::Error;
use durward_opcua::pki::{CertificateDraft, self_signed};
use durward_opcua::session::{
    Activation, ActivationAttempt, ActiveSession, ClientIdentity, ClientSession, CloseReason, Endpoint,
    ExpectedServer, ServerLimits, ServerSettings, SessionCall, SessionClientSettings, SessionHandler,
    SessionInfo, SessionServer, UserIdentity, UserTokenKind,
};
use durward_opcua::wire;
use opcua_types::{
    DataValue, MessageSecurityMode, ObjectId, ReadRequest, ReadResponse, RequestHeader, StatusCode, Variant,
};
use tokio::net::TcpListener;
use tokio::sync::Notify;

pub(crate) const JWT: &str = "http://opcfoundation.org/UA/UserToken#JWT";

/// 2026-06-01.
pub(crate) const NOW: Moment = Moment::from_s(1_780_272_000);

pub(crate) static SERVER: LazyLock<OwnCertificate> = LazyLock::new(|| own("urn:test:server"));
pub(crate) static CLIENT: LazyLock<OwnCertificate> = LazyLock::new(|| own("urn:test:client"));
pub(crate) static OTHER: LazyLock<OwnCertificate> = LazyLock::new(|| own("urn:test:other"));

pub(crate) fn draft(uri: &str) -> CertificateDraft {
    CertificateDraft {
        application_uri: uri.to_owned(),
        common_name: uri.rsplit(':').next().unwrap().to_owned(),
        organization: "durward".to_owned(),
        hosts: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
        valid_from: NOW,
        valid_for: Duration::from_secs(86_400 * 365),
    }
}

pub(crate) fn own(uri: &str) -> OwnCertificate {
    self_signed(&draft(uri), KeyLength::Rsa2048).unwrap()
}

/// Trusts everybody: what is tested is not trust.
pub(crate) struct Anybody;

impl PeerTrust for Anybody {
    fn check(&self, _chain: &[&[u8]], _role: PeerRole, _moment: Moment) -> Result<(), Error> {
        Ok(())
    }
}

pub(crate) fn channel_settings(own: &OwnCertificate) -> ChannelSettings {
    ChannelSettings::new(own.clone(), Arc::new(Anybody), Arc::new(|| NOW), Workers::new(2))
}

/// What an attempt to authenticate looked like to the service.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) session: u64,
    pub(crate) application_uri: String,
    pub(crate) thumbprint: String,
    pub(crate) policy_id: String,
    pub(crate) identity: String,
    pub(crate) locales: Vec<String>,
    pub(crate) again: Option<String>,
}

/// Users are strings. Reads answer with the user's name; Publish waits for ever.
#[derive(Default)]
pub(crate) struct Plant {
    pub(crate) seen: Mutex<Vec<Seen>>,
    pub(crate) closed: Mutex<Vec<(u64, CloseReason)>>,
    pub(crate) changed: Mutex<Vec<String>>,
    pub(crate) sessions: Mutex<Vec<Arc<ActiveSession<Plant>>>>,
    /// A user called `slow` is authenticated when this is notified.
    pub(crate) release: Notify,
}

impl SessionHandler for Plant {
    type User = String;
    type State = ();

    async fn authenticate(&self, attempt: ActivationAttempt<'_, String>) -> Result<String, StatusCode> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (user, identity) = match &attempt.identity {
            UserIdentity::Anonymous => (Some("anonymous".to_owned()), "anonymous".to_owned()),
            UserIdentity::UserName { name, password } => {
                let right = text(password) == format!("{name}'s password");
                (right.then(|| name.clone()), format!("{name}/{}", text(password)))
            }
            UserIdentity::Certificate(certificate) => {
                (certificate.application_uri().map(str::to_owned), certificate.thumbprint_hex())
            }
            UserIdentity::Issued { token, token_type } => (
                text(token).strip_prefix("token of ").map(str::to_owned),
                format!("{token_type} {}", text(token)),
            ),
        };
        self.seen.lock().unwrap().push(Seen {
            session: attempt.session.number,
            application_uri: attempt.session.client.application_uri.clone(),
            thumbprint: attempt.session.client.certificate.thumbprint_hex(),
            policy_id: attempt.policy_id.to_owned(),
            identity,
            locales: attempt.locales.clone(),
            again: match attempt.activation {
                Activation::First => None,
                Activation::Again { current } => Some(current.to_string()),
            },
        });
        if user.as_deref() == Some("slow") {
            self.release.notified().await;
        }
        user.ok_or(StatusCode::BadUserAccessDenied)
    }

    fn same_user(&self, current: &String, next: &String) -> bool {
        current == next
    }

    async fn opened(&self, _session: &SessionInfo, user: &Arc<String>) -> Result<(), StatusCode> {
        if user.as_str() == "homeless" { Err(StatusCode::BadServerNotConnected) } else { Ok(()) }
    }

    fn user_changed(&self, session: &Arc<ActiveSession<Plant>>) {
        self.changed.lock().unwrap().push(session.user().to_string());
    }

    async fn answer(&self, call: SessionCall<Plant>) -> Result<Bytes, StatusCode> {
        let owned = wire::context();
        if call.request.type_id == ObjectId::PublishRequest_Encoding_DefaultBinary as u32 {
            self.sessions.lock().unwrap().push(call.session);
            return std::future::pending().await;
        }
        if call.request.type_id != ObjectId::ReadRequest_Encoding_DefaultBinary as u32 {
            return Err(StatusCode::BadServiceUnsupported);
        }
        let request: ReadRequest =
            wire::decode_service(&owned.context(), &call.body).map_err(|error| error.status())?;
        // `max_age` asks for a large response, so many bytes, or a late one, so many milliseconds.
        if request.max_age < 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(-request.max_age / 1_000.0)).await;
        }
        let value = match request.max_age as usize {
            0 => call.user.to_string(),
            size => "x".repeat(size),
        };
        let response = ReadResponse {
            response_header: wire::response_header(call.request.handle, StatusCode::Good, NOW),
            results: Some(vec![DataValue::value_only(Variant::from(value))]),
            diagnostic_infos: None,
        };
        wire::encode_service(&owned.context(), &response).map_err(|error| error.status())
    }

    fn closed(&self, session: &Arc<ActiveSession<Plant>>, reason: CloseReason) {
        self.closed.lock().unwrap().push((session.info().number, reason));
    }
}

pub(crate) fn kinds() -> Vec<UserTokenKind> {
    vec![
        UserTokenKind::Anonymous,
        UserTokenKind::UserName,
        UserTokenKind::Certificate,
        UserTokenKind::Issued { token_type: JWT.to_owned(), issuer_endpoint_url: "{}".to_owned() },
    ]
}

pub(crate) fn server_settings() -> ServerSettings {
    let modes = [MessageSecurityMode::Sign, MessageSecurityMode::SignAndEncrypt];
    let offers = SecurityPolicy::SECURE.into_iter().flat_map(|policy| modes.map(|mode| (policy, mode)));
    ServerSettings {
        channel: channel_settings(&SERVER),
        application_uri: "urn:test:server".to_owned(),
        product_uri: "urn:test".to_owned(),
        application_name: "test".to_owned(),
        endpoint_url: "opc.tcp://localhost:4840".to_owned(),
        endpoints: offers.map(|(policy, mode)| Endpoint::new(policy, mode, &kinds())).collect(),
        limits: ServerLimits::default(),
    }
}

pub(crate) struct Running {
    pub(crate) server: SessionServer<Plant>,
    pub(crate) plant: Arc<Plant>,
    pub(crate) address: SocketAddr,
}

impl Running {
    pub(crate) async fn start() -> Running {
        Running::with(server_settings()).await
    }

    pub(crate) async fn with(settings: ServerSettings) -> Running {
        let plant = Arc::new(Plant::default());
        let server = SessionServer::new(settings, Arc::clone(&plant)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = server.clone();
        tokio::spawn(async move { serving.serve(listener).await });
        Running { server, plant, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("opc.tcp://{}", self.address)
    }

    pub(crate) async fn connect(&self, offer: SecurityOffer) -> ClientSession {
        ClientSession::connect(&self.url(), Some(offer), client_settings()).await.unwrap()
    }

    /// A session on the usual endpoint, activated without a user.
    pub(crate) async fn anonymous(&self) -> ClientSession {
        let session = self.connect(USUAL).await;
        session.activate(&ClientIdentity::Anonymous).await.unwrap();
        session
    }
}

pub(crate) const USUAL: SecurityOffer =
    SecurityOffer { policy: SecurityPolicy::Basic256Sha256, mode: MessageSecurityMode::SignAndEncrypt };

pub(crate) fn client_settings() -> SessionClientSettings {
    client_settings_of(&CLIENT)
}

pub(crate) fn client_settings_of(own: &OwnCertificate) -> SessionClientSettings {
    SessionClientSettings {
        channel: Arc::new(channel_settings(own)),
        application_uri: own.certificate().application_uri().unwrap().to_owned(),
        server: ExpectedServer::default(),
        product_uri: "urn:test".to_owned(),
        application_name: "client".to_owned(),
        session_name: "session".to_owned(),
        session_timeout: Duration::from_secs(60),
        request_max: Duration::from_secs(10),
        locale_ids: Vec::new(),
        secret_format: SecretFormat::Legacy,
        keep_alive: None,
    }
}

pub(crate) fn user(name: &str) -> ClientIdentity {
    ClientIdentity::UserName { name: name.to_owned(), password: format!("{name}'s password").into() }
}

pub(crate) fn issued(name: &str) -> ClientIdentity {
    ClientIdentity::Issued { token: format!("token of {name}").into_bytes().into() }
}

pub(crate) fn read_request(size: f64) -> ReadRequest {
    ReadRequest {
        request_header: RequestHeader::default(),
        max_age: size,
        timestamps_to_return: opcua_types::TimestampsToReturn::Neither,
        nodes_to_read: None,
    }
}

/// As whom the server sees the session.
pub(crate) async fn whoami(session: &ClientSession) -> Result<String, Error> {
    let response: ReadResponse = session.call(&read_request(0.0)).await?;
    match response.results.unwrap().remove(0).value {
        Some(Variant::String(text)) => Ok(text.as_ref().to_owned()),
        other => panic!("no string: {other:?}"),
    }
}

/// The status code that it failed with.
pub(crate) fn status<T: std::fmt::Debug>(result: Result<T, Error>) -> StatusCode {
    result.unwrap_err().status()
}
