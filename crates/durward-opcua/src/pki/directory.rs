//! The directories that hold certificates, laid out as the OPC Foundation's.

use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use durward_files::{FileAccess, SecretReaders, read_secret};
use durward_identity::Moment;
use opcua_types::StatusCode;

use super::validate::{ParsedTrustLists, TrustLists};
use crate::channel::{PeerRole, PeerTrust};
use crate::crypto::{Certificate, OwnCertificate, PrivateKey};
use crate::error::Error;

/// Larger files are no certificates or lists.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Files that are read in one directory.
const FILES_MAX: usize = 2_048;

/// Rejected certificates that are kept: anybody who can connect could fill this directory.
const REJECTED_MAX: usize = 64;

const LAYOUT: [&str; 7] = [
    "own/certs",
    "own/private",
    "trusted/certs",
    "trusted/crl",
    "issuers/certs",
    "issuers/crl",
    "rejected/certs",
];

/// Those that say who is trusted.
const LISTS: [&str; 4] = ["trusted/certs", "trusted/crl", "issuers/certs", "issuers/crl"];

/// A directory with the certificates of one application. Looked at for each check, and read where a file has changed: files can be moved while it
/// runs.
#[derive(Clone)]
pub struct CertificateDirectory {
    root: PathBuf,
    last: Arc<Mutex<Option<LastRead>>>,
}

/// What was read last, and of which files. Peers that are not trusted yet have the lists looked at: they are not to have them read.
struct LastRead {
    files: Vec<FileState>,
    known: Arc<ParsedTrustLists>,
}

/// A file, and what changes when it is written.
#[derive(PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    modified: Option<SystemTime>,
    bytes: u64,
}

impl fmt::Debug for CertificateDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("root", &self.root).finish_non_exhaustive()
    }
}

impl CertificateDirectory {
    /// Opens the directory, and makes what is missing of its layout.
    ///
    /// # Errors
    /// `BadConfigurationError`, with the path.
    pub fn open(root: impl Into<PathBuf>) -> Result<CertificateDirectory, Error> {
        let root = root.into();
        for part in LAYOUT {
            let path = root.join(part);
            fs::create_dir_all(&path).map_err(|error| unusable(&path, error))?;
        }
        Ok(CertificateDirectory { root, last: Arc::default() })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The application's certificate and key: the only files of `own/certs` and `own/private`. Certificates of its issuers are taken from
    /// `issuers/certs` and `trusted/certs`.
    ///
    /// # Errors
    /// `BadConfigurationError` when there are several, one is missing, or they do not belong together.
    pub fn own(&self) -> Result<Option<OwnCertificate>, Error> {
        let (certificates, keys) = (self.files("own/certs")?, self.files("own/private")?);
        let (certificate, key) = match (certificates.as_slice(), keys.as_slice()) {
            ([], []) => return Ok(None),
            ([certificate], [key]) => (certificate, key),
            _ => {
                let reason = "there must be one certificate in own/certs and one key in own/private";
                return Err(unusable(&self.root, reason));
            }
        };
        let certificate = Certificate::from_der(&read_der(certificate, "CERTIFICATE")?)?;
        let key = read_secret(key, SecretReaders::OwnerAndGroup, FILE_BYTES_MAX)
            .map_err(|error| unusable(key, error))?;
        let key = zeroize::Zeroizing::new(key);
        let issuers = self.known()?.issuers_of(&certificate);
        Ok(Some(OwnCertificate::new(certificate, PrivateKey::read(&key)?)?.with_issuers(issuers)))
    }

    /// Stores the application's certificate and key; only the owner can read the key.
    ///
    /// # Errors
    /// `BadConfigurationError`: there is one already, or nothing can be written.
    pub fn store_own(&self, own: &OwnCertificate) -> Result<(), Error> {
        if self.own()?.is_some() {
            return Err(unusable(
                &self.root,
                "there is a certificate in own/certs already; remove it and its key first",
            ));
        }
        let key = own.key().to_pkcs8()?;
        write_private(&self.root.join("own/private/application.der"), &key)?;
        let path = self.root.join("own/certs/application.der");
        fs::write(&path, own.certificate().der()).map_err(|error| unusable(&path, error))
    }

    /// Trusts a certificate, of an application or an authority; it is rejected no more.
    ///
    /// # Errors
    /// `BadConfigurationError`: nothing can be written.
    pub fn trust(&self, certificate: &Certificate) -> Result<(), Error> {
        self.store("trusted/certs", certificate)?;
        let rejected = self.root.join("rejected/certs").join(file_name(certificate));
        if rejected.exists() {
            fs::remove_file(&rejected).map_err(|error| unusable(&rejected, error))?;
        }
        Ok(())
    }

    /// Adds a certificate that completes chains and is not trusted by itself.
    ///
    /// # Errors
    /// As of [`CertificateDirectory::trust`].
    pub fn add_issuer(&self, certificate: &Certificate) -> Result<(), Error> {
        self.store("issuers/certs", certificate)
    }

    /// Certificates that were rejected.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn rejected(&self) -> Result<Vec<Certificate>, Error> {
        let files = self.files("rejected/certs")?;
        Ok(files.iter().filter_map(|path| Certificate::from_der(&read(path).ok()?).ok()).collect())
    }

    /// What is trusted now. Files that are no certificates or lists are left out, with a warning.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn lists(&self) -> Result<TrustLists, Error> {
        Ok(TrustLists {
            trusted: self.load(&["trusted/certs"], "CERTIFICATE")?,
            issuers: self.load(&["issuers/certs"], "CERTIFICATE")?,
            revocation_lists: self.load(&["trusted/crl", "issuers/crl"], "X509 CRL")?,
        })
    }

    /// What is trusted now, taken apart.
    fn known(&self) -> Result<Arc<ParsedTrustLists>, Error> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the files are read: one that changes meanwhile is another one the next time.
        let files = self.states()?;
        if let Some(last) = last.as_ref().filter(|last| last.files == files) {
            return Ok(Arc::clone(&last.known));
        }
        let known = Arc::new(ParsedTrustLists::of(&self.lists()?));
        *last = Some(LastRead { files, known: Arc::clone(&known) });
        Ok(known)
    }

    fn states(&self) -> Result<Vec<FileState>, Error> {
        let mut states = Vec::new();
        for part in LISTS {
            for path in self.files(part)? {
                let Ok(metadata) = fs::metadata(&path) else { continue };
                let (modified, bytes) = (metadata.modified().ok(), metadata.len());
                states.push(FileState { path, modified, bytes });
            }
        }
        Ok(states)
    }

    fn load(&self, parts: &[&str], label: &str) -> Result<Vec<Vec<u8>>, Error> {
        let mut loaded = Vec::new();
        for part in parts {
            for path in self.files(part)? {
                match read_der(&path, label) {
                    Ok(der) => loaded.push(der),
                    Err(error) => tracing::warn!(path = %path.display(), %error, "a file is left out"),
                }
            }
        }
        Ok(loaded)
    }

    fn files(&self, part: &str) -> Result<Vec<PathBuf>, Error> {
        let directory = self.root.join(part);
        let entries = fs::read_dir(&directory).map_err(|error| unusable(&directory, error))?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|path| path.is_file() && !is_hidden(path))
            .take(FILES_MAX)
            .collect();
        files.sort();
        Ok(files)
    }

    fn store(&self, part: &str, certificate: &Certificate) -> Result<(), Error> {
        let path = self.root.join(part).join(file_name(certificate));
        // Others, who look in the directory meanwhile, find the file whole or not at all.
        durward_files::replace(&path, certificate.der(), FileAccess::Usual)
            .map_err(|error| unusable(&path, error))
    }

    /// Keeps a certificate that was not trusted, for an operator to look at. The oldest goes when there are too many.
    fn reject(&self, certificate: &Certificate) -> Result<(), Error> {
        let directory = self.root.join("rejected/certs");
        if directory.join(file_name(certificate)).exists() {
            return Ok(());
        }
        let mut files = self.files("rejected/certs")?;
        files.sort_by_cached_key(|path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok());
        let surplus = (files.len() + 1).saturating_sub(REJECTED_MAX);
        for path in files.iter().take(surplus) {
            match fs::remove_file(path) {
                // Another thread has removed it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed.map_err(|error| unusable(path, error))?,
            }
        }
        self.store("rejected/certs", certificate)
    }
}

impl PeerTrust for CertificateDirectory {
    fn check(&self, chain: &[&[u8]], role: PeerRole, moment: Moment) -> Result<(), Error> {
        let checked = self.known()?.validate(chain, role, moment);
        if let Err(error) = &checked {
            let unknown = [StatusCode::BadCertificateUntrusted, StatusCode::BadCertificateChainIncomplete];
            let leaf = chain.first().and_then(|leaf| Certificate::from_der(leaf).ok());
            if let Some(leaf) = leaf.filter(|_| unknown.contains(&error.status()))
                && let Err(error) = self.reject(&leaf)
            {
                tracing::warn!(%error, "a rejected certificate was not kept");
            }
        }
        checked
    }
}

fn unusable(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::new(StatusCode::BadConfigurationError, format!("`{}`: {reason}", path.display()))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'))
}

/// The common name and the thumbprint, as the Foundation's stacks name files. Nothing of the name can leave the directory.
fn file_name(certificate: &Certificate) -> String {
    let subject = certificate.subject();
    let name = subject.split(',').find_map(|part| part.trim().strip_prefix("CN=")).unwrap_or("certificate");
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let name: String = name.chars().filter(plain).take(48).collect();
    format!("{} [{}].der", name.trim(), certificate.thumbprint_hex())
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let metadata = fs::metadata(path).map_err(|error| unusable(path, error))?;
    if metadata.len() > FILE_BYTES_MAX {
        return Err(unusable(path, "the file is larger than a certificate"));
    }
    fs::read(path).map_err(|error| unusable(path, error))
}

/// Reads a certificate from a file, DER or PEM.
///
/// # Errors
/// `BadConfigurationError`, with the path; `BadCertificateInvalid` for what is no certificate.
pub fn read_certificate(path: &Path) -> Result<Certificate, Error> {
    Certificate::from_der(&read_der(path, "CERTIFICATE")?)
}

/// A file in DER, or in PEM with that label.
fn read_der(path: &Path, label: &str) -> Result<Vec<u8>, Error> {
    let bytes = read(path)?;
    let Some(text) = std::str::from_utf8(&bytes).ok().filter(|text| text.contains("-----BEGIN ")) else {
        return Ok(bytes);
    };
    let inside = text
        .split_once(&format!("-----BEGIN {label}-----"))
        .and_then(|(_, rest)| rest.split_once(&format!("-----END {label}-----")));
    let (inside, _) = inside.ok_or_else(|| unusable(path, format!("it is no PEM with `{label}`")))?;
    let base64: String = inside.split_whitespace().collect();
    STANDARD.decode(base64).map_err(|_| unusable(path, "its PEM is no Base64"))
}

fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|error| unusable(path, error))?;
    file.write_all(bytes).map_err(|error| unusable(path, error))
}

#[cfg(test)]
mod tests {
    use std::slice;
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::crypto::KeyLength;
    use crate::pki::{CertificateDraft, self_signed};

    fn certificate(name: &str) -> Certificate {
        let draft = CertificateDraft {
            application_uri: format!("urn:test:{name}"),
            common_name: name.to_owned(),
            organization: String::new(),
            hosts: Vec::new(),
            valid_from: Moment::from_s(1_780_000_000),
            valid_for: Duration::from_secs(86_400),
        };
        self_signed(&draft, KeyLength::Rsa2048).unwrap().certificate().as_ref().clone()
    }

    /// Whoever connects shows a certificate, before anybody knows who that is: the lists are not read for each of them.
    #[test]
    fn lists_are_read_when_they_change() {
        let root = std::env::temp_dir().join(format!("durward-opcua-lists-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let directory = CertificateDirectory::open(&root).unwrap();
        let (one, other) = (certificate("one"), certificate("other"));
        let now = Moment::from_s(1_780_000_000);
        let check = |of: &Certificate| {
            directory.check(&[of.der()], PeerRole::Client, now).map_err(|error| error.status())
        };
        directory.trust(&one).unwrap();
        let before = directory.known().unwrap();
        assert_eq!(check(&one), Ok(()));
        assert_eq!(check(&other), Err(StatusCode::BadCertificateUntrusted));
        assert!(Arc::ptr_eq(&before, &directory.known().unwrap()), "read again, though nothing has changed");
        // Written over in place, which the directory's own time does not show.
        let path = root.join("trusted/certs").join(file_name(&one));
        fs::write(&path, other.der()).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(check(&one), Err(StatusCode::BadCertificateUntrusted));
        assert_eq!(check(&other), Ok(()));
        fs::remove_file(&path).unwrap();
        assert_eq!(check(&other), Err(StatusCode::BadCertificateUntrusted));
        fs::remove_dir_all(&root).unwrap();
    }

    /// Whoever hears that a certificate was rejected finds it, though another thread rejects it at the same time.
    #[test]
    fn rejected_certificates_are_there_when_the_check_has_ended() {
        let root = std::env::temp_dir().join(format!("durward-opcua-rejects-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let directory = CertificateDirectory::open(&root).unwrap();
        let stranger = certificate("stranger");
        let both = Barrier::new(2);
        let check = || {
            for _ in 0..500 {
                both.wait();
                let checked =
                    directory.check(&[stranger.der()], PeerRole::Client, Moment::from_s(1_780_000_000));
                assert_eq!(checked.unwrap_err().status(), StatusCode::BadCertificateUntrusted);
                assert_eq!(directory.rejected().unwrap(), slice::from_ref(&stranger));
                if both.wait().is_leader() {
                    fs::remove_file(root.join("rejected/certs").join(file_name(&stranger))).unwrap();
                }
            }
        };
        thread::scope(|scope| {
            scope.spawn(check);
            scope.spawn(check);
        });
        fs::remove_dir_all(&root).unwrap();
    }
}
