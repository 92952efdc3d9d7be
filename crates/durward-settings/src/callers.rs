//! `[kubernetes.callers]`, `[brokers.callers]`, `[opa.callers]`: which programs may ask about users of their own.

use serde::{Deserialize, Serialize};

use super::{AuthSettings, ConfigError, Network, is_tenant};

/// Who may ask, beside callers with credentials of `[auth]`, and how much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallerSettings {
    /// From where whoever connects is believed without credentials. Default: from nowhere.
    pub from: Vec<Network>,
    /// Whether whoever shows a certificate of `client_authorities` of the listener is believed. Default: false.
    pub client_certificates: bool,
    /// The tenant whose policies decide for those who are believed without credentials. Default: `auth.default_tenant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Most bytes of one body. Default: 1 MiB.
    pub body_bytes_max: usize,
    /// Most requests a second that are looked at, all callers together; 0 means any number. Default: 0.
    pub requests_per_second_max: u32,
}

impl Default for CallerSettings {
    fn default() -> CallerSettings {
        CallerSettings {
            from: Vec::new(),
            client_certificates: false,
            tenant: None,
            body_bytes_max: 1 << 20,
            requests_per_second_max: 0,
        }
    }
}

impl CallerSettings {
    /// `section` is that of the surface, `on` the setting that opens it.
    pub(super) fn check(&self, section: &str, on: &str, auth: &AuthSettings) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: &str| {
            Err(ConfigError::of_setting(&format!("{section}.callers.{name}"), message.to_owned()))
        };
        if self.from.iter().any(Network::is_everybody) {
            return wrong("from", "is everybody: name the addresses of those who ask");
        }
        if self.tenant.as_deref().is_some_and(|tenant| !is_tenant(tenant)) {
            return wrong("tenant", "is no tenant: it is named with letters, digits, `.`, `_` and `-`");
        }
        if self.body_bytes_max == 0 {
            return wrong("body_bytes_max", "must be more than 0");
        }
        if self.believes_nobody() && auth.users.is_empty() && auth.jwt.is_none() {
            let message = format!(
                "is set, and nobody may ask: name addresses in `{section}.callers.from`, set `{section}.callers.client_certificates`, or \
                 name `[[auth.users]]` or `[auth.jwt]`"
            );
            return Err(ConfigError::of_setting(on, message));
        }
        Ok(())
    }

    /// Whether only credentials are believed.
    pub(super) fn believes_nobody(&self) -> bool {
        self.from.is_empty() && !self.client_certificates
    }
}
