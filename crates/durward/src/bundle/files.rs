//! Files of bundles, directories and keys, read with limits and written with care.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use durward_bundle::{
    Bundle, BundleError, FileKind, Limits, RecipientKey, SecretKey, SigningKey, Trust, VerifyingKey,
};
use durward_files::{FileAccess, SecretReaders, read_secret_text};

use crate::failure::CommandError;

/// Longest file with a key.
const KEY_BYTES_MAX: u64 = 4096;

/// Who may read a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileReaders {
    /// As the user's mask says.
    Usual,
    /// The user alone.
    Owner,
}

/// Says in which file something is wrong.
pub(super) fn wrong(path: &Path) -> impl Fn(BundleError) -> CommandError {
    move |error| CommandError::new(error.to_string()).at(path)
}

fn text(path: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(KEY_BYTES_MAX).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| CommandError::unreadable(path, &error))
}

/// A private key's text, which nobody else can read.
fn secret_text(path: &Path) -> Result<String, CommandError> {
    read_secret_text(path, SecretReaders::OwnerAndGroup, KEY_BYTES_MAX)
        .map_err(|error| CommandError::unreadable(path, &error.into()))
}

pub(super) fn signing_key(path: &Path) -> Result<SigningKey, CommandError> {
    SigningKey::read(&secret_text(path)?).map_err(wrong(path))
}

pub(super) fn verifying_key(path: &Path) -> Result<VerifyingKey, CommandError> {
    VerifyingKey::read(&text(path)?).map_err(wrong(path))
}

pub(super) fn recipient_key(path: &Path) -> Result<RecipientKey, CommandError> {
    RecipientKey::read(&text(path)?).map_err(wrong(path))
}

pub(super) fn secret_key(path: &Path) -> Result<SecretKey, CommandError> {
    SecretKey::read(&secret_text(path)?).map_err(wrong(path))
}

/// A bundle, not verified.
pub(super) fn bundle(path: &Path) -> Result<Bundle, CommandError> {
    let limits = Limits::default();
    let bytes = read(path, limits.archive_bytes_max)?;
    Bundle::read(&bytes, &limits).map_err(wrong(path))
}

/// Trust in one key, whatever signatures call it.
pub(super) fn trust(key: &Path) -> Result<Trust, CommandError> {
    Ok(Trust::one(verifying_key(key)?))
}

/// No more than may be there.
fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let most = bytes_max as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| CommandError::unreadable(path, &error))?;
    if bytes.len() > bytes_max {
        return Err(CommandError::new(format!("more than {bytes_max} bytes")).at(path));
    }
    Ok(bytes)
}

/// The files of a directory that a bundle can have, by name; others are passed over.
pub(super) fn directory(path: &Path) -> Result<BTreeMap<String, Vec<u8>>, CommandError> {
    let mut files = BTreeMap::new();
    let limits = Limits::default();
    let mut left = limits.content_bytes_max;
    for entry in fs::read_dir(path).map_err(|error| CommandError::unreadable(path, &error))? {
        let entry = entry.map_err(|error| CommandError::unreadable(path, &error))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_meant =
            FileKind::of(&name).is_some_and(|kind| kind != FileKind::Manifest) && !name.starts_with('.');
        if !is_meant || !entry.path().is_file() {
            continue;
        }
        let content = read(&entry.path(), left)?;
        left -= content.len();
        files.insert(name, content);
    }
    Ok(files)
}

/// Writes a file that is not there yet, or takes the place of one only if told so. Whoever is not to read it never can: not
/// even while it is being written.
pub(super) fn write(
    path: &Path,
    bytes: &[u8],
    readers: FileReaders,
    may_replace: bool,
) -> Result<(), CommandError> {
    if !may_replace && path.symlink_metadata().is_ok() {
        return Err(CommandError::new("is there already")
            .at(path)
            .hint("choose another name, or replace it with `--force`"));
    }
    let access = match readers {
        FileReaders::Usual => FileAccess::Usual,
        FileReaders::Owner => FileAccess::Owner,
    };
    durward_files::replace(path, bytes, access).map_err(|error| CommandError::from(error).at(path))
}

/// Takes a file away.
pub(super) fn remove(path: &Path) -> Result<(), CommandError> {
    fs::remove_file(path).map_err(|error| CommandError::from(error).at(path))
}
