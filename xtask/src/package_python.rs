//! `cargo xtask package python`: the wheel, built from files, and installed without a network where nothing else is. Then the guards in frameworks
//! of others, which pip fetches. Nothing is published.

use crate::clients::{Missing, install};
use crate::metadata::{self, Metadata};
use crate::process::{locked, run, without_our_package};
use crate::release;
use crate::report::{Outcome, Report};
use crate::tools::PYTHON;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const BUILT: &str = "Python: wheel, installed without a network";

pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step(BUILT, || outcome(wheel()));
    if report.has_passed(BUILT) {
        report.step("Python: guards in frameworks of others", || outcome(frameworks()));
    }
    report.close()
}

fn outcome(result: Result<(), Missing>) -> Outcome {
    match result {
        Ok(()) => Outcome::Passed(String::new()),
        Err(Missing::Tool(why)) => Outcome::Skipped(why),
        Err(Missing::Broken(why)) => Outcome::Failed(why),
    }
}

/// Builds the wheel, installs it in a fresh environment, and runs the tests there.
fn wheel() -> Result<(), Missing> {
    let python = install::tool(PYTHON)?;
    build()?;
    let fresh = folder()?.join("fresh");
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&fresh))?;
    let own = fresh.join("bin/python");
    install_wheel(&own)?;
    test(&own, &ours().join("tests"))
}

/// Builds the wheel.
pub(crate) fn build() -> Result<(), Missing> {
    let maturin = environment("maturin", &ours().join("build-requirements.txt"))?;
    let wheels = wheels()?;
    if wheels.exists() {
        fs::remove_dir_all(&wheels)
            .map_err(|error| format!("cannot remove `{}`: {error}", wheels.display()))?;
    }
    let mut build = Command::new(maturin);
    build
        .args(["-m", "maturin", "build", "--profile", release::OPTIMISED, "--manifest-path"])
        .arg(ours().join("Cargo.toml"));
    build.arg("--out").arg(&wheels).args(locked()).current_dir(metadata::root());
    without_our_package(&mut build);
    Ok(run(&mut build)?)
}

/// Installs the frameworks and, beside them, the wheel.
fn frameworks() -> Result<(), Missing> {
    let tests = ours().join("tests/frameworks");
    let own = environment("frameworks", &tests.join("requirements.txt"))?;
    install_wheel(&own)?;
    test(&own, &tests)
}

/// The Python of an environment of this name, with these packages.
pub(crate) fn environment(name: &str, requirements: &Path) -> Result<PathBuf, Missing> {
    install::python_environment(&folder()?.join(name), requirements)
}

/// Puts the wheel that was built into an environment.
pub(crate) fn install_wheel(python: &Path) -> Result<(), String> {
    let mut pip = pip(python);
    pip.args(["--no-index", "--no-deps", "--force-reinstall", "--find-links"]).arg(wheels()?).arg("durward");
    run(&mut pip)
}

fn pip(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip
}

fn test(python: &Path, tests: &Path) -> Result<(), Missing> {
    let mut command = Command::new(python);
    command.args(["-m", "unittest", "discover", "--top-level-directory", ".", "--start-directory", "."]);
    command.current_dir(tests).env_remove("PYTHONPATH").env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("DURWARD_CASES", metadata::root().join("crates/durward-embed/tests/cases.json"));
    Ok(run(&mut command)?)
}

fn ours() -> PathBuf {
    metadata::root().join("bindings/python")
}

/// Where packages are made.
fn folder() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("packages/python"))
}

fn wheels() -> Result<PathBuf, String> {
    Ok(folder()?.join("wheels"))
}
