//! Frames as bytes: measured ones, and whatever is written is read again.

use bytes::{Bytes, BytesMut};
use durward_wire::rsocket::frame::{self, ErrorCode, Frame, Interaction, Payload, Setup, UNBOUNDED, flag};
use durward_wire::rsocket::write;

use crate::support::{Dice, text};

fn written(write: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
    let mut out = BytesMut::new();
    write(&mut out);
    out.to_vec()
}

fn read_all(bytes: &[u8]) -> Vec<Frame> {
    let mut input = BytesMut::from(bytes);
    let frames = std::iter::from_fn(|| frame::split(&mut input)).map(|bytes| Frame::read(bytes).unwrap());
    frames.collect()
}

#[test]
fn a_setup_with_name_and_password_is_read() {
    // As rsocket-java writes it: version 1.0, 20 s, 90 s, `application/binary` twice, SIMPLE u:p.
    let mut bytes = vec![0, 0, 67];
    bytes.extend([0, 0, 0, 0, 0x05, 0x00, 0, 1, 0, 0, 0, 0, 0x4E, 0x20, 0, 1, 0x5F, 0x90]);
    for _ in 0..2 {
        bytes.push(18);
        bytes.extend(b"application/binary");
    }
    bytes.extend([0, 0, 5, 0x80, 0, 1, b'u', b'p']);
    bytes.extend(b"data!");
    let metadata = Some(Bytes::from_static(&[0x80, 0, 1, b'u', b'p']));
    let expected = Setup {
        major: 1,
        minor: 0,
        keep_alive_ms: 20_000,
        lifetime_ms: 90_000,
        resumes: false,
        leases: false,
        payload: Payload { metadata, data: text("data!") },
    };
    bytes[2] = (bytes.len() - 3) as u8;
    assert_eq!(read_all(&bytes), [Frame::Setup(expected.clone())]);
    assert_eq!(written(|out| write::setup(out, &expected)), bytes);
}

#[test]
fn answers_have_the_bytes_that_clients_know() {
    let deny = [0x08, 0x02, 0x12, 0x00, 0x1a, 0x00, 0x22, 0x02, 0x38, 0x01];
    let unary = written(|out| {
        write::payload(out, 1, flag::NEXT | flag::COMPLETE, |out| out.extend_from_slice(&deny));
    });
    assert_eq!(unary[..9], [0, 0, 16, 0, 0, 0, 1, 0x28, 0x60]);
    assert_eq!(unary[9..], deny);
    let streamed = written(|out| write::payload(out, 3, flag::NEXT, |_| {}));
    assert_eq!(streamed, [0, 0, 6, 0, 0, 0, 3, 0x28, 0x20]);
    let refused = written(|out| write::error(out, 5, ErrorCode::Invalid, "Bad request"));
    assert_eq!(refused[..13], [0, 0, 21, 0, 0, 0, 5, 0x2C, 0, 0, 0, 2, 4]);
    assert_eq!(&refused[13..], b"Bad request");
    let pulse = written(|out| write::keep_alive(out, true, b""));
    assert_eq!(pulse, [0, 0, 14, 0, 0, 0, 0, 0x0C, 0x80, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn what_a_client_writes_is_what_a_server_reads() {
    let mut dice = Dice::new(1);
    for _ in 0..500 {
        let (stream, demand) = (dice.below(1 << 31) as u32, dice.below(1 << 31) as u32);
        let (route_length, data_length) = (dice.below(300) as usize, dice.below(3000) as usize);
        let (route, data) = (dice.bytes(route_length), dice.bytes(data_length));
        let payload = Payload { metadata: Some(route.clone().into()), data: data.clone().into() };
        for (interaction, demand) in [
            (Interaction::Response, 1),
            (Interaction::FireAndForget, 0),
            (Interaction::Stream, demand),
            (Interaction::Channel, demand),
        ] {
            let bytes = written(|out| {
                write::request(out, stream, interaction, demand, &route, |out| out.extend_from_slice(&data));
            });
            let payload = payload.clone();
            let expected = Frame::Request { stream, interaction, demand, follows: false, payload };
            assert_eq!(read_all(&bytes), [expected]);
        }
        let bytes = written(|out| {
            write::request_n(out, stream, demand);
            write::cancel(out, stream);
            write::keep_alive(out, false, &data);
        });
        let data = Bytes::from(data);
        let expected = [
            Frame::RequestN { stream, demand },
            Frame::Cancel { stream },
            Frame::KeepAlive { respond: false, data },
        ];
        assert_eq!(read_all(&bytes), expected);
    }
}

#[test]
fn an_answer_too_long_for_one_frame_goes_in_several() {
    let data: Vec<u8> = (0..40_000_000_u32).map(|number| number as u8).collect();
    let mut out = BytesMut::from(&b"before"[..]);
    write::payload(&mut out, 7, flag::NEXT | flag::COMPLETE, |out| out.extend_from_slice(&data));
    let frames = read_all(&out[6..]);
    assert_eq!(frames.len(), 3);
    let mut whole = Vec::new();
    for (number, frame) in frames.into_iter().enumerate() {
        let Frame::Payload { stream: 7, follows, complete, next: true, payload } = frame else {
            panic!("{frame:?}")
        };
        assert_eq!((follows, complete), (number < 2, number == 2));
        whole.extend_from_slice(&payload.data);
    }
    assert!(whole == data);
}

#[test]
fn a_frame_cut_off_anywhere_is_an_error_or_a_shorter_one_and_never_a_panic() {
    let frames = [
        written(|out| write::setup(out, &crate::support::setup(Some(&[0x81, b't'])))),
        written(|out| write::request(out, 1, Interaction::Stream, 5, b"decide", |_| {})),
        written(|out| write::request_n(out, 1, 5)),
        written(|out| write::error(out, 1, ErrorCode::Invalid, "no")),
        written(|out| write::keep_alive(out, true, b"x")),
    ];
    for frame in frames {
        for length in 0..frame.len() - 3 {
            // Nothing to check but that it returns.
            let _ = Frame::read(Bytes::copy_from_slice(&frame[3..3 + length]));
        }
    }
    assert!(Frame::read(Bytes::from_static(&[0, 0, 0, 1, 0x11, 0x00, 0, 0, 9, 1])).is_err());
}

#[test]
fn the_highest_bit_of_numbers_does_not_count() {
    let mut bytes = written(|out| write::request_n(out, 1, UNBOUNDED));
    bytes[3] |= 0x80;
    bytes[9] |= 0x80;
    assert_eq!(read_all(&bytes), [Frame::RequestN { stream: 1, demand: UNBOUNDED }]);
}
