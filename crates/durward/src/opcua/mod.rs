//! `durward opcua`: token-based access control for OPC UA.
//!
//! | file | holds |
//! |---|---|
//! | `pki` | certificates |
//! | `client` | the commands of a client |
//! | `application` | a certificate with a clock and a runtime: what all of them are |
//! | `question`, `decider`, `live` | decisions of `durward-pdp`: what is asked, in the service, at the gate |
//! | `audit` | the record of what happened |
//! | `explain` | why a right is or is not granted |
//! | `keys` | the keys that sign tokens |
//! | `metrics` | `/metrics` and `/health` |
//! | `subjects`, `keep` | users and sessions, and what survives a restart |
//! | `authority` | the authorization service, put together |
//! | `passwords` | users of the gate without a token |
//! | `settings`, `serve_authority`, `serve_gate` | `durward opcua authority`, `durward opcua gate` |
//! | `plant` | a small server to try a gate on |
//! | `demo` | `durward demo opcua` |
//! | `bench` | `durward bench opcua` |

mod application;
mod audit;
mod authority;
#[cfg(feature = "lab")]
pub(crate) mod bench;
mod client;
mod decider;
pub(crate) mod demo;
mod explain;
mod keep;
mod keys;
mod live;
mod metrics;
mod passwords;
mod pki;
mod plant;
mod question;
mod serve_authority;
mod serve_gate;
mod settings;
mod subjects;

use crate::failure::CommandResult;
pub(crate) use serve_authority::{no_users, start as start_authority};

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

docs/opcua.md explains the certificates and their directories.";

/// Access control for OPC UA: a gate in front of any server, tokens for it, a client, certificates
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: OpcuaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum OpcuaCommand {
    Read(client::ReadArguments),
    Write(client::WriteArguments),
    Call(client::CallArguments),
    Browse(client::BrowseArguments),
    Watch(client::WatchArguments),
    Token(client::TokenArguments),
    Explain(explain::Arguments),
    Authority(serve_authority::Arguments),
    Gate(serve_gate::Arguments),
    Plant(plant::Arguments),
    Keys(keys::Arguments),
    Pki(pki::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.what {
        OpcuaCommand::Read(read) => read.run(),
        OpcuaCommand::Write(write) => write.run(),
        OpcuaCommand::Call(call) => call.run(),
        OpcuaCommand::Browse(browse) => browse.run(),
        OpcuaCommand::Watch(watch) => watch.run(),
        OpcuaCommand::Token(token) => token.run(),
        OpcuaCommand::Explain(arguments) => arguments.run(),
        OpcuaCommand::Authority(arguments) => arguments.run(),
        OpcuaCommand::Gate(arguments) => arguments.run(),
        OpcuaCommand::Plant(arguments) => arguments.run(),
        OpcuaCommand::Keys(arguments) => keys::run(arguments),
        OpcuaCommand::Pki(arguments) => pki::run(arguments),
    }
}
