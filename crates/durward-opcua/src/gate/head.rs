//! The header of a response: found without decoding it, and changed in place.

use bytes::{Bytes, BytesMut};
use opcua_types::StatusCode;

use super::mediate::walk::{DecodeError, WalkResult, Walker};
use crate::wire;

/// An additional header that is null.
pub(super) const NO_HEADER: [u8; 3] = [0, 0, 0];

/// Where the fields of a response's header stand.
pub(super) struct ResponseHeaderFields {
    pub(super) type_id: u32,
    pub(super) handle_offset: usize,
    pub(super) service_result: StatusCode,
    /// Where the additional header begins.
    additional: usize,
    /// Where the body begins.
    pub(super) parameters: usize,
    /// There is no additional header: the response can go on as it is.
    pub(super) is_plain: bool,
}

impl ResponseHeaderFields {
    pub(super) fn read(response: &[u8]) -> WalkResult<ResponseHeaderFields> {
        let (type_id, length) = wire::type_id(response).map_err(|_| DecodeError)?;
        let mut walker = Walker::new(response);
        walker.take(length + 8)?;
        let handle_offset = walker.at();
        walker.u32()?;
        let service_result = walker.status()?;
        walker.skip_diagnostic_info()?;
        walker.skip_array(|walker| walker.text().map(drop))?;
        let additional = walker.at();
        walker.skip_extension()?;
        let is_plain = walker.since(additional) == NO_HEADER;
        Ok(ResponseHeaderFields {
            type_id,
            handle_offset,
            service_result,
            additional,
            parameters: walker.at(),
            is_plain,
        })
    }

    /// The response with another handle: in place, where nobody else has the bytes.
    pub(super) fn patched(response: Bytes, handle_offset: usize, handle: u32) -> Bytes {
        let mut response = response.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&*shared));
        wire::patch_handle(&mut response, handle_offset, handle);
        response.freeze()
    }

    /// The header, without what is additional, and another body.
    pub(super) fn rebuilt(&self, response: &[u8], body: &[u8], handle: u32) -> Bytes {
        let header = response.get(..self.additional).unwrap_or_default();
        let mut rebuilt = BytesMut::with_capacity(header.len() + NO_HEADER.len() + body.len());
        rebuilt.extend_from_slice(header);
        rebuilt.extend_from_slice(&NO_HEADER);
        rebuilt.extend_from_slice(body);
        wire::patch_handle(&mut rebuilt, self.handle_offset, handle);
        rebuilt.freeze()
    }
}
