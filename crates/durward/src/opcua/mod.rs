//! `durward opcua`: token-based access control for OPC UA.

mod pki;

use crate::failure::Outcome;

const EXAMPLES: &str = "\
Examples:
  durward opcua pki create --dir pki --application-uri urn:plant:gate --host plc.example.org
  durward opcua pki show --dir pki
  durward opcua pki trust --dir pki 3f0c...

docs/opcua.md tells what certificates are for and where they lie.";

/// Access control for OPC UA: certificates of applications
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Pki(pki::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.what {
        What::Pki(arguments) => pki::run(arguments),
    }
}
