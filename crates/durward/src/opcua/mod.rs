//! `durward opcua`: token-based access control for OPC UA.
//!
//! | file | holds |
//! |---|---|
//! | `pki` | certificates |
//! | `client` | the commands of a client |
//! | `application` | a certificate with a clock and a runtime: what all of them are |
//! | `decider` | decisions of `durward-pdp` |
//! | `subjects`, `keep` | users, and what survives a restart |
//! | `authority` | the authorization service, put together |
//! | `settings`, `serve_authority`, `serve_gate` | `durward opcua authority`, `durward opcua gate` |
//! | `demo` | `durward demo opcua` |
//! | `bench` | `durward bench opcua` |

mod application;
mod authority;
pub(crate) mod bench;
mod client;
mod decider;
pub(crate) mod demo;
mod keep;
mod pki;
mod serve_authority;
mod serve_gate;
mod settings;
mod subjects;

use crate::failure::Outcome;

const EXAMPLES: &str = "\
Examples:
  durward demo opcua                                      a plant, a gate and an authorization service to try this on
  durward opcua read opc.tcp://localhost:4840 --user anna 'ns=2;s=Boiler.Temperature'
  durward opcua browse opc.tcp://localhost:4840 --user anna /Objects/Plant
  durward opcua authority --config durward.toml
  durward opcua gate --upstream opc.tcp://plc:4840
  durward opcua pki create --dir pki --application-uri urn:plant:gate --host plc.example.org
  durward opcua pki show --dir pki
  durward opcua pki trust --dir pki 3f0c...

docs/opcua.md tells what certificates are for and where they lie.";

/// Access control for OPC UA: a gate before any server, tokens for it, a client, certificates
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
    Authority(serve_authority::Arguments),
    Gate(serve_gate::Arguments),
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
        What::Authority(arguments) => arguments.run(),
        What::Gate(arguments) => arguments.run(),
        What::Pki(arguments) => pki::run(arguments),
    }
}
