//! `cargo xtask test`: `check`, then everything that runs the product.

use crate::process::{Show, Stream, cargo, locked, run_seeing};
use crate::report::{Outcome, Report, longest};
use crate::tools::{
    MOSQUITTO, MOSQUITTO_PUB, NGINX, NODE, OATHTOOL, OPENSSL, PROMETHEUS, SLAPD, json_schema_suite,
    nats_server,
};
use crate::{
    beside, built, check, clients, demo, fuzz, instructions, lean, opcua, peers, readme, recorded, release,
    room,
};
use std::process::ExitCode;
use std::time::Duration;

/// How long each fuzz target runs: long enough to pass the seeds and some ten or hundred thousand inputs.
const FUZZ_S: u64 = 6;

/// All of it, and the table.
pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step("room on the disk", room::check);
    let beside = beside::start();
    check::steps(&mut report);
    report.step("recorded data", recorded::check);
    report.step("tests: build", || Outcome::of(built::tests()));
    check::generated(&mut report);
    report.step("what is fetched beside", || {
        beside.wait();
        Outcome::Passed(String::new())
    });
    report.step("tests", tests);
    report.step("tests of the lean kernel", lean::tests);
    fuzz::steps(&mut report, FUZZ_S);
    report.step("instruction counts", instructions::check);
    report.step("release binary", release::check);
    clients::steps(&mut report, "");
    opcua::steps(&mut report, &[]);
    peers::steps(&mut report);
    report.step("README: examples", readme::check);
    report.step("README: demo", demo::check);
    report.close()
}

/// `cargo test` over everything, documentation examples included, counting what it says.
fn tests() -> Outcome {
    for tool in [MOSQUITTO, MOSQUITTO_PUB, NGINX, NODE, OATHTOOL, OPENSSL, PROMETHEUS, SLAPD] {
        // The tests that want it say so themselves: passed over here, a failure on the build machine.
        if let Err(missing) = tool.get() {
            println!("{missing}");
        }
    }
    let mut tally = Tally::default();
    let mut command = cargo(&["test", "--no-fail-fast"]);
    command.args(built::EVERYTHING);
    match nats_server() {
        Ok(program) => {
            command.env("DURWARD_NATS_SERVER", program);
        }
        // The same.
        Err(missing) => println!("{missing}"),
    }
    match json_schema_suite() {
        Ok(folder) => {
            command.env("JSON_SCHEMA_TEST_SUITE", folder);
        }
        // The same.
        Err(missing) => println!("{missing}"),
    }
    let ended = run_seeing(command.args(locked()), Stream::Both, |line| {
        tally.see(line);
        Show::Yes
    });
    let Tally { passed, failed, ignored, programs, .. } = tally;
    let times: Vec<(&str, Duration)> = programs.iter().map(|(name, took)| (name.as_str(), *took)).collect();
    println!("\ntest programs: {}", longest(&times, times.iter().map(|(_, took)| *took).sum()));
    let note = if ignored == 0 { String::new() } else { format!("{ignored} ignored") };
    match ended {
        Ok(status) if status.success() || failed > 0 => Outcome::Counted { passed, failed, note },
        // It did not build, or a test took the program down.
        Ok(status) => Outcome::Counted { passed, failed: failed + 1, note: format!("cargo test: {status}") },
        Err(message) => Outcome::Counted { passed, failed: failed + 1, note: message },
    }
}

/// The sums of cargo's closing lines, and how long each program of tests ran.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// What runs: `cli (tests/cli/main.rs)`, `doc-tests of durward_ir`.
    running: String,
    programs: Vec<(String, Duration)>,
}

impl Tally {
    /// Lines that begin a program, and those that close it:
    /// `Running tests/cli/main.rs (target/debug/deps/cli-0123)`, `Doc-tests durward_ir`, and `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; ...`.
    fn see(&mut self, line: &str) {
        if let Some(program) = program(line.trim()) {
            self.running = program;
        }
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        let took =
            counts.rsplit("finished in ").next().and_then(|it| it.trim().trim_end_matches('s').parse().ok());
        let took = took.map_or(Duration::ZERO, Duration::from_secs_f64);
        self.programs.push((self.running.clone(), took));
        for count in counts.split(';') {
            let Some((number, kind)) = count.trim().split_once(' ') else { continue };
            let number = number.parse().unwrap_or(0);
            match kind {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// What a line of cargo says it runs now.
fn program(line: &str) -> Option<String> {
    if let Some(package) = line.strip_prefix("Doc-tests ") {
        return Some(format!("doc-tests of {package}"));
    }
    let (source, path) = line.strip_prefix("Running ")?.split_once(" (")?;
    let file = path.trim_end_matches(')').rsplit('/').next()?;
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    Some(format!("{name} ({})", source.trim_start_matches("unittests ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_has_its_time() {
        let mut tally = Tally::default();
        for line in [
            "     Running unittests src/lib.rs (target/debug/deps/durward_ir-0a1b)",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.25s",
            "   Doc-tests durward_ir",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s",
        ] {
            tally.see(line);
        }
        let ms = Duration::from_millis;
        let named = |name: &str, took| (name.to_owned(), took);
        let expected =
            [named("durward_ir (src/lib.rs)", ms(1250)), named("doc-tests of durward_ir", ms(500))];
        assert_eq!(tally.programs, expected);
    }

    #[test]
    fn closing_lines_are_summed() {
        let mut tally = Tally::default();
        for line in [
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s",
            "test a::b ... ok",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ] {
            tally.see(line);
        }
        assert_eq!((tally.passed, tally.failed, tally.ignored), (7, 2, 1));
    }
}
