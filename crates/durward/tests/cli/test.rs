//! `durward test`: what it prints and writes, and with which exit code it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::binary::binary;
use crate::junit_reader::read_junit;
use crate::{Ran, durward, ran};

const POLICY: &str = "policy \"p\" permit subject == 1;";

/// A test of that policy.
fn test(expected: &str) -> String {
    format!(
        "requirement \"r\" {{ given - document \"p\" scenario \"s\" when 1 attempts 2 on 3 expect {expected}; }}"
    )
}

/// A new directory with these files.
fn directory(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("durward-test-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    for (file, text) in files {
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// Runs `durward test` in a directory.
fn run(directory: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(binary());
    command.arg("test").args(arguments).current_dir(directory).stdin(Stdio::null());
    ran(command.output().unwrap())
}

/// What stands in the first block of this language.
fn block<'t>(text: &'t str, language: &str) -> &'t str {
    let (_, rest) = text.split_once(&format!("\n```{language}\n")).unwrap();
    rest.split_once("```\n").unwrap().0
}

#[test]
fn the_example_of_the_manual_does_what_the_manual_says() {
    let manual = durward_testdata::workspace().join("docs/testing-policies.md");
    let manual = fs::read_to_string(manual).unwrap();
    let files = [
        ("policies/records.sapl", block(&manual, "sapl")),
        ("policies/records.sapltest", block(&manual, "sapltest")),
    ];
    let directory = directory("manual", &files);
    let ran = run(&directory, &["--dir", "policies"]).exits(1);
    assert_eq!(ran.stdout, block(&manual, "text"));
    assert!(directory.join("sapl-coverage/html/document-1.html").is_file());
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn the_exit_code_tells_failures_from_errors() {
    let directory = directory("codes", &[("p.sapl", POLICY), ("good/t.sapltest", &test("permit"))]);
    fs::create_dir(directory.join("none")).unwrap();
    run(&directory, &["--testdir", "good", "--no-html"]).exits(0);
    fs::create_dir(directory.join("bad")).unwrap();
    fs::write(directory.join("bad/t.sapltest"), test("deny")).unwrap();
    run(&directory, &["--testdir", "bad", "--no-html"]).exits(1);
    fs::write(directory.join("bad/t.sapltest"), test("permit").replace("\"p\"", "\"q\"")).unwrap();
    run(&directory, &["--testdir", "bad", "--no-html"]).exits(1);
    fs::write(directory.join("bad/t.sapltest"), "requirement").unwrap();
    let ran = run(&directory, &["--testdir", "bad", "--no-html"]).exits(2);
    assert!(ran.stdout.contains("bad/t.sapltest:1:12: error: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("0 with errors; 1 file could not be read"), "{}", ran.stdout);
    run(&directory, &["--testdir", "none"])
        .exits(2)
        .complains("no tests `*.sapltest` below none", "say with `--testdir` where they are");
    run(&directory, &["--dir", "none"]).exits(2).complains(
        "no documents `*.sapl` below none",
        "say with `--dir` where they are; `durward init` writes a project with tests",
    );
    run(&directory, &["--dir", "nowhere"]).exits(2);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn less_coverage_than_asked_for_fails() {
    let directory = directory("gate", &[("p.sapl", POLICY), ("t.sapltest", &test("permit"))]);
    run(&directory, &["--no-html", "--policy-hit-ratio", "100", "--policy-set-hit-ratio", "100"]).exits(0);
    run(&directory, &["--no-html", "--branch-coverage-ratio", "50"]).exits(0);
    let ran = run(&directory, &["--no-html", "--branch-coverage-ratio", "50.5", "--condition-hit-ratio=1"])
        .exits(1);
    assert!(
        ran.stdout.ends_with("asked for 1 %\ntoo few branches: 50 % (2 of 4), asked for 50.5 %\n"),
        "{}",
        ran.stdout
    );
    run(&directory, &["--condition-hit-ratio", "101"]).exits(2);
    run(&directory, &["--condition-hit-ratio", "most"]).exits(2);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_report_in_the_form_of_junit_is_written_where_it_is_asked_for() {
    let tests = test("permit").replace(" }", " scenario \"t\" when 2 attempts 2 on 3 expect permit; }");
    let directory = directory("junit", &[("p.sapl", POLICY), ("t.sapltest", &tests)]);
    run(&directory, &["--no-html", "--junit", "out/test.xml"]).exits(1);
    let written = fs::read_to_string(directory.join("out/test.xml")).unwrap();
    let root = read_junit(&written);
    assert_eq!(
        (root.attribute("name"), root.attribute("tests"), root.attribute("failures")),
        ("durward test", "2", "1")
    );
    assert_eq!(root.children[0].attribute("name"), "t.sapltest");
    assert!(root.case("t").children[0].text.starts_with("t.sapltest:1:"), "{written}");
    // On standard output, nothing else stands there.
    let ran = run(&directory, &["--no-html", "--junit", "-"]).exits(1);
    assert_eq!(read_junit(&ran.stdout).attribute("failures"), "1");
    assert!(ran.stderr.contains("2 scenarios: 1 passed, 1 failed"), "{}", ran.stderr);
    let ran = run(&directory, &["--no-html", "--junit", "p.sapl/x.xml"]).exits(2);
    assert!(ran.stderr.contains("cannot write p.sapl/x.xml"), "{}", ran.stderr);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn missed_coverage_is_a_failure_in_the_report_as_well() {
    let directory = directory("junit-gate", &[("p.sapl", POLICY), ("t.sapltest", &test("permit"))]);
    let ran = run(&directory, &["--no-html", "--junit", "-", "--condition-hit-ratio", "100"]).exits(1);
    let root = read_junit(&ran.stdout);
    assert_eq!(root.attribute("failures"), "1");
    let missed = &root.case("too few conditions").children[0];
    assert!(missed.attribute("message").ends_with(", asked for 100 %"), "{missed:?}");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn reports_are_written_where_they_are_asked_for() {
    let directory = directory("reports", &[("p.sapl", POLICY), ("t.sapltest", &test("permit"))]);
    run(&directory, &["--no-html", "--no-sonar"]).exits(0);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
    let ran = run(&directory, &["--output", "out", "--no-html", "--html", "--sonar"]).exits(0);
    assert!(
        ran.stdout
            .ends_with("pages: out/html/index.html\nfor SonarQube: out/sonar/sonar-generic-coverage.xml\n")
    );
    assert!(directory.join("out/sonar/sonar-generic-coverage.xml").is_file());
    fs::write(directory.join("out/html/document-2.html"), "old").unwrap();
    fs::write(directory.join("out/html/mine.html"), "mine").unwrap();
    run(&directory, &["--output", "out"]).exits(0);
    assert!(!directory.join("out/html/document-2.html").exists(), "pages of an earlier report are removed");
    assert!(directory.join("out/html/mine.html").exists());
    let ran = run(&directory, &["--output", "p.sapl"]).exits(2);
    assert!(ran.stderr.contains("cannot write p.sapl"), "{}", ran.stderr);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn configurations_are_found_below_the_documents_and_nowhere_else() {
    let json = r#"{ "algorithm": { "votingMode": "PRIORITY_DENY", "defaultDecision": "SUSPEND", "errorHandling": "ABSTAIN" } }"#;
    let all = "requirement \"r\" {
        scenario \"1\" given - configuration \"it\" when 2 attempts 2 on 3 expect suspend;
        scenario \"2\" given - configuration \"./it/\" when 1 attempts 2 on 3 expect permit;
        scenario \"3\" given - pdp-configuration \"it/pdp.json\" - documents \"it/p\" when 2 attempts 2 on 3 expect suspend;
        scenario \"4\" given - configuration \"..\" when 1 attempts 2 on 3 expect permit;
    }";
    let directory =
        directory("configured", &[("a/it/p.sapl", POLICY), ("a/it/pdp.json", json), ("t.sapltest", all)]);
    let ran = run(&directory, &["--dir", "a", "--testdir", ".", "--no-html"]).exits(1);
    assert!(ran.stdout.contains("`..` leads out of a"), "{}", ran.stdout);
    assert!(ran.stdout.contains("4 scenarios: 3 passed, 0 failed, 1 with errors"), "{}", ran.stdout);
    // The documents of the folder are those below the directory, and not others of the same name.
    assert!(ran.stdout.contains("policies     100 % (1 of 1)"), "{}", ran.stdout);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn help_says_what_the_ratios_are_of() {
    let ran = durward(&["test", "--help"]).exits(0);
    assert!(ran.stdout.contains("--condition-hit-ratio <0-100>"), "{}", ran.stdout);
}
