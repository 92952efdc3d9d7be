//! Files of bundles, directories and keys, read with limits and written with care.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use durward_bundle::{
    Bundle, BundleError, FileKind, Limits, RecipientKey, SecretKey, SigningKey, Trust, VerifyingKey,
};

use crate::failure::Failure;

/// Longest file with a key.
const KEY_BYTES_MAX: u64 = 4096;

/// Who may read a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    /// As the user's mask says.
    Usual,
    /// The user alone.
    Owner,
}

/// Says in which file something is wrong.
pub(super) fn wrong(path: &Path) -> impl Fn(BundleError) -> Failure {
    move |error| Failure::new(error.to_string()).at(path)
}

fn text(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(KEY_BYTES_MAX).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| Failure::unreadable(path, &error))
}

pub(super) fn signing_key(path: &Path) -> Result<SigningKey, Failure> {
    SigningKey::read(&text(path)?).map_err(wrong(path))
}

pub(super) fn verifying_key(path: &Path) -> Result<VerifyingKey, Failure> {
    VerifyingKey::read(&text(path)?).map_err(wrong(path))
}

pub(super) fn recipient_key(path: &Path) -> Result<RecipientKey, Failure> {
    RecipientKey::read(&text(path)?).map_err(wrong(path))
}

pub(super) fn secret_key(path: &Path) -> Result<SecretKey, Failure> {
    SecretKey::read(&text(path)?).map_err(wrong(path))
}

/// A bundle, not verified.
pub(super) fn bundle(path: &Path) -> Result<Bundle, Failure> {
    let limits = Limits::default();
    let bytes = read(path, limits.archive_bytes_max)?;
    Bundle::read(&bytes, &limits).map_err(wrong(path))
}

/// Trust in one key, whatever signatures call it.
pub(super) fn trust(key: &Path) -> Result<Trust, Failure> {
    Ok(Trust::one(verifying_key(key)?))
}

/// No more than may be there.
fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let most = bytes_max as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| Failure::unreadable(path, &error))?;
    if bytes.len() > bytes_max {
        return Err(Failure::new(format!("more than {bytes_max} bytes")).at(path));
    }
    Ok(bytes)
}

/// The files of a directory that a bundle can have, by name; others are passed over.
pub(super) fn directory(path: &Path) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let mut files = BTreeMap::new();
    let limits = Limits::default();
    let mut left = limits.content_bytes_max;
    for entry in fs::read_dir(path).map_err(|error| Failure::unreadable(path, &error))? {
        let entry = entry.map_err(|error| Failure::unreadable(path, &error))?;
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
pub(super) fn write(path: &Path, bytes: &[u8], readers: Readers, may_replace: bool) -> Result<(), Failure> {
    if !may_replace && path.symlink_metadata().is_ok() {
        return Err(Failure::new("is there already")
            .at(path)
            .hint("choose another name, or replace it with `--force`"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = create(&beside, readers).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    written.map_err(|error| {
        // What is half written is of no use; it may be gone.
        let _ = fs::remove_file(&beside);
        Failure::from(error).at(path)
    })
}

fn create(path: &Path, readers: Readers) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = readers;
    options.open(path)
}

/// Takes a file away.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    fs::remove_file(path).map_err(|error| Failure::from(error).at(path))
}
