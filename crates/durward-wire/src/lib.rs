//! What goes over the wire, as bytes: RSocket 1.0 (`rsocket`), protocol buffers (`protobuf`), event streams (`sse`), escapes of
//! addresses and forms (`percent`), the usual requests of HTTP/1.1 (`http1`), calls over gRPC (`grpc`) and Envoy's of them (`ext_authz`), and SAPL's
//! questions and answers in them (`sapl`).
//!
//! Bytes go in, bytes or values come out. There is no socket, no clock, no runtime and no policy here: the server answers with it, its
//! client, the lab and the fuzz targets ask with it.

pub mod ext_authz;
pub mod grpc;
pub mod http1;
pub mod percent;
pub mod protobuf;
pub mod rsocket;
#[cfg(feature = "sapl")]
pub mod sapl;
pub mod sse;
