//! What an operator sets of sources: `[sources]` and `[[attributes]]` of `durward.toml`.

mod attribute;
mod jwt;
mod sources;

use std::fmt;

pub use attribute::{AttributeHttpSettings, AttributeJwtSettings, AttributeLdapSettings, AttributeSettings};
pub use jwt::JwtSettings;
pub use sources::{AttributeSourceSettings, LdapDepth, LdapSourceSettings, SourceSettings};

/// A setting that cannot be used: the operator's mistake. Shown as ```sources.requests_max` is 0: nothing could be asked``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// The setting, as it is written: `sources.requests_max`.
    pub setting: String,
    /// What is wrong with it, and a way out; it follows the setting.
    pub message: String,
}

impl SettingError {
    /// What is wrong with a setting; `message` follows its name.
    pub fn new(setting: &str, message: String) -> SettingError {
        SettingError { setting: setting.to_owned(), message }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.setting, self.message)
    }
}

impl std::error::Error for SettingError {}

/// The name of a setting that has others below it: `sources.attributes.hr.department`.
#[derive(Clone, Debug)]
pub(crate) struct SettingName(pub(crate) String);

impl SettingName {
    /// What is wrong with the setting; `message` follows its name.
    pub(crate) fn wrong(&self, message: impl Into<String>) -> SettingError {
        SettingError::new(&self.0, message.into())
    }
}
