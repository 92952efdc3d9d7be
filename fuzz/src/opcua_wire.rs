//! Bytes of OPC UA connections: chunks, their headers, Hello, and the services that anybody may send. What is read is written and read again as the same.

use bytes::BytesMut;
use durward_opcua::wire::{
    Acknowledge, Assembled, Assembler, AsymmetricHeader, ChunkHeader, ErrorMessage, Hello, Limits,
    MessageLimits, RequestPeek, ResponsePeek, SequenceHeader, context, decode_service, next_chunk, type_id,
};
use opcua_types::{
    CancelRequest, CloseSessionRequest, CreateSessionRequest, FindServersRequest, GetEndpointsRequest,
    OpenSecureChannelRequest,
};

const CHUNK_BYTES_MAX: u32 = 8_192;
const LIMITS: MessageLimits = MessageLimits { message_bytes_max: 4_096, chunk_count_max: 4 };

fn chunks(bytes: &[u8]) {
    let mut read = BytesMut::from(bytes);
    let mut assembler = Assembler::default();
    while let Ok(Some((header, chunk))) = next_chunk(&mut read, CHUNK_BYTES_MAX) {
        assert!(chunk.len() <= CHUNK_BYTES_MAX as usize);
        let mut out = BytesMut::new();
        header.encode(&mut out);
        assert_eq!(ChunkHeader::decode(&out).unwrap(), Some(header));
        if let Ok((asymmetric, end)) = AsymmetricHeader::decode(&chunk) {
            assert!(end <= chunk.len());
            let mut out = BytesMut::new();
            asymmetric.encode(&mut out);
        }
        let sequence = SequenceHeader::decode(&chunk);
        let request_id = sequence.map_or(0, |sequence| sequence.request_id);
        if let Ok(Assembled::Message { body, .. }) =
            assembler.push(header.finality, request_id, chunk, LIMITS)
        {
            assert!(body.len() <= LIMITS.message_bytes_max as usize);
            services(&body);
        }
    }
}

/// As the layers above do: nothing is decoded that was not walked.
fn services(body: &[u8]) {
    let _ = type_id(body);
    let _ = ResponsePeek::read(body);
    let Ok(peek) = RequestPeek::read(body) else { return };
    assert!(peek.parameters <= body.len());
    let owned = context();
    let context = owned.context();
    let _ = decode_service::<OpenSecureChannelRequest>(&context, body);
    let _ = decode_service::<CreateSessionRequest>(&context, body);
    let _ = decode_service::<CloseSessionRequest>(&context, body);
    let _ = decode_service::<GetEndpointsRequest>(&context, body);
    let _ = decode_service::<FindServersRequest>(&context, body);
    let _ = decode_service::<CancelRequest>(&context, body);
}

pub(crate) fn run(bytes: &[u8]) {
    chunks(bytes);
    services(bytes);
    if let Ok(hello) = Hello::decode(bytes) {
        let acknowledge = Acknowledge::negotiate(&Limits::DEFAULT, &hello);
        assert!(acknowledge.receive_buffer_bytes <= Limits::DEFAULT.receive_buffer_bytes);
        let _ = Acknowledge::decode(bytes, &hello);
    }
    let _ = ErrorMessage::decode(bytes);
}
