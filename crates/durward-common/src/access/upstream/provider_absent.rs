//! A build without cryptography: nothing that a provider says can be verified, so there is none.

use durward_settings::{ConfigError, UpstreamSettings};

use super::{BroughtCode, EndedUpstream, Endpoints, NotVouched, Vouched};
use durward_session::identity::Moment;

/// Has no values.
#[derive(Debug)]
pub enum Provider {}

impl Provider {
    /// # Errors
    /// Always: who is told to believe a provider must not start without being able to verify it.
    pub(super) fn new(_: &UpstreamSettings) -> Result<Provider, ConfigError> {
        let message =
            "is set, and this build has no TLS and verifies no tokens; build it with the feature `tls`";
        Err(ConfigError::of_setting("identity.upstreams", message.into()))
    }

    pub fn settings(&self) -> &UpstreamSettings {
        match *self {}
    }

    pub async fn endpoints(&self) -> Result<Endpoints, NotVouched> {
        match *self {}
    }

    pub async fn exchange(&self, _: BroughtCode<'_>) -> Result<Vouched, NotVouched> {
        match *self {}
    }

    pub async fn read_logout_token(&self, _: &str, _: Moment) -> Result<EndedUpstream, NotVouched> {
        match *self {}
    }
}
