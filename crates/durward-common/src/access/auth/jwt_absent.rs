//! A build without cryptography: no token can be verified, so none is taken.

use std::time::SystemTime;

use durward_settings::{ConfigError, JwtSettings};
use serde_json::{Map, Value};

use super::Denied;

/// Has no values.
#[derive(Debug)]
pub enum Tokens {}

/// What a token says.
pub(super) struct Claims {
    pub(super) subject: String,
    pub(super) tenant: Option<String>,
    pub(super) expires: Option<SystemTime>,
    pub(super) bound: Option<String>,
}

impl Tokens {
    /// # Errors
    /// Always: who is told to verify tokens must not start without being able to.
    pub fn new(_: &JwtSettings) -> Result<Tokens, ConfigError> {
        let message =
            "is set, and this build has no TLS and verifies no tokens; build it with the feature `tls`";
        Err(ConfigError::of_setting("auth.jwt", message.into()))
    }

    pub(super) async fn verify(&self, _: &str, _: SystemTime) -> Result<Claims, Denied> {
        match *self {}
    }

    /// The claims of a token.
    pub async fn claims(&self, _: &str, _: SystemTime) -> Result<Map<String, Value>, Denied> {
        match *self {}
    }
}
