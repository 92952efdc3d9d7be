//! Passwords and API keys against their digests (Argon2id).
//!
//! Verifying takes tens of milliseconds and as many MiB as the digest says, on purpose. It is done on threads of their
//! own, a few at a time, so that neither decisions nor memory suffer from a flood of wrong passwords.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use durward_session::identity::user::{Password, StoredPassword};
use durward_settings::{ConfigError, UserSettings};

use super::Denied;
use crate::base::long_work::{LongWork, Turn};

/// How many secrets are verified at once.
const AT_ONCE_MAX: usize = 2;

/// How many callers may wait until their secret is verified: some seconds' worth.
const WAITING_MAX: usize = 128;

/// A digest that no secret has, with the costs that SAPL uses: it is verified in the place of users that do not exist.
const NOBODY: &str =
    "$argon2id$v=19$m=16384,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The digest of a password or an API key for `auth.users`, with the costs that SAPL uses: 16 MiB, twice.
///
/// ```
/// let digest = durward_common::access::auth::digest_of_secret("secret", *b"16 bytes of salt")?;
/// assert!(digest.starts_with("$argon2id$v=19$m=16384,t=2,p=1$"));
/// # Ok::<(), durward_common::access::auth::SecretDigestError>(())
/// ```
///
/// # Errors
/// A secret of more bytes than can be digested.
pub fn digest_of_secret(secret: &str, salt: [u8; 16]) -> Result<String, SecretDigestError> {
    let mut digest = [0; 32];
    let params = Params::new(16_384, 2, 1, Some(digest.len())).map_err(SecretDigestError)?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into(secret.as_bytes(), &salt, &mut digest).map_err(SecretDigestError)?;
    let (salt, digest) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(digest));
    Ok(format!("$argon2id$v=19$m=16384,t=2,p=1${salt}${digest}"))
}

/// Why a secret has no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretDigestError(argon2::Error);

impl fmt::Display for SecretDigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the secret cannot be digested: {}", self.0)
    }
}

impl Error for SecretDigestError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Which secret of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Password,
    ApiKey,
}

/// The digests of one user.
#[derive(Debug)]
struct Digests {
    password: Option<StoredPassword>,
    api_key: Option<StoredPassword>,
}

#[derive(Debug)]
pub(super) struct Secrets {
    users: Arc<[Digests]>,
    verifying: LongWork,
}

impl Secrets {
    /// # Errors
    /// A digest that is not one of Argon2id.
    pub(super) fn new(users: &[UserSettings]) -> Result<Secrets, ConfigError> {
        let digest = |user: &UserSettings, text: &Option<String>, what: &str| {
            let Some(text) = text else { return Ok::<_, ConfigError>(None) };
            let digest = StoredPassword::read(text).map_err(|error| {
                let name = format!("auth.users.{}.{what}", user.id);
                ConfigError::of_setting(&name, format!("is not a digest of Argon2id: {error}"))
            })?;
            Ok(Some(digest))
        };
        let digests = |user: &UserSettings| {
            Ok::<_, ConfigError>(Digests {
                password: digest(user, &user.password, "password")?,
                api_key: digest(user, &user.api_key, "api_key")?,
            })
        };
        Ok(Secrets {
            users: users.iter().map(digests).collect::<Result<_, _>>()?,
            verifying: LongWork::new(AT_ONCE_MAX, WAITING_MAX),
        })
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// Too many wait.
    pub(super) async fn turn(&self) -> Result<Turn, Denied> {
        self.verifying.turn().await.map_err(|_| Denied::Busy)
    }

    /// Whether this is the user's secret. Nobody's takes as long as somebody's.
    ///
    /// # Errors
    /// It could not be found out.
    pub(super) async fn is_right(
        &self,
        turn: &Turn,
        user: Option<usize>,
        kind: Kind,
        secret: String,
    ) -> Result<bool, Denied> {
        let users = Arc::clone(&self.users);
        let verified = turn.run(move || {
            let digests = user.and_then(|user| users.get(user));
            let digest = digests.and_then(|digests| match kind {
                Kind::Password => digests.password.as_ref(),
                Kind::ApiKey => digests.api_key.as_ref(),
            });
            let Ok(secret) = Password::new(&secret) else { return false };
            match digest {
                Some(digest) => digest.is_of(&secret),
                None => {
                    // Only for the time it takes.
                    let _ = StoredPassword::read(NOBODY).map(|nobody| nobody.is_of(&secret));
                    false
                }
            }
        });
        verified.await.map_err(|_| Denied::Busy)
    }
}
