//! The half of a channel that reads: bytes into chunks, chunks into messages, under whichever of two keys they name.

use std::ops::RangeInclusive;

use bytes::{Bytes, BytesMut};
use opcua_types::{MessageSecurityMode, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;

use super::symmetric::open_chunk;
use crate::crypto::OpeningKeys;
use crate::error::Error;
use crate::wire::{
    Assembler, AssemblyStep, CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, ErrorMessage, IncomingSequence,
    MessageLimits, WireReader, next_chunk,
};

/// How much is read at once: at least, which each idle connection keeps, and at most, where one read finds that much again and again.
const READ_BYTES: RangeInclusive<usize> = 1024..=16 * 1024;

/// One token of a channel, as its messages are opened.
pub(super) struct OpeningToken {
    pub(super) id: u32,
    /// `None` only without security.
    pub(super) keys: Option<OpeningKeys>,
    /// When nothing is taken under it any more: 25 % after its life (Part 4, 5.5.2).
    pub(super) expires: Instant,
}

/// What was read.
pub(super) enum IncomingMessage {
    /// A service message.
    Message { request_id: u32, body: Bytes },
    /// An OpenSecureChannel chunk, as it came.
    Open(BytesMut),
    /// The peer closes the channel.
    Close,
    /// The peer gave a message up.
    Aborted { request_id: u32, status: StatusCode },
    /// A message came under the new token for the first time: the old one counts no more. What came is read next.
    Switched { token_id: u32 },
}

/// Reads one channel.
pub(super) struct ChannelReceiver<R> {
    io: R,
    buffer: BytesMut,
    /// How much is read at once, of late.
    read_bytes: usize,
    chunk_bytes_max: u32,
    pub(super) limits: MessageLimits,
    pub(super) channel_id: u32,
    pub(super) mode: MessageSecurityMode,
    current: Option<OpeningToken>,
    next: Option<OpeningToken>,
    sequence: IncomingSequence,
    assembler: Assembler,
}

impl<R: AsyncRead + Unpin> ChannelReceiver<R> {
    /// Nothing is secured yet: only chunks up to that size are taken.
    pub(super) fn new(io: R, chunk_bytes_max: u32) -> ChannelReceiver<R> {
        ChannelReceiver {
            io,
            buffer: BytesMut::new(),
            read_bytes: *READ_BYTES.start(),
            chunk_bytes_max,
            limits: MessageLimits::BEFORE_ACTIVATION,
            channel_id: 0,
            mode: MessageSecurityMode::Invalid,
            current: None,
            next: None,
            sequence: IncomingSequence::default(),
            assembler: Assembler::default(),
        }
    }

    /// What Hello and Acknowledge agreed on.
    pub(super) fn set_chunk_bytes_max(&mut self, bytes: u32) {
        self.chunk_bytes_max = bytes;
    }

    /// The next token: the first one counts at once, a later one when a message comes under it.
    pub(super) fn set_token(&mut self, token: OpeningToken) {
        if self.current.is_none() {
            self.current = Some(token);
        } else {
            self.next = Some(token);
        }
    }

    /// When the channel's last token ends.
    pub(super) fn expires(&self) -> Option<Instant> {
        self.next.as_ref().or(self.current.as_ref()).map(|token| token.expires)
    }

    /// The sequence number of an OpenSecureChannel message counts among the others.
    pub(super) fn check_sequence(&mut self, number: u32) -> Result<(), Error> {
        self.sequence.check(number)
    }

    /// Whether another whole chunk was read already.
    pub(super) fn has_chunk(&self) -> bool {
        match ChunkHeader::decode(&self.buffer) {
            Ok(Some(header)) => self.buffer.len() >= header.size as usize,
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// The next chunk, as it came; `None` at the end of the stream.
    pub(super) async fn chunk(&mut self) -> Result<Option<(ChunkHeader, BytesMut)>, Error> {
        loop {
            if let Some(chunk) = next_chunk(&mut self.buffer, self.chunk_bytes_max)? {
                return Ok(Some(chunk));
            }
            self.fill().await?;
            if self.buffer.is_empty() {
                return Ok(None);
            }
        }
    }

    /// The next event; `None` at the end of the stream. Can be dropped at any time.
    pub(super) async fn next(&mut self) -> Result<Option<IncomingMessage>, Error> {
        loop {
            // Under which token it comes is seen before it is taken off the buffer, so that `Switched` loses nothing.
            if let Some(token_id) = self.switch_due() {
                self.current = self.next.take();
                return Ok(Some(IncomingMessage::Switched { token_id }));
            }
            if !self.has_chunk() {
                self.fill().await?;
                if self.buffer.is_empty() {
                    return Ok(None);
                }
                continue;
            }
            let Some((header, chunk)) = next_chunk(&mut self.buffer, self.chunk_bytes_max)? else { continue };
            if let Some(incoming) = self.open(header, chunk)? {
                return Ok(Some(incoming));
            }
        }
    }

    /// Reads once. Can be dropped at any time: what is read is in the buffer or not at all.
    async fn fill(&mut self) -> Result<(), Error> {
        let header = ChunkHeader::decode(&self.buffer)?;
        let size = header.map_or(0, |header| header.size);
        if size > self.chunk_bytes_max {
            return Err(Error::new(
                StatusCode::BadTcpMessageTooLarge,
                "a chunk is larger than was agreed on",
            ));
        }
        let missing = (size as usize).saturating_sub(self.buffer.len()).max(self.read_bytes / 4);
        if self.buffer.capacity() - self.buffer.len() < missing {
            self.buffer.reserve(missing.max(self.read_bytes));
        }
        let space = self.buffer.capacity() - self.buffer.len();
        let read = self.io.read_buf(&mut self.buffer).await?;
        self.adapt(read, space);
        if read == 0 && !self.buffer.is_empty() {
            return Err(Error::new(
                StatusCode::BadConnectionClosed,
                "the stream ends in the middle of a chunk",
            ));
        }
        Ok(())
    }

    /// Reads more at once where a read filled all of its space, less where it found little.
    fn adapt(&mut self, read: usize, space: usize) {
        if read == space {
            self.read_bytes = (2 * self.read_bytes).min(*READ_BYTES.end());
        } else if read < self.read_bytes / 4 {
            self.read_bytes = (self.read_bytes / 2).max(*READ_BYTES.start());
        }
    }

    fn switch_due(&self) -> Option<u32> {
        let next = self.next.as_ref()?;
        let header = ChunkHeader::decode(&self.buffer).ok()??;
        let named = self.buffer.get(CHUNK_HEADER_BYTES + 4..CHUNK_HEADER_BYTES + 8)?;
        let secured = matches!(header.kind, ChunkKind::Message | ChunkKind::Close);
        (secured && self.buffer.len() >= header.size as usize && named == next.id.to_le_bytes())
            .then_some(next.id)
    }

    fn open(&mut self, header: ChunkHeader, chunk: BytesMut) -> Result<Option<IncomingMessage>, Error> {
        match header.kind {
            ChunkKind::Message | ChunkKind::Close => {}
            ChunkKind::Open => return Ok(Some(IncomingMessage::Open(chunk))),
            ChunkKind::Error => {
                return Err(ErrorMessage::decode(chunk.get(CHUNK_HEADER_BYTES..).unwrap_or_default())?.into());
            }
            ChunkKind::Hello | ChunkKind::Acknowledge => {
                return Err(Error::new(
                    StatusCode::BadTcpMessageTypeInvalid,
                    "the connection has begun already",
                ));
            }
        }
        let mut fields = WireReader::new(&chunk);
        fields.take(CHUNK_HEADER_BYTES)?;
        let (channel_id, token_id) = (fields.u32()?, fields.u32()?);
        let known = self.current.as_ref().filter(|token| token.id == token_id);
        let token = known.ok_or_else(|| {
            Error::new(
                StatusCode::BadSecureChannelTokenUnknown,
                "a message names a token that the channel has not",
            )
        })?;
        if channel_id != self.channel_id {
            return Err(Error::new(StatusCode::BadSecureChannelIdInvalid, "a message names another channel"));
        }
        if token.expires <= Instant::now() {
            return Err(Error::new(
                StatusCode::BadSecureChannelTokenUnknown,
                "a message comes under an expired token",
            ));
        }
        let (sequence, body) = open_chunk(chunk, self.mode, token.keys.as_ref())?;
        self.sequence.check(sequence.number)?;
        if header.kind == ChunkKind::Close {
            return Ok(Some(IncomingMessage::Close));
        }
        Ok(match self.assembler.push(header.finality, sequence.request_id, body, self.limits)? {
            AssemblyStep::Incomplete => None,
            AssemblyStep::Message { request_id, body } => Some(IncomingMessage::Message { request_id, body }),
            AssemblyStep::Aborted { request_id, status } => {
                Some(IncomingMessage::Aborted { request_id, status })
            }
        })
    }
}
