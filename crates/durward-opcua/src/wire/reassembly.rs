//! Chunks into messages, within limits.

use bytes::{Bytes, BytesMut};
use opcua_types::StatusCode;

use super::chunk::Finality;
use super::limits::MessageLimits;
use super::reader::WireReader;
use crate::error::Error;

/// What a chunk led to.
#[derive(Debug, PartialEq, Eq)]
pub enum AssemblyStep {
    /// More chunks are needed.
    Incomplete,
    /// A whole message.
    Message {
        /// Its request.
        request_id: u32,
        /// The body.
        body: Bytes,
    },
    /// The sender gave the message up.
    Aborted {
        /// Its request.
        request_id: u32,
        /// Why, as the sender says.
        status: StatusCode,
    },
}

/// The message whose chunks come in. One at a time: chunks of different messages do not mix on a channel here, which no stack
/// known does, and which would let a peer fill memory with beginnings.
#[derive(Debug, Default)]
pub struct Assembler {
    partial: Option<PartialMessage>,
}

#[derive(Debug)]
struct PartialMessage {
    request_id: u32,
    chunk_count: u32,
    body: BytesMut,
}

impl Assembler {
    /// Takes the body of the next chunk. A message of one chunk is not copied.
    ///
    /// # Errors
    /// `BadTcpMessageTooLarge` when a limit is exceeded (what was gathered is dropped), `BadTcpMessageTypeInvalid` when chunks of two
    /// messages mix.
    pub fn push(
        &mut self,
        finality: Finality,
        request_id: u32,
        chunk: BytesMut,
        limits: MessageLimits,
    ) -> Result<AssemblyStep, Error> {
        let partial = self.partial.take();
        if partial.as_ref().is_some_and(|partial| partial.request_id != request_id) {
            return Err(Error::new(StatusCode::BadTcpMessageTypeInvalid, "chunks of two messages are mixed"));
        }
        if finality == Finality::Abort {
            let status =
                WireReader::new(&chunk).u32().map_or(StatusCode::BadUnexpectedError, StatusCode::from);
            return Ok(AssemblyStep::Aborted { request_id, status });
        }
        let gathered = partial.as_ref().map_or(0, |partial| partial.body.len());
        let chunk_count = partial.as_ref().map_or(0, |partial| partial.chunk_count) + 1;
        if gathered + chunk.len() > limits.message_bytes_max as usize || chunk_count > limits.chunk_count_max
        {
            return Err(Error::new(
                StatusCode::BadTcpMessageTooLarge,
                format!(
                    "a message exceeds {} bytes or {} chunks",
                    limits.message_bytes_max, limits.chunk_count_max
                ),
            ));
        }
        let body = match partial {
            None => chunk,
            Some(partial) => {
                let mut body = partial.body;
                body.extend_from_slice(&chunk);
                body
            }
        };
        if finality == Finality::Final {
            return Ok(AssemblyStep::Message { request_id, body: body.freeze() });
        }
        self.partial = Some(PartialMessage { request_id, chunk_count, body });
        Ok(AssemblyStep::Incomplete)
    }
}
