//! Policy texts out of files and directories.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use durward_xacml_policies::policy::{Limits, RootKind, root_kind};

use crate::language::Language;

/// One policy document, or what lies beside policies, not yet read.
#[derive(Clone, PartialEq, Eq)]
pub struct PolicyText {
    /// How messages call it: usually its path.
    pub name: String,
    /// Its bytes.
    pub text: Vec<u8>,
}

impl fmt::Debug for PolicyText {
    /// Its text may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicyText({}, {} bytes)", self.name, self.text.len())
    }
}

impl PolicyText {
    /// Whether these are sealed secrets, which somebody has to open before policies that come with them can be used.
    pub fn is_sealed(&self) -> bool {
        Language::of(&self.name) == Language::SealedSecrets
    }

    /// Whether this is no policy, and says nothing of how policies are combined.
    pub fn is_beside_policies(&self) -> bool {
        Language::of(&self.name).is_beside_policies()
    }

    /// Whether this is a document of SAPL or its configuration, by its name.
    pub fn is_sapl(&self) -> bool {
        Language::of(&self.name) != Language::Xacml
    }
}

/// How deeply directories of policies may nest; deeper is a link that leads back to itself.
pub const DIRECTORY_DEPTH_MAX: usize = 16;

/// Why policies could not be fetched.
#[derive(Debug)]
pub struct ReadError {
    /// What could not be read.
    pub path: PathBuf,
    /// Why.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for ReadError {}

/// The policies of a file, or of a directory: all `*.xml` files in it and everything below it, and those of SAPL that lie
/// in the directory itself, `*.sapl`, `pdp.json` and `secrets.json`, in order of their paths.
/// Files that are XACML requests or responses are left out of a directory, so that a policy may lie beside its
/// examples; whatever else is not a policy is an error when it is read.
///
/// # Errors
/// A path that does not exist or cannot be read; a directory without any policy, or with something else than files and
/// directories under such a name; a file longer than policies may be by default.
pub fn read_policies(path: &Path) -> Result<Vec<PolicyText>, ReadError> {
    read_policies_within(path, Limits::default().bytes_max)
}

/// Like [`read_policies`], with another limit to the bytes of one file.
///
/// # Errors
/// Those of [`read_policies`].
pub fn read_policies_within(path: &Path, bytes_max: usize) -> Result<Vec<PolicyText>, ReadError> {
    if !path.is_dir() {
        return Ok(vec![read(path, bytes_max)?]);
    }
    let mut texts = Vec::new();
    for file in list_policies(path)? {
        texts.extend(read_policy_file(&file, bytes_max)?);
    }
    any_policy(path, texts)
}

/// The policies of a directory whose files somebody else has read, those of which [`is_policy_file`] says so: what [`read_policies`] does
/// where there is no file system.
///
/// # Errors
/// There is no policy among them.
pub fn policies_of_directory(
    directory: &Path,
    mut files: Vec<PolicyText>,
) -> Result<Vec<PolicyText>, ReadError> {
    files.retain(|file| !is_example(file));
    files.sort_by(|a, b| Path::new(&a.name).cmp(Path::new(&b.name)));
    any_policy(directory, files)
}

fn any_policy(directory: &Path, texts: Vec<PolicyText>) -> Result<Vec<PolicyText>, ReadError> {
    if texts.iter().all(PolicyText::is_beside_policies) {
        let message =
            "no policies here: expected files `*.sapl`, or `*.xml` with a `Policy` or `PolicySet`".into();
        return Err(ReadError { path: directory.into(), message });
    }
    Ok(texts)
}

/// The files of a directory that [`read_policies`] would read, in order of their paths.
///
/// # Errors
/// A directory that does not exist or cannot be read, or that nests too deeply.
pub fn list_policies(directory: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let mut files = Vec::new();
    collect(directory, 0, &mut files)?;
    files.sort();
    Ok(files)
}

/// One of these files; `None` where it is a request or a response of XACML.
///
/// # Errors
/// Something else than a file, one that cannot be read, or one with more bytes.
pub fn read_policy_file(file: &Path, bytes_max: usize) -> Result<Option<PolicyText>, ReadError> {
    // Opening a pipe waits for somebody to write; a directory is no place for one.
    if fs::metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(ReadError { path: file.into(), message: "neither a file nor a directory".into() });
    }
    let text = read(file, bytes_max)?;
    Ok(if is_example(&text) { None } else { Some(text) })
}

/// Whether this is a request or a response of XACML, which may lie beside a policy.
fn is_example(text: &PolicyText) -> bool {
    if Language::of(&text.name) != Language::Xacml {
        return false;
    }
    match root_kind(&text.text) {
        RootKind::Request | RootKind::Response => true,
        RootKind::Policy | RootKind::PolicySet | RootKind::Other | RootKind::Unreadable => false,
    }
}

fn collect(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    if depth > DIRECTORY_DEPTH_MAX {
        let message = format!("directories nest more than {DIRECTORY_DEPTH_MAX} deep");
        return Err(ReadError { path: directory.into(), message });
    }
    let failed = |error: io::Error| ReadError { path: directory.into(), message: reason(&error) };
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden {
            continue;
        }
        if path.is_dir() {
            collect(&path, depth + 1, files)?;
        } else if is_policy_file(&path, depth) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether [`read_policies`] reads a file of this name so deep below the directory; 0 is in the directory itself.
pub fn is_policy_file(path: &Path, depth: usize) -> bool {
    is_policy_name(path) && (depth == 0 || Language::of(&path.display().to_string()) == Language::Xacml)
}

/// Whether a file of this name in a directory of policies may be one of them, or their configuration.
pub fn is_policy_name(path: &Path) -> bool {
    let is_xml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml"));
    is_xml || Language::of(&path.display().to_string()) != Language::Xacml
}

/// Reads no more than may be there: what is behind a name need not be a file with an end.
fn read(path: &Path, bytes_max: usize) -> Result<PolicyText, ReadError> {
    let failed = |error: io::Error| ReadError { path: path.into(), message: reason(&error) };
    let mut text = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(bytes_max as u64 + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() > bytes_max {
        let message = format!("more than {bytes_max} bytes, which is more than a policy may have");
        return Err(ReadError { path: path.into(), message });
    }
    Ok(PolicyText { name: path.display().to_string(), text })
}

/// What went wrong, without the operating system's number for it.
fn reason(error: &io::Error) -> String {
    let message = error.to_string();
    message.split(" (os error").next().unwrap_or(&message).to_owned()
}
