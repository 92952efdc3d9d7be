//! What the protocols of SAPL share between them and between workers.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::{Decider, Tenants};
use crate::access::auth::Authenticator;
use crate::base::limits::{Places, Rate};
use crate::base::metrics::Metrics;
use crate::base::settings::{ConfigError, Settings};
use crate::sources::Sources;

/// Who may ask, who decides, and how much of it.
pub(crate) struct SaplState {
    pub(crate) authenticator: Authenticator,
    /// Empty until there is one.
    pub(crate) decider: OnceLock<Arc<dyn Decider>>,
    /// The same, where it decides by the policies of `[policies]`.
    pub(crate) tenants: OnceLock<Tenants>,
    /// Where its attributes come from; they end with the server.
    pub(crate) sources: OnceLock<Sources>,
    pub(crate) http_rate: Rate,
    pub(crate) rsocket_rate: Rate,
    /// Streams of events.
    pub(crate) streams: Arc<Places>,
    /// Connections of RSocket.
    pub(crate) connections: Arc<Places>,
}

impl SaplState {
    /// # Errors
    /// Digests or keys that cannot be read.
    pub(crate) fn new(settings: &Settings, metrics: &Metrics) -> Result<SaplState, ConfigError> {
        let now = Instant::now();
        Ok(SaplState {
            authenticator: Authenticator::new(&settings.auth)?,
            decider: OnceLock::new(),
            tenants: OnceLock::new(),
            sources: OnceLock::new(),
            http_rate: Rate::new(settings.sapl.requests_per_second_max, now),
            rsocket_rate: Rate::new(settings.rsocket.requests_per_second_max, now),
            streams: Places::new(settings.sapl.streams_max, metrics.streams_open("sse")),
            connections: Places::new(
                settings.rsocket.connections_max,
                metrics.rsocket_connections_open.clone(),
            ),
        })
    }
}
