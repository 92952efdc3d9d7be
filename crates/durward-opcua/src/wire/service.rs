//! Service messages without decoding them: where the fields of their headers stand, and how to change them.

use bytes::{Bytes, BytesMut};
use durward_identity::Moment;
use opcua_types::{BinaryEncodable, DateTime, NodeId, ObjectId, ResponseHeader, ServiceFault, StatusCode};

use super::context::encode_service;
use super::reader::WireReader;
use crate::error::Error;

/// 100 ns ticks from 1601, where `DateTime` begins, to 1970 (Part 6, 5.2.2.5).
const TICKS_BEFORE_1970: i64 = 116_444_736_000_000_000;

/// What a request begins with: its type and the fields of its header that matter on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPeek {
    /// The type: the identifier, in namespace 0, of its binary encoding.
    pub type_id: u32,
    /// Where the authentication token stands, as an encoded node id.
    pub token: std::ops::Range<usize>,
    /// The client's handle.
    pub handle: u32,
    /// How long the client waits, in milliseconds; 0 when it does not say.
    pub timeout_hint_ms: u32,
    /// Where the parameters begin, behind the header.
    pub parameters: usize,
}

impl RequestPeek {
    /// Reads the type and the header of a request.
    ///
    /// # Errors
    /// Truncated, or no service of namespace 0.
    pub fn read(body: &[u8]) -> Result<RequestPeek, Error> {
        let (type_id, length) = type_id(body)?;
        let mut reader = WireReader::new(body);
        reader.take(length)?;
        reader.skip_node_id()?;
        let token = length..reader.position();
        let _timestamp = reader.i64()?;
        let handle = reader.u32()?;
        let _diagnostics = reader.u32()?;
        let _audit_entry = reader.byte_string()?;
        let timeout_hint_ms = reader.u32()?;
        reader.skip_extension_object()?;
        Ok(RequestPeek { type_id, token, handle, timeout_hint_ms, parameters: reader.position() })
    }

    /// Where the handle stands.
    pub fn handle_offset(&self) -> usize {
        self.token.end + 8
    }

    /// The bytes of an authentication token that is an opaque node id of namespace 0, as this crate gives them out.
    pub fn opaque_token<'a>(&self, body: &'a [u8]) -> Option<&'a [u8]> {
        match body.get(self.token.clone())? {
            [5, 0, 0, _, _, _, _, token @ ..] => Some(token),
            _ => None,
        }
    }
}

/// What a response begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponsePeek {
    /// The type: the identifier, in namespace 0, of its binary encoding.
    pub type_id: u32,
    /// The handle of the request.
    pub handle: u32,
    /// Where the handle stands.
    pub handle_offset: usize,
    /// The result of the whole service.
    pub service_result: StatusCode,
}

impl ResponsePeek {
    /// Reads the type and the beginning of the header of a response.
    ///
    /// # Errors
    /// Truncated, or no service of namespace 0.
    pub fn read(body: &[u8]) -> Result<ResponsePeek, Error> {
        let (type_id, length) = type_id(body)?;
        let mut reader = WireReader::new(body);
        reader.take(length)?;
        let _timestamp = reader.i64()?;
        let handle_offset = reader.position();
        let handle = reader.u32()?;
        let service_result = StatusCode::from(reader.u32()?);
        Ok(ResponsePeek { type_id, handle, handle_offset, service_result })
    }

    /// Whether this is a `ServiceFault`.
    pub fn is_fault(&self) -> bool {
        self.type_id == ObjectId::ServiceFault_Encoding_DefaultBinary as u32
    }
}

/// The numeric identifier that a body begins with, and how many bytes it has. Services are of namespace 0.
///
/// # Errors
/// Truncated, not numeric, or of another namespace.
pub fn type_id(body: &[u8]) -> Result<(u32, usize), Error> {
    match *body {
        [0, id, ..] => Ok((u32::from(id), 2)),
        [1, 0, low, high, ..] => Ok((u32::from(u16::from_le_bytes([low, high])), 4)),
        [2, 0, 0, a, b, c, d, ..] => Ok((u32::from_le_bytes([a, b, c, d]), 7)),
        _ => Err(Error::decoding("a message begins with no type of the standard")),
    }
}

/// A request with another authentication token (an encoded node id, see [`encode_node_id`]); all else stays as it came.
pub fn replace_token(body: &[u8], peek: &RequestPeek, token: &[u8]) -> BytesMut {
    let (before, after) =
        (body.get(..peek.token.start).unwrap_or_default(), body.get(peek.token.end..).unwrap_or_default());
    let mut replaced = BytesMut::with_capacity(before.len() + token.len() + after.len());
    replaced.extend_from_slice(before);
    replaced.extend_from_slice(token);
    replaced.extend_from_slice(after);
    replaced
}

/// Writes another handle at that place of a request or response; nothing when the place is not in the body.
pub fn patch_handle(body: &mut [u8], offset: usize, handle: u32) {
    if let Some(place) = body.get_mut(offset..).and_then(|rest| rest.first_chunk_mut::<4>()) {
        *place = handle.to_le_bytes();
    }
}

/// A node id as it stands in a message.
pub fn encode_node_id(id: &NodeId) -> Vec<u8> {
    id.encode_to_vec(&super::context().context())
}

/// A moment as the standard's type.
pub fn datetime(moment: Moment) -> DateTime {
    let ticks = i64::try_from(moment.ms()).unwrap_or(i64::MAX).saturating_mul(10_000);
    DateTime::from(ticks.saturating_add(TICKS_BEFORE_1970))
}

/// The header of a response.
pub fn response_header(handle: u32, result: StatusCode, moment: Moment) -> ResponseHeader {
    ResponseHeader::new_timestamped_service_result(datetime(moment), handle, result)
}

/// A `ServiceFault`.
pub fn fault(handle: u32, result: StatusCode, moment: Moment) -> Bytes {
    let fault = ServiceFault { response_header: response_header(handle, result, moment) };
    // INVARIANT: a fault has neither strings nor extension objects that could fail to encode.
    encode_service(&super::context().context(), &fault).unwrap_or_default()
}
