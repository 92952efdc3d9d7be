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

    /// What is set about this provider.
    pub fn settings(&self) -> &UpstreamSettings {
        match *self {}
    }

    /// Where it is asked for what.
    pub async fn endpoints(&self) -> Result<Endpoints, NotVouched> {
        match *self {}
    }

    /// What the provider says about whoever it gave this code to.
    pub async fn exchange(&self, _: BroughtCode<'_>) -> Result<Vouched, NotVouched> {
        match *self {}
    }

    /// Reads a logout token.
    pub async fn read_logout_token(&self, _: &str, _: Moment) -> Result<EndedUpstream, NotVouched> {
        match *self {}
    }
}
