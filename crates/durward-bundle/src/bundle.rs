//! A bundle as it was read, and a verified one.

use std::collections::BTreeMap;

use durward_ir::{Value, json};
use jiff::Timestamp;

use crate::archive::{self, ArchiveFiles};
use crate::error::failed;
use crate::manifest::{self, Manifest};
use crate::name::{FileKind, MANIFEST};
use crate::trust::VerifiedManifest;
use crate::{BundleError, Limits, Trust, seal};

/// A bundle as it was found: whoever uses its policies verifies it first.
pub struct Bundle {
    manifest: Manifest,
    /// Without the manifest.
    files: ArchiveFiles,
}

impl Bundle {
    /// Unpacks a bundle.
    ///
    /// # Errors
    /// No archive, more than the limits allow, files that a bundle cannot have, no manifest, or one that says something
    /// else than what is there about secrets.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Bundle, BundleError> {
        let mut files = archive::unpack(bytes, limits)?;
        let Some(text) = files.remove(MANIFEST) else {
            return failed(format!(
                "there is no `{MANIFEST}`; make the bundle again with SAPL 4.2 or durward"
            ));
        };
        let manifest = Manifest::read(&text).map_err(|error| error.of(format!("`{MANIFEST}`")))?;
        let bundle = Bundle { manifest, files };
        bundle.check_secrets()?;
        Ok(bundle)
    }

    /// What it says about itself; true once it is verified.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its files by name, without the manifest.
    pub fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
    }

    /// Its files, to be looked at: nobody has verified them.
    pub fn take_files(&mut self) -> BTreeMap<String, Vec<u8>> {
        std::mem::take(&mut self.files)
    }

    /// Whether it is what somebody signed who may sign for this tenant.
    ///
    /// # Errors
    /// Why it is not.
    pub fn verify(self, trust: &Trust, tenant: &str) -> Result<VerifiedBundle, BundleError> {
        let believed = trust.believe(&self.manifest, tenant)?;
        self.check_files(&believed)?;
        Ok(VerifiedBundle(self))
    }

    /// Every file is in the manifest, and every file of the manifest is there, with its digest.
    fn check_files(&self, _: &VerifiedManifest) -> Result<(), BundleError> {
        let listed: BTreeMap<&str, &str> =
            self.manifest.files.iter().map(|(name, digest)| (name.as_str(), digest.as_str())).collect();
        for (name, content) in &self.files {
            match listed.get(name.as_str()) {
                None => return failed(format!("`{name}` is not in the manifest")),
                Some(digest) if **digest != manifest::digest(content) => {
                    return failed(format!("`{name}` is not what was signed: it was changed"));
                }
                Some(_) => {}
            }
        }
        match listed.keys().find(|name| !self.files.contains_key(**name)) {
            Some(name) => failed(format!("`{name}` is in the manifest and not in the bundle")),
            None => Ok(()),
        }
    }

    /// Secrets are all sealed or none, and the manifest says to whom.
    fn check_secrets(&self) -> Result<(), BundleError> {
        let (mut sealed, mut clear) = (false, false);
        for (name, content) in &self.files {
            let Some(kind) = FileKind::of(name) else { continue };
            clear |= kind.is_clear_secret();
            sealed |= kind.is_sealed();
            let is_meant = || {
                json::read(content)
                    .is_ok_and(|value| matches!(value, Value::Object(_)) && seal::is_sealed(&value))
            };
            if kind.is_sealed() && !is_meant() {
                return failed(format!("`{name}` has something in it that is not sealed"));
            }
        }
        match (sealed, clear, &self.manifest.recipient) {
            (true, true, _) => failed("some secrets are sealed and some are not; seal all"),
            (true, false, None) => failed("its manifest does not say to whom secrets are sealed"),
            (false, _, Some(_)) => failed("its manifest says to whom secrets are sealed, and none are"),
            (true, false, Some(_)) | (false, _, None) => Ok(()),
        }
    }
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bundle").field("manifest", &self.manifest).finish_non_exhaustive()
    }
}

/// A verified bundle.
#[derive(Debug)]
pub struct VerifiedBundle(Bundle);

impl VerifiedBundle {
    /// Its files by name, without the manifest.
    pub fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.0.files
    }

    /// What was signed.
    pub fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    /// When it was made. One that is older than what is in force is an old one sent again.
    pub fn created(&self) -> Timestamp {
        self.0.manifest.created
    }

    /// Its files, to be used.
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.0.files
    }
}
