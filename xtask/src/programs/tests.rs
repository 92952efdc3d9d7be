//! Programs of tests, played by a shell.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn package(name: &str) -> Package {
    Package {
        name: name.to_owned(),
        version: "0.1.0".to_owned(),
        licence: None,
        source: None,
        folder: Path::new("/work/crates").join(name),
        member: true,
        uses: BTreeSet::new(),
        links: BTreeSet::new(),
    }
}

fn artifact(package: &str, kind: &str, name: &str, source: &str, test: bool) -> String {
    let file = if test { format!("/t/deps/{name}-01") } else { format!("/t/{name}") };
    format!(
        r#"{{"reason": "compiler-artifact", "package_id": "{package}", "target": {{"kind": ["{kind}"], "name": "{name}",
            "src_path": "/work/crates/{package}/{source}"}}, "profile": {{"test": {test}}}, "executable": "{file}"}}"#
    )
    .replace('\n', "")
}

fn programs() -> Vec<TestProgram> {
    let packages = ["durward", "durward-ir"].map(|name| (name.to_owned(), package(name)));
    let metadata = Metadata { packages: BTreeMap::from(packages), target_directory: PathBuf::from("/t") };
    let messages = [
        artifact("durward-ir", "lib", "durward_ir", "src/lib.rs", true),
        r#"{"reason": "compiler-artifact", "package_id": "durward-ir", "executable": null}"#.to_owned(),
        artifact("durward", "bin", "durward", "src/main.rs", false),
        artifact("durward", "example", "one", "examples/one.rs", false),
        artifact("durward", "test", "cli", "tests/cli/main.rs", true),
        r#"{"reason": "build-finished", "success": true}"#.to_owned(),
        "no message".to_owned(),
    ];
    of_messages(&messages, &metadata)
}

#[test]
fn programs_of_tests_are_told_from_what_else_is_built() {
    let jobs: Vec<Job> = programs().into_iter().map(Job::Program).collect();
    let names: Vec<(String, Turn)> = jobs.iter().map(|job| (job.name(), job.turn())).collect();
    let named = |name: &str, turn| (name.to_owned(), turn);
    let wanted =
        [named("durward-ir src/lib.rs", Turn::Any), named("durward tests/cli/main.rs", Turn::OneByOne)];
    assert_eq!(names, wanted);
}

#[test]
fn a_program_is_told_what_cargo_would_tell_it() {
    let all = programs();
    let [_, cli] = all.as_slice() else { panic!("{all:?}") };
    let command = cli.command(Turn::OneByOne);
    let variables: Vec<(&str, Option<&str>)> = command
        .get_envs()
        .map(|(name, value)| (name.to_str().unwrap(), value.map(|value| value.to_str().unwrap())))
        .collect();
    for (name, value) in [
        ("CARGO_BIN_EXE_durward", "/t/durward"),
        ("CARGO_MANIFEST_DIR", "/work/crates/durward"),
        ("CARGO_PKG_NAME", "durward"),
    ] {
        assert!(variables.contains(&(name, Some(value))), "{name}: {variables:?}");
    }
    assert_eq!(command.get_current_dir(), Some(Path::new("/work/crates/durward")));
    assert_eq!(process::shown(&cli.command(Turn::Any)), "nice -n 5 /t/deps/cli-01");
}

fn shell(script: &str) -> Tally {
    told("a program", Command::new("sh").args(["-c", script]))
}

const CLOSING: &str = "echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out'";

#[test]
fn a_program_that_is_well_is_counted() {
    assert_eq!(shell(CLOSING), Tally { passed: 3, ignored: 1, closed: 1, ..Tally::default() });
}

#[test]
fn failed_tests_are_counted_and_their_program_is_not() {
    let closing = CLOSING.replace("ok. 3 passed; 0", "FAILED. 3 passed; 2");
    let wanted = Tally { passed: 3, failed: 2, ignored: 1, closed: 1, ..Tally::default() };
    assert_eq!(shell(&format!("{closing}; exit 101")), wanted);
}

#[test]
fn a_program_that_ends_without_a_closing_line_has_failed() {
    assert_eq!(shell("echo running 3 tests").failed, 1);
    assert_eq!(shell("exit 1").failed, 1);
    assert_eq!(shell("kill -SEGV $$").failed, 1);
    assert_eq!(told("gone", &mut Command::new("/nowhere/program")).failed, 1);
}

#[test]
fn a_program_that_fails_after_its_closing_line_has_failed() {
    assert_eq!(shell(&format!("{CLOSING}; exit 1")).failed, 1);
    assert_eq!(shell(&format!("{CLOSING}; kill -KILL $$")).failed, 1);
}

#[test]
fn all_programs_are_summed() {
    let tallies = [CLOSING, "exit 1", CLOSING].map(shell);
    let times = [("a".to_owned(), Duration::from_secs(1))];
    let note = "a program (exit status: 1); 2 ignored".to_owned();
    let wanted = Outcome::Counted { passed: 6, failed: 1, note };
    assert_eq!(summed(&tallies, &times), wanted);
}
