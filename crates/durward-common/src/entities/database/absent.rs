//! A build that asks no databases: one that is named stops the start.

use std::sync::Arc;

use durward_settings::{AuthzenEntitySettings, ConfigError};
use smol_str::SmolStr;

use super::stock::Stock;

/// None.
pub(super) struct Databases;

impl Databases {
    /// # Errors
    /// A database is named: searches must not find less than there is.
    pub(super) fn open(
        databases: Vec<(SmolStr, AuthzenEntitySettings)>,
        _: &Arc<Stock>,
    ) -> Result<Databases, ConfigError> {
        if databases.is_empty() {
            return Ok(Databases);
        }
        let message = "is set, and this build asks no databases; build it with the feature `postgres`";
        Err(ConfigError::of_setting("authzen.entities.database", message.into()))
    }
}
