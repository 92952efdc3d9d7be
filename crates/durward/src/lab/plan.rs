//! `durward lab plan`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_lab::fit::{self, FitRefusal, FitReport, LoadUnit, Weights};
use durward_lab::plan::{self, PlanGoal, Prices};
use durward_lab::record::RunRecord;

use crate::failure::{CommandError, CommandResult, DIFFERENT, SUCCESS};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward lab plan record.json --users 11000000 --requests-per-hour 4 --peak 5 --p99-ms 50 --may-fail 1
  durward lab plan record.json --goal goal.toml --prices prices.toml
  durward lab plan points.json --rate 12000 --utilisation 60 --json

A plan is a range: the number of nodes by the law that was fitted, and in parentheses the interval that 95 of 100 resamples
give. It says how far that lies beyond what was measured. The 99th percentile is what was measured at that load of a node, in
a record, or simulated; the law says nothing of it. A goal file has the names of the flags, with `_` for `-`, and
`utilisation_percent`; flags go before it. Prices are TOML: `currency`, `core_hour`, `gib_hour`, `node_hour`, and `[[node]]`
with `name`, `cores`, `memory_gib`, `hour` for sizes on offer.

It exits with 0 where the goal can be met, with 1 where it cannot, the fit is refused or no law was fitted, and with 2 for bad input.";

/// How many nodes a goal needs, and what they cost
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A record of `durward lab run`, what `durward lab fit --json` printed, or points as for `durward lab fit`
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// The goal as TOML; flags go before it
    #[arg(long, value_name = "FILE.toml")]
    goal: Option<PathBuf>,
    /// How many users there are
    #[arg(long, value_name = "N")]
    users: Option<f64>,
    /// How many requests each of them makes in an hour, on average
    #[arg(long, value_name = "N")]
    requests_per_hour: Option<f64>,
    /// Requests a second on average, instead of users
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// How many times the average the busiest time has
    #[arg(long, value_name = "FACTOR")]
    peak: Option<f64>,
    /// Of 100 requests, 99 are answered within so many milliseconds
    #[arg(long, value_name = "MS")]
    p99_ms: Option<f64>,
    /// How many nodes may fail at once
    #[arg(long, value_name = "N")]
    may_fail: Option<u32>,
    /// How much of what the nodes can do is used at most, in per cent; without it 70
    #[arg(long, value_name = "PERCENT")]
    utilisation: Option<f64>,
    /// How many sessions there are at once; without it one for each user
    #[arg(long, value_name = "N")]
    sessions: Option<f64>,
    /// How many bytes a session takes on a node; without it what was measured
    #[arg(long, value_name = "BYTES")]
    session_bytes: Option<f64>,
    /// On how many nodes each session is kept
    #[arg(long, value_name = "N")]
    session_copies: Option<f64>,
    /// How many cores a node has, where the record does not say
    #[arg(long, value_name = "N")]
    cores: Option<f64>,
    /// What cores, memory and nodes cost, as TOML
    #[arg(long, value_name = "FILE.toml")]
    prices: Option<PathBuf>,
    /// What N counts, where that is not seen from the record
    #[arg(long, value_enum)]
    by: Option<PlanUnit>,
    /// The curve of a record or the set of a file to plan with, by its name
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// Plan though the fit is refused for this reason, such as no-point-past-the-knee
    #[arg(long, value_name = "REASON", value_parser = refusal)]
    accept: Vec<FitRefusal>,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
}

/// What N counts.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PlanUnit {
    Nodes,
    Users,
    Concurrency,
}

fn refusal(text: &str) -> Result<FitRefusal, String> {
    let known = || FitRefusal::ALL.map(FitRefusal::word).join(", ");
    FitRefusal::ALL.into_iter().find(|one| one.word() == text).ok_or_else(|| format!("one of {}", known()))
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let (report, record) = arguments.fitted()?;
    let goal = arguments.goal()?;
    let prices = arguments.prices.as_deref().map(prices).transpose()?;
    let plan =
        plan::of(&report, record.as_ref(), &goal, prices.as_ref(), &arguments.accept).map_err(|error| {
            CommandError::new(format!("no plan: {error}")).hint("see `durward lab plan --help`")
        })?;
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&plan).map_err(|error| CommandError::new(error.to_string()))?;
        to_stdout(&(text + "\n"))?;
    } else {
        to_stdout(&plan.to_string())?;
    }
    Ok(ExitCode::from(if plan.is_met { SUCCESS } else { DIFFERENT }))
}

pub(super) fn text_of(path: &Path) -> Result<String, CommandError> {
    fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))
}

fn prices(path: &Path) -> Result<Prices, CommandError> {
    Prices::read(&text_of(path)?).map_err(|error| CommandError::new(error.to_string()).at(path))
}

impl Arguments {
    /// The fit, and the record that it came from where there is one.
    fn fitted(&self) -> Result<(FitReport, Option<RunRecord>), CommandError> {
        let text = text_of(&self.data)?;
        if let Ok(report) = serde_json::from_str::<FitReport>(&text) {
            return Ok((report, None));
        }
        let by = self.by.map(|by| match by {
            PlanUnit::Nodes => LoadUnit::Nodes,
            PlanUnit::Users => LoadUnit::Users,
            PlanUnit::Concurrency => LoadUnit::Concurrency,
        });
        let input = fit::read(&text, by, Weights::Auto).map_err(|error| {
            CommandError::new(error.to_string()).at(&self.data).hint("see `durward lab fit --help`")
        })?;
        let mut curves = input.curves.into_iter().chain(input.subsets);
        let curve = match &self.set {
            None => curves.next(),
            Some(name) => curves.find(|curve| curve.name == *name),
        };
        let curve = curve.ok_or_else(|| {
            CommandError::new(format!("no set `{}`", self.set.as_deref().unwrap_or_default())).at(&self.data)
        })?;
        let options =
            fit::FitOptions { n_is: curve.n_is, left_out: curve.left_out, ..fit::FitOptions::default() };
        let record = RunRecord::read(&text).ok().map(|mut record| {
            // Other configurations have other percentiles and other costs.
            if record.points.iter().any(|point| point.configuration == curve.name) {
                record.points.retain(|point| point.configuration == curve.name);
            }
            record
        });
        Ok((fit::of(&curve.observations, &options), record))
    }

    fn goal(&self) -> Result<PlanGoal, CommandError> {
        let mut goal = match &self.goal {
            None => PlanGoal::default(),
            Some(path) => PlanGoal::read(&text_of(path)?)
                .map_err(|error| CommandError::new(error.to_string()).at(path))?,
        };
        goal.users = self.users.or(goal.users);
        goal.requests_per_hour = self.requests_per_hour.or(goal.requests_per_hour);
        goal.rate = self.rate.or(goal.rate);
        goal.peak = self.peak.unwrap_or(goal.peak);
        goal.p99_ms = self.p99_ms.or(goal.p99_ms);
        goal.may_fail = self.may_fail.unwrap_or(goal.may_fail);
        goal.utilisation_percent = self.utilisation.unwrap_or(goal.utilisation_percent);
        goal.sessions = self.sessions.or(goal.sessions);
        goal.session_bytes = self.session_bytes.or(goal.session_bytes);
        goal.session_copies = self.session_copies.unwrap_or(goal.session_copies);
        goal.cores = self.cores.or(goal.cores);
        Ok(goal)
    }
}
