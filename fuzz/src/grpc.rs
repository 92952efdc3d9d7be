//! Messages of gRPC: what is read in one piece is what is read one by one, never beyond the limit, and is framed as it was.

use bytes::BytesMut;
use durward_wire::grpc::{self, FrameError, PREFIX_BYTES, next_message, put_message, read_one};

const BYTES_MAX: usize = 64;

pub(crate) fn run(bytes: &[u8]) {
    let mut rest = bytes;
    let first = next_message(&mut rest, BYTES_MAX);
    if let Ok(Some(message)) = first {
        assert!(message.len() <= BYTES_MAX);
        let mut out = BytesMut::new();
        put_message(&mut out, |out| out.extend_from_slice(message));
        assert_eq!(out, bytes[..message.len() + PREFIX_BYTES]);
    }
    let expected = match first {
        Ok(Some(message)) if rest.is_empty() => Ok(message),
        Ok(Some(_)) => Err(FrameError::Several),
        Ok(None) => Err(FrameError::Missing),
        Err(error) => Err(error),
    };
    assert_eq!(read_one(bytes, BYTES_MAX), expected);
    let _ = grpc::health::read_request(bytes);
    let text = crate::text(bytes);
    assert!(grpc::message(text).bytes().all(|byte| matches!(byte, b' '..=b'~')));
    assert_eq!(grpc::timeout(text).is_some(), is_timeout(text), "{text}");
}

fn is_timeout(text: &str) -> bool {
    let mut digits = text.chars();
    let unit = digits.next_back();
    let digits: Vec<char> = digits.collect();
    unit.is_some_and(|unit| "HMSmun".contains(unit))
        && (1..=8).contains(&digits.len())
        && digits.iter().all(char::is_ascii_digit)
}
