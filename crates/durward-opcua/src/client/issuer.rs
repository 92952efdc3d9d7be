//! Where a resource says its tokens come from: the JSON object in `issuerEndpointUrl` (Part 6, 6.5.2.2), in both spellings that are
//! in use (`ua:resourceId` of the standard, `resourceUri` of others).

use opcua_types::{EndpointDescription, StatusCode, UserTokenPolicy, UserTokenType};
use serde_json::Value;

use crate::error::Error;
pub use crate::session::JWT_TOKEN_TYPE;

/// The profile of authorization services that are OPC UA servers.
pub const PROFILE_OPCUA: &str = "http://opcfoundation.org/UA/Authorization#OPCUA";
/// Bytes of the object. A server that is not trusted yet sends it.
const ISSUER_BYTES_MAX: usize = 65_536;

/// What a user token policy of type JWT says of its authorization service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issuer {
    /// Whom tokens are for; nothing when the policy leaves it out, and then the server's ApplicationUri is meant.
    pub resource_id: Option<String>,
    /// The URL of the authorization service.
    pub authority_url: Option<String>,
    /// The issuer of tokens, which is the ApplicationUri of the service. An addition of durward's gates.
    pub issuer: Option<String>,
    /// How to speak with it; nothing when the policy leaves it out.
    pub profile: Option<String>,
    /// The node id of the service's object there, as text (`nsu=...;...`).
    pub token_endpoint: Option<String>,
    /// Where users identify themselves in the call instead of by their session.
    pub authorization_endpoint: Option<String>,
    /// What can be asked for.
    pub request_types: Vec<String>,
    /// Scopes that can be asked for.
    pub scopes: Vec<String>,
}

impl Issuer {
    /// Reads the object. Where both spellings stand in it, that of the standard counts.
    ///
    /// # Errors
    /// `BadConfigurationError` for what is no JSON object or too long.
    pub fn parse(text: &str) -> Result<Issuer, Error> {
        let wrong = |reason: String| Error::new(StatusCode::BadConfigurationError, reason);
        if text.len() > ISSUER_BYTES_MAX {
            return Err(wrong(format!(
                "the server's issuerEndpointUrl has more than {ISSUER_BYTES_MAX} bytes"
            )));
        }
        let parsed: Value = serde_json::from_str(text)
            .map_err(|error| wrong(format!("the server's issuerEndpointUrl is no JSON object: {error}")))?;
        if !parsed.is_object() {
            return Err(wrong("the server's issuerEndpointUrl is no JSON object".to_owned()));
        }
        let find = |names: &[&str]| {
            let standard = names.iter().find_map(|name| parsed.get(format!("ua:{name}")));
            standard
                .or_else(|| names.iter().find_map(|name| parsed.get(*name)))
                .filter(|value| !value.is_null())
        };
        let text = |names: &[&str]| {
            find(names).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let list = |names: &[&str]| {
            let values = find(names).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Ok(Issuer {
            resource_id: text(&["resourceId", "resourceUri", "resource"]),
            authority_url: text(&["authorityUrl", "authorityUri", "authority"]),
            issuer: text(&["issuer"]),
            profile: text(&["authorityProfileUri", "authorityProfileUrl"]),
            token_endpoint: text(&["tokenEndpoint", "token_endpoint"]),
            authorization_endpoint: text(&["authorizationEndpoint", "authorization_endpoint"]),
            request_types: list(&["requestTypes", "request_types"]),
            scopes: list(&["scopes"]),
        })
    }

    /// Whether the service is an OPC UA server. Older servers leave the profile out, and some name none but an `opc.tcp` URL.
    pub fn is_opcua(&self) -> bool {
        match &self.profile {
            Some(profile) => profile == PROFILE_OPCUA,
            None => self.authority_url.as_deref().is_none_or(|url| url.starts_with("opc.tcp://")),
        }
    }
}

/// The policies of an endpoint for tokens that are JWTs.
pub fn jwt_policies(endpoint: &EndpointDescription) -> impl Iterator<Item = &UserTokenPolicy> {
    endpoint.user_identity_tokens.iter().flatten().filter(|policy| {
        policy.token_type == UserTokenType::IssuedToken && policy.issued_token_type.as_ref() == JWT_TOKEN_TYPE
    })
}
