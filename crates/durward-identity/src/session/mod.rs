//! Sessions: tokens, the keys that seal them, and the table of what is known.

mod codec;
mod ended;
mod key;
mod name;
mod record;
mod sealed;
mod sessions;
mod shard;
mod slab;
mod token;

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
    FreshnessProof, Purpose, SessionLimitReached, SessionSettings, SessionTable, ValidationGate,
};
pub(crate) use shard::{Confirmation, RevocationReach};
pub use shard::{LimitPolicy, Session};
pub use token::{Refusal, Scratch, SessionClaims, TOKEN_LENGTH_MAX};
