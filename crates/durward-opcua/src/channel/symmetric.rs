//! Security of messages under a channel's keys: put on when they are cut into chunks, taken off chunk by chunk.

use bytes::{Buf, BufMut, BytesMut};
use opcua_types::{MessageSecurityMode, StatusCode};

use crate::crypto::{BLOCK_BYTES, OpeningKeys, SIGNATURE_BYTES, SealingKeys};
use crate::error::Error;
use crate::wire::{
    BUFFER_BYTES_MIN, ChunkHeader, ChunkKind, Finality, MessageLimits, OutgoingSequence,
    SEQUENCE_HEADER_BYTES, SYMMETRIC_HEADER_BYTES, SequenceHeader,
};

/// How messages are sent now.
pub(super) struct SendingKeys {
    pub(super) channel_id: u32,
    pub(super) token_id: u32,
    pub(super) mode: MessageSecurityMode,
    /// `None` only without security.
    pub(super) keys: Option<SealingKeys>,
    pub(super) chunk_bytes_max: usize,
    pub(super) limits: MessageLimits,
}

impl SendingKeys {
    /// Before anything is agreed on.
    pub(super) fn none() -> SendingKeys {
        SendingKeys {
            channel_id: 0,
            token_id: 0,
            mode: MessageSecurityMode::None,
            keys: None,
            chunk_bytes_max: BUFFER_BYTES_MIN as usize,
            limits: MessageLimits::BEFORE_ACTIVATION,
        }
    }

    fn encrypts(&self) -> bool {
        self.mode == MessageSecurityMode::SignAndEncrypt
    }

    fn signature_bytes(&self) -> usize {
        if self.keys.is_some() { SIGNATURE_BYTES } else { 0 }
    }

    /// How much of a body one chunk holds.
    fn body_bytes_max(&self) -> usize {
        let room = self.chunk_bytes_max - SYMMETRIC_HEADER_BYTES;
        let (room, padding) = if self.encrypts() { (room - room % BLOCK_BYTES, 1) } else { (room, 0) };
        room - SEQUENCE_HEADER_BYTES - self.signature_bytes() - padding
    }

    /// Whether the peer takes a message with so many bytes: in how many chunks.
    ///
    /// # Errors
    /// `BadEncodingLimitsExceeded`.
    pub(super) fn check(&self, body_bytes: usize) -> Result<usize, Error> {
        let count = body_bytes.div_ceil(self.body_bytes_max()).max(1);
        let too_large = body_bytes > self.limits.message_bytes_max as usize;
        if too_large || count > self.limits.chunk_count_max as usize {
            return Err(Error::new(
                StatusCode::BadEncodingLimitsExceeded,
                format!("a message of {body_bytes} bytes is more than the peer takes"),
            ));
        }
        Ok(count)
    }

    /// Appends a whole message; nothing when it is too large for the peer.
    ///
    /// # Errors
    /// `BadEncodingLimitsExceeded` when the peer takes no message of that size.
    pub(super) fn message(
        &self,
        kind: ChunkKind,
        request_id: u32,
        body: &[u8],
        sequence: &mut OutgoingSequence,
        out: &mut BytesMut,
    ) -> Result<(), Error> {
        let room = self.body_bytes_max();
        let count = self.check(body.len())?;
        out.reserve(body.len() + count * (self.chunk_bytes_max - room).min(128));
        let mut rest = body;
        for left in (0..count).rev() {
            let (piece, after) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            rest = after;
            let finality = if left == 0 { Finality::Final } else { Finality::Intermediate };
            let header = SequenceHeader { number: sequence.take(), request_id };
            self.chunk(kind, finality, header, piece, out)?;
        }
        Ok(())
    }

    fn chunk(
        &self,
        kind: ChunkKind,
        finality: Finality,
        sequence: SequenceHeader,
        piece: &[u8],
        out: &mut BytesMut,
    ) -> Result<(), Error> {
        let start = out.len();
        let content = SEQUENCE_HEADER_BYTES + piece.len() + self.signature_bytes();
        let padding = if self.encrypts() { BLOCK_BYTES - content % BLOCK_BYTES } else { 0 };
        let size = (SYMMETRIC_HEADER_BYTES + content + padding) as u32;
        ChunkHeader { kind, finality, size }.encode(out);
        out.put_u32_le(self.channel_id);
        out.put_u32_le(self.token_id);
        sequence.encode(out);
        out.put_slice(piece);
        // The size itself, and as many bytes of the same value: one byte more than it says (Part 6, 6.7.2.5).
        out.put_bytes(padding.saturating_sub(1) as u8, padding);
        let Some(keys) = &self.keys else { return Ok(()) };
        let signature = keys.sign(out.get(start..).unwrap_or_default());
        out.put_slice(&signature);
        if self.encrypts() {
            keys.encrypt(out.get_mut(start + SYMMETRIC_HEADER_BYTES..).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// Takes the security off a chunk: its sequence header and its piece of a body. Nothing of it is looked at before the signature is
/// verified, and every fault is the same error, so that padding is no oracle.
///
/// # Errors
/// `BadSecurityChecksFailed`.
pub(super) fn open_chunk(
    mut chunk: BytesMut,
    mode: MessageSecurityMode,
    keys: Option<&OpeningKeys>,
) -> Result<(SequenceHeader, BytesMut), Error> {
    let failed = || Error::security("a message is not secured as the channel is");
    if let Some(keys) = keys {
        if mode == MessageSecurityMode::SignAndEncrypt {
            keys.decrypt(chunk.get_mut(SYMMETRIC_HEADER_BYTES..).ok_or_else(failed)?)
                .map_err(|_| failed())?;
        }
        let signed = chunk.len().checked_sub(SIGNATURE_BYTES).ok_or_else(failed)?;
        let (content, signature) = chunk.split_at_checked(signed).ok_or_else(failed)?;
        keys.verify(content, signature).map_err(|_| failed())?;
        chunk.truncate(signed);
        if mode == MessageSecurityMode::SignAndEncrypt {
            let padding = usize::from(*chunk.last().ok_or_else(failed)?) + 1;
            let content = chunk.len().checked_sub(padding).ok_or_else(failed)?;
            let filler = chunk.get(content..).unwrap_or_default();
            if filler.iter().any(|byte| usize::from(*byte) + 1 != padding) {
                return Err(failed());
            }
            chunk.truncate(content);
        }
    }
    if chunk.len() < SYMMETRIC_HEADER_BYTES + SEQUENCE_HEADER_BYTES {
        return Err(failed());
    }
    chunk.advance(SYMMETRIC_HEADER_BYTES);
    let sequence = SequenceHeader::decode(&chunk)?;
    chunk.advance(SEQUENCE_HEADER_BYTES);
    Ok((sequence, chunk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{SecurityPolicy, derive_keys};

    const MODES: [MessageSecurityMode; 2] = [MessageSecurityMode::Sign, MessageSecurityMode::SignAndEncrypt];

    fn sealing(policy: SecurityPolicy, mode: MessageSecurityMode) -> (SendingKeys, OpeningKeys) {
        let sender = derive_keys(policy, &[1; 32], &[2; 32]).unwrap();
        let receiver = derive_keys(policy, &[2; 32], &[1; 32]).unwrap();
        let keys = Some(sender.sealing);
        let limits = MessageLimits::UNBOUNDED;
        let sealing = SendingKeys { channel_id: 7, token_id: 9, mode, keys, chunk_bytes_max: 8_192, limits };
        (sealing, receiver.opening)
    }

    /// The only chunk of a message.
    fn seal(sealing: &SendingKeys, body: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        let mut sequence = OutgoingSequence::default();
        sealing.message(ChunkKind::Message, 5, body, &mut sequence, &mut out).unwrap();
        out
    }

    #[test]
    fn bodies_of_every_length_come_out_as_they_went_in() {
        for policy in SecurityPolicy::SECURE {
            for mode in MODES {
                let (sealing, opening) = sealing(policy, mode);
                for length in 0..70 {
                    let body = vec![0xa5; length];
                    let chunk = seal(&sealing, &body);
                    assert_eq!(chunk.len() as u32, ChunkHeader::decode(&chunk).unwrap().unwrap().size);
                    let (sequence, opened) = open_chunk(chunk, mode, Some(&opening)).unwrap();
                    assert_eq!((sequence.number, sequence.request_id, &opened[..]), (1, 5, &body[..]));
                }
            }
        }
    }

    #[test]
    fn chunks_fill_the_buffer_and_never_exceed_it() {
        for mode in MODES {
            let (mut sealing, opening) = sealing(SecurityPolicy::Basic256Sha256, mode);
            let room = sealing.body_bytes_max();
            for (length, count) in [(0, 1), (room, 1), (room + 1, 2), (5 * room, 5)] {
                let mut out = seal(&sealing, &vec![3; length]);
                let mut bodies = 0;
                for left in (0..count).rev() {
                    let header = ChunkHeader::decode(&out).unwrap().unwrap();
                    assert!(header.size <= 8_192 && (left == 0 || header.size > 8_192 - 16));
                    let last = if left == 0 { Finality::Final } else { Finality::Intermediate };
                    assert_eq!(header.finality, last);
                    let chunk = out.split_to(header.size as usize);
                    bodies += open_chunk(chunk, mode, Some(&opening)).unwrap().1.len();
                }
                assert_eq!((bodies, out.len()), (length, 0));
            }
            sealing.limits.chunk_count_max = 4;
            assert_eq!(sealing.check(4 * room), Ok(4));
            assert_eq!(
                sealing.check(4 * room + 1).unwrap_err().status(),
                StatusCode::BadEncodingLimitsExceeded
            );
        }
    }

    /// Each bit of each byte, and each length: always the same error, whatever it hits.
    #[test]
    fn tampered_chunks_are_one_error() {
        for policy in SecurityPolicy::SECURE {
            for mode in MODES {
                let (sealing, opening) = sealing(policy, mode);
                let chunk = seal(&sealing, b"twenty bytes of body");
                let expected = Error::security("a message is not secured as the channel is");
                for at in 0..chunk.len() {
                    for bit in 0..8 {
                        let mut changed = chunk.clone();
                        changed[at] ^= 1 << bit;
                        assert_eq!(open_chunk(changed, mode, Some(&opening)), Err(expected.clone()), "{at}");
                    }
                }
                for length in 0..chunk.len() {
                    let changed = BytesMut::from(&chunk[..length]);
                    assert_eq!(open_chunk(changed, mode, Some(&opening)), Err(expected.clone()), "{length}");
                }
            }
        }
    }

    /// Padding that its sender got wrong is refused although its signature is good.
    #[test]
    fn padding_is_checked_to_the_last_byte() {
        let mode = MessageSecurityMode::SignAndEncrypt;
        let (sealing, opening) = sealing(SecurityPolicy::Basic256Sha256, mode);
        let keys = sealing.keys.as_ref().unwrap();
        let seal = |padding: &[u8]| {
            let mut chunk = BytesMut::from(&[0; SYMMETRIC_HEADER_BYTES + SEQUENCE_HEADER_BYTES][..]);
            chunk.put_slice(padding);
            let signature = keys.sign(&chunk);
            chunk.put_slice(&signature);
            keys.encrypt(&mut chunk[SYMMETRIC_HEADER_BYTES..]).unwrap();
            open_chunk(chunk, mode, Some(&opening)).map(|(_, body)| body.len())
        };
        assert_eq!(seal(&[7; 8]), Ok(0));
        assert_eq!(
            seal(&[7, 7, 7, 7, 0, 7, 7, 7]).unwrap_err().status(),
            StatusCode::BadSecurityChecksFailed
        );
        assert_eq!(seal(&[200; 8]).unwrap_err().status(), StatusCode::BadSecurityChecksFailed);
        assert_eq!(seal(&[23; 24]), Ok(0));
        assert_eq!(seal(&[31; 24]).unwrap_err().status(), StatusCode::BadSecurityChecksFailed);
        assert_eq!(seal(&[9, 9, 9, 9, 9, 9, 9, 0]), Ok(7));
    }
}
