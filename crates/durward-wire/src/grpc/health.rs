//! `grpc.health.v1`: whether a service may be asked.
//!
//! ```text
//! HealthCheckRequest { 1 string service }
//! HealthCheckResponse { 1 enum ServingStatus }
//! ```

use bytes::BytesMut;

use crate::protobuf::{DecodeError, Field, Reader, error, put_number};

/// `ServingStatus`; 0, which nobody sends, is `UNKNOWN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// It may be asked.
    Serving,
    /// It may not be asked at the moment.
    NotServing,
    /// Only a watch says so of a service that is not there.
    ServiceUnknown,
}

impl Serving {
    /// Its number.
    pub const fn number(self) -> u64 {
        match self {
            Serving::Serving => 1,
            Serving::NotServing => 2,
            Serving::ServiceUnknown => 3,
        }
    }
}

/// The service that is asked about; none is the server as a whole.
///
/// # Errors
/// Bytes that are no `HealthCheckRequest`.
pub fn read_request(bytes: &[u8]) -> Result<&str, DecodeError> {
    let mut service = None;
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        if number == 1 && service.replace(content.text()?).is_some() {
            return error("a service is there twice");
        }
    }
    Ok(service.unwrap_or_default())
}

/// Appends a `HealthCheckResponse`.
pub fn write_response(out: &mut BytesMut, serving: Serving) {
    put_number(out, 1, serving.number());
}
