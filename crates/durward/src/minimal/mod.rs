//! The minimal build: XACML is decided, from files and over HTTP. It is for devices whose whole memory is smaller than the binary with all features.
//!
//! What is not here: SAPL, users and sessions, TLS, a settings file, metrics, other paths than those of the REST profile. Whoever needs one of
//! them takes the default features.

mod decide;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod serve;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use durward_pdp::{Algorithm, IndexKind, Pdp, PdpBuilder, PolicyText, read_policies};

use crate::choices::{combining, index};
use crate::failure::{CommandError, CommandResult, without_number};

const EXAMPLES: &str = "\
Examples:
  durward decide --policies policies/ --request ask.json
  durward serve --policies policies/ --listen 0.0.0.0:8080

This is the minimal build: it decides XACML 3.0, and has neither SAPL nor other commands.
Exit codes: 0 done, 2 bad input.";

/// Decides who may do what by policies in XACML 3.0.
#[derive(Debug, Parser)]
#[command(name = "durward", version, after_help = EXAMPLES, max_term_width = 110, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Decide(decide::Arguments),
    #[cfg(feature = "http")]
    Serve(serve::Arguments),
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// Runs a subcommand.
pub(crate) fn run(command: Command) -> CommandResult {
    match command {
        Command::Decide(arguments) => decide::run(&arguments),
        #[cfg(feature = "http")]
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Other(words) => {
            let word = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            Err(CommandError::new(format!("this durward is the minimal build, without the command `{word}`"))
                .hint("`durward --help` shows its commands; the default features have all others"))
        }
    }
}

/// Which policies, and how they are combined.
#[derive(Clone, Debug, clap::Args)]
struct PolicyArguments {
    /// A policy file, or a directory: *.xml in and below it
    #[arg(long, value_name = "DIR|FILE", required = true)]
    policies: Vec<PathBuf>,
    /// Start at the policy or policy set with this identifier, instead of at all that no other refers to
    #[arg(long, value_name = "ID")]
    root: Option<String>,
    /// How several root policies are combined: a name such as permit-overrides, or an identifier
    #[arg(long, value_name = "ALGORITHM", default_value = "deny-overrides", value_parser = combining)]
    combining: Algorithm,
    /// The index: auto, scan, bloom, canonical or diagram; it changes the speed, never the answer
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = index)]
    index: IndexKind,
}

impl PolicyArguments {
    /// The texts of all policies.
    fn read(&self) -> Result<Vec<PolicyText>, CommandError> {
        let mut texts = Vec::new();
        for path in &self.policies {
            let read = read_policies(path).map_err(|error| {
                CommandError::new(without_number(&error.to_string()))
                    .hint("give a policy file, or a directory of files `*.xml`")
            })?;
            texts.extend(read);
        }
        Ok(texts)
    }

    /// Puts policies in force.
    fn build(&self, texts: Vec<PolicyText>) -> Result<Pdp, CommandError> {
        self.prepare()
            .policies(texts)
            .index(self.index)
            .build()
            .map_err(|errors| CommandError::policies(&errors))
    }

    fn prepare(&self) -> PdpBuilder {
        let builder = Pdp::builder().combining(self.combining);
        #[expect(clippy::disallowed_methods, reason = "the binary hands the clock to the decision point")]
        let builder = builder.clock(std::time::SystemTime::now);
        match &self.root {
            Some(root) => builder.root(root),
            None => builder,
        }
    }
}
