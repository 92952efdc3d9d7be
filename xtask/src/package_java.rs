//! `cargo xtask package java`: the jar with the library of this machine inside, as Maven makes it, and the package's tests with that jar and nothing
//! else; then the packages that take the place of other engines, tested with those engines' jars from Maven Central. Nothing is published.

use crate::metadata::{self, Metadata};
use crate::process::{cargo, locked, output_of, run};
use crate::release;
use crate::report::{Outcome, Report};
use crate::tools::{self, MAVEN};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const BUILT: &str = "Java: jar";

pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step(BUILT, || match tool_and_home() {
        Ok((maven, home)) => Outcome::of(build(&maven, &home)),
        Err(missing) => Outcome::Skipped(missing),
    });
    if report.has_passed(BUILT) {
        report.step("Java: module", || Outcome::of(module()));
        report.step("Java: tests with the jar", || Outcome::of(tests()));
        report.step("Java: in the place of Balana, AuthzForce, AT&T", || match shims() {
            Ok(passed) => Outcome::Counted { passed, failed: 0, note: String::new() },
            Err(why) => Outcome::Failed(why),
        });
    }
    report.close()
}

/// Maven, and a JDK for it.
pub(crate) fn tool_and_home() -> Result<(PathBuf, PathBuf), String> {
    let (maven, home) = (MAVEN.get()?, tools::java_home()?);
    if home.join("bin/javac").is_file() {
        Ok((maven, home))
    } else {
        Err("Maven wants a JDK: set JAVA_HOME".to_owned())
    }
}

/// Builds the jar.
pub(crate) fn build(maven: &Path, home: &Path) -> Result<(), String> {
    run(cargo(&["build", "--profile", release::OPTIMISED, "--package", "durward-c"]).args(locked()))?;
    let (data, folder, ours) = (Metadata::read()?, folder()?, metadata::root().join("bindings/java"));
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let (natives, library) = (folder.join("natives"), "libdurward.so");
    let place = natives.join(platform);
    fs::create_dir_all(&place).map_err(|error| format!("cannot make `{}`: {error}", place.display()))?;
    let copied = fs::copy(data.target_directory.join(release::OPTIMISED).join(library), place.join(library));
    copied.map_err(|error| format!("cannot copy `{library}`: {error}"))?;
    let mut command = in_own_repository(maven, &folder);
    // The tests are run below, with the jar. It is installed for the packages that stand on it, in a repository that nobody else reads.
    command.args(["-Dmaven.test.skip=true", "clean", "install"]);
    command.arg(format!("-Ddurward.natives={}", natives.display()));
    command.arg(format!("-Ddurward.build={}", folder.join("build").display()));
    run(command.env("JAVA_HOME", home).current_dir(ours))
}

fn in_own_repository(maven: &Path, folder: &Path) -> Command {
    let mut command = Command::new(maven);
    command.args(["--quiet", "--batch-mode", "--no-transfer-progress", "--strict-checksums"]);
    command.arg(format!("-Dmaven.repo.local={}", folder.join("repository").display()));
    command
}

/// Builds and tests the packages for programs that were written for other engines; how many tests passed.
fn shims() -> Result<u64, String> {
    let folder = folder()?;
    let build = folder.join("shims");
    let mut command = in_own_repository(&MAVEN.get()?, &folder);
    command.args(["clean", "verify"]).arg(format!("-Ddurward.build={}", build.display()));
    let ours = metadata::root().join("bindings/java/shims");
    run(command.env("JAVA_HOME", tools::java_home()?).current_dir(ours))?;
    ["balana", "authzforce", "att"].into_iter().map(|name| tests_of(&build, name)).sum()
}

/// How many tests Maven has run; it fails where one of them does.
fn tests_of(build: &Path, name: &str) -> Result<u64, String> {
    let reports = build.join(format!("durward-{name}/surefire-reports"));
    let cannot = |error: std::io::Error| format!("cannot read `{}`: {error}", reports.display());
    let mut count = 0;
    for entry in fs::read_dir(&reports).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|end| end == "xml") {
            count +=
                fs::read_to_string(&path).map_err(cannot)?.matches("<testcase ").map(|_| 1_u64).sum::<u64>();
        }
    }
    if count == 0 { Err(format!("no tests of `durward-{name}` were run")) } else { Ok(count) }
}

/// The version of the pom is the one of the crates.
pub(crate) fn jar() -> Result<PathBuf, String> {
    let data = Metadata::read()?;
    let package = data.members().find(|package| package.name == "durward-c");
    let version = package.map(|package| package.version.as_str()).unwrap_or_default();
    let jar = folder()?.join(format!("build/durward-{version}.jar"));
    if jar.is_file() {
        Ok(jar)
    } else {
        Err(format!("no `{}`: is that the version in the pom?", jar.display()))
    }
}

fn module() -> Result<(), String> {
    let mut java = Command::new(tools::java_home()?.join("bin/java"));
    java.arg("--module-path").arg(jar()?).args(["--describe-module", "io.durward"]);
    let said = output_of(&mut java)?;
    if said.contains("exports io.durward") { Ok(()) } else { Err(format!("it exports nothing:\n{said}")) }
}

fn tests() -> Result<(), String> {
    let mut command = cargo(&["test", "--package", "durward-c", "--test", "package"]);
    command.args(locked()).args(["--", "java::"]);
    run(command.env("DURWARD_JAVA_JAR", jar()?).env("DURWARD_JAVA_HOME", tools::java_home()?))
}

fn folder() -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join("packages/java"))
}
