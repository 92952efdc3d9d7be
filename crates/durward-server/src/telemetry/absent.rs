//! A build without OpenTelemetry: nothing is sent, and a collector that is named stops the start.

use std::sync::Arc;
use std::time::Duration;

use super::{DecisionSpan, LogRecord, RequestSpan};
use crate::base::metrics::Metrics;
use crate::base::settings::{ConfigError, OtlpSettings};
use crate::base::traces::Traces;

/// Has no values.
#[derive(Debug)]
pub(crate) enum Telemetry {}

impl Telemetry {
    /// # Errors
    /// A collector is named: whoever expects records there must not run without them.
    pub(crate) fn open(
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

    pub(crate) fn sends_traces(&self) -> bool {
        match *self {}
    }

    pub(crate) fn sends_logs(&self) -> bool {
        match *self {}
    }

    pub(crate) fn request(&self, _: &RequestSpan<'_>) {
        match *self {}
    }

    pub(crate) fn decision(&self, _: &DecisionSpan<'_>) {
        match *self {}
    }

    pub(crate) fn log(&self, _: &LogRecord<'_>) {
        match *self {}
    }

    pub(crate) fn flush(&self, _: Duration) {
        match *self {}
    }
}
