//! What stands behind the sessions of a server: the gate, the authorization service and the plant implement [`SessionHandler`].
//!
//! The session layer opens channels, checks certificates and signatures, decrypts tokens and answers discovery and session
//! services itself. A [`SessionHandler`] says who a user is, and answers every other request of an activated session.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use durward_identity::Moment;
use opcua_types::{MessageSecurityMode, NodeId, StatusCode};
use zeroize::Zeroizing;

use crate::crypto::{Certificate, SecurityPolicy};
use crate::session::ActiveSession;
use crate::wire::RequestPeek;

/// Answers the requests of activated sessions.
pub trait SessionHandler: Send + Sync + Sized + 'static {
    /// The user of a session. Replaced as a whole when a session is activated again; requests that are under way keep the one
    /// they began with.
    type User: Send + Sync + 'static;

    /// What the service keeps for a session (subscriptions, a session upstream). Made when the session is first activated,
    /// dropped after [`SessionHandler::closed`].
    type State: Send + Sync + 'static;

    /// Whether room is kept for the sessions of this client ([`ServerLimits::sessions_reserved`](super::ServerLimits)): others cannot take it.
    fn is_preferred(&self, client: &ClientInfo) -> bool {
        let _ = client;
        false
    }

    /// Says who the user is, or refuses. Signatures are verified and secrets decrypted already; whether the password, the token
    /// or the user's certificate is any good is for the service to say. Requests of the session go on under the old user
    /// meanwhile.
    ///
    /// # Errors
    /// The status code that the client gets; the session stays as it was.
    fn authenticate(
        &self,
        attempt: ActivationAttempt<'_, Self::User>,
    ) -> impl Future<Output = Result<Self::User, StatusCode>> + Send;

    /// Whether both are the same user. A session may move to another channel only with the same user (Part 4, 5.7.3).
    fn same_user(&self, current: &Self::User, next: &Self::User) -> bool;

    /// Begins a session that was just authenticated for the first time. If two activations of a new session race, the state made
    /// for the one that loses is dropped, without [`SessionHandler::closed`].
    ///
    /// # Errors
    /// The status code that the client gets; the session is not activated then.
    fn opened(
        &self,
        session: &SessionInfo,
        user: &Arc<Self::User>,
    ) -> impl Future<Output = Result<Self::State, StatusCode>> + Send;

    /// Tells that the session has another user now. Deliveries that are under way must be checked again (Part 2, 6.20).
    fn user_changed(&self, session: &Arc<ActiveSession<Self>>) {
        let _ = session;
    }

    /// Answers one request: the bytes of a response, type id first (see [`crate::wire::encode_service`]). The future is polled
    /// on the connection's task: work that takes long goes elsewhere. Answers may come in any order.
    ///
    /// # Errors
    /// The status code of the `ServiceFault` that the client gets.
    fn answer(&self, call: SessionCall<Self>) -> impl Future<Output = Result<Bytes, StatusCode>> + Send;

    /// Tells that an activated session has ended.
    fn closed(&self, session: &Arc<ActiveSession<Self>>, reason: CloseReason) {
        let _ = (session, reason);
    }

    /// Tells that a channel has ended. Its activated sessions wait for another one.
    fn channel_closed(&self, channel: u32) {
        let _ = channel;
    }
}

/// One request of an activated session.
pub struct SessionCall<S: SessionHandler> {
    /// The session.
    pub session: Arc<ActiveSession<S>>,
    /// Its user when the request came.
    pub user: Arc<S::User>,
    /// Type, handle and timeout hint, and where they stand in the body.
    pub request: RequestPeek,
    /// The whole request, type id first, as it came.
    pub body: Bytes,
}

/// An attempt to activate a session: the client and the claimed user.
pub struct ActivationAttempt<'a, U> {
    /// The session, and the client whose certificate is proven.
    pub session: &'a SessionInfo,
    /// The channel on which the activation came; not always the one that the session was created on.
    pub channel: ChannelInfo,
    /// The identifier of the user token policy.
    pub policy_id: &'a str,
    /// The identity, decrypted, its signature verified.
    pub identity: UserIdentity,
    /// Whether this is the first activation.
    pub activation: Activation<'a, U>,
    /// How many activations of the session had succeeded when its nonce was taken that this one is signed over. Another one that succeeds
    /// meanwhile lets this one fail.
    pub nonce_number: u32,
    /// Languages that the client prefers, best first.
    pub locales: Vec<String>,
    /// When the request came.
    pub moment: Moment,
}

/// The first activation of a session, or a later one.
pub enum Activation<'a, U> {
    /// The session has no user yet.
    First,
    /// The session has this user, which stays if the attempt fails.
    Again {
        /// The user now.
        current: &'a Arc<U>,
    },
}

/// The user identity token of a client.
pub enum UserIdentity {
    /// Nothing.
    Anonymous,
    /// A name and a password.
    UserName {
        /// The name; empty if there is none.
        name: String,
        /// The password as it was sent: UTF-8 by the standard, unchecked.
        password: Zeroizing<Vec<u8>>,
    },
    /// A certificate, the possession of whose key is proven. Whether it is trusted is not checked yet.
    Certificate(Arc<Certificate>),
    /// An issued token.
    Issued {
        /// The token's type, as in the policy (a JWT, mostly).
        token_type: String,
        /// The token.
        token: Zeroizing<Vec<u8>>,
    },
}

/// Secrets do not show.
impl fmt::Debug for UserIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UserIdentity::Anonymous => f.write_str("Anonymous"),
            UserIdentity::UserName { name, .. } => {
                f.debug_struct("UserName").field("name", name).finish_non_exhaustive()
            }
            UserIdentity::Certificate(certificate) => {
                f.debug_tuple("Certificate").field(&certificate.thumbprint_hex()).finish()
            }
            UserIdentity::Issued { token_type, .. } => {
                f.debug_struct("Issued").field("token_type", token_type).finish_non_exhaustive()
            }
        }
    }
}

/// What does not change about a session.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// A number that no other session of this process has.
    pub number: u64,
    /// The public identifier (not the authentication token, which is a secret of the session layer).
    pub id: NodeId,
    /// The name that the client gave.
    pub name: String,
    /// The client application.
    pub client: Arc<ClientInfo>,
    /// The endpoint URL that the client asked for.
    pub endpoint_url: String,
    /// The security policy of the endpoint.
    pub security_policy: SecurityPolicy,
    /// The security mode of the endpoint.
    pub security_mode: MessageSecurityMode,
    /// After so many milliseconds without a request the session ends.
    pub timeout_ms: u64,
    /// The longest response that the client takes, in bytes; 0 means that it did not say.
    pub response_bytes_max: u32,
}

/// A client application whose certificate the server trusts, and whose key it has proven to have.
#[derive(Clone, Debug)]
pub struct ClientInfo {
    /// The application's URI: as it was sent, and found in the certificate.
    pub application_uri: String,
    /// The application's name, which nothing proves.
    pub application_name: String,
    /// The certificate: the one of the channel.
    pub certificate: Arc<Certificate>,
}

/// A secure channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelInfo {
    /// The channel's identifier.
    pub id: u32,
    /// Its security policy.
    pub security_policy: SecurityPolicy,
    /// Its security mode.
    pub security_mode: MessageSecurityMode,
    /// Where the client connected from, if that is known.
    pub peer: Option<SocketAddr>,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The client closed it.
    Client {
        /// Whether its subscriptions end as well.
        delete_subscriptions: bool,
    },
    /// No request came for as long as its timeout.
    Timeout,
    /// The service closed it (see [`ActiveSession::close`]).
    Service,
    /// The server ends.
    Shutdown,
}
