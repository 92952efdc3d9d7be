//! RSocket 1.0 for the decision protocol of SAPL: frames, one connection of a responder, and the messages in it.
//!
//! `frame` and `write` know bytes, `connection` knows the protocol and neither socket nor clock, `protobuf` knows the
//! messages. Only `serve` knows tokio. The parts without a socket are public, for clients, measurements and fuzzing.

pub mod connection;
mod credentials;
pub mod frame;
pub mod protobuf;
mod streams;
pub mod write;

pub use credentials::Credentials;
