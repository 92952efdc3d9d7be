//! The binary from outside: what it prints, where, and with which exit code.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test may fail so"
)]

#[cfg(feature = "lab")]
mod bench;
mod binary;
mod bundle;
mod check;
mod decide;
#[cfg(feature = "postgres")]
mod entities;
mod eval;
mod exit_codes;
mod fmt;
mod generate;
mod handover;
mod init;
#[path = "../../../durward-scenario/tests/support/junit.rs"]
mod junit_reader;
#[cfg(feature = "lab")]
mod lab_agent;
#[cfg(feature = "lab")]
mod lab_fit;
#[cfg(feature = "lab")]
mod lab_live;
#[cfg(feature = "lab")]
mod lab_protocols;
#[cfg(feature = "lab")]
mod lab_report;
#[cfg(feature = "lab")]
mod lab_run;
#[cfg(feature = "lab")]
mod lab_study;
#[cfg(feature = "lab")]
mod lab_study_luas;
mod lines;
mod login_pages;
#[cfg(feature = "opcua")]
mod opcua;
mod pages;
mod plan;
mod reload;
mod remote;
mod sapl;
mod serve;
mod terminal;
mod test;
mod usage;
mod users;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::binary::binary;

/// Says what a build with few features does not test.
#[cfg(not(all(feature = "full", feature = "pictures")))]
#[test]
#[ignore = "the tests of some commands are left out: `cargo test -p durward --all-features` has all"]
fn what_needs_more_features() {}

/// What a run of the binary left behind.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    /// Asserts the exit code, showing everything if it is another.
    #[track_caller]
    fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that standard error is this line and a hint.
    #[track_caller]
    fn complains(self, message: &str, hint: &str) -> Ran {
        let expected = format!("durward: error: {message}\ndurward: hint: {hint}\n");
        assert_eq!(self.stderr, expected, "stdout:\n{}", self.stdout);
        self
    }

    /// Asserts that standard output is what is kept in a file. With DURWARD_BLESS set, keeps it there.
    #[track_caller]
    fn prints(self, file: &str) -> Ran {
        let path = data("expected").join(file);
        if std::env::var_os("DURWARD_BLESS").is_some() {
            std::fs::write(&path, &self.stdout).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(self.stdout, kept, "{} differs; if it should, run with DURWARD_BLESS=1", path.display());
        self
    }
}

/// Runs the binary in the directory of the test data.
fn durward(arguments: &[&str]) -> Ran {
    ran(command(arguments).stdin(Stdio::null()).output().unwrap())
}

/// Runs the binary with this on standard input.
fn durward_fed(arguments: &[&str], input: &str) -> Ran {
    let mut command = command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    ran(child.wait_with_output().unwrap())
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).current_dir(data("."));
    command
}

fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A file that only its owner may read.
pub(crate) fn write_secret(path: impl AsRef<std::path::Path>, text: &str) {
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// A file of the test data.
fn data(name: &str) -> PathBuf {
    durward_testdata::workspace().join("crates/durward/tests/cli/data").join(name)
}
