//! A build without OpenTelemetry: nothing is sent, and a collector that is named stops the start.

use std::sync::Arc;
use std::time::Duration;

use durward_settings::{ConfigError, OtlpSettings};

use super::{DecisionSpan, LogRecord, RequestSpan};
use crate::base::metrics::Metrics;
use crate::base::traces::Traces;

/// Has no values.
#[derive(Debug)]
pub enum Telemetry {}

impl Telemetry {
    /// # Errors
    /// A collector is named: whoever expects records there must not run without them.
    pub fn open(
        settings: &OtlpSettings,
        _: &Arc<Traces>,
        _: &Arc<Metrics>,
    ) -> Result<Option<Arc<Telemetry>>, ConfigError> {
        if settings.endpoint.is_none() {
            return Ok(None);
        }
        let message = "is set, and this build does not send to it; build it with the feature `otlp`";
        Err(ConfigError::of_setting("otlp.endpoint", message.into()))
    }

    /// Whether traces are sent.
    pub fn sends_traces(&self) -> bool {
        match *self {}
    }

    /// Whether lines of the log are sent.
    pub fn sends_logs(&self) -> bool {
        match *self {}
    }

    /// A request was answered.
    pub fn request(&self, _: &RequestSpan<'_>) {
        match *self {}
    }

    /// A decision was told.
    pub fn decision(&self, _: &DecisionSpan<'_>) {
        match *self {}
    }

    /// A line of the decision log.
    pub fn log(&self, _: &LogRecord<'_>) {
        match *self {}
    }

    /// Waits until what was told so far is sent, or the time is over.
    pub fn flush(&self, _: Duration) {
        match *self {}
    }
}
