//! What policies are asked about one subject, one node and one permission: a subscription of SAPL, or a request of XACML. The authorization
//! service and the decision point of a gate ask the same, from facts that each has in its own way.

use std::collections::BTreeMap;

use durward_opcua::authority::decide::{RightsQuestion, TokenClientApplication, TokenSubject};
use durward_opcua::error::Error;
use durward_opcua::permission::Permission;
use durward_opcua::token::LiveQuestion;
use durward_pdp::ir::json;
use durward_pdp::sapl::Subscription;
use durward_pdp::{Request, Value};
use opcua_types::StatusCode;
use serde_json::{Value as Json, json};

pub(super) const ENVIRONMENT: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:environment";
pub(super) const SUBJECT_ID: &str = "urn:oasis:names:tc:xacml:1.0:subject:subject-id";
pub(super) const ROLE: &str = "urn:oasis:names:tc:xacml:2.0:subject:role";
pub(super) const RESOURCE_ID: &str = "urn:oasis:names:tc:xacml:1.0:resource:resource-id";
pub(super) const ACTION_ID: &str = "urn:oasis:names:tc:xacml:1.0:action:action-id";
pub(super) const KIND: &str = "urn:durward:opcua:subject:kind";
pub(super) const ATTRIBUTE: &str = "urn:durward:opcua:subject:attribute:";
pub(super) const APPLICATION_URI: &str = "urn:durward:opcua:application:uri";
pub(super) const APPLICATION_SUBJECT: &str = "urn:durward:opcua:application:certificate-subject";
pub(super) const APPLICATION_THUMBPRINT: &str = "urn:durward:opcua:application:thumbprint";
pub(super) const SERVER: &str = "urn:durward:opcua:resource:server";
pub(super) const SECURITY_MODE: &str = "urn:durward:opcua:environment:security-mode";

/// The facts that questions about all nodes and permissions share.
pub(super) struct QuestionFacts<'f> {
    pub(super) name: &'f str,
    pub(super) kind: &'f str,
    pub(super) roles: Vec<&'f str>,
    pub(super) attributes: &'f BTreeMap<String, Json>,
    pub(super) application_uri: &'f str,
    pub(super) certificate_subject: &'f str,
    pub(super) thumbprint: String,
    /// The server, by its resource id.
    pub(super) resource: &'f str,
    pub(super) security_mode: String,
}

/// The parts of a subscription that do not depend on node and permission.
#[derive(Clone)]
pub(super) struct CommonParts {
    subject: Value,
    environment: Value,
}

impl CommonParts {
    /// The question in SAPL; the resource is that of [`QuestionFacts::resource`].
    pub(super) fn subscription(&self, resource: &Value, permission: Permission) -> Subscription {
        let CommonParts { subject, environment } = self.clone();
        let action = Value::Text(action(permission).into());
        Subscription::new(subject, action, resource.clone(), environment)
    }
}

impl<'f> QuestionFacts<'f> {
    /// What the authorization service knows.
    pub(super) fn of(question: &RightsQuestion<'f>) -> QuestionFacts<'f> {
        let mode = format!("{:?}", question.security_mode);
        QuestionFacts::about(question.subject, question.client, question.resource, mode)
    }

    /// What is known of a subject and a client, for a resource, over a channel of that mode.
    pub(super) fn about(
        subject: &'f TokenSubject,
        client: &'f TokenClientApplication,
        resource: &'f str,
        security_mode: String,
    ) -> QuestionFacts<'f> {
        QuestionFacts {
            name: &subject.name,
            kind: subject.kind.name(),
            roles: subject.roles.iter().map(|role| &**role).collect(),
            attributes: &subject.attributes,
            application_uri: &client.application_uri,
            certificate_subject: &client.certificate_subject,
            thumbprint: client.thumbprint.to_string(),
            resource,
            security_mode,
        }
    }

    /// What a token says that leaves something to the gate; `None` where it does not say all of it.
    pub(super) fn of_token(question: &LiveQuestion<'f>, resource: &'f str) -> Option<QuestionFacts<'f>> {
        let token = question.token;
        let facts = token.live_facts()?;
        Some(QuestionFacts {
            name: token.subject(),
            kind: &facts.kind,
            roles: token.roles().iter().map(String::as_str).collect(),
            attributes: &facts.attributes,
            application_uri: &facts.application_uri,
            certificate_subject: &facts.certificate_subject,
            thumbprint: token.client().to_owned(),
            resource,
            security_mode: facts.security_mode.clone(),
        })
    }

    /// The subject of subscriptions.
    ///
    /// # Errors
    /// Facts that no value of a policy can hold.
    pub(super) fn subject(&self) -> Result<Value, Error> {
        value(&json!({
            "name": self.name,
            "kind": self.kind,
            "roles": self.roles,
            "attributes": self.attributes,
            "application": {
                "uri": self.application_uri,
                "certificateSubject": self.certificate_subject,
                "thumbprint": self.thumbprint,
            },
        }))
    }

    /// The environment of subscriptions.
    ///
    /// # Errors
    /// As of [`QuestionFacts::subject`].
    pub(super) fn environment(&self) -> Result<Value, Error> {
        value(&json!({"securityMode": self.security_mode}))
    }

    /// The resource of subscriptions about this node.
    ///
    /// # Errors
    /// As of [`QuestionFacts::subject`].
    pub(super) fn resource(&self, node: &str) -> Result<Value, Error> {
        value(&json!({"server": self.resource, "node": node}))
    }

    /// What all subscriptions about this subject share.
    ///
    /// # Errors
    /// As of [`QuestionFacts::subject`].
    pub(super) fn known(&self) -> Result<CommonParts, Error> {
        Ok(CommonParts { subject: self.subject()?, environment: self.environment()? })
    }

    /// The question in XACML.
    pub(super) fn request(&self, node: &str, permission: Permission) -> Request {
        let mut request = Request::builder().subject(SUBJECT_ID, self.name).subject(KIND, self.kind);
        for role in &self.roles {
            request = request.subject(ROLE, *role);
        }
        for (name, value) in self.attributes {
            for text in texts(value) {
                request = request.subject(&format!("{ATTRIBUTE}{name}"), text.as_str());
            }
        }
        request
            .subject(APPLICATION_URI, self.application_uri)
            .subject(APPLICATION_SUBJECT, self.certificate_subject)
            .subject(APPLICATION_THUMBPRINT, self.thumbprint.as_str())
            .resource(RESOURCE_ID, node)
            .resource(SERVER, self.resource)
            .action(ACTION_ID, action(permission))
            .environment(SECURITY_MODE, self.security_mode.as_str())
            .build()
    }
}

fn value(json: &Json) -> Result<Value, Error> {
    json::read(json.to_string()).map_err(|error| {
        Error::new(
            StatusCode::BadInternalError,
            format!("no policy can be asked about this subject: {error}"),
        )
    })
}

/// The values of an attribute, as texts.
fn texts(value: &Json) -> Vec<String> {
    match value {
        Json::Array(values) => values.iter().flat_map(texts).collect(),
        Json::String(text) => vec![text.clone()],
        Json::Null => Vec::new(),
        other @ (Json::Bool(_) | Json::Number(_) | Json::Object(_)) => vec![other.to_string()],
    }
}

/// The permission that policies name so.
pub(super) fn permission(action: &str) -> Result<Permission, String> {
    let named = Permission::ALL.into_iter().find(|permission| self::action(*permission) == action);
    named.ok_or_else(|| format!("one of {}", Permission::ALL.map(self::action).join(", ")))
}

/// A permission as policies name it: the name in Part 3, 8.55, with a small first letter.
pub(super) fn action(permission: Permission) -> &'static str {
    match permission {
        Permission::Browse => "browse",
        Permission::ReadRolePermissions => "readRolePermissions",
        Permission::WriteAttribute => "writeAttribute",
        Permission::WriteRolePermissions => "writeRolePermissions",
        Permission::WriteHistorizing => "writeHistorizing",
        Permission::Read => "read",
        Permission::Write => "write",
        Permission::ReadHistory => "readHistory",
        Permission::InsertHistory => "insertHistory",
        Permission::ModifyHistory => "modifyHistory",
        Permission::DeleteHistory => "deleteHistory",
        Permission::ReceiveEvents => "receiveEvents",
        Permission::Call => "call",
        Permission::AddReference => "addReference",
        Permission::RemoveReference => "removeReference",
        Permission::DeleteNode => "deleteNode",
        Permission::AddNode => "addNode",
    }
}
