//! What an authenticator says and signs (6.1): whose it is for, flags, a counter, and at an enrolment the new key.

use super::PasskeyRefusal;
use super::cbor::{self, read_map};
use super::cose::{self, CredentialKey};

/// The shortest identifier (4, Credential ID).
pub(super) const ID_BYTES_MIN: usize = 16;
/// The longest identifier (7.1, step 25).
pub(super) const ID_BYTES_MAX: usize = 1023;

const WHAT: PasskeyRefusal = PasskeyRefusal::Malformed("what the authenticator says");

/// The bits of the flags.
mod flag {
    pub(super) const USER_PRESENT: u8 = 1;
    pub(super) const USER_VERIFIED: u8 = 1 << 2;
    pub(super) const BACKUP_ELIGIBLE: u8 = 1 << 3;
    pub(super) const BACKED_UP: u8 = 1 << 4;
    pub(super) const HAS_CREDENTIAL: u8 = 1 << 6;
    pub(super) const HAS_EXTENSIONS: u8 = 1 << 7;
}

/// What was read.
pub(super) struct AuthenticatorData {
    pub(super) rp_id_hash: [u8; 32],
    flags: u8,
    pub(super) sign_count: u32,
    /// The new credential, at an enrolment.
    pub(super) credential: Option<NewCredential>,
}

/// A credential that an authenticator has made.
pub(super) struct NewCredential {
    pub(super) id: Vec<u8>,
    pub(super) key: CredentialKey,
}

impl AuthenticatorData {
    /// Reads all of the bytes.
    pub(super) fn read(bytes: &[u8]) -> Result<AuthenticatorData, PasskeyRefusal> {
        let (rp_id_hash, rest) = bytes.split_first_chunk::<32>().ok_or(WHAT)?;
        let ([flags], rest) = rest.split_first_chunk::<1>().ok_or(WHAT)?;
        let (sign_count, mut rest) = rest.split_first_chunk::<4>().ok_or(WHAT)?;
        let mut credential = None;
        if flags & flag::HAS_CREDENTIAL != 0 {
            let (read, behind) = NewCredential::read(rest)?;
            (credential, rest) = (Some(read), behind);
        }
        if flags & flag::HAS_EXTENSIONS != 0 {
            // None is understood, but it must be one item.
            (_, rest) = cbor::read_map(rest, "an extension")?;
        }
        if !rest.is_empty() {
            return Err(WHAT);
        }
        let sign_count = u32::from_be_bytes(*sign_count);
        Ok(AuthenticatorData { rp_id_hash: *rp_id_hash, flags: *flags, sign_count, credential })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn is_user_present(&self) -> bool {
        self.has(flag::USER_PRESENT)
    }

    pub(super) fn is_user_verified(&self) -> bool {
        self.has(flag::USER_VERIFIED)
    }

    pub(super) fn is_backup_eligible(&self) -> bool {
        self.has(flag::BACKUP_ELIGIBLE)
    }

    pub(super) fn is_backed_up(&self) -> bool {
        self.has(flag::BACKED_UP)
    }
}

impl NewCredential {
    /// Of 6.5.1: the model of the authenticator (16 bytes), the length of the identifier (2), the identifier, the key.
    fn read(bytes: &[u8]) -> Result<(NewCredential, &[u8]), PasskeyRefusal> {
        let (_model, rest) = bytes.split_first_chunk::<16>().ok_or(WHAT)?;
        let (length, rest) = rest.split_first_chunk::<2>().ok_or(WHAT)?;
        let length = usize::from(u16::from_be_bytes(*length));
        if !(ID_BYTES_MIN..=ID_BYTES_MAX).contains(&length) {
            return Err(PasskeyRefusal::IdLength);
        }
        let (id, rest) = rest.split_at_checked(length).ok_or(WHAT)?;
        let (key, rest) = read_map(rest, "the key")?;
        Ok((NewCredential { id: id.to_vec(), key: cose::read(&key)? }, rest))
    }
}
