//! gRPC's messages, statuses and timeouts.

use std::time::Duration;

use bytes::BytesMut;
use durward_wire::grpc::health::{Serving, read_request, write_response};
use durward_wire::grpc::{self, Code, FrameError, next_message, put_message, read_one};

use crate::support::Dice;

#[test]
fn a_call_has_one_message_within_its_limit() {
    let framed = |message: &[u8]| {
        let mut out = BytesMut::new();
        put_message(&mut out, |out| out.extend_from_slice(message));
        out.to_vec()
    };
    for length in [0, 1, 5, 300] {
        let message = vec![b'x'; length];
        assert_eq!(read_one(&framed(&message), 300), Ok(&message[..]));
    }
    let two = [framed(b"a"), framed(b"b")].concat();
    for (bytes, expected, code) in [
        (&b""[..], FrameError::Missing, Code::Internal),
        (b"\0", FrameError::Incomplete, Code::Internal),
        (b"\0\0\0\0", FrameError::Incomplete, Code::Internal),
        (b"\0\0\0\0\x01", FrameError::Incomplete, Code::Internal),
        (b"\x01\0\0\0\x01x", FrameError::Compressed, Code::Unimplemented),
        (b"\x02\0\0\0\x01x", FrameError::UnknownFlag, Code::Internal),
        (b"\0\0\0\x01\x2dx", FrameError::TooLong, Code::ResourceExhausted),
        (b"\0\xff\xff\xff\xffx", FrameError::TooLong, Code::ResourceExhausted),
        (&two, FrameError::Several, Code::Internal),
        (b"\0\0\0\0\x01x\0", FrameError::Several, Code::Internal),
    ] {
        let error = read_one(bytes, 300).unwrap_err();
        assert_eq!((error, error.code()), (expected, code), "{bytes:?}: {error}");
    }
}

#[test]
fn several_messages_are_read_one_after_the_other() {
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let messages: Vec<Vec<u8>> = (0..dice.below(6))
            .map(|_| {
                let length = dice.below(40) as usize;
                dice.bytes(length)
            })
            .collect();
        let mut out = BytesMut::new();
        for message in &messages {
            put_message(&mut out, |out| out.extend_from_slice(message));
        }
        let mut rest = &out[..];
        let read: Vec<Vec<u8>> =
            std::iter::from_fn(|| next_message(&mut rest, 100).unwrap().map(<[u8]>::to_vec)).collect();
        assert_eq!(read, messages);
    }
}

#[test]
fn a_timeout_is_up_to_eight_digits_and_a_unit() {
    for (text, expected) in [
        ("0n", Some(Duration::ZERO)),
        ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
        ("1M", Some(Duration::from_secs(60))),
        ("2S", Some(Duration::from_secs(2))),
        ("200m", Some(Duration::from_millis(200))),
        ("3u", Some(Duration::from_micros(3))),
        ("4n", Some(Duration::from_nanos(4))),
        ("", None),
        ("m", None),
        ("1", None),
        ("100000000m", None),
        ("-1m", None),
        ("+1m", None),
        ("1 m", None),
        ("1s", None),
        ("1\u{e9}", None),
        ("\u{e9}", None),
    ] {
        assert_eq!(grpc::timeout(text), expected, "{text}");
    }
}

#[test]
fn a_message_of_a_status_is_visible_characters() {
    assert_eq!(grpc::message("50 % of\r\nb\u{fc}ro~"), "50 %25 of%0D%0Ab%C3%BCro~");
}

#[test]
fn health_is_asked_of_a_service_or_of_all() {
    assert_eq!(read_request(b"").unwrap(), "");
    assert_eq!(read_request(b"\x0a\x03a.B\x10\x01").unwrap(), "a.B");
    assert!(read_request(b"\x0a\x01a\x0a\x01b").is_err());
    assert!(read_request(b"\x08\x01").is_err());
    for (serving, expected) in [
        (Serving::Serving, b"\x08\x01"),
        (Serving::NotServing, b"\x08\x02"),
        (Serving::ServiceUnknown, b"\x08\x03"),
    ] {
        let mut out = BytesMut::new();
        write_response(&mut out, serving);
        assert_eq!(&out[..], expected);
    }
}
