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

pub use exporter::Telemetry;

/// A request over HTTP that was answered.
pub struct RequestSpan<'s> {
    /// The trace that the span belongs to.
    pub trace: &'s Trace,
    /// The method.
    pub method: &'s str,
    /// The route, never the path: that may hold tokens.
    pub route: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// The id of the request.
    pub request_id: &'s str,
    /// The caller's address.
    pub client: IpAddr,
    /// When it was answered.
    pub time: SystemTime,
    /// How long the answer took.
    pub duration: Duration,
}

/// A decision that somebody was told.
pub struct DecisionSpan<'s> {
    /// The trace that the span belongs to.
    pub trace: &'s Trace,
    /// What was decided.
    pub of: Told<'s>,
    /// The number of the snapshot that decided.
    pub snapshot: u64,
    /// The identifiers of the policies that applied.
    pub policies: Vec<&'s str>,
    /// Why it could not be made, as it may be written.
    pub error: Option<String>,
    /// When it was told.
    pub time: SystemTime,
    /// How long deciding took, where it was asked for.
    pub duration: Option<Duration>,
}

/// A line of the decision log.
pub struct LogRecord<'s> {
    /// The trace of the request.
    pub trace: &'s Trace,
    /// What was decided.
    pub of: Told<'s>,
    /// The line of the decision log.
    pub line: &'s str,
    /// Whether deciding failed.
    pub is_error: bool,
    /// When it was told.
    pub time: SystemTime,
}

/// Whom what was told, in few words.
#[derive(Clone, Copy)]
pub struct Told<'s> {
    /// Where it was told.
    pub surface: &'static str,
    /// What was called there.
    pub route: &'static str,
    /// Whose policies decided.
    pub tenant: &'s str,
    /// The id of the request.
    pub request_id: &'s str,
    /// The decision.
    pub decision: &'static str,
    /// Whether there is a request span around it; not over RSocket.
    pub is_inner: bool,
}
