//! `[identity.passkeys]`: passkeys of users (Web Authentication).

use durward_session::PasskeySettings;
use durward_session::identity::IdentityError;
use durward_session::identity::passkey::RelyingParty;
use serde::{Deserialize, Serialize};

use super::{ConfigError, IdentitySettings};

/// What authenticators show where nobody says it.
const NAME: &str = "durward";

/// Passkeys of users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PasskeysSettings {
    /// The domain that passkeys are bound to, of this server or above it. With another one, all are lost. Default: none, no passkeys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rp_id: Option<String>,
    /// What authenticators call this server. Default: what users sign in to by `identity.pages.product`, or `durward`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rp_name: Option<String>,
    /// The origins of the pages on which passkeys are used. Default: `https://` and the domain.
    pub origins: Vec<String>,
    /// Whether a passkey is enough for a login, without a name and a password. Default: true.
    pub only_step: bool,
}

impl Default for PasskeysSettings {
    fn default() -> PasskeysSettings {
        PasskeysSettings { rp_id: None, rp_name: None, origins: Vec::new(), only_step: true }
    }
}

impl PasskeysSettings {
    /// Whether users may have passkeys.
    pub fn is_on(&self) -> bool {
        self.rp_id.is_some()
    }

    pub(super) fn check(&self, identity: &IdentitySettings) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: &str| {
            Err(ConfigError::of_setting(&format!("identity.passkeys.{name}"), message.to_owned()))
        };
        if !self.is_on() {
            return match *self == PasskeysSettings::default() {
                true => Ok(()),
                false => {
                    wrong("rp_id", "is missing: the domain that passkeys are bound to, such as `example.org`")
                }
            };
        }
        if identity.users.is_none() {
            return wrong(
                "rp_id",
                "needs `identity.users`: the file keeps passkeys, also those of users in other directories",
            );
        }
        // What is kept beside a directory is kept by realm: whoever has a second step in one realm has none in the other.
        if identity.ldap.iter().any(|ldap| ldap.realms.len() > 1) {
            return wrong(
                "rp_id",
                "needs a directory for each realm: no `identity.ldap.realms` may name several together with passkeys",
            );
        }
        match self.service(identity) {
            Ok(_) => Ok(()),
            Err(error) => Err(ConfigError::of_setting("identity.passkeys", error.to_string())),
        }
    }

    /// What the session service is to know.
    ///
    /// # Errors
    /// The domain or an origin cannot be used.
    pub(super) fn service(
        &self,
        identity: &IdentitySettings,
    ) -> Result<Option<PasskeySettings>, IdentityError> {
        let Some(id) = &self.rp_id else { return Ok(None) };
        let name = self.rp_name.as_deref().or(identity.pages.product.as_deref()).unwrap_or(NAME);
        let origins =
            if self.origins.is_empty() { vec![format!("https://{id}")] } else { self.origins.clone() };
        let party = RelyingParty::new(id, name, origins)?;
        Ok(Some(PasskeySettings { party, only_step: self.only_step }))
    }
}

#[cfg(test)]
mod tests {
    use crate::Settings;

    fn told(passkeys: &str) -> String {
        let text = format!("[identity]\nusers = 'users'\n[identity.passkeys]\n{passkeys}");
        let read = Settings::from_toml(&text, "t").and_then(|settings| settings.check().map(|()| settings));
        read.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_relying_party_is_checked_at_the_start() {
        assert_eq!(told("rp_id = 'example.org'"), "");
        assert_eq!(
            told("rp_id = 'example.org'\norigins = ['https://login.example.org']\nonly_step = false"),
            ""
        );
        for wrong in [
            "rp_id = '127.0.0.1'",
            "rp_id = 'https://example.org'",
            "rp_id = 'example.org'\norigins = ['http://example.org']",
            "rp_id = 'example.org'\norigins = ['https://other.org']",
            "rp_id = 'example.org'\nrp_name = ''",
            "only_step = false",
            "origins = ['https://example.org']",
        ] {
            assert!(told(wrong).contains("identity.passkeys"), "{wrong}: {}", told(wrong));
        }
        let text = "[identity.passkeys]\nrp_id = 'example.org'\n[[identity.ldap]]\nservers = ['ldaps://a']\nbase = 'dc=x'\nrealms = ['/']";
        let read = Settings::from_toml(text, "t").and_then(|settings| settings.check());
        assert!(read.is_err_and(|error| error.to_string().contains("identity.users")));
    }
}
