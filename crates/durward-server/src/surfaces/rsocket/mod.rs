//! RSocket 1.0 for the decision protocol of SAPL: requests into answers (`answers`), and a connection with its socket, for as long
//! as it lasts (`driver`). What goes over the wire is `durward-wire`'s.

mod answers;
mod driver;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_common::access::auth::Authenticator;
use durward_common::access::rates::Rates;
use durward_common::access::subject::fence::Fence;
use durward_common::base::limits::{Held, Memory, Places, Rate};
use durward_common::base::metrics::Metrics;
use durward_common::base::request_ids::RequestIds;
use durward_common::base::traces::Traces;
use durward_common::decider::DeciderSlot;
use durward_common::decision_log::Recorder;
use durward_settings::{RsocketSettings, Settings};
use durward_wire::rsocket::connection;
use durward_wire::sapl::protobuf;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

/// What connections are served with.
pub(crate) struct Surface {
    authenticator: Arc<Authenticator>,
    fence: Fence,
    decider: DeciderSlot,
    /// Of this surface.
    rate: Rate,
    /// Of all of them.
    rates: Arc<Rates>,
    connections: Arc<Places>,
    recorder: Recorder,
    memory: Arc<Memory>,
    metrics: Arc<Metrics>,
    request_ids: Arc<RequestIds>,
    traces: Arc<Traces>,
    limits: connection::Limits,
    message_limits: protobuf::Limits,
    /// How long a client may take to read what is written.
    taking_time_max: Duration,
}

/// What the surface shares with others.
pub(crate) struct Parts<'p> {
    pub(crate) authenticator: &'p Arc<Authenticator>,
    pub(crate) rates: &'p Arc<Rates>,
    pub(crate) fence: &'p Fence,
    pub(crate) decider: &'p DeciderSlot,
    pub(crate) recorder: &'p Recorder,
    pub(crate) memory: &'p Arc<Memory>,
    pub(crate) metrics: &'p Arc<Metrics>,
    pub(crate) request_ids: &'p Arc<RequestIds>,
    pub(crate) traces: &'p Arc<Traces>,
}

impl Surface {
    pub(crate) fn new(settings: &Settings, parts: &Parts<'_>) -> Surface {
        let Settings { server, rsocket, sapl, .. } = settings;
        let gauge = parts.metrics.rsocket_connections_open.clone();
        Surface {
            authenticator: Arc::clone(parts.authenticator),
            fence: parts.fence.clone(),
            decider: Arc::clone(parts.decider),
            rates: Arc::clone(parts.rates),
            rate: Rate::new(rsocket.requests_per_second_max, Instant::now()),
            connections: Places::new(rsocket.connections_max, gauge),
            recorder: parts.recorder.clone(),
            memory: Arc::clone(parts.memory),
            metrics: Arc::clone(parts.metrics),
            request_ids: Arc::clone(parts.request_ids),
            traces: Arc::clone(parts.traces),
            limits: connection::Limits {
                payload_bytes_max: rsocket.payload_bytes_max,
                streams_max: rsocket.streams_per_connection_max,
                setup_time_max: server.header_time_max(),
                lifetime_max: rsocket.lifetime_max(),
            },
            message_limits: protobuf::Limits {
                values_max: rsocket.values_max,
                subscriptions_max: sapl.multi_subscriptions_max,
            },
            taking_time_max: server.request_time_max(),
        }
    }

    /// Takes up limits that can change while the server runs.
    pub(crate) fn take_up(&self, settings: &RsocketSettings) {
        self.rate.set(settings.requests_per_second_max);
        self.connections.set_max(settings.connections_max);
    }

    /// A place among the connections there may be.
    pub(crate) fn place(&self) -> Option<Held> {
        self.connections.take()
    }

    /// How many connections there are.
    pub(crate) fn connection_count(&self) -> usize {
        self.connections.count()
    }

    /// Serves a connection until it ends, or the server stops and what is under way is answered. One without a place is only
    /// told that there is none.
    pub(crate) async fn serve<S>(
        self: Arc<Surface>,
        stream: S,
        client: Option<SocketAddr>,
        place: Option<Held>,
        stopping: watch::Receiver<bool>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        driver::serve(stream, self, client, place, stopping).await;
    }
}
