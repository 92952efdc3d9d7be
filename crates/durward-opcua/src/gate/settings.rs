//! What a gate is set to.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_identity::jwt::{JWT_LENGTH_MAX, VerifyingKeys};
use opcua_types::{MessageSecurityMode, NodeId, ObjectId};
use serde_json::json;

use super::audit::{GateAudit, GateAuditLog};
use super::mediate;
use super::users::{UserKinds, UserRights};
use crate::authority::AUTHORITY_NAMESPACE;
use crate::channel::{ChannelSettings, SecurityOffer};
use crate::crypto::{SecurityPolicy, TokenSecurity};
use crate::permission::Permission;
use crate::protocol;
use crate::session::{
    ClientIdentity, Endpoint, PinnedApplication, ServerLimits, ServerSettings, SessionClientSettings,
    TokenPolicy, UserTokenKind,
};
use crate::token::{LiveDecider, StalenessLimits, TOKEN_SKEW_DEFAULT, TableNode, TokenVerifier};

/// The type of issued tokens that are accepted (Part 6, 6.5.2).
pub const JWT: &str = "http://opcfoundation.org/UA/UserToken#JWT";
/// How tokens are got: by methods of an OPC UA server (Part 6, 6.5.2.2).
const PROFILE: &str = "http://opcfoundation.org/UA/Authorization#OPCUA";

/// How clients send their tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TokenEncryption {
    /// Encrypted to the gate, whatever the channel.
    #[default]
    Always,
    /// In plain inside channels that encrypt, encrypted where the channel only signs. Safe because a token is bound to the client's
    /// certificate; saves an RSA operation for each 200 bytes.
    OnceInEncryptedChannels,
}

/// What sessions without a user may do. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct AnonymousRights {
    /// On all nodes.
    pub everywhere: Vec<Permission>,
    /// On these nodes as well.
    pub nodes: Vec<(TableNode, Vec<Permission>)>,
}

/// The server behind the gate.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// Its URL.
    pub url: String,
    /// What the gate is for it: a client with this certificate, and whom it expects there.
    pub client: SessionClientSettings,
    /// Security policy and mode; the best where nothing is said.
    pub wish: Option<SecurityOffer>,
    /// As whom the gate comes.
    pub identity: ClientIdentity,
    /// Talks to the server without any security, whatever it offers. Who can reach that server or the wire to it goes around the gate.
    pub danger_upstream_without_security: bool,
    /// How long to wait after the first failed attempt to connect; twice as long after each further one.
    pub backoff_min: Duration,
    /// How long at most.
    pub backoff_max: Duration,
    /// How long a Publish may wait for its response where the client does not say.
    pub publish_max: Duration,
}

impl UpstreamSettings {
    /// An anonymous gate before this server, with security.
    pub fn new(url: impl Into<String>, client: SessionClientSettings) -> UpstreamSettings {
        UpstreamSettings {
            url: url.into(),
            client,
            wish: None,
            identity: ClientIdentity::Anonymous,
            danger_upstream_without_security: false,
            backoff_min: Duration::from_millis(250),
            backoff_max: Duration::from_secs(30),
            publish_max: Duration::from_secs(24 * 3_600),
        }
    }
}

/// The authorization service, as the gate follows it.
#[derive(Clone, Debug)]
pub struct GateAuthoritySettings {
    /// Its URL.
    pub url: String,
    /// What the gate is for it: a client with the certificate that the service knows for this resource.
    pub client: SessionClientSettings,
    /// Which application it is; nothing: the one with the issuer's URI ([`GateSettings::issuer`]). Whoever else answers there could keep back that
    /// tokens were recalled.
    pub server: Option<PinnedApplication>,
    /// As whom the gate comes.
    pub identity: ClientIdentity,
    /// Recalled rights are served no longer than this: the gate asks for cutoffs and heartbeats at four fifths of it.
    pub publishing_interval: Duration,
    /// As of [`UpstreamSettings`].
    pub backoff_min: Duration,
    /// As of [`UpstreamSettings`].
    pub backoff_max: Duration,
}

impl GateAuthoritySettings {
    /// Follows this service every 250 ms.
    pub fn new(url: impl Into<String>, client: SessionClientSettings) -> GateAuthoritySettings {
        GateAuthoritySettings {
            url: url.into(),
            client,
            server: None,
            identity: ClientIdentity::Anonymous,
            publishing_interval: Duration::from_millis(250),
            backoff_min: Duration::from_millis(250),
            backoff_max: Duration::from_secs(30),
        }
    }
}

/// How the nodes of the server are found.
#[derive(Clone, Debug)]
pub struct TableSettings {
    /// Where browsing begins. These are in the table, and so is the root folder.
    pub roots: Vec<NodeId>,
    /// Nodes at most. With more, the table has those that were found first, and the log says so.
    pub nodes_max: usize,
    /// Nodes browsed by one request.
    pub batch: usize,
    /// How often the NamespaceArray is looked at; a change has the nodes browsed again.
    pub look_every: Duration,
    /// How often the nodes are browsed again in any case.
    pub browse_every: Option<Duration>,
}

impl Default for TableSettings {
    fn default() -> TableSettings {
        TableSettings {
            roots: vec![NodeId::from(ObjectId::ObjectsFolder)],
            nodes_max: 100_000,
            batch: 100,
            look_every: Duration::from_secs(10),
            browse_every: None,
        }
    }
}

/// Everything that a gate is set to.
#[derive(Clone)]
pub struct GateSettings {
    /// Certificate, trust, clock, sizes: towards clients.
    pub channel: ChannelSettings,
    /// The gate's ApplicationUri, as in its certificate. Also the resource that tokens are for.
    pub application_uri: String,
    /// The product's URI.
    pub product_uri: String,
    /// The application's name.
    pub application_name: String,
    /// The URL that clients are told.
    pub endpoint_url: String,
    /// Security policies and modes that clients may use.
    pub offers: Vec<SecurityOffer>,
    /// Bounds on connections and sessions.
    pub limits: ServerLimits,
    /// The issuer of tokens: the ServiceUri of the authorization service.
    pub issuer: String,
    /// The URL of the authorization service, which clients are told.
    pub authority_url: String,
    /// The issuer's public keys. Replaced while the gate runs by [`Gate::set_keys`](super::Gate::set_keys).
    pub keys: VerifyingKeys,
    /// How clients send their tokens.
    pub token_encryption: TokenEncryption,
    /// The longest token, in characters.
    pub token_length_max: usize,
    /// The longest life of a token. Cutoffs are kept for so long.
    pub token_lifetime_max: Duration,
    /// How far ahead of the gate's clock a token may have been issued.
    pub token_skew: Duration,
    /// How long rights outlive the last word of the authorization service.
    pub reach: StalenessLimits,
    /// How far ahead of the gate's clock messages of the authorization service may be dated.
    pub feed_skew: Duration,
    /// How often cutoffs are asked for while some are missing.
    pub ask_interval: Duration,
    /// What sessions without a user may do; `None` lets none in.
    pub anonymous: Option<AnonymousRights>,
    /// Whether every session, whatever its token says, may browse and read the server's state, its NamespaceArray and its limits: clients look at
    /// them to connect, and connect again for ever where they may not.
    pub shows_server_state: bool,
    /// The server behind the gate.
    pub upstream: UpstreamSettings,
    /// The authorization service; without, whoever runs the gate hands over what it says by [`Gate::hear`](super::Gate::hear).
    pub authority: Option<GateAuthoritySettings>,
    /// How much one session may make the gate keep.
    pub mediation: mediate::MediatorLimits,
    /// Subscriptions that outlive their session, of all clients together. Above: they end with it.
    pub orphans_max: usize,
    /// How long a subscription without a session waits for one.
    pub orphan_max: Duration,
    /// How the nodes of the server are found.
    pub table: TableSettings,
    /// Decides what depends on live values; without, that is refused.
    pub live: Option<Arc<dyn LiveDecider>>,
    /// Fetches rights for users without a token; without, none is let in.
    pub users: Option<Arc<dyn UserRights>>,
    /// Where events go.
    pub audit: Arc<dyn GateAudit>,
    /// What the machine counts since any moment, whatever its wall clock is set to.
    pub uptime: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl GateSettings {
    /// The usual gate: all secure policies, tokens of an hour at most, nobody without a token.
    pub fn new(
        channel: ChannelSettings,
        application_uri: impl Into<String>,
        upstream: UpstreamSettings,
        issuer: impl Into<String>,
        keys: VerifyingKeys,
    ) -> GateSettings {
        let modes = [MessageSecurityMode::Sign, MessageSecurityMode::SignAndEncrypt];
        let offers = SecurityPolicy::SECURE.into_iter();
        let offers = offers.flat_map(|policy| modes.map(|mode| SecurityOffer { policy, mode })).collect();
        let began = Instant::now();
        GateSettings {
            uptime: Arc::new(move || began.elapsed()),
            channel,
            application_uri: application_uri.into(),
            product_uri: "urn:durward:opcua:gate".to_owned(),
            application_name: "durward gate".to_owned(),
            endpoint_url: "opc.tcp://localhost:4840".to_owned(),
            offers,
            limits: ServerLimits::default(),
            issuer: issuer.into(),
            authority_url: String::new(),
            keys,
            token_encryption: TokenEncryption::default(),
            token_length_max: JWT_LENGTH_MAX,
            token_lifetime_max: Duration::from_secs(3_600),
            token_skew: TOKEN_SKEW_DEFAULT,
            reach: StalenessLimits::new(Duration::from_secs(3)),
            feed_skew: TOKEN_SKEW_DEFAULT,
            ask_interval: Duration::from_secs(1),
            anonymous: None,
            shows_server_state: true,
            upstream,
            authority: None,
            mediation: mediate::MediatorLimits::default(),
            orphans_max: 1_000,
            orphan_max: Duration::from_secs(3_600),
            table: TableSettings::default(),
            live: None,
            users: None,
            audit: Arc::new(GateAuditLog),
        }
    }

    pub(super) fn verifier(&self, keys: VerifyingKeys) -> TokenVerifier {
        let mut verifier =
            TokenVerifier::new(keys, &self.issuer, &self.application_uri, self.token_lifetime_max);
        (verifier.token_length_max, verifier.skew) = (self.token_length_max, self.token_skew);
        verifier
    }

    pub(super) fn machine(&self) -> protocol::GateTimings {
        protocol::GateTimings {
            reach: self.reach,
            skew: self.feed_skew,
            token_lifetime_max: self.token_lifetime_max,
            ask_interval: self.ask_interval,
            has_anonymous: self.anonymous.is_some(),
        }
    }

    pub(super) fn server(&self) -> ServerSettings {
        let mut limits = self.limits.clone();
        // A token is at most four times as long encrypted: one block of RSA for each 200 bytes, beside it a nonce.
        limits.secret_bytes_max = limits.secret_bytes_max.min(self.token_length_max.saturating_mul(4));
        ServerSettings {
            channel: self.channel.clone(),
            application_uri: self.application_uri.clone(),
            product_uri: self.product_uri.clone(),
            application_name: self.application_name.clone(),
            endpoint_url: self.endpoint_url.clone(),
            endpoints: self.offers.iter().map(|offer| self.endpoint(*offer)).collect(),
            limits,
        }
    }

    fn endpoint(&self, offer: SecurityOffer) -> Endpoint {
        let issuer_endpoint_url = self.issuer_endpoint();
        let mut kinds = vec![UserTokenKind::Issued { token_type: JWT.to_owned(), issuer_endpoint_url }];
        let users = self.users.as_ref().map(|users| users.kinds());
        let users = users.unwrap_or(UserKinds { names: false, certificates: false });
        kinds.extend(users.names.then_some(UserTokenKind::UserName));
        kinds.extend(users.certificates.then_some(UserTokenKind::Certificate));
        kinds.extend(self.anonymous.is_some().then_some(UserTokenKind::Anonymous));
        let mut endpoint = Endpoint::new(offer.policy, offer.mode, &kinds);
        let once = self.token_encryption == TokenEncryption::OnceInEncryptedChannels
            && offer.mode == MessageSecurityMode::SignAndEncrypt;
        let is_issued = |policy: &&mut TokenPolicy| matches!(policy.kind, UserTokenKind::Issued { .. });
        if once && let Some(issued) = endpoint.tokens.iter_mut().find(is_issued) {
            issued.security = TokenSecurity::Plain;
        }
        endpoint
    }

    /// The JSON object that tells clients where to get a token (Part 6, 6.5.2.2), in the spelling of the standard and in that of
    /// the .NET stack.
    fn issuer_endpoint(&self) -> String {
        let token_endpoint = format!("nsu={AUTHORITY_NAMESPACE};s=AuthorizationService");
        json!({
            "ua:resourceId": self.application_uri,
            "ua:authorityUrl": self.authority_url,
            "ua:authorityProfileUri": PROFILE,
            "ua:tokenEndpoint": token_endpoint,
            "ua:authorizationEndpoint": null,
            "ua:requestTypes": ["implicit"],
            "ua:scopes": [],
            "ua:resourceUri": self.application_uri,
            "ua:authorityUri": self.authority_url,
            "ua:issuer": self.issuer,
            "ua:token_endpoint": token_endpoint,
        })
        .to_string()
    }
}

impl fmt::Debug for GateSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateSettings")
            .field("application_uri", &self.application_uri)
            .field("upstream", &self.upstream.url)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}
