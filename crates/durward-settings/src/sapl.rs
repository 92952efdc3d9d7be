//! `[sapl]` and `[rsocket]`: the protocols of SAPL's clients, and what their callers may cost.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ConfigError, TlsSettings};

/// The most bytes that a frame can announce, and so the most that can be allowed.
const PAYLOAD_BYTES_CAP: usize = 0xFF_FFFF;

/// Most subscriptions of one multi-subscription: what the store of streams takes.
const MULTI_SUBSCRIPTIONS_CAP: usize = 256;

/// SAPL's decisions over HTTP, and what holds for both protocols.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SaplSettings {
    /// Whether `/api/pdp/...` is answered; `true` needs `[auth]`. Default: on a loopback address without trusted proxies,
    /// to whoever can connect unless `[auth]` says who may ask; elsewhere not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<bool>,
    /// How often a stream of events that has nothing to say shows that it lives. Default: 15 s, as SAPL has it.
    pub keep_alive_ms: u64,
    /// Most bytes of a subscription over HTTP. Default: 64 KiB, as SAPL has it.
    pub body_bytes_max: usize,
    /// Most subscriptions of one multi-subscription. Default: 256, as SAPL has it, and the most there can be.
    pub multi_subscriptions_max: usize,
    /// Most streams of events open at once. Default: 10000; each holds a connection as well.
    pub streams_max: usize,
    /// Most requests a second that are looked at, all callers together; 0 means any number. Default: 0.
    pub requests_per_second_max: u32,
}

/// SAPL's decisions over RSocket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RsocketSettings {
    /// The address and port to listen on; SAPL's is `127.0.0.1:7000`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// The path of a Unix socket to listen on. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// The certificate to show on `listen`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSettings>,
    /// Most connections open at once. Default: 1000.
    pub connections_max: usize,
    /// Most streams of one connection at once, requests that wait for their answer included. Default: 10000.
    pub streams_per_connection_max: usize,
    /// Most bytes of one request. Default: 16777215, the most that a frame can hold; what is being received counts
    /// towards `server.body_memory_bytes_max`.
    pub payload_bytes_max: usize,
    /// Most values in one request, those within others included. Default: 100000.
    pub values_max: usize,
    /// How long a client may be silent, whatever it says of itself. Default: 90 s.
    pub lifetime_ms_max: u64,
    /// Most requests a second that are looked at, all connections together; 0 means any number. Default: 0.
    pub requests_per_second_max: u32,
}

impl Default for SaplSettings {
    fn default() -> SaplSettings {
        SaplSettings {
            http: None,
            keep_alive_ms: 15_000,
            body_bytes_max: 64 * 1024,
            multi_subscriptions_max: MULTI_SUBSCRIPTIONS_CAP,
            streams_max: 10_000,
            requests_per_second_max: 0,
        }
    }
}

impl Default for RsocketSettings {
    fn default() -> RsocketSettings {
        RsocketSettings {
            listen: None,
            socket: None,
            tls: None,
            connections_max: 1_000,
            streams_per_connection_max: 10_000,
            payload_bytes_max: PAYLOAD_BYTES_CAP,
            values_max: 100_000,
            lifetime_ms_max: 90_000,
            requests_per_second_max: 0,
        }
    }
}

impl SaplSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.keep_alive_ms == 0 {
            let message = "is 0; the least is 1: without a sign of life, nobody could tell an idle stream from a \
                           broken one";
            return Err(ConfigError::of_setting("sapl.keep_alive_ms", message.into()));
        }
        within("sapl.body_bytes_max", self.body_bytes_max, 1, usize::MAX)?;
        within("sapl.multi_subscriptions_max", self.multi_subscriptions_max, 1, MULTI_SUBSCRIPTIONS_CAP)
    }

    /// How long a stream of events is silent before a comment is sent.
    pub fn keep_alive(&self) -> Duration {
        Duration::from_millis(self.keep_alive_ms)
    }
}

impl RsocketSettings {
    /// Whether anything is listened on.
    pub fn is_on(&self) -> bool {
        self.listen.is_some() || self.socket.is_some()
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.tls.is_some() && self.listen.is_none() {
            let message = "is set, and `rsocket.listen` is not: a Unix socket has no TLS".into();
            return Err(ConfigError::of_setting("rsocket.tls", message));
        }
        within("rsocket.connections_max", self.connections_max, 1, usize::MAX)?;
        within("rsocket.streams_per_connection_max", self.streams_per_connection_max, 1, usize::MAX)?;
        within("rsocket.payload_bytes_max", self.payload_bytes_max, 1, PAYLOAD_BYTES_CAP)?;
        within("rsocket.values_max", self.values_max, 1, usize::MAX)?;
        let lifetime = usize::try_from(self.lifetime_ms_max).unwrap_or(usize::MAX);
        within("rsocket.lifetime_ms_max", lifetime, 300, usize::MAX)
    }

    pub(super) fn weaknesses(&self) -> Vec<String> {
        match self.listen {
            Some(listen) if !listen.ip().is_loopback() && self.tls.is_none() => vec![format!(
                "`rsocket.listen` is {listen} without TLS: credentials and decisions can be read and changed on the \
                 way; set `[rsocket.tls]`, or listen on 127.0.0.1"
            )],
            _ => Vec::new(),
        }
    }

    /// How long a client may be silent, whatever it says of itself.
    pub fn lifetime_max(&self) -> Duration {
        Duration::from_millis(self.lifetime_ms_max)
    }
}

fn within(name: &str, value: usize, least: usize, most: usize) -> Result<(), ConfigError> {
    if value < least {
        return Err(ConfigError::of_setting(name, format!("is {value}; the least is {least}")));
    }
    if value > most {
        return Err(ConfigError::of_setting(name, format!("is {value}; the most is {most}")));
    }
    Ok(())
}
