//! Bytes of the connection protocol and of secure conversation (Part 6, 6.7 and 7.1), and what must be known of a service message
//! without decoding it.
//!
//! Bytes in, bytes out: no socket, no key, no clock. Security is put on and taken off chunks by `channel`, with `crypto`.

mod chunk;
mod context;
mod hello;
mod limits;
mod reader;
mod reassembly;
mod sequence;
mod service;
mod shape;

pub use chunk::{
    AsymmetricHeader, CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Finality, SEQUENCE_HEADER_BYTES,
    SYMMETRIC_HEADER_BYTES, SequenceHeader, next_chunk,
};
pub(crate) use context::encoding_of;
pub use context::{context, decode_service, encode_service};
pub use hello::{Acknowledge, ENDPOINT_URL_BYTES_MAX, ErrorMessage, HELLO_BYTES_MAX, HelloMessage};
pub use limits::{BUFFER_BYTES_MIN, MessageLimits, TransportLimits};
pub(crate) use reader::WireReader;
pub use reassembly::{Assembler, AssemblyStep};
pub use sequence::{IncomingSequence, OutgoingSequence};
pub use service::{
    RequestPeek, ResponsePeek, datetime, encode_node_id, fault, patch_handle, replace_token, response_header,
    type_id,
};
pub(crate) use shape::{check_service, check_structure};
