//! A bundle in the making.

use std::time::SystemTime;

use durward_ir::Value;
use durward_ir::json;
use jiff::Timestamp;

use crate::archive::{self, ArchiveFiles};
use crate::error::failed;
use crate::manifest::{self, Manifest};
use crate::name::{self, FileKind, MANIFEST};
use crate::{Bundle, BundleError, SigningKey, seal};

/// A time as bundles write it.
///
/// # Errors
/// A time that is thousands of years away.
pub fn time(time: SystemTime) -> Result<String, BundleError> {
    match Timestamp::try_from(time) {
        Ok(time) => Ok(time.to_string()),
        Err(_) => failed("the clock is thousands of years off"),
    }
}

/// Files that become a bundle.
#[derive(Debug)]
pub struct BundleDraft {
    files: ArchiveFiles,
    created: Timestamp,
    configuration_id: Option<String>,
    attribution: Value,
    version: String,
}

impl BundleDraft {
    /// An empty bundle, made at this time (RFC 3339).
    ///
    /// # Errors
    /// A text that is no time.
    pub fn new(created: &str) -> Result<BundleDraft, BundleError> {
        let Ok(created) = created.parse() else { return failed(format!("`{created}` is no time")) };
        let version = env!("CARGO_PKG_VERSION");
        Ok(BundleDraft {
            files: ArchiveFiles::new(),
            created,
            configuration_id: None,
            attribution: Value::Text(format!("durward/{version}").into()),
            version: version.to_owned(),
        })
    }

    /// The files of a bundle, its name and its maker, to be signed anew.
    ///
    /// # Errors
    /// A text that is no time.
    pub fn of(bundle: &Bundle, created: &str) -> Result<BundleDraft, BundleError> {
        let manifest = bundle.manifest();
        Ok(BundleDraft {
            files: bundle.files().clone(),
            configuration_id: Some(manifest.configuration_id.clone()),
            attribution: manifest.attribution.clone(),
            ..BundleDraft::new(created)?
        })
    }

    /// Calls it so; otherwise its name is made of what is in it.
    ///
    /// # Errors
    /// More than 256 characters, or some that are not allowed.
    pub fn set_configuration_id(&mut self, id: &str) -> Result<(), BundleError> {
        manifest::check_configuration_id(id)?;
        self.configuration_id = Some(id.to_owned());
        Ok(())
    }

    /// Adds a file.
    ///
    /// # Errors
    /// A file that no bundle has, one that is there already, secrets in clear, or sealed ones that are not sealed.
    pub fn add(&mut self, name: &str, content: Vec<u8>) -> Result<(), BundleError> {
        let kind = name::check(name)?;
        if kind == FileKind::Manifest {
            return failed(format!("`{MANIFEST}` is written last, and by nobody else"));
        }
        if kind.is_clear_secret() {
            return failed(format!("`{name}` holds secrets in clear; seal them first"));
        }
        let is_sealed = || json::read(&content).is_ok_and(|value| seal::is_sealed(&value));
        if kind.is_sealed() && !is_sealed() {
            return failed(format!("`{name}` has something in it that is not sealed"));
        }
        match self.files.insert(name.to_owned(), content) {
            Some(_) => failed(format!("`{name}` is there twice")),
            None => Ok(()),
        }
    }

    /// The identifier of the key that all secrets are sealed to.
    fn recipient(&self) -> Result<Option<String>, BundleError> {
        let mut found: Option<String> = None;
        for (name, content) in &self.files {
            if !FileKind::of(name).is_some_and(FileKind::is_sealed) {
                continue;
            }
            let value = json::read(content).map_err(|_| BundleError::new(format!("`{name}` is no JSON")))?;
            for recipient in seal::recipients(&value).map_err(|error| error.of(format!("`{name}`")))? {
                match &found {
                    Some(other) if *other != recipient => {
                        return failed(format!(
                            "secrets are sealed to `{other}` and to `{recipient}`; a bundle has one"
                        ));
                    }
                    Some(_) | None => found = Some(recipient),
                }
            }
            if found.is_none() {
                return failed(format!("`{name}` holds no secret; leave it out"));
            }
        }
        Ok(found)
    }

    /// The bundle, signed if there is a key, whose name goes along.
    ///
    /// # Errors
    /// No `pdp.json` or no policy, or secrets that are sealed to several.
    pub fn finish(self, key: Option<(&SigningKey, &str)>) -> Result<Vec<u8>, BundleError> {
        if !self.files.contains_key("pdp.json") {
            return failed("there is no `pdp.json`; `{}` is enough");
        }
        if !self.files.keys().any(|name| FileKind::of(name) == Some(FileKind::Policy)) {
            return failed("there are no policies (`*.sapl`)");
        }
        let mut files: Vec<(String, String)> =
            self.files.iter().map(|(name, content)| (name.clone(), manifest::digest(content))).collect();
        manifest::sort(&mut files);
        let mut manifest = Manifest {
            version: Some(self.version.clone()),
            created: self.created,
            configuration_id: self.configuration_id.clone().unwrap_or_else(|| manifest::derived_id(&files)),
            attribution: self.attribution.clone(),
            recipient: self.recipient()?,
            files,
            signature: None,
        };
        if let Some((key, key_id)) = key {
            manifest.sign(key, key_id);
        }
        let text = manifest.to_text();
        let all = self.files.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
        archive::pack(all.chain([(MANIFEST, text.as_bytes())]))
    }
}
