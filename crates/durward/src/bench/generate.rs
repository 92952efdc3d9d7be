//! `durward bench generate`: policies and questions to measure with.

use std::path::PathBuf;
use std::process::ExitCode;

use durward_lab::scenario::Scenario;

use super::counted;
use crate::failure::{Failure, Outcome, without_number};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward bench generate --scenario hospital-300 --out hospital-300/
  durward bench embedded --policies hospital-300/ --requests hospital-300/subscriptions.jsonl

Scenarios are those of SAPL's own benchmark, number for number: baseline, rbac, hospital-N, github-N, gdrive-N and
tinytodo-N, where N is the size. The same name always gives the same files: policies `*.sapl`, `pdp.json`, and
`subscriptions.jsonl`.";

/// Write the policies and questions of a scenario, to measure with them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The scenario and its size, such as hospital-300
    #[arg(long, value_name = "NAME-N", value_parser = Scenario::named)]
    scenario: Scenario,
    /// Where to; the directory is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { scenario, out } = arguments;
    scenario.write_to(out).map_err(|error| {
        let why = without_number(&error.to_string());
        Failure::new(format!("cannot write to {}: {why}", out.display()))
    })?;
    let policies = counted(scenario.policies.len(), "polic", ["y", "ies"]);
    let subscriptions = counted(scenario.subscriptions.len(), "subscription", ["", "s"]);
    to_stdout(&format!("{}: {policies}, {subscriptions}\n", out.display()))?;
    Ok(ExitCode::SUCCESS)
}
