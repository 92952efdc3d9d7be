//! `cargo xtask check`: everything that can be said without running the product.

use crate::arrows;
use crate::built;
use crate::generate;
use crate::lane::LaneStep;
use crate::lean;
use crate::licences::{self, Rules};
use crate::links;
use crate::metadata::Metadata;
use crate::process::{cargo, locked, run, run_unwarned};
use crate::report::{Outcome, Report};
use crate::tools;
use std::process::ExitCode;

/// All of it, and the table.
pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    steps(&mut report);
    for LaneStep { name, run } in lane_steps() {
        report.step(&name, run);
    }
    generated(&mut report);
    report.close()
}

/// Adds the steps to a report that the rest builds on, and those that take no time.
pub(crate) fn steps(report: &mut Report) {
    report.step("formatting", || Outcome::of(formatting()));
    report.step("lints", || {
        let mut clippy = cargo(&["clippy", "--all-targets"]);
        Outcome::of(run(clippy.args(built::EVERYTHING).args(locked()).args(["--", "-D", "warnings"])))
    });
    report.step("arrows between crates", || found(arrows_found()));
    report.step("lean kernel: crates", lean::crates);
    report.step("licences and sources", || found(licences_found()));
    report.step("links in documents", || found(links::findings()));
    // What it says beyond the step above needs a database from the network: welcome where it is, not required.
    if tools::find("cargo-deny").is_some() {
        report.step("cargo deny", || Outcome::of(run(&mut cargo(&["deny", "check"]))));
    }
}

/// The steps that may as well run beside others.
pub(crate) fn lane_steps() -> Vec<LaneStep> {
    let alone = LaneStep::new("binary with one feature", || Outcome::of(features_alone()));
    [alone].into_iter().chain(lean::checks()).collect()
}

/// Adds the step that looks at generated documents: they are written by the binary.
pub(crate) fn generated(report: &mut Report) {
    report.step("generated files", || found(generate::stale()));
}

/// Features that somebody builds the binary with alone, such that one leans on nothing that another brings. All of them, and none, are built
/// by other steps.
const ALONE: [&[&str]; 4] = [
    &["--features", "lab"],
    &["--features", "opcua"],
    &["--features", "pages"],
    // The minimal build, which has commands of its own.
    &["--no-default-features", "--features", "xacml,http"],
];

/// In the profile `release`, whose dependencies the release binary has built; tests are built in the directory of `dev`.
fn features_alone() -> Result<(), String> {
    ALONE.iter().try_for_each(|features| {
        run_unwarned(cargo(&["check", "--release", "--package", "durward"]).args(*features).args(locked()))
    })
}

/// What is a workspace of its own, which `--all` does not reach.
const APART: [&str; 3] = ["fuzz/Cargo.toml", "xtask/peers/cedar/Cargo.toml", "xtask/peers/casbin/Cargo.toml"];

fn formatting() -> Result<(), String> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    APART.iter().try_for_each(|manifest| run(&mut cargo(&["fmt", "--manifest-path", manifest, "--check"])))
}

fn arrows_found() -> Result<Vec<String>, String> {
    Ok(arrows::findings(&Metadata::read()?, &arrows::document()?))
}

fn licences_found() -> Result<Vec<String>, String> {
    Ok(licences::findings(&Metadata::read()?, &Rules::read()?))
}

fn found(result: Result<Vec<String>, String>) -> Outcome {
    match result {
        Ok(findings) => Outcome::of_findings(&findings),
        Err(message) => Outcome::Failed(message),
    }
}
