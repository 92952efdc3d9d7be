//! `durward bench streams`: what live subscriptions cost.

use std::process::ExitCode;
use std::time::Duration;

use durward_bench::streams::{StreamAttribute, StreamMeasurement, measure_departments};
use serde_json::json;

use crate::failure::{CommandError, CommandResult};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward bench streams
  durward bench streams --subscriptions 1000000 --attribute own --json

A hundred policies, subscriptions of 120 bytes, and one attribute for each decision. Measured are the memory that they
take, how long it takes to decide all of them again when policies are replaced, and when the attribute changes for all.
Times are those of one thread on its core.";

/// Live subscriptions in this process: their memory, and how long deciding all of them again takes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// How many
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    subscriptions: u32,
    /// What decisions need
    #[arg(long, value_enum, default_value_t = AttributeName::Shared)]
    attribute: AttributeName,
    /// Print an object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum AttributeName {
    /// One attribute for all
    Shared,
    /// One of each subject's own, and an obligation of its own
    Own,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let attribute = match arguments.attribute {
        AttributeName::Shared => StreamAttribute::Shared,
        AttributeName::Own => StreamAttribute::Own,
    };
    let count = usize::try_from(arguments.subscriptions).unwrap_or(usize::MAX);
    let measured = measure_departments(count, attribute).map_err(|errors| CommandError::policies(&errors))?;
    to_stdout(&if arguments.json { row(&measured) } else { format!("{measured}\n") })?;
    Ok(ExitCode::SUCCESS)
}

fn row(measured: &StreamMeasurement) -> String {
    let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
    let row = json!({
        "subscriptions": measured.subscriptions,
        "bytes": measured.bytes,
        "bytes_each": measured.bytes.map(|bytes| bytes / measured.subscriptions.max(1) as u64),
        "subscribing_ms": ms(measured.subscribing),
        "replacing_ms": ms(measured.replacing),
        "replaced": measured.replaced,
        "changing_ms": measured.changing.map(ms),
        "changed": measured.changed,
        "longest_tick_ms": ms(measured.longest_tick),
    });
    format!("{row:#}\n")
}
