//! The resource before there is a session: its endpoints, which of them take tokens, and where those come from.

use std::sync::Arc;

use opcua_types::{EndpointDescription, StatusCode};
use zeroize::Zeroizing;

use super::authority::AuthorityTarget;
use super::issuer::{Issuer, jwt_policies};
use super::settings::TokenClientSettings;
use crate::error::Error;
use crate::session::{ClientIdentity, ClientSession, PinnedApplication, choose, connect_channel, discover};

/// What discovery said.
#[derive(Clone, Debug)]
pub(super) struct DiscoveredResource {
    endpoints: Vec<EndpointDescription>,
    /// The one to connect to.
    endpoint: EndpointDescription,
    /// Of the policy whose authorization service is asked.
    issuer_endpoint_url: Arc<str>,
    authority: AuthorityTarget,
}

impl DiscoveredResource {
    /// Asks the resource. Anybody on the way can have written the answer: who the authorization service is, is believed only after
    /// [`DiscoveredResource::connect`].
    pub(super) async fn discover(settings: &TokenClientSettings) -> Result<DiscoveredResource, Error> {
        let endpoints = discover(&settings.url, &settings.session).await?;
        DiscoveredResource::of(settings, endpoints)
    }

    fn of(
        settings: &TokenClientSettings,
        endpoints: Vec<EndpointDescription>,
    ) -> Result<DiscoveredResource, Error> {
        let taking: Vec<_> =
            endpoints.iter().filter(|endpoint| jwt_policies(endpoint).next().is_some()).cloned().collect();
        if taking.is_empty() {
            return Err(Error::new(
                StatusCode::BadIdentityTokenRejected,
                format!("{} takes no access tokens: connect to the gate in front of it", settings.url),
            ));
        }
        let endpoint = choose(&taking, settings.wish)?.clone();
        let (issuer_endpoint_url, authority) = fitting(settings, &endpoint)?;
        Ok(DiscoveredResource { endpoint, endpoints, issuer_endpoint_url, authority })
    }

    /// The authorization service: not to be asked before a session was created with the resource.
    pub(super) fn authority(&self) -> &AuthorityTarget {
        &self.authority
    }

    /// What the policy says whose tokens are asked for.
    pub(super) fn issuer_endpoint_url(&self) -> Arc<str> {
        Arc::clone(&self.issuer_endpoint_url)
    }

    /// Opens a channel and creates a session, which proves what was discovered.
    pub(super) async fn connect(&self, settings: &TokenClientSettings) -> Result<ClientSession, Error> {
        let channel = connect_channel(&settings.url, &self.endpoint, &settings.session).await?;
        ClientSession::create(channel, self.endpoint.clone(), &self.endpoints, settings.kept_session()).await
    }
}

/// The first policy whose authorization service can be asked and whose encryption is supported; where one names the service that the settings
/// have, that one.
fn fitting(
    settings: &TokenClientSettings,
    endpoint: &EndpointDescription,
) -> Result<(Arc<str>, AuthorityTarget), Error> {
    let named = |said: &str| {
        let url = Issuer::parse(said).ok().and_then(|issuer| issuer.authority_url);
        url.is_some() && url == settings.authority.url
    };
    let mut policies: Vec<&str> =
        jwt_policies(endpoint).map(|policy| policy.issuer_endpoint_url.as_ref()).collect();
    policies.sort_by_key(|said| !named(said));
    let mut first = None;
    for said in policies {
        let issuer_endpoint_url: Arc<str> = said.into();
        let token = ClientIdentity::Jwt {
            token: Zeroizing::default(),
            issuer_endpoint_url: Arc::clone(&issuer_endpoint_url),
        };
        let found = token.policy(endpoint).and_then(|_| authority(settings, said, endpoint));
        match found {
            Ok(authority) => return Ok((issuer_endpoint_url, authority)),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| {
        Error::new(StatusCode::BadIdentityTokenRejected, "the endpoint takes no access tokens")
    }))
}

fn authority(
    settings: &TokenClientSettings,
    said: &str,
    endpoint: &EndpointDescription,
) -> Result<AuthorityTarget, Error> {
    let given = &settings.authority;
    let issuer = match Issuer::parse(said) {
        Ok(issuer) => issuer,
        // Whoever names the service needs nobody else to.
        Err(_) if given.url.is_some() => Issuer::default(),
        Err(error) => return Err(error),
    };
    if given.url.is_none() && !issuer.is_opcua() {
        return Err(Error::new(
            StatusCode::BadNotSupported,
            format!(
                "the tokens of {} come from an authorization service of profile `{}`, which is no OPC UA server",
                settings.url,
                issuer.profile.unwrap_or_default().escape_debug()
            ),
        ));
    }
    let url = given.url.clone().or(issuer.authority_url).ok_or_else(|| {
        Error::new(
            StatusCode::BadConfigurationError,
            format!(
                "{} does not say where its tokens come from: name the authorization service",
                settings.url
            ),
        )
    })?;
    let mut server = given.server.clone();
    if server.pin.is_none() {
        // A resource that anybody could be does not say who may be told the user's password.
        let named = issuer.issuer.filter(|_| settings.session.server.is_certain());
        server.pin =
            Some(named.map(PinnedApplication::ApplicationUri).ok_or_else(|| unnamed(settings, &url))?);
    }
    let own = endpoint.server.application_uri.as_ref().to_owned();
    Ok(AuthorityTarget {
        url,
        server,
        resource_id: given.resource_id.clone().or(issuer.resource_id).unwrap_or(own),
        token_endpoint: issuer.token_endpoint,
    })
}

fn unnamed(settings: &TokenClientSettings, url: &str) -> Error {
    Error::new(
        StatusCode::BadConfigurationError,
        format!(
            "nothing says which application the authorization service at {} is: {}; give its ApplicationUri or thumbprint",
            url.escape_debug(),
            if settings.session.server.is_certain() {
                "the resource does not"
            } else {
                "the resource could be anybody whose certificate is trusted"
            }
        ),
    )
}
