//! What is tested, built once: every crate with all features, in the profile `dev`, as `cargo test` has it. Other features, or other
//! packages on the command line, would be another build of half the crates.

use crate::metadata::Metadata;
use crate::process::{self, Show, Stream, cargo, locked, run_seeing, shown};
use crate::programs::{TestProgram, of_messages};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// What the lints look at and the tests are built of.
pub(crate) const EVERYTHING: [&str; 2] = ["--workspace", "--all-features"];

/// What was built: once in a run.
static BUILT: OnceLock<Built> = OnceLock::new();

struct Built {
    /// Where cargo puts it.
    folder: PathBuf,
    programs: Vec<TestProgram>,
}

/// Builds every test, and with them the binary and the examples.
///
/// # Errors
/// It does not build.
pub(crate) fn tests() -> Result<(), String> {
    let mut command = cargo(&["test", "--no-run", "--message-format", "json-render-diagnostics"]);
    command.args(EVERYTHING).args(locked());
    let mut messages = Vec::new();
    let status = run_seeing(&mut command, process::limit(), Stream::Output, |line| {
        messages.push(line.to_owned());
        Show::No
    })?;
    if !status.success() {
        return Err(format!("`{}`: {status}", shown(&command)));
    }
    let metadata = Metadata::read()?;
    let programs = of_messages(&messages, &metadata);
    BUILT.get_or_init(|| Built { folder: metadata.target_directory.join("debug"), programs });
    Ok(())
}

/// The programs of the tests, in the order in which cargo names them.
///
/// # Errors
/// They do not build.
pub(crate) fn programs() -> Result<&'static [TestProgram], String> {
    Ok(&built()?.programs)
}

/// The binary with all features, as it is built with the tests: alone, other features of what it depends on would be another build of half of it.
///
/// # Errors
/// It does not build.
pub(crate) fn binary() -> Result<PathBuf, String> {
    Ok(built()?.folder.join("durward"))
}

/// A program of the crates that tests are made of.
///
/// # Errors
/// It does not build.
pub(crate) fn program(name: &str) -> Result<PathBuf, String> {
    Ok(built()?.folder.join(name))
}

/// A library for other languages, as it is built with the tests of its package: beside them.
///
/// # Errors
/// It does not build.
pub(crate) fn library(name: &str) -> Result<PathBuf, String> {
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    Ok(built()?.folder.join("deps").join(file))
}

/// What an example prints.
///
/// # Errors
/// It does not build, or fails.
pub(crate) fn printed_by(example: &str) -> Result<String, String> {
    process::output_of(&mut Command::new(built()?.folder.join("examples").join(example)))
}

/// All of it, built unless it is.
fn built() -> Result<&'static Built, String> {
    if BUILT.get().is_none() {
        tests()?;
    }
    BUILT.get().ok_or_else(|| "nothing was built".to_owned())
}
