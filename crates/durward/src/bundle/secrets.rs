//! `durward bundle seal`, `unseal`, `reseal`: the secrets of a directory of policies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_bundle::{BundleError, FileKind, Keyring, RecipientKey, SecretKey};
use durward_pdp::ir::json;

use super::files::{self, FileReaders};
use crate::failure::{CommandError, CommandResult};
use crate::to_stdout;

/// Seal the secrets of a directory, and remove the plain-text ones
#[derive(Debug, clap::Args)]
pub(super) struct Seal {
    /// The directory
    #[arg(short, long, value_name = "DIR")]
    input: PathBuf,
    /// The receiver's public key
    #[arg(long, value_name = "FILE.pub.jwk")]
    seal_to: PathBuf,
}

/// Open the secrets of a directory, and remove the sealed ones
#[derive(Debug, clap::Args)]
pub(super) struct Unseal {
    /// The directory
    #[arg(short, long, value_name = "DIR")]
    input: PathBuf,
    /// The private key
    #[arg(long, value_name = "FILE.jwk")]
    unseal_with: PathBuf,
}

/// Seal the secrets of a directory for another receiver
#[derive(Debug, clap::Args)]
pub(super) struct Reseal {
    /// The directory
    #[arg(short, long, value_name = "DIR")]
    input: PathBuf,
    /// The private key of the present receiver; may be given several times
    #[arg(long, value_name = "FILE.jwk", required = true)]
    unseal_with: Vec<PathBuf>,
    /// The new receiver's public key
    #[arg(long, value_name = "FILE.pub.jwk")]
    seal_to: PathBuf,
}

/// The text of a file with secrets, sealed. What is wrong is told without it.
pub(super) fn sealed(content: &[u8], to: &RecipientKey) -> Result<Vec<u8>, BundleError> {
    let value = json::read(content).map_err(|_| BundleError::because("this is no JSON"))?;
    Ok((durward_bundle::seal(to, &value)?.to_json() + "\n").into_bytes())
}

/// The same, opened.
pub(super) fn opened(content: &[u8], keyring: &Keyring) -> Result<Vec<u8>, BundleError> {
    let value = json::read(content).map_err(|_| BundleError::because("this is no JSON"))?;
    Ok((durward_bundle::unseal(keyring, &value)?.to_json() + "\n").into_bytes())
}

/// What a file with secrets is called once they are sealed.
pub(super) fn sealed_name(name: &str) -> String {
    format!("{}.sealed.json", name.strip_suffix(".json").unwrap_or(name))
}

/// What a file with sealed secrets is called once they are open.
pub(super) fn open_name(name: &str) -> String {
    format!("{}.json", name.strip_suffix(".sealed.json").unwrap_or(name))
}

pub(super) fn keyring(keys: Vec<SecretKey>) -> Result<Keyring, CommandError> {
    Keyring::new(keys).map_err(|error| CommandError::new(error.to_string()))
}

pub(super) fn seal(arguments: &Seal) -> CommandResult {
    let to = files::recipient_key(&arguments.seal_to)?;
    replace(&arguments.input, FileKind::is_clear_secret, sealed_name, &|content| sealed(content, &to))
}

pub(super) fn unseal(arguments: &Unseal) -> CommandResult {
    let keyring = keyring(vec![files::secret_key(&arguments.unseal_with)?])?;
    replace(&arguments.input, FileKind::is_sealed, open_name, &|content| opened(content, &keyring))
}

pub(super) fn reseal(arguments: &Reseal) -> CommandResult {
    let keys = arguments.unseal_with.iter().map(|path| files::secret_key(path)).collect::<Result<_, _>>()?;
    let (keyring, to) = (keyring(keys)?, files::recipient_key(&arguments.seal_to)?);
    let changed = |content: &[u8]| {
        let value = json::read(content).map_err(|_| BundleError::because("this is no JSON"))?;
        Ok((durward_bundle::reseal(&keyring, &to, &value)?.to_json() + "\n").into_bytes())
    };
    replace(&arguments.input, FileKind::is_sealed, str::to_owned, &changed)
}

type SecretsChange<'c> = &'c dyn Fn(&[u8]) -> Result<Vec<u8>, BundleError>;

/// Changes all files of a kind, or none if one of them cannot be.
fn replace(
    directory: &Path,
    is_meant: fn(FileKind) -> bool,
    rename: fn(&str) -> String,
    change: SecretsChange<'_>,
) -> CommandResult {
    let all = files::directory(directory)?;
    let mut changed = BTreeMap::new();
    for (name, content) in all.iter().filter(|(name, _)| FileKind::of(name).is_some_and(is_meant)) {
        let new_name = rename(name);
        if new_name != *name && all.contains_key(&new_name) {
            let failure = CommandError::new(format!("`{new_name}` is there already")).at(directory);
            return Err(failure.hint("remove the one that does not count"));
        }
        let path = directory.join(name);
        changed.insert(name, (new_name, change(content).map_err(files::wrong(&path))?));
    }
    if changed.is_empty() {
        to_stdout("there are no such secrets\n")?;
    }
    for (name, (new_name, content)) in changed {
        files::write(&directory.join(&new_name), &content, FileReaders::Owner, true)?;
        if new_name != *name {
            files::remove(&directory.join(name))?;
        }
        to_stdout(&format!("{name} is now {new_name}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
