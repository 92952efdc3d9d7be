//! Both halves of RSocket without a socket, and the messages in it: bytes in, bytes out.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what helps a test fails as loudly as the test"
)]

mod connection;
mod ext_authz;
mod frames;
mod grpc;
mod hostile;
mod messages;
mod requester;
mod support;
