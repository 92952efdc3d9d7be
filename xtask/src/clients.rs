//! `durward serve`, asked by the client packages of others, as their registries have them.
//!
//! The packages are installed into a folder of their own below the target directory. Missing so far: the Java client
//! (`io.sapl:sapl-pdp-remote`) needs Java 21, and the .NET and PHP clients need their runtimes.

use crate::metadata::{self, Metadata};
use crate::process::{Show, Stream, cargo, locked, run, run_seeing};
use crate::report::{Outcome, Report};
use crate::tools::PYTHON;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What is installed, with all it needs, to the version: a client that changes must not break a build by itself.
const REQUIREMENTS: &str = "xtask/clients/python/requirements.txt";
const SCRIPT: &str = "xtask/clients/python/clients.py";

/// `cargo xtask clients`.
pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step("clients: Python", python);
    report.close()
}

/// SAPL's Python package over HTTP, events and RSocket.
pub(crate) fn python() -> Outcome {
    let python = match PYTHON.get() {
        Ok(python) => python,
        Err(missing) => return Outcome::Skipped(missing),
    };
    match installed(&python).and_then(|python| Ok((python, binary()?))) {
        Ok((python, binary)) => asked(&python, &binary),
        Err(message) => Outcome::Failed(message),
    }
}

/// The interpreter of a virtual environment with the packages in it.
fn installed(python: &Path) -> Result<PathBuf, String> {
    let folder = Metadata::read()?.target_directory.join("clients/python");
    let own = folder.join("bin/python");
    if !own.exists() {
        run(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
    }
    let requirements = metadata::root().join(REQUIREMENTS);
    let mut command = Command::new(&own);
    // The package asks for a newer Python than it uses: all of it runs on 3.11.
    command.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--ignore-requires-python",
    ]);
    run(command.arg("--requirement").arg(requirements))?;
    Ok(own)
}

fn binary() -> Result<PathBuf, String> {
    run(cargo(&["build", "--package", "durward"]).args(locked()))?;
    Ok(Metadata::read()?.target_directory.join("debug").join("durward"))
}

/// Runs the script, which starts the server itself, and counts what it says.
fn asked(python: &Path, binary: &Path) -> Outcome {
    let (mut passed, mut failed) = (0, 0);
    let mut command = Command::new(python);
    command.arg(metadata::root().join(SCRIPT)).arg(binary);
    let ended = run_seeing(&mut command, Stream::Output, |line| {
        passed += u64::from(line.starts_with("ok "));
        failed += u64::from(line.starts_with("FAILED "));
        Show::Yes
    });
    match ended {
        Ok(status) if status.success() && passed > 0 => {
            Outcome::Counted { passed, failed, note: String::new() }
        }
        Ok(status) => Outcome::Counted { passed, failed: failed.max(1), note: status.to_string() },
        Err(message) => Outcome::Failed(message),
    }
}
