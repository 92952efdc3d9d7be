//! `[decision_log]` and `[log]`: what is written down, for auditors and for operators.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// The record of decisions: one line of JSON for each request. Off unless set, because it holds who asked for
/// what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DecisionLogSettings {
    /// `off`, `stdout`, or the path of a file to append to. Default: `off`.
    pub to: String,
    /// What is kept of the attributes of requests. Default: `values`: names without values.
    pub redact: Redaction,
    /// Attribute identifiers whose values are never written, whatever `redact` says. Default: none.
    pub redact_attributes: Vec<String>,
    /// Which decisions have lines. Default: `all`.
    pub decisions: LoggedDecisions,
    /// Whether every line lists the policies that applied, also where the request did not ask for them.
    /// Default: false; it costs about as much as a decision.
    pub policies: bool,
    /// Most bytes that entries take in memory while they wait to be written. Default: 8 MiB. What does not fit is dropped and counted:
    /// the log never delays a decision.
    pub queue_bytes_max: usize,
}

/// Which decisions the decision log has lines of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoggedDecisions {
    /// All of them.
    All,
    /// Those that permit nothing: denied, not applicable, indeterminate, suspended; plans of which no row is permitted.
    NotPermitted,
    /// Those that could not be made.
    Indeterminate,
}

/// How much of the attributes the decision log hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redaction {
    /// Nothing: names and values are written.
    None,
    /// The values: names are written.
    Values,
    /// Names and values: nothing of the attributes is written.
    All,
}

/// What operators read: start and stop, policies loaded or refused, weak settings. Goes to standard error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// The least important level written: `error`, `warn`, `info`, `debug`, `trace` or `off`. Default: `info`.
    pub level: LogLevel,
    /// Lines of text for people or of JSON for machines. Default: `text`.
    pub format: LogFormat,
}

/// The least important level written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the levels everybody knows")]
pub enum LogLevel {
    /// No lines are written here. A collector may be sent them all the same (`[otlp]`).
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

impl Default for DecisionLogSettings {
    fn default() -> DecisionLogSettings {
        DecisionLogSettings {
            to: "off".into(),
            redact: Redaction::Values,
            redact_attributes: Vec::new(),
            decisions: LoggedDecisions::All,
            policies: false,
            queue_bytes_max: 8 * 1024 * 1024,
        }
    }
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings { level: LogLevel::Info, format: LogFormat::Text }
    }
}

/// Where the decision log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Nothing is recorded.
    Off,
    /// Lines go to the standard output.
    Stdout,
    /// Lines are appended to a file.
    File(PathBuf),
}

impl DecisionLogSettings {
    /// Where lines go.
    pub fn target(&self) -> LogTarget {
        match self.to.as_str() {
            "off" => LogTarget::Off,
            "stdout" => LogTarget::Stdout,
            path => LogTarget::File(path.into()),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.to.is_empty() {
            let message = "is empty; use `off`, `stdout` or the path of a file".into();
            return Err(ConfigError::of_setting("decision_log.to", message));
        }
        Ok(())
    }

    pub(super) fn weaknesses(&self) -> Vec<String> {
        let shows_values = self.target() != LogTarget::Off && self.redact == Redaction::None;
        match shows_values {
            true => vec!["`decision_log.redact` is `none`: the values of attributes are written down".into()],
            false => Vec::new(),
        }
    }
}
