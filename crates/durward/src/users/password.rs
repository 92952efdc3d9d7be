//! Where a password comes from: a file, standard input, or the terminal, which does not show it.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use durward_files::{SecretReaders, read_secret_text};

use crate::failure::CommandError;

/// What is longer is no password; the directory says how long one may be.
const INPUT_BYTES_MAX: u64 = 64 * 1024;

/// A password: the first line of what is given.
pub(super) fn read(file: Option<&Path>) -> Result<String, CommandError> {
    let text = match file {
        Some(path) => read_secret_text(path, SecretReaders::OwnerAndGroup, INPUT_BYTES_MAX)
            .map_err(|error| CommandError::unreadable(path, &error.into()))?,
        None if io::stdin().is_terminal() => return ask(),
        None => first_line()?,
    };
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        Some(_) | None => Err(CommandError::new("the password is empty")),
    }
}

/// A password that somebody has already: on the terminal, it is asked for once.
///
/// # Errors
/// As of [`read`].
#[cfg(feature = "opcua")]
pub(crate) fn read_known(file: Option<&Path>) -> Result<String, CommandError> {
    if file.is_some() || !io::stdin().is_terminal() {
        return read(file);
    }
    let password = asked("password: ")?;
    if password.is_empty() { Err(CommandError::new("the password is empty")) } else { Ok(password) }
}

fn first_line() -> Result<String, CommandError> {
    let mut line = String::new();
    io::stdin().lock().take(INPUT_BYTES_MAX).read_line(&mut line)?;
    Ok(line)
}

fn ask() -> Result<String, CommandError> {
    let first = asked("password: ")?;
    if first.is_empty() {
        return Err(CommandError::new("the password is empty"));
    }
    if asked("again: ")? == first { Ok(first) } else { Err(CommandError::new("the two are not the same")) }
}

fn asked(prompt: &str) -> Result<String, CommandError> {
    let unseen = || {
        CommandError::new("the terminal cannot be kept from showing the password")
            .hint("give it in a file with `--password-file`, or on standard input")
    };
    write!(io::stderr(), "{prompt}")?;
    if !echo("-echo") {
        return Err(unseen());
    }
    let line = first_line();
    let is_restored = echo("echo");
    writeln!(io::stderr())?;
    let line = line?;
    if is_restored { Ok(line.trim_end_matches(['\r', '\n']).to_owned()) } else { Err(unseen()) }
}

/// Tells the terminal whether to show what is typed: by `stty`, which is wherever there is a terminal.
fn echo(mode: &str) -> bool {
    let told = Command::new("stty").arg(mode).stdin(Stdio::inherit()).stderr(Stdio::null()).status();
    told.is_ok_and(|status| status.success())
}
