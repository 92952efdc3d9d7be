//! `durward lab`: how far a server scales, why, and what it costs.

mod agent;
mod compare;
mod fit;
mod init;
mod live;
mod plan;
mod report;
mod rerun;
mod run;
mod simulate;
mod study;
#[cfg(feature = "dashboard")]
#[path = "dashboard/mod.rs"]
mod terminal;
#[cfg(not(feature = "dashboard"))]
#[path = "terminal_none.rs"]
mod terminal;
mod watch;

use crate::failure::CommandResult;

pub(crate) use report::failure as report_failure;

/// Measure how far a server scales, why, and what it costs
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: LabCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LabCommand {
    Fit(fit::Arguments),
    Run(run::Arguments),
    Agent(agent::Arguments),
    Init(init::Arguments),
    Rerun(rerun::Arguments),
    Report(report::Arguments),
    Compare(compare::Arguments),
    Plan(plan::Arguments),
    Simulate(simulate::Arguments),
    Study(study::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.what {
        LabCommand::Fit(arguments) => fit::run(arguments),
        LabCommand::Run(arguments) => run::run(arguments),
        LabCommand::Agent(arguments) => agent::run(arguments),
        LabCommand::Init(arguments) => init::run(arguments),
        LabCommand::Rerun(arguments) => rerun::run(arguments),
        LabCommand::Report(arguments) => report::run(arguments),
        LabCommand::Compare(arguments) => compare::run(arguments),
        LabCommand::Plan(arguments) => plan::run(arguments),
        LabCommand::Simulate(arguments) => simulate::run(arguments),
        LabCommand::Study(arguments) => study::run(arguments),
    }
}
