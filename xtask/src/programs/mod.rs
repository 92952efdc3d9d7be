//! The tests: every program of tests that cargo has built, and the examples of the documentation, two programs at a time.
//!
//! `cargo test` runs one after the other, and the longest wait most of the time: for timers, for servers to start and stop.

mod tally;
mod times;

use crate::built;
use crate::metadata::{Metadata, Package};
use crate::pool::{self, Turn};
use crate::process::{self, Show, Stream, cargo, locked, run_seeing};
use crate::report::{Outcome, longest};
use crate::tools::{java_home, json_schema_suite, nats_server};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;
use tally::Tally;
use times::Times;

/// How many programs run at a time. Each runs as many tests at a time as there are cores.
const WORKERS: usize = 2;

/// Packages whose tests measure time and load, or wait for what lives for a second; those of the lab share the control groups of this process. Of
/// their programs only one runs at a time, and what runs beside it gives way to it.
const MEASURE: [&str; 4] = ["durward", "durward-bench", "durward-lab", "durward-opcua"];

/// How far the others give way (`nice`): a third of the share, not nothing, because they wait with limits, too.
const GIVES_WAY: &str = "5";

/// Longest a program of tests may take on the build machine; none takes a fifth of it. One that hangs leaves time for the others.
const PROGRAM_MAX: Duration = Duration::from_secs(20 * 60);

/// How many failed tests of a program are run once more at most. More than a few do not fail for want of time.
const SECOND_RUNS_MAX: usize = 3;

/// A program of tests that cargo has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    executable: PathBuf,
    package: String,
    version: String,
    /// Where the `Cargo.toml` of the package is, and the tests are run.
    folder: PathBuf,
    /// Below that folder, such as `tests/cli/main.rs`.
    source: String,
    /// The binaries of the package, by name.
    binaries: Vec<(String, PathBuf)>,
}

/// Reads the programs out of the messages of `cargo test --no-run --message-format json`.
pub(crate) fn of_messages(messages: &[String], metadata: &Metadata) -> Vec<TestProgram> {
    let artifacts: Vec<Value> = messages.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let built: Vec<Artifact<'_>> =
        artifacts.iter().filter_map(|artifact| Artifact::of(artifact, metadata)).collect();
    let programs = built.iter().filter(|artifact| artifact.is_test);
    programs.map(|program| program.with_binaries(&built)).collect()
}

/// Something that can be run.
struct Artifact<'m> {
    package: &'m Package,
    executable: PathBuf,
    name: &'m str,
    source: &'m str,
    is_binary: bool,
    is_test: bool,
}

impl<'m> Artifact<'m> {
    /// Nothing where the message tells of something else.
    fn of(message: &'m Value, metadata: &'m Metadata) -> Option<Artifact<'m>> {
        let executable = PathBuf::from(message.get("executable")?.as_str()?);
        let target = message.get("target")?;
        let kinds = target.get("kind")?.as_array()?;
        Some(Artifact {
            package: metadata.packages.get(message.get("package_id")?.as_str()?)?,
            executable,
            name: target.get("name")?.as_str()?,
            source: target.get("src_path")?.as_str()?,
            is_binary: kinds.iter().any(|kind| kind.as_str() == Some("bin")),
            is_test: message.get("profile")?.get("test")?.as_bool()?,
        })
    }

    fn with_binaries(&self, built: &[Artifact<'_>]) -> TestProgram {
        let Package { name, version, folder, .. } = self.package;
        let is_ours = |other: &&Artifact<'_>| {
            other.is_binary && !other.is_test && other.package.folder == self.package.folder
        };
        let binaries = built.iter().filter(is_ours);
        let root = folder.display().to_string();
        let source = self.source.strip_prefix(&root).unwrap_or(self.source).trim_start_matches('/');
        TestProgram {
            executable: self.executable.clone(),
            package: name.clone(),
            version: version.clone(),
            folder: folder.clone(),
            source: source.to_owned(),
            binaries: binaries.map(|other| (other.name.to_owned(), other.executable.clone())).collect(),
        }
    }
}

/// What a worker runs.
#[derive(Clone, Debug)]
enum Job {
    Program(TestProgram),
    /// The examples of the documentation, of all packages: cargo compiles and runs them.
    Examples,
}

impl Job {
    fn name(&self) -> String {
        match self {
            Job::Program(program) => format!("{} {}", program.package, program.source),
            Job::Examples => "examples of the documentation".to_owned(),
        }
    }

    fn turn(&self) -> Turn {
        match self {
            Job::Program(program) if MEASURE.contains(&program.package.as_str()) => Turn::OneByOne,
            Job::Program(_) | Job::Examples => Turn::Any,
        }
    }

    /// With the environment that `cargo test` gives.
    fn command(&self) -> Command {
        match self {
            Job::Program(program) => program.command(self.turn()),
            Job::Examples => {
                let mut command = cargo(&["test", "--doc", "--no-fail-fast"]);
                command.args(built::EVERYTHING).args(locked());
                command
            }
        }
    }
}

impl TestProgram {
    fn command(&self, turn: Turn) -> Command {
        let mut command = match turn {
            Turn::OneByOne => Command::new(&self.executable),
            Turn::Any => {
                let mut nice = Command::new("nice");
                nice.args(["-n", GIVES_WAY]).arg(&self.executable);
                nice
            }
        };
        process::without_our_package(&mut command);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("CARGO_MANIFEST_PATH", self.folder.join("Cargo.toml"));
        command.env("CARGO_PKG_NAME", &self.package).env("CARGO_PKG_VERSION", &self.version);
        for (name, path) in &self.binaries {
            command.env(format!("CARGO_BIN_EXE_{name}"), path);
        }
        command
    }
}

/// Runs all of it, and counts.
pub(crate) fn run() -> Outcome {
    match built::programs().and_then(|programs| Ok((programs, Metadata::read()?.target_directory))) {
        Ok((programs, target)) => {
            let mut jobs: Vec<Job> = programs.iter().cloned().map(Job::Program).collect();
            jobs.push(Job::Examples);
            let (file, surroundings) = (target.join("xtask/test-times.tsv"), surroundings());
            Times::read(&file).longest_first(&mut jobs, Job::name);
            let ended = pool::run(&jobs, WORKERS, Job::turn, |job| {
                let mut command = job.command();
                command.envs(surroundings.iter().map(|(name, path)| (name, path)));
                told(&job.name(), &mut command)
            });
            let times = jobs.iter().map(Job::name).zip(ended.iter().map(|(_, took)| *took));
            let times: Vec<(String, Duration)> = times.collect();
            Times::keep(&file, &times);
            let mut tallies: Vec<Tally> = ended.into_iter().map(|(tally, _)| tally).collect();
            for (job, tally) in jobs.iter().zip(&mut tallies) {
                again_alone(job, &surroundings, tally);
            }
            summed(&tallies, &times)
        }
        Err(message) => Outcome::Failed(message),
    }
}

/// Runs the few tests of a program that have failed once more, with nothing beside them: on a busy machine a test that waits with a limit may
/// fail for want of time. What passes then is counted and named in the report.
fn again_alone(job: &Job, surroundings: &[(&str, PathBuf)], tally: &mut Tally) {
    if let Job::Program(program) = job
        && tally.worth_a_second_run(SECOND_RUNS_MAX)
    {
        let mut command = program.command(Turn::OneByOne);
        command.envs(surroundings.iter().map(|(name, path)| (name, path)));
        command.arg("--exact").args(&tally.failures);
        tally.amend(&told(&format!("{}, what has failed, alone", job.name()), &mut command));
    }
}

/// What tests find by a variable, where it is there; those that want it say so themselves: passed over here, a failure on the build machine.
fn surroundings() -> Vec<(&'static str, PathBuf)> {
    let found = [
        ("DURWARD_NATS_SERVER", nats_server()),
        ("JSON_SCHEMA_TEST_SUITE", json_schema_suite()),
        ("DURWARD_JAVA_HOME", java_home()),
    ];
    let mut there = Vec::new();
    for (name, path) in found {
        match path {
            Ok(path) => there.push((name, path)),
            Err(missing) => println!("{missing}"),
        }
    }
    there
}

/// Runs one program; what it printed is shown when it has ended, in one piece.
fn told(name: &str, command: &mut Command) -> Tally {
    let (mut tally, mut text) = (Tally::default(), String::new());
    let ended = run_seeing(command, PROGRAM_MAX, Stream::Both, |line| {
        tally.see(line);
        text.push_str(line);
        text.push('\n');
        Show::No
    });
    if let Some(why) = broken(&tally, ended) {
        tally.failed += 1;
        tally.failures.push(format!("{name} ({why})"));
        text.push_str(&format!("FAILED {name}: {why}\n"));
    }
    println!("\n     Running {name}\n{}", text.trim_end());
    tally
}

/// Why a program has failed whose closing line does not say so. It may have been killed, or have ended itself in the middle of a test.
fn broken(tally: &Tally, ended: Result<ExitStatus, String>) -> Option<String> {
    match ended {
        Ok(status) if status.success() && tally.closed == 0 => {
            Some("it did not say how its tests ended".to_owned())
        }
        Ok(status) if status.success() || (tally.failed > 0 && status.code().is_some()) => None,
        Ok(status) => Some(status.to_string()),
        Err(message) => Some(message),
    }
}

/// The sum, and which programs were the longest.
fn summed(tallies: &[Tally], times: &[(String, Duration)]) -> Outcome {
    let mut all = Tally::default();
    tallies.iter().for_each(|tally| all.add(tally));
    let times: Vec<(&str, Duration)> = times.iter().map(|(name, took)| (name.as_str(), *took)).collect();
    println!("\ntest programs: {}", longest(&times, times.iter().map(|(_, took)| *took).sum()));
    let mut notes = Vec::new();
    if !all.failures.is_empty() {
        notes.push(all.failures.join(", "));
    }
    if !all.second.is_empty() {
        notes.push(format!("passed only when run alone: {}", all.second.join(", ")));
    }
    if all.ignored > 0 {
        notes.push(format!("{} ignored", all.ignored));
    }
    Outcome::Counted { passed: all.passed, failed: all.failed, note: notes.join("; ") }
}

#[cfg(test)]
mod tests;
