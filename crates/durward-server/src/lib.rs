//! The network surface of the decision point: the REST profile of XACML 3.0, SAPL's decisions over HTTP and RSocket,
//! health, metrics, the decision log and policies that are watched while they serve.
//!
//! [`Server::bind`] reads the policies, opens the socket and starts nothing yet; [`Server::serve`] answers until it
//! is told to stop, then finishes what is under way. The clock and the runtime are the caller's; further workers,
//! each a thread with a runtime of its own, are started as [`ServerSettings::workers`] says.
//!
//! Folders: `surfaces` (one for each protocol, none knows another) and `serve`, which alone knows all of them. What they stand on is in
//! `durward-common`, surfaces for logins and tokens in `durward-logins`, settings in `durward-settings`. `ARCHITECTURE.md` has the
//! table, and a test compares it with the sources.
//!
//! What is not here: no decision is made (that is `durward-pdp`), no flag or environment variable is read (that is
//! the binary), and over XACML's surfaces nobody is authenticated except by TLS client certificates, or where `auth.guards` says so.

mod serve;
mod surfaces;

pub use durward_common::access::auth::{SecretDigestError, digest_of_secret};
pub use durward_common::access::issued::KeyStore;
pub use durward_common::access::sessions::{account_in, read_cluster_secret, start_sessions};
pub use durward_common::base::Clock;
pub use durward_common::base::log::{LineWriter, LogError, LogHandle, start_log, start_log_on};
pub use durward_common::decider;
pub use durward_common::policies::PolicyLoadError;
pub use durward_common::policies::policy_watch::PolicyWatch;
pub use durward_logins::surfaces::login_page;
pub use durward_logins::surfaces::openam::ROUTES as OPENAM_ROUTES;
pub use durward_settings::{
    AskedIn, AttributeHttpSettings, AttributeJwtSettings, AttributeLdapSettings, AttributeSettings,
    AttributeSourceSettings, AuditSyncs, AuthSettings, AuthzenActionSettings, AuthzenEntitySettings,
    AuthzenLanguage, AuthzenReasons, AuthzenSaplSettings, AuthzenSettings, AuthzenXacmlSettings, BeyondMax,
    BoundSubjects, BrokerSettings, BundleSettings, CallerSettings, ClientDpop, ClientGrant, ConfigError,
    CookieSameSite, DecisionLogSettings, DoorAllow, DoorExtension, DoorIdentity, DoorRouteSettings,
    DoorsSettings, ForwardedBy, Guarded, IdentitySettings, JwtSettings, KubernetesErrors, KubernetesSettings,
    LdapDepth, LdapFollow, LdapMemberIs, LdapSourceSettings, LdapUserSettings, LimitSettings, ListenSettings,
    ListenSurface, LogFormat, LogLevel, LogSettings, LoggedDecisions, NatsCalloutSettings, NatsStoreSettings,
    Network, NetworkParseError, NoDoorIdentity, NoPathTemplate, NoTemplate, OauthClientSettings,
    OauthSettings, OpaSettings, OpaShape, OpcuaAuthoritySettings, OpcuaGateSettings, OpcuaReachSettings,
    OpcuaResourceSettings, OpcuaSettings, OpenamApplicationSettings, OpenamSettings, OtlpSettings, Overrides,
    PagesSettings, PasskeysSettings, PathTemplate, PlanSettings, PolicySettings, PolicySource, Redaction,
    RemoteBundleSettings, RemoteMode, ResetSettings, RsocketSettings, SaplSettings, SchemaSettings,
    ScimSettings, SecondStepAt, ServerSettings, SessionMode, Settings, SourceSettings, StoredProperties,
    SubjectsAssertedBy, Template, TlsSettings, TokenAlgorithm, UpstreamClientAuth, UpstreamLinkBy,
    UpstreamSettings, UserSettings, WORKERS_AUTOMATIC_MAX, WithoutStore, XacmlSettings,
};
pub use serve::reload::SettingsWatch;
pub use serve::routes::{ROUTES, Route};
pub use serve::server::{Listeners, Served, Server, StartError};
pub use surfaces::health::probe::{Probed, ProbedHealth, metrics_text, serve_probe};
pub use surfaces::opa::ROUTES as OPA_ROUTES;
