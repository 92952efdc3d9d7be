//! Headers, chunks, sequence numbers, and service messages that are read without being decoded.

use bytes::BytesMut;
use durward_opcua::wire::{
    self, Acknowledge, Assembler, AssemblyStep, AsymmetricHeader, BUFFER_BYTES_MIN, ChunkHeader, ChunkKind,
    ErrorMessage, Finality, HelloMessage, IncomingSequence, MessageLimits, OutgoingSequence, RequestPeek,
    ResponsePeek, SequenceHeader, TransportLimits, context, decode_service, encode_service, next_chunk,
};
use opcua_types::{
    ByteString, ExtensionObject, Guid, NodeId, ObjectId, ReadRequest, RequestHeader, ServiceFault,
    StatusCode, UAString,
};

use crate::fixture::{NOW, status};

#[test]
fn hello_and_acknowledge_agree_on_the_smaller_buffers() {
    let hello = HelloMessage {
        receive_buffer_bytes: 10_000,
        send_buffer_bytes: 200_000,
        limits: MessageLimits { message_bytes_max: 5, chunk_count_max: 0 },
        endpoint_url: "opc.tcp://plc:4840".to_owned(),
    };
    let encoded = hello.encode();
    let header = ChunkHeader::decode(&encoded).unwrap().unwrap();
    assert_eq!(
        (header.kind, header.finality, header.size as usize),
        (ChunkKind::Hello, Finality::Final, encoded.len())
    );
    let read = HelloMessage::decode(&encoded[8..]).unwrap();
    assert_eq!(read.limits, MessageLimits { message_bytes_max: 5, chunk_count_max: u32::MAX });
    let acknowledge = Acknowledge::negotiate(&TransportLimits::DEFAULT, &read);
    assert_eq!((acknowledge.receive_buffer_bytes, acknowledge.send_buffer_bytes), (65_535, 10_000));
    assert_eq!(Acknowledge::decode(&acknowledge.encode()[8..], &hello).unwrap(), acknowledge);
    let larger = Acknowledge { send_buffer_bytes: 10_001, ..acknowledge };
    assert_eq!(status(Acknowledge::decode(&larger.encode()[8..], &hello)), StatusCode::BadConnectionRejected);
}

#[test]
fn hello_below_the_minimum_or_with_a_long_url_is_refused() {
    let hello = HelloMessage::new(&TransportLimits::DEFAULT, "opc.tcp://plc");
    let small = HelloMessage { receive_buffer_bytes: BUFFER_BYTES_MIN - 1, ..hello.clone() };
    assert_eq!(status(HelloMessage::decode(&small.encode()[8..])), StatusCode::BadConnectionRejected);
    let exact = HelloMessage { endpoint_url: "x".repeat(4_096), ..hello.clone() };
    HelloMessage::decode(&exact.encode()[8..]).unwrap();
    let long = HelloMessage { endpoint_url: "x".repeat(4_097), ..hello.clone() };
    assert_eq!(status(HelloMessage::decode(&long.encode()[8..])), StatusCode::BadTcpEndpointUrlInvalid);
    let encoded = hello.encode();
    for length in 8..encoded.len() {
        assert_eq!(status(HelloMessage::decode(&encoded[8..length])), StatusCode::BadDecodingError);
    }
}

#[test]
fn errors_are_cut_at_a_character_and_lose_control_characters() {
    let message = ErrorMessage { status: StatusCode::BadTimeout, reason: "ä".repeat(3_000) };
    let read = ErrorMessage::decode(&message.encode()[8..]).unwrap();
    assert_eq!((read.status, read.reason.len()), (StatusCode::BadTimeout, 4_096));
    let escape = ErrorMessage { status: StatusCode::BadTimeout, reason: "a\u{1b}[31mb\n".to_owned() };
    let error = durward_opcua::error::Error::from(escape);
    assert_eq!(error.reason(), "the peer closed the connection: a[31mb");
}

#[test]
fn chunks_are_found_in_a_stream_and_bounded_by_their_header() {
    let mut chunk = BytesMut::new();
    ChunkHeader { kind: ChunkKind::Message, finality: Finality::Intermediate, size: 12 }.encode(&mut chunk);
    chunk.extend_from_slice(&[1, 2, 3, 4]);
    let mut stream = BytesMut::new();
    for _ in 0..2 {
        stream.extend_from_slice(&chunk);
    }
    stream.extend_from_slice(&chunk[..9]);
    for _ in 0..2 {
        let (header, found) = next_chunk(&mut stream, 12).unwrap().unwrap();
        assert_eq!((header.finality, found.len()), (Finality::Intermediate, 12));
    }
    assert!(next_chunk(&mut stream, 12).unwrap().is_none());
    assert_eq!(status(next_chunk(&mut stream, 11)), StatusCode::BadTcpMessageTooLarge);
    for wrong in [b"XXXF\x08\0\0\0", b"OPNC\x08\0\0\0", b"MSGX\x08\0\0\0", b"CLOA\x08\0\0\0"] {
        assert_eq!(status(ChunkHeader::decode(wrong)), StatusCode::BadTcpMessageTypeInvalid);
    }
}

#[test]
fn asymmetric_headers_come_back_and_are_bounded() {
    let header = AsymmetricHeader {
        channel_id: 7,
        policy_uri: "uri".to_owned(),
        sender_certificate: vec![1; 1_000],
        receiver_thumbprint: vec![2; 20],
    };
    let encode = |header: &AsymmetricHeader| {
        let mut chunk = BytesMut::from(&[0; 8][..]);
        header.encode(&mut chunk);
        chunk.to_vec()
    };
    let bytes = encode(&header);
    assert_eq!(AsymmetricHeader::decode(&bytes).unwrap(), (header.clone(), bytes.len()));
    let long = AsymmetricHeader { policy_uri: "x".repeat(256), ..header.clone() };
    assert_eq!(status(AsymmetricHeader::decode(&encode(&long))), StatusCode::BadDecodingError);
    let long = AsymmetricHeader { sender_certificate: vec![0; 33_000], ..header };
    assert_eq!(status(AsymmetricHeader::decode(&encode(&long))), StatusCode::BadDecodingError);
    let mut negative = bytes.clone();
    negative[12..16].copy_from_slice(&(-2_i32).to_le_bytes());
    assert_eq!(status(AsymmetricHeader::decode(&negative)), StatusCode::BadDecodingError);
}

#[test]
fn sequence_numbers_follow_and_wrap() {
    let mut sent = OutgoingSequence::default();
    assert_eq!((sent.take(), sent.take()), (1, 2));
    let mut received = IncomingSequence::default();
    for number in [51, 52, 53] {
        received.check(number).unwrap();
    }
    for number in [53, 55, 52, 0] {
        assert_eq!(status(received.check(number)), StatusCode::BadSequenceNumberInvalid);
    }
    // This side wraps where the standard lets it, and takes what it sends.
    let mut sent = OutgoingSequence::after(u32::MAX - 1_026);
    let mut received = IncomingSequence::default();
    let numbers: Vec<u32> = (0..4).map(|_| sent.take()).collect();
    assert_eq!(numbers, [u32::MAX - 1_025, u32::MAX - 1_024, 1, 2]);
    for number in numbers {
        received.check(number).unwrap();
    }
    // Later wraps are allowed to others, to a number below 1024; earlier ones are not.
    for (last, next, good) in [
        (u32::MAX, 0, true),
        (u32::MAX - 3, 1_023, true),
        (u32::MAX - 3, 1_024, false),
        (u32::MAX - 1_025, 1, false),
        (u32::MAX, 1, true),
    ] {
        let mut received = IncomingSequence::default();
        received.check(last).unwrap();
        assert_eq!(received.check(next).is_ok(), good, "{last} {next}");
    }
    let header = SequenceHeader { number: 3, request_id: 4 };
    let mut bytes = BytesMut::new();
    header.encode(&mut bytes);
    assert_eq!(SequenceHeader::decode(&bytes).unwrap(), header);
}

#[test]
fn messages_are_assembled_within_limits() {
    let limits = MessageLimits { message_bytes_max: 10, chunk_count_max: 3 };
    let piece = |length: usize| BytesMut::from(vec![9; length].as_slice());
    let mut assembler = Assembler::default();
    let more = assembler.push(Finality::Intermediate, 1, piece(4), limits).unwrap();
    assert_eq!(more, AssemblyStep::Incomplete);
    let whole = assembler.push(Finality::Final, 1, piece(6), limits).unwrap();
    assert_eq!(whole, AssemblyStep::Message { request_id: 1, body: vec![9; 10].into() });
    // One byte, or one chunk, more.
    assembler.push(Finality::Intermediate, 2, piece(4), limits).unwrap();
    assert_eq!(
        status(assembler.push(Finality::Final, 2, piece(7), limits)),
        StatusCode::BadTcpMessageTooLarge
    );
    for _ in 0..3 {
        assembler.push(Finality::Intermediate, 3, piece(0), limits).unwrap();
    }
    assert_eq!(
        status(assembler.push(Finality::Final, 3, piece(0), limits)),
        StatusCode::BadTcpMessageTooLarge
    );
    // An abort drops what was gathered, and says why.
    assembler.push(Finality::Intermediate, 4, piece(4), limits).unwrap();
    let reason = BytesMut::from(StatusCode::BadTimeout.bits().to_le_bytes().as_slice());
    let aborted = assembler.push(Finality::Abort, 4, reason, limits).unwrap();
    assert_eq!(aborted, AssemblyStep::Aborted { request_id: 4, status: StatusCode::BadTimeout });
    let next = assembler.push(Finality::Final, 5, piece(10), limits).unwrap();
    assert!(matches!(next, AssemblyStep::Message { request_id: 5, .. }));
}

fn request(token: NodeId) -> ReadRequest {
    ReadRequest {
        request_header: RequestHeader {
            authentication_token: token,
            request_handle: 0x0102_0304,
            audit_entry_id: UAString::from("audit"),
            timeout_hint: 1_234,
            additional_header: ExtensionObject::new(ServiceFault::default()),
            ..RequestHeader::default()
        },
        ..ReadRequest::default()
    }
}

#[test]
fn requests_are_read_and_changed_without_being_decoded() {
    let owned = context();
    let tokens = [
        NodeId::new(0, 5),
        NodeId::new(3, 700),
        NodeId::new(9, 70_000_000),
        NodeId::new(1, "a string"),
        NodeId::new(1, Guid::from_bytes([3; 16])),
        NodeId::new(0, ByteString::from(vec![8; 32])),
    ];
    for token in tokens {
        let sent = request(token.clone());
        let body = encode_service(&owned.context(), &sent).unwrap();
        let peek = RequestPeek::read(&body).unwrap();
        assert_eq!(peek.type_id, ObjectId::ReadRequest_Encoding_DefaultBinary as u32);
        assert_eq!((peek.handle, peek.timeout_hint_ms), (0x0102_0304, 1_234));
        assert_eq!(body[peek.token.clone()], wire::encode_node_id(&token));
        assert_eq!(body[peek.handle_offset()..][..4], [4, 3, 2, 1]);
        // `max_age` is the first parameter, a double.
        assert_eq!(body[peek.parameters..][..8], [0; 8]);
        let opaque = matches!(token.identifier, opcua_types::Identifier::ByteString(_));
        assert_eq!(peek.opaque_token(&body).is_some(), opaque);

        let other = NodeId::new(2, "another");
        let mut changed = wire::replace_token(&body, &peek, &wire::encode_node_id(&other));
        let after = RequestPeek::read(&changed).unwrap();
        wire::patch_handle(&mut changed, after.handle_offset(), 99);
        let read: ReadRequest = decode_service(&owned.context(), &changed).unwrap();
        assert_eq!(read.request_header.authentication_token, other);
        assert_eq!(read.request_header.request_handle, 99);
        assert_eq!(read.request_header.audit_entry_id, sent.request_header.audit_entry_id);
        for length in 0..peek.parameters {
            assert_eq!(status(RequestPeek::read(&body[..length])), StatusCode::BadDecodingError);
        }
    }
    let mut small = [0; 3];
    wire::patch_handle(&mut small, 1, 7);
    assert_eq!(small, [0; 3]);
}

#[test]
fn faults_are_responses_that_are_seen_without_decoding() {
    let body = wire::fault(7, StatusCode::BadUserAccessDenied, NOW);
    let peek = ResponsePeek::read(&body).unwrap();
    assert!(peek.is_fault());
    assert_eq!((peek.handle, peek.service_result), (7, StatusCode::BadUserAccessDenied));
    assert_eq!(body[peek.handle_offset..][..4], [7, 0, 0, 0]);
    let owned = context();
    let fault: ServiceFault = decode_service(&owned.context(), &body).unwrap();
    assert_eq!(fault.response_header.timestamp.to_rfc3339(), "2026-06-01T00:00:00.000Z");
}

#[test]
fn services_are_decoded_as_what_they_are_and_to_their_end() {
    let owned = context();
    let body = encode_service(&owned.context(), &request(NodeId::null())).unwrap();
    let decoded: ReadRequest = decode_service(&owned.context(), &body).unwrap();
    // An extension object whose type nobody knows keeps its bytes.
    assert_eq!(encode_service(&owned.context(), &decoded).unwrap(), body);
    assert_eq!(status(decode_service::<ServiceFault>(&owned.context(), &body)), StatusCode::BadDecodingError);
    let longer = [&body[..], &[0]].concat();
    assert_eq!(
        status(decode_service::<ReadRequest>(&owned.context(), &longer)),
        StatusCode::BadDecodingError
    );
    for length in 0..body.len() {
        decode_service::<ReadRequest>(&owned.context(), &body[..length]).unwrap_err();
    }
}

/// A length that only claims to be large sets no memory aside.
#[cfg(target_os = "linux")]
#[test]
fn claimed_lengths_are_not_believed() {
    let owned = context();
    let sent = request(NodeId::null());
    let body = encode_service(&owned.context(), &sent).unwrap();
    let at = body.windows(5).position(|window| window == b"audit").unwrap() + 5 + 4;
    // Node id of four bytes, the encoding, then the length.
    assert_eq!(body[at + 4], 1);
    let mut huge = body.to_vec();
    huge[at + 5..at + 9].copy_from_slice(&i32::MAX.to_le_bytes());
    let before = crate::hostile::mapped_peak_kib();
    decode_service::<ReadRequest>(&owned.context(), &huge).unwrap_err();
    assert!(crate::hostile::mapped_peak_kib() - before < 1 << 20, "a GiB was mapped");
}
