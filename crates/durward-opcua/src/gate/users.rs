//! Users who come with a name and a password, or a certificate: clients that cannot hand a token over.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use opcua_types::StatusCode;
use zeroize::Zeroizing;

use crate::crypto::Certificate;
use crate::session::ClientInfo;

/// The credentials a user presents; nothing of it is verified but that a certificate's key is theirs.
pub enum UserClaim {
    /// A name and a password.
    Name {
        /// The name.
        name: String,
        /// The password, as it was sent.
        password: Zeroizing<Vec<u8>>,
    },
    /// A certificate. Whether it is trusted is to be checked.
    Certificate(Arc<Certificate>),
}

/// A token that the authorization service issued for this gate in the user's name.
pub struct DelegatedToken {
    /// The token: bound to the client's certificate, or to the gate's own.
    pub token: Zeroizing<String>,
    /// By what the next one is fetched before this one ends ([`UserRights::renew`]): a refresh token. Without, the session ends with the token.
    pub refresh: Option<Zeroizing<String>>,
}

/// Why a user is refused.
#[derive(Clone, Debug)]
pub struct UserRefusal {
    /// What the client is told.
    pub status: StatusCode,
    /// Why, for log and audit.
    pub reason: String,
}

/// Which kinds of users are let in: what the gate publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserKinds {
    /// By name and password.
    pub names: bool,
    /// By certificate.
    pub certificates: bool,
}

/// The answer to a claim, when it comes.
pub type UserReply = Pin<Box<dyn Future<Output = Result<DelegatedToken, UserRefusal>> + Send>>;

/// Fetches rights for users who come without a token.
pub trait UserRights: Send + Sync {
    /// Which kinds of users are let in.
    fn kinds(&self) -> UserKinds;

    /// Fetches a token for a user of a client application, whose certificate is proven.
    fn fetch(&self, claim: UserClaim, client: Arc<ClientInfo>) -> UserReply;

    /// Fetches the next token of a user who is in, by what came with the one before. Asked again while it fails, as long as that one lasts; not where
    /// the status says that there will be none: `BadUserAccessDenied`, `BadIdentityTokenRejected`, `BadIdentityTokenInvalid`, `BadNotFound`.
    fn renew(&self, refresh: Zeroizing<String>, client: Arc<ClientInfo>) -> UserReply {
        let _ = (refresh, client);
        let reason = "rights that were fetched are not renewed here".to_owned();
        Box::pin(async { Err(UserRefusal { status: StatusCode::BadIdentityTokenRejected, reason }) })
    }
}
