//! What Envoy asks an external authorization service, and what that answers (`envoy.service.auth.v3`): the messages that are used, read
//! and written by hand, as SAPL's are.
//!
//! ```text
//! CheckRequest { 1 AttributeContext }
//! AttributeContext { 1 Peer source, 2 Peer destination, 4 Request { 2 HttpRequest }, 10 map context_extensions, 12 TLSSession { 1 sni } }
//! Peer { 1 Address, 2 service, 4 principal, 5 certificate }
//! Address { 1 SocketAddress { 2 address, 3 port_value }, 2 Pipe { 1 path } }
//! HttpRequest { 1 id, 2 method, 3 map headers, 4 path, 5 host, 6 scheme, 9 int64 size, 10 protocol, 11 body, 12 raw_body,
//!     13 HeaderMap { 1 HeaderValue { 1 key, 2 value, 3 raw_value } } }
//!
//! CheckResponse { 1 google.rpc.Status { 1 code }, 2 DeniedHttpResponse, 3 OkHttpResponse, 4 Struct dynamic_metadata }
//! DeniedHttpResponse { 1 HttpStatus { 1 code }, 2 HeaderValueOption, 3 body }
//! OkHttpResponse { 2 HeaderValueOption, 5 headers_to_remove, 6 HeaderValueOption response_headers_to_add }
//! HeaderValueOption { 1 HeaderValue { 1 key, 2 value }, 2 BoolValue append, 3 append_action, 4 keep_empty_value }
//! ```
//!
//! An empty `CheckResponse` lets a request through: code 0 is the default of protocol buffers. So nothing here has a default: a response is
//! one of two variants, and its code comes from a match on them.

mod request;
mod response;

pub use request::{CheckRequest, Header, HttpRequest, Limits, Peer, read_request};
pub use response::{
    Allowed, CheckResponse, Denied, HeaderChange, How, ReadHttp, ReadResponse, read_response,
    sendable_status, write_response,
};

/// The path of the only call.
pub const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";
