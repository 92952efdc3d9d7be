//! Why policies cannot be put in force at the start.

use std::error::Error;
use std::fmt;
use std::io;

use durward_pdp::{PolicyError, ReadError};
use durward_settings::ConfigError;

/// Why there are no policies to start with.
#[derive(Debug)]
pub enum PolicyLoadError {
    /// The operator's: a setting is wrong.
    Config(ConfigError),
    /// The policies cannot be found or read.
    Read(ReadError),
    /// Their author's: the policies are wrong, each with its place.
    Policies(Vec<PolicyError>),
    /// No tenant has policies that can be used, or a bundle or secret is not to be used; each reason is a line.
    Tenants(String),
    /// A thread cannot be started.
    Thread(io::Error),
}

impl fmt::Display for PolicyLoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyLoadError::Config(error) => error.fmt(f),
            PolicyLoadError::Read(error) => error.fmt(f),
            PolicyLoadError::Policies(errors) => {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join("\n"))
            }
            PolicyLoadError::Tenants(reasons) => f.write_str(reasons),
            PolicyLoadError::Thread(error) => write!(f, "cannot start a thread: {error}"),
        }
    }
}

impl Error for PolicyLoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PolicyLoadError::Thread(error) => Some(error),
            // Said in full by what is displayed.
            PolicyLoadError::Config(_)
            | PolicyLoadError::Read(_)
            | PolicyLoadError::Policies(_)
            | PolicyLoadError::Tenants(_) => None,
        }
    }
}

impl From<ConfigError> for PolicyLoadError {
    fn from(error: ConfigError) -> PolicyLoadError {
        PolicyLoadError::Config(error)
    }
}
