//! Keys of a channel, derived from two nonces, and what is done with them to a chunk (Part 6, 6.7.5 and 6.7.6).

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit};
use aes::{Aes128Dec, Aes128Enc, Aes256Dec, Aes256Enc};
use aws_lc_rs::hmac;
use opcua_types::StatusCode;
use zeroize::Zeroizing;

use super::policy::SecurityPolicy;
use crate::error::Error;

/// Bytes of a block of AES.
pub const BLOCK_BYTES: usize = 16;

/// Bytes of a symmetric signature: HMAC-SHA-256 in all three policies.
pub const SIGNATURE_BYTES: usize = 32;

/// Both directions of a channel, as one side needs them.
pub struct ChannelKeys {
    /// What this side sends with.
    pub sealing: SealingKeys,
    /// What this side receives with.
    pub opening: OpeningKeys,
}

/// Signs and encrypts. Boxed, as keys are large and channels are moved.
pub struct SealingKeys {
    signing: Box<hmac::Key>,
    cipher: Encrypting,
    iv: [u8; BLOCK_BYTES],
}

/// Verifies and decrypts.
pub struct OpeningKeys {
    signing: Box<hmac::Key>,
    cipher: Decrypting,
    iv: [u8; BLOCK_BYTES],
}

enum Encrypting {
    Aes128(Box<Aes128Enc>),
    Aes256(Box<Aes256Enc>),
}

enum Decrypting {
    Aes128(Box<Aes128Dec>),
    Aes256(Box<Aes256Dec>),
}

/// Keys to send with and keys to receive with. What a side sends is made with the other side's nonce as the secret and its own as the
/// seed (Part 6, 6.7.5).
///
/// # Errors
/// The policy is `None`.
pub fn derive_keys(
    policy: SecurityPolicy,
    own_nonce: &[u8],
    peer_nonce: &[u8],
) -> Result<ChannelKeys, Error> {
    Ok(ChannelKeys {
        sealing: SealingKeys::derive(policy, peer_nonce, own_nonce)?,
        opening: OpeningKeys::derive(policy, own_nonce, peer_nonce)?,
    })
}

/// P_SHA256 of RFC 5246, section 5, without a label.
pub(crate) fn p_sha256(secret: &[u8], seed: &[u8], length: usize) -> Zeroizing<Vec<u8>> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let mut output = Zeroizing::new(Vec::with_capacity(length + SIGNATURE_BYTES));
    let mut a = hmac::sign(&key, seed);
    while output.len() < length {
        let mut context = hmac::Context::with_key(&key);
        context.update(a.as_ref());
        context.update(seed);
        output.extend_from_slice(context.sign().as_ref());
        a = hmac::sign(&key, a.as_ref());
    }
    output.truncate(length);
    output
}

struct Material {
    signing: Box<hmac::Key>,
    encryption: Zeroizing<Vec<u8>>,
    iv: [u8; BLOCK_BYTES],
}

impl Material {
    fn new(policy: SecurityPolicy, signing: &[u8], encryption: &[u8], iv: &[u8]) -> Result<Material, Error> {
        let wrong = || Error::security("a key has the wrong length for its policy");
        if !policy.is_secure()
            || signing.len() != policy.signing_key_bytes()
            || encryption.len() != policy.encryption_key_bytes()
        {
            return Err(wrong());
        }
        Ok(Material {
            signing: Box::new(hmac::Key::new(hmac::HMAC_SHA256, signing)),
            encryption: Zeroizing::new(encryption.to_vec()),
            iv: iv.try_into().map_err(|_| wrong())?,
        })
    }

    fn derive(policy: SecurityPolicy, secret: &[u8], seed: &[u8]) -> Result<Material, Error> {
        let (signing, encryption) = (policy.signing_key_bytes(), policy.encryption_key_bytes());
        let bytes = p_sha256(secret, seed, signing + encryption + BLOCK_BYTES);
        let (signing, rest) = bytes.split_at_checked(signing).unwrap_or_default();
        let (encryption, iv) = rest.split_at_checked(encryption).unwrap_or_default();
        Material::new(policy, signing, encryption, iv)
    }
}

fn unusable() -> Error {
    Error::new(StatusCode::BadInternalError, "a key has a length that AES does not have")
}

impl SealingKeys {
    pub(crate) fn derive(policy: SecurityPolicy, secret: &[u8], seed: &[u8]) -> Result<SealingKeys, Error> {
        SealingKeys::of(Material::derive(policy, secret, seed)?)
    }

    pub(crate) fn from_parts(
        policy: SecurityPolicy,
        signing: &[u8],
        encryption: &[u8],
        iv: &[u8],
    ) -> Result<SealingKeys, Error> {
        SealingKeys::of(Material::new(policy, signing, encryption, iv)?)
    }

    fn of(material: Material) -> Result<SealingKeys, Error> {
        let key = &material.encryption;
        let cipher = match Aes128Enc::new_from_slice(key) {
            Ok(cipher) => Encrypting::Aes128(Box::new(cipher)),
            Err(_) => Encrypting::Aes256(Box::new(Aes256Enc::new_from_slice(key).map_err(|_| unusable())?)),
        };
        Ok(SealingKeys { signing: material.signing, cipher, iv: material.iv })
    }

    /// The signature of bytes.
    pub fn sign(&self, bytes: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let mut signature = [0; SIGNATURE_BYTES];
        for (to, from) in signature.iter_mut().zip(hmac::sign(&self.signing, bytes).as_ref()) {
            *to = *from;
        }
        signature
    }

    /// Encrypts in place.
    ///
    /// # Errors
    /// The length is no multiple of [`BLOCK_BYTES`].
    pub fn encrypt(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let (blocks, rest) = Array::<u8, U16>::slice_as_chunks_mut(bytes);
        if !rest.is_empty() {
            return Err(Error::new(StatusCode::BadInternalError, "bytes to encrypt are no whole blocks"));
        }
        let iv = Array::from(self.iv);
        match &self.cipher {
            Encrypting::Aes128(cipher) => {
                cbc::Encryptor::inner_iv_init(Aes128Enc::clone(cipher), &iv).encrypt_blocks(blocks);
            }
            Encrypting::Aes256(cipher) => {
                cbc::Encryptor::inner_iv_init(Aes256Enc::clone(cipher), &iv).encrypt_blocks(blocks);
            }
        }
        Ok(())
    }
}

impl OpeningKeys {
    pub(crate) fn derive(policy: SecurityPolicy, secret: &[u8], seed: &[u8]) -> Result<OpeningKeys, Error> {
        OpeningKeys::of(Material::derive(policy, secret, seed)?)
    }

    pub(crate) fn from_parts(
        policy: SecurityPolicy,
        signing: &[u8],
        encryption: &[u8],
        iv: &[u8],
    ) -> Result<OpeningKeys, Error> {
        OpeningKeys::of(Material::new(policy, signing, encryption, iv)?)
    }

    fn of(material: Material) -> Result<OpeningKeys, Error> {
        let key = &material.encryption;
        let cipher = match Aes128Dec::new_from_slice(key) {
            Ok(cipher) => Decrypting::Aes128(Box::new(cipher)),
            Err(_) => Decrypting::Aes256(Box::new(Aes256Dec::new_from_slice(key).map_err(|_| unusable())?)),
        };
        Ok(OpeningKeys { signing: material.signing, cipher, iv: material.iv })
    }

    /// Verifies a signature, in constant time.
    ///
    /// # Errors
    /// `BadSecurityChecksFailed`.
    pub fn verify(&self, bytes: &[u8], signature: &[u8]) -> Result<(), Error> {
        hmac::verify(&self.signing, bytes, signature)
            .map_err(|_| Error::security("a message is not signed with the channel's keys"))
    }

    /// Decrypts in place. Nothing may be concluded from what comes out before its signature is verified.
    ///
    /// # Errors
    /// `BadSecurityChecksFailed` when the length is no multiple of [`BLOCK_BYTES`].
    pub fn decrypt(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let (blocks, rest) = Array::<u8, U16>::slice_as_chunks_mut(bytes);
        if !rest.is_empty() {
            return Err(Error::security("a message is not encrypted with the channel's keys"));
        }
        let iv = Array::from(self.iv);
        match &self.cipher {
            Decrypting::Aes128(cipher) => {
                cbc::Decryptor::inner_iv_init(Aes128Dec::clone(cipher), &iv).decrypt_blocks(blocks);
            }
            Decrypting::Aes256(cipher) => {
                cbc::Decryptor::inner_iv_init(Aes256Dec::clone(cipher), &iv).decrypt_blocks(blocks);
            }
        }
        Ok(())
    }
}
