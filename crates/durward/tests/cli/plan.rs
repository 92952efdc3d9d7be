//! `durward plan`: what the manual tells people to type, and what they see.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::binary::binary;
use crate::{Ran, ran};

/// An empty directory.
fn empty(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("durward-plan-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The commands of the manual's example, and what it says that they print.
fn example() -> (String, String) {
    let manual = fs::read_to_string(durward_testdata::workspace().join("docs/plan.md")).unwrap();
    let example = manual.split_once("## An example to type\n").unwrap().1;
    let (commands, rest) = example.split_once("```sh\n").unwrap().1.split_once("```\n").unwrap();
    let printed = rest.split_once("```text\n").unwrap().1.split_once("```\n").unwrap().0;
    (commands.to_owned(), printed.to_owned())
}

/// Has a shell run commands in a directory.
fn typed(directory: &PathBuf, commands: &str) -> Ran {
    let program = binary();
    let folder = PathBuf::from(&program).parent().unwrap().to_owned();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-euc", commands]).current_dir(directory).env("PATH", path).stdin(Stdio::null());
    ran(shell.output().unwrap())
}

#[test]
fn the_example_of_the_manual_prints_what_the_manual_shows() {
    let directory = empty("example");
    let (commands, printed) = example();
    let ran = typed(&directory, &commands).exits(0);
    assert_eq!((ran.stdout, ran.stderr.as_str()), (printed, ""));
    fs::remove_dir_all(directory).unwrap();
}

/// A policy of a table means nothing before row-level security is on: every role would go on to read all rows.
#[test]
fn row_level_security_is_turned_on_before_its_policy() {
    let directory = empty("rls");
    let (commands, _) = example();
    let commands = commands.replace("--dialect sqlite", "--rls clinic.records --role ada");
    let ran = typed(&directory, &commands).exits(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], r#"ALTER TABLE "clinic"."records" ENABLE ROW LEVEL SECURITY;"#);
    assert!(
        lines[1].starts_with(
            r#"CREATE POLICY "durward records" ON "clinic"."records" FOR SELECT TO "ada" USING ("#
        )
    );
    assert_eq!(lines.len(), 2);
    fs::remove_dir_all(directory).unwrap();
}
