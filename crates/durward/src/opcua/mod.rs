//! `durward opcua`: token-based access control for OPC UA.
//!
//! | file | holds |
//! |---|---|
//! | `pki` | certificates |
//! | `client` | the commands of a client |
//! | `application` | a certificate with a clock and a runtime: what all of them are |
//! | `decider` | decisions of `durward-pdp` |
//! | `authority` | the authorization service |
//! | `demo` | `durward demo opcua` |

mod application;
mod authority;
mod client;
mod decider;
pub(crate) mod demo;
mod pki;

use crate::failure::Outcome;

const EXAMPLES: &str = "\
Examples:
  durward demo opcua                                      a plant, a gate and an authorization service to try this on
  durward opcua read opc.tcp://localhost:4840 --user anna 'ns=2;s=Boiler.Temperature'
  durward opcua browse opc.tcp://localhost:4840 --user anna /Objects/Plant
  durward opcua pki create --dir pki --application-uri urn:plant:gate --host plc.example.org
  durward opcua pki show --dir pki
  durward opcua pki trust --dir pki 3f0c...

docs/opcua.md tells what certificates are for and where they lie.";

/// Access control for OPC UA: a client with tokens, certificates of applications
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Read(client::Read),
    Write(client::Write),
    Call(client::Call),
    Browse(client::Browse),
    Watch(client::Watch),
    Token(client::Token),
    Pki(pki::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.what {
        What::Read(read) => read.run(),
        What::Write(write) => write.run(),
        What::Call(call) => call.run(),
        What::Browse(browse) => browse.run(),
        What::Watch(watch) => watch.run(),
        What::Token(token) => token.run(),
        What::Pki(arguments) => pki::run(arguments),
    }
}
