//! What connections over HTTP are served with: all surfaces, and what counts and limits connections.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use durward_common::access::auth::Authenticator;
use durward_common::access::rates::Rates;
use durward_common::base::Clock;
use durward_common::base::limits::Places;
use durward_common::base::metrics::Metrics;
use durward_common::base::request_ids::RequestIds;
use durward_common::base::traces::Traces;
use durward_common::telemetry::Telemetry;
use durward_logins::surfaces::{oauth, oidc, openam, scim, v1};
use durward_settings::{ServerSettings, Settings, SurfaceSet};

use super::places::ConnectionPlaces;
use crate::surfaces::{authzen, brokers, doors, explain, health, kubernetes, opa, sapl, xacml};
use durward_net::tls::NotAccepted;

/// How many requests over HTTP/2 may be under way, for each connection that there may be: one connection may have 128, all together not so
/// many.
pub(super) const HTTP2_REQUESTS_PER_CONNECTION: usize = 4;

/// Who connected, and what is answered where they did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// Whether callers show certificates where they did.
    pub(super) has_certificate: bool,
    pub(super) surfaces: SurfaceSet,
}

impl Peer {
    /// Who calls, where no proxy may say that it is somebody else.
    pub(super) fn client(&self, settings: &ServerSettings) -> Option<IpAddr> {
        let address = self.address.ip();
        let is_proxy = settings.trusted_proxies.iter().any(|one| one.contains(address));
        (!is_proxy).then_some(address)
    }
}

/// Shared by all workers and connections over HTTP.
pub(crate) struct Http {
    /// What each route and connection is allowed; surfaces hold what is theirs.
    pub(super) settings: Arc<Settings>,
    /// Durations are measured from here, so that one number fits an atomic.
    pub(super) started: Instant,
    pub(super) clock: Clock,
    pub(super) metrics: Arc<Metrics>,
    pub(super) request_ids: Arc<RequestIds>,
    pub(super) traces: Arc<Traces>,
    pub(super) telemetry: Option<Arc<Telemetry>>,
    pub(super) xacml: xacml::Surface,
    pub(super) sapl: sapl::Surface,
    pub(super) authzen: authzen::Surface,
    pub(super) brokers: brokers::Surface,
    pub(super) opa: opa::Surface,
    pub(super) kubernetes: kubernetes::Surface,
    pub(super) doors: doors::Surface,
    /// Where it is told why, if it is.
    pub(super) explain: Option<explain::Surface>,
    pub(super) v1: v1::Surface,
    pub(super) openam: openam::Surface,
    /// Tokens for other services, where they are given.
    pub(super) oauth: Option<oauth::Surface>,
    /// Logins with browsers, where there are users and tokens for them.
    pub(super) oidc: Option<oidc::Surface>,
    /// Users for provisioning systems, where they are let in.
    pub(super) scim: Option<scim::Surface>,
    pub(super) health: health::Surface,
    /// Who verifies those who read metrics, where `[auth]` guards them.
    pub(super) metrics_guard: Option<Arc<Authenticator>>,
    /// How often callers may ask, over all surfaces.
    pub(super) rates: Arc<Rates>,
    pub(super) connections: Arc<ConnectionPlaces>,
    /// Requests over HTTP/2 under way on all connections together.
    pub(super) http2_requests: Arc<Places>,
}

impl Http {
    /// Whether requests may be answered before the library reads them.
    pub(super) fn answers_directly(&self) -> bool {
        let decides =
            self.sapl.answers_directly() || self.xacml.answers_directly() || self.authzen.answers_directly();
        decides || (self.telemetry.is_none() && self.v1.answers_directly())
    }

    /// Takes up limits that can change while the server runs.
    pub(super) fn take_up(&self, settings: &ServerSettings) {
        self.connections.take_up(settings);
        self.http2_requests.set_max(HTTP2_REQUESTS_PER_CONNECTION * settings.connections_max);
    }

    /// How many connections there are.
    pub(super) fn connection_count(&self) -> usize {
        self.connections.count()
    }
}

/// Counts a connection that was not encrypted, and says why.
pub(super) fn note_not_accepted(metrics: &Metrics, client: SocketAddr, why: &NotAccepted) {
    match why {
        NotAccepted::TooSlow => metrics.limit_hit("server.header_time_ms_max"),
        NotAccepted::Failed(error) => {
            metrics.connection("failed");
            tracing::debug!(%client, %error, "a connection could not be encrypted");
        }
    }
}
