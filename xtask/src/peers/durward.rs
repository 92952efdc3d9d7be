//! durward's side: the binary, called as anybody would.

use super::What;
use super::data::Set;
use crate::built;
use crate::driven::pinned;
use crate::process::output_of;
use crate::release;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The binary.
#[derive(Debug)]
pub(super) struct Durward {
    binary: PathBuf,
}

impl Durward {
    /// As it ships.
    pub(super) fn dist() -> Result<Durward, String> {
        Ok(Durward { binary: release::dist()? })
    }

    /// As tests use it: for decisions, not for speed.
    pub(super) fn debug() -> Result<Durward, String> {
        Ok(Durward { binary: built::binary()? })
    }

    /// Writes the policies and questions of a scenario, in SAPL or as the flags say.
    pub(super) fn generate(&self, scenario: &str, flags: &[&str], folder: &Path) -> Result<(), String> {
        let mut program = Command::new(&self.binary);
        program.args(["bench", "generate", "--scenario", scenario]).args(flags).arg("--out").arg(folder);
        output_of(&mut program)?;
        Ok(())
    }

    /// The decision of every question, in order.
    pub(super) fn decisions(&self, set: &Set) -> Result<Vec<String>, String> {
        let text = self.say(set, &["decide"], &[])?;
        let decision = |line: &str| -> Option<String> {
            let value: Value = serde_json::from_str(line).ok()?;
            Some(value.get("decision")?.as_str()?.to_owned())
        };
        text.lines().map(|line| decision(line).ok_or_else(|| format!("no decision in `{line}`"))).collect()
    }

    /// Decisions a second.
    pub(super) fn measure(&self, set: &Set, what: What, seconds: f64) -> Result<f64, String> {
        let mode = match what {
            What::Parsed => "decide",
            What::Text => "text",
        };
        let seconds = seconds.to_string();
        let text =
            self.say(set, &["bench", "embedded"], &["--json", "--mode", mode, "--seconds", &seconds])?;
        let value: Value = serde_json::from_str(&text).map_err(|error| format!("durward bench: {error}"))?;
        let rate = value.get(0).and_then(|row| row.get("decisions_per_s")).and_then(Value::as_f64);
        rate.ok_or_else(|| "durward bench: no `decisions_per_s`".to_owned())
    }

    fn say(&self, set: &Set, command: &[&str], flags: &[&str]) -> Result<String, String> {
        let mut program = pinned(&self.binary);
        program.args(command).arg("--policies").arg(&set.policies);
        program.arg("--requests").arg(&set.questions).args(flags);
        output_of(&mut program)
    }
}
