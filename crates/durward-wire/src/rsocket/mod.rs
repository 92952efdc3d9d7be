//! RSocket 1.0: frames, and the two halves of a connection.
//!
//! `frame` and `write` know bytes; [`connection`], the half that answers, and [`requester`], the half that asks, know the protocol.
//! Time is an argument.

pub mod connection;
mod credentials;
pub mod frame;
pub mod requester;
mod streams;
pub mod write;

pub use credentials::Credentials;
