//! `cargo xtask test`: `check`, then everything that runs the product.

use crate::process::{Show, Stream, cargo, locked, run_seeing};
use crate::report::{Outcome, Report};
use crate::tools::{
    MOSQUITTO, MOSQUITTO_PUB, NGINX, NODE, OATHTOOL, OPENSSL, PROMETHEUS, SLAPD, json_schema_suite,
    nats_server,
};
use crate::{check, clients, demo, fuzz, instructions, lean, opcua, peers, readme, recorded, release};
use std::process::ExitCode;

/// How long each fuzz target runs: long enough to pass the seeds and a few hundred thousand inputs.
const FUZZ_S: u64 = 10;

/// All of it, and the table.
pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    check::steps(&mut report);
    report.step("recorded data", recorded::check);
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
    let mut command = cargo(&["test", "--workspace", "--no-fail-fast"]);
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
    let ended = run_seeing(command.args(locked()), Stream::Output, |line| {
        tally.see(line);
        Show::Yes
    });
    let Tally { passed, failed, ignored } = tally;
    let note = if ignored == 0 { String::new() } else { format!("{ignored} ignored") };
    match ended {
        Ok(status) if status.success() || failed > 0 => Outcome::Counted { passed, failed, note },
        // It did not build, or a test took the program down.
        Ok(status) => Outcome::Counted { passed, failed: failed + 1, note: format!("cargo test: {status}") },
        Err(message) => Outcome::Counted { passed, failed: failed + 1, note: message },
    }
}

/// The sums of cargo's closing lines.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; ...`.
    fn see(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(tally, Tally { passed: 7, failed: 2, ignored: 1 });
    }
}
