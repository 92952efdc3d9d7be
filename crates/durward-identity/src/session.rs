//! Sessions: tokens, the keys that seal them, and the table of what is known.
//!
//! `durward-session-table` has them, for the sake of how it is compiled. What changes the table stays in this crate:
//! [`protocol`](crate::protocol) alone does.

pub use durward_session_table::{
    CHANGES_MAX, ClusterKey, Digits, ENDED_MAX, FreshnessProof, GrantTurn, KEYS_MAX, KeyId, KeyRing, Level,
    LimitPolicy, LiveSession, PROPERTIES_BYTES_MAX, PROPERTIES_MAX, Properties, Purpose, REALM_LENGTH_MAX,
    Refusal, Revocation, SEALED_LENGTH_MAX, SEALS_MAX, SUBJECT_LENGTH_MAX, Scratch, SealKey, SealedKey,
    Session, SessionChange, SessionClaims, SessionId, SessionLimitReached, SessionRecord, SessionSettings,
    SessionTable, TOKEN_LENGTH_MAX, TOUCHES_MAX, Touch, UsedCode, User, ValidationGate, open_text, seal_text,
};
pub(crate) use durward_session_table::{Confirmation, RevocationReach, TableWriter};
