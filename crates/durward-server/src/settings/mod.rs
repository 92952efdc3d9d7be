//! What an operator may set: `durward.toml`, section by section, each with its default and the reason for it.
//!
//! `docs/configuration.md` says the same in a table; a test compares the two. Unknown names are errors: a limit
//! misspelt is a limit not set.

mod attribute;
mod log;
mod names;
mod policies;
mod read;
mod server;
mod sources;

use serde::{Deserialize, Serialize};

pub use attribute::AttributeSettings;
pub(crate) use log::LogTarget;
pub use log::{DecisionLogSettings, LogFormat, LogLevel, LogSettings, Redaction};
pub use policies::{LimitSettings, PolicySettings};
pub use read::ConfigError;
pub use server::{ServerSettings, TlsSettings, WORKERS_AUTOMATIC_MAX};
pub use sources::{AttributeSourceSettings, SourceSettings};

/// Everything that can be set. [`Settings::default`] is what an empty `durward.toml` means.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The socket and its limits.
    pub server: ServerSettings,
    /// Which policies are in force, and how they are watched.
    pub policies: PolicySettings,
    /// How large policies and requests may be.
    pub limits: LimitSettings,
    /// The record of decisions.
    pub decision_log: DecisionLogSettings,
    /// What operators read.
    pub log: LogSettings,
    /// Attributes that every request has unless it brings its own.
    pub attributes: Vec<AttributeSettings>,
    /// Where policies get attributes from over the network.
    pub sources: SourceSettings,
}

impl Settings {
    /// What is wrong with settings that are each well-formed: limits of zero, limits that contradict each other.
    ///
    /// # Errors
    /// The first contradiction, in the words of the file.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.server.check()?;
        self.limits.check()?;
        self.policies.check()?;
        self.decision_log.check()?;
        self.sources.check()?;
        self.attributes.iter().try_for_each(|attribute| attribute.value_list().map(drop))
    }

    /// What is allowed but weak: said in the log at the start and in `/health/ready` for as long as it is so.
    pub fn weaknesses(&self) -> Vec<String> {
        self.server.weaknesses().into_iter().chain(self.decision_log.weaknesses()).collect()
    }
}
