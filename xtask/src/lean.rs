//! The decision point with few of its features: that it is small, of Rust alone, and compiles for machines without much.

use crate::lane::LaneStep;
use crate::metadata;
use crate::process::{cargo, locked, output_of, run};
use crate::report::{Outcome, Report, on_build_machine};
use crate::tools;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};

const PACKAGE: &str = "durward-pdp";

/// Features that somebody takes alone, and how many crates that may come to, those of the workspace included: each is code that
/// an embedder has to trust.
const SETS: [(&str, usize); 3] = [("xacml", 40), ("json,xacml", 40), ("sapl", 60)];

/// Features whose code is looked at beside those sets: one library without the others.
const OTHERS: [&str; 3] = ["library-time,xacml", "library-formats,library-geo", "library-crypto"];

/// Targets it compiles for, and the sets that are tried there; of the targets in one row the first that is installed. The one of musl is not offered
/// with every version of Rust. No code asks which target it is for, so each set is tried on one of them, and the others compile all code at once.
const TARGETS: [(&[&str], &[&str]); 3] = [
    (&[WASM], &["xacml", "json,xacml", "sapl"]),
    (&["aarch64-unknown-linux-musl"], &["json,sapl,xacml"]),
    (&["armv7-unknown-linux-musleabihf", "armv7-unknown-linux-gnueabihf"], &["json,sapl,xacml"]),
];

/// WebAssembly, whatever runs it.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Built soon, and in a directory of its own: see the profile in `Cargo.toml`.
const PROFILE: [&str; 2] = ["--profile", "lean"];

/// What build scripts compile C with, or look for C libraries.
const FOR_C: [&str; 5] = ["bindgen", "cc", "cmake", "nasm-rs", "pkg-config"];

/// All of it, and the table.
pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step("lean kernel: crates", crates);
    for LaneStep { name, run } in checks().into_iter().chain([tests()]) {
        report.step(&name, run);
    }
    report.close()
}

/// How many crates each set comes to.
pub(crate) fn crates() -> Outcome {
    let counts: Result<Vec<String>, String> = SETS.iter().map(|(set, max)| counted(set, *max)).collect();
    counts.map_or_else(Outcome::Failed, |counts| Outcome::Passed(counts.join(", ")))
}

/// What is looked at without running anything.
pub(crate) fn checks() -> Vec<LaneStep> {
    let lints = LaneStep::new("lean kernel: lints", || {
        let sets = SETS.iter().map(|(set, _)| *set).chain(OTHERS);
        let mut lints = sets.map(|set| with(&["clippy"], set, &["--", "-D", "warnings"]));
        Outcome::of(lints.try_for_each(|result| result))
    });
    let targets = TARGETS.map(|(row, sets)| {
        LaneStep::new(&format!("lean kernel: {}", row.first().unwrap_or(&"")), move || match installed(row) {
            Ok(target) => Outcome::of(checked(target, sets)),
            Err(missing) => Outcome::Skipped(missing),
        })
    });
    [lints].into_iter().chain(targets).chain([package_for_wasm()]).collect()
}

/// The crate that is compiled for WebAssembly alone, where it has neither threads nor files. `cargo xtask package wasm` runs it.
fn package_for_wasm() -> LaneStep {
    LaneStep::new("package of WebAssembly: lints", || match installed(&[WASM]) {
        Ok(target) => {
            let mut lints = cargo(&["clippy", "--package", "durward-wasm", "--target", target]);
            Outcome::of(run(lints.args(PROFILE).args(locked()).args(["--", "-D", "warnings"])))
        }
        Err(missing) => Outcome::Skipped(missing),
    })
}

/// What is left out is refused, whichever features there are.
pub(crate) fn tests() -> LaneStep {
    LaneStep::new("tests of the lean kernel", || {
        Outcome::of(["xacml", "sapl"].iter().try_for_each(|set| with(&["test", "--test", "lean"], set, &[])))
    })
}

/// How many crates a set comes to.
///
/// # Errors
/// In words: there are too many, or something is compiled from C.
fn counted(set: &str, max: usize) -> Result<String, String> {
    let crates = tree(set, "normal", &[])?;
    if crates.len() > max {
        let all: Vec<&str> = crates.iter().map(String::as_str).collect();
        return Err(format!("`{set}` takes {} crates, more than {max}: {}", crates.len(), all.join(", ")));
    }
    let built = tree(set, "normal,build", &["--target", "all"])?;
    let for_c = built.iter().find(|package| FOR_C.contains(&name(package)));
    match for_c {
        Some(found) => Err(format!("`{set}` is built with `{found}`, which is there to compile C")),
        None => Ok(format!("{set} {}", crates.len())),
    }
}

/// The packages of a set, `name version`.
fn tree(set: &str, edges: &str, more: &[&str]) -> Result<BTreeSet<String>, String> {
    let words = ["tree", "--package", PACKAGE, "--no-default-features", "--features", set, "--edges", edges];
    let form = ["--prefix", "none", "--no-dedupe", "--format", "{p}"];
    let text = output_of(cargo(&words).args(form).args(more).args(locked()))?;
    Ok(packages(&text))
}

fn packages(text: &str) -> BTreeSet<String> {
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?))
    };
    text.lines().filter_map(package).collect()
}

fn name(package: &str) -> &str {
    package.split(' ').next().unwrap_or_default()
}

fn checked(target: &str, sets: &[&str]) -> Result<(), String> {
    sets.iter().try_for_each(|set| with(&["check"], set, &["--target", target]))
}

fn with(words: &[&str], set: &str, more: &[&str]) -> Result<(), String> {
    let mut command = cargo(words);
    command.args(["--package", PACKAGE, "--no-default-features", "--features", set]);
    run(command.args(PROFILE).args(locked()).args(more))
}

/// The first of these targets that is installed; on the build machine one is installed when none is.
///
/// # Errors
/// How to get one.
pub(crate) fn installed<'t>(row: &[&'t str]) -> Result<&'t str, String> {
    let there = || row.iter().find(|target| is_installed(target)).copied();
    if let Some(target) = there() {
        return Ok(target);
    }
    if on_build_machine() {
        let _alone = tools::install_alone();
        let added = |target: &&str| run(at_root("rustup").args(["target", "add", target])).is_ok();
        // Whether that helped, is looked at below.
        let _ = row.iter().any(added);
    }
    there().ok_or_else(|| {
        let ways: Vec<String> = row.iter().map(|target| format!("`rustup target add {target}`")).collect();
        format!("not installed: {}", ways.join(" or "))
    })
}

fn is_installed(target: &str) -> bool {
    let folder = output_of(at_root("rustc").args(["--print", "target-libdir", "--target", target]));
    folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

/// In the project's root, whose `rust-toolchain.toml` says which Rust.
pub(crate) fn at_root(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(metadata::root());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_counted_once() {
        let text =
            "a v1.0.0\nb v1.0.0 (proc-macro)\nb v1.0.0 (proc-macro) (*)\nb v2.0.0\nc v0.1.0 (/folder)\n\n";
        let found = packages(text);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.iter().any(|package| name(package) == "c"));
    }
}
