//! Policy bundles: the policies of a tenant in one file, signed, with secrets that only the receiver can read.
//!
//! A bundle is a ZIP archive of files without directories, and a manifest with their digests and a signature
//! (Ed25519). The form is that of SAPL 4.2: what its tools write is read here, and the other way round. Secrets are
//! sealed one by one (JSON Web Encryption: ECDH-ES over X25519, A256GCM), so that names can be read and values cannot.
//!
//! ```
//! use durward_bundle::{BundleDraft, Bundle, Limits, SigningKey, Trust};
//!
//! let key = SigningKey::generate()?;
//! let mut draft = BundleDraft::new("2026-01-31T12:00:00Z")?;
//! draft.add("pdp.json", b"{}".to_vec())?;
//! draft.add("doctors.sapl", b"policy \"doctors\" permit subject.role == \"doctor\";".to_vec())?;
//! let bytes = draft.finish(Some((&key, "k1")))?;
//!
//! let trust = Trust::one(key.verifying_key());
//! let verified = Bundle::read(&bytes, &Limits::default())?.verify(&trust, "default")?;
//! assert_eq!(verified.files().len(), 2);
//! # Ok::<(), durward_bundle::BundleError>(())
//! ```
//!
//! What is not here: no file, no network, no clock. Whoever calls brings the bytes and the time.

mod archive;
mod bundle;
mod draft;
mod error;
mod key;
mod keyring;
mod manifest;
mod name;
mod pem;
mod random;
mod seal;
mod token;
mod trust;

pub use archive::Limits;
pub use bundle::{Bundle, VerifiedBundle};
pub use draft::{BundleDraft, time};
pub use error::BundleError;
pub use key::{SigningKey, VerifyingKey};
pub use keyring::{Keyring, RecipientKey, SecretKey};
pub use manifest::{BundleSignature, Manifest};
pub use name::{FileKind, MANIFEST};
pub use random::{letters, random_bytes, random_id};
pub use seal::{is_sealed, recipients, reseal, seal, unseal};
pub use trust::Trust;

/// How a file with a bundle ends.
pub const EXTENSION: &str = "saplbundle";
