//! `durward lab run`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use durward_files::FileAccess;
use durward_lab::record::RunRecord;
use durward_lab::report;
use durward_lab::run::{RunError, RunOptions};
use durward_lab::scenario::Scenario;
use tokio::signal::unix::{SignalKind, signal};

use super::agent::{AgentsArgument, named};
use super::live::{DrawnReport, RunScreens, ScreenArguments};
use super::terminal;
use super::watch::table;
use crate::failure::{CommandError, CommandResult, DIFFERENT, without_number};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward lab init http://127.0.0.1:8080/ && durward lab run lab.toml
  durward lab run openam-logout.toml --out results/openam
  durward lab run shop.toml --i-may-load shop.test.example --json > shop.json
  durward lab run shop.toml --agent 10.0.0.2:7400 --agent 10.0.0.3:7400 --agent-key agent.key
  durward lab run shop.toml --page --report

The scenario says what is asked of which target, by whom, how often. The record of what was measured is written to
DIR/record.json. In a terminal a dashboard shows the run while it goes on; `--page` shows it in a browser: docs/lab-live.md.
Ctrl-C ends the run and keeps what was measured. The command exits 1 where a threshold was not kept,
no request was answered as expected, or the run ended before its time.";

/// The name of the record in its directory.
const RECORD: &str = "record.json";
/// What the record of an earlier run is renamed to.
const BEFORE: &str = "record.before.json";

/// Run a scenario: make load, watch the target, write a record and a report
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The scenario
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    #[command(flatten)]
    how: RunArguments,
}

/// How a scenario is run.
#[derive(Debug, clap::Args)]
pub(super) struct RunArguments {
    /// Where the record is written; without it a directory named after the scenario, with `-lab` behind it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the record as JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Another host that may be loaded: you have its owner's permission
    #[arg(long, value_name = "HOST")]
    i_may_load: Vec<String>,
    #[command(flatten)]
    agents: AgentsArgument,
    /// Do not measure first what the generator can do at most
    #[arg(long)]
    skip_generator_limit: bool,
    /// Say nothing while it runs
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    live: RunScreens,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let path = &arguments.scenario;
    let text = fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    run_text(&text, path, &folder, &stem, &arguments.how)
}

/// Runs a scenario that was read at `path`, and whose files are in `folder`.
pub(super) fn run_text(
    text: &str,
    path: &Path,
    folder: &Path,
    name: &str,
    how: &RunArguments,
) -> CommandResult {
    let scenario = Scenario::read(text).map_err(|error| CommandError::new(error.to_string()).at(path))?;
    let scenario = scenario.in_folder(folder);
    let out = how.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}-lab")));
    let agents = named(&how.agents, &scenario, folder)?;
    // An hour of measuring must not end at a directory that cannot be written.
    let record_path = prepare(&out)?;
    let stop = stop_at_signal()?;
    let options = RunOptions {
        command: std::env::args().collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        may_load: how.i_may_load.clone(),
        generator_limit: if how.skip_generator_limit {
            Duration::ZERO
        } else {
            RunOptions::default().generator_limit
        },
        now_unix_ms,
        stop: Arc::clone(&stop),
        agents,
    };
    let mut screens = ScreenArguments::open(&how.live, &scenario, how.quiet, &stop, now_unix_ms)?;
    let record = durward_lab::run::run(&scenario, &options, &mut screens.watchers(&scenario));
    // From here on there is a terminal to print to.
    screens.close_terminal();
    let record = match record {
        Ok(record) => record,
        Err(error) => {
            screens.fail(&error.to_string());
            return Err(failure(error, path));
        }
    };
    let json = record.to_json().map_err(|error| CommandError::new(error.to_string()))?;
    let written = write(&record_path, &json);
    if how.json || written.is_err() {
        // A disk that is full must not cost what was measured.
        to_stdout(&format!("{json}\n"))?;
    }
    written?;
    let report = how.live.report.then(|| draw_report(&record, &out)).transpose();
    if !how.json {
        to_stdout(&table(&record))?;
        to_stdout(&format!("\nrecord: {}\n", record_path.display()))?;
        if let Ok(Some(report)) = &report {
            to_stdout(&format!("report: {}\n", report.index().display()))?;
        }
    }
    let (report, failed) = match report {
        Ok(report) => (report, None),
        Err(failure) => (None, Some(failure)),
    };
    screens.finish(&record, &record_path, report, &how.live, &stop);
    if let Some(failure) = failed {
        return Err(failure);
    }
    Ok(if is_good(&record) { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

/// Draws the report beside the record.
fn draw_report(record: &RunRecord, out: &Path) -> Result<DrawnReport, CommandError> {
    let folder = out.join("report");
    let names = report::write(std::slice::from_ref(record), &folder, &report::Options::default());
    let names = names.map_err(|error| super::report_failure(&error))?;
    Ok(DrawnReport { folder, names })
}

fn is_good(record: &RunRecord) -> bool {
    record.cut_short.is_none()
        && record.answered() > 0
        && record.thresholds.iter().all(|threshold| threshold.is_kept)
}

fn failure(error: RunError, path: &Path) -> CommandError {
    let failure = CommandError::new(error.to_string());
    match error {
        RunError::Address { .. } => failure.hint("is the name right, and can this machine resolve it?"),
        RunError::NotLocal { .. } => failure.hint("load on servers of others is an attack: ask them first"),
        RunError::Scenario(_) => failure.at(path),
        RunError::Target(_) | RunError::Machine(_) | RunError::Agent { .. } => failure,
    }
}

/// Makes the directory, and sees that it can be written to. The path of the record.
fn prepare(out: &Path) -> Result<PathBuf, CommandError> {
    let cannot = |error: &std::io::Error| {
        CommandError::new(format!(
            "cannot write to {}: {}",
            out.display(),
            without_number(&error.to_string())
        ))
    };
    fs::create_dir_all(out).map_err(|error| cannot(&error))?;
    let trial = out.join("record.part");
    fs::write(&trial, b"").and_then(|()| fs::remove_file(&trial)).map_err(|error| cannot(&error))?;
    Ok(out.join(RECORD))
}

/// Writes all or nothing; an earlier record is kept under another name.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let kept = if path.exists() { fs::rename(path, path.with_file_name(BEFORE)) } else { Ok(()) };
    let written = kept.and_then(|()| durward_files::replace(path, text.as_bytes(), FileAccess::Usual));
    written.map_err(|error| {
        let why = without_number(&error.to_string());
        CommandError::new(format!("cannot write {}: {why}", path.display()))
            .hint("the record is on standard output")
    })
}

pub(super) fn now_unix_ms() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the binary hands the clock to what it builds")]
    let now = std::time::SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

/// SIGXFSZ, on Linux and macOS: it would end the process at a write beyond `ulimit -f`.
const FILE_SIZE_SIGNAL: i32 = 25;

/// Becomes true at the first Ctrl-C or SIGTERM; the second ends the process.
pub(super) fn stop_at_signal() -> Result<Arc<AtomicBool>, CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate, file_size) = {
        let _inside = runtime.enter();
        let file_size = signal(SignalKind::from_raw(FILE_SIZE_SIGNAL))?;
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, file_size)
    };
    std::thread::Builder::new().name("lab-signal".to_owned()).spawn(move || {
        // A limit of file sizes is then an error of the write, which does not cost what was measured.
        let _file_size = file_size;
        runtime.block_on(async {
            for _ in 0..2 {
                tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
                if stopped.swap(true, Ordering::Relaxed) {
                    terminal::put_back();
                    std::process::exit(130);
                }
            }
        });
    })?;
    Ok(stop)
}
