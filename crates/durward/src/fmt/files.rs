//! Finding documents and putting others in their place, all at once or not at all.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use durward_files::FileAccess;
use durward_pdp::DIRECTORY_DEPTH_MAX;

use crate::failure::CommandError;

/// The files that were named, and all `*.sapl` in directories that were, in the order of their paths. Below a directory,
/// links to directories and what is hidden (`.git`) are not looked into.
pub(super) fn documents(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    let mut files = Vec::new();
    for path in paths {
        let metadata = fs::metadata(path).map_err(|error| CommandError::unreadable(path, &error))?;
        if metadata.is_dir() {
            let mut found = Vec::new();
            collect(path, 0, &mut found)?;
            if found.is_empty() {
                let message = format!("no documents `*.sapl` in {}", path.display());
                return Err(CommandError::new(message).hint("XML documents are not formatted"));
            }
            found.sort();
            files.append(&mut found);
        } else if path.extension().is_some_and(|extension| extension == "sapl") {
            files.push(path.clone());
        } else {
            let message = format!("{} is no SAPL document", path.display());
            return Err(CommandError::new(message).hint("give files `*.sapl`, directories of them, or `-`"));
        }
    }
    Ok(files)
}

fn collect(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    if depth > DIRECTORY_DEPTH_MAX {
        let message =
            format!("{}: directories nest more than {DIRECTORY_DEPTH_MAX} deep", directory.display());
        return Err(CommandError::new(message));
    }
    let unreadable = |error: io::Error| CommandError::unreadable(directory, &error);
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if kind.is_dir() {
            if !is_hidden {
                collect(&path, depth + 1, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "sapl") && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// The bytes of a file: at most one more than `bytes_max`, so that too much is seen.
pub(super) fn read(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts other bytes in the place of a file. Whoever reads it meanwhile sees all of the old or all of the new; a link stays
/// a link, and the file keeps its permissions.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let permissions = fs::metadata(&path)?.permissions();
    if permissions.readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    durward_files::replace(&path, bytes, FileAccess::Like(permissions))
}
