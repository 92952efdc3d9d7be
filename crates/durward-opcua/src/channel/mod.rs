//! Secure channels (Part 6, 6.7), both ends, over any byte stream.
//!
//! ```text
//!   bytes read --> Receiver --> whole messages --> session layer
//!                  chunks, keys, sequence, limits      |
//!   bytes written <-- Outbox <------------------- messages, in any order
//! ```
//!
//! RSA is done by [`Workers`], off the task that reads. Half-open connections are bounded in time here, and in number by who accepts them.

mod asymmetric;
mod client;
mod outbox;
mod receiver;
mod server;
mod settings;
mod symmetric;
mod workers;

pub(crate) use client::PendingRequestGuard;
pub use client::{ChannelTarget, ClientChannel};
pub use outbox::ChannelOutbox;
pub use server::{ChannelRequest, ServerChannel};
pub use settings::{ChannelSettings, Clock, PeerRole, PeerTrust, SecurityOffer};
pub use workers::Workers;

/// The URI of OPC UA TCP with secure conversation and binary encoding (Part 7).
pub const TRANSPORT_PROFILE_URI: &str = "http://opcfoundation.org/UA-Profile/Transport/uatcp-uasc-uabinary";
