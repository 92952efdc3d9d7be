//! The request of the authorization service to a decision point, and the answer: all nodes of one resource for one subject.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::MessageSecurityMode;
use serde_json::Value;

use crate::error::Error;
use crate::permission::Permission;
use crate::token::{GrantVerdict, NodeTable, TableNode, Thumbprint};

/// How a subject authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubjectKind {
    /// A client application, by the certificate of its channel: no user.
    Application,
    /// A user, by name and password.
    User,
    /// A user, by a certificate of their own.
    Certificate,
    /// A user, by a durward session.
    Session,
}

impl SubjectKind {
    /// As policies and logs have it.
    pub fn name(self) -> &'static str {
        match self {
            SubjectKind::Application => "application",
            SubjectKind::User => "user",
            SubjectKind::Certificate => "certificate",
            SubjectKind::Session => "session",
        }
    }
}

/// The subject that rights are asked for: as known at the moment of the question.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenSubject {
    /// The name: `sub` of tokens, and what cutoffs of subjects name. At most [`NAME_BYTES_MAX`](super::feed::NAME_BYTES_MAX) bytes.
    pub name: Arc<str>,
    /// How it was proven.
    pub kind: SubjectKind,
    /// Roles that the directory says.
    pub roles: Vec<Arc<str>>,
    /// Attributes of the user or their durward session.
    pub attributes: BTreeMap<String, Value>,
    /// The handle of the durward session, where there is one. When it ends, so do its tokens.
    pub session: Option<Arc<str>>,
    /// When the durward session ends, however much it is used: no token lives longer.
    pub ends: Option<Moment>,
}

/// The client application, proven by its channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenClientApplication {
    /// Its ApplicationUri, which stands in the certificate.
    pub application_uri: Arc<str>,
    /// The subject of its certificate, in the order and form of RFC 4514.
    pub certificate_subject: Arc<str>,
    /// The SHA-256 of its certificate: tokens are bound to it.
    pub thumbprint: Thumbprint,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct RightsQuestion<'q> {
    /// Whom the rights are to be of.
    pub subject: &'q TokenSubject,
    /// By which application, which the token will be bound to.
    pub client: &'q TokenClientApplication,
    /// The mode of the channel to the authorization service; always `SignAndEncrypt` today.
    pub security_mode: MessageSecurityMode,
    /// The server, by its resource id.
    pub resource: &'q str,
    /// Its nodes. Empty for servers that know only roles.
    pub table: &'q NodeTable,
    /// What may be asked of each node.
    pub permissions: &'q [Permission],
    /// When.
    pub now: Moment,
}

impl RightsQuestion<'_> {
    /// The nodes in the order of their rows, as texts (`nsu=http://plant.example/;s=Line1.Motor3`). Classes and browse paths are not part of a
    /// node table.
    pub fn nodes(&self) -> impl Iterator<Item = String> {
        let text = |(namespace, identifier): (&str, &opcua_types::Identifier)| {
            // Nodes of a table were checked: there is always a text.
            TableNode::new(namespace, identifier.clone()).map(|node| node.to_string()).unwrap_or_default()
        };
        self.table.iter().map(text)
    }
}

/// What is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct RightsDecision {
    /// For each row of the table, for each permission in the order of the question, what is said. What is missing is refused.
    pub verdicts: Vec<GrantVerdict>,
    /// The roles that the token shall carry, for servers that know only these.
    pub roles: Vec<Arc<str>>,
    /// The version of the policies that decided: what [`policies_changed`](super::AuthorizationService::policies_changed) recalls.
    pub policy: Arc<str>,
    /// How long a token may live on it, at most.
    pub lifetime: Duration,
    /// How long the same answer may be given to the same question again. Zero where it depends on the time of day or on values that change.
    pub reusable: Duration,
}

/// A decision point.
pub trait RightsDecider: Send + Sync + 'static {
    /// The version of the policies in force.
    fn policy_version(&self) -> Arc<str>;

    /// Decides. Called on a thread that may compute and wait.
    ///
    /// # Errors
    /// There is no decision; no token is issued, and the client gets the status code.
    fn decide(&self, question: &RightsQuestion<'_>) -> Result<RightsDecision, Error>;
}
