//! RSocket 1.0 for the decision protocol of SAPL: frames, one connection of a responder, and the messages in it.
//!
//! `frame` and `write` know bytes, `connection` and its other half, `requester`, know the protocol and neither socket
//! nor clock, `protobuf` knows the messages. Only `serve` and what it starts know tokio. The parts without a socket are public, for clients, measuring
//! and fuzzing; those that a client needs as well are a crate of their own, which the lab asks with.

mod answers;
pub mod connection;
mod driver;
pub mod protobuf;
pub(crate) mod serve;
mod streams;

pub use durward_rsocket::{Credentials, frame, requester, write};
