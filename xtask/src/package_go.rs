//! `cargo xtask package go`: the C library, optimised, and modules elsewhere that require the package: the program of its README, with the library
//! beside it, and its tests. Without a network. Nothing is published.

use crate::metadata::{self, Metadata};
use crate::process::{cargo, locked, output_of, run};
use crate::release;
use crate::report::{Outcome, Report};
use crate::tools::{self, GO};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const BUILT: &str = "Go: program of the README";

/// The module as its `go.mod` names it.
const MODULE: &str = "durward.io/durward";

const LIBRARY: &str = "libdurward.so";

pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step(BUILT, || match GO.get() {
        Ok(go) => Outcome::of(tools::go_modules().and_then(|()| program(&go))),
        Err(missing) => Outcome::Skipped(missing),
    });
    if report.has_passed(BUILT) {
        report.step("Go: tests from another module", || Outcome::of(GO.get().and_then(|go| tests(&go))));
    }
    report.close()
}

/// Builds the program without cgo, and runs it where nothing but the library is.
fn program(go: &Path) -> Result<(), String> {
    run(cargo(&["build", "--profile", release::OPTIMISED, "--package", "durward-c"]).args(locked()))?;
    let folder = folder()?.join("program");
    fresh(&folder)?;
    let readme = read(&ours().join("README.md"))?;
    let source = readme.split_once("```go\npackage main\n").and_then(|(_, rest)| rest.split_once("```\n"));
    let (source, _) = source.ok_or("the README has no program")?;
    write(&folder.join("main.go"), &format!("package main\n{source}"))?;
    let bin = folder.join("bin");
    run(command(go, &folder)
        .args(["build", "-o"])
        .arg(bin.join("doctors"))
        .arg(".")
        .env("CGO_ENABLED", "0"))?;
    copy(&library()?, &bin.join(LIBRARY))?;
    let said = output_of(Command::new(bin.join("doctors")).env_remove("DURWARD_LIBRARY").current_dir(&bin))?;
    if readme.contains(&format!("It prints `{}`", said.trim_end())) {
        Ok(())
    } else {
        Err(format!("the README's program prints `{}`, which the README does not say", said.trim_end()))
    }
}

/// Copies the tests, which know of the package what every user knows.
fn tests(go: &Path) -> Result<(), String> {
    let folder = folder()?.join("tests");
    fresh(&folder)?;
    for part in ["", "durwardhttp"] {
        let from = ours().join(part);
        let cannot = |error: std::io::Error| format!("cannot read `{}`: {error}", from.display());
        for entry in fs::read_dir(&from).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with("_test.go") {
                copy(&path, &folder.join(part).join(name))?;
            }
        }
    }
    // Writes into `go.mod` what the package itself requires.
    run(command(go, &folder).args(["vet", "./..."]))?;
    let mut command = cargo(&["test", "--package", "durward-c", "--test", "package"]);
    command.args(locked()).args(["--", "go::"]);
    run(command.env("DURWARD_GO_MODULE", &folder).env("DURWARD_LIBRARY", library()?))
}

/// An empty module that requires the package, in place of what was there.
fn fresh(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .map_err(|error| format!("cannot remove `{}`: {error}", folder.display()))?;
    }
    let sums = ours().join("go.sum");
    let module = format!(
        "module example.com/fresh\n\ngo 1.25.0\n\nrequire {MODULE} v0.0.0\n\nreplace {MODULE} => {}\n",
        ours().display()
    );
    write(&folder.join("go.mod"), &module)?;
    copy(&sums, &folder.join("go.sum"))
}

/// A command of Go that fetches nothing.
fn command(go: &Path, folder: &Path) -> Command {
    let mut command = Command::new(go);
    command.current_dir(folder).env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    command.env("GOFLAGS", "-mod=mod -buildvcs=false");
    command
}

/// The library that cargo has built.
fn library() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join(release::OPTIMISED).join(LIBRARY))
}

fn ours() -> PathBuf {
    metadata::root().join("bindings/go")
}

fn folder() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("packages/go"))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    create_above(path)?;
    fs::write(path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    create_above(to)?;
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(|error| format!("cannot copy `{}`: {error}", from.display()))
}

fn create_above(path: &Path) -> Result<(), String> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| format!("cannot make `{}`: {error}", folder.display()))
}
