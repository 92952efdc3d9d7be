//! One token, for one user, by one session with the authorization service: for gates, whose clients come with a password.

use super::authority::{AuthorityLink, AuthorityTarget};
use super::claims::AccessToken;
use super::settings::AuthoritySettings;
use crate::authority::AUTHORITY_NAMESPACE;
use crate::error::Error;
use crate::session::{ClientIdentity, ClientSettings};

/// Gets a token of durward's authorization service at `url`, for the server `resource_id`, in the name of a user who proves themselves there. The
/// token is bound to the certificate of `client`, whose settings say which application the service is: it is told the password.
///
/// # Errors
/// The service cannot be reached or is not trusted; it does not know the user (`BadUserAccessDenied`, `BadIdentityTokenRejected`) or the server.
pub async fn fetch_token(
    url: &str,
    resource_id: &str,
    identity: ClientIdentity,
    client: ClientSettings,
) -> Result<AccessToken, Error> {
    let target = AuthorityTarget {
        url: url.to_owned(),
        server: client.server.clone(),
        resource_id: resource_id.to_owned(),
        token_endpoint: Some(format!("nsu={AUTHORITY_NAMESPACE};s=AuthorizationService")),
    };
    let settings = AuthoritySettings { identity, ..AuthoritySettings::default() };
    let link = AuthorityLink::connect(target, settings, client).await?;
    let token = link.request().await;
    let _ = link.session().close(true).await;
    token
}
