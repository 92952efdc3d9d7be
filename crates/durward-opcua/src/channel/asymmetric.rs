//! Security of OpenSecureChannel, whose messages are signed and encrypted with the keys of certificates (Part 6, 6.7.2 and 6.7.4).

use bytes::{BufMut, Bytes, BytesMut};
use opcua_types::StatusCode;

use crate::crypto::{self, Certificate, OwnCertificate, SecurityPolicy};
use crate::error::Error;
use crate::wire::{AsymmetricHeader, CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Finality, SequenceHeader};

/// Keys of RSA with more bytes than this need two bytes for the size of padding.
const ONE_BYTE_PADDING_MODULUS_BYTES: usize = 256;

/// Blocks of RSA in one OpenSecureChannel message. Each costs a private operation before the signature can be checked, so anybody with a copy of a
/// trusted certificate could ask for hundreds; a request with its signature takes two to four.
const OPEN_BLOCKS_MAX: usize = 8;

/// Signs and encrypts an OpenSecureChannel message: one chunk.
///
/// # Errors
/// The library refuses a key.
pub(super) fn seal_open(
    channel_id: u32,
    policy: SecurityPolicy,
    own: &OwnCertificate,
    peer: Option<&Certificate>,
    sequence: SequenceHeader,
    body: &[u8],
) -> Result<Bytes, Error> {
    let mut plain = BytesMut::new();
    sequence.encode(&mut plain);
    plain.put_slice(body);
    let Some(peer) = peer.filter(|_| policy.is_secure()) else {
        let header = AsymmetricHeader {
            channel_id,
            policy_uri: policy.uri().to_owned(),
            sender_certificate: Vec::new(),
            receiver_thumbprint: Vec::new(),
        };
        let mut chunk = headers(&header, plain.len());
        chunk.put_slice(&plain);
        return Ok(chunk.freeze());
    };
    let header = AsymmetricHeader {
        channel_id,
        policy_uri: policy.uri().to_owned(),
        sender_certificate: own.chain(),
        receiver_thumbprint: peer.thumbprint().to_vec(),
    };
    let modulus_bytes = peer.key().modulus_bytes();
    pad(&mut plain, policy, modulus_bytes, own.key().modulus_bytes())?;
    let plain_bytes = plain.len() + own.key().modulus_bytes();
    let mut chunk = headers(&header, crypto::encrypted_length(policy, modulus_bytes, plain_bytes)?);
    let header_bytes = chunk.len();
    chunk.put_slice(&plain);
    let signature = crypto::sign(policy, own.key(), &chunk)?;
    plain.put_slice(&signature);
    chunk.truncate(header_bytes);
    chunk.put_slice(&crypto::encrypt(policy, peer.key(), &plain)?);
    Ok(chunk.freeze())
}

fn headers(header: &AsymmetricHeader, content_bytes: usize) -> BytesMut {
    let mut security = BytesMut::new();
    header.encode(&mut security);
    let size = (CHUNK_HEADER_BYTES + security.len() + content_bytes) as u32;
    let mut chunk = BytesMut::with_capacity(size as usize);
    ChunkHeader { kind: ChunkKind::Open, finality: Finality::Final, size }.encode(&mut chunk);
    chunk.put_slice(&security);
    chunk
}

fn pad(
    plain: &mut BytesMut,
    policy: SecurityPolicy,
    modulus_bytes: usize,
    signature_bytes: usize,
) -> Result<(), Error> {
    let block = crypto::plain_block_bytes(policy, modulus_bytes)?;
    let extra = usize::from(modulus_bytes > ONE_BYTE_PADDING_MODULUS_BYTES);
    let content = plain.len() + 1 + extra + signature_bytes;
    let padding = (block - content % block) % block;
    let [low, high, ..] = padding.to_le_bytes();
    plain.put_bytes(low, padding + 1);
    if extra == 1 {
        plain.put_u8(high);
    }
    Ok(())
}

/// Decrypts and verifies an OpenSecureChannel chunk, whose header has `header_bytes`.
///
/// # Errors
/// `BadSecurityChecksFailed`, whatever is wrong with its security; `BadDecodingError` when it is truncated.
pub(super) fn open_open(
    chunk: &[u8],
    header_bytes: usize,
    policy: SecurityPolicy,
    own: &OwnCertificate,
    peer: Option<&Certificate>,
) -> Result<(SequenceHeader, Bytes), Error> {
    let failed =
        || Error::security("an OpenSecureChannel message is not secured by the certificates that it names");
    let content = chunk.get(header_bytes..).unwrap_or_default();
    let Some(peer) = peer.filter(|_| policy.is_secure()) else {
        return split_sequence(content);
    };
    if content.len() > OPEN_BLOCKS_MAX * own.key().modulus_bytes() {
        return Err(failed());
    }
    let plain = crypto::decrypt(policy, own.key(), content).map_err(|_| failed())?;
    let signed = plain.len().checked_sub(peer.key().modulus_bytes()).ok_or_else(failed)?;
    let (plain, signature) = plain.split_at_checked(signed).ok_or_else(failed)?;
    let mut data = Vec::with_capacity(header_bytes + plain.len());
    data.extend_from_slice(chunk.get(..header_bytes).unwrap_or_default());
    data.extend_from_slice(plain);
    crypto::verify(policy, peer.key(), &data, signature).map_err(|_| failed())?;
    split_sequence(unpad(plain, own.key().modulus_bytes()).ok_or_else(failed)?)
}

fn unpad(plain: &[u8], modulus_bytes: usize) -> Option<&[u8]> {
    let (plain, high) = if modulus_bytes > ONE_BYTE_PADDING_MODULUS_BYTES {
        let (high, rest) = plain.split_last()?;
        (rest, usize::from(*high) << 8)
    } else {
        (plain, 0)
    };
    let low = *plain.last()?;
    let content = plain.len().checked_sub((high | usize::from(low)) + 1)?;
    let (content, filler) = plain.split_at_checked(content)?;
    filler.iter().all(|byte| *byte == low).then_some(content)
}

fn split_sequence(content: &[u8]) -> Result<(SequenceHeader, Bytes), Error> {
    let sequence = SequenceHeader::decode(content)?;
    let body = content.get(crate::wire::SEQUENCE_HEADER_BYTES..).unwrap_or_default();
    Ok((sequence, Bytes::copy_from_slice(body)))
}

/// What the header of a peer's OpenSecureChannel message says about it.
pub(super) struct PeerClaim {
    pub(super) header: AsymmetricHeader,
    pub(super) header_bytes: usize,
    pub(super) policy: SecurityPolicy,
}

impl PeerClaim {
    /// Reads the header.
    ///
    /// # Errors
    /// No header, an unsupported policy, or certificates where the policy is `None`.
    pub(super) fn read(chunk: &[u8]) -> Result<PeerClaim, Error> {
        let (header, header_bytes) = AsymmetricHeader::decode(chunk)?;
        let policy = SecurityPolicy::from_uri(&header.policy_uri)?;
        if !policy.is_secure() && !header.receiver_thumbprint.is_empty() {
            return Err(Error::new(
                StatusCode::BadSecurityChecksFailed,
                "a receiver is named, but there is no security",
            ));
        }
        Ok(PeerClaim { header, header_bytes, policy })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use durward_identity::Moment;

    use super::*;
    use crate::crypto::KeyLength;
    use crate::pki::{CertificateDraft, self_signed};

    fn own(length: KeyLength) -> OwnCertificate {
        let draft = CertificateDraft {
            application_uri: "urn:test".to_owned(),
            common_name: "test".to_owned(),
            organization: String::new(),
            hosts: Vec::new(),
            valid_from: Moment::from_s(1_780_000_000),
            valid_for: Duration::from_secs(86_400),
        };
        self_signed(&draft, length).unwrap()
    }

    fn open(
        chunk: &[u8],
        policy: SecurityPolicy,
        own: &OwnCertificate,
        peer: &Certificate,
    ) -> Result<usize, Error> {
        let claim = PeerClaim::read(chunk)?;
        open_open(chunk, claim.header_bytes, policy, own, Some(peer)).map(|(sequence, body)| {
            assert_eq!((sequence.number, sequence.request_id), (3, 4));
            body.len()
        })
    }

    #[test]
    fn keys_of_different_lengths_open_what_the_other_sealed() {
        let (short, long) = (own(KeyLength::Rsa2048), own(KeyLength::Rsa4096));
        let sequence = SequenceHeader { number: 3, request_id: 4 };
        for policy in SecurityPolicy::SECURE {
            for (from, to) in [(&short, &long), (&long, &short), (&short, &short), (&long, &long)] {
                for length in [0, 100, 130, 131, 132, 133, 400] {
                    let body = vec![1; length];
                    let chunk = seal_open(9, policy, from, Some(to.certificate()), sequence, &body).unwrap();
                    let header = ChunkHeader::decode(&chunk).unwrap().unwrap();
                    assert_eq!(header.size as usize, chunk.len());
                    assert_eq!(open(&chunk, policy, to, from.certificate()), Ok(length));
                }
            }
        }
    }

    #[test]
    fn openings_of_many_blocks_are_refused() {
        let (client, server) = (own(KeyLength::Rsa2048), own(KeyLength::Rsa2048));
        let sequence = SequenceHeader { number: 3, request_id: 4 };
        let policy = SecurityPolicy::Basic256Sha256;
        let block = crypto::plain_block_bytes(policy, server.key().modulus_bytes()).unwrap();
        // Sequence header, one byte of padding, signature.
        let most = OPEN_BLOCKS_MAX * block - 8 - 1 - client.key().modulus_bytes();
        for (length, is_opened) in [(most, true), (most + 1, false)] {
            let body = vec![1; length];
            let chunk = seal_open(9, policy, &client, Some(server.certificate()), sequence, &body).unwrap();
            assert_eq!(open(&chunk, policy, &server, client.certificate()).is_ok(), is_opened, "{length}");
        }
    }

    #[test]
    fn tampered_openings_are_refused() {
        let (client, server) = (own(KeyLength::Rsa2048), own(KeyLength::Rsa2048));
        let sequence = SequenceHeader { number: 3, request_id: 4 };
        let policy = SecurityPolicy::Aes256Sha256RsaPss;
        let chunk = seal_open(9, policy, &client, Some(server.certificate()), sequence, &[1; 80]).unwrap();
        assert_eq!(open(&chunk, policy, &server, client.certificate()), Ok(80));
        for at in (0..chunk.len()).step_by(5) {
            let mut changed = chunk.to_vec();
            changed[at] ^= 4;
            open(&changed, policy, &server, client.certificate()).unwrap_err();
        }
        // Signed by somebody else than the certificate says, encrypted for somebody else.
        let other = own(KeyLength::Rsa2048);
        let failed = StatusCode::BadSecurityChecksFailed;
        assert_eq!(open(&chunk, policy, &server, other.certificate()).unwrap_err().status(), failed);
        assert_eq!(open(&chunk, policy, &other, client.certificate()).unwrap_err().status(), failed);
    }
}
