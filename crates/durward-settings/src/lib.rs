//! What an operator may set: `durward.toml`, section by section, each with its default and the reason for it.
//!
//! `docs/configuration.md` says the same in a table; a test compares the two. Unknown names are errors: a limit
//! misspelt is a limit not set.

mod auth;
mod authzen;
mod brokers;
mod bundles;
mod callers;
mod checks;
mod database_address;
pub mod doors;
pub mod doors_path;
mod dpop;
mod entities;
mod environment;
mod identity;
mod kubernetes;
mod ldap;
mod listen;
mod log;
mod names;
mod nats;
mod nats_callout;
mod network;
mod oauth;
mod opa;
mod opcua;
mod openam;
mod openam_policies;
mod otlp;
mod pages;
mod passkeys;
mod plan;
mod policies;
mod read;
mod reset;
mod sapl;
mod scim;
mod server;
mod typed;
pub mod upstream;
pub mod words;
mod xacml;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

pub use auth::{AuthSettings, Guarded, UserSettings, is_tenant};
pub use authzen::{
    AuthzenActionSettings, AuthzenLanguage, AuthzenReasons, AuthzenSaplSettings, AuthzenSettings,
    AuthzenXacmlSettings, NoTemplate, StoredProperties, Template,
};
pub use brokers::BrokerSettings;
pub use bundles::{BundleSettings, RemoteBundleSettings, RemoteMode};
pub use callers::CallerSettings;
pub use database_address::{DatabaseAddress, DatabaseAddressError, DatabaseServer};
pub use doors::{DoorAllow, DoorExtension, DoorIdentity, DoorRouteSettings, DoorsSettings, NoDoorIdentity};
pub use doors_path::{NoPathTemplate, PathTemplate};
pub use dpop::{BoundSubjects, ClientDpop};
pub use durward_sources::{
    AttributeHttpSettings, AttributeJwtSettings, AttributeLdapSettings, AttributeSettings,
    AttributeSourceSettings, JwtSettings, LdapDepth, LdapSourceSettings, SourceSettings,
};
pub use entities::AuthzenEntitySettings;
pub use environment::Overrides;
pub use identity::{
    AuditSyncs, BeyondMax, IdentitySettings, SecondStepAt, SessionMode, SubjectsAssertedBy, WithoutStore,
};
pub use kubernetes::{KubernetesErrors, KubernetesSettings};
pub use ldap::{LdapFollow, LdapMemberIs, LdapUserSettings};
pub use listen::{ListenSettings, ListenSurface, SurfaceSet};
pub use log::{DecisionLogSettings, LogFormat, LogLevel, LogSettings, LogTarget, LoggedDecisions, Redaction};
pub use nats::NatsStoreSettings;
pub use nats_callout::NatsCalloutSettings;
pub use network::{Network, NetworkParseError};
pub use oauth::{ClientGrant, OauthClientSettings, OauthSettings, TokenAlgorithm, is_scope};
pub use opa::{OpaSettings, OpaShape};
pub use opcua::{
    OpcuaAuthoritySettings, OpcuaGateSettings, OpcuaReachSettings, OpcuaResourceSettings, OpcuaSettings,
};
pub use openam::{CookieSameSite, OpenamSettings, WebOrigin};
pub use openam_policies::{AskedIn, OpenamApplicationSettings};
pub use otlp::OtlpSettings;
pub use pages::PagesSettings;
pub use passkeys::PasskeysSettings;
pub use plan::PlanSettings;
pub use policies::{LimitSettings, PolicySettings, PolicySource, SchemaSettings};
pub use read::{ConfigError, line_and_column};
pub use reset::ResetSettings;
pub use sapl::{RsocketSettings, SaplSettings};
pub use scim::ScimSettings;
pub use server::{ForwardedBy, ServerSettings, TlsSettings, WORKERS_AUTOMATIC_MAX};
pub use upstream::{UpstreamClientAuth, UpstreamLinkBy, UpstreamSettings};
pub use xacml::XacmlSettings;

/// Everything that can be set. [`Settings::default`] is what an empty `durward.toml` means.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The socket and its limits.
    pub server: ServerSettings,
    /// Further addresses to listen on.
    pub listen: Vec<ListenSettings>,
    /// Which policies are in force, and how they are watched.
    pub policies: PolicySettings,
    /// Whose bundles of policies are taken.
    pub bundles: BundleSettings,
    /// Where bundles are fetched from.
    pub remote_bundles: RemoteBundleSettings,
    /// How large policies and requests may be.
    pub limits: LimitSettings,
    /// Habits of XACML's clients.
    pub xacml: XacmlSettings,
    /// SAPL's decisions over HTTP.
    pub sapl: SaplSettings,
    /// Decisions for clients of AuthZEN.
    pub authzen: AuthzenSettings,
    /// Decisions for clients of the Open Policy Agent.
    pub opa: OpaSettings,
    /// Logins and permissions for message brokers.
    pub brokers: BrokerSettings,
    /// Authorization for Kubernetes.
    pub kubernetes: KubernetesSettings,
    /// Decisions for gateways.
    pub doors: DoorsSettings,
    /// SAPL's decisions over RSocket.
    pub rsocket: RsocketSettings,
    /// Plans over HTTP.
    pub plan: PlanSettings,
    /// Who may ask over SAPL's protocols.
    pub auth: AuthSettings,
    /// Users, logins and sessions.
    pub identity: IdentitySettings,
    /// The REST calls of OpenAM.
    pub openam: OpenamSettings,
    /// Tokens for other services.
    pub oauth: OauthSettings,
    /// Access control for OPC UA.
    pub opcua: OpcuaSettings,
    /// The record of decisions.
    pub decision_log: DecisionLogSettings,
    /// What operators read.
    pub log: LogSettings,
    /// Where traces and decisions are sent.
    pub otlp: OtlpSettings,
    /// Attributes that every request has unless it brings its own.
    pub attributes: Vec<AttributeSettings>,
    /// Where policies get attributes from over the network.
    pub sources: SourceSettings,
}

impl Settings {
    /// What is wrong with settings that are each well-formed: limits of zero, limits that contradict each other.
    ///
    /// # Errors
    /// The first contradiction, in the words of the file.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.server.check()?;
        self.check_listeners()?;
        self.limits.check()?;
        self.policies.check()?;
        self.check_bundles()?;
        self.decision_log.check()?;
        self.otlp.check()?;
        self.xacml.check()?;
        self.sapl.check()?;
        self.rsocket.check()?;
        self.plan.check()?;
        self.authzen.check(&self.identity)?;
        self.kubernetes.check(&self.auth)?;
        self.opa.check(&self.auth)?;
        self.brokers.check(&self.identity, &self.auth)?;
        self.doors.check()?;
        self.auth.check()?;
        self.identity.check(&self.oauth)?;
        self.identity.scim.check(&self.identity, &self.auth)?;
        self.identity.reset.check(&self.identity, &self.oauth)?;
        self.openam.check()?;
        self.opcua.check()?;
        self.oauth.check()?;
        self.check_callers()?;
        self.sources.check()?;
        for attribute in &self.attributes {
            attribute.check(&self.sources)?;
        }
        Ok(())
    }

    fn check_listeners(&self) -> Result<(), ConfigError> {
        let mut before: Vec<SocketAddr> = vec![self.server.listen];
        for listen in &self.listen {
            listen.check(&before)?;
            before.push(listen.address);
        }
        Ok(())
    }

    /// Whether only programs of this machine can ask for decisions.
    #[inline]
    fn is_for_this_machine(&self) -> bool {
        self.server.is_for_this_machine()
            && !self.listen.iter().any(ListenSettings::brings_others_to_decisions)
    }

    /// Policies of nobody in particular are not taken by mistake.
    fn check_bundles(&self) -> Result<(), ConfigError> {
        self.bundles.check()?;
        let source = self.policies.source;
        if source == PolicySource::RemoteBundles {
            self.remote_bundles.check()?;
        }
        if source.is_bundled() && !self.bundles.has_trust() {
            let message = "comes in bundles, and there is no key to verify them with: set `bundles.public_key_path`, \
                           or `bundles.tenants` with `bundles.key_paths`";
            return Err(ConfigError::of_setting("policies.source", message.into()));
        }
        Ok(())
    }

    /// `/pdp` is not opened to other machines by mistake. Asked when a server starts: the addresses in a file are not the last word.
    pub fn check_reach(&self) -> Result<(), ConfigError> {
        if self.auth.guards(Guarded::Pdp) || self.auth.danger_allow_no_auth || self.xacml.danger_allow_no_auth
        {
            return Ok(());
        }
        let server = &self.server;
        let first = ("server.listen", server.listen, &server.surfaces, server.tls.as_ref());
        let more =
            self.listen.iter().map(|one| ("listen.address", one.address, &one.surfaces, one.tls.as_ref()));
        for (setting, address, surfaces, tls) in std::iter::once(first).chain(more) {
            let is_open = !address.ip().is_loopback()
                && surfaces.contains(&ListenSurface::Decisions)
                && tls.is_none_or(|tls| tls.client_authorities.is_none());
            if is_open {
                let message = format!(
                    "is {address}, and whoever reaches it could ask `/pdp`: set `auth.guards = [\"pdp\"]` with `[[auth.users]]` or \
                     `[auth.jwt]`, or `client_authorities` of its TLS, or say `xacml.danger_allow_no_auth = true`"
                );
                return Err(ConfigError::of_setting(setting, message));
            }
        }
        Ok(())
    }

    /// SAPL's protocols are not served to just anybody by mistake.
    fn check_callers(&self) -> Result<(), ConfigError> {
        let surface = match (self.sapl.http, self.rsocket.is_on(), self.authzen.on) {
            (Some(true), _, _) => "sapl.http",
            (Some(false) | None, true, _) => "rsocket",
            (Some(false) | None, false, Some(true)) => "authzen.on",
            (Some(false) | None, false, Some(false) | None) => return Ok(()),
        };
        if self.auth.has_a_way() {
            return Ok(());
        }
        let message = "is on, and nobody can authenticate: name `[[auth.users]]` or `[auth.jwt]`, or say \
                       `auth.danger_allow_no_auth = true`";
        Err(ConfigError::of_setting(surface, message.into()))
    }

    /// Whether SAPL's decisions are answered over HTTP. What is not said is yes where only this machine can connect.
    #[inline]
    pub fn answers_sapl(&self) -> bool {
        self.sapl.http.unwrap_or_else(|| self.is_for_this_machine())
    }

    /// Whether SAPL's decisions are answered to whoever can connect, because nothing is set and only this machine can.
    pub fn answers_sapl_to_this_machine(&self) -> bool {
        self.sapl.http.is_none() && self.is_for_this_machine() && !self.auth.has_a_way()
    }

    /// Whether clients of AuthZEN are answered. What is not said is yes where only this machine can connect.
    #[inline]
    pub fn answers_authzen(&self) -> bool {
        self.authzen.on.unwrap_or_else(|| self.is_for_this_machine())
    }

    /// As [`Settings::answers_sapl_to_this_machine`].
    pub fn answers_authzen_to_this_machine(&self) -> bool {
        self.authzen.on.is_none() && self.is_for_this_machine() && !self.auth.has_a_way()
    }

    /// Who may ask over SAPL's protocols: what is set, or else what [`Settings::answers_sapl_to_this_machine`] says. RSocket is not
    /// opened by that: without anything in `[auth]` it does not start.
    pub fn callers(&self) -> AuthSettings {
        let danger_allow_no_auth = self.auth.danger_allow_no_auth
            || self.answers_sapl_to_this_machine()
            || self.answers_authzen_to_this_machine();
        AuthSettings { danger_allow_no_auth, addresses: self.addresses(), ..self.auth.clone() }
    }

    /// At which addresses callers reach this server; the issuer is one of them.
    pub fn addresses(&self) -> Vec<String> {
        let named = &self.auth.addresses;
        if named.is_empty() { self.oauth.issuer.iter().cloned().collect() } else { named.clone() }
    }

    /// What is allowed but weak: said in the log at the start and in `/health/ready` for as long as it is so.
    pub fn weaknesses(&self) -> Vec<String> {
        let mut weak = self.server.weaknesses(self.auth.guards(Guarded::Pdp));
        weak.extend(self.listen.iter().filter_map(ListenSettings::weaknesses));
        weak.extend(self.decision_log.weaknesses());
        if self.policies.source.is_bundled() {
            weak.extend(self.bundles.weaknesses());
        }
        if self.policies.source == PolicySource::RemoteBundles {
            weak.extend(self.remote_bundles.weaknesses());
        }
        weak.extend(self.oauth.weaknesses());
        weak.extend(self.authzen.weaknesses());
        weak.extend(self.kubernetes.weaknesses());
        weak.extend(self.brokers.weaknesses());
        weak.extend(self.doors.weaknesses());
        if self.openam.on {
            weak.extend(self.openam.weaknesses());
        }
        if self.answers_sapl() || self.answers_authzen() || self.rsocket.is_on() {
            weak.extend(self.rsocket.weaknesses());
            weak.extend(self.auth.weaknesses());
        }
        weak.extend(self.identity.weaknesses());
        weak.extend(self.sources.weaknesses());
        weak
    }
}

impl Settings {
    /// The names of settings that have another value in the other ones.
    pub fn differences(&self, other: &Settings) -> Vec<String> {
        let (own, others) = (values_of(self), values_of(other));
        let names: BTreeSet<&String> = own.keys().chain(others.keys()).collect();
        names.into_iter().filter(|name| own.get(*name) != others.get(*name)).cloned().collect()
    }
}

/// The full names of all settings that have a value, such as `server.listen`.
fn names_of(settings: &Settings) -> Vec<String> {
    values_of(settings).into_keys().collect()
}

/// The same with their values.
fn values_of(settings: &Settings) -> BTreeMap<String, toml::Value> {
    let mut values = BTreeMap::new();
    let mut tables = vec![(String::new(), toml::Table::try_from(settings).unwrap_or_default())];
    while let Some((prefix, table)) = tables.pop() {
        for (name, value) in table {
            let name = format!("{prefix}{name}");
            if let toml::Value::Table(table) = value {
                tables.push((name + ".", table));
            } else {
                values.insert(name, value);
            }
        }
    }
    values
}
