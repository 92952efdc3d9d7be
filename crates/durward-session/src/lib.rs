//! The session service over an async runtime: logins, validation of sessions, and what ends a session.
//!
//! [`durward_identity`] decides; this crate gives it a clock, threads and a disk. [`Builder::start`] starts a node and gives the
//! [`Service`], which is cheap to clone and may be used from any thread and any runtime. Surfaces (HTTP) are put before
//! it, stores and directories behind it.
//!
//! ```text
//!   surfaces ---> Service --- validate: Sessions, on the caller's thread, no waiting
//!                    |
//!                    |------- login: throttle and its lines, UserDirectory (hashing threads, or a network), second step, audit
//!                    |
//!                    '------> driver (owns protocol::Node) --- Order ---> store (memory, journal, or a network)
//!                                 ^------------ Event via NodeLink -----------'
//! ```
//!
//! # The two seams
//!
//! [`SessionStore`] carries records: it gets [`StoreCommand`]s through a bounded channel and gives back
//! [`NodeEvent`](durward_identity::protocol::NodeEvent)s through a [`NodeLink`]. [`UserDirectory`] knows users: [`Embedded`] is the
//! directory that is built in, whose hashing has threads of its own.
//!
//! # What is not here
//!
//! No HTTP, no cookies, no JSON; no policy; no clock but the one that is given.

mod audit;
mod beside;
mod challenge;
mod clocks;
mod counters;
mod device;
mod directory;
mod driver;
mod enrolment;
mod hashing;
mod lanes;
#[cfg_attr(not(feature = "ldap"), path = "ldap_absent.rs")]
pub mod ldap;
mod listeners;
#[cfg_attr(not(feature = "nats"), path = "nats_absent.rs")]
pub mod nats;
mod outcome;
mod reset;
mod secret;
mod seldom;
mod service;
mod settings;
mod start;
pub mod store;
mod turned_away;
mod users;

use std::sync::Arc;

pub use audit::{AuditSettings, AuditSync, SessionAuditLog};
pub use beside::Beside;
pub use clocks::{ClockReport, ClockStanding, NodeClock};
pub use counters::{Counter, Counters};
pub use directory::{DirectoryFault, DirectoryFuture, Embedded, PasswordRejection, UserDirectory};
pub use durward_identity as identity;
pub use lanes::Lanes;
pub use listeners::SessionNews;
pub use outcome::{AccountFailed, Administrator, Failed, Granted, Login, Refused, Who};
pub use reset::{ResetLink, ResetLinks};
pub use secret::read_secret;
pub use seldom::Seldom;
pub use service::{
    AMR, AccountHolder, AccountPage, Accounts, Enrolment, LoginRequest, PasskeyAnswer, PasskeyRequest,
    PasswordChoice, Purpose, ResetAnswer, ResetForm, SecretAttempt, SecretAttempts, Service, TurnUse,
    UpstreamLogin, Wanted,
};
pub use settings::{PasskeySettings, SecondStepPolicy, ServiceSettings};
pub use start::{Builder, Running};
pub use store::{NodeLink, SessionStore, StoreCommand};
pub use users::{UserExchange, UsersLink};

/// Gives the time. The binary has the wall's.
pub type Clock = Arc<dyn Fn() -> durward_identity::Moment + Send + Sync>;
