//! The authorization service (Part 12, section 9): its address space, and behind the trait [`Authority`] who decides, issues and recalls.
//!
//! ```text
//!  session::Server -> plant::Host -> methods -> Authority = AuthorizationService
//!                          ^                        | subjects: who is it?   decide: what may they?   issue: sign
//!                          '---- follow <- ledger <-' recall (the state machine of `protocol`, its store)
//! ```
//!
//! A fact about a user, a decision and a table are read after the state machine has dated the token, and what is recalled is forgotten before
//! the cutoff is made: so a token that outlives a cutoff was decided by what was true after it.
//!
//! | file | holds |
//! |---|---|
//! | `caller` | who calls |
//! | `nodes` | the nodes, types and instance |
//! | `methods` | calls: their checks, their arguments as types |
//! | `requests` | requests for tokens between `StartRequestToken` and `FinishRequestToken` |
//! | `follow` | what gates subscribe to: cutoffs and heartbeat |
//! | [`decide`] | the question to the decision point |
//! | `subjects` | who users are |
//! | `identify` | identities in calls, and their proofs |
//! | `issue` | from a token request to a token |
//! | `cache` | decisions that may be used again |
//! | `refresh` | refresh tokens |
//! | `tables` | node tables |
//! | `lane`, `places` | the way of a call to its answer, and how many may be under way |
//! | `ledger`, `keep` | the state machine, run; its store |
//! | `service`, `server` | the service, and the server that it is |
//! | `figures` | what is counted and audited |
//! | [`feed`] | cutoffs, heartbeats and snapshots as bytes, and how a gate gets them |

mod cache;
mod caller;
pub mod decide;
pub mod feed;
mod figures;
mod follow;
mod identify;
mod issue;
mod keep;
mod lane;
mod ledger;
mod methods;
mod nodes;
mod places;
mod refresh;
mod requests;
mod server;
mod service;
mod subjects;
mod tables;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use durward_identity::Moment;
use opcua_types::{
    AnonymousIdentityToken, ByteString, DateTime, IssuedIdentityToken, SignatureData, StatusCode,
    UserNameIdentityToken, UserTokenPolicy, X509IdentityToken,
};

pub use caller::{CallerSessionId, CallerUser, MethodCaller};
pub use figures::{AuthorityAudit, AuthorityAuditNote, AuthorityCounters, AuthorityLogAudit, RefusalReason};
pub use follow::{PublishedCutoffs, RECENT_MAX};
pub use identify::SESSION_TOKEN_TYPE;
pub use keep::{AuthorityStore, MemoryAuthorityStore};
pub use methods::{AuthorityMethods, FollowGuard, serve};
pub use nodes::{AUTHORITY_NAMESPACE, AuthorityNodes, GDS_NAMESPACE, MethodIds, add_authority};
pub use requests::{REQUEST_LIFETIME, TokenRequestId};
pub use server::AuthorizationServer;
pub use service::{
    AuthorizationService, AuthorizationServiceParts, AuthorizationServiceSettings, RegisteredResource,
};
pub use subjects::{Credential, SubjectRefusal, SubjectTable, Subjects};

/// Bytes of a resource's id.
pub const RESOURCE_ID_BYTES_MAX: usize = 4_096;
/// Bytes of the data of the requestor in `StartRequestToken`.
pub const REQUESTOR_DATA_BYTES_MAX: usize = 8_192;
/// Roles that can be asked for at once.
pub const REQUESTED_ROLES_MAX: usize = 100;
/// Bytes of a node table: 100,000 nodes of 40 bytes each.
pub const NODE_TABLE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What comes back when a decision was made.
pub type Reply<T> = Pin<Box<dyn Future<Output = Result<T, StatusCode>> + Send>>;

/// What the service says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceDescription {
    /// The issuer of its tokens.
    pub service_uri: String,
    /// The certificate whose key it has (DER).
    pub service_certificate: Vec<u8>,
    /// How users can identify themselves in calls.
    pub user_token_policies: Vec<UserTokenPolicy>,
}

/// A resource server that tokens can be issued for.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The certificate of the server (DER), where one is known. Only its owner may publish the server's node table.
    pub certificate: Option<Arc<[u8]>>,
}

/// Who a call says its user is. Passwords, tokens and signatures are not checked yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Identity {
    /// The call names nobody: the session's user, or its application, is meant (9.3, implicit).
    Session,
    /// Nobody in particular.
    Anonymous(AnonymousIdentityToken),
    /// A name and a password.
    Name(UserNameIdentityToken),
    /// A certificate, with a signature beside it.
    Certificate(X509IdentityToken),
    /// Another service's token.
    Issued(IssuedIdentityToken),
}

/// The arguments of `RequestAccessToken`. The argument has no proof that the caller is that user: take the user from the session.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessTokenRequest {
    /// Who the call says its user is.
    pub identity: Identity,
    /// The server the token is for.
    pub resource_id: String,
}

/// The arguments of `StartRequestToken`.
#[derive(Clone, Debug, PartialEq)]
pub struct StartRequest {
    /// The server the token is for.
    pub resource_id: String,
    /// One of the service's policies for user identity tokens.
    pub policy_id: String,
    /// Depends on the policy: random bytes, a key, nothing (table 149).
    pub requestor_data: ByteString,
}

/// The arguments of `FinishRequestToken`, with those of the `StartRequestToken` it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishRequest {
    /// What was started, in the same session.
    pub started: StartRequest,
    /// What the service gave when it was started.
    pub service_data: ByteString,
    /// The roles the token shall have; none means all that are due.
    pub requested_roles: Vec<String>,
    /// The user.
    pub identity: Identity,
    /// The proof for a certificate.
    pub signature: SignatureData,
}

/// The arguments of `RefreshToken`.
#[derive(Clone, Debug, PartialEq)]
pub struct RefreshRequest {
    /// The server the token is for.
    pub resource_id: String,
    /// The refresh token, which is used up.
    pub refresh_token: String,
}

/// An access token and the token by which the next one is had.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    /// The access token, a JWT.
    pub access_token: String,
    /// When it ends.
    pub access_token_expiry: DateTime,
    /// The refresh token; empty where there is none.
    pub refresh_token: String,
    /// When that ends.
    pub refresh_token_expiry: DateTime,
}

/// The nodes of a resource by the numbers that tokens use for them.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTableUpload {
    /// The server whose nodes they are.
    pub resource_id: String,
    /// The version; tokens name it.
    pub version: u32,
    /// The table as it is encoded.
    pub table: ByteString,
}

/// Decides. Callers are on encrypted channels, arguments have their types and sizes, resources are known ones.
///
/// Errors are the standard's: `BadIdentityTokenInvalid` (cannot be used), `BadIdentityTokenRejected` (used, and wrong),
/// `BadUserAccessDenied` (right, but no token for this one), `BadNotFound`.
pub trait Authority: Send + Sync + 'static {
    /// What the service says about itself.
    fn describe(&self) -> ServiceDescription;

    /// A resource by its id.
    fn resource(&self, resource_id: &str) -> Option<Resource>;

    /// Issues an access token.
    fn request_access_token(
        &self,
        caller: &MethodCaller,
        request: AccessTokenRequest,
        now: Moment,
    ) -> Reply<String>;

    /// Begins a request; gives the data of the service that belong to the policy, null where there are none.
    fn start_request_token(
        &self,
        caller: &MethodCaller,
        request: &StartRequest,
        now: Moment,
    ) -> Reply<ByteString>;

    /// Issues the tokens of a request that was begun. Each request is finished once, whatever comes of it.
    fn finish_request_token(
        &self,
        caller: &MethodCaller,
        request: FinishRequest,
        now: Moment,
    ) -> Reply<Tokens>;

    /// Issues the next tokens. A refresh token counts only from the client certificate that got it.
    fn refresh_token(&self, caller: &MethodCaller, request: RefreshRequest, now: Moment) -> Reply<Tokens>;

    /// Takes the node table of a resource; the caller has the resource's certificate.
    fn publish_node_table(&self, caller: &MethodCaller, table: NodeTableUpload, now: Moment) -> Reply<()>;

    /// All cutoffs in force, encoded ([`feed`]), as the answer to a gate's question of that number.
    fn ask_cutoffs(&self, caller: &MethodCaller, question: u64, now: Moment) -> Reply<ByteString>;

    /// Whether the caller is a gate that may see cutoffs.
    fn may_follow(&self, caller: &MethodCaller) -> bool;
}
