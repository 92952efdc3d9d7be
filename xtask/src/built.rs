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

/// The binary with all features: of the tests where those were built, otherwise built alone, of what they are built of.
///
/// # Errors
/// It does not build.
pub(crate) fn binary() -> Result<PathBuf, String> {
    Ok(one("bin", "durward")?.join("durward"))
}

/// What an example prints.
///
/// # Errors
/// It does not build, or fails.
pub(crate) fn printed_by(example: &str) -> Result<String, String> {
    let program = one("example", example)?.join("examples").join(example);
    process::output_of(&mut Command::new(program))
}

/// Where a target of this kind and name lies.
fn one(kind: &str, name: &str) -> Result<PathBuf, String> {
    if let Some(folder) = FOLDER.get() {
        return Ok(folder.clone());
    }
    let target = format!("--{kind}");
    run(cargo(&["build", &target, name]).args(EVERYTHING).args(locked()))?;
    folder()
}

fn folder() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("debug"))
}
