//! Chunks: their headers, and finding where one ends in a stream of bytes (Part 6, 6.7.2).

use bytes::{BufMut, BytesMut};
use opcua_types::StatusCode;

use super::reader::WireReader;
use crate::error::Error;

/// Message type, finality, size.
pub const CHUNK_HEADER_BYTES: usize = 8;

/// Chunk header, channel id, token id.
pub const SYMMETRIC_HEADER_BYTES: usize = CHUNK_HEADER_BYTES + 8;

/// Sequence number, request id.
pub const SEQUENCE_HEADER_BYTES: usize = 8;

/// The longest security policy URI (Part 6, 6.7.2.3).
const POLICY_URI_BYTES_MAX: usize = 255;

/// The longest certificate chain that is taken; the standard leaves it to the size of the chunk.
const CERTIFICATE_BYTES_MAX: usize = 32 * 1024;

/// What a chunk is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// Hello.
    Hello,
    /// Acknowledge.
    Acknowledge,
    /// Error.
    Error,
    /// OpenSecureChannel, request or response.
    Open,
    /// CloseSecureChannel.
    Close,
    /// Any other service.
    Message,
}

/// Whether more chunks follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// More follow.
    Intermediate,
    /// The last of its message.
    Final,
    /// The sender gave the message up; the chunk says why.
    Abort,
}

/// What every chunk begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// What the chunk is part of.
    pub kind: ChunkKind,
    /// Whether more follow.
    pub finality: Finality,
    /// Bytes of the chunk, this header included.
    pub size: u32,
}

impl ChunkHeader {
    /// Reads the header, if there are enough bytes.
    ///
    /// # Errors
    /// No message type of the standard, or a size that is smaller than the header.
    pub fn decode(bytes: &[u8]) -> Result<Option<ChunkHeader>, Error> {
        let Some(header) = bytes.first_chunk::<CHUNK_HEADER_BYTES>() else { return Ok(None) };
        let [a, b, c, finality, s0, s1, s2, s3] = *header;
        let kind = match &[a, b, c] {
            b"HEL" => ChunkKind::Hello,
            b"ACK" => ChunkKind::Acknowledge,
            b"ERR" => ChunkKind::Error,
            b"OPN" => ChunkKind::Open,
            b"CLO" => ChunkKind::Close,
            b"MSG" => ChunkKind::Message,
            _ => {
                return Err(Error::new(
                    StatusCode::BadTcpMessageTypeInvalid,
                    "no message type of the protocol",
                ));
            }
        };
        let finality = match (finality, kind) {
            (b'F', _) => Finality::Final,
            (b'C', ChunkKind::Message) => Finality::Intermediate,
            (b'A', ChunkKind::Message) => Finality::Abort,
            _ => {
                return Err(Error::new(
                    StatusCode::BadTcpMessageTypeInvalid,
                    "no chunk type of that message",
                ));
            }
        };
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        if (size as usize) < CHUNK_HEADER_BYTES {
            return Err(Error::decoding("a chunk is smaller than its header"));
        }
        Ok(Some(ChunkHeader { kind, finality, size }))
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut BytesMut) {
        out.put_slice(match self.kind {
            ChunkKind::Hello => b"HEL",
            ChunkKind::Acknowledge => b"ACK",
            ChunkKind::Error => b"ERR",
            ChunkKind::Open => b"OPN",
            ChunkKind::Close => b"CLO",
            ChunkKind::Message => b"MSG",
        });
        out.put_u8(match self.finality {
            Finality::Final => b'F',
            Finality::Intermediate => b'C',
            Finality::Abort => b'A',
        });
        out.put_u32_le(self.size);
    }
}

/// Takes the next whole chunk off what was read; `None` as long as it is not all there. A chunk that is larger than `bytes_max` is
/// refused as soon as its header is there, so that what is buffered stays bounded.
///
/// # Errors
/// As of [`ChunkHeader::decode`], and `BadTcpMessageTooLarge`.
pub fn next_chunk(read: &mut BytesMut, bytes_max: u32) -> Result<Option<(ChunkHeader, BytesMut)>, Error> {
    let Some(header) = ChunkHeader::decode(read)? else { return Ok(None) };
    if header.size > bytes_max {
        return Err(Error::new(
            StatusCode::BadTcpMessageTooLarge,
            format!("a chunk of {} bytes, when at most {bytes_max} were agreed on", header.size),
        ));
    }
    let size = header.size as usize;
    if read.len() < size {
        read.reserve(size - read.len());
        return Ok(None);
    }
    Ok(Some((header, read.split_to(size))))
}

/// The security header of OpenSecureChannel (Part 6, 6.7.2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsymmetricHeader {
    /// The channel's identifier; 0 before it has one.
    pub channel_id: u32,
    /// The URI of the security policy.
    pub policy_uri: String,
    /// The sender's certificate, with its chain behind it; empty for the policy `None`.
    pub sender_certificate: Vec<u8>,
    /// SHA-1 of the receiver's certificate; empty for the policy `None`.
    pub receiver_thumbprint: Vec<u8>,
}

impl AsymmetricHeader {
    /// Reads the header of a whole chunk; also how many bytes chunk header and this one have.
    ///
    /// # Errors
    /// Truncated, or longer than allowed.
    pub fn decode(chunk: &[u8]) -> Result<(AsymmetricHeader, usize), Error> {
        let mut reader = WireReader::new(chunk);
        reader.take(CHUNK_HEADER_BYTES)?;
        let channel_id = reader.u32()?;
        let policy_uri = reader.text()?;
        let certificate = reader.byte_string()?.unwrap_or_default();
        let thumbprint = reader.byte_string()?.unwrap_or_default();
        if policy_uri.len() > POLICY_URI_BYTES_MAX {
            return Err(Error::decoding("the security policy URI is too long"));
        }
        if certificate.len() > CERTIFICATE_BYTES_MAX {
            return Err(Error::decoding("the certificate chain is too long"));
        }
        let header = AsymmetricHeader {
            channel_id,
            policy_uri: policy_uri.to_owned(),
            sender_certificate: certificate.to_vec(),
            receiver_thumbprint: thumbprint.to_vec(),
        };
        Ok((header, reader.position()))
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut BytesMut) {
        let put_bytes = |bytes: &[u8], out: &mut BytesMut| {
            if bytes.is_empty() {
                out.put_i32_le(-1);
            } else {
                out.put_u32_le(bytes.len() as u32);
                out.put_slice(bytes);
            }
        };
        out.put_u32_le(self.channel_id);
        put_bytes(self.policy_uri.as_bytes(), out);
        put_bytes(&self.sender_certificate, out);
        put_bytes(&self.receiver_thumbprint, out);
    }
}

/// What stands before the body of every secured chunk, encrypted with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceHeader {
    /// One more than that of the chunk before.
    pub number: u32,
    /// Which request this is, or is answered.
    pub request_id: u32,
}

impl SequenceHeader {
    /// Reads the header off the front.
    ///
    /// # Errors
    /// Truncated.
    pub fn decode(bytes: &[u8]) -> Result<SequenceHeader, Error> {
        let mut reader = WireReader::new(bytes);
        Ok(SequenceHeader { number: reader.u32()?, request_id: reader.u32()? })
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.number);
        out.put_u32_le(self.request_id);
    }
}
