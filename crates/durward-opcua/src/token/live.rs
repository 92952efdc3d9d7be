//! What a token leaves to the gate: the question to the gate's own decision point, and the facts about the subject that it is asked with.

use std::collections::BTreeMap;

use durward_identity::Moment;
use serde_json::{Value, json};

use super::claims::VerifiedToken;
use super::node::TableNode;
use super::table::NodeTable;
use crate::permission::{Permission, PermissionRuling};

/// Most bytes of [`LiveFacts`] in a token, as JSON: users with more attributes get tokens without them, and what depends on live values is
/// refused to them.
pub const LIVE_FACTS_BYTES_MAX: usize = 4_096;

/// What a gate decides itself: permissions that depend on live values.
pub trait LiveDecider: Send + Sync {
    /// Rules on a permission that the token leaves open. Called for each question, on the task that serves the client: remember answers
    /// for as long as they hold, and wait for nobody.
    fn rule(&self, question: &LiveQuestion<'_>) -> PermissionRuling;
}

/// A permission on a node that a token leaves open.
#[derive(Clone, Copy, Debug)]
pub struct LiveQuestion<'q> {
    /// The token, which counts at this moment.
    pub token: &'q VerifiedToken,
    /// What is to be done.
    pub permission: Permission,
    /// The table that the token was made over.
    pub table: &'q NodeTable,
    /// The node's row.
    pub row: u32,
    /// When.
    pub now: Moment,
}

impl LiveQuestion<'_> {
    /// The node as policies name it: `nsu=http://plant.example/;s=Line1.Motor3`.
    pub fn node(&self) -> Option<String> {
        let (namespace, identifier) = self.table.node(self.row)?;
        TableNode::new(namespace, identifier.clone()).ok().map(|node| node.to_string())
    }
}

/// What policies can ask about a subject beside its name and roles, which every token has. In a token only where it leaves something to the
/// gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFacts {
    /// How the subject was proven: the name of a [`SubjectKind`](crate::authority::decide::SubjectKind).
    pub kind: String,
    /// Attributes of the user.
    pub attributes: BTreeMap<String, Value>,
    /// The client's ApplicationUri, as the authorization service saw it.
    pub application_uri: String,
    /// The subject of the client's certificate.
    pub certificate_subject: String,
    /// The mode of the channel to the authorization service.
    pub security_mode: String,
}

impl LiveFacts {
    /// As a token carries them.
    pub fn to_json(&self) -> Value {
        json!({
            "kind": self.kind,
            "attributes": self.attributes,
            "application": self.application_uri,
            "certificate": self.certificate_subject,
            "mode": self.security_mode,
        })
    }

    /// What a token carries; nothing where something is missing.
    pub fn read(json: &Value) -> Option<LiveFacts> {
        let text = |name: &str| json.get(name)?.as_str().map(str::to_owned);
        let attributes = json.get("attributes")?.as_object()?;
        Some(LiveFacts {
            kind: text("kind")?,
            attributes: attributes.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            application_uri: text("application")?,
            certificate_subject: text("certificate")?,
            security_mode: text("mode")?,
        })
    }
}
