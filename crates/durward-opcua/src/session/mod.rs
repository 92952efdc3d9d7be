//! Sessions (Part 4, 5.7), both ends: discovery, creation, activation, and what a service is told about who calls it.
//!
//! ```text
//!   ServerChannel --> connection --> discovery, create, activate, close, cancel
//!                          '-------> Service::answer, for activated sessions
//! ```
//!
//! What is held true here: a session's certificate is its channel's, and its ApplicationUri stands in it; a nonce is used once; a token is
//! encrypted as its policy demands; requests go on under the old user while a new one is verified.

mod activate;
mod admission;
mod budget;
mod client;
mod connection;
mod create;
mod created;
mod discover;
mod endpoint;
mod expected;
mod identity;
mod logins;
mod server;
mod service;
mod store;
mod token;
mod under_way;

pub use client::{ClientSession, SessionClientSettings};
pub(crate) use client::{KEEP_ALIVE_MIN, decode_response};
pub(crate) use discover::connect_without_security;
pub use discover::{choose, connect_channel, discover};
pub use endpoint::{Endpoint, TokenPolicy, UserTokenKind};
pub use expected::{ExpectedServer, PinnedApplication};
pub use identity::{ClientIdentity, JWT_TOKEN_TYPE};
pub(crate) use logins::{LoginOrigin, PasswordAttempt, PasswordThrottle};
pub use server::{ServerLimits, ServerSettings, SessionServer};
pub use service::{
    Activation, ActivationAttempt, ChannelInfo, ClientInfo, CloseReason, SessionCall, SessionHandler,
    SessionInfo, UserIdentity,
};
pub use store::ActiveSession;
