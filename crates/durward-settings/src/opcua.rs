//! Access control for OPC UA: what `durward opcua authority` and `durward opcua gate` are set to.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ConfigError, PolicySettings};

/// Bounds of a token's life.
const TOKEN_LIFETIME_S: std::ops::RangeInclusive<u64> = 10..=24 * 3_600;

/// How long rights may stay valid, in seconds, while the authorization service is out of reach.
const OUT_OF_REACH_S_MAX: u64 = 24 * 3_600;

/// Access control for OPC UA.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpcuaSettings {
    /// The authorization service.
    pub authority: OpcuaAuthoritySettings,
    /// The gate in front of a server.
    pub gate: OpcuaGateSettings,
}

/// The authorization service. It decides by `policies` for the users of `identity.users`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpcuaAuthoritySettings {
    /// Whether `durward serve` runs it as well, with the sessions that it has; else only `durward opcua authority` does. Default: no.
    pub in_serve: bool,
    /// The socket. Default: `127.0.0.1:4841`.
    pub listen: SocketAddr,
    /// The URL by which clients and gates reach it. Default: `opc.tcp://` and `listen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The directory of its certificate and of those that it trusts. Default: `pki-authority`.
    pub pki: PathBuf,
    /// The directory of its signing key, of the public keys (`jwks.json`, for gates) and of what was recalled. Default: `opcua-authority`.
    pub data: PathBuf,
    /// How long a token lives. Default: an hour.
    pub token_lifetime_s: u64,
    /// The realm of users who come by name and password, or by certificate. Default: `/`.
    pub realm: String,
    /// A directory laid out as `pki`: whose certificate is trusted there is the user whom its common name says. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_pki: Option<PathBuf>,
    /// The servers that tokens are for.
    pub resources: Vec<OpcuaResourceSettings>,
    /// The directory of the audit record. Default: none; events are in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<PathBuf>,
    /// How long a new signing key is published before it signs. Default: a day, in which gates get it.
    pub key_overlap_s: u64,
    /// The socket of `/metrics` and `/health`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_listen: Option<SocketAddr>,
}

/// A server that tokens are for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpcuaResourceSettings {
    /// Its resource id: the ApplicationUri of its gate.
    pub id: String,
    /// The certificate of its gate, DER or PEM. Without one, tokens carry roles and nothing else. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
}

/// The gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpcuaGateSettings {
    /// The socket. Default: `127.0.0.1:4840`.
    pub listen: SocketAddr,
    /// The URL by which clients reach it. Default: `opc.tcp://` and `listen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The directory of its certificate and of those that it trusts. Default: `pki-gate`.
    pub pki: PathBuf,
    /// The server behind the gate: `opc.tcp://plc:4840`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Which application that server is: its ApplicationUri, or the thumbprint of its certificate. Default: any that is trusted and has a
    /// certificate for the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_pin: Option<String>,
    /// Does not compare the host of `upstream` with those of the certificate. Default: no.
    pub danger_upstream_any_host_name: bool,
    /// As whom the gate comes to that server. Default: nobody in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_user: Option<String>,
    /// A file with that user's password, its first line. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_password_path: Option<PathBuf>,
    /// Talks to the server without any security, whatever it offers. Default: no.
    pub danger_upstream_without_security: bool,
    /// The URL of the authorization service. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// Which application the authorization service is: its ApplicationUri, or the thumbprint of its certificate. Default: `issuer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority_pin: Option<String>,
    /// Does not compare the host of `authority` with those of the certificate. Default: no.
    pub danger_authority_any_host_name: bool,
    /// The issuer of tokens: the ApplicationUri of the authorization service. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The public keys of the authorization service (`jwks.json`). Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<PathBuf>,
    /// The longest life of a token. Default: an hour.
    pub token_lifetime_s: u64,
    /// Whether clients encrypt tokens to the gate in channels that encrypt anyway, as they do in those that only sign. Default: no.
    pub encrypt_tokens_twice: bool,
    /// Whether every session may browse and read the server's state, its NamespaceArray and its limits. Default: yes.
    pub show_server_state: bool,
    /// How long rights hold while the authorization service is out of reach. Default: until their tokens end.
    pub out_of_reach: OpcuaReachSettings,
    /// The directory of the audit record. Default: none; events are in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<PathBuf>,
    /// The policies of the gate's own decision point, set like `policies`. Default: none, and what depends on live values is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<PolicySettings>,
    /// The socket of `/metrics` and `/health`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_listen: Option<SocketAddr>,
}

/// How long rights hold while the authorization service is out of reach, each kind for itself. Each use is audited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpcuaReachSettings {
    /// So long after the last word of the service, tokens that have not ended hold for reading. Default: until they end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_reading_s: Option<u64>,
    /// Likewise for writing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_writing_s: Option<u64>,
    /// Likewise for calling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_calling_s: Option<u64>,
    /// So long beyond its end a token is served for reading. Default: 0.
    pub grace_reading_s: u64,
    /// Likewise for writing.
    pub grace_writing_s: u64,
    /// Likewise for calling.
    pub grace_calling_s: u64,
}

impl OpcuaReachSettings {
    fn check(&self) -> Result<(), ConfigError> {
        let OpcuaReachSettings { hold_reading_s, hold_writing_s, hold_calling_s, .. } = *self;
        let OpcuaReachSettings { grace_reading_s, grace_writing_s, grace_calling_s, .. } = *self;
        for (name, seconds) in [
            ("hold_reading_s", hold_reading_s.unwrap_or_default()),
            ("hold_writing_s", hold_writing_s.unwrap_or_default()),
            ("hold_calling_s", hold_calling_s.unwrap_or_default()),
            ("grace_reading_s", grace_reading_s),
            ("grace_writing_s", grace_writing_s),
            ("grace_calling_s", grace_calling_s),
        ] {
            if seconds > OUT_OF_REACH_S_MAX {
                let message = format!("is {seconds}; there are at most {OUT_OF_REACH_S_MAX} seconds");
                return Err(ConfigError::of_setting(&format!("opcua.gate.out_of_reach.{name}"), message));
            }
        }
        Ok(())
    }
}

impl Default for OpcuaAuthoritySettings {
    fn default() -> OpcuaAuthoritySettings {
        OpcuaAuthoritySettings {
            in_serve: false,
            listen: SocketAddr::from(([127, 0, 0, 1], 4841)),
            url: None,
            pki: "pki-authority".into(),
            data: "opcua-authority".into(),
            token_lifetime_s: 3_600,
            realm: "/".to_owned(),
            user_pki: None,
            resources: Vec::new(),
            audit: None,
            key_overlap_s: 24 * 3_600,
            metrics_listen: None,
        }
    }
}

impl Default for OpcuaGateSettings {
    fn default() -> OpcuaGateSettings {
        OpcuaGateSettings {
            listen: SocketAddr::from(([127, 0, 0, 1], 4840)),
            url: None,
            pki: "pki-gate".into(),
            upstream: None,
            upstream_pin: None,
            danger_upstream_any_host_name: false,
            upstream_user: None,
            upstream_password_path: None,
            danger_upstream_without_security: false,
            authority: None,
            authority_pin: None,
            danger_authority_any_host_name: false,
            issuer: None,
            keys: None,
            token_lifetime_s: 3_600,
            encrypt_tokens_twice: false,
            show_server_state: true,
            out_of_reach: OpcuaReachSettings::default(),
            audit: None,
            policies: None,
            metrics_listen: None,
        }
    }
}

impl OpcuaSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let (least, most) = (TOKEN_LIFETIME_S.start(), TOKEN_LIFETIME_S.end());
        for (name, seconds) in [
            ("opcua.authority.token_lifetime_s", self.authority.token_lifetime_s),
            ("opcua.gate.token_lifetime_s", self.gate.token_lifetime_s),
        ] {
            if !TOKEN_LIFETIME_S.contains(&seconds) {
                let message = format!("is {seconds}; there are {least} to {most} seconds");
                return Err(ConfigError::of_setting(name, message));
            }
        }
        self.gate.out_of_reach.check()?;
        if let Some(policies) = &self.gate.policies {
            policies.check()?;
        }
        if self.authority.resources.iter().any(|resource| resource.id.is_empty()) {
            let message = "has an empty `id`: it is the ApplicationUri of the gate, as in its certificate";
            return Err(ConfigError::of_setting("opcua.authority.resources", message.into()));
        }
        Ok(())
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let resources =
            self.authority.resources.iter_mut().filter_map(|resource| resource.certificate.as_mut());
        let own = [&mut self.authority.pki, &mut self.authority.data, &mut self.gate.pki];
        let gate = [
            &mut self.gate.upstream_password_path,
            &mut self.gate.keys,
            &mut self.gate.audit,
            &mut self.authority.audit,
            &mut self.authority.user_pki,
        ];
        let policies = self.gate.policies.iter_mut().flat_map(PolicySettings::paths);
        own.into_iter().chain(resources).chain(gate.into_iter().flatten()).chain(policies)
    }
}
