//! The directories that hold certificates, laid out as the OPC Foundation's.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use durward_identity::Moment;
use opcua_types::StatusCode;

use super::validate::{TrustLists, issuers_of, validate};
use crate::channel::{PeerRole, Trust};
use crate::crypto::{Certificate, OwnCertificate, PrivateKey};
use crate::error::Error;

/// Larger files are no certificates or lists.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Files that are looked at in one directory.
const FILES_MAX: usize = 2_048;

/// Rejected certificates that are kept; whoever can connect can fill this directory.
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

/// A directory with the certificates of one application. Read anew for each check: files can be moved while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    /// Opens the directory, and makes what is missing of its layout.
    ///
    /// # Errors
    /// `BadConfigurationError`, with the path.
    pub fn open(root: impl Into<PathBuf>) -> Result<Directory, Error> {
        let root = root.into();
        for part in LAYOUT {
            let path = root.join(part);
            fs::create_dir_all(&path).map_err(|error| unusable(&path, error))?;
        }
        Ok(Directory { root })
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
        let key = zeroize::Zeroizing::new(read(key)?);
        let issuers = issuers_of(&certificate, &self.lists()?);
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
    /// As of [`Directory::trust`].
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
        fs::write(&path, certificate.der()).map_err(|error| unusable(&path, error))
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
            fs::remove_file(path).map_err(|error| unusable(path, error))?;
        }
        self.store("rejected/certs", certificate)
    }
}

impl Trust for Directory {
    fn check(&self, chain: &[&[u8]], role: PeerRole, moment: Moment) -> Result<(), Error> {
        let checked = validate(chain, &self.lists()?, role, moment);
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

/// A file in DER, or in PEM with that label.
/// Reads a certificate from a file, DER or PEM.
///
/// # Errors
/// `BadConfigurationError`, with the path; `BadCertificateInvalid` for what is no certificate.
pub fn read_certificate(path: &Path) -> Result<Certificate, Error> {
    Certificate::from_der(&read_der(path, "CERTIFICATE")?)
}

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
