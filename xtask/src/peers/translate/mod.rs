//! The scenarios of `durward bench generate` in the languages of others: as each one's own documentation would write
//! them for speed, with what can be computed ahead computed ahead. Whether a translation means the same is not argued
//! here: every decision is compared.

mod casbin;
mod cedar;
mod hospital;
mod opa;
mod source;

use serde_json::Value;
use source::{Kind, Source};
use std::fs;
use std::path::Path;

/// Names and contents.
type Files = Vec<(&'static str, String)>;

/// Reads the scenario of this name from `folder/sapl`, and writes it for each engine into `folder/ENGINE`.
///
/// # Errors
/// A policy that cannot be translated, and what the system says.
pub(super) fn lay_out(name: &str, folder: &Path) -> Result<(), String> {
    let source = Source::read(name, &folder.join("sapl"))?;
    write(&folder.join("cedar"), &cedar::files(&source)?)?;
    write(&folder.join("casbin"), &casbin::files(&source)?)?;
    write(&folder.join("opa"), &opa::files(&source)?)?;
    if source.kind == Kind::Hospital {
        write(&folder.join("opa-data"), &opa::hospital_as_data(&source)?)?;
    }
    Ok(())
}

fn write(folder: &Path, files: &Files) -> Result<(), String> {
    let written = fs::create_dir_all(folder)
        .and_then(|()| files.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text)));
    written.map_err(|error| format!("cannot write to `{}`: {error}", folder.display()))
}

fn json_lines(values: impl Iterator<Item = Result<Value, String>>) -> Result<String, String> {
    values.map(|value| Ok(format!("{}\n", value?))).collect()
}
