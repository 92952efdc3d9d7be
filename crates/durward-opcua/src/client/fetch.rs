//! Tokens for one user, each by one session with the authorization service: for gates, whose clients come with a password.

use zeroize::Zeroizing;

use super::authority::{AuthorityLink, AuthorityTarget};
use super::claims::AccessToken;
use super::settings::{TokenAuthoritySettings, TokenFlow};
use crate::authority::AUTHORITY_NAMESPACE;
use crate::error::Error;
use crate::session::{ClientIdentity, SessionClientSettings};

/// A token, and by what the next one is had.
#[derive(Debug)]
pub struct FetchedToken {
    /// The token.
    pub token: AccessToken,
    /// The refresh token, a secret; counts once.
    pub refresh: Option<Zeroizing<String>>,
}

/// Gets a token of durward's authorization service at `url`, for the server `resource_id`, in the name of a user who proves themselves there. The
/// token is bound to the certificate of `client`, whose settings say which application the service is: it is told the password.
///
/// # Errors
/// The service cannot be reached or is not trusted; it does not know the user (`BadUserAccessDenied`, `BadIdentityTokenRejected`) or the server.
pub async fn fetch_token(
    url: &str,
    resource_id: &str,
    identity: ClientIdentity,
    client: SessionClientSettings,
) -> Result<FetchedToken, Error> {
    let mut link = connect(url, resource_id, client).await?;
    // The session is the gate's own: the user proves themselves in the call, and once.
    link.set_identity(identity);
    let token = link.request().await;
    ended(link, token).await
}

/// Gets the next token by a refresh token, as the client that got that.
///
/// # Errors
/// The service cannot be reached or is not trusted; it does not take the refresh token, or the user may not come in any more.
pub async fn renew_token(
    url: &str,
    resource_id: &str,
    refresh: &str,
    client: SessionClientSettings,
) -> Result<FetchedToken, Error> {
    let link = connect(url, resource_id, client).await?;
    let token = link.renew(refresh).await;
    ended(link, token).await
}

async fn connect(
    url: &str,
    resource_id: &str,
    client: SessionClientSettings,
) -> Result<AuthorityLink, Error> {
    let target = AuthorityTarget {
        url: url.to_owned(),
        server: client.server.clone(),
        resource_id: resource_id.to_owned(),
        token_endpoint: Some(format!("nsu={AUTHORITY_NAMESPACE};s=AuthorizationService")),
    };
    let settings =
        TokenAuthoritySettings { flow: TokenFlow::StartFinish, ..TokenAuthoritySettings::default() };
    AuthorityLink::connect(target, settings, client).await
}

async fn ended(link: AuthorityLink, token: Result<AccessToken, Error>) -> Result<FetchedToken, Error> {
    let _ = link.session().close(true).await;
    Ok(FetchedToken { token: token?, refresh: link.into_refresh() })
}
