//! Tokens of an identity provider.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::SettingError;

/// Tokens of an identity provider (OpenID Connect).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JwtSettings {
    /// What tokens must have as `iss`; the keys are found below it unless `keys` says otherwise.
    pub issuer: String,
    /// A file with a set of keys (JWKS), in place of those that the issuer publishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<PathBuf>,
    /// A file with the certificates, PEM, that the issuer's certificate must be signed by. Default: the usual
    /// authorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    /// Tokens must be meant for one of these.
    pub audiences: Vec<String>,
    /// Tokens must have one of these scopes. Default: none is needed.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The claim that names the tenant; dots lead into objects. Default: `sapl_pdp_id`.
    #[serde(default = "tenant_claim")]
    pub tenant_claim: String,
    /// Whether tokens without an end are accepted. Default: false.
    #[serde(default)]
    pub danger_allow_without_expiry: bool,
}

fn tenant_claim() -> String {
    "sapl_pdp_id".into()
}

impl JwtSettings {
    /// What is allowed but weak. `section` is where they stand.
    pub fn weaknesses(&self, section: &str) -> Vec<String> {
        let mut weak = Vec::new();
        if self.danger_allow_without_expiry {
            weak.push(format!(
                "`{section}.danger_allow_without_expiry` is set: stolen tokens serve for ever"
            ));
        }
        if self.keys.is_none() && !self.issuer.starts_with("https://") {
            weak.push(format!("`{section}.issuer` is not `https`: whoever is on the way can sign tokens"));
        }
        weak
    }

    /// What can be said of them without opening anything. `section` is where they stand.
    ///
    /// # Errors
    /// No issuer, or no audience.
    pub fn check(&self, section: &str) -> Result<(), SettingError> {
        if self.issuer.is_empty() {
            return Err(SettingError::new(&format!("{section}.issuer"), "is empty".into()));
        }
        if self.audiences.is_empty() {
            let message =
                "is empty; name what tokens have as `aud` when they are meant for this server".into();
            return Err(SettingError::new(&format!("{section}.audiences"), message));
        }
        Ok(())
    }
}
