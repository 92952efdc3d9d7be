//! Targets that are started for real: this binary plays them (`child`), under limits, dying, forking, refusing to end.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests, and the targets that they start"
)]

mod child;
mod limits;
mod nodes;
mod traces;
mod watched;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use durward_lab::target::{RunningTarget, TargetSpec};

/// A target that this binary plays in a role, at the port of the node.
fn spec(role: &str) -> TargetSpec {
    let command = command(role);
    TargetSpec { command, ready_within_s: 20.0, stop_within_s: 5.0, ..TargetSpec::default() }
}

fn command(role: &str) -> Vec<String> {
    let binary = env::current_exe().unwrap().display().to_string();
    let words = ["sh", "-c", "ROLE=$1 PORT=$2 exec \"$0\" --exact child::play --ignored --nocapture --quiet"];
    words.into_iter().map(str::to_owned).chain([binary, role.to_owned(), "{port}".to_owned()]).collect()
}

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The name by which processes, groups and directories of a target are known.
fn name(running: &RunningTarget) -> String {
    running.directory().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

/// Processes of a target, by their mark, and its control groups and directory: what must be gone in the end.
fn traces(name: &str) -> Vec<String> {
    let mark = format!("DURWARD_LAB_NODE={name}-");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environ.split(|byte| *byte == 0).any(|one| one.starts_with(mark.as_bytes())) {
            found.push(entry.path().display().to_string());
        }
    }
    groups(Path::new("/sys/fs/cgroup"), &format!("{name}-"), &mut found);
    let directory = env::temp_dir().join(name);
    found.extend(directory.exists().then(|| directory.display().to_string()));
    found
}

fn groups(directory: &Path, begin: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.file_name().to_string_lossy().starts_with(begin) {
                found.push(entry.path().display().to_string());
            }
            groups(&entry.path(), begin, found);
        }
    }
}

/// Whether a test that needs a limit can run; where it cannot, that is said, with the reason. A machine that must be able to
/// says so by `DURWARD_LAB_LIMITS=1`: there it fails.
fn can_limit(running: &RunningTarget) -> bool {
    let missing = running.info().limits_missing;
    if missing.is_empty() {
        return true;
    }
    eprintln!("not tested, this machine cannot limit: {}", missing.join("; "));
    assert!(env::var_os("DURWARD_LAB_LIMITS").is_none(), "it must be able to: {missing:?}");
    false
}

/// What a server answers.
fn get(address: &str, path: &str) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = agent.get(format!("{address}{path}")).call().unwrap();
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
