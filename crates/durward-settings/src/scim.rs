//! `[identity.scim]`: users for provisioning systems, over SCIM 2.0.

use serde::{Deserialize, Serialize};

use super::{AuthSettings, ConfigError, IdentitySettings};

/// Users over SCIM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScimSettings {
    /// Whether `/scim/v2` is answered. Default: false.
    pub on: bool,
    /// The realm whose users these are, one of `identity.realms`. Default: the root realm.
    pub realm: String,
    /// Most resources of one answer. Default: 200.
    pub page_max: usize,
    /// Most bytes of one body, which has all members of a group. Default: 1 MiB.
    pub body_bytes_max: usize,
}

impl Default for ScimSettings {
    fn default() -> ScimSettings {
        ScimSettings { on: false, realm: "/".to_owned(), page_max: 200, body_bytes_max: 1 << 20 }
    }
}

impl ScimSettings {
    pub(super) fn check(&self, identity: &IdentitySettings, auth: &AuthSettings) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: &str| {
            Err(ConfigError::of_setting(&format!("identity.scim.{name}"), message.to_owned()))
        };
        if !self.on {
            return Ok(());
        }
        if identity.users.is_none() || !identity.realms.contains(&self.realm) {
            return wrong(
                "realm",
                "is not a realm of the users' file: see `identity.users` and `identity.realms`; other directories are changed themselves",
            );
        }
        if !auth.users.iter().any(|user| user.may_administer) {
            return wrong(
                "on",
                "is set, and nobody may use it: set `may_administer` for one of `[[auth.users]]`",
            );
        }
        if self.page_max == 0 {
            return wrong("page_max", "is 0; the least is 1");
        }
        if self.body_bytes_max == 0 {
            return wrong("body_bytes_max", "must be more than 0");
        }
        Ok(())
    }
}
