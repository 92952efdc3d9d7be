//! `[xacml]`: what clients of other decision points are used to.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Habits of other decision points; none unless set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XacmlSettings {
    /// Whether JSON may have short attribute identifiers (`subject-id`, `action-id`, `resource-id`, ...). Default: no.
    pub json_short_ids: bool,
    /// Whether the paths of WSO2's entitlement API answer, `/api/identity/entitlement/decision/...`. Default: no.
    pub wso2_paths: bool,
    /// The domain whose path of AuthzForce answers, `/domains/{domain}/pdp`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authzforce_domain: Option<String>,
    /// Whether other machines may ask `/pdp` without credentials, where `[auth]` does not guard it and no certificate is asked for.
    /// Default: no.
    pub danger_allow_no_auth: bool,
}

impl XacmlSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Some(domain) = &self.authzforce_domain else { return Ok(()) };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if domain.is_empty() || !domain.bytes().all(is_plain) {
            let message = format!("is `{domain}`; a domain is named with letters, digits, `-`, `_` and `.`");
            return Err(ConfigError::of_setting("xacml.authzforce_domain", message));
        }
        Ok(())
    }
}
