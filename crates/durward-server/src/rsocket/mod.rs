//! RSocket 1.0 for the decision protocol of SAPL: frames, one connection of a responder, and the messages in it.
//!
//! `frame` and `write` know bytes, `connection` and its other half, `requester`, know the protocol and neither socket
//! nor clock, `protobuf` knows the messages. Only `serve` and what it starts know tokio. The parts without a socket are public, for clients, measuring
//! and fuzzing.

mod answers;
pub mod connection;
mod credentials;
mod driver;
pub mod frame;
pub mod protobuf;
pub mod requester;
pub(crate) mod serve;
mod streams;
pub mod write;

pub use credentials::Credentials;
