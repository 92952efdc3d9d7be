//! `cargo xtask faults`: three servers of NATS and three nodes under load, some of which are killed, round after round; to be run every
//! night. `cargo xtask test` does one round for each mode, as two of the tests.

use crate::process::{cargo, run};
use crate::report::{Outcome, Report};
use crate::tools::nats_server;
use std::process::ExitCode;

/// Of a nightly run; each kind of fault comes in every third.
const ROUNDS: u64 = 30;

/// `cargo xtask faults [--rounds N]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let rounds = match words {
        [] => ROUNDS,
        ["--rounds", text] => text.parse().map_err(|_| format!("`{text}` is not a number"))?,
        other => return Err(format!("`cargo xtask faults [--rounds N]`, not `{}`", other.join(" "))),
    };
    let program = nats_server()?;
    let mut report = Report::new();
    for (name, test) in [("assured-write", "with_assured_write"), ("assured-read", "with_assured_read")] {
        report.step(name, || {
            let mut command = cargo(&[
                "test",
                "-p",
                "durward",
                "--all-features",
                "--test",
                "identity",
                "--",
                test,
                "--nocapture",
            ]);
            command.env("DURWARD_NATS_SERVER", &program).env("DURWARD_FAULT_ROUNDS", rounds.to_string());
            Outcome::of(run(&mut command))
        });
    }
    Ok(report.close())
}
