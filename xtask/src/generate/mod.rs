//! Documents written from the program itself, committed, and refused when stale.
//!
//! Each is a function from the built product to text. `generate` writes them, `generate --check` and `check`
//! compare.

mod cli;
mod functions;
mod limits;

use crate::metadata;
use std::process::ExitCode;

/// Whether to write or to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write what is stale.
    Write,
    /// Only say what is stale.
    Check,
}

/// One generated file.
struct Generated {
    path: &'static str,
    /// Makes the text.
    write: fn() -> Result<String, String>,
}

const FILES: [Generated; 4] = [
    Generated { path: "docs/cli.md", write: cli::write },
    Generated { path: "docs/functions.md", write: functions::write },
    Generated { path: "docs/limits.md", write: limits::write },
    Generated { path: "docs/sapl-functions.md", write: functions::write_sapl },
];

/// Writes the files, or says which are stale.
pub(crate) fn run(mode: Mode) -> Result<ExitCode, String> {
    let stale = stale_files()?;
    for (file, text) in &stale {
        println!("{} {}", if mode == Mode::Write { "wrote" } else { "stale:" }, file.path);
        if mode == Mode::Write {
            let path = metadata::root().join(file.path);
            std::fs::write(path, text).map_err(|error| format!("cannot write `{}`: {error}", file.path))?;
        }
    }
    let well = mode == Mode::Write || stale.is_empty();
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The findings for `check`.
pub(crate) fn stale() -> Result<Vec<String>, String> {
    let say =
        |(file, _): &(&Generated, String)| format!("`{}` is stale: run `cargo xtask generate`", file.path);
    Ok(stale_files()?.iter().map(say).collect())
}

fn stale_files() -> Result<Vec<(&'static Generated, String)>, String> {
    let mut stale = Vec::new();
    for file in &FILES {
        let text = (file.write)()?;
        let there = std::fs::read_to_string(metadata::root().join(file.path)).unwrap_or_default();
        if there != text {
            stale.push((file, text));
        }
    }
    Ok(stale)
}
