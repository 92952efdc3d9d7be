//! `durward bundle keygen` and `keygen-secrets`: new keys in files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_bundle::{BundleError, SecretKey, SigningKey};

use super::files::{FileReaders, write};
use crate::failure::{CommandError, CommandResult};
use crate::to_stdout;

/// Make a key pair for signing: PREFIX.pem (private) and PREFIX.pub
#[derive(Debug, clap::Args)]
pub(super) struct Keygen {
    #[command(flatten)]
    target: KeyFiles,
}

/// Make a key pair for secrets: PREFIX.jwk (private) and PREFIX.pub.jwk
#[derive(Debug, clap::Args)]
pub(super) struct KeygenSecrets {
    #[command(flatten)]
    target: KeyFiles,
}

#[derive(Debug, clap::Args)]
struct KeyFiles {
    /// What the names of both files begin with
    #[arg(short, long, value_name = "PREFIX")]
    output: PathBuf,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

impl KeyFiles {
    fn path(&self, ending: &str) -> PathBuf {
        let mut name = self.output.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    fn write(&self, private: (&str, &str), public: (&str, &str)) -> CommandResult {
        let (private_path, public_path) = (self.path(private.0), self.path(public.0));
        for path in [&private_path, &public_path] {
            if !self.force && path.symlink_metadata().is_ok() {
                let failure = CommandError::new("is there already").at(path);
                return Err(failure.hint("choose another name, or replace it with `--force`"));
            }
        }
        write(&private_path, private.1.as_bytes(), FileReaders::Owner, self.force)?;
        write(&public_path, public.1.as_bytes(), FileReaders::Usual, self.force)?;
        let line = |path: &Path, what: &str| format!("{}: {what}\n", path.display());
        to_stdout(
            &(line(&private_path, "private: keep it to yourself")
                + &line(&public_path, "public: give it away")),
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

fn no_key(error: BundleError) -> CommandError {
    CommandError::new(error.to_string())
}

pub(super) fn keygen(arguments: &Keygen) -> CommandResult {
    let key = SigningKey::generate().map_err(no_key)?;
    arguments.target.write((".pem", &key.to_pem()), (".pub", &key.verifying_key().to_pem()))
}

pub(super) fn keygen_secrets(arguments: &KeygenSecrets) -> CommandResult {
    let key = SecretKey::generate().map_err(no_key)?;
    let lines = |text: String| text + "\n";
    arguments.target.write((".jwk", &lines(key.to_jwk())), (".pub.jwk", &lines(key.recipient().to_jwk())))
}
