//! Users who come to the gate with a name and a password: it gets their token from the authorization service, as they could themselves.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use durward_opcua::client::{FetchedToken, fetch_token, renew_token};
use durward_opcua::error::Error;
use durward_opcua::gate::{DelegatedToken, UserClaim, UserKinds, UserRefusal, UserReply, UserRights};
use durward_opcua::session::{ClientIdentity, ClientInfo, SessionClientSettings};
use opcua_types::StatusCode;
use zeroize::Zeroizing;

/// How long a client waits at most until it is known whether it may come in.
const FETCH_MAX: Duration = Duration::from_secs(10);

/// Gets tokens by password. They are bound to the gate's certificate, so that no client can use them elsewhere.
pub(super) struct PasswordTokens {
    authority: String,
    resource: String,
    client: SessionClientSettings,
}

impl PasswordTokens {
    /// Users of the authorization service at this URL, for the server with this resource id, asked for by the gate as this client.
    pub(super) fn new(authority: &str, resource: &str, client: SessionClientSettings) -> Arc<PasswordTokens> {
        Arc::new(PasswordTokens { authority: authority.to_owned(), resource: resource.to_owned(), client })
    }
}

impl UserRights for PasswordTokens {
    fn kinds(&self) -> UserKinds {
        UserKinds { names: true, certificates: false }
    }

    fn fetch(&self, claim: UserClaim, _client: Arc<ClientInfo>) -> UserReply {
        let (authority, resource) = (self.authority.clone(), self.resource.clone());
        let client = self.client.clone();
        Box::pin(async move {
            let UserClaim::Name { name, password } = claim else {
                return Err(refusal(
                    StatusCode::BadIdentityTokenRejected,
                    "users come with a password or a token",
                ));
            };
            let Ok(password) = std::str::from_utf8(&password) else {
                return Err(refusal(StatusCode::BadIdentityTokenInvalid, "the password is no UTF-8"));
            };
            let identity = ClientIdentity::UserName { name, password: password.to_owned().into() };
            within(fetch_token(&authority, &resource, identity, client)).await
        })
    }

    fn renew(&self, refresh: Zeroizing<String>, _client: Arc<ClientInfo>) -> UserReply {
        let (authority, resource) = (self.authority.clone(), self.resource.clone());
        let client = self.client.clone();
        Box::pin(async move { within(renew_token(&authority, &resource, &refresh, client)).await })
    }
}

async fn within(
    token: impl Future<Output = Result<FetchedToken, Error>>,
) -> Result<DelegatedToken, UserRefusal> {
    match tokio::time::timeout(FETCH_MAX, token).await {
        Ok(Ok(FetchedToken { token, refresh })) => {
            Ok(DelegatedToken { token: token.text().to_owned().into(), refresh })
        }
        Ok(Err(error)) => Err(refused(&error)),
        Err(_) => Err(refusal(StatusCode::BadTimeout, "the authorization service does not answer")),
    }
}

/// What the client is told: whether it is its user, and otherwise only that nobody can say.
fn refused(error: &Error) -> UserRefusal {
    const OF_THE_USER: [StatusCode; 3] = [
        StatusCode::BadUserAccessDenied,
        StatusCode::BadIdentityTokenInvalid,
        StatusCode::BadIdentityTokenRejected,
    ];
    let status = error.status();
    let told = if OF_THE_USER.contains(&status) { status } else { StatusCode::BadResourceUnavailable };
    refusal(told, &format!("the authorization service gives the user no token: {error}"))
}

fn refusal(status: StatusCode, reason: &str) -> UserRefusal {
    UserRefusal { status, reason: reason.to_owned() }
}
