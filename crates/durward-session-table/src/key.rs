//! The keys that seal tokens, and the ring of those in use.
//!
//! AES-256-GCM by `ring`: processors have instructions for it, and every validation opens a token; those that would forgive a
//! nonce that comes twice (AES-256-GCM-SIV) or have room for longer ones (XChaCha20-Poly1305) are not in `ring`, and open
//! slower. Its nonces have 96 bits and are random here, which is safe for 2^32 seals under one key (NIST SP 800-38D, 8.3): a key is replaced long before, after
//! [`SEALS_MAX`] on one node, by time, and whenever an operator wants.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::codec::{RecordReader, RecordWriter};
use crate::entropy::{Entropy, bytes};
use crate::error::failed;
use crate::{CLOCK_SKEW_MAX, IdentityError, Moment};

/// How many keys a ring holds: one a day for sessions of a month.
pub const KEYS_MAX: usize = 64;

/// How many tokens one node seals under one key before it asks for another: sixteen nodes stay below 2^32 together.
pub const SEALS_MAX: u32 = 1 << 28;

/// What names a key: random, so that keys of two clusters are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u32);

/// A key that seals tokens until another follows, and opens them until the last one it sealed has ended.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKey {
    id: KeyId,
    secret: [u8; 32],
    seals_from: Moment,
}

impl SealKey {
    /// Makes a key that seals from a moment on, for as long as it is the newest. The moment should lie so far ahead that all
    /// nodes have the key by then.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn generate(entropy: &dyn Entropy, seals_from: Moment) -> Result<SealKey, IdentityError> {
        let id = KeyId(u32::from_be_bytes(bytes(entropy)?));
        Ok(SealKey { id, secret: bytes(entropy)?, seals_from })
    }

    /// The key's name.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// When it begins to seal.
    pub fn seals_from(&self) -> Moment {
        self.seals_from
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut writer = RecordWriter::default();
        writer.u32(self.id.0);
        writer.raw(&self.secret);
        writer.u64(self.seals_from.ms());
        writer.0
    }

    pub(crate) fn read(text: &[u8]) -> Option<SealKey> {
        let mut reader = RecordReader::new(text);
        let id = KeyId(reader.u32()?);
        let secret = reader.array()?;
        let seals_from = Moment::from_ms(reader.u64()?);
        reader.end()?;
        Some(SealKey { id, secret, seals_from })
    }
}

/// Without the secret.
impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealKey({:08x})", self.id.0)
    }
}

/// One key, ready for use.
struct PreparedKey {
    key: SealKey,
    cipher: LessSafeKey,
    seals: AtomicU32,
}

/// The keys in use, oldest first. A ring does not change: with another key it is another ring, and both count the same
/// seals.
#[derive(Clone, Default)]
pub struct KeyRing {
    keys: Vec<Arc<PreparedKey>>,
    lifetime: Duration,
}

impl KeyRing {
    /// The ring with one more key, and without those whose last session has ended: a key seals until the next one does, and a
    /// session lives for `lifetime` at most. A key that is there already changes nothing.
    ///
    /// # Errors
    /// There would be more than [`KEYS_MAX`].
    pub fn with(&self, key: SealKey, now: Moment, lifetime: Duration) -> Result<KeyRing, IdentityError> {
        let mut ring = KeyRing { keys: Vec::new(), lifetime };
        ring.keys = (0..)
            .zip(&self.keys)
            .filter(|(at, _)| self.opens(*at, now))
            .map(|(_, key)| key.clone())
            .collect();
        if self.keys.iter().any(|ready| ready.key.id == key.id) {
            return Ok(ring);
        }
        if ring.keys.len() >= KEYS_MAX {
            return failed(format!("the key ring holds {KEYS_MAX} keys already: rotate less often"));
        }
        let Some(cipher) = cipher(&key.secret) else { return failed("the key does not fit its cipher") };
        ring.keys.push(Arc::new(PreparedKey { key, cipher, seals: AtomicU32::new(0) }));
        ring.keys.sort_by_key(|ready| (ready.key.seals_from, ready.key.id));
        Ok(ring)
    }

    /// Whether the last session that this key can have sealed may still live.
    fn opens(&self, at: usize, now: Moment) -> bool {
        let next = self.keys.get(at + 1).map(|next| next.key.seals_from);
        next.is_none_or(|next| now <= next.plus(self.lifetime).plus(2 * CLOCK_SKEW_MAX))
    }

    /// The keys, oldest first.
    pub fn keys(&self) -> impl Iterator<Item = &SealKey> {
        self.keys.iter().map(|ready| &ready.key)
    }

    /// Whether the key that seals now has sealed so much, or for so long, that another should follow. Also when there is none.
    pub fn wants_rotation(&self, now: Moment, period: Duration) -> bool {
        let newest = self.keys.last();
        newest.is_none_or(|ready| {
            ready.seals.load(Ordering::Relaxed) >= SEALS_MAX || now.since(ready.key.seals_from) >= period
        })
    }

    /// The newest key whose time has come; when none's has, the one whose comes first.
    fn sealing(&self, now: Moment) -> Option<&PreparedKey> {
        let ready = self.keys.iter().rev().find(|ready| ready.key.seals_from <= now);
        ready.or(self.keys.first()).map(|ready| &**ready)
    }

    /// Seals `content` under the key whose turn it is. `head` makes of the key's name what stands before the nonce, where it can
    /// be read and not changed.
    pub(super) fn seal(
        &self,
        entropy: &dyn Entropy,
        now: Moment,
        content: &[u8],
        head: impl FnOnce(KeyId) -> [u8; 5],
    ) -> Result<Vec<u8>, IdentityError> {
        let Some(ready) = self.sealing(now) else { return failed("there is no key yet that seals tokens") };
        ready.seals.fetch_add(1, Ordering::Relaxed);
        let head = head(ready.key.id);
        seal(&ready.cipher, entropy, &head, content)
    }

    /// Opens in place what follows the nonce.
    pub(super) fn open<'b>(
        &self,
        id: KeyId,
        now: Moment,
        head: [u8; 5],
        sealed: &'b mut [u8],
    ) -> OpenedToken<'b> {
        let ready = (0..).zip(&self.keys).find(|(at, ready)| ready.key.id == id && self.opens(*at, now));
        match ready {
            Some((_, ready)) => {
                open(&ready.cipher, &head, sealed).map_or(OpenedToken::Forged, OpenedToken::Content)
            }
            None => OpenedToken::UnknownKey,
        }
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys()).finish()
    }
}

/// What opening came to.
pub(super) enum OpenedToken<'b> {
    Content(&'b [u8]),
    UnknownKey,
    Forged,
}

/// The secret that nodes of a cluster share: keys travel under it. It comes from the operator, and seals nothing but keys.
pub struct ClusterKey(LessSafeKey);

/// What sealed keys begin with.
const WRAPPED: &[u8; 5] = b"key1\0";

impl ClusterKey {
    /// The key of these 32 bytes.
    ///
    /// # Errors
    /// None that can be provoked: the cipher takes keys of this length.
    pub fn new(secret: [u8; 32]) -> Result<ClusterKey, IdentityError> {
        cipher(&secret)
            .map(ClusterKey)
            .ok_or_else(|| IdentityError::new("the cluster key does not fit its cipher"))
    }

    /// Seals a key, so that it may travel.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn wrap(&self, key: &SealKey, entropy: &dyn Entropy) -> Result<Vec<u8>, IdentityError> {
        seal(&self.0, entropy, WRAPPED, &key.write())
    }

    /// Opens a key that travelled.
    ///
    /// # Errors
    /// It was sealed by another cluster, or changed.
    pub fn unwrap(&self, wrapped: &[u8]) -> Result<SealKey, IdentityError> {
        let mut sealed = wrapped.get(WRAPPED.len()..).unwrap_or_default().to_vec();
        let is_key = wrapped.starts_with(WRAPPED);
        let key = open(&self.0, WRAPPED, &mut sealed).filter(|_| is_key).and_then(SealKey::read);
        key.ok_or_else(|| IdentityError::new("a key was sealed under another cluster key, or changed"))
    }
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterKey")
    }
}

pub(super) fn cipher(secret: &[u8; 32]) -> Option<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, secret).ok().map(LessSafeKey::new)
}

/// Head, nonce, sealed content, tag.
pub(super) fn seal(
    cipher: &LessSafeKey,
    entropy: &dyn Entropy,
    head: &[u8; 5],
    content: &[u8],
) -> Result<Vec<u8>, IdentityError> {
    let nonce: [u8; NONCE_LEN] = bytes(entropy)?;
    let mut sealed = content.to_vec();
    let done =
        cipher.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(head), &mut sealed);
    match done {
        Ok(()) => Ok([head.as_slice(), &nonce, &sealed].concat()),
        Err(_) => failed("sealing failed"),
    }
}

/// Opens nonce, sealed content, tag.
pub(super) fn open<'b>(cipher: &LessSafeKey, head: &[u8; 5], sealed: &'b mut [u8]) -> Option<&'b [u8]> {
    let (nonce, sealed) = sealed.split_first_chunk_mut::<NONCE_LEN>()?;
    let nonce = Nonce::assume_unique_for_key(*nonce);
    cipher.open_in_place(nonce, Aad::from(head), sealed).ok().map(|content| &*content)
}
