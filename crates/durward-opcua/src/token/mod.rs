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
    CLAIM_GRANTS, CLAIM_LIVE, CLAIM_POLICY, Issue, ROLES_MAX, TOKEN_SKEW_DEFAULT, Thumbprint, VerifiedToken,
    Verifier,
};
pub use cutoff::{CUTOFFS_MAX, Cutoffs, Feed, FeedMessage, Heard, Target};
pub use error::{TableError, TokenRefusal};
pub use facts::{Bearer, Facts, Name};
pub use grants::{Grants, GrantsError, GrantsSummary, Verdict};
pub use live::{LIVE_FACTS_BYTES_MAX, Live, LiveFacts, LiveQuestion};
pub use node::{NAMESPACE_OF_THE_STANDARD, TableNode};
pub use rights::{Denial, TokenRights, Watch};
pub use rows::Rows;
pub use standing::{ByKind, Ended, Kind, Reach, Until, until};
pub use table::{
    IDENTIFIER_BYTES_MAX, NAMESPACE_BYTES_MAX, NodeTable, TABLE_NAMESPACES_MAX, TABLE_NODES_MAX,
    TABLE_PACKED_BYTES_MAX, TABLE_PLAIN_BYTES_MAX, TABLE_TEXT_BYTES_MAX, TableVersion,
};
