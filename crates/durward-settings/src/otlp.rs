//! `[otlp]`: where traces and the record of decisions are sent (OpenTelemetry).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use durward_net::url::Url;
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Where traces and decisions are sent: a collector of OpenTelemetry, over OTLP/HTTP. Off unless an address is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OtlpSettings {
    /// The address of the collector, such as `http://127.0.0.1:4318`; `/v1/traces` and `/v1/logs` are added. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Whether spans of requests and decisions are sent. Default: true.
    pub traces: bool,
    /// Whether the lines of the decision log are sent; `[decision_log]` says what is in them, also where it writes none itself. Default: true.
    pub logs: bool,
    /// The name of this service. Default: `durward`.
    pub service_name: String,
    /// Further attributes of what sends, such as `deployment.environment.name`. Default: none.
    pub resource: BTreeMap<String, String>,
    /// A file with header fields for the collector, one `name: value` a line: they may hold secrets. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_path: Option<PathBuf>,
    /// A file with the certificates, PEM, of the authorities for the collector's certificate, besides the system's. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    /// Most bytes that wait to be sent. Default: 4 MiB. What does not fit is dropped and counted: nothing waits for the collector.
    pub queue_bytes_max: usize,
    /// Most spans, or log records, in one request. Default: 512.
    pub batch_max: usize,
    /// How long spans and log records are collected before they are sent. Default: 1 s.
    pub batch_time_ms: u64,
    /// How long the collector may take to answer. Default: 10 s.
    pub answer_time_ms_max: u64,
}

impl Default for OtlpSettings {
    fn default() -> OtlpSettings {
        OtlpSettings {
            endpoint: None,
            traces: true,
            logs: true,
            service_name: "durward".into(),
            resource: BTreeMap::new(),
            headers_path: None,
            authorities: None,
            queue_bytes_max: 4 * 1024 * 1024,
            batch_max: 512,
            batch_time_ms: 1_000,
            answer_time_ms_max: 10_000,
        }
    }
}

impl OtlpSettings {
    /// Whether spans are sent.
    pub fn sends_traces(&self) -> bool {
        self.endpoint.is_some() && self.traces
    }

    /// How long spans and log records are collected before they are sent.
    pub fn batch_time(&self) -> Duration {
        Duration::from_millis(self.batch_time_ms)
    }

    /// How long the collector may take to answer.
    pub fn answer_time_max(&self) -> Duration {
        Duration::from_millis(self.answer_time_ms_max)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Some(endpoint) = &self.endpoint else { return Ok(()) };
        let url = Url::read(endpoint).and_then(|url| url.uri("http", "https").map(|_| url));
        let url = url.map_err(|error| {
            let message = format!("cannot be used: {error}; write it as `http://127.0.0.1:4318`");
            ConfigError::of_setting("otlp.endpoint", message)
        })?;
        if !["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme)) {
            let message =
                format!("is `{endpoint}`; collectors are asked over HTTP, as `http://127.0.0.1:4318`");
            return Err(ConfigError::of_setting("otlp.endpoint", message));
        }
        if url.target.contains('?') {
            let message = "has a `?`; `/v1/traces` and `/v1/logs` are added to it".into();
            return Err(ConfigError::of_setting("otlp.endpoint", message));
        }
        if self.batch_max == 0 {
            return Err(ConfigError::of_setting("otlp.batch_max", "is 0; the least is 1".into()));
        }
        if self.answer_time_ms_max == 0 {
            return Err(ConfigError::of_setting("otlp.answer_time_ms_max", "is 0; the least is 1".into()));
        }
        Ok(())
    }

    /// Every file that is named.
    pub(super) fn paths(&mut self) -> [&mut Option<PathBuf>; 2] {
        [&mut self.headers_path, &mut self.authorities]
    }
}
