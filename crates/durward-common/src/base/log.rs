//! The operators' log: the one place that decides how its lines look.

use std::io::{self, Write};

use durward_net::trace;
use durward_settings::{LogFormat, LogLevel, LogSettings};
use durward_wire::trace::TraceId;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{self, FmtContext, FormatEvent, FormatFields, format};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// The log of the process: its level can be changed.
#[derive(Clone, Debug)]
pub struct LogHandle(reload::Handle<Targets, Registry>);

impl LogHandle {
    /// From now on, this is the least important level written.
    pub fn set_level(&self, level: LogLevel) {
        // It fails only where there is no log any more.
        let _ = self.0.reload(filter(level));
    }
}

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

/// What takes a line of the log, with its line feed.
pub type LineWriter = fn(&[u8]) -> io::Result<()>;

/// Sends the log to standard error, for the whole process.
///
/// # Errors
/// The process has a log already.
pub fn start_log(settings: &LogSettings) -> Result<LogHandle, LogError> {
    start_log_on(settings, |line| io::stderr().write_all(line))
}

/// The same, to whatever writes each line: a program that draws on the terminal has to take its drawing away first.
///
/// # Errors
/// The process has a log already.
pub fn start_log_on(settings: &LogSettings, write: LineWriter) -> Result<LogHandle, LogError> {
    let (filter, handle) = reload::Layer::new(filter(settings.level));
    let filtered = tracing_subscriber::registry().with(filter);
    let lines = fmt::layer().with_writer(move || Lines(write));
    let started = match settings.format {
        LogFormat::Text => {
            let format = WithTrace(format().with_target(false), LogFormat::Text);
            filtered.with(lines.event_format(format)).try_init()
        }
        LogFormat::Json => {
            let json = format().with_target(false).json().flatten_event(true).with_current_span(false);
            let format = WithTrace(json, LogFormat::Json);
            filtered.with(lines.fmt_fields(JsonFields::new()).event_format(format)).try_init()
        }
    };
    started.map(|()| LogHandle(handle)).map_err(LogError)
}

/// Lines as they are formatted, with the trace of the request that they are about.
struct WithTrace<F>(F, LogFormat);

impl<S, N, F> FormatEvent<S, N> for WithTrace<F>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let Some(trace) = trace::with_current(|trace| trace.own.trace) else {
            return self.0.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&with_trace(&line, trace, self.1))
    }
}

/// The line with one field more.
fn with_trace(line: &str, trace: TraceId, format: LogFormat) -> String {
    match (format, line.strip_prefix('{')) {
        (LogFormat::Json, Some(rest)) => format!("{{\"trace_id\":\"{trace}\",{rest}"),
        (LogFormat::Json, None) => line.to_owned(),
        (LogFormat::Text, _) => match line.strip_suffix('\n') {
            Some(line) => format!("{line} trace_id={trace}\n"),
            None => format!("{line} trace_id={trace}"),
        },
    }
}

/// Hands on what is written: the log writes a line at a time.
struct Lines(LineWriter);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // The client of the session store says at `info` what the session service says itself, once and in its own words.
    let of_store = if level == LevelFilter::INFO { LevelFilter::WARN } else { level };
    Targets::new().with_default(level).with_target("async_nats", of_store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_the_trace_in_their_own_form() {
        let trace = TraceId::new([0x4b; 16]).unwrap();
        let hex = "4b".repeat(16);
        assert_eq!(
            with_trace("INFO it is so\n", trace, LogFormat::Text),
            format!("INFO it is so trace_id={hex}\n")
        );
        let json = with_trace("{\"level\":\"INFO\"}\n", trace, LogFormat::Json);
        assert_eq!(json, format!("{{\"trace_id\":\"{hex}\",\"level\":\"INFO\"}}\n"));
        serde_json::from_str::<serde_json::Value>(&json).unwrap();
    }
}
