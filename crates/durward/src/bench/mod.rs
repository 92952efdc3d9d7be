//! `durward bench`: how fast this machine decides.

mod embedded;
mod generate;
mod node;
mod questions;
mod report;
mod row;
mod server;
mod sessions;
mod streams;
mod table;

#[cfg(feature = "opcua")]
pub(crate) use row::{command, machine};

use crate::failure::CommandResult;

/// Measure how fast this machine decides
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: BenchCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BenchCommand {
    Embedded(embedded::Arguments),
    Server(server::Arguments),
    Sessions(Box<sessions::Arguments>),
    Streams(streams::Arguments),
    #[cfg(feature = "opcua")]
    Opcua(crate::opcua::bench::Arguments),
    Generate(generate::Arguments),
    Report(report::Arguments),
}

/// The language of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LanguageName {
    /// SAPL
    Sapl,
    /// XACML 3.0, for those scenarios that can be said in it
    Xacml,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.what {
        BenchCommand::Embedded(arguments) => embedded::run(arguments),
        BenchCommand::Server(arguments) => server::run(arguments),
        BenchCommand::Sessions(arguments) => sessions::run(arguments),
        BenchCommand::Streams(arguments) => streams::run(arguments),
        #[cfg(feature = "opcua")]
        BenchCommand::Opcua(arguments) => crate::opcua::bench::run(arguments),
        BenchCommand::Generate(arguments) => generate::run(arguments),
        BenchCommand::Report(arguments) => report::run(arguments),
    }
}

fn counted(number: usize, word: &str, [one, more]: [&str; 2]) -> String {
    format!("{number} {word}{}", if number == 1 { one } else { more })
}

/// A count with thin groups of three: `1 234 567`.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds".to_owned())?;
    if (0.01..=3_600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("between 0.01 and 3600 seconds".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_stand_in_groups_of_three() {
        for (number, text) in [(0.0, "0"), (999.0, "999"), (1000.4, "1 000"), (1_234_567.0, "1 234 567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
