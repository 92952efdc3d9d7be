//! Routes of tokens and of logins with browsers (OAuth 2.0, OpenID Connect).

use durward_logins::surfaces::oidc;

use super::who::{
    GET_POST, POST, READ, WHO_BROWSES, WHO_COMES_BACK, WHO_CONNECTS_OAUTH, WHO_HAS_TOKEN, WHO_IS_CLIENT,
};
use super::{Endpoint, Route};
use durward_logins::surfaces::oauth;

/// Tokens, and logins with browsers.
pub(super) const OAUTH: &[Route] = &[
    Route {
        path: "/oauth2/token",
        methods: &["POST", "OPTIONS"],
        who: WHO_IS_CLIENT,
        what: "issues a token, for the client itself or for a session's user",
        endpoint: Endpoint::Oauth(oauth::Ask::Token),
    },
    Route {
        path: "/oauth2/introspect",
        methods: POST,
        who: WHO_IS_CLIENT,
        what: "introspects a token (RFC 7662), for the client that it was issued to and for its audience",
        endpoint: Endpoint::Oauth(oauth::Ask::Introspect),
    },
    Route {
        path: "/oauth2/revoke",
        methods: POST,
        who: WHO_IS_CLIENT,
        what: "revokes a token of the client (RFC 7009)",
        endpoint: Endpoint::Oauth(oauth::Ask::Revoke),
    },
    Route {
        path: "/oauth2/par",
        methods: POST,
        who: WHO_IS_CLIENT,
        what: "takes a request for an authorization code before the browser brings it (RFC 9126)",
        endpoint: Endpoint::Oauth(oauth::Ask::Push),
    },
    Route {
        path: "/oauth2/authorize",
        methods: GET_POST,
        who: WHO_BROWSES,
        what: "sends a browser back to a client with an authorization code, after the user has logged in",
        endpoint: Endpoint::Oidc(oidc::Ask::Authorize),
    },
    Route {
        path: "/oauth2/login",
        methods: POST,
        who: WHO_BROWSES,
        what: "takes the forms of a login that `/oauth2/authorize` began",
        endpoint: Endpoint::Oidc(oidc::Ask::Interaction),
    },
    Route {
        path: "/oauth2/reset",
        methods: GET_POST,
        who: WHO_BROWSES,
        what: "takes the name of a user who forgot their password, and another password by a link; if `[identity.reset]` is set",
        endpoint: Endpoint::Oidc(oidc::Ask::Reset),
    },
    Route {
        path: "/oauth2/userinfo",
        methods: &["GET", "POST", "OPTIONS"],
        who: WHO_HAS_TOKEN,
        what: "returns claims about the token's user (OpenID Connect)",
        endpoint: Endpoint::Oidc(oidc::Ask::UserInfo),
    },
    Route {
        path: "/oauth2/logout",
        methods: GET_POST,
        who: WHO_BROWSES,
        what: "ends the browser's session (OpenID Connect RP-Initiated Logout)",
        endpoint: Endpoint::Oidc(oidc::Ask::Logout),
    },
    Route {
        path: "/oauth2/account/passkeys",
        methods: GET_POST,
        who: WHO_BROWSES,
        what: "lists the passkeys of the user who is signed in, adds and removes some; needs the password",
        endpoint: Endpoint::Oidc(oidc::Ask::AccountPasskeys),
    },
    Route {
        path: "/oauth2/account/second-step",
        methods: GET_POST,
        who: WHO_BROWSES,
        what: "sets up and removes the second step (TOTP) of the user who is signed in; needs the password, or a code",
        endpoint: Endpoint::Oidc(oidc::Ask::AccountSecondStep),
    },
    Route {
        path: "/oauth2/upstream/callback/{upstream}",
        methods: &["GET"],
        who: WHO_COMES_BACK,
        what: "takes a browser back from another OpenID provider, with a code of it",
        endpoint: Endpoint::Oidc(oidc::Ask::UpstreamCallback),
    },
    Route {
        path: "/oauth2/upstream/logout/{upstream}",
        methods: GET_POST,
        who: WHO_COMES_BACK,
        what: "takes a browser back after a logout at another OpenID provider, and logout tokens of it",
        endpoint: Endpoint::Oidc(oidc::Ask::UpstreamLogout),
    },
    Route {
        path: "/.well-known/jwks.json",
        methods: READ,
        who: WHO_CONNECTS_OAUTH,
        what: "returns the public keys that verify tokens (JWKS)",
        endpoint: Endpoint::Oauth(oauth::Ask::Keys),
    },
    Route {
        path: "/.well-known/openid-configuration",
        methods: READ,
        who: WHO_CONNECTS_OAUTH,
        what: "returns the metadata of the issuer (OpenID Connect Discovery)",
        endpoint: Endpoint::Oauth(oauth::Ask::Metadata),
    },
    Route {
        path: "/.well-known/oauth-authorization-server",
        methods: READ,
        who: WHO_CONNECTS_OAUTH,
        what: "returns the same metadata, at the path of RFC 8414",
        endpoint: Endpoint::Oauth(oauth::Ask::Metadata),
    },
];
