//! Passwords and what is kept of them.
//!
//! Kept is a PHC string of Argon2id. What other directories kept is understood too, `{SSHA}` and its kin, and replaced by the first
//! login that succeeds. Unsalted and broken as some of these are, refusing them would keep users out.

use std::fmt;

use argon2::password_hash::phc::{Output, PasswordHash};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ring::digest::{self, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA384, SHA512};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::hash_memory::hash_into;
use crate::IdentityError;
use crate::entropy::{Entropy, bytes};
use crate::error::failed;

/// The longest password, in bytes. A megabyte of it would only keep the hash busy.
pub const PASSWORD_BYTES_MAX: usize = 1024;

/// The longest hash that is read, in bytes.
const STORED_LENGTH_MAX: usize = 512;

/// The most memory that a hash may ask for, in KiB: what is imported must not take the process down.
const MEMORY_KIB_MAX: u32 = 256 * 1024;

/// How many passes a hash may ask for.
const PASSES_MAX: u32 = 64;

/// A password as it was presented at a login. `Debug` does not show it.
#[derive(Clone, Copy)]
pub struct Password<'p>(&'p [u8]);

impl<'p> Password<'p> {
    /// A password.
    ///
    /// # Errors
    /// It is longer than [`PASSWORD_BYTES_MAX`], or empty: directories take an empty one for no question at all.
    pub fn new(text: &'p str) -> Result<Password<'p>, IdentityError> {
        match text.len() {
            0 => failed("the password is empty"),
            1..=PASSWORD_BYTES_MAX => Ok(Password(text.as_bytes())),
            _ => failed(format!("the password is longer than {PASSWORD_BYTES_MAX} bytes")),
        }
    }

    /// Its bytes, for a directory that checks it itself.
    pub fn expose(&self) -> &'p [u8] {
        self.0
    }
}

impl fmt::Debug for Password<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// What hashing a password costs. Default: 19 MiB and two passes in one lane, as OWASP recommends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HashCosts {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// How often it is gone through.
    pub passes: u32,
    /// In how many lanes.
    pub lanes: u32,
}

impl Default for HashCosts {
    fn default() -> HashCosts {
        HashCosts { memory_kib: 19 * 1024, passes: 2, lanes: 1 }
    }
}

impl HashCosts {
    fn params(self) -> Result<Params, IdentityError> {
        if self.memory_kib > MEMORY_KIB_MAX || self.passes > PASSES_MAX {
            return failed(format!("a hash takes at most {MEMORY_KIB_MAX} KiB and {PASSES_MAX} passes"));
        }
        Params::new(self.memory_kib, self.passes, self.lanes, Some(32))
            .map_err(|error| IdentityError::new(format!("these costs cannot be used: {error}")))
    }
}

/// The schemes of directories: a digest of password and salt, Base64 of both after the name in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LegacyScheme {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

const LEGACY: [(&str, LegacyScheme, bool); 8] = [
    ("{SSHA}", LegacyScheme::Sha1, true),
    ("{SHA}", LegacyScheme::Sha1, false),
    ("{SSHA256}", LegacyScheme::Sha256, true),
    ("{SHA256}", LegacyScheme::Sha256, false),
    ("{SSHA384}", LegacyScheme::Sha384, true),
    ("{SHA384}", LegacyScheme::Sha384, false),
    ("{SSHA512}", LegacyScheme::Sha512, true),
    ("{SHA512}", LegacyScheme::Sha512, false),
];

/// What is kept of a password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoredPassword(String);

/// What came of comparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Right,
    /// Right, but kept in another way than it would be today.
    RightAndOld,
    Wrong,
}

impl StoredPassword {
    /// Hashes a password.
    ///
    /// # Errors
    /// Costs that cannot be used, or no randomness.
    pub fn hash(
        password: &Password<'_>,
        costs: HashCosts,
        entropy: &dyn Entropy,
    ) -> Result<StoredPassword, IdentityError> {
        let salt: [u8; 16] = bytes(entropy)?;
        let mut out = [0; 32];
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, costs.params()?);
        hash_into(&argon2, password.0, &salt, &mut out)?;
        let HashCosts { memory_kib, passes, lanes } = costs;
        let (salt, out) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(out));
        Ok(StoredPassword(format!("$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt}${out}")))
    }

    /// Reads what another directory kept, or this one.
    ///
    /// # Errors
    /// A scheme that is not known, costs beyond what may be, or a text that is none.
    pub fn read(text: &str) -> Result<StoredPassword, IdentityError> {
        if text.len() > STORED_LENGTH_MAX {
            return failed(format!("a password's hash has at most {STORED_LENGTH_MAX} characters"));
        }
        if text.starts_with('$') {
            phc(text)?;
        } else {
            legacy(text)?;
        }
        Ok(StoredPassword(text.to_owned()))
    }

    /// The text that is kept. Whoever has it can guess at the password.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether this is the password. Takes as long as the hash wants, whatever the answer is. For small tables of users; a directory says
    /// more ([`UserStore::check`](super::UserStore::check)).
    pub fn is_of(&self, password: &Password<'_>) -> bool {
        match self.compare(password, HashCosts::default()) {
            Comparison::Right | Comparison::RightAndOld => true,
            Comparison::Wrong => false,
        }
    }

    /// Whether this is the password. Takes as long as the hash wants, whatever the answer is.
    pub(super) fn compare(&self, password: &Password<'_>, today: HashCosts) -> Comparison {
        if self.0.starts_with('$') {
            let Ok((hash, costs)) = phc(&self.0) else { return Comparison::Wrong };
            return match is_hash_of(&hash, password) {
                true if costs == today && self.0.starts_with("$argon2id$v=19$") => Comparison::Right,
                true => Comparison::RightAndOld,
                false => Comparison::Wrong,
            };
        }
        let Ok((scheme, digest, salt)) = legacy(&self.0) else { return Comparison::Wrong };
        let mut context = digest::Context::new(scheme.algorithm());
        context.update(password.0);
        context.update(&salt);
        let is_right = context.finish().as_ref().ct_eq(&digest).into();
        if is_right { Comparison::RightAndOld } else { Comparison::Wrong }
    }

    /// Whether comparing takes next to no time, so that it would tell who exists.
    pub(super) fn is_quick(&self) -> bool {
        !self.0.starts_with('$')
    }
}

impl fmt::Debug for StoredPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredPassword")
    }
}

impl TryFrom<String> for StoredPassword {
    type Error = IdentityError;

    fn try_from(text: String) -> Result<StoredPassword, IdentityError> {
        StoredPassword::read(&text)
    }
}

impl From<StoredPassword> for String {
    fn from(stored: StoredPassword) -> String {
        stored.0
    }
}

impl LegacyScheme {
    fn algorithm(self) -> &'static digest::Algorithm {
        match self {
            LegacyScheme::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
            LegacyScheme::Sha256 => &SHA256,
            LegacyScheme::Sha384 => &SHA384,
            LegacyScheme::Sha512 => &SHA512,
        }
    }
}

fn phc(text: &str) -> Result<(PasswordHash, HashCosts), IdentityError> {
    if !text.starts_with("$argon2") {
        return failed("of hashes that begin with `$`, only those of Argon2 are understood");
    }
    let wrong = |error: String| IdentityError::new(format!("it is no hash of Argon2: {error}"));
    let hash = PasswordHash::new(text).map_err(|error| wrong(error.to_string()))?;
    let params = Params::try_from(&hash).map_err(|error| wrong(error.to_string()))?;
    let costs = HashCosts { memory_kib: params.m_cost(), passes: params.t_cost(), lanes: params.p_cost() };
    costs.params()?;
    Ok((hash, costs))
}

/// Whether the hash is of this password. Without salt or output it is of none.
fn is_hash_of(hash: &PasswordHash, password: &Password<'_>) -> bool {
    let (Some(salt), Some(expected)) = (&hash.salt, &hash.hash) else { return false };
    let Ok(algorithm) = Algorithm::try_from(hash.algorithm.as_str()) else { return false };
    let Ok(version) = hash.version.map_or(Ok(Version::default()), Version::try_from) else { return false };
    let Ok(params) = Params::try_from(hash) else { return false };
    let mut buffer = [0; Output::MAX_LENGTH];
    let Some(out) = buffer.get_mut(..expected.len()) else { return false };
    let hashed = hash_into(&Argon2::new(algorithm, version, params), password.0, salt, out);
    // `Output` compares in constant time.
    hashed.is_ok() && Output::new(out).is_ok_and(|computed| computed == *expected)
}

/// Scheme, digest, salt.
fn legacy(text: &str) -> Result<(LegacyScheme, Vec<u8>, Vec<u8>), IdentityError> {
    let close = text.find('}').map_or(0, |at| at + 1);
    let (name, encoded) = text.split_at_checked(close).unwrap_or(("", text));
    let known = LEGACY.iter().find(|(known, _, _)| known.eq_ignore_ascii_case(name));
    let Some((_, scheme, is_salted)) = known else {
        return failed(
            "of a password's hash, the scheme is not known: it is `$argon2id$...`, or one of {SSHA}, {SHA}, {SSHA256}, \
             {SHA256}, {SSHA384}, {SHA384}, {SSHA512}, {SHA512}",
        );
    };
    let Ok(mut digest) = STANDARD.decode(encoded) else { return failed("the password's hash is no Base64") };
    let length = scheme.algorithm().output_len();
    if digest.len() < length || (digest.len() > length) != *is_salted {
        return failed(format!("the password's hash has another length than {name} has"));
    }
    let salt = digest.split_off(length);
    Ok((*scheme, digest, salt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemEntropy;

    const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

    fn password(text: &str) -> Password<'_> {
        Password::new(text).unwrap()
    }

    #[test]
    fn a_hash_knows_its_password_and_when_costs_have_changed() {
        let stored = StoredPassword::hash(&password("secret"), CHEAP, &SystemEntropy).unwrap();
        assert_eq!(stored.compare(&password("secret"), CHEAP), Comparison::Right);
        assert_eq!(stored.compare(&password("Secret"), CHEAP), Comparison::Wrong);
        let dearer = HashCosts { passes: 2, ..CHEAP };
        assert_eq!(stored.compare(&password("secret"), dearer), Comparison::RightAndOld);
    }

    /// Made with `slappasswd -h {SSHA}` and with `openssl dgst`: the password is `secret`.
    #[test]
    fn hashes_of_directories_are_understood() {
        for text in [
            "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
            "{sha}5en6G6MezRroT3XKqkdPOmY/BfQ=",
            "{SHA256}K7gNU3sdo+OL0wNhqoVWhr3g6s1xYv72ol/pe/Unols=",
        ] {
            let stored = StoredPassword::read(text).unwrap();
            assert_eq!(stored.compare(&password("secret"), CHEAP), Comparison::RightAndOld, "{text}");
            assert_eq!(stored.compare(&password("secres"), CHEAP), Comparison::Wrong, "{text}");
        }
    }

    #[test]
    fn a_salt_is_what_follows_the_digest() {
        for (name, scheme) in [("{SSHA}", LegacyScheme::Sha1), ("{SSHA512}", LegacyScheme::Sha512)] {
            let digest = digest::digest(scheme.algorithm(), b"secretsalt");
            let text = format!("{name}{}", STANDARD.encode([digest.as_ref(), b"salt"].concat()));
            let stored = StoredPassword::read(&text).unwrap();
            assert_eq!(stored.compare(&password("secret"), CHEAP), Comparison::RightAndOld);
            assert_eq!(stored.compare(&password("secretsalt"), CHEAP), Comparison::Wrong);
        }
    }

    #[test]
    fn hashes_that_would_take_the_process_down_are_refused() {
        let salt_and_hash = "$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        for head in ["$argon2id$v=19$m=4000000,t=1,p=1", "$argon2id$v=19$m=64,t=1000000,p=1", "$2b$12"] {
            assert!(StoredPassword::read(&format!("{head}{salt_and_hash}")).is_err(), "{head}");
        }
        for text in ["", "secret", "{CRYPT}x", "{SSHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "{SHA}AAAA", "{SHA}%%%"]
        {
            assert!(StoredPassword::read(text).is_err(), "{text}");
        }
        assert!(StoredPassword::read(&"$".repeat(1 << 20)).is_err());
    }

    #[test]
    fn a_megabyte_of_password_is_not_hashed() {
        assert!(Password::new(&"p".repeat(1 << 20)).is_err());
        assert!(Password::new(&"p".repeat(PASSWORD_BYTES_MAX)).is_ok());
        assert!(Password::new("").is_err());
    }
}
