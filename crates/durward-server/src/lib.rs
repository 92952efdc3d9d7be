//! The network surface of the decision point: the REST profile of XACML 3.0, SAPL's decisions over HTTP and RSocket,
//! health, metrics, the decision log and policies that are watched while they serve.
//!
//! [`Server::bind`] reads the policies, opens the socket and starts nothing yet; [`Server::serve`] answers until it
//! is told to stop, then finishes what is under way. The clock and the runtime are the caller's; further workers,
//! each a thread with a runtime of its own, are started as [`ServerSettings::workers`] says.
//!
//! [`client`] asks another server, over the same protocols.
//!
//! What is not here: no decision is made (that is `durward-pdp`), no flag or environment variable is read (that is
//! the binary), and over XACML's surfaces nobody is authenticated except by TLS client certificates.

mod attributes;
mod auth;
pub mod client;
mod connection;
mod decision_log;
mod http;
mod identity;
mod limits;
mod listener;
mod log;
mod metrics;
mod oauth;
mod openam;
mod percent;
mod policies;
mod policy_watch;
mod probe;
pub mod rsocket;
pub mod sapl;
mod server;
mod settings;
pub mod sources;
mod state;
mod subject;
mod tls;
mod wire;

use std::sync::Arc;
use std::time::SystemTime;

pub use auth::digest_of_secret;
pub use http::routes::{ROUTES, Route};
pub use identity::start_sessions;
pub use log::start_log;
pub use oauth::KeyStore;
pub use openam::ROUTES as OPENAM_ROUTES;
pub use policy_watch::PolicyWatch;
pub use probe::{Probed, ProbedHealth, metrics_text, serve_probe};
pub use server::{Served, Server, StartError};
pub use settings::{
    AttributeHttpSettings, AttributeJwtSettings, AttributeLdapSettings, AttributeSettings,
    AttributeSourceSettings, AuditSyncs, AuthSettings, BeyondMax, BundleSettings, ClientGrant, ConfigError,
    DecisionLogSettings, ForwardedBy, IdentitySettings, JwtSettings, LdapDepth, LdapFollow, LdapMemberIs,
    LdapSourceSettings, LdapUserSettings, LimitSettings, LogFormat, LogLevel, LogSettings, NatsStoreSettings,
    Network, OauthClientSettings, OauthSettings, OpcuaAuthoritySettings, OpcuaGateSettings,
    OpcuaReachSettings, OpcuaResourceSettings, OpcuaSettings, OpenamSettings, PolicySettings, PolicySource,
    Redaction, RemoteBundleSettings, RemoteMode, RsocketSettings, SaplSettings, SchemaSettings, SecondStepAt,
    ServerSettings, SessionMode, Settings, SourceSettings, TlsSettings, TokenAlgorithm, UserSettings,
    WORKERS_AUTOMATIC_MAX, WithoutStore, XacmlSettings,
};
pub use sources::attributes;

/// Gives the time: of decisions, of log lines, of the age of policies. Usually `Arc::new(SystemTime::now)`.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;
