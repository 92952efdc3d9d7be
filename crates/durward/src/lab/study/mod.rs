//! `durward lab study`: a published study, run here, and its tables and figures beside ours.

mod luas;
mod openam;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use durward_lab::report::{self, Document, Options as ReportOptions};
use durward_lab::run::{RunOptions, RunWatcher};
use durward_lab::scenario::Scenario;
use durward_lab::study::{
    self, EarlierRecords, RunAction, Study, StudyDigest, StudyError, StudyProgress, StudyRun,
};

use super::run::{now_unix_ms, stop_at_signal};
use super::watch::ProgressLines;
use crate::failure::{CommandError, CommandResult, DIFFERENT, without_number};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward lab study openam --list
  durward lab study openam --quick --out results/
  durward lab study openam --full --out results/ --resume

Each run of the study is recorded in DIR/records when it has ended. Ctrl-C ends the study and reports what was measured; with
--resume it goes on, and runs that are recorded whole are not run again. DIR/index.html is the report, with the paper's
tables and figures beside ours, and so is DIR/report.pdf with the cargo feature `pictures`. The command exits 1 where a run failed or was cut short.";

/// Run a published study here, and lay its tables and figures beside ours
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    which: StudyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum StudyCommand {
    Openam(openam::Arguments),
    Luas(luas::Arguments),
}

/// How a study is run.
#[derive(Debug, clap::Args)]
pub(super) struct StudyArguments {
    /// Short measurements and few loads: minutes. The default
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The paper's own times and loads: hours
    #[arg(long)]
    full: bool,
    /// Where records and report are written
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Loads to measure, in place of the study's own
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=100_000))]
    points: Vec<u64>,
    /// Seconds to measure at each load, in place of the study's own; a quarter of it warms up
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<f64>,
    /// Run only these: names of --list
    #[arg(long, value_name = "RUN")]
    only: Vec<String>,
    /// Go on where an earlier start was ended: runs that are recorded are not run again
    #[arg(long)]
    resume: bool,
    /// Say which runs there are and how long each takes, and run nothing
    #[arg(long)]
    list: bool,
    /// Also write the page of the manual there, with its figures as JSON and its pictures
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
    /// Draw report and page anew from the figures of an earlier start, and run nothing
    #[arg(long, value_name = "study-NAME.json", conflicts_with_all = ["resume", "list"])]
    redraw: Option<PathBuf>,
    /// Another host that may be loaded: you have its owner's permission
    #[arg(long, value_name = "HOST")]
    i_may_load: Vec<String>,
    /// Say nothing while it runs
    #[arg(long, short)]
    quiet: bool,
}

impl StudyArguments {
    /// Where records and report are written.
    pub(super) fn out(&self, study: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from(format!("{study}-study")))
    }

    /// Whether the paper's own times are asked for.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Loads, where they are named.
    pub(super) fn points(&self) -> Option<&[u64]> {
        (!self.points.is_empty()).then_some(self.points.as_slice())
    }

    /// Warm-up and measurement of each load, in seconds, where they are named.
    pub(super) fn seconds(&self) -> Option<(f64, f64)> {
        self.seconds.map(|measure| (measure / 4.0, measure))
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds such as `10` or `0.5`".to_owned())?;
    if (0.1..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("between 0.1 and 3600".to_owned()) }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.which {
        StudyCommand::Openam(arguments) => openam::run(arguments),
        StudyCommand::Luas(arguments) => luas::run(arguments),
    }
}

/// Runs a study, or lists it, as the flags say.
pub(super) fn run_study(mut study: Study, how: &StudyArguments) -> CommandResult {
    if let Some(path) = &how.redraw {
        return redraw(&study, path, how);
    }
    choose(&mut study, &how.only)?;
    if how.list {
        return list(&study);
    }
    run_chosen(&study, serde_json::Value::Null, how)
}

/// Runs a study whose runs are all wanted; `facts` are what its pages need beside them.
pub(super) fn run_chosen(study: &Study, facts: serde_json::Value, how: &StudyArguments) -> CommandResult {
    let out = how.out(study.name);
    writable(&out)?;
    let expected = study.expected().map_err(|error| failure(&error))?;
    if !how.quiet {
        let _ = writeln!(
            io::stderr(),
            "{} runs, about {}; Ctrl-C reports what was measured by then, --resume goes on",
            study.runs.len(),
            in_words(expected)
        );
    }
    let options = RunOptions {
        command: std::env::args().collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        may_load: how.i_may_load.clone(),
        now_unix_ms,
        stop: stop_at_signal()?,
        ..RunOptions::default()
    };
    let earlier = if how.resume { EarlierRecords::Kept } else { EarlierRecords::Replaced };
    let mut lines = StudySteps { is_quiet: how.quiet };
    let mut digest =
        study::run(study, &out, earlier, &options, &mut lines).map_err(|error| failure(&error))?;
    digest.facts = facts;
    write(study, &digest, &out, how)?;
    let failed = |run: &&study::RunDigest| run.failed.is_some() || run.cut_short.is_some();
    let incomplete: Vec<&study::RunDigest> = digest.runs.iter().filter(failed).collect();
    for run in &incomplete {
        let why = run.failed.as_ref().or(run.cut_short.as_ref()).map_or("", String::as_str);
        to_stdout(&format!("incomplete: {}: {why}\n", run.name))?;
    }
    Ok(if incomplete.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

pub(super) fn redraw(study: &Study, path: &Path, how: &StudyArguments) -> CommandResult {
    let text = fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let digest = StudyDigest::read(&text).map_err(|error| {
        CommandError::new(format!("not the figures of a study: {error}"))
            .hint("`durward lab study` writes them beside its report")
            .at(path)
    })?;
    if digest.study != study.name {
        return Err(CommandError::new(format!("these are figures of the study `{}`", digest.study)).at(path));
    }
    write(study, &digest, &how.out(study.name), how)?;
    Ok(ExitCode::SUCCESS)
}

/// Keeps the runs that are named.
fn choose(study: &mut Study, only: &[String]) -> Result<(), CommandError> {
    if let Some(name) = only.iter().find(|name| study.runs.iter().all(|run| run.name != **name)) {
        let names: Vec<&str> = study.runs.iter().map(|run| run.name.as_str()).collect();
        return Err(CommandError::new(format!("`{name}` is no run of this study"))
            .hint(format!("its runs are {}", names.join(", "))));
    }
    if !only.is_empty() {
        study.runs.retain(|run| only.contains(&run.name));
    }
    Ok(())
}

fn list(study: &Study) -> CommandResult {
    for run in &study.runs {
        let takes = run.expected().map_err(|error| failure(&error))?;
        let (takes, why) = match &run.scenario {
            Ok(_) => (in_words(takes), String::new()),
            Err(why) => ("left out".to_owned(), format!(" ({why})")),
        };
        to_stdout(&format!("{:<24} {takes:<10} {}{why}\n", run.name, run.about))?;
    }
    let all = study.expected().map_err(|error| failure(&error))?;
    to_stdout(&format!("{:<24} {}\n", "all", in_words(all)))?;
    Ok(ExitCode::SUCCESS)
}

/// An hour of measuring must not end at a directory that cannot be written.
fn writable(out: &Path) -> Result<(), CommandError> {
    let trial = out.join("trial.part");
    fs::create_dir_all(out)
        .and_then(|()| fs::write(&trial, b""))
        .and_then(|()| fs::remove_file(&trial))
        .map_err(|error| cannot_write(out, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> CommandError {
    CommandError::new(format!("cannot write to {}: {}", path.display(), without_number(&error.to_string())))
}

/// The report, and the page of the manual where it is asked for.
fn write(study: &Study, digest: &StudyDigest, out: &Path, how: &StudyArguments) -> Result<(), CommandError> {
    let document = (study.document)(digest);
    let names = write_report(study, digest, &document, out)?;
    if let Some(page) = &how.page {
        write_page(study, digest, &document, page)?;
    }
    to_stdout(&format!("{}: {}\n", out.display(), names.join(", ")))
}

/// Page, PDF, pictures, and the figures as JSON. The names of the files.
fn write_report(
    study: &Study,
    digest: &StudyDigest,
    document: &Document,
    out: &Path,
) -> Result<Vec<String>, CommandError> {
    let options = ReportOptions { has_pdf: cfg!(feature = "pictures") };
    let mut names =
        report::write_document(document, out, &options).map_err(|error| super::report_failure(&error))?;
    for (name, text) in texts(study, digest, document)? {
        let path = out.join(&name);
        fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
        names.push(name);
    }
    Ok(names)
}

/// The page of the manual, `study-NAME.md`, and the figures that it is made of, `study-NAME.json`.
fn texts(
    study: &Study,
    digest: &StudyDigest,
    document: &Document,
) -> Result<[(String, String); 2], CommandError> {
    let json = digest.to_json().map_err(|error| CommandError::new(format!("cannot write JSON: {error}")))?;
    let name = |end: &str| format!("study-{}.{end}", study.name);
    Ok([(name("md"), study::markdown(document, "pictures")), (name("json"), json)])
}

fn write_page(
    study: &Study,
    digest: &StudyDigest,
    document: &Document,
    page: &Path,
) -> Result<(), CommandError> {
    let pictures = page.join("pictures");
    fs::create_dir_all(&pictures).map_err(|error| cannot_write(&pictures, &error))?;
    let put = |path: PathBuf, text: &str| fs::write(&path, text).map_err(|error| cannot_write(&path, &error));
    for (name, text) in texts(study, digest, document)? {
        put(page.join(name), &text)?;
    }
    for figure in document.figures() {
        put(pictures.join(format!("{}.svg", figure.name)), &durward_lab::draw::svg_file(&figure.scene))?;
    }
    Ok(())
}

fn failure(error: &StudyError) -> CommandError {
    match error {
        StudyError::File(path, error) => cannot_write(path, error),
        StudyError::Scenario(..) | StudyError::Nothing(..) => CommandError::new(error.to_string()),
    }
}

/// `40 s`, `12 min`, `3.5 h`.
fn in_words(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 100.0 => format!("{seconds:.0} s"),
        seconds if seconds < 6000.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Plain lines on standard error.
struct StudySteps {
    is_quiet: bool,
}

impl StudyProgress for StudySteps {
    fn run(&mut self, number: usize, count: usize, run: &StudyRun, what: &RunAction) {
        if self.is_quiet {
            return;
        }
        let what = match what {
            RunAction::Measuring(time) => format!("about {}", in_words(*time)),
            RunAction::Recorded => "recorded before".to_owned(),
            RunAction::LeftOut(why) => format!("left out: {why}"),
            RunAction::Failed(why) => format!("failed: {why}"),
        };
        // Whoever closed standard error does not want to know.
        let _ = writeln!(io::stderr(), "run {number} of {count}, {}: {}: {what}", run.name, run.about);
    }

    fn watcher(&mut self, scenario: &Scenario) -> Box<dyn RunWatcher> {
        Box::new(ProgressLines::new(scenario, self.is_quiet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_words() {
        let words = [40, 720, 12_600].map(|seconds| in_words(Duration::from_secs(seconds)));
        assert_eq!(words, ["40 s", "12 min", "3.5 h"]);
        assert!(seconds("0").is_err() && seconds("x").is_err() && seconds("NaN").is_err());
        assert_eq!(seconds("0.5"), Ok(0.5));
    }
}
