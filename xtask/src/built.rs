//! What is tested, built once: every crate with all features, in the profile `dev`, as `cargo test` has it. Other features, or other
//! packages on the command line, would be another build of half the crates.

use crate::metadata::Metadata;
use crate::process::{self, cargo, locked, run};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// What the lints look at and the tests are built of.
pub(crate) const EVERYTHING: [&str; 2] = ["--workspace", "--all-features"];

/// Where cargo puts it, once [`tests`] has built it.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Builds every test, and with them the binary and the examples.
///
/// # Errors
/// It does not build.
pub(crate) fn tests() -> Result<(), String> {
    run(cargo(&["test", "--no-run"]).args(EVERYTHING).args(locked()))?;
    let folder = folder()?;
    FOLDER.get_or_init(|| folder);
    Ok(())
}

/// The binary with all features, as it is built with the tests: alone, other features of what it depends on would be another build of half of it.
///
/// # Errors
/// It does not build.
pub(crate) fn binary() -> Result<PathBuf, String> {
    Ok(built()?.join("durward"))
}

/// What an example prints.
///
/// # Errors
/// It does not build, or fails.
pub(crate) fn printed_by(example: &str) -> Result<String, String> {
    process::output_of(&mut Command::new(built()?.join("examples").join(example)))
}

/// Where everything lies, built unless it is.
fn built() -> Result<PathBuf, String> {
    if FOLDER.get().is_none() {
        tests()?;
    }
    FOLDER.get().cloned().map_or_else(folder, Ok)
}

fn folder() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("debug"))
}
