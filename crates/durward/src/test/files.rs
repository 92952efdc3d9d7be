//! The files of tests.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use durward_pdp::DIRECTORY_DEPTH_MAX;
use durward_pdp::sapl::syntax::DOCUMENT_BYTES_MAX;
use durward_scenario::{FolderContents, PlayError, ScenarioFiles};

use crate::failure::{CommandError, without_number};

/// All files with this extension below a directory, in the order of their paths. Links to directories and what is hidden
/// (`.git`) are not looked into.
pub(super) fn below(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, CommandError> {
    let mut found = Vec::new();
    collect(directory, extension, 0, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(
    directory: &Path,
    extension: &str,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> Result<(), CommandError> {
    if depth > DIRECTORY_DEPTH_MAX {
        let message =
            format!("{}: directories nest more than {DIRECTORY_DEPTH_MAX} deep", directory.display());
        return Err(CommandError::new(message));
    }
    let unreadable = |error: io::Error| CommandError::unreadable(directory, &error);
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
        if kind.is_dir() {
            if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                collect(&path, extension, depth + 1, found)?;
            }
        } else if path.extension().is_some_and(|other| other == extension) && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// What scenarios call a document: its path below the directory, with `/` between names and without extension; in a folder
/// `policies` the last name alone.
pub(super) fn name_below(directory: &Path, path: &Path) -> String {
    let below = path.strip_prefix(directory).unwrap_or(path).with_extension("");
    let names: Vec<String> =
        below.components().map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
    match names.as_slice() {
        [first, .., last] if first == "policies" => last.clone(),
        names => names.join("/"),
    }
}

/// How reports call a file: without `./` before it.
pub(super) fn called(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// A text, with one byte more than is read of texts if it is too long.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    read_some(path).map_err(|error| CommandError::unreadable(path, &error))
}

fn read_some(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// Writes a file, and the directories it lies in.
pub(super) fn beside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, bytes)
}

/// What scenarios name by its path lies below this directory.
pub(super) struct DirectoryFiles {
    pub(super) directory: PathBuf,
}

impl DirectoryFiles {
    /// A test can come from somebody else than who runs it, so it reads nothing elsewhere.
    fn path(&self, path: &str) -> Result<PathBuf, PlayError> {
        let inside = Path::new(path.trim_start_matches('/'));
        let is_inside = inside.components().all(|part| match part {
            Component::Normal(_) | Component::CurDir => true,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
        });
        if !is_inside {
            return Err(PlayError::new(format!("`{path}` leads out of {}", self.directory.display())));
        }
        // Without `.`, so that a document has one path however it is named.
        let parts = inside.components().filter(|part| *part != Component::CurDir);
        Ok(parts.fold(self.directory.clone(), |path, part| path.join(part)))
    }

    fn text(path: &Path) -> Result<Vec<u8>, PlayError> {
        read_some(path).map_err(|error| DirectoryFiles::unreadable(path, &error))
    }

    fn unreadable(path: &Path, error: &io::Error) -> PlayError {
        PlayError::new(format!("{}: {}", path.display(), without_number(&error.to_string())))
    }
}

impl ScenarioFiles for DirectoryFiles {
    fn folder(&self, path: &str) -> Result<FolderContents, PlayError> {
        let path = self.path(path)?;
        let failed = |error: io::Error| DirectoryFiles::unreadable(&path, &error);
        let mut folder = FolderContents::default();
        for entry in fs::read_dir(&path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            if !file.is_file() {
                continue;
            }
            let name = called(&file);
            if file.extension().is_some_and(|extension| extension == "sapl") {
                folder.documents.push((name, DirectoryFiles::text(&file)?));
            } else if file.file_name().is_some_and(|file| file == "pdp.json") {
                folder.configuration = Some((name, DirectoryFiles::text(&file)?));
            }
        }
        if folder.documents.is_empty() {
            return Err(PlayError::new(format!("{}: no documents `*.sapl` here", path.display())));
        }
        Ok(folder)
    }

    fn configuration(&self, path: &str) -> Result<(String, Vec<u8>), PlayError> {
        let path = self.path(path)?;
        Ok((called(&path), DirectoryFiles::text(&path)?))
    }
}
