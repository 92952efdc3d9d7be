//! The operators' log: the one place that decides how its lines look.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::base::settings::{LogFormat, LogLevel, LogSettings};

/// Why the log was not started: the process has one already, from whoever embeds the server.
#[derive(Debug)]
pub struct LogError(TryInitError);

impl std::fmt::Display for LogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Sends the log to standard error, for the whole process.
///
/// # Errors
/// The process has a log already.
pub fn start_log(settings: &LogSettings) -> Result<(), LogError> {
    let level = match settings.level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // The client of the session store says at `info` what the session service says itself, once and in its own words.
    let of_store = if level == LevelFilter::INFO { LevelFilter::WARN } else { level };
    let quiet = Targets::new().with_default(level).with_target("async_nats", of_store);
    let builder = fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    let started = match settings.format {
        LogFormat::Text => builder.finish().with(quiet).try_init(),
        LogFormat::Json => {
            builder.json().flatten_event(true).with_current_span(false).finish().with(quiet).try_init()
        }
    };
    started.map_err(LogError)
}
