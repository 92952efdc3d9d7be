//! What Envoy asks and is answered: as its own messages have it, and anything at all in their place.

use bytes::BytesMut;
use durward_wire::ext_authz::{
    Allowed, CheckRequest, CheckResponse, Denied, Header, HeaderChange, How, HttpRequest, Limits, Peer,
    ReadHttp, read_request, read_response, sendable_status, write_response,
};
use durward_wire::protobuf::put_bytes;

use crate::support::Dice;

const LIMITS: Limits = Limits { headers_max: 9, extensions_max: 3 };

/// What Envoy 1.40.0 sent for `curl -H 'X-Who: ada' 'http://127.0.0.1:21000/papers/7?full=1'`.
const RECORDED: &[u8] =
    b"\x0a\x94\x03\x0a\x13\x0a\x11\x0a\x0f\x12\x09127.0.0.1\x18\xf6\xc8\x03\x12\x13\x0a\x11\x0a\x0f\x12\
    \x09127.0.0.1\x18\x88\xa4\x01\x22\xc3\x02\x0a\x0c\x08\xcf\xab\xb2\xd8\x06\x10\x90\xec\xd5\x81\x03\
    \x12\xb2\x02\x0a\x1410462008701136124362\x12\x03GET\x1a4\x0a\x0cx-request-id\x12$45a56d67-ffa7-4b0a-\
    81e6-ba3b68924a39\x1a\x19\x0a\x05:path\x12\x10/papers/7?full=1\x1a\x0f\x0a\x07:scheme\x12\x04http\
    \x1a\x0e\x0a\x07:method\x12\x03GET\x1a\x19\x0a\x0auser-agent\x12\x0bcurl/7.88.1\x1a\x0d\x0a\x06accep\
    t\x12\x03*/*\x1a\x1d\x0a\x0a:authority\x12\x0f127.0.0.1:21000\x1a\x0c\x0a\x05x-who\x12\x03ada\x1a\
    \x19\x0a\x11x-forwarded-proto\x12\x04http\x22\x10/papers/7?full=1*\x0f127.0.0.1:210002\x04httpR\x08H\
    TTP/1.1R\x1e\x0a\x15durward.resource.type\x12\x05paperZ\x00j\x00";

#[test]
fn a_message_of_envoy_is_read() {
    let request = read_request(RECORDED, &Limits { headers_max: 9, extensions_max: 1 }).unwrap();
    assert_eq!((request.source.address, request.source.port), ("127.0.0.1", 58_486));
    assert_eq!((request.destination.address, request.destination.port), ("127.0.0.1", 21_000));
    let http = &request.http;
    assert_eq!((http.method, http.path, http.host), ("GET", "/papers/7?full=1", "127.0.0.1:21000"));
    assert_eq!((http.scheme, http.protocol, http.size), ("http", "HTTP/1.1", 0));
    assert_eq!((http.id, http.headers.len()), ("10462008701136124362", 9));
    assert_eq!(http.values("X-Who").collect::<Vec<_>>(), [b"ada"]);
    assert_eq!(http.values(":path").collect::<Vec<_>>(), [b"/papers/7?full=1"]);
    assert_eq!(request.extensions, [("durward.resource.type", "paper")]);
}

fn written(request: &CheckRequest<'_>) -> BytesMut {
    let mut out = BytesMut::new();
    request.write(&mut out);
    out
}

fn full() -> CheckRequest<'static> {
    CheckRequest {
        source: Peer {
            address: "2001:db8::1",
            port: 443,
            service: "shop",
            principal: "spiffe://example.org/shop",
            certificate: "-----BEGIN%20CERTIFICATE-----",
        },
        destination: Peer { address: "/run/envoy.sock", ..Peer::default() },
        http: HttpRequest {
            id: "7",
            method: "POST",
            headers: vec![
                Header { name: "cookie", value: b"a=1" },
                Header { name: "x", value: &[b'x'; 200] },
            ],
            path: "/",
            host: "example.org",
            scheme: "https",
            size: -1,
            protocol: "HTTP/2",
            body: b"{}",
        },
        extensions: vec![("tenant", "t"), ("type", "")],
        sni: "example.org",
    }
}

#[test]
fn a_request_is_read_as_it_was_written() {
    let request = full();
    assert_eq!(read_request(&written(&request), &LIMITS).unwrap(), request);
    let mut raw = full();
    raw.http.headers = vec![Header { name: "x", value: b"\xff" }, Header { name: "x", value: b"" }];
    raw.http.body = b"\xff\xfe";
    assert_eq!(read_request(&written(&raw), &LIMITS).unwrap(), raw, "bytes that are no text");
    assert_eq!(read_request(b"", &LIMITS).unwrap(), CheckRequest::default());
}

#[test]
fn what_is_there_twice_or_too_often_is_refused() {
    let field = |tag: u8, content: &[u8]| {
        let mut field = vec![tag, content.len() as u8];
        field.extend_from_slice(content);
        field
    };
    let of_http = |fields: &[u8]| field(0x0a, &field(0x22, &field(0x12, fields)));
    for (wrong, words) in [
        (of_http(b"\x12\x03GET\x12\x04POST"), "a field is there twice"),
        (of_http(b"\x22\x01/\x22\x02/x"), "a field is there twice"),
        (
            of_http(b"\x1a\x06\x0a\x01a\x12\x01b\x6a\x08\x0a\x06\x0a\x01a\x12\x01b"),
            "its headers or its body twice",
        ),
        (of_http(b"\x5a\x01a\x62\x01b"), "its headers or its body twice"),
        (of_http(b"\x6a\x0b\x0a\x09\x0a\x01a\x12\x01b\x1a\x01c"), "two values"),
        (of_http(b"\x12\x01\xff"), "not UTF-8"),
        (of_http(b"\x10\x01"), "another type"),
        (of_http(b"\x12\x7f"), "too late"),
        (b"\x0a\x00\x0a\x00".to_vec(), "a field is there twice"),
        (b"\x0a\x04\x22\x00\x22\x00".to_vec(), "a field is there twice"),
        (b"\x0a\x04\x0a\x00\x0a\x00".to_vec(), "a field is there twice"),
        (b"\x0a\x08\x0a\x06\x0a\x04\x0a\x00\x12\x00".to_vec(), "an address is there twice"),
        (b"\x0a\x0a\x0a\x08\x0a\x06\x0a\x04\x18\x80\x80\x04".to_vec(), "above 65535"),
        (b"\x0a\x0a\x52\x03\x0a\x01a\x52\x03\x0a\x01a".to_vec(), "a context extension is there twice"),
    ] {
        let error = read_request(&wrong, &LIMITS).unwrap_err();
        assert!(error.message.contains(words), "{wrong:x?}: {error}");
    }
    let mut many = full();
    many.http.headers = vec![Header { name: "a", value: b"b" }; 10];
    assert!(read_request(&written(&many), &LIMITS).unwrap_err().message.contains("too many headers"));
    let mut many = full();
    many.extensions = vec![("a", ""), ("b", ""), ("c", ""), ("d", "")];
    assert!(read_request(&written(&many), &LIMITS).unwrap_err().message.contains("too many context"));
}

/// No panic, and whatever is read is written and read again as the same.
#[test]
fn messages_changed_at_random_are_read_or_refused() {
    let (mut read, mut refused) = (0, 0);
    let whole = written(&full());
    for seed in 0..4000 {
        let mut dice = Dice::new(seed);
        let mut bytes = if seed % 2 == 0 { whole.to_vec() } else { RECORDED.to_vec() };
        for _ in 0..=dice.below(3) {
            let at = dice.below(bytes.len() as u64) as usize;
            match dice.below(3) {
                0 => bytes[at] = dice.next() as u8,
                1 => bytes.truncate(at.max(1)),
                _ => drop(bytes.splice(at..at, dice.bytes(2))),
            }
        }
        match read_request(&bytes, &LIMITS) {
            Ok(request) => {
                assert_eq!(read_request(&written(&request), &LIMITS).unwrap(), request);
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}

#[test]
fn every_beginning_of_a_message_is_refused() {
    let whole = written(&full());
    for end in 1..whole.len() {
        assert!(read_request(&whole[..end], &LIMITS).is_err(), "{end} bytes");
    }
}

const SET: HeaderChange<'_> = HeaderChange { name: "x-user", value: "ada", how: How::Overwrite };
const ADD: HeaderChange<'_> = HeaderChange { name: "x-group", value: "staff", how: How::Append };

fn allowed() -> CheckResponse<'static> {
    CheckResponse::Allowed(Allowed {
        headers: &[SET, ADD],
        removed: &["authorization"],
        response_headers: &[ADD],
        metadata: &[("subject", "ada")],
    })
}

fn denied(status: u16) -> CheckResponse<'static> {
    CheckResponse::Denied(Denied { status, headers: &[SET], body: "no", metadata: &[] })
}

fn answered(response: &CheckResponse<'_>) -> Vec<u8> {
    let mut out = BytesMut::new();
    write_response(&mut out, response);
    out.to_vec()
}

#[test]
fn a_response_says_its_code_in_so_many_words_and_last() {
    let nothing = Allowed { headers: &[], removed: &[], response_headers: &[], metadata: &[] };
    assert_eq!(answered(&CheckResponse::Allowed(nothing)), b"\x1a\x00\x0a\x02\x08\x00");
    for (response, code) in [(allowed(), 0), (denied(401), 16), (denied(403), 7), (denied(503), 7)] {
        assert!(answered(&response).ends_with(&[0x0a, 0x02, 0x08, code]), "{response:?}");
    }
}

#[test]
fn a_denial_is_never_the_code_or_the_status_of_success() {
    for status in 0..=999 {
        let bytes = answered(&denied(status));
        let read = read_response(&bytes).unwrap();
        let ReadHttp::Denied { status: sent, headers, body } = read.http else { panic!("{status}") };
        assert!(read.code != 0 && (300..600).contains(&sent), "{status}: {sent}");
        assert!(sent == u64::from(status) || sent == 403, "{status}: {sent}");
        assert_eq!((sent, headers, body), (sendable_status(status).into(), vec![SET], "no"));
    }
}

#[test]
fn what_is_changed_before_a_request_goes_on_is_read_again() {
    let bytes = answered(&allowed());
    let read = read_response(&bytes).unwrap();
    let expected = ReadHttp::Allowed {
        headers: vec![SET, ADD],
        removed: vec!["authorization"],
        response_headers: vec![ADD],
    };
    assert_eq!((read.code, read.http, read.metadata), (0, expected, vec![("subject", "ada")]));
    assert_eq!(read_response(b"").unwrap().code, 0, "to Envoy, an empty response is a permit");
}

/// Entries of maps may be written in any order, with lengths of more bytes than they need, and with fields that nobody knows.
#[test]
fn entries_mean_the_same_however_they_are_written() {
    let nested = |field, bytes: &[u8]| {
        let mut out = BytesMut::new();
        put_bytes(&mut out, field, bytes);
        out.to_vec()
    };
    let (name, value) = (nested(1, b"cookie"), nested(2, b"a=b"));
    let long_name = [&[0x0a, 0x86, 0x00], &b"cookie"[..]].concat();
    let unknown = [0x18, 7];
    for (entry, expected) in [
        ([&name[..], &value].concat(), Some("a=b")),
        ([&value[..], &name].concat(), Some("a=b")),
        ([&long_name[..], &value].concat(), Some("a=b")),
        ([&name[..], &value, &unknown].concat(), Some("a=b")),
        ([&unknown[..], &name, &value].concat(), Some("a=b")),
        (name.clone(), Some("")),
        ([&name[..], &nested(2, b"")].concat(), Some("")),
        ([&name[..], &name].concat(), None),
        ([&name[..], &value, &value].concat(), None),
        ([&name[..], &value[..4]].concat(), None),
        ([&nested(1, b"\xff")[..], &value].concat(), None),
    ] {
        let request = nested(1, &nested(4, &nested(2, &nested(3, &entry))));
        let read = read_request(&request, &LIMITS).ok();
        let header = read.as_ref().and_then(|read| read.http.headers.first());
        let found = header.map(|header| (header.name, str::from_utf8(header.value).unwrap()));
        assert_eq!(found, expected.map(|value| ("cookie", value)), "{entry:02x?}");
    }
}
