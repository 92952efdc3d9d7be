//! `durward lab simulate`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_lab::fit;
use durward_lab::record::{RunRecord, nodes_in_words};
use durward_lab::simulate::{
    self, BalancePolicy, Calibration, Deployment, SimulatedPoint, SimulationOutcome as Simulated,
};

use super::plan::text_of;
use crate::console::progress::Progress;
use crate::failure::{CommandError, CommandResult, DIFFERENT, SUCCESS};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward lab simulate deployment.toml
  durward lab simulate deployment.toml --nodes 1,2,4,8,16,32 --out simulated.json
  durward lab simulate --from record.json --nodes 10000 --rate 61000 --seconds 20
  durward lab simulate --from light.json --against record.json

A deployment is TOML: `nodes`, `load`, `steps`, `balance`, `replication`, `events`; docs/lab-plan.md describes it. --from takes
service times from the lightest load of a record instead. The same seed gives the same result. With several numbers of nodes,
load grows with them, and the law that is fitted to what was simulated is printed; with --law FILE the law of measured points
stands beside it. --against simulates each point of a record and prints both; it exits with 1 where one that is not marked
is further off than 10 % in throughput or 25 % in the 99th percentile.";

/// Simulate a deployment, with service times that were measured
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The deployment
    #[arg(value_name = "DEPLOYMENT.toml", required_unless_present = "from", conflicts_with = "from")]
    deployment: Option<PathBuf>,
    /// Take service times from the lightest load of this record
    #[arg(long, value_name = "RECORD.json")]
    from: Option<PathBuf>,
    /// Simulate each point of this record, and print both
    #[arg(long, value_name = "RECORD.json", requires = "from")]
    against: Option<PathBuf>,
    /// Numbers of nodes; load grows with them unless --users or --rate is given
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    nodes: Vec<u32>,
    /// Users, each of whom waits for answers
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    users: Option<u64>,
    /// How many cores a node works with at once; without it as in the deployment or record
    #[arg(long, value_name = "N")]
    cores: Option<u32>,
    /// How long a user thinks, in seconds on average
    #[arg(long, value_name = "S")]
    think_s: Option<f64>,
    /// Arrivals a second
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// How requests find a node
    #[arg(long, value_enum)]
    balance: Option<BalanceName>,
    /// How long is measured, in simulated seconds
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// What all chance follows from
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Measured points or a record, whose law stands beside the simulation
    #[arg(long, value_name = "DATA")]
    law: Option<PathBuf>,
    /// Write a record, for `durward lab fit` and `durward lab report`
    #[arg(long, value_name = "RECORD.json")]
    out: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// How requests find a node.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum BalanceName {
    Sticky,
    Random,
    RoundRobin,
    LeastOutstanding,
    TwoChoices,
}

fn balance(name: BalanceName) -> BalancePolicy {
    match name {
        BalanceName::Sticky => BalancePolicy::Sticky,
        BalanceName::Random => BalancePolicy::Random,
        BalanceName::RoundRobin => BalancePolicy::RoundRobin,
        BalanceName::LeastOutstanding => BalancePolicy::LeastOutstanding,
        BalanceName::TwoChoices => BalancePolicy::TwoChoices,
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let mut calibration = arguments.from.as_deref().map(calibrated).transpose()?;
    if let (Some(calibration), Some(cores)) = (&mut calibration, arguments.cores) {
        calibration.deployment.nodes.cores = cores;
    }
    if let (Some(calibration), Some(path)) = (&calibration, &arguments.against) {
        return against(arguments, calibration, path);
    }
    let deployment = arguments.deployment(calibration.as_ref())?;
    let wrong = |error: simulate::DeploymentError| {
        let failure = CommandError::new(error.to_string());
        arguments
            .deployment
            .as_deref()
            .or(arguments.from.as_deref())
            .map_or(CommandError::new(""), |path| failure.at(path))
    };
    deployment.check().map_err(wrong)?;
    let nodes =
        if arguments.nodes.is_empty() { vec![deployment.nodes.count] } else { arguments.nodes.clone() };
    let progress = Progress::start("simulating");
    let mut all = Vec::new();
    for count in nodes {
        progress.turn_to(format!("simulating {count} nodes"));
        let mut base = deployment.clone();
        if arguments.users.is_some() || arguments.rate.is_some() {
            base.nodes.count = count;
        }
        all.extend(simulate::by_nodes(&base, &[count]).map_err(wrong)?);
    }
    if let Some(path) = &arguments.out {
        let record = simulate::record(&all, env!("CARGO_PKG_VERSION"), std::env::args().collect());
        let text = record.to_json().map_err(|error| CommandError::new(error.to_string()))?;
        fs::write(path, text).map_err(|error| CommandError::from(error).at(path))?;
    }
    drop(progress);
    to_stdout(&if arguments.json { json(&all)? } else { arguments.text(calibration.as_ref(), &all)? })?;
    Ok(ExitCode::SUCCESS)
}

fn record_of(path: &Path) -> Result<RunRecord, CommandError> {
    RunRecord::read(&text_of(path)?).map_err(|error| CommandError::new(error.to_string()).at(path))
}

fn calibrated(path: &Path) -> Result<Calibration, CommandError> {
    simulate::calibrate(&record_of(path)?).map_err(|error| CommandError::new(error.to_string()).at(path))
}

fn json(value: &impl serde::Serialize) -> Result<String, CommandError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| CommandError::new(error.to_string()))
}

fn against(arguments: &Arguments, calibration: &Calibration, path: &Path) -> CommandResult {
    let compared = simulate::against(calibration, &record_of(path)?)
        .map_err(|error| CommandError::new(error.to_string()).at(path))?;
    let is_close = compared.iter().all(|one| one.is_close || one.is_marked);
    to_stdout(&if arguments.json { json(&compared)? } else { side_by_side(calibration, &compared) })?;
    Ok(ExitCode::from(if is_close { SUCCESS } else { DIFFERENT }))
}

fn side_by_side(calibration: &Calibration, compared: &[SimulatedPoint]) -> String {
    let close = compared.iter().filter(|one| one.is_close).count();
    let mut text = format!(
        "{close} of {} points are within 10 % in throughput and 25 % in the 99th percentile.\n\ncalibrated by {}\n",
        compared.len(),
        calibration.from
    );
    calibration.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    let _ = writeln!(
        text,
        "\n{:<28} {:>11} {:>11} {:>7}  {:>9} {:>9}  {:>9} {:>9} {:>7}",
        "point", "measured/s", "simulated/s", "off", "p50 ms", "simulated", "p99 ms", "simulated", "off"
    );
    for one in compared {
        let off = |pair: [f64; 2]| format!("{:+.1} %", simulate::difference(pair) * 100.0);
        let ([x, simulated_x], [p50, simulated_p50], [p99, simulated_p99]) =
            (one.throughput, one.p50_ms, one.p99_ms);
        let _ = writeln!(
            text,
            "{:<28} {x:>11.1} {simulated_x:>11.1} {:>7}  {p50:>9.3} {simulated_p50:>9.3}  {p99:>9.3} {simulated_p99:>9.3} {:>7}{}",
            one.point,
            off(one.throughput),
            off(one.p99_ms),
            if one.is_marked { "  (marked)" } else { "" }
        );
        one.notes.iter().for_each(|note| text += &format!("  note: {note}\n"));
    }
    text
}

impl Arguments {
    fn deployment(&self, calibration: Option<&Calibration>) -> Result<Deployment, CommandError> {
        let mut deployment = match (calibration, &self.deployment) {
            (Some(calibration), _) => calibration.deployment.clone(),
            (None, Some(path)) => Deployment::read(&text_of(path)?)
                .map_err(|error| CommandError::new(error.to_string()).at(path))?,
            (None, None) => return Err(CommandError::new("a deployment or --from is needed")),
        };
        if let Some(users) = self.users {
            (deployment.load.users, deployment.load.rate) = (Some(users), None);
        }
        if let Some(rate) = self.rate {
            (deployment.load.users, deployment.load.rate) = (None, Some(rate));
        }
        deployment.load.think_s = self.think_s.unwrap_or(deployment.load.think_s);
        deployment.nodes.cores = self.cores.unwrap_or(deployment.nodes.cores);
        deployment.balance = self.balance.map_or(deployment.balance, balance);
        deployment.seconds = self.seconds.unwrap_or(deployment.seconds);
        deployment.seed = self.seed.unwrap_or(deployment.seed);
        Ok(deployment)
    }

    fn text(
        &self,
        calibration: Option<&Calibration>,
        all: &[(Deployment, Simulated)],
    ) -> Result<String, CommandError> {
        let mut text = String::new();
        if let Some(calibration) = calibration {
            let _ = writeln!(text, "calibrated by {}", calibration.from);
            calibration.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
        }
        for (deployment, outcome) in all {
            describe(&mut text, deployment, outcome);
        }
        if all.len() > 1 {
            let observations: Vec<fit::Observation> = all
                .iter()
                .map(|(deployment, outcome)| {
                    fit::Observation::new(f64::from(deployment.nodes.count), outcome.throughput())
                })
                .collect();
            let options = fit::FitOptions { n_is: fit::LoadUnit::Nodes, ..fit::FitOptions::default() };
            let _ = writeln!(
                text,
                "\nthe law of what was simulated: {}",
                fit::of(&observations, &options).verdict
            );
        }
        if let Some(path) = &self.law {
            beside(&mut text, path, all)?;
        }
        Ok(text)
    }
}

fn describe(text: &mut String, deployment: &Deployment, outcome: &Simulated) {
    let ms = |ns: u64| ns as f64 / 1e6;
    let (least, mean, most) = outcome.utilisation();
    let _ = writeln!(
        text,
        "{}: {:.1} answers/s, {} failed; utilisation {:.1} % ({:.1} to {:.1} %); {:.1} under way on average",
        nodes_in_words(deployment.nodes.count as usize),
        outcome.throughput(),
        outcome.failed(),
        mean * 100.0,
        least * 100.0,
        most * 100.0,
        outcome.under_way_mean
    );
    for step in &outcome.steps {
        let percentiles = [50.0, 90.0, 99.0, 99.9].map(|percent| ms(step.since_due.percentile_ns(percent)));
        let [p50, p90, p99, p999] = percentiles;
        let failed: Vec<String> =
            step.failed.iter().map(|(cause, count)| format!("{count} {cause}")).collect();
        let _ = writeln!(
            text,
            "  {:<20} {:>10} answered, p50 {p50:.3} ms, p90 {p90:.3}, p99 {p99:.3}, p99.9 {p999:.3}{}{}",
            step.name,
            step.answered,
            if failed.is_empty() { "" } else { "; failed: " },
            failed.join(", ")
        );
    }
    let throttled = outcome.nodes.iter().map(|node| node.throttled).fold(0.0, f64::max);
    if throttled > 0.0 {
        let _ = writeln!(
            text,
            "  held back by the quota: up to {:.1} % of the time of a node",
            throttled * 100.0
        );
    }
    if let Some(store) = &outcome.store {
        let _ = writeln!(text, "  store: utilisation {:.1} %", store.utilisation * 100.0);
    }
    if !deployment.events.is_empty() {
        let worst =
            outcome.seconds.iter().filter(|second| second.at_s >= 0.0).max_by_key(|second| second.p99_ns);
        if let Some(second) = worst {
            let _ = writeln!(
                text,
                "  worst second, at {:.0} s: p99 {:.1} ms, {} failed, {} under way",
                second.at_s,
                ms(second.p99_ns),
                second.failed,
                second.under_way
            );
        }
    }
    outcome.stopped.iter().chain(&outcome.notes).for_each(|note| *text += &format!("  note: {note}\n"));
}

/// The law of measured points beside what was simulated, and where the two part.
fn beside(text: &mut String, path: &Path, all: &[(Deployment, Simulated)]) -> Result<(), CommandError> {
    let input = fit::read(&text_of(path)?, Some(fit::LoadUnit::Nodes), fit::Weights::Auto)
        .map_err(|error| CommandError::new(error.to_string()).at(path))?;
    let observations = input.curves.first().map(|curve| curve.observations.as_slice()).unwrap_or_default();
    let report = fit::of(
        observations,
        &fit::FitOptions { n_is: fit::LoadUnit::Nodes, resamples: 0, ..fit::FitOptions::default() },
    );
    let law = report.fits.usl.ok_or_else(|| CommandError::new("no law was fitted").at(path))?.law;
    let (rows, parts) = simulate::beside(all, &law);
    let _ = writeln!(text, "\n{:>9} {:>14} {:>14} {:>8}", "nodes", "simulated/s", "law/s", "apart");
    for row in rows {
        let apart = (row.simulated / row.law - 1.0) * 100.0;
        let _ = writeln!(text, "{:>9} {:>14.1} {:>14.1} {apart:>+6.1} %", row.nodes, row.simulated, row.law);
    }
    let _ = match parts {
        Some(nodes) => writeln!(
            text,
            "law and simulation part from {nodes} nodes on: what the law saw, the simulation does not have, or the other way round"
        ),
        None => writeln!(text, "law and simulation stay within 10 % of each other"),
    };
    Ok(())
}
