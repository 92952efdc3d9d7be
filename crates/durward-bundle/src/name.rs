//! What the files of a bundle are called, and what that makes them.

use crate::BundleError;
use crate::error::failed;

/// The name of the manifest.
pub const MANIFEST: &str = ".sapl-manifest.json";

/// Longest name, in bytes; the engine's limit is 255 characters.
const NAME_BYTES_MAX: usize = 255;

/// What a file of a bundle, or of a directory of SAPL policies, is by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `pdp.json`: algorithm and variables.
    Configuration,
    /// `*.sapl`: a policy.
    Policy,
    /// `secrets.json` in clear, for attribute finders.
    Secrets,
    /// `secrets.sealed.json`.
    SealedSecrets,
    /// `ext-<name>.json`: data for somebody else.
    Extension,
    /// `ext-<name>-secrets.json` in clear.
    ExtensionSecrets,
    /// `ext-<name>-secrets.sealed.json`.
    SealedExtensionSecrets,
    /// `critical-extensions.json`: the extensions that must be known.
    CriticalExtensions,
    /// `.sapl-manifest.json`: the digests of all others, and the signature.
    Manifest,
}

impl FileKind {
    /// By the name of the file, without a directory; `None` where a bundle has no such file.
    pub fn of(name: &str) -> Option<FileKind> {
        match name {
            "pdp.json" => return Some(FileKind::Configuration),
            "secrets.json" => return Some(FileKind::Secrets),
            "secrets.sealed.json" => return Some(FileKind::SealedSecrets),
            "critical-extensions.json" => return Some(FileKind::CriticalExtensions),
            MANIFEST => return Some(FileKind::Manifest),
            _ => {}
        }
        if name.ends_with(".sapl") {
            return Some(FileKind::Policy);
        }
        let extension = name.strip_prefix("ext-")?.strip_suffix(".json").filter(|name| !name.is_empty())?;
        if extension.ends_with("-secrets.sealed") {
            return Some(FileKind::SealedExtensionSecrets);
        }
        if extension.ends_with("-secrets") {
            return Some(FileKind::ExtensionSecrets);
        }
        Some(FileKind::Extension)
    }

    /// Whether the file holds secrets that anybody could read.
    pub fn is_clear_secret(self) -> bool {
        matches!(self, FileKind::Secrets | FileKind::ExtensionSecrets)
    }

    /// Whether the file holds secrets that are sealed.
    pub fn is_sealed(self) -> bool {
        matches!(self, FileKind::SealedSecrets | FileKind::SealedExtensionSecrets)
    }
}

/// What a file of a bundle is, if it may be one: no directory, no way out of one, nothing unknown.
///
/// # Errors
/// A name that no file of a bundle has.
pub(crate) fn check(name: &str) -> Result<FileKind, BundleError> {
    if name.len() > NAME_BYTES_MAX {
        return failed(format!("a file has a name of more than {NAME_BYTES_MAX} bytes"));
    }
    // Before any message shows it.
    if name.chars().any(char::is_control) {
        return failed("a file has a control character in its name");
    }
    if name.contains(['/', '\\', ':']) || name.contains("..") {
        return failed(format!("`{name}` lies in a directory, or leads to another one; bundles have none"));
    }
    let unknown = || {
        BundleError::new(format!(
            "`{name}` does not belong into a bundle; there may be `pdp.json`, `*.sapl`, `secrets.sealed.json`, \
             `ext-*.json` and `critical-extensions.json`"
        ))
    };
    FileKind::of(name).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_files_are() {
        for (name, kind) in [
            ("pdp.json", FileKind::Configuration),
            ("a.sapl", FileKind::Policy),
            ("ext-a.json", FileKind::Extension),
            ("ext-a-secrets.json", FileKind::ExtensionSecrets),
            ("ext-a-secrets.sealed.json", FileKind::SealedExtensionSecrets),
        ] {
            assert_eq!(check(name), Ok(kind), "{name}");
        }
        for name in
            ["a.xml", "ext-.json", "../a.sapl", "a/b.sapl", "\\a.sapl", "C:a.sapl", "a\n.sapl", "x.zip", ""]
        {
            assert!(check(name).is_err(), "{name}");
        }
        assert!(check(&format!("{}.sapl", "a".repeat(255))).is_err());
    }
}
