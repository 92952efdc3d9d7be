//! What Envoy asks, and what it is answered: whatever is read is written and read again as the same, and no answer that is read as a
//! permit is written for a denial.

use bytes::BytesMut;
use durward_wire::ext_authz::{
    CheckResponse, Denied, HeaderChange, How, Limits, ReadHttp, read_request, read_response, write_response,
};

const LIMITS: Limits = Limits { headers_max: 64, extensions_max: 16 };

pub(crate) fn run(bytes: &[u8]) {
    let _ = read_response(bytes);
    let Ok(request) = read_request(bytes, &LIMITS) else { return };
    assert!(request.http.headers.len() <= LIMITS.headers_max);
    assert!(request.extensions.len() <= LIMITS.extensions_max);
    let mut out = BytesMut::new();
    request.write(&mut out);
    assert_eq!(read_request(&out, &LIMITS).unwrap(), request);
    out.clear();
    let change = HeaderChange { name: request.http.method, value: request.http.path, how: How::Append };
    let (headers, status) = ([change], request.source.port);
    let denied = Denied { status, headers: &headers, body: request.http.host, metadata: &request.extensions };
    write_response(&mut out, &CheckResponse::Denied(denied));
    let read = read_response(&out).unwrap();
    let ReadHttp::Denied { status, headers: sent, body } = read.http else { panic!("no denial: {read:?}") };
    assert!(read.code != 0 && (300..600).contains(&status));
    assert_eq!((&sent[..], body, &read.metadata[..]), (&headers[..], denied.body, denied.metadata));
}
