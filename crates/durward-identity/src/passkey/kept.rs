//! The passkeys of a user, as they are kept in the account.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_jwt::{JwsAlgorithm, PublicKey};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::Registered;
use super::cose::CredentialKey;
use crate::entropy::{Entropy, bytes};
use crate::error::failed;
use crate::hex::hex;
use crate::{IdentityError, Moment};

/// How many passkeys a user may have: enough for every device, and a bound for what travels.
pub const PASSKEYS_MAX: usize = 16;

/// The longest name of a passkey, in characters.
pub const PASSKEY_NAME_LENGTH_MAX: usize = 64;

/// The bytes of a user handle; the longest is 64 (4, User Handle).
pub const USER_HANDLE_BYTES: usize = 32;

/// Who a user is to authenticators: random, so that it tells nothing of them (14.6.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserHandle([u8; USER_HANDLE_BYTES]);

impl UserHandle {
    /// A new one.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn generate(entropy: &dyn Entropy) -> Result<UserHandle, IdentityError> {
        bytes(entropy).map(UserHandle)
    }

    /// The handle that an authenticator says, if it has the form of one.
    pub fn of(said: &[u8]) -> Option<UserHandle> {
        said.try_into().ok().map(UserHandle)
    }

    /// As authenticators have it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for UserHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserHandle({})", hex(&self.0))
    }
}

impl TryFrom<String> for UserHandle {
    type Error = IdentityError;

    fn try_from(text: String) -> Result<UserHandle, IdentityError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok();
        match bytes.and_then(|bytes| UserHandle::of(&bytes)) {
            Some(handle) => Ok(handle),
            None => failed("a user handle is 32 bytes in Base64"),
        }
    }
}

impl From<UserHandle> for String {
    fn from(handle: UserHandle) -> String {
        URL_SAFE_NO_PAD.encode(handle.0)
    }
}

/// A passkey. It holds nothing that opens anything.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredPasskey", into = "StoredPasskey")]
pub struct Passkey {
    id: Vec<u8>,
    pub(super) key: CredentialKey,
    /// What its user calls it.
    pub name: String,
    /// When it was enrolled, in milliseconds since 1970.
    pub added_ms: u64,
    sign_count: u32,
    pub(super) is_backup_eligible: bool,
    is_backed_up: bool,
    /// Whether its authenticator has verified the user at the enrolment: then it can be the only step of a login.
    is_user_verified: bool,
    pub(super) transports: Vec<String>,
}

/// As it is kept.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPasskey {
    id: String,
    algorithm: String,
    /// `SubjectPublicKeyInfo`, in Base64.
    key: String,
    name: String,
    added_ms: u64,
    #[serde(default)]
    sign_count: u32,
    #[serde(default)]
    backup_eligible: bool,
    #[serde(default)]
    backed_up: bool,
    #[serde(default)]
    user_verified: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    transports: Vec<String>,
}

impl Passkey {
    /// A passkey that was enrolled.
    ///
    /// # Errors
    /// The name is empty or too long.
    pub fn new(registered: Registered, name: &str, now: Moment) -> Result<Passkey, IdentityError> {
        let Registered {
            id,
            key,
            sign_count,
            is_backup_eligible,
            is_backed_up,
            is_user_verified,
            transports,
        } = registered;
        let name = checked_name(name)?;
        Ok(Passkey {
            id,
            key,
            name,
            added_ms: now.ms(),
            sign_count,
            is_backup_eligible,
            is_backed_up,
            is_user_verified,
            transports,
        })
    }

    /// What names it to its authenticator.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// What names it to people: 16 digits.
    pub fn reference(&self) -> String {
        hex(digest(&SHA256, &self.id).as_ref().get(..8).unwrap_or_default())
    }

    /// Whether it may be on several devices of its user: then its key is not bound to one.
    pub fn is_backup_eligible(&self) -> bool {
        self.is_backup_eligible
    }

    /// Whether there was another copy of it when it was last used.
    pub fn is_backed_up(&self) -> bool {
        self.is_backed_up
    }

    /// The name of the algorithm that it signs with (RFC 7518).
    pub fn algorithm(&self) -> &'static str {
        self.key.algorithm.name()
    }

    /// Whether a use is a later one than those before, by the counter; authenticators that do not count say 0 (7.2, step 22).
    pub(super) fn has_counted(&self, passkey_use: &PasskeyUse) -> bool {
        let (before, now) = (self.sign_count, passkey_use.sign_count);
        (before == 0 && now == 0) || now > before
    }
}

/// Without the key.
impl fmt::Debug for Passkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passkey({} {:?})", self.reference(), self.name)
    }
}

/// Whether a passkey may be called so.
pub fn is_passkey_name(name: &str) -> bool {
    checked_name(name).is_ok()
}

/// A name as it may be kept.
fn checked_name(name: &str) -> Result<String, IdentityError> {
    let name = name.trim();
    let is_long = name.chars().nth(PASSKEY_NAME_LENGTH_MAX).is_some();
    if name.is_empty() || is_long || name.contains(char::is_control) {
        return failed(format!(
            "the name of a passkey has 1 to {PASSKEY_NAME_LENGTH_MAX} characters, and no control characters"
        ));
    }
    Ok(name.to_owned())
}

impl TryFrom<StoredPasskey> for Passkey {
    type Error = IdentityError;

    fn try_from(stored: StoredPasskey) -> Result<Passkey, IdentityError> {
        let no_key = || IdentityError::new("a passkey has no key that can be used");
        let StoredPasskey { id, algorithm, key, name, added_ms, sign_count, .. } = stored;
        let id = URL_SAFE_NO_PAD
            .decode(id)
            .map_err(|_| IdentityError::new("the `id` of a passkey is no Base64"))?;
        let der = URL_SAFE_NO_PAD.decode(key).map_err(|_| no_key())?;
        let key = PublicKey::from_der(&der).map_err(|_| no_key())?;
        let algorithm = JwsAlgorithm::of(&algorithm).ok_or_else(no_key)?;
        Ok(Passkey {
            id,
            key: CredentialKey::new(key, algorithm).map_err(|_| no_key())?,
            name,
            added_ms,
            sign_count,
            is_backup_eligible: stored.backup_eligible,
            is_backed_up: stored.backed_up,
            is_user_verified: stored.user_verified,
            transports: stored.transports,
        })
    }
}

impl From<Passkey> for StoredPasskey {
    fn from(passkey: Passkey) -> StoredPasskey {
        StoredPasskey {
            id: URL_SAFE_NO_PAD.encode(&passkey.id),
            algorithm: passkey.algorithm().to_owned(),
            // No key is longer than DER can say.
            key: URL_SAFE_NO_PAD.encode(passkey.key.key.to_der().unwrap_or_default()),
            name: passkey.name,
            added_ms: passkey.added_ms,
            sign_count: passkey.sign_count,
            backup_eligible: passkey.is_backup_eligible,
            backed_up: passkey.is_backed_up,
            user_verified: passkey.is_user_verified,
            transports: passkey.transports,
        }
    }
}

/// A use of a passkey whose signature is right: what it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeyUse {
    pub(super) id: Vec<u8>,
    pub(super) sign_count: u32,
    pub(super) is_backed_up: bool,
    pub(super) is_user_verified: bool,
}

impl PasskeyUse {
    /// What names the passkey to its authenticator.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// Whether the authenticator has verified the user.
    pub fn is_user_verified(&self) -> bool {
        self.is_user_verified
    }
}

/// The passkeys of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passkeys {
    /// Who the user is to authenticators; it stays when all passkeys are removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handle: Option<UserHandle>,
    #[serde(default)]
    keys: Vec<Passkey>,
}

impl Passkeys {
    /// Whether there is nothing to keep.
    pub fn is_nothing(&self) -> bool {
        self.handle.is_none() && self.keys.is_empty()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Who the user is to authenticators, where that was settled.
    pub fn handle(&self) -> Option<&UserHandle> {
        self.handle.as_ref()
    }

    /// Each of them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Passkey> {
        self.keys.iter()
    }

    /// The one of an identifier.
    pub fn find(&self, id: &[u8]) -> Option<&Passkey> {
        self.keys.iter().find(|passkey| passkey.id == id)
    }

    /// The one that people name so.
    pub fn named(&self, reference: &str) -> Option<&Passkey> {
        self.keys.iter().find(|passkey| passkey.reference() == reference)
    }

    /// Adds one that was made for this handle.
    ///
    /// # Errors
    /// There are as many as may be, it is there, or the user has another handle by now.
    pub fn add(&mut self, passkey: Passkey, handle: UserHandle) -> Result<(), IdentityError> {
        if self.handle.is_some_and(|own| own != handle) {
            return failed("the passkey was made for a user handle that is over");
        }
        if self.find(&passkey.id).is_some() {
            return failed("the passkey is enrolled already");
        }
        if self.keys.len() >= PASSKEYS_MAX {
            return failed(format!("a user has at most {PASSKEYS_MAX} passkeys; remove one first"));
        }
        self.handle = Some(handle);
        self.keys.push(passkey);
        Ok(())
    }

    /// Gives one another name. Whether it is there.
    ///
    /// # Errors
    /// The name is empty or too long.
    pub fn rename(&mut self, reference: &str, name: &str) -> Result<bool, IdentityError> {
        let name = checked_name(name)?;
        let found = self.keys.iter_mut().find(|passkey| passkey.reference() == reference);
        Ok(found.map(|passkey| passkey.name = name).is_some())
    }

    /// Removes the one that people name so. Whether it was there.
    pub fn remove(&mut self, reference: &str) -> bool {
        let before = self.keys.len();
        self.keys.retain(|passkey| passkey.reference() != reference);
        self.keys.len() < before
    }

    /// Removes all of them. How many there were.
    pub fn remove_all(&mut self) -> usize {
        std::mem::take(&mut self.keys).len()
    }

    /// Takes note of a use. `None` where the passkey is gone, or the use is not later than those before; else whether something changed.
    pub fn used(&mut self, passkey_use: &PasskeyUse) -> Option<bool> {
        let passkey = self.keys.iter_mut().find(|passkey| passkey.id == passkey_use.id)?;
        if !passkey.has_counted(passkey_use) {
            return None;
        }
        let before = (passkey.sign_count, passkey.is_backed_up);
        (passkey.sign_count, passkey.is_backed_up) = (passkey_use.sign_count, passkey_use.is_backed_up);
        Some(before != (passkey.sign_count, passkey.is_backed_up))
    }

    /// Whether these are the same passkeys, whatever they are called and however often they were used.
    pub fn are_same(&self, other: &Passkeys) -> bool {
        let has_all = |one: &Passkeys, other: &Passkeys| {
            one.keys.iter().all(|key| other.find(&key.id).is_some_and(|known| known.key == key.key))
        };
        has_all(self, other) && has_all(other, self)
    }

    /// What becomes of two changes that did not know of each other: what one of them added is there, and what one of them removed is not.
    pub(crate) fn merged(base: &Passkeys, ours: &Passkeys, theirs: &Passkeys) -> Passkeys {
        // Passkeys of another handle would find nobody.
        if ours.handle.is_some() && theirs.handle.is_some() && ours.handle != theirs.handle {
            return theirs.clone();
        }
        let is_kept = |key: &&Passkey| {
            let id = &key.id;
            base.find(id).is_none() || ours.find(id).is_some() && theirs.find(id).is_some()
        };
        let mut keys: Vec<Passkey> = Vec::new();
        for key in theirs.keys.iter().chain(&ours.keys).filter(is_kept) {
            match keys.iter_mut().find(|known| known.id == key.id) {
                None => keys.push(key.clone()),
                Some(known) => {
                    let is_renamed = base.find(&key.id).is_none_or(|base| base.name != key.name);
                    if is_renamed {
                        known.name.clone_from(&key.name);
                    }
                    if key.sign_count > known.sign_count {
                        (known.sign_count, known.is_backed_up) = (key.sign_count, key.is_backed_up);
                    }
                }
            }
        }
        keys.truncate(PASSKEYS_MAX);
        Passkeys { handle: theirs.handle.or(ours.handle), keys }
    }
}
