//! How a command fails: one line that says what is wrong, and a hint.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use durward_pdp::PolicyError;
#[cfg(feature = "standard")]
use durward_server::ConfigError;

use crate::console::{colour, progress};

/// Everything decided, nothing found.
pub(crate) const SUCCESS: u8 = 0;
/// The command worked, and what it looked at is not as it should be: differences, problems.
pub(crate) const DIFFERENT: u8 = 1;
/// The command could not do what it was asked: bad flags, unreadable files, policies or requests.
pub(crate) const BAD_INPUT: u8 = 2;
/// A bug in durward.
pub(crate) const INTERNAL: u8 = 101;

/// Most problems of policies listed before the hint to run `durward check`.
const PROBLEMS_MAX: usize = 10;

/// How a command ends.
pub(crate) type CommandResult = Result<ExitCode, CommandError>;

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub(crate) struct CommandError {
    messages: Vec<String>,
    hint: Option<String>,
}

impl CommandError {
    /// A failure in the user's words.
    pub(crate) fn new(message: impl Into<String>) -> CommandError {
        CommandError { messages: vec![message.into()], hint: None }
    }

    /// Several things that are wrong with one text.
    pub(crate) fn all<E: Display>(errors: &[E]) -> CommandError {
        let messages = errors.iter().take(PROBLEMS_MAX).map(ToString::to_string).collect();
        CommandError { messages, hint: None }
    }

    /// Adds a way out.
    pub(crate) fn hint(self, hint: impl Into<String>) -> CommandError {
        CommandError { hint: Some(hint.into()), ..self }
    }

    /// Says in which file it is.
    pub(crate) fn at(mut self, path: &Path) -> CommandError {
        self.messages.iter_mut().for_each(|message| *message = format!("{}: {message}", path.display()));
        self
    }

    /// A file that could not be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> CommandError {
        CommandError::new(format!("cannot read {}: {}", path.display(), without_number(&error.to_string())))
    }

    /// Policies that cannot be put in force.
    pub(crate) fn policies(errors: &[PolicyError]) -> CommandError {
        let messages = errors.iter().take(PROBLEMS_MAX).map(ToString::to_string).collect();
        let hint = match errors.len().checked_sub(PROBLEMS_MAX) {
            Some(more) if more > 0 => format!("{more} more problems: `durward check` lists them all"),
            _ => "`durward check` finds more than what stops policies from being used".to_owned(),
        };
        CommandError { messages, hint: Some(hint) }
    }

    /// The way out, if there is one.
    #[cfg(test)]
    pub(crate) fn way_out(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Writes it to standard error.
    pub(crate) fn report(&self) {
        self.messages.iter().for_each(complain);
        if let Some(hint) = &self.hint {
            progress::to_stderr(format_args!("durward: {}: {hint}", colour::label("hint")));
        }
    }
}

/// What is wrong, in one line.
impl Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.messages.join("; "))
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> CommandError {
        CommandError::new(without_number(&error.to_string()))
    }
}

#[cfg(feature = "standard")]
impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> CommandError {
        CommandError::new(without_number(&error.to_string()))
    }
}

/// One line of error that does not end the command.
pub(crate) fn complain(message: impl Display) {
    progress::to_stderr(format_args!("durward: {}: {message}", colour::label("error")));
}

/// Something to know about what was done all the same.
pub(crate) fn warn(message: impl Display) {
    progress::to_stderr(format_args!("durward: {}: {message}", colour::label("warning")));
}

/// An operating system's message without its number: `No such file or directory`. What stands behind the number stays: it says
/// which setting is meant.
pub(crate) fn without_number(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let first = parts.next().unwrap_or_default();
    parts.fold(first.to_owned(), |text, part| {
        text + part.split_once(')').map_or(part, |(_number, behind)| behind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_and_what_stands_behind_them_stays() {
        for (message, expected) in [
            (
                "a.pem: No such file (os error 2); see `server.tls.key`",
                "a.pem: No such file; see `server.tls.key`",
            ),
            ("denied (os error 13)", "denied"),
            ("a (os error 2), b (os error 13)", "a, b"),
            ("no number", "no number"),
        ] {
            assert_eq!(without_number(message), expected);
        }
    }
}
