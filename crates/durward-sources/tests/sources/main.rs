//! Attribute sources against real services: an HTTP server, a WebSocket server, an MQTT broker.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at what they did not expect"
)]

mod custom;
mod http;
mod jwt;
mod mqtt;
mod published;
mod service;
#[cfg(feature = "tls")]
mod tls;
mod websocket;
mod world;
