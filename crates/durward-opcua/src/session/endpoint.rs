//! Endpoints that a server offers, and how users may identify themselves at each.

use std::collections::HashSet;

use opcua_types::{
    ApplicationDescription, ApplicationType, EndpointDescription, LocalizedText, MessageSecurityMode,
    StatusCode, UAString, UserTokenPolicy, UserTokenType,
};

use super::discover::address;
use super::expected::is_same_host;
use super::server::ServerSettings;
use crate::channel::{SecurityOffer, TRANSPORT_PROFILE_URI};
use crate::crypto::{Certificate, SecurityPolicy, TokenSecurity};
use crate::error::Error;

/// A security policy and mode, and the user tokens that are accepted there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Policy and mode.
    pub offer: SecurityOffer,
    /// How users may identify themselves.
    pub tokens: Vec<TokenPolicy>,
}

/// A user token policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPolicy {
    /// The identifier, which no other policy of the server has (Part 4, 7.41).
    pub id: String,
    /// What kind of token.
    pub kind: UserTokenKind,
    /// How its secret is encrypted, or its signature made. Nothing that an anonymous token needs.
    pub security: TokenSecurity,
}

/// Kinds of user tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserTokenKind {
    /// No user.
    Anonymous,
    /// Name and password.
    UserName,
    /// A certificate of the user.
    Certificate,
    /// A token that somebody else issued.
    Issued {
        /// The URI of its type (`http://opcfoundation.org/UA/UserToken#JWT`).
        token_type: String,
        /// Where to get one: for a JWT a JSON object (Part 6, 6.5.2.2).
        issuer_endpoint_url: String,
    },
}

impl UserTokenKind {
    fn token_type(&self) -> UserTokenType {
        match self {
            UserTokenKind::Anonymous => UserTokenType::Anonymous,
            UserTokenKind::UserName => UserTokenType::UserName,
            UserTokenKind::Certificate => UserTokenType::Certificate,
            UserTokenKind::Issued { .. } => UserTokenType::IssuedToken,
        }
    }

    fn has_secret(&self) -> bool {
        match self {
            UserTokenKind::UserName | UserTokenKind::Issued { .. } => true,
            UserTokenKind::Anonymous | UserTokenKind::Certificate => false,
        }
    }
}

impl TokenPolicy {
    fn describe(&self) -> UserTokenPolicy {
        let mut described = UserTokenPolicy {
            policy_id: UAString::from(self.id.as_str()),
            token_type: self.kind.token_type(),
            issued_token_type: UAString::null(),
            issuer_endpoint_url: UAString::null(),
            security_policy_uri: UAString::from(self.security.policy().uri()),
        };
        match &self.kind {
            UserTokenKind::Anonymous => described.security_policy_uri = UAString::null(),
            UserTokenKind::UserName | UserTokenKind::Certificate => {}
            UserTokenKind::Issued { token_type, issuer_endpoint_url } => {
                described.issued_token_type = UAString::from(token_type.as_str());
                described.issuer_endpoint_url = UAString::from(issuer_endpoint_url.as_str());
            }
        }
        described
    }
}

impl Endpoint {
    /// An endpoint with these kinds of tokens, encrypted as the endpoint's policy says. Identifiers are made of the kind, the policy and
    /// the mode.
    pub fn new(policy: SecurityPolicy, mode: MessageSecurityMode, kinds: &[UserTokenKind]) -> Endpoint {
        let tokens = kinds.iter().map(|kind| TokenPolicy {
            id: format!(
                "{}_{}_{}",
                kind.name(),
                policy.name(),
                if mode == MessageSecurityMode::Sign { "s" } else { "e" }
            ),
            kind: kind.clone(),
            security: TokenSecurity::Encrypted(policy),
        });
        Endpoint { offer: SecurityOffer { policy, mode }, tokens: tokens.collect() }
    }

    fn check(&self, ids: &mut HashSet<String>) -> Result<(), Error> {
        let SecurityOffer { policy, mode } = self.offer;
        let secured = matches!(mode, MessageSecurityMode::Sign | MessageSecurityMode::SignAndEncrypt);
        if !policy.is_secure() || !secured {
            return Err(wrong(format!(
                "an endpoint with {policy} and {mode:?} has no security; sessions need it"
            )));
        }
        if self.tokens.is_empty() {
            return Err(wrong(format!("the endpoint with {policy} and {mode:?} accepts no user token")));
        }
        for token in &self.tokens {
            if !ids.insert(token.id.clone()) {
                return Err(wrong(format!("the user token policy `{}` is there twice", token.id)));
            }
            let plain = token.security == TokenSecurity::Plain;
            if plain && token.kind.has_secret() && mode != MessageSecurityMode::SignAndEncrypt {
                return Err(wrong(format!(
                    "`{}` sends secrets in plain over a channel that is not encrypted",
                    token.id
                )));
            }
            if plain && token.kind == UserTokenKind::Certificate {
                return Err(wrong(format!(
                    "`{}` needs a security policy for the user's signature",
                    token.id
                )));
            }
        }
        Ok(())
    }
}

impl UserTokenKind {
    fn name(&self) -> &'static str {
        match self {
            UserTokenKind::Anonymous => "anonymous",
            UserTokenKind::UserName => "username",
            UserTokenKind::Certificate => "certificate",
            UserTokenKind::Issued { .. } => "issued",
        }
    }
}

/// Checks what an operator set up.
///
/// # Errors
/// `BadConfigurationError`, with what to change.
pub(super) fn check(settings: &ServerSettings) -> Result<(), Error> {
    let own = settings.channel.own.certificate();
    if !own.is_of_application(&settings.application_uri) {
        return Err(wrong(format!(
            "the certificate is that of `{}`, not of `{}`",
            own.application_uri().unwrap_or_default(),
            settings.application_uri
        )));
    }
    if settings.endpoints.is_empty() {
        return Err(wrong("there is no endpoint".to_owned()));
    }
    let mut ids = HashSet::new();
    for (index, endpoint) in settings.endpoints.iter().enumerate() {
        endpoint.check(&mut ids)?;
        if settings.endpoints.iter().take(index).any(|other| other.offer == endpoint.offer) {
            return Err(wrong("two endpoints have the same security policy and mode".to_owned()));
        }
    }
    Ok(())
}

fn wrong(reason: String) -> Error {
    Error::new(StatusCode::BadConfigurationError, reason)
}

/// What the server says of itself.
pub(super) fn application(settings: &ServerSettings) -> ApplicationDescription {
    ApplicationDescription {
        application_uri: UAString::from(settings.application_uri.as_str()),
        product_uri: UAString::from(settings.product_uri.as_str()),
        application_name: LocalizedText::new("en", &settings.application_name),
        application_type: ApplicationType::Server,
        gateway_server_uri: UAString::null(),
        discovery_profile_uri: UAString::null(),
        discovery_urls: Some(vec![UAString::from(settings.endpoint_url.as_str())]),
    }
}

/// What the server says of its endpoints.
pub(super) fn describe(settings: &ServerSettings) -> Vec<EndpointDescription> {
    let describe = |endpoint: &Endpoint| EndpointDescription {
        endpoint_url: UAString::from(settings.endpoint_url.as_str()),
        server: application(settings),
        server_certificate: settings.channel.own.chain().into(),
        security_mode: endpoint.offer.mode,
        security_policy_uri: UAString::from(endpoint.offer.policy.uri()),
        user_identity_tokens: Some(endpoint.tokens.iter().map(TokenPolicy::describe).collect()),
        transport_profile_uri: UAString::from(TRANSPORT_PROFILE_URI),
        security_level: level(endpoint.offer),
    };
    settings.endpoints.iter().map(describe).collect()
}

/// The endpoints under the host and port that a client asked by, where the certificate is for that host: behind a translation of addresses, or on
/// a second network, the configured URL leads nowhere (Part 4, 5.4.4.2).
pub(super) fn as_asked(
    endpoints: &[EndpointDescription],
    own: &Certificate,
    asked: &str,
) -> Vec<EndpointDescription> {
    let mut told = endpoints.to_vec();
    let Ok((host, port)) = address(asked) else { return told };
    if !own.host_names().iter().any(|name| is_same_host(name, host)) {
        return told;
    }
    let authority = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    for endpoint in &mut told {
        let configured = endpoint.endpoint_url.as_ref().strip_prefix("opc.tcp://").unwrap_or_default();
        let path = configured.split_once('/').map(|(_, path)| format!("/{path}")).unwrap_or_default();
        let url = UAString::from(format!("opc.tcp://{authority}{path}"));
        endpoint.server.discovery_urls = Some(vec![url.clone()]);
        endpoint.endpoint_url = url;
    }
    told
}

fn level(offer: SecurityOffer) -> u8 {
    let encrypted = u8::from(offer.mode == MessageSecurityMode::SignAndEncrypt);
    offer.policy.level() + 10 * encrypted
}
