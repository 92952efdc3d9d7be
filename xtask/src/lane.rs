//! What only compiles and computes runs beside the tests, most of which wait: in processes of their own, at idle priority.
//!
//! A step of the lane is `cargo xtask lane-step NAME FILE`. What it prints goes to a log below the target directory, which is printed when the
//! lane is waited for; how it ended, to FILE. A step that left no such file has failed, however it ended.

use crate::metadata::Metadata;
use crate::pool::{self, Turn};
use crate::process;
use crate::report::{Outcome, Report};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A crate compiles after the crates that it uses: one step alone leaves half of two cores idle.
const WORKERS: usize = 2;

/// One step: its name in the report, and what it does. Cargo locks the directory that it builds in, so a step names a profile or a target that
/// nothing outside the lane builds in: whoever waited for it would wait at idle priority.
pub(crate) struct LaneStep {
    pub(crate) name: String,
    pub(crate) run: Box<dyn Fn() -> Outcome + Send + Sync>,
}

impl LaneStep {
    pub(crate) fn new(name: &str, run: impl Fn() -> Outcome + Send + Sync + 'static) -> LaneStep {
        LaneStep { name: name.to_owned(), run: Box::new(run) }
    }
}

/// The lane that runs.
pub(crate) struct Lane {
    start: Instant,
    thread: JoinHandle<Vec<Ended>>,
}

/// How a step ended.
struct Ended {
    name: String,
    outcome: Outcome,
    took: Duration,
    log: PathBuf,
}

/// Starts the lane.
///
/// # Errors
/// There is no directory for what it leaves.
pub(crate) fn start(steps: &[LaneStep]) -> Result<Lane, String> {
    let folder = Metadata::read()?.target_directory.join("xtask/lane");
    empty(&folder).map_err(|error| format!("cannot empty `{}`: {error}", folder.display()))?;
    let names: Vec<String> = steps.iter().map(|step| step.name.clone()).collect();
    println!("\nbeside all of this, at idle priority: {}", names.join(", "));
    let thread = std::thread::spawn(move || all(names, &folder));
    Ok(Lane { start: Instant::now(), thread })
}

impl Lane {
    /// Waits for it; prints what its steps printed, and adds them to the report.
    pub(crate) fn join(self, report: &mut Report) {
        println!("\n== waiting for what runs beside");
        let waited = Instant::now();
        let Ok(ended) = self.thread.join() else {
            report.add("lane", Outcome::Failed("its thread ended early".to_owned()), self.start.elapsed());
            return;
        };
        report.ran_beside(self.start.elapsed(), waited.elapsed());
        for Ended { name, outcome, took, log } in ended {
            println!("\n== {name} (ran beside)\n{}", text(&log).trim_end());
            report.add_beside(&name, outcome, took);
        }
    }
}

fn empty(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

fn text(log: &Path) -> String {
    fs::read(log).map_or_else(
        |error| format!("cannot read `{}`: {error}", log.display()),
        |text| String::from_utf8_lossy(&text).into_owned(),
    )
}

fn all(names: Vec<String>, folder: &Path) -> Vec<Ended> {
    let file = |name: &str, ending: &str| folder.join(format!("{}.{ending}", name.replace([' ', ':'], "-")));
    let ended = pool::run(
        &names,
        WORKERS,
        |_| Turn::Any,
        |name| {
            let start = Instant::now();
            let outcome = one(own_program(), name, &file(name, "log"), &file(name, "json"));
            println!("\nbeside: {name} {outcome}, {:.1} s", start.elapsed().as_secs_f64());
            outcome
        },
    );
    let ended = names.into_iter().zip(ended);
    ended.map(|(name, (outcome, took))| Ended { log: file(&name, "log"), name, outcome, took }).collect()
}

/// This program, also when `cargo test` has built another one in its place meanwhile.
fn own_program() -> Command {
    let running = Path::new("/proc/self/exe");
    let path = std::env::current_exe().ok().filter(|_| !running.exists());
    Command::new(path.unwrap_or_else(|| running.to_owned()))
}

/// Runs one step to its end. No limit of time: each program that it runs has one.
fn one(mut program: Command, name: &str, log: &Path, handed_back: &Path) -> Outcome {
    let mut run = || -> std::io::Result<ExitStatus> {
        let output = File::create(log)?;
        program.args(["lane-step", name]).arg(handed_back).stdin(Stdio::null());
        program.stdout(output.try_clone()?).stderr(output).status()
    };
    match run() {
        Ok(status) => read(handed_back)
            .unwrap_or_else(|| Outcome::Failed(format!("its process ended without a report: {status}"))),
        Err(error) => Outcome::Failed(format!("its process cannot be started: {error}")),
    }
}

fn read(handed_back: &Path) -> Option<Outcome> {
    Outcome::from_json(&fs::read_to_string(handed_back).ok()?)
}

/// `cargo xtask lane-step NAME FILE`: runs one of the steps, and writes how it ended.
///
/// # Errors
/// There is no such step, or the file cannot be written.
pub(crate) fn run_step(steps: &[LaneStep], name: &str, file: &str) -> Result<ExitCode, String> {
    let step = steps.iter().find(|step| step.name == name).ok_or_else(|| format!("no step `{name}`"))?;
    step_back();
    process::is_idle();
    write_outcome(&(step.run)(), file)?;
    Ok(ExitCode::SUCCESS)
}

/// Under its name only when it is whole.
fn write_outcome(outcome: &Outcome, file: &str) -> Result<(), String> {
    let part = format!("{file}.part");
    let written = fs::write(&part, outcome.to_json()).and_then(|()| fs::rename(&part, file));
    written.map_err(|error| format!("cannot write `{file}`: {error}"))
}

/// Lets everything else run before this process and those that it starts.
fn step_back() {
    let own = std::process::id().to_string();
    // No such call in std. `chrt` is a part of util-linux.
    let ways: [&[&str]; 2] = [&["chrt", "--idle", "--pid", "0"], &["renice", "-n", "19", "-p"]];
    let is_done = ways.iter().any(|words| {
        let Some((program, words)) = words.split_first() else { return false };
        let mut command = Command::new(program);
        let status = command.args(words).arg(&own).stdin(Stdio::null()).stdout(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    });
    if !is_done {
        println!("neither chrt nor renice lowers the priority: this runs as everything else does");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell script in place of this program, which is called with `lane-step NAME FILE`.
    fn with(name: &str, script: &str) -> (Outcome, String) {
        let folder = std::env::temp_dir().join(format!("durward-lane-{name}-{}", std::process::id()));
        empty(&folder).unwrap();
        let (mut program, log) = (Command::new("sh"), folder.join("log"));
        program.args(["-c", script]);
        let outcome = one(program, "a step", &log, &folder.join("json"));
        let log = text(&log);
        fs::remove_dir_all(&folder).unwrap();
        (outcome, log)
    }

    #[test]
    fn what_a_step_hands_back_is_its_outcome() {
        let (outcome, log) = with("passed", r#"echo "$0 $1"; echo '{"passed": "7 cases"}' > "$2""#);
        assert_eq!(outcome, Outcome::Passed("7 cases".to_owned()));
        assert_eq!(log, "lane-step a step\n");
    }

    #[test]
    fn a_step_that_hands_nothing_back_has_failed() {
        let (outcome, log) = with("killed", "echo so far >&2; kill -KILL $$");
        assert!(matches!(&outcome, Outcome::Failed(why) if why.contains("signal: 9")), "{outcome:?}");
        assert_eq!(log, "so far\n");
        let (outcome, _) = with("silent", "exit 0");
        assert!(matches!(outcome, Outcome::Failed(_)));
        let (outcome, _) = with("half", r#"printf '{"passed": ' > "$2""#);
        assert!(matches!(outcome, Outcome::Failed(_)));
    }

    #[test]
    fn the_process_writes_how_its_step_ended() {
        let file = std::env::temp_dir().join(format!("durward-lane-{}.json", std::process::id()));
        let skipped = || Outcome::Skipped("no `tool`".to_owned());
        let name = file.display().to_string();
        write_outcome(&skipped(), &name).unwrap();
        assert_eq!(read(&file), Some(skipped()));
        fs::remove_file(&file).unwrap();
        assert!(run_step(&[], "gone", &name).is_err());
        assert_eq!(read(&file), None);
    }
}
