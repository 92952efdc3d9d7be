//! The policies and requests that all engines get: recorded data in the forms each side reads.

use crate::metadata::Metadata;
use crate::recorded;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// One policy and its requests, laid out in a folder of its own: `policy/policy.xml`, `requests.txt` (XML, one a
/// line, for the engines) and `requests.jsonl` (for durward).
#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: &'static str,
    pub(super) folder: PathBuf,
}

/// Name, policy and requests of each set, below the data folder.
const SETS: [(&str, &str, &str); 4] = [
    ("CONTINUE, 298 rules", "continue/continue-a-3.0.xml", "continue/requests-single.jsonl"),
    ("synthetic, 100 rules", "policies/synth-100-do.xml", "policies/synth-100-do.requests.jsonl"),
    ("synthetic, 1,000 rules", "policies/synth-1000-do.xml", "policies/synth-1000-do.requests.jsonl"),
    ("synthetic, 10,000 rules", "policies/synth-10000-do.xml", "policies/synth-10000-do.requests.jsonl"),
];

/// Lays out all sets in the target folder.
pub(super) fn sets() -> Result<Vec<Set>, String> {
    let data = recorded::xacml()?;
    let target = Metadata::read()?.target_directory.join("peers/data");
    let lay_out = |(number, (name, policy, requests)): (usize, (&'static str, &str, &str))| {
        let folder = target.join(number.to_string());
        lay_out(&data.join(policy), &data.join(requests), &folder)
            .map_err(|error| format!("cannot lay out `{name}` in `{}`: {error}", folder.display()))?;
        Ok(Set { name, folder })
    };
    SETS.into_iter().enumerate().map(lay_out).collect()
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
