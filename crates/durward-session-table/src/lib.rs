//! The sessions that a node knows: tokens, the keys that seal them, the table, what was revoked, and the records in which all of that
//! travels.
//!
//! This is what validating a session takes, without what begins and ends one. `durward-identity` stands on it, re-exports it as its
//! `session`, says there what a session, a token, a stamp and a record are, and has the state machine that changes the table through a
//! [`TableWriter`]. They are two crates because a validation may come with every request, while a login comes seldom: `release` optimises
//! this one alone.
//!
//! No clock, no socket, no runtime: the moment is an argument, chance is an [`Entropy`](entropy::Entropy).

mod codec;
mod ended;
pub mod entropy;
pub mod error;
mod guesses;
mod key;
pub mod moment;
mod name;
mod record;
mod sealed;
mod sessions;
mod shard;
mod slab;
mod token;

#[cfg(test)]
use entropy::SystemEntropy;
use error::IdentityError;
use moment::{CLOCK_SKEW_MAX, Moment, Stamp};

pub use guesses::{COUNT_CHANGES_MAX, CountChange, GuessNews};
pub use key::{ClusterKey, KEYS_MAX, KeyId, KeyRing, SEALS_MAX, SealKey};
pub use name::{
    Digits, Level, PROPERTIES_BYTES_MAX, PROPERTIES_MAX, Properties, REALM_LENGTH_MAX, SUBJECT_LENGTH_MAX,
    SessionId, User,
};
pub use record::{
    CHANGES_MAX, ENDED_MAX, GrantTurn, LiveSession, Revocation, SealedKey, SessionChange, SessionRecord,
    TOUCHES_MAX, Touch, UsedCode,
};
pub use sealed::{SEALED_LENGTH_MAX, open_text, seal_text};
pub use sessions::{
    FreshnessProof, Purpose, SessionLimitReached, SessionSettings, SessionTable, TableWriter, ValidationGate,
};
pub use shard::{Confirmation, LimitPolicy, RevocationReach, Session};
pub use token::{Refusal, Scratch, SessionClaims, TOKEN_LENGTH_MAX};
