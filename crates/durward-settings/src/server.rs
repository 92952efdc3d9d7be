//! `[server]`: where to listen, with how many threads, and what a caller may cost.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::listen::check_surfaces;
use super::network::Network;
use super::{ConfigError, ListenSurface};

/// How many workers `workers = 0` starts at most: four answer more requests than most networks bring, and each
/// costs memory.
pub const WORKERS_AUTOMATIC_MAX: usize = 4;

/// The least read buffer the HTTP library works with, and so the least `header_bytes_max`.
const HEADER_BYTES_LEAST: usize = 8 * 1024;

/// The socket and its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// The address and port to listen on; port 0 takes a free one. Default: `127.0.0.1:8080`, so that nobody
    /// exposes a decision point without having said so.
    pub listen: SocketAddr,
    /// What is answered there. Default: everything.
    pub surfaces: Vec<ListenSurface>,
    /// How many threads answer; 0 means one per core, [`WORKERS_AUTOMATIC_MAX`] at most. Default: 0.
    pub workers: usize,
    /// Most connections open at once. Default: 1000; an idle one costs some 15 KiB.
    pub connections_max: usize,
    /// Most connections of one address, or of one IPv6 network of 64 bits; 0 means a quarter of `connections_max`. This machine and
    /// `trusted_proxies` may have all. Default: 0.
    pub connections_per_address_max: usize,
    /// Most bytes of request line and header fields together. Default: 16 KiB, far more than any client sends.
    pub header_bytes_max: usize,
    /// Most bytes of one request's body. Default: 1 MiB, about 5,000 attributes.
    pub body_bytes_max: usize,
    /// Most bytes that bodies being received may hold at once. Default: 32 MiB; it bounds memory however many
    /// connections send.
    pub body_memory_bytes_max: usize,
    /// Longest time from a request's first byte to the end of its header. Default: 10 seconds.
    pub header_time_ms_max: u64,
    /// Longest time from the end of the header until the body is there, and again until the answer is taken.
    /// Default: 10 seconds.
    pub request_time_ms_max: u64,
    /// How long a connection may wait for its next request. Default: 60 seconds.
    pub idle_time_ms_max: u64,
    /// How long requests under way may take after the end was asked for. Default: 10 seconds.
    pub shutdown_time_ms_max: u64,
    /// The proxies that are believed about who calls: addresses or networks. Default: none.
    pub trusted_proxies: Vec<Network>,
    /// The field in which they say it. Default: `x-forwarded-for`.
    pub forwarded_by: ForwardedBy,
    /// The certificate to show, where durward itself ends TLS. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSettings>,
}

/// How proxies say who calls. No other field is looked at: what a proxy does not write, callers can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedBy {
    /// `X-Forwarded-For`: addresses, the last one the proxy's own word.
    #[default]
    XForwardedFor,
    /// `Forwarded`, as RFC 7239 has it.
    Forwarded,
}

/// `[server.tls]`: the certificate and who may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// A file with the certificate chain, PEM, the server's own certificate first.
    pub certificate: PathBuf,
    /// A file with the private key, PEM.
    pub key: PathBuf,
    /// A file with the certificates, PEM, that callers' certificates must be signed by. Where it is set, nobody
    /// calls without such a certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_authorities: Option<PathBuf>,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        ServerSettings {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            surfaces: ListenSurface::ALL.to_vec(),
            workers: 0,
            connections_max: 1_000,
            connections_per_address_max: 0,
            header_bytes_max: 16 * 1024,
            body_bytes_max: 1024 * 1024,
            body_memory_bytes_max: 32 * 1024 * 1024,
            header_time_ms_max: 10_000,
            request_time_ms_max: 10_000,
            idle_time_ms_max: 60_000,
            shutdown_time_ms_max: 10_000,
            trusted_proxies: Vec::new(),
            forwarded_by: ForwardedBy::XForwardedFor,
            tls: None,
        }
    }
}

impl ServerSettings {
    /// The number of threads that answer, given the number of cores.
    pub fn worker_count(&self, cores: usize) -> usize {
        match self.workers {
            0 => cores.clamp(1, WORKERS_AUTOMATIC_MAX),
            count => count,
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        check_surfaces("server.surfaces", &self.surfaces)?;
        if let Some(network) = self.trusted_proxies.iter().find(|network| network.is_everybody()) {
            let message = format!("has `{network}`: whoever calls could say to be anybody; name the proxies");
            return Err(ConfigError::of_setting("server.trusted_proxies", message));
        }
        let at_least = [
            ("server.connections_max", self.connections_max, 1),
            ("server.header_bytes_max", self.header_bytes_max, HEADER_BYTES_LEAST),
            ("server.body_bytes_max", self.body_bytes_max, 1),
            ("server.body_memory_bytes_max", self.body_memory_bytes_max, self.body_bytes_max),
        ];
        for (name, value, least) in at_least {
            if value < least {
                return Err(ConfigError::of_setting(name, format!("is {value}; the least is {least}")));
            }
        }
        let times = [
            ("server.header_time_ms_max", self.header_time_ms_max),
            ("server.request_time_ms_max", self.request_time_ms_max),
            ("server.idle_time_ms_max", self.idle_time_ms_max),
        ];
        match times.into_iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(ConfigError::of_setting(name, "is 0; the least is 1".into())),
            None => Ok(()),
        }
    }

    /// Whether only programs of this machine can connect. A proxy here may bring callers from anywhere.
    #[inline]
    pub fn is_for_this_machine(&self) -> bool {
        self.listen.ip().is_loopback() && self.trusted_proxies.is_empty()
    }

    /// `is_guarded` says whether callers have to authenticate.
    pub(super) fn weaknesses(&self, is_guarded: bool) -> Vec<String> {
        let is_local = self.listen.ip().is_loopback();
        match &self.tls {
            _ if is_local => Vec::new(),
            None if is_guarded => vec![format!(
                "`server.listen` is {} without TLS: credentials and decisions can be read and changed on the way; set \
                 `[server.tls]`, or put a proxy with TLS in front",
                self.listen
            )],
            Some(TlsSettings { client_authorities: None, .. }) if is_guarded => Vec::new(),
            None => vec![format!(
                "`server.listen` is {}: whoever reaches it may ask for decisions, unseen and unasked, without TLS; \
                 put a proxy with TLS and authentication in front, set `[server.tls]`, or listen on 127.0.0.1",
                self.listen
            )],
            Some(TlsSettings { client_authorities: None, .. }) => vec![format!(
                "`server.listen` is {} and callers are not authenticated; set `server.tls.client_authorities`, or \
                 put a proxy with authentication in front",
                self.listen
            )],
            Some(_) => Vec::new(),
        }
    }

    /// How long from the first byte of a request to the end of its header.
    #[inline]
    pub fn header_time_max(&self) -> Duration {
        Duration::from_millis(self.header_time_ms_max)
    }

    /// How long from the end of the header until the body is there, and again until the answer is taken.
    #[inline]
    pub fn request_time_max(&self) -> Duration {
        Duration::from_millis(self.request_time_ms_max)
    }

    /// How long a connection may stay open without a request.
    #[inline]
    pub fn idle_time_max(&self) -> Duration {
        Duration::from_millis(self.idle_time_ms_max)
    }

    /// How long requests under way may take once the end was asked for.
    pub fn shutdown_time_max(&self) -> Duration {
        Duration::from_millis(self.shutdown_time_ms_max)
    }
}
