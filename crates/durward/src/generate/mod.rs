//! `durward generate`: credentials for callers, and the setting that lets them in; man pages and completions of shells.

#[cfg(feature = "pages")]
mod pages;

use std::process::ExitCode;

use durward_bundle::{BundleError, letters};
use durward_server::digest_of_secret;

#[cfg(not(feature = "pages"))]
use crate::absent;
use crate::failure::{CommandError, CommandResult};
use crate::to_stdout;

#[cfg(feature = "pages")]
use pages::{Completions, ManPages};

const EXAMPLES: &str = "\
Examples:
  durward generate apikey -i robots -p plant-7
  durward generate basic -i turnstiles
  durward generate man man1/
  durward generate completions bash";

const CREDENTIAL_EXAMPLES: &str = "\
Examples:
  durward generate apikey -i robots -p plant-7
  durward generate basic -i turnstiles

durward prints the secret once and stores it nowhere: give it to the caller. The setting holds only its digest; put it
into durward.toml.";

/// Letters and digits of a secret: 190 bits of chance.
const SECRET_LENGTH: usize = 32;
/// Letters and digits of a name that is to be found by: as long as SAPL's.
const ID_LENGTH: usize = 10;

/// Make credentials for a caller, man pages, or completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: GenerateCommand,
}

#[derive(Debug, clap::Subcommand)]
enum GenerateCommand {
    /// An API key: `Authorization: Bearer sapl_...`
    #[command(name = "apikey")]
    ApiKey(CallerKind),
    /// A name and a password
    Basic(CallerKind),
    /// Write man pages, one for each command
    #[cfg(feature = "pages")]
    Man(ManPages),
    /// Print completions for a shell
    #[cfg(feature = "pages")]
    Completions(Completions),
    /// Write man pages (left out: needs the cargo feature `pages`)
    #[cfg(not(feature = "pages"))]
    Man(absent::Arguments),
    /// Print completions for a shell (left out: needs the cargo feature `pages`)
    #[cfg(not(feature = "pages"))]
    Completions(absent::Arguments),
}

#[derive(Debug, clap::Args)]
#[command(after_help = CREDENTIAL_EXAMPLES)]
struct CallerKind {
    /// The name of the caller; by default a random one
    #[arg(short, long, value_name = "NAME", value_parser = id)]
    id: Option<String>,
    /// The tenant of the caller; by default the default tenant
    #[arg(short, long, value_name = "TENANT", value_parser = tenant)]
    pdp_id: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let text = match &arguments.what {
        GenerateCommand::ApiKey(caller) => api_key(caller)?,
        GenerateCommand::Basic(caller) => basic(caller)?,
        #[cfg(feature = "pages")]
        GenerateCommand::Man(wanted) => return pages::man(wanted),
        #[cfg(feature = "pages")]
        GenerateCommand::Completions(wanted) => return pages::completions(wanted),
        #[cfg(not(feature = "pages"))]
        GenerateCommand::Man(_) => return absent::run("durward generate man", "pages"),
        #[cfg(not(feature = "pages"))]
        GenerateCommand::Completions(_) => return absent::run("durward generate completions", "pages"),
    };
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn api_key(caller: &CallerKind) -> Result<String, CommandError> {
    let (key_id, secret) = (random(ID_LENGTH)?, random(SECRET_LENGTH)?);
    let key = format!("sapl_{key_id}_{secret}");
    let id = caller.id.clone().unwrap_or_else(|| key_id.clone());
    let digest = digest(&key)?;
    Ok(format!(
        "id: {id}\nAPI key, shown only now: {key}\n\n{}api_key_id = \"{key_id}\"\napi_key = \"{digest}\"\n",
        caller.setting(&id)
    ))
}

fn basic(caller: &CallerKind) -> Result<String, CommandError> {
    let secret = random(SECRET_LENGTH)?;
    let id = match &caller.id {
        Some(id) => id.clone(),
        None => random(ID_LENGTH)?,
    };
    let digest = digest(&secret)?;
    Ok(format!(
        "id: {id}\npassword, shown only now: {secret}\n\n{}name = \"{id}\"\npassword = \"{digest}\"\n",
        caller.setting(&id)
    ))
}

impl CallerKind {
    fn setting(&self, id: &str) -> String {
        let tenant = self.pdp_id.as_ref().map(|tenant| format!("tenant = \"{tenant}\"\n"));
        // What callers need who ask for gateways, brokers or Kubernetes: see `identity.subjects_asserted_by`.
        let may_assert = "# may_assert_subjects = true   # a program that asks about users by their names, where durward has users\n";
        format!("[[auth.users]]\nid = \"{id}\"\n{may_assert}{}", tenant.unwrap_or_default())
    }
}

fn random(length: usize) -> Result<String, CommandError> {
    letters(length).map_err(|error: BundleError| CommandError::new(error.to_string()))
}

fn digest(secret: &str) -> Result<String, CommandError> {
    let salt = durward_bundle::random_bytes().map_err(|error| CommandError::new(error.to_string()))?;
    digest_of_secret(secret, salt).map_err(|error| CommandError::new(error.to_string()))
}

/// Names go into a line of TOML, and into a header field before a colon.
fn id(text: &str) -> Result<String, String> {
    let is_allowed = |it: char| it.is_alphanumeric() || "._-@".contains(it);
    if (1..=128).contains(&text.len()) && text.chars().all(is_allowed) {
        return Ok(text.to_owned());
    }
    Err("letters, digits, `.`, `_`, `-` and `@`, at most 128".to_owned())
}

fn tenant(text: &str) -> Result<String, String> {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
    let is_way_up = matches!(text, "." | "..");
    if (1..=128).contains(&text.len()) && text.chars().all(is_allowed) && !is_way_up {
        return Ok(text.to_owned());
    }
    Err("a tenant is named with letters, digits, `.`, `_` and `-`, at most 128".to_owned())
}
