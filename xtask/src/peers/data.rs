//! The policies and questions that engines get: recorded XACML, and the scenarios that durward generates, in the forms
//! each side reads.

use super::durward::Durward;
use super::translate;
use crate::metadata::Metadata;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Policies and questions, laid out in a folder of its own: one folder in it for each language.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    /// What durward is given: policies, and questions line by line.
    pub(super) policies: PathBuf,
    pub(super) questions: PathBuf,
}

/// Name, policy and requests of each set, below the data folder.
const RECORDED: [(&str, &str, &str); 4] = [
    ("CONTINUE, 298 rules", "continue/continue-a-3.0.xml", "continue/requests-single.jsonl"),
    ("synthetic, 100 rules", "policies/synth-100-do.xml", "policies/synth-100-do.requests.jsonl"),
    ("synthetic, 1,000 rules", "policies/synth-1000-do.xml", "policies/synth-1000-do.requests.jsonl"),
    ("synthetic, 10,000 rules", "policies/synth-10000-do.xml", "policies/synth-10000-do.requests.jsonl"),
];

/// Scenarios of `durward bench generate` to measure with.
pub(super) const SCENARIOS: [&str; 7] =
    ["rbac", "hospital-5", "hospital-100", "hospital-300", "github-10", "gdrive-10", "tinytodo-10"];

/// Those of them that can be had as XACML, too.
pub(super) const XACML_SCENARIOS: [&str; 3] = ["hospital-5", "hospital-100", "hospital-300"];

/// Smaller ones of each kind, to compare decisions with.
pub(super) const SMALL_SCENARIOS: [&str; 5] = ["rbac", "hospital-3", "github-10", "gdrive-10", "tinytodo-10"];

/// Where sets are laid out.
fn target() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("peers/data"))
}

/// Lays out the recorded sets with the word in their names.
pub(super) fn recorded(word: &str) -> Result<Vec<Set>, String> {
    let chosen: Vec<_> = RECORDED.into_iter().filter(|(name, ..)| name.contains(word)).collect();
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let data = durward_testdata::find("xacml").map_err(|absent| absent.to_string())?;
    let target = target()?;
    let lay_out = |(name, policy, requests): (&str, &str, &str)| {
        let folder = target.join(name.replace([' ', ','], ""));
        lay_out(&data.join(policy), &data.join(requests), &folder.join("xacml"))
            .map_err(|error| format!("cannot lay out `{name}` in `{}`: {error}", folder.display()))?;
        Ok(in_xacml(name.to_owned(), folder))
    };
    chosen.into_iter().map(lay_out).collect()
}

fn lay_out(policy: &Path, requests: &Path, folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("policy"))?;
    // Not `copy`, which would take the permissions along: the data may be read-only.
    fs::write(folder.join("policy/policy.xml"), fs::read(policy)?)?;
    let (mut texts, mut lines) = (String::new(), String::new());
    for (id, line) in fs::read_to_string(requests)?.lines().enumerate() {
        let value: Value = serde_json::from_str(line)?;
        let xml = value.get("xml").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
        texts.push_str(&format!("{xml}\n"));
        lines.push_str(&format!("{}\n", json!({ "id": id, "request": xml })));
    }
    fs::write(folder.join("requests.txt"), texts)?;
    fs::write(folder.join("requests.jsonl"), lines)
}

/// Generates a scenario and lays out its translations.
pub(super) fn scenario(durward: &Durward, name: &str) -> Result<Set, String> {
    let folder = emptied(target()?.join(name))?;
    let policies = folder.join("sapl");
    durward.generate(name, &[], &policies)?;
    translate::lay_out(name, &folder)?;
    Ok(Set { name: name.to_owned(), questions: policies.join("subscriptions.jsonl"), policies, folder })
}

/// Generates a scenario as XACML.
pub(super) fn scenario_in_xacml(durward: &Durward, name: &str) -> Result<Set, String> {
    let folder = emptied(target()?.join(format!("{name}-xacml")))?;
    let generated = folder.join("generated");
    durward.generate(name, &["--language", "xacml"], &generated)?;
    lay_out(&generated.join("policy-0001.xml"), &generated.join("requests.jsonl"), &folder.join("xacml"))
        .map_err(|error| format!("cannot lay out `{name}` in `{}`: {error}", folder.display()))?;
    Ok(in_xacml(format!("{name} in XACML"), folder))
}

fn in_xacml(name: String, folder: PathBuf) -> Set {
    let xacml = folder.join("xacml");
    Set { name, policies: xacml.join("policy"), questions: xacml.join("requests.jsonl"), folder }
}

/// Files of an earlier run may not stay.
fn emptied(folder: PathBuf) -> Result<PathBuf, String> {
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot empty `{}`: {error}", folder.display()))
        }
        Ok(()) | Err(_) => Ok(folder),
    }
}

impl Set {
    /// The question of this number, as durward got it.
    pub(super) fn question(&self, number: usize) -> String {
        let text = fs::read_to_string(&self.questions).unwrap_or_default();
        text.lines().nth(number).unwrap_or("a question that is not there").to_owned()
    }
}
