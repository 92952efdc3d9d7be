//! The way to the authorization service: a session that is kept, the service's object found by browsing, tokens asked for by its methods.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use opcua_types::{
    AnonymousIdentityToken, ByteString, ExtensionObject, MessageSecurityMode, NodeId, ObjectId,
    QualifiedName, ReferenceTypeId, SignatureData, StatusCode, UAString, UserNameIdentityToken,
    UserTokenPolicy, UserTokenType, Variant,
};
use zeroize::Zeroizing;

use super::calls::{self, BrowseFilter, structure};
use super::claims::AccessToken;
use super::settings::{TokenAuthoritySettings, TokenFlow};
use super::text::{self, NodeText};
use crate::channel::SecurityOffer;
use crate::crypto::SecurityPolicy;
use crate::error::Error;
use crate::session::{
    ClientIdentity, ClientSession, ExpectedServer, SessionClientSettings, connect_channel, discover,
};

/// The folder that a server has its authorization services in.
const SERVICES: &str = "AuthorizationServices";
const REQUEST: &str = "RequestAccessToken";
const START: &str = "StartRequestToken";
const FINISH: &str = "FinishRequestToken";
const REFRESH: &str = "RefreshToken";
const DESCRIBE: &str = "GetServiceDescription";

/// What is known of an authorization service before anybody speaks with it.
#[derive(Clone, Debug)]
pub(super) struct AuthorityTarget {
    pub(super) url: String,
    /// Which application it is.
    pub(super) server: ExpectedServer,
    /// Whom tokens are for.
    pub(super) resource_id: String,
    /// The object, where the resource names it.
    pub(super) token_endpoint: Option<String>,
}

/// A session with an authorization service.
#[derive(Debug)]
pub(super) struct AuthorityLink {
    session: ClientSession,
    service: NodeId,
    methods: HashMap<String, NodeId>,
    target: AuthorityTarget,
    settings: TokenAuthoritySettings,
    /// The token by which the next one is had. Used once.
    refresh: Mutex<Option<String>>,
}

impl AuthorityLink {
    /// Opens a session, and looks for the service.
    pub(super) async fn connect(
        target: AuthorityTarget,
        settings: TokenAuthoritySettings,
        mut client: SessionClientSettings,
    ) -> Result<AuthorityLink, Error> {
        client.server.clone_from(&target.server);
        let session = open(&target.url, &settings, client).await?;
        match find(&session, &target).await {
            Ok((service, methods)) => {
                Ok(AuthorityLink { session, service, methods, target, settings, refresh: Mutex::new(None) })
            }
            Err(error) => {
                let _ = session.close(true).await;
                Err(error)
            }
        }
    }

    pub(super) fn session(&self) -> &ClientSession {
        &self.session
    }

    /// Whom tokens are asked for, where that is not the user of the session.
    pub(super) fn set_identity(&mut self, identity: ClientIdentity) {
        self.settings.identity = identity;
    }

    /// By what the next token is had.
    pub(super) fn into_refresh(self) -> Option<Zeroizing<String>> {
        let refresh = self.refresh.into_inner().unwrap_or_else(PoisonError::into_inner);
        refresh.map(Zeroizing::new)
    }

    /// Asks for a token by a refresh token, and not in another way: who has none may be somebody else.
    pub(super) async fn renew(&self, refresh: &str) -> Result<AccessToken, Error> {
        let inputs = vec![Variant::from(self.target.resource_id.as_str()), Variant::from(refresh)];
        let text = self.take(self.call(REFRESH, inputs).await?)?;
        AccessToken::read(text, (self.session.channel().settings().clock)())
    }

    /// Asks for a token.
    pub(super) async fn request(&self) -> Result<AccessToken, Error> {
        let text = match self.settings.flow {
            TokenFlow::StartFinish
                if self.methods.contains_key(START) && self.methods.contains_key(FINISH) =>
            {
                self.refresh_or_start().await?
            }
            TokenFlow::StartFinish | TokenFlow::Request => self.request_access_token().await?,
        };
        AccessToken::read(text, (self.session.channel().settings().clock)())
    }

    async fn call(&self, name: &str, inputs: Vec<Variant>) -> Result<MethodOutputs, Error> {
        let method = self.methods.get(name).ok_or_else(|| {
            let at = &self.target.url;
            Error::new(
                StatusCode::BadNotSupported,
                format!("the authorization service at {at} has no method {name}"),
            )
        })?;
        let outputs = calls::call(&self.session, &self.service, method, inputs).await.map_err(advised)?;
        Ok(MethodOutputs(outputs.into_iter()))
    }

    async fn request_access_token(&self) -> Result<String, Error> {
        let inputs = vec![
            Variant::ExtensionObject(ExtensionObject::null()),
            Variant::from(self.target.resource_id.as_str()),
        ];
        self.call(REQUEST, inputs).await?.text()
    }

    async fn refresh_or_start(&self) -> Result<String, Error> {
        let last = self.refresh.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(last) = last.filter(|_| self.methods.contains_key(REFRESH)) {
            let inputs = vec![Variant::from(self.target.resource_id.as_str()), Variant::from(last)];
            match self.call(REFRESH, inputs).await {
                Ok(outputs) => return self.take(outputs),
                // It has ended, or the service forgot it: from the beginning, then.
                Err(error) => tracing::debug!(%error, "the refresh token was not taken"),
            }
        }
        let (policy_id, identity) = self.identity().await?;
        let inputs = vec![
            Variant::from(self.target.resource_id.as_str()),
            Variant::String(policy_id),
            Variant::ByteString(ByteString::null()),
        ];
        let mut started = self.call(START, inputs).await?;
        let _service_data = started.next()?;
        let request_id = started.next()?;
        let no_roles: Vec<String> = Vec::new();
        let inputs = vec![
            request_id,
            Variant::from(no_roles),
            Variant::ExtensionObject(identity),
            Variant::ExtensionObject(ExtensionObject::new(SignatureData::default())),
        ];
        let finished = self.call(FINISH, inputs).await?;
        self.take(finished)
    }

    fn take(&self, mut outputs: MethodOutputs) -> Result<String, Error> {
        let token = outputs.text()?;
        let _expiry = outputs.next()?;
        // Services without refresh tokens leave it empty.
        let refresh = outputs.text().ok().filter(|text| !text.is_empty());
        *self.refresh.lock().unwrap_or_else(PoisonError::into_inner) = refresh;
        Ok(token)
    }

    /// The policy of the service that fits the user, and the user as that policy wants it. The channel is encrypted: a password needs
    /// no encryption of its own where the policy says so.
    async fn identity(&self) -> Result<(UAString, ExtensionObject), Error> {
        let mut described = self.call(DESCRIBE, Vec::new()).await?;
        let (_uri, _certificate) = (described.next()?, described.next()?);
        let policies = described.next()?;
        let policies = policies.as_array().map(Vec::as_slice).unwrap_or_default();
        let policy = |value: &Variant| {
            let object = if let Variant::ExtensionObject(object) = value { Some(object) } else { None };
            object.and_then(|object| {
                structure::<UserTokenPolicy>(object, ObjectId::UserTokenPolicy_Encoding_DefaultBinary)
            })
        };
        let mut policies = policies.iter().filter_map(policy);
        let none = |kind: &str| {
            let reason = format!("the authorization service takes no {kind} in StartRequestToken");
            Error::new(StatusCode::BadIdentityTokenRejected, reason)
        };
        match &self.settings.identity {
            ClientIdentity::Anonymous => {
                let found = policies.find(|policy| policy.token_type == UserTokenType::Anonymous);
                let policy_id = found.ok_or_else(|| none("anonymous user"))?.policy_id;
                Ok((policy_id.clone(), ExtensionObject::new(AnonymousIdentityToken { policy_id })))
            }
            ClientIdentity::UserName { name, password } => {
                let found = policies.find(|policy| {
                    policy.token_type == UserTokenType::UserName
                        && ["", SecurityPolicy::None.uri()].contains(&policy.security_policy_uri.as_ref())
                });
                let policy_id =
                    found.ok_or_else(|| none("password without encryption of its own"))?.policy_id;
                let token = UserNameIdentityToken {
                    policy_id: policy_id.clone(),
                    user_name: UAString::from(name.as_str()),
                    password: password.as_bytes().to_vec().into(),
                    encryption_algorithm: UAString::null(),
                };
                Ok((policy_id, ExtensionObject::new(token)))
            }
            ClientIdentity::Certificate(_) | ClientIdentity::Issued { .. } | ClientIdentity::Jwt { .. } => {
                Err(none("such user"))
            }
        }
    }
}

/// What is to be done when the service refuses: its codes mean something else than those of a server.
fn advised(error: Error) -> Error {
    let advice = match error.status() {
        StatusCode::BadUserAccessDenied => {
            "there is no token: policies grant this user nothing here, or the user may not come in; \
             where no user was given, they grant this application nothing"
        }
        StatusCode::BadIdentityTokenRejected => {
            "the service does not take the user: the name or the password is wrong, or the user is disabled or has a second step"
        }
        StatusCode::BadResourceUnavailable => {
            "there is no token now: the gate has not told the service its server's nodes (see the gate's log), or too many wrong \
             passwords came (wait up to a minute)"
        }
        _ => return error,
    };
    error.with_advice(advice)
}

/// Values that a method gave, in their order.
struct MethodOutputs(std::vec::IntoIter<Variant>);

impl MethodOutputs {
    fn next(&mut self) -> Result<Variant, Error> {
        let missing =
            || Error::new(StatusCode::BadUnknownResponse, "the authorization service gave too few values");
        self.0.next().ok_or_else(missing)
    }

    fn text(&mut self) -> Result<String, Error> {
        if let Variant::String(text) = self.next()? {
            Ok(text.as_ref().to_owned())
        } else {
            Err(Error::new(
                StatusCode::BadUnknownResponse,
                "the authorization service gave no text for a token",
            ))
        }
    }
}

async fn open(
    url: &str,
    settings: &TokenAuthoritySettings,
    client: SessionClientSettings,
) -> Result<ClientSession, Error> {
    let endpoints = discover(url, &client).await?;
    let encrypted: Vec<_> = endpoints
        .iter()
        .filter(|endpoint| endpoint.security_mode == MessageSecurityMode::SignAndEncrypt)
        .filter(|endpoint| settings.identity.policy(endpoint).is_ok())
        .cloned()
        .collect();
    let Some(endpoint) = best(&encrypted, settings.wish) else {
        return Err(Error::new(
            StatusCode::BadSecurityModeInsufficient,
            format!(
                "the authorization service at {url} has no encrypted endpoint that takes this user ({:?})",
                settings.identity
            ),
        ));
    };
    let channel = connect_channel(url, endpoint, &client).await?;
    let session = ClientSession::create(channel, endpoint.clone(), &endpoints, client).await?;
    if let Err(error) = session.activate(&settings.identity).await {
        let _ = session.close(true).await;
        return Err(advised(error));
    }
    Ok(session)
}

fn best(
    endpoints: &[opcua_types::EndpointDescription],
    wish: Option<SecurityOffer>,
) -> Option<&opcua_types::EndpointDescription> {
    crate::session::choose(endpoints, wish).ok()
}

/// Looks for the service that the resource names, or else for the first one that gives tokens. Ids of instances are each server's own:
/// the standard names only their types.
async fn find(
    session: &ClientSession,
    target: &AuthorityTarget,
) -> Result<(NodeId, HashMap<String, NodeId>), Error> {
    let below = calls::browse(session, &NodeId::objects_folder_id(), &BrowseFilter::below()).await?;
    let folder = below.iter().find(|reference| reference.browse_name.name.as_ref() == SERVICES);
    let folder = folder.ok_or_else(|| {
        Error::new(
            StatusCode::BadNotFound,
            format!("the server at {} is no authorization service", target.url),
        )
    })?;
    let named = match &target.token_endpoint {
        Some(text) => Some(named(session, text).await?),
        None => None,
    };
    let services = calls::browse(session, &folder.node_id.node_id, &BrowseFilter::below()).await?;
    for service in services {
        let node = service.node_id.node_id;
        if named.as_ref().is_some_and(|named| *named != node) {
            continue;
        }
        let methods = methods(session, &node).await?;
        if methods.contains_key(REQUEST) || methods.contains_key(START) {
            return Ok((node, methods));
        }
    }
    let which = target.token_endpoint.as_deref().map(|text| format!(" called `{text}`")).unwrap_or_default();
    Err(Error::new(
        StatusCode::BadNotFound,
        format!("the server at {} has no authorization service{which} that gives tokens", target.url),
    ))
}

async fn named(session: &ClientSession, text: &str) -> Result<NodeId, Error> {
    match text::parse_node(text)? {
        NodeText::Id(id) => Ok(id),
        NodeText::Uri { uri, identifier } => {
            let namespaces = calls::namespaces(session).await?;
            text::with_namespace(&namespaces, &uri, identifier)
        }
        NodeText::Path(_) => Err(Error::new(
            StatusCode::BadConfigurationError,
            format!("the resource names `{text}` as token endpoint: that is no node id"),
        )),
    }
}

async fn methods(session: &ClientSession, service: &NodeId) -> Result<HashMap<String, NodeId>, Error> {
    const METHODS: u32 = 4;
    let wanted = BrowseFilter {
        references: NodeId::from(ReferenceTypeId::HasComponent),
        classes: METHODS,
        ..BrowseFilter::below()
    };
    let found = calls::browse(session, service, &wanted).await?;
    let name = |name: &QualifiedName| name.name.as_ref().to_owned();
    Ok(found.into_iter().map(|method| (name(&method.browse_name), method.node_id.node_id)).collect())
}
