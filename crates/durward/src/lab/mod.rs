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

use crate::failure::Outcome;

pub(crate) use report::failure as report_failure;

/// Measure how far a server scales, why, and what it costs
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
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
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.what {
        What::Fit(arguments) => fit::run(arguments),
        What::Run(arguments) => run::run(arguments),
        What::Agent(arguments) => agent::run(arguments),
        What::Init(arguments) => init::run(arguments),
        What::Rerun(arguments) => rerun::run(arguments),
        What::Report(arguments) => report::run(arguments),
        What::Compare(arguments) => compare::run(arguments),
        What::Plan(arguments) => plan::run(arguments),
        What::Simulate(arguments) => simulate::run(arguments),
        What::Study(arguments) => study::run(arguments),
    }
}
