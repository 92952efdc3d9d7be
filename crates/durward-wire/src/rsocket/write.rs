//! Frames written at the end of a buffer, for a responder and for a requester.
//!
//! A frame is begun, its content written in place, and its length set afterwards: nothing is written twice.

use bytes::{BufMut, Bytes, BytesMut};

use super::frame::{
    ErrorCode, FRAME_BYTES_MAX, HEADER_BYTES, Interaction, LENGTH_BYTES, Setup, UNBOUNDED, flag, kind,
};

/// The data of one frame at most, where a payload has to go in several.
const FRAGMENT_BYTES_MAX: usize = FRAME_BYTES_MAX - HEADER_BYTES;

/// Longest reason in an error frame; longer ones are cut, not refused.
const REASON_BYTES_MAX: usize = 1024;

/// A frame that is being written.
struct Begun {
    start: usize,
}

impl Begun {
    fn new(out: &mut BytesMut, stream: u32, kind: u16, flags: u16) -> Begun {
        let start = out.len();
        out.put_bytes(0, LENGTH_BYTES);
        out.put_u32(stream);
        out.put_u16(kind << 10 | flags);
        Begun { start }
    }

    /// Sets the length. Callers have seen to it that it can be announced.
    fn end(self, out: &mut BytesMut) {
        let length = out.len() - self.start - LENGTH_BYTES;
        debug_assert!(length <= FRAME_BYTES_MAX);
        if let Some([high, middle, low, ..]) = out.get_mut(self.start..) {
            let [.., second, third, fourth] = u64::try_from(length).unwrap_or(0).to_be_bytes();
            (*high, *middle, *low) = (second, third, fourth);
        }
    }
}

/// A payload with `flags` ([`flag::NEXT`], [`flag::COMPLETE`]) and data that `write` appends; in several frames where
/// one cannot hold it.
pub fn payload(out: &mut BytesMut, stream: u32, flags: u16, write: impl FnOnce(&mut BytesMut)) {
    let begun = Begun::new(out, stream, kind::PAYLOAD, flags);
    let data = out.len();
    write(out);
    if out.len() - data <= FRAGMENT_BYTES_MAX {
        return begun.end(out);
    }
    let whole = out.split_off(data).freeze();
    out.truncate(begun.start);
    fragments(out, stream, flags, whole);
}

/// Every fragment says that there is a payload; only the last may end the stream.
fn fragments(out: &mut BytesMut, stream: u32, flags: u16, mut whole: Bytes) {
    while !whole.is_empty() {
        let part = whole.split_to(whole.len().min(FRAGMENT_BYTES_MAX));
        let own = if whole.is_empty() { flags } else { flags & !flag::COMPLETE | flag::FOLLOWS };
        let begun = Begun::new(out, stream, kind::PAYLOAD, own);
        out.put(part);
        begun.end(out);
    }
}

/// The end of a stream that failed, or with stream 0 of the connection.
pub fn error(out: &mut BytesMut, stream: u32, code: ErrorCode, reason: &str) {
    let begun = Begun::new(out, stream, kind::ERROR, 0);
    out.put_u32(code as u32);
    out.put_slice(reason.get(..reason.floor_char_boundary(REASON_BYTES_MAX)).unwrap_or(reason).as_bytes());
    begun.end(out);
}

/// A sign of life, or with `respond` the question for one.
pub fn keep_alive(out: &mut BytesMut, respond: bool, data: &[u8]) {
    let begun = Begun::new(out, 0, kind::KEEPALIVE, if respond { flag::RESPOND } else { 0 });
    out.put_u64(0);
    out.put_slice(data.get(..FRAGMENT_BYTES_MAX - 8).unwrap_or(data));
    begun.end(out);
}

/// The first frame of a client. MIME types are those of `rsocket-java` when nothing is said.
pub fn setup(out: &mut BytesMut, setup: &Setup) {
    const MIME_TYPE: &[u8] = b"application/binary";
    let mut flags = 0;
    for (is_set, bit) in [
        (setup.payload.metadata.is_some(), flag::METADATA),
        (setup.resumes, flag::RESUME),
        (setup.leases, flag::LEASE),
    ] {
        flags |= if is_set { bit } else { 0 };
    }
    let begun = Begun::new(out, 0, kind::SETUP, flags);
    out.put_u16(setup.major);
    out.put_u16(setup.minor);
    out.put_u32(setup.keep_alive_ms);
    out.put_u32(setup.lifetime_ms);
    if setup.resumes {
        out.put_u16(0);
    }
    for _mime_type in ["metadata", "data"] {
        // 18 bytes: the cast cannot cut.
        out.put_u8(MIME_TYPE.len() as u8);
        out.put_slice(MIME_TYPE);
    }
    metadata(out, setup.payload.metadata.as_deref());
    out.put_slice(&setup.payload.data);
    begun.end(out);
}

/// A client's request on `stream` for `route`, its data appended by `write`. `demand` counts for streams only.
///
/// What does not fit a frame is cut; a client keeps to [`FRAME_BYTES_MAX`].
pub fn request(
    out: &mut BytesMut,
    stream: u32,
    interaction: Interaction,
    demand: u32,
    route: &[u8],
    write: impl FnOnce(&mut BytesMut),
) {
    let kind = match interaction {
        Interaction::Response => kind::REQUEST_RESPONSE,
        Interaction::FireAndForget => kind::REQUEST_FNF,
        Interaction::Stream => kind::REQUEST_STREAM,
        Interaction::Channel => kind::REQUEST_CHANNEL,
    };
    let begun = Begun::new(out, stream, kind, flag::METADATA);
    match interaction {
        Interaction::Stream | Interaction::Channel => out.put_u32(demand.min(UNBOUNDED)),
        Interaction::Response | Interaction::FireAndForget => {}
    }
    metadata(out, Some(route));
    write(out);
    out.truncate(begun.start + LENGTH_BYTES + FRAME_BYTES_MAX);
    begun.end(out);
}

/// A client's word that it takes more payloads.
pub fn request_n(out: &mut BytesMut, stream: u32, demand: u32) {
    let begun = Begun::new(out, stream, kind::REQUEST_N, 0);
    out.put_u32(demand.min(UNBOUNDED));
    begun.end(out);
}

/// A client's word that it takes no more payloads.
pub fn cancel(out: &mut BytesMut, stream: u32) {
    Begun::new(out, stream, kind::CANCEL, 0).end(out);
}

fn metadata(out: &mut BytesMut, metadata: Option<&[u8]>) {
    if let Some(metadata) = metadata {
        out.put_uint(metadata.len().min(FRAME_BYTES_MAX) as u64, LENGTH_BYTES);
        out.put_slice(metadata.get(..FRAME_BYTES_MAX).unwrap_or(metadata));
    }
}
