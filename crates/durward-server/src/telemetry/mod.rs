//! What is told to a collector of OpenTelemetry: spans of requests and decisions, and the lines of the decision log (OTLP/HTTP, as JSON).
//!
//! ```text
//!   request span (dispatch) --------.
//!   decision span, line of the log -'--> queue, bounded in bytes --> thread: batches --> collector
//! ```
//!
//! Nobody waits for it: what does not fit the queue is dropped and counted (`durward_otlp_items_total{result="dropped"}`). OTLP's JSON is
//! written here, in two pages, and sent by the client that asks every other service: the crates of OpenTelemetry would bring some forty
//! others, with a second HTTP client and a second way to write logs.

#[cfg(feature = "otlp")]
mod document;
#[cfg_attr(not(feature = "otlp"), path = "absent.rs")]
mod exporter;

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use durward_net::trace::Trace;

pub(crate) use exporter::Telemetry;

/// A request over HTTP that was answered.
#[cfg_attr(not(feature = "otlp"), allow(dead_code, reason = "nobody is told in this build"))]
pub(crate) struct RequestSpan<'s> {
    pub(crate) trace: &'s Trace,
    pub(crate) method: &'s str,
    /// The route, never the path: that may hold tokens.
    pub(crate) route: &'static str,
    pub(crate) status: u16,
    pub(crate) request_id: &'s str,
    pub(crate) client: IpAddr,
    /// When it was answered.
    pub(crate) time: SystemTime,
    pub(crate) duration: Duration,
}

/// A decision that somebody was told.
#[cfg_attr(not(feature = "otlp"), allow(dead_code, reason = "nobody is told in this build"))]
pub(crate) struct DecisionSpan<'s> {
    pub(crate) trace: &'s Trace,
    pub(crate) of: Told<'s>,
    pub(crate) snapshot: u64,
    /// The identifiers of the policies that applied.
    pub(crate) policies: Vec<&'s str>,
    /// Why it could not be made, as it may be written.
    pub(crate) error: Option<String>,
    /// When it was told.
    pub(crate) time: SystemTime,
    pub(crate) duration: Option<Duration>,
}

/// A line of the decision log.
#[cfg_attr(not(feature = "otlp"), allow(dead_code, reason = "nobody is told in this build"))]
pub(crate) struct LogRecord<'s> {
    pub(crate) trace: &'s Trace,
    pub(crate) of: Told<'s>,
    pub(crate) line: &'s str,
    pub(crate) is_error: bool,
    pub(crate) time: SystemTime,
}

/// Whom what was told, in few words.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "otlp"), allow(dead_code, reason = "nobody is told in this build"))]
pub(crate) struct Told<'s> {
    pub(crate) surface: &'static str,
    pub(crate) route: &'static str,
    pub(crate) tenant: &'s str,
    pub(crate) request_id: &'s str,
    pub(crate) decision: &'static str,
    /// Whether there is a request span around it; not over RSocket.
    pub(crate) is_inner: bool,
}
