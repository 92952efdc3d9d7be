//! Secrets in user identity tokens: passwords and issued tokens, plain or encrypted (Part 4, 7.40.2).
//!
//! Two encrypted formats: the legacy one (length, secret, nonce, encrypted with RSA block after block, so that its cost grows with the
//! secret), and `RsaEncryptedSecret` (one RSA block holds symmetric keys). What a policy does not ask for is refused; nothing is
//! decrypted before its length, its algorithm and its receiver are checked.

use durward_identity::Moment;
use opcua_types::StatusCode;
use zeroize::Zeroizing;

use super::asymmetric;
use super::certificate::Certificate;
use super::key::OwnCertificate;
use super::policy::SecurityPolicy;
use super::random::random_bytes;
use super::same;
use super::symmetric::{BLOCK_BYTES, OpeningKeys, SIGNATURE_BYTES, SealingKeys};
use crate::error::Error;
use crate::wire::{WireReader, datetime};

/// The longest secret, decrypted: as long as the longest token. In the legacy format it costs 77 to 87 private operations with RSA 2048.
pub const SECRET_BYTES_MAX: usize = 16 * 1024;

/// Bytes of an `RsaEncryptedSecret` beside its secret, nonce and key data, at most: policy, thumbprint, lengths, padding, signature.
const RSA_ENCRYPTED_EXTRA_BYTES_MAX: usize = 256;

/// RSA blocks of encrypted key data: it fits one block of any key, or two.
const KEY_DATA_BLOCKS_MAX: usize = 2;

/// The data type `RsaEncryptedSecret`, as a four-byte node id, and the mask of a body that follows.
const RSA_ENCRYPTED_SECRET: [u8; 5] = [1, 0, 0x89, 0x44, 1];

/// What a user token policy says about its secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenSecurity {
    /// `#None`: plain. Only where the channel encrypts.
    Plain,
    /// Encrypted and signed as the policy says.
    Encrypted(SecurityPolicy),
}

impl TokenSecurity {
    /// Of a security policy, where `None` means plain.
    pub fn of(policy: SecurityPolicy) -> TokenSecurity {
        if policy.is_secure() { TokenSecurity::Encrypted(policy) } else { TokenSecurity::Plain }
    }

    /// The security policy, `None` for plain.
    pub fn policy(self) -> SecurityPolicy {
        match self {
            TokenSecurity::Plain => SecurityPolicy::None,
            TokenSecurity::Encrypted(policy) => policy,
        }
    }
}

/// How a client encrypts a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SecretFormat {
    /// Understood by every server.
    #[default]
    Legacy,
    /// One RSA block, however long the secret is.
    RsaEncryptedSecret,
}

/// A secret as it stands in a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedSecret {
    /// The field `password` or `tokenData`.
    pub data: Vec<u8>,
    /// The field `encryptionAlgorithm`; empty for plain secrets, and for `RsaEncryptedSecret`, which names its policy itself.
    pub algorithm: String,
}

fn invalid(reason: &'static str) -> Error {
    Error::new(StatusCode::BadIdentityTokenInvalid, reason)
}

/// One error for everything that is wrong inside: no oracle.
fn undecryptable() -> Error {
    invalid("the token's secret is not what this server can decrypt, or was not made for this nonce")
}

/// Bytes that a secret of up to `bytes_max` bytes has at most, as it is sent.
fn sent_bytes_max(
    security: TokenSecurity,
    sealed: &SealedSecret,
    own: &OwnCertificate,
    nonce: &[u8],
    bytes_max: usize,
) -> Result<usize, Error> {
    let TokenSecurity::Encrypted(policy) = security else { return Ok(bytes_max) };
    let modulus_bytes = own.key().modulus_bytes();
    let content = bytes_max.saturating_add(nonce.len());
    if sealed.algorithm.is_empty() {
        let extra = KEY_DATA_BLOCKS_MAX * modulus_bytes + RSA_ENCRYPTED_EXTRA_BYTES_MAX;
        return Ok(content.saturating_add(extra));
    }
    asymmetric::encrypted_length(policy, modulus_bytes, content.saturating_add(4))
}

/// Takes a secret of at most `bytes_max` bytes out, as the token policy wants it.
///
/// # Errors
/// `BadIdentityTokenInvalid`: too long, plain where encryption is wanted or the other way round, another algorithm than the policy's,
/// encrypted for somebody else, or with another nonce.
pub fn decode_secret(
    security: TokenSecurity,
    sealed: &SealedSecret,
    own: &OwnCertificate,
    nonce: &[u8],
    bytes_max: usize,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let too_long = || invalid("the token's secret is longer than the server takes");
    if sealed.data.len() > sent_bytes_max(security, sealed, own, nonce, bytes_max)? {
        return Err(too_long());
    }
    let secret = open_secret(security, sealed, own, nonce)?;
    if secret.len() > bytes_max { Err(too_long()) } else { Ok(secret) }
}

fn open_secret(
    security: TokenSecurity,
    sealed: &SealedSecret,
    own: &OwnCertificate,
    nonce: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let policy = match security {
        TokenSecurity::Plain if sealed.algorithm.is_empty() => {
            return Ok(Zeroizing::new(sealed.data.clone()));
        }
        TokenSecurity::Plain => {
            return Err(invalid("the token's secret is encrypted, where its policy says plain"));
        }
        TokenSecurity::Encrypted(policy) => policy,
    };
    if sealed.algorithm.is_empty() {
        if !sealed.data.starts_with(&RSA_ENCRYPTED_SECRET) {
            return Err(invalid("the token's secret is not encrypted, where its policy demands it"));
        }
        return decode_rsa_encrypted(policy, &sealed.data, own, nonce);
    }
    if sealed.algorithm != policy.encryption_uri() {
        return Err(invalid("the token's secret is encrypted with another algorithm than its policy's"));
    }
    decode_legacy(policy, &sealed.data, own, nonce)
}

fn decode_legacy(
    policy: SecurityPolicy,
    data: &[u8],
    own: &OwnCertificate,
    nonce: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let plain = asymmetric::decrypt(policy, own.key(), data).map_err(|_| undecryptable())?;
    let mut reader = WireReader::new(&plain);
    let length = reader.u32().map_err(|_| undecryptable())? as usize;
    // Some stacks fill the last block; what stands behind the length counts for nothing.
    let content = reader.take(length).map_err(|_| undecryptable())?;
    let split = length.checked_sub(nonce.len()).ok_or_else(undecryptable)?;
    let (secret, sent_nonce) = content.split_at_checked(split).ok_or_else(undecryptable)?;
    if nonce.is_empty() || !same(sent_nonce, nonce) {
        return Err(undecryptable());
    }
    Ok(Zeroizing::new(secret.to_vec()))
}

fn decode_rsa_encrypted(
    policy: SecurityPolicy,
    data: &[u8],
    own: &OwnCertificate,
    nonce: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let malformed = |_: Error| invalid("the token's secret is no RsaEncryptedSecret that can be read");
    let mut reader = WireReader::new(data);
    reader.take(RSA_ENCRYPTED_SECRET.len()).map_err(malformed)?;
    let length = reader.u32().map_err(malformed)? as usize;
    if length != reader.rest().len() {
        return Err(invalid("the token's secret is truncated, or has bytes left over"));
    }
    if reader.text().map_err(malformed)? != policy.uri() {
        return Err(invalid("the token's secret is encrypted with another policy than its token policy's"));
    }
    if reader.byte_string().map_err(malformed)? != Some(own.certificate().thumbprint()) {
        return Err(invalid("the token's secret is encrypted for another certificate"));
    }
    let _signing_time = reader.i64().map_err(malformed)?;
    let key_data_bytes = usize::from(reader.u16().map_err(malformed)?);
    if key_data_bytes > KEY_DATA_BLOCKS_MAX * own.key().modulus_bytes() {
        return Err(invalid("the token's secret has more key data than keys"));
    }
    let key_data = reader.take(key_data_bytes).map_err(malformed)?;
    let payload_bytes = reader.rest().len().checked_sub(SIGNATURE_BYTES).ok_or_else(undecryptable)?;
    let keys = asymmetric::decrypt(policy, own.key(), key_data).map_err(|_| undecryptable())?;
    let keys = open_key_data(policy, &keys).map_err(|_| undecryptable())?;
    let mut payload = Zeroizing::new(reader.take(payload_bytes).map_err(malformed)?.to_vec());
    let signed = data.get(..data.len() - SIGNATURE_BYTES).unwrap_or_default();
    keys.verify(signed, reader.rest()).map_err(|_| undecryptable())?;
    keys.decrypt(&mut payload).map_err(|_| undecryptable())?;
    open_payload(&payload, nonce).map_err(|_| undecryptable())
}

fn open_key_data(policy: SecurityPolicy, bytes: &[u8]) -> Result<OpeningKeys, Error> {
    let mut reader = WireReader::new(bytes);
    let signing = reader.byte_string()?.unwrap_or_default();
    let encryption = reader.byte_string()?.unwrap_or_default();
    let iv = reader.byte_string()?.unwrap_or_default();
    OpeningKeys::from_parts(policy, signing, encryption, iv)
}

fn open_payload(payload: &[u8], nonce: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut reader = WireReader::new(payload);
    let sent_nonce = reader.byte_string()?.unwrap_or_default();
    let secret = reader.byte_string()?.unwrap_or_default();
    let padding = reader.rest().len().checked_sub(2).ok_or_else(undecryptable)?;
    let filler = reader.take(padding)?;
    let size = reader.u16()?;
    let [low, _] = size.to_le_bytes();
    let padded = usize::from(size) == padding && filler.iter().all(|byte| *byte == low);
    if !padded || nonce.is_empty() || !same(sent_nonce, nonce) {
        return Err(undecryptable());
    }
    Ok(Zeroizing::new(secret.to_vec()))
}

/// Puts a secret into the form that a token policy wants, for the server with this certificate.
///
/// # Errors
/// The system gives no randomness, or the library refuses the key.
pub fn encode_secret(
    security: TokenSecurity,
    format: SecretFormat,
    secret: &[u8],
    server: &Certificate,
    nonce: &[u8],
    moment: Moment,
) -> Result<SealedSecret, Error> {
    match (security, format) {
        (TokenSecurity::Plain, _) => Ok(SealedSecret { data: secret.to_vec(), algorithm: String::new() }),
        (TokenSecurity::Encrypted(policy), SecretFormat::Legacy) => {
            let mut plain = Zeroizing::new(Vec::with_capacity(4 + secret.len() + nonce.len()));
            plain.extend_from_slice(&((secret.len() + nonce.len()) as u32).to_le_bytes());
            plain.extend_from_slice(secret);
            plain.extend_from_slice(nonce);
            let data = asymmetric::encrypt(policy, server.key(), &plain)?;
            Ok(SealedSecret { data, algorithm: policy.encryption_uri().to_owned() })
        }
        (TokenSecurity::Encrypted(policy), SecretFormat::RsaEncryptedSecret) => {
            let data = encode_rsa_encrypted(policy, secret, server, nonce, moment)?;
            Ok(SealedSecret { data, algorithm: String::new() })
        }
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn encode_rsa_encrypted(
    policy: SecurityPolicy,
    secret: &[u8],
    server: &Certificate,
    nonce: &[u8],
    moment: Moment,
) -> Result<Vec<u8>, Error> {
    let random = Zeroizing::new(random_bytes::<80>()?);
    let (signing, rest) = random.split_at_checked(policy.signing_key_bytes()).unwrap_or_default();
    let (encryption, rest) = rest.split_at_checked(policy.encryption_key_bytes()).unwrap_or_default();
    let iv = rest.get(..BLOCK_BYTES).unwrap_or_default();
    let keys = SealingKeys::from_parts(policy, signing, encryption, iv)?;
    let mut key_data = Zeroizing::new(Vec::new());
    for part in [signing, encryption, iv] {
        put_bytes(&mut key_data, part);
    }
    let key_data = asymmetric::encrypt(policy, server.key(), &key_data)?;
    let mut payload = seal_payload(secret, nonce);
    keys.encrypt(&mut payload)?;

    let mut body = Vec::new();
    put_bytes(&mut body, policy.uri().as_bytes());
    put_bytes(&mut body, server.thumbprint());
    body.extend_from_slice(&datetime(moment).checked_ticks().to_le_bytes());
    body.extend_from_slice(&(key_data.len() as u16).to_le_bytes());
    body.extend_from_slice(&key_data);
    body.extend_from_slice(&payload);

    let mut sealed = RSA_ENCRYPTED_SECRET.to_vec();
    sealed.extend_from_slice(&((body.len() + SIGNATURE_BYTES) as u32).to_le_bytes());
    sealed.extend_from_slice(&body);
    let signature = keys.sign(&sealed);
    sealed.extend_from_slice(&signature);
    Ok(sealed)
}

/// Nonce, secret and padding; short secrets get a block more, so that their length does not show.
fn seal_payload(secret: &[u8], nonce: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut payload = Zeroizing::new(Vec::new());
    put_bytes(&mut payload, nonce);
    put_bytes(&mut payload, secret);
    let mut padding = (BLOCK_BYTES - (payload.len() + 2) % BLOCK_BYTES) % BLOCK_BYTES;
    if secret.len() + padding < BLOCK_BYTES {
        padding += BLOCK_BYTES;
    }
    payload.extend(std::iter::repeat_n(padding as u8, padding));
    payload.extend_from_slice(&(padding as u16).to_le_bytes());
    payload
}
