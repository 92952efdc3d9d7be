//! The gate: an OPC UA server in front of any server, that lets through what a token grants.
//!
//! ```text
//!  client ---- session ----> Core (session::Service) ---- session of its own ----> server
//!                              |  authenticate: Verifier, UserRights
//!                              |  admit: protocol::Gate, the machine that is model-checked
//!                              |  mediate: Mediator, one for each session
//!                              '---- kept session ----> authorization service: cutoffs, heartbeat, node table
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`mediate`] | what of a client's requests reaches the server, and what of its responses reaches the client: pure |
//! | [`settings`] | everything that is set from outside |
//! | [`audit`] | what is told to the audit, and figures |
//! | [`users`] | users who come with a password or a certificate instead of a token |
//! | `rights` | what one session may do: by its token, or as nobody |
//! | `core` | the machine, its actions, the sessions |
//! | `service` | activation: who a user is |
//! | `exchange`, `head` | one request: header, mediator, server, mediator, header |
//! | `link` | a client's session and its upstream session |
//! | `renewal` | tokens that the gate fetched for users, renewed before they end |
//! | `upstream` | sessions with the server, with security or without |
//! | `nodes` | the node table: browsed, published, kept up to date |
//! | `changes` | what the server tells of changes of its nodes |
//! | `names` | what the indexes of namespaces mean in a session |
//! | `authority` | the kept session with the authorization service |
//! | `owners` | subscriptions that outlive a session, or move to another one |
//!
//! # What holds
//!
//! - No request is served that [`protocol::GateMachine`](crate::protocol::GateMachine) does not admit; for each node the rights of the session are asked, before the request goes
//!   upstream and again, for what is read, when the response comes.
//! - A client's session has a session upstream of its own: subscriptions, continuation points and diagnostics never mix.
//! - A session whose upstream session is lost is closed, so that its client learns of it.

pub mod audit;
mod authority;
mod changes;
mod core;
mod exchange;
mod head;
mod link;
pub mod mediate;
mod names;
mod nodes;
mod owners;
mod renewal;
mod rights;
mod service;
pub mod settings;
mod start;
mod upstream;
pub mod users;

pub use audit::{GateAudit, GateAuditEvent, GateAuditKind, GateAuditLog, GateCounters};
pub use settings::{
    AnonymousRights, GateAuthoritySettings, GateSettings, TableSettings, TokenEncryption, UpstreamSettings,
};
pub use start::Gate;
pub use users::{DelegatedToken, UserClaim, UserKinds, UserRefusal, UserReply, UserRights};
