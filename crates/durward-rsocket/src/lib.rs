//! RSocket 1.0 as bytes: frames and the requester's half of a connection, and the wire format of protocol buffers. No socket,
//! no clock, no runtime, no policy: the server answers with it, its client and the lab ask with it.

mod credentials;
pub mod frame;
pub mod protobuf;
pub mod requester;
pub mod write;

pub use credentials::Credentials;
