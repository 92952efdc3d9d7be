//! Token-based access control for OPC UA: an authorization service, a gate in front of any server, and a client.
//!
//! ```text
//!  client --- RequestAccessToken ---> authorization service (asks durward's decision point)
//!    |                                      |  cutoffs and heartbeat
//!    |  ActivateSession(token)              v
//!    '---- opc.tcp ---------------------> gate ---- opc.tcp ----> any server
//! ```
//!
//! # The parts, from the bytes up
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | chunks, headers and services as bytes: no socket, no key |
//! | [`crypto`] | security policies: signatures, encryption, derived keys, encrypted secrets |
//! | [`pki`] | certificates, trust lists, the directories that keep them |
//! | [`channel`] | secure channels over a byte stream, both ends |
//! | [`session`] | sessions over channels, both ends: discovery, activation, what a service is told about who calls it |
//! | [`permission`] | what may be done to a node, and the trait by which that is asked |
//! | [`token`] | what a token grants, compactly; issue and verification |
//! | [`protocol`] | client, gate and authorization service as pure state machines: what runs is what is model-checked |
//! | [`gate`] | the gate: a server in front of any server, and mediation of every service |
//! | [`authority`] | the authorization service |
//! | [`plant`] | a small server: an address space and the services on it |
//! | [`client`] | the client that keeps a token |
//!
//! Types of the standard (`NodeId`, `Variant`, requests, responses) and their binary encoding are those of the crate
//! `async-opcua-types`. Channels, sessions and everything that decides about security are durward's own.
//!
//! # What is not here
//!
//! No HTTP, no policy language: tokens are signed and verified by `durward-identity`, decisions come through a trait that the
//! binary implements with `durward-pdp`. No `None` security but for discovery. No clock: the moment is an argument.

pub mod authority;
pub mod channel;
pub mod client;
pub mod crypto;
pub mod error;
pub mod gate;
pub mod permission;
pub mod pki;
pub mod plant;
pub mod protocol;
pub mod session;
pub mod token;
pub mod wire;
