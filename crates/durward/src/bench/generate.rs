//! `durward bench generate`: policies and questions to measure with.

use std::path::PathBuf;
use std::process::ExitCode;

use durward_bench::scenario::{Scenario, ScenarioName, XacmlScenario};

use super::{LanguageName, counted};
use crate::failure::{CommandError, CommandResult, without_number};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward bench generate hospital-300 --out hospital-300/
  durward bench embedded --policies hospital-300/ --requests hospital-300/subscriptions.jsonl
  durward bench generate scatter-10000 --language xacml --out scatter-xacml/
  durward bench embedded --policies scatter-xacml/ --requests scatter-xacml/requests.jsonl

Scenarios are those of SAPL's own benchmark, number for number: baseline, rbac, hospital-N, github-N, gdrive-N and
tinytodo-N, where N is the size; and three more: synth-N, N rules about resources, scatter-N, N policies that each look at
others of twelve attributes, and levels-N, N policies that compare by order and by prefix. baseline, hospital-N, synth-N,
scatter-N and levels-N can be had as XACML, too, decided alike. The same name always gives the same files:
`policy-*.sapl`, `pdp.json` and `subscriptions.jsonl`, or `policy-*.xml` and `requests.jsonl`. A hospital of 30000
departments are 990005 files; `durward bench embedded --scenario` needs none.";

/// Write the policies and questions of a scenario, to measure with them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The scenario and its size, such as hospital-300
    #[arg(value_name = "NAME-N", required_unless_present = "scenario")]
    name: Option<ScenarioName>,
    /// The same
    #[arg(long, value_name = "NAME-N", hide = true, conflicts_with = "name")]
    scenario: Option<ScenarioName>,
    /// The language of the policies and questions
    #[arg(long, value_enum, default_value_t = LanguageName::Sapl)]
    language: LanguageName,
    /// Where to; the directory is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let Some(name) = arguments.name.or(arguments.scenario) else {
        return Err(CommandError::new("which scenario?"));
    };
    let out = &arguments.out;
    let (written, policies, questions) = match arguments.language {
        LanguageName::Sapl => {
            let scenario = Scenario::of(&name);
            let questions = counted(scenario.subscriptions.len(), "subscription", ["", "s"]);
            (scenario.write_to(out), scenario.policies.len(), questions)
        }
        LanguageName::Xacml => {
            let scenario = in_xacml(&name)?;
            let questions = counted(scenario.requests.len(), "request", ["", "s"]);
            (scenario.write_to(out), scenario.policies, questions)
        }
    };
    written.map_err(|error| {
        let why = without_number(&error.to_string());
        CommandError::new(format!("cannot write to {}: {why}", out.display()))
    })?;
    let policies = counted(policies, "polic", ["y", "ies"]);
    to_stdout(&format!("{}: {policies}, {questions}\n", out.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The scenario as XACML.
///
/// # Errors
/// It has no such form.
pub(super) fn in_xacml(name: &ScenarioName) -> Result<XacmlScenario, CommandError> {
    XacmlScenario::of(name).ok_or_else(|| {
        CommandError::new(format!("`{name}` cannot be had as XACML: its policies look into variables"))
            .hint("baseline, hospital-N, synth-N, scatter-N and levels-N can")
    })
}
