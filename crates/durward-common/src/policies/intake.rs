//! From what was found to policy texts: bundles verified and unpacked, secrets opened. Nothing is in force yet.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use durward_bundle::{
    Bundle, BundleError, FileKind, Keyring, Limits, SecretKey, Trust, VerifyingKey, unseal,
};
use durward_files::{SecretReaders, read_secret_text};
use durward_pdp::ir::json;
use durward_pdp::{PolicyText, ReadError, read_policies_within};
use durward_settings::{BundleSettings, ConfigError, Settings};

use super::Refused;

/// Longest file with a key.
const KEY_BYTES_MAX: u64 = 4096;

/// What is needed to make policy texts of what was found.
#[derive(Debug)]
pub(crate) struct Intake {
    trust: Trust,
    keyring: Keyring,
    limits: Limits,
    may_go_back: bool,
    may_have_clear_secrets: bool,
    policy_bytes_max: usize,
}

/// Policies that were found.
pub(crate) struct Content {
    pub texts: Vec<PolicyText>,
    /// What their publisher calls them.
    pub configuration: Option<String>,
    /// When the bundle was made that they come from.
    pub created: Option<SystemTime>,
}

impl Content {
    /// A digest of the texts, to see that they are the same.
    pub(crate) fn digest(&self) -> u64 {
        digest(&self.texts)
    }
}

pub(super) fn digest(texts: &[PolicyText]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for text in texts {
        text.name.hash(&mut hasher);
        text.text.hash(&mut hasher);
    }
    hasher.finish()
}

impl Intake {
    /// Reads the keys that the settings name.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds no such key.
    pub(crate) fn new(settings: &Settings) -> Result<Intake, ConfigError> {
        let secret_key = |path: &std::path::PathBuf| {
            let text = read_secret_text(path, SecretReaders::OwnerAndGroup, KEY_BYTES_MAX);
            let text = text.map_err(|error| unreadable("policies.secret_keys", path, &error))?;
            SecretKey::read(&text).map_err(|error| wrong("policies.secret_keys", path.display(), &error))
        };
        let keys = settings.policies.secret_keys.iter().map(secret_key).collect::<Result<Vec<_>, _>>()?;
        let keyring = Keyring::new(keys).map_err(|error| {
            ConfigError::of_setting("policies.secret_keys", format!("cannot be used: {error}"))
        })?;
        Ok(Intake {
            trust: trust(&settings.bundles)?,
            keyring,
            limits: settings.bundles.limits(),
            may_go_back: settings.bundles.danger_allow_rollback,
            may_have_clear_secrets: settings.bundles.danger_accept_unencrypted_secrets,
            policy_bytes_max: settings.limits.of_policies().bytes_max,
        })
    }

    /// The policies of a file or directory.
    pub(super) fn directory(&self, path: &Path) -> Result<Content, Refused> {
        // Opening anything else might wait for ever, and nobody would read policies again.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            let message = "neither a file nor a directory".into();
            return Err(Refused::Read(ReadError { path: path.into(), message }));
        }
        let texts = read_policies_within(path, self.policy_bytes_max).map_err(Refused::Read)?;
        let texts = self.opened(texts).map_err(|error| Refused::Bundle(path.display().to_string(), error))?;
        Ok(Content { texts, configuration: None, created: None })
    }

    /// The policies of a bundle in a file.
    pub(super) fn file(
        &self,
        path: &Path,
        tenant: &str,
        newest: Option<SystemTime>,
    ) -> Result<Content, Refused> {
        let failed = |message: String| Refused::Read(ReadError { path: path.into(), message });
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(failed("it is no file".into())),
            Err(error) => return Err(failed(error.to_string())),
        }
        let mut bytes = Vec::new();
        // One more than allowed shows that there are more.
        let most = self.limits.archive_bytes_max as u64 + 1;
        let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
        read.map_err(|error| failed(error.to_string()))?;
        self.bundle(&bytes, &path.display().to_string(), tenant, newest)
    }

    /// The policies of a bundle, if it may be believed; `name` is how messages call it, `newest` when the one in force was
    /// made.
    pub(super) fn bundle(
        &self,
        bytes: &[u8],
        name: &str,
        tenant: &str,
        newest: Option<SystemTime>,
    ) -> Result<Content, Refused> {
        self.believed(bytes, name, tenant, newest).map_err(|error| Refused::Bundle(name.to_owned(), error))
    }

    fn believed(
        &self,
        bytes: &[u8],
        name: &str,
        tenant: &str,
        newest: Option<SystemTime>,
    ) -> Result<Content, BundleError> {
        let verified = Bundle::read(bytes, &self.limits)?.verify(&self.trust, tenant)?;
        let created = SystemTime::from(verified.created());
        if !self.may_go_back && newest.is_some_and(|newest| created < newest) {
            let message = "it is older than the one in force, which may be an old one sent again; sign it anew to go back";
            return Err(refused(message));
        }
        let configuration = Some(verified.manifest().configuration_id.clone());
        if !verified.files().contains_key("pdp.json") {
            return Err(refused("there is no `pdp.json` in it"));
        }
        if !self.may_have_clear_secrets {
            check_secrets(verified.files())?;
        }
        let texts = self.opened(texts(verified.into_files(), name))?;
        Ok(Content { texts, configuration, created: Some(created) })
    }

    /// The same with secrets that are no longer sealed.
    fn opened(&self, mut texts: Vec<PolicyText>) -> Result<Vec<PolicyText>, BundleError> {
        for text in &mut texts {
            if !text.is_sealed() {
                continue;
            }
            let of = |error: BundleError| error.of(format!("`{}`", text.name));
            let value = json::read(&text.text).map_err(|_| of(refused("this is no JSON")))?;
            text.text = unseal(&self.keyring, &value).map_err(of)?.to_json().into_bytes();
            // From now on it is what it is called.
            text.name = text.name.replace("secrets.sealed.json", "secrets.json");
        }
        Ok(texts)
    }
}

/// Nothing in a bundle is a secret that everybody could read.
fn check_secrets(files: &BTreeMap<String, Vec<u8>>) -> Result<(), BundleError> {
    let is_clear = |name: &&String| FileKind::of(name).is_some_and(FileKind::is_clear_secret);
    match files.keys().find(is_clear) {
        None => Ok(()),
        Some(name) => Err(refused(&format!(
            "`{name}` holds secrets in clear; seal them, or set `bundles.danger_accept_unencrypted_secrets`"
        ))),
    }
}

fn refused(message: &str) -> BundleError {
    BundleError::because(message)
}

/// What the decision point reads of a bundle: extensions are for others.
fn texts(files: BTreeMap<String, Vec<u8>>, bundle: &str) -> Vec<PolicyText> {
    let is_read = |name: &str| match FileKind::of(name) {
        Some(
            FileKind::Configuration
            | FileKind::Policy
            | FileKind::Secrets
            | FileKind::SealedSecrets
            | FileKind::CriticalExtensions,
        ) => true,
        Some(
            FileKind::Extension
            | FileKind::ExtensionSecrets
            | FileKind::SealedExtensionSecrets
            | FileKind::Manifest,
        )
        | None => false,
    };
    let read = files.into_iter().filter(|(name, _)| is_read(name));
    read.map(|(name, text)| PolicyText { name: format!("{bundle}/{name}"), text }).collect()
}

fn trust(settings: &BundleSettings) -> Result<Trust, ConfigError> {
    let inline =
        |name: &str, text: &str| VerifyingKey::read(text).map_err(|error| wrong(name, "the text", &error));
    let in_file = |name: &str, path: &Path| {
        let text = key_text(name, path)?;
        VerifyingKey::read(&text).map_err(|error| wrong(name, path.display(), &error))
    };
    let key = match (&settings.public_key, &settings.public_key_path) {
        (Some(text), _) => Some(inline("bundles.public_key", text)?),
        (None, Some(path)) => Some(in_file("bundles.public_key_path", path)?),
        (None, None) => None,
    };
    let mut keys = BTreeMap::new();
    for (name, text) in &settings.keys {
        keys.insert(name.clone(), inline(&format!("bundles.keys.{name}"), text)?);
    }
    for (name, path) in &settings.key_paths {
        keys.insert(name.clone(), in_file(&format!("bundles.key_paths.{name}"), path)?);
    }
    Ok(Trust {
        key,
        keys,
        tenants: settings.tenants.clone(),
        allow_unsigned: settings.danger_allow_unsigned,
        unsigned_tenants: settings.danger_unsigned_tenants.iter().cloned().collect(),
    })
}

fn wrong(setting: &str, what: impl Display, error: &BundleError) -> ConfigError {
    ConfigError::of_setting(setting, format!("cannot be used: {what}: {error}"))
}

fn key_text(setting: &str, path: &Path) -> Result<String, ConfigError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(KEY_BYTES_MAX).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| unreadable(setting, path, &error))
}

fn unreadable(setting: &str, path: &Path, error: &dyn Display) -> ConfigError {
    ConfigError::of_setting(setting, format!("cannot be read: {}: {error}", path.display()))
}
