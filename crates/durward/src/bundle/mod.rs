//! `durward bundle`: policies of a tenant in one signed file, as SAPL's tools make and read it.

mod create;
mod files;
mod keys;
mod secrets;
mod show;
mod source;

pub(crate) use source::{BundleArguments, read_policies};

use crate::failure::CommandResult;

const EXAMPLES: &str = "\
Examples:
  durward bundle keygen -o signing
  durward bundle create -i policies/ -o acme.saplbundle -k signing.pem --key-id prod-2026
  durward bundle verify -b acme.saplbundle -k signing.pub
  durward bundle inspect -b acme.saplbundle

-k is an Ed25519 key in PEM form, private where something is signed and public where it is verified. Keys for secrets are
JSON Web Keys of X25519: --seal-to is the receiver's public one, --unseal-with the private one.
Exit codes: 0 done, 1 `verify` or `inspect` found that the bundle is not trustworthy, 2 bad input.";

/// Make signed bundles of policies, verify and inspect them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: BundleCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BundleCommand {
    Create(create::CreateBundle),
    Unpack(create::UnpackBundle),
    Sign(create::SignBundle),
    Verify(show::VerifyBundle),
    Inspect(show::InspectBundle),
    Seal(secrets::Seal),
    Unseal(secrets::Unseal),
    Reseal(secrets::Reseal),
    Keygen(keys::Keygen),
    KeygenSecrets(keys::KeygenSecrets),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.what {
        BundleCommand::Create(arguments) => create::create(arguments),
        BundleCommand::Unpack(arguments) => create::unpack(arguments),
        BundleCommand::Sign(arguments) => create::sign(arguments),
        BundleCommand::Verify(arguments) => show::verify(arguments),
        BundleCommand::Inspect(arguments) => show::inspect(arguments),
        BundleCommand::Seal(arguments) => secrets::seal(arguments),
        BundleCommand::Unseal(arguments) => secrets::unseal(arguments),
        BundleCommand::Reseal(arguments) => secrets::reseal(arguments),
        BundleCommand::Keygen(arguments) => keys::keygen(arguments),
        BundleCommand::KeygenSecrets(arguments) => keys::keygen_secrets(arguments),
    }
}
