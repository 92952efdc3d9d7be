//! Tokens: what they grant, compactly; how they are issued, verified, recalled; and the rights that a session has by one.
//!
//! ```text
//!  gate                                authorization service
//!  NodeTable::pack  ---- published --> NodeTable::read      which rows there are
//!                                      Grants               for each row, which permissions: granted, refused, or ask
//!  Verifier::verify <---- token ------ Issue::sign          bound to the client's certificate
//!  VerifiedToken
//!     v
//!  TokenRights      <- Watch <- Feed <-- cutoffs, heartbeats
//! ```
//!
//! A token speaks of rows of one version of one table, so that 5,000 nodes fit into it. Over another version it grants nothing.

mod bytes;
mod claims;
mod cutoff;
mod error;
mod facts;
mod grants;
mod live;
mod node;
mod rights;
mod rows;
mod standing;
mod table;

pub use claims::{
    CLAIM_GRANTS, CLAIM_LIVE, CLAIM_POLICY, IssueRequest, ROLES_MAX, TOKEN_SKEW_DEFAULT, Thumbprint,
    TokenVerifier, VerifiedToken,
};
pub use cutoff::{CUTOFFS_MAX, CutoffTarget, Cutoffs, Feed, FeedMessage, FeedOutcome};
pub use error::{NodeTableError, TokenRefusal};
pub use facts::{FactName, HasTokenFacts, TokenFacts};
pub use grants::{GrantVerdict, Grants, GrantsError, GrantsSummary};
pub use live::{LIVE_FACTS_BYTES_MAX, LiveDecider, LiveFacts, LiveQuestion};
pub use node::{NAMESPACE_OF_THE_STANDARD, TableNode};
pub use rights::{AccessDenial, RightsClock, TokenRights};
pub use rows::TableRows;
pub use standing::{PerRightKind, RightDeadline, RightEnd, RightKind, StalenessLimits, until};
pub use table::{
    IDENTIFIER_BYTES_MAX, NAMESPACE_BYTES_MAX, NodeTable, TABLE_NAMESPACES_MAX, TABLE_NODES_MAX,
    TABLE_PACKED_BYTES_MAX, TABLE_PLAIN_BYTES_MAX, TABLE_TEXT_BYTES_MAX, TableVersion,
};
