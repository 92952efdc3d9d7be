//! The gate in front of a server.
//!
//! [`mediate`] decides what of a client's requests reaches the server, and what of the server's responses reaches the client.

pub mod mediate;
