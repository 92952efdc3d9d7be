//! The caller of a method: its session and channel.

use std::sync::Arc;

/// A session by the number that the session layer gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallerSessionId(pub u64);

/// The user of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallerUser {
    /// Nobody said who they are.
    Anonymous,
    /// A user with this name, whose password was right.
    Name(Arc<str>),
    /// The owner of this certificate (DER), who proved to have its key.
    Certificate(Arc<[u8]>),
    /// The owner of a token that was verified: its subject; to the authorization service, the handle of a durward session.
    Token(Arc<str>),
}

/// The facts about a caller, each verified by the session layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodCaller {
    /// The session.
    pub session: CallerSessionId,
    /// The certificate of the client application (DER); nothing where the channel has no security.
    pub certificate: Option<Arc<[u8]>>,
    /// The application's URI, which the session layer compared with the certificate.
    pub application_uri: Arc<str>,
    /// The session's user.
    pub user: CallerUser,
    /// Whether messages of the channel are encrypted (mode SignAndEncrypt).
    pub encrypted: bool,
}

impl MethodCaller {
    /// Whether both come from the same application: the certificates are the same, the users perhaps not.
    pub fn is_same_application(&self, other: &MethodCaller) -> bool {
        self.certificate == other.certificate
            && (self.certificate.is_some() || self.application_uri == other.application_uri)
    }

    /// Whether subscriptions of one caller may go over to the other (Part 4, 5.14.7): the same user; where nobody said who they are, the
    /// same application.
    pub fn is_same_client(&self, other: &MethodCaller) -> bool {
        let anonymous = self.user == CallerUser::Anonymous;
        let same_application =
            self.certificate == other.certificate && self.application_uri == other.application_uri;
        self.user == other.user && (!anonymous || same_application)
    }
}
