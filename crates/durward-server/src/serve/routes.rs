//! Every route there is: the list the router walks, and the one `docs/routes.md` is compared with.

use crate::base::settings::{ListenSurface, Settings};
use crate::surfaces::authzen;
use crate::surfaces::oauth;
use crate::surfaces::oidc;
use crate::surfaces::sapl::Ask;
use crate::surfaces::scim;
use crate::surfaces::v1::Act;
use crate::surfaces::xacml::dialect::{Dialect, Wso2};

/// One path and what may be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The path, exactly.
    pub path: &'static str,
    /// The methods it takes, as `Allow` lists them.
    pub methods: &'static [&'static str],
    /// Who may call it.
    pub who: &'static str,
    /// What it does, in a few words.
    pub what: &'static str,
    pub(crate) endpoint: Endpoint,
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Home,
    Pdp(Dialect),
    Wso2Home,
    Live,
    Ready,
    Metrics,
    Sapl(Ask),
    Authzen(authzen::Ask),
    Identity(Act),
    Oauth(oauth::Ask),
    Oidc(oidc::Ask),
    Scim(scim::Ask),
}

impl Endpoint {
    /// What a listener carries where this is to be had.
    pub(super) fn surface(self) -> ListenSurface {
        match self {
            Endpoint::Home
            | Endpoint::Pdp(_)
            | Endpoint::Wso2Home
            | Endpoint::Sapl(_)
            | Endpoint::Authzen(_) => ListenSurface::Decisions,
            Endpoint::Live | Endpoint::Ready => ListenSurface::Health,
            Endpoint::Metrics => ListenSurface::Metrics,
            Endpoint::Identity(
                Act::AdminSessions
                | Act::AdminRevoke
                | Act::AdminForgive
                | Act::AdminRotate
                | Act::AdminPasskeys
                | Act::AdminPasskeysRemove
                | Act::Users
                | Act::User
                | Act::UserReset,
            )
            | Endpoint::Scim(_) => ListenSurface::Administration,
            Endpoint::Identity(_) | Endpoint::Oauth(_) | Endpoint::Oidc(_) => ListenSurface::Login,
        }
    }
}

/// Whoever may open a connection: the address listened on, TLS client certificates and the proxy in front decide
/// about that, not the route.
const WHO_CONNECTS: &str = "anyone who can connect";

/// Whoever may open a connection, or whoever `[auth]` lets in where it guards this.
const WHO_CONNECTS_UNGUARDED: &str =
    "anyone who can connect; with `auth.guards`, callers that `[auth]` accepts";

/// Whoever `[auth]` lets in. Not there unless `sapl.http` is set, or only this machine can connect.
const WHO_AUTHENTICATES: &str =
    "callers that `[auth]` accepts; if `sapl.http` is set, or on a loopback address";

/// Whoever `[auth]` lets in. Not there unless `plan.columns` names columns.
const WHO_PLANS: &str =
    "callers that `[auth]` accepts; if `plan.columns` is set, and `sapl.http`, or on a loopback address";

/// The same where AuthZEN's clients are let in.
const WHO_AUTHENTICATES_AUTHZEN: &str =
    "callers that `[auth]` accepts; if `authzen.on` is set, or on a loopback address";

/// The same, of the tenant in the path.
const WHO_IS_OF_TENANT: &str =
    "callers that `[auth]` accepts, of this tenant; if `authzen.on` is set, or on a loopback address";

/// Metadata is not secret.
const WHO_CONNECTS_AUTHZEN: &str = "anyone who can connect; if AuthZEN is on and `authzen.url` is set";

/// Whoever knows a password. Not there unless `identity.users` or `identity.ldap` is set.
const WHO_LOGS_IN: &str = "a user who logs in; if `[identity]` has users";

/// Whoever shows the token of a session.
const WHO_HOLDS: &str = "the holder of a session token; if `[identity]` has users";

/// Whoever shows the token of a session of a user in the group of administrators.
const WHO_ADMINISTERS: &str = "the holder of an administrator's session token; if `[identity]` has users";

/// Whoever shows the secret of a client. Not there unless `oauth.issuer` is set.
const WHO_IS_CLIENT: &str = "a client of `[[oauth.clients]]`; if `oauth.issuer` is set";

/// Not there unless `oauth.issuer` is set and there are users.
const WHO_BROWSES: &str = "anyone who can connect; if `oauth.issuer` is set and `[identity]` has users";

/// Whoever a provider sends back. Not there unless `identity.upstreams` is set.
const WHO_COMES_BACK: &str = "anyone who can connect; if `identity.upstreams` is set";

/// Whoever shows an access token that a client got for a user.
const WHO_HAS_TOKEN: &str =
    "the holder of an access token for the issuer; if `oauth.issuer` is set and `[identity]` has users";

/// Not there unless `oauth.issuer` is set.
const WHO_CONNECTS_OAUTH: &str = "anyone who can connect; if `oauth.issuer` is set";

/// Not there unless `xacml.wso2_paths` is set.
const WHO_CONNECTS_WSO2: &str = "anyone who can connect; if `xacml.wso2_paths` is set";

/// Not there unless `xacml.authzforce_domain` is set.
const WHO_CONNECTS_AUTHZFORCE: &str = "anyone who can connect; if `xacml.authzforce_domain` is set";

/// A program of `[[auth.users]]` that may administer. Not there unless `identity.scim.on` is set.
const WHO_PROVISIONS: &str =
    "callers of `[[auth.users]]` with `may_administer`; if `identity.scim.on` is set";

/// What stands for the domain in the paths of AuthzForce.
const DOMAIN: &str = "{domain}";

const POST: &[&str] = &["POST"];

const GET_POST: &[&str] = &["GET", "POST"];

const READ: &[&str] = &["GET", "HEAD", "OPTIONS"];

/// Every route. A path that is not here is answered with 404, a method that is not here with 405.
pub const ROUTES: &[Route] = &[
    Route {
        path: "/pdp",
        methods: &["POST", "OPTIONS"],
        who: WHO_CONNECTS_UNGUARDED,
        what: "decides an XACML request, XML or JSON",
        endpoint: Endpoint::Pdp(Dialect::Rest),
    },
    Route {
        path: "/",
        methods: READ,
        who: WHO_CONNECTS,
        what: "returns the home document, which links to `/pdp`; to browsers a page",
        endpoint: Endpoint::Home,
    },
    Route {
        path: "/health/live",
        methods: READ,
        who: WHO_CONNECTS,
        what: "returns 200 while the process runs",
        endpoint: Endpoint::Live,
    },
    Route {
        path: "/health/ready",
        methods: READ,
        who: WHO_CONNECTS,
        what: "tells whether the server can decide, with which policies, and what is wrong with newer ones",
        endpoint: Endpoint::Ready,
    },
    Route {
        path: "/metrics",
        methods: READ,
        who: WHO_CONNECTS_UNGUARDED,
        what: "returns metrics for Prometheus",
        endpoint: Endpoint::Metrics,
    },
    Route {
        path: "/api/pdp/decide-once",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides a SAPL subscription",
        endpoint: Endpoint::Sapl(Ask::DecideOnce),
    },
    Route {
        path: "/api/pdp/decide",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides a SAPL subscription, and sends each new decision (event stream)",
        endpoint: Endpoint::Sapl(Ask::Decide),
    },
    Route {
        path: "/api/pdp/multi-decide",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides several SAPL subscriptions, and sends each decision that changes (event stream)",
        endpoint: Endpoint::Sapl(Ask::MultiDecide),
    },
    Route {
        path: "/api/pdp/multi-decide-all",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides several SAPL subscriptions, and sends all decisions when one changes (event stream)",
        endpoint: Endpoint::Sapl(Ask::MultiDecideAll),
    },
    Route {
        path: "/api/pdp/multi-decide-all-once",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides several SAPL subscriptions",
        endpoint: Endpoint::Sapl(Ask::MultiDecideAllOnce),
    },
    Route {
        path: "/v1/plan",
        methods: POST,
        who: WHO_PLANS,
        what: "plans which rows are permitted: a filter for a database",
        endpoint: Endpoint::Sapl(Ask::Plan),
    },
    Route {
        path: "/access/v1/evaluation",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "decides a question of AuthZEN",
        endpoint: Endpoint::Authzen(authzen::Ask::Evaluation),
    },
    Route {
        path: "/access/v1/evaluations",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "decides several questions of AuthZEN",
        endpoint: Endpoint::Authzen(authzen::Ask::Evaluations),
    },
    Route {
        path: "/access/v1/search/subject",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "lists the subjects that may do something (AuthZEN)",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchSubject),
    },
    Route {
        path: "/access/v1/search/resource",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "lists the resources that a subject may do something with (AuthZEN)",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchResource),
    },
    Route {
        path: "/access/v1/search/action",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "lists the actions that a subject may take on a resource (AuthZEN)",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchAction),
    },
    Route {
        path: "/.well-known/authzen-configuration",
        methods: READ,
        who: WHO_CONNECTS_AUTHZEN,
        what: "tells where AuthZEN's clients ask what",
        endpoint: Endpoint::Authzen(authzen::Ask::Metadata),
    },
    Route {
        path: "/.well-known/authzen-configuration/{tenant}",
        methods: READ,
        who: WHO_CONNECTS_AUTHZEN,
        what: "tells the same for a tenant",
        endpoint: Endpoint::Authzen(authzen::Ask::Metadata),
    },
    Route {
        path: "/v1/login",
        methods: POST,
        who: WHO_LOGS_IN,
        what: "logs in with a password",
        endpoint: Endpoint::Identity(Act::Login),
    },
    Route {
        path: "/v1/login/code",
        methods: POST,
        who: WHO_LOGS_IN,
        what: "completes a login with a code of the second step",
        endpoint: Endpoint::Identity(Act::Code),
    },
    Route {
        path: "/v1/login/passkey/begin",
        methods: POST,
        who: WHO_LOGS_IN,
        what: "begins a login with a passkey, or its second step",
        endpoint: Endpoint::Identity(Act::PasskeyLoginBegin),
    },
    Route {
        path: "/v1/login/passkey",
        methods: POST,
        who: WHO_LOGS_IN,
        what: "logs in with a passkey, or finishes a login with one",
        endpoint: Endpoint::Identity(Act::PasskeyLogin),
    },
    Route {
        path: "/v1/login/password",
        methods: POST,
        who: WHO_LOGS_IN,
        what: "completes a login whose password must be changed, with another one",
        endpoint: Endpoint::Identity(Act::ChoosePassword),
    },
    Route {
        path: "/v1/sessions/validate",
        methods: POST,
        who: WHO_HOLDS,
        what: "tells whether the token's session is valid",
        endpoint: Endpoint::Identity(Act::Validate),
    },
    Route {
        path: "/v1/session",
        methods: READ,
        who: WHO_HOLDS,
        what: "returns the token's session",
        endpoint: Endpoint::Identity(Act::Session),
    },
    Route {
        path: "/v1/sessions",
        methods: READ,
        who: WHO_HOLDS,
        what: "returns the sessions of the token's user",
        endpoint: Endpoint::Identity(Act::Sessions),
    },
    Route {
        path: "/v1/sessions/logout",
        methods: POST,
        who: WHO_HOLDS,
        what: "ends the token's session, another session of the same user, or all of them",
        endpoint: Endpoint::Identity(Act::Logout),
    },
    Route {
        path: "/v1/sessions/refresh",
        methods: POST,
        who: WHO_HOLDS,
        what: "issues another token for the same session",
        endpoint: Endpoint::Identity(Act::Refresh),
    },
    Route {
        path: "/v1/sessions/step-up",
        methods: POST,
        who: WHO_HOLDS,
        what: "raises the session's authentication level with a code of the second step",
        endpoint: Endpoint::Identity(Act::StepUp),
    },
    Route {
        path: "/v1/sessions/step-up/passkey/begin",
        methods: POST,
        who: WHO_HOLDS,
        what: "begins to raise the level of the token's session with a passkey",
        endpoint: Endpoint::Identity(Act::PasskeyStepUpBegin),
    },
    Route {
        path: "/v1/sessions/step-up/passkey",
        methods: POST,
        who: WHO_HOLDS,
        what: "raises the level of the token's session with a passkey",
        endpoint: Endpoint::Identity(Act::PasskeyStepUp),
    },
    Route {
        path: "/v1/sessions/properties",
        methods: POST,
        who: WHO_HOLDS,
        what: "sets and removes properties of a session",
        endpoint: Endpoint::Identity(Act::Properties),
    },
    Route {
        path: "/v1/admin/sessions",
        methods: POST,
        who: WHO_ADMINISTERS,
        what: "returns the sessions of a user",
        endpoint: Endpoint::Identity(Act::AdminSessions),
    },
    Route {
        path: "/v1/admin/revoke",
        methods: POST,
        who: WHO_ADMINISTERS,
        what: "ends one session of a user, all sessions of a user, or all sessions",
        endpoint: Endpoint::Identity(Act::AdminRevoke),
    },
    Route {
        path: "/v1/admin/forgive",
        methods: POST,
        who: WHO_ADMINISTERS,
        what: "removes a user's delay after failed logins",
        endpoint: Endpoint::Identity(Act::AdminForgive),
    },
    Route {
        path: "/v1/admin/rotate",
        methods: POST,
        who: WHO_ADMINISTERS,
        what: "starts to use a new key for tokens",
        endpoint: Endpoint::Identity(Act::AdminRotate),
    },
    Route {
        path: "/v1/admin/passkeys",
        methods: POST,
        who: WHO_ADMINISTERS,
        what: "lists the passkeys of a user",
        endpoint: Endpoint::Identity(Act::AdminPasskeys),
    },
    Route {
        path: "/v1/admin/passkeys/remove",
        methods: POST,
        who: WHO_ADMINISTERS,
        what: "removes a passkey of a user, or all of them, and ends their sessions",
        endpoint: Endpoint::Identity(Act::AdminPasskeysRemove),
    },
    Route {
        path: "/v1/users",
        methods: &["GET", "POST"],
        who: WHO_ADMINISTERS,
        what: "lists users page by page, or creates one",
        endpoint: Endpoint::Identity(Act::Users),
    },
    Route {
        path: "/v1/users/me/password",
        methods: POST,
        who: WHO_HOLDS,
        what: "gives the token's user another password; needs the old one, and ends the user's sessions",
        endpoint: Endpoint::Identity(Act::OwnPassword),
    },
    Route {
        path: "/v1/users/me/second-step",
        methods: READ,
        who: WHO_HOLDS,
        what: "tells whether the token's user has a second step",
        endpoint: Endpoint::Identity(Act::OwnSecondStep),
    },
    Route {
        path: "/v1/users/me/second-step/enrol",
        methods: POST,
        who: WHO_HOLDS,
        what: "begins a second step for the token's user; needs the password",
        endpoint: Endpoint::Identity(Act::SecondStepEnrol),
    },
    Route {
        path: "/v1/users/me/second-step/confirm",
        methods: POST,
        who: WHO_HOLDS,
        what: "confirms a second step with a code of the device, and returns recovery codes",
        endpoint: Endpoint::Identity(Act::SecondStepConfirm),
    },
    Route {
        path: "/v1/users/me/second-step/remove",
        methods: POST,
        who: WHO_HOLDS,
        what: "removes the second step of the token's user; needs a code",
        endpoint: Endpoint::Identity(Act::SecondStepRemove),
    },
    Route {
        path: "/v1/users/me/passkeys",
        methods: READ,
        who: WHO_HOLDS,
        what: "lists the passkeys of the token's user",
        endpoint: Endpoint::Identity(Act::OwnPasskeys),
    },
    Route {
        path: "/v1/users/me/passkeys/enrol",
        methods: POST,
        who: WHO_HOLDS,
        what: "begins another passkey for the token's user; needs the password",
        endpoint: Endpoint::Identity(Act::PasskeyEnrol),
    },
    Route {
        path: "/v1/users/me/passkeys/confirm",
        methods: POST,
        who: WHO_HOLDS,
        what: "adds the passkey that an authenticator has made, and ends the user's sessions",
        endpoint: Endpoint::Identity(Act::PasskeyConfirm),
    },
    Route {
        path: "/v1/users/me/passkeys/rename",
        methods: POST,
        who: WHO_HOLDS,
        what: "gives a passkey of the token's user another name",
        endpoint: Endpoint::Identity(Act::PasskeyRename),
    },
    Route {
        path: "/v1/users/me/passkeys/remove",
        methods: POST,
        who: WHO_HOLDS,
        what: "removes a passkey of the token's user, and ends their sessions; needs the password",
        endpoint: Endpoint::Identity(Act::PasskeyRemove),
    },
    Route {
        path: "/v1/users/{user}",
        methods: &["GET", "PATCH", "DELETE"],
        who: WHO_ADMINISTERS,
        what: "returns, changes or removes a user",
        endpoint: Endpoint::Identity(Act::User),
    },
    Route {
        path: "/v1/users/{user}/reset",
        methods: POST,
        who: WHO_ADMINISTERS,
        what: "makes a link by which a user chooses a password",
        endpoint: Endpoint::Identity(Act::UserReset),
    },
    Route {
        path: "/v1/openapi.json",
        methods: READ,
        who: WHO_CONNECTS,
        what: "describes all requests and answers of `/v1` (OpenAPI)",
        endpoint: Endpoint::Identity(Act::OpenApi),
    },
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
        endpoint: Endpoint::Oidc(oidc::Ask::Account),
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
    Route {
        path: "/api/identity/entitlement/decision/pdp",
        methods: POST,
        who: WHO_CONNECTS_WSO2,
        what: "decides an XACML request, XML or JSON, as WSO2's entitlement API does",
        endpoint: Endpoint::Pdp(Dialect::Wso2(Wso2::Pdp)),
    },
    Route {
        path: "/api/identity/entitlement/decision/by-xacml",
        methods: POST,
        who: WHO_CONNECTS_WSO2,
        what: "does the same",
        endpoint: Endpoint::Pdp(Dialect::Wso2(Wso2::Pdp)),
    },
    Route {
        path: "/api/identity/entitlement/decision/by-attrib",
        methods: POST,
        who: WHO_CONNECTS_WSO2,
        what: "decides about `subject`, `resource` and `action`, each a JSON string, and `environment`, an array of strings",
        endpoint: Endpoint::Pdp(Dialect::Wso2(Wso2::Attributes)),
    },
    Route {
        path: "/api/identity/entitlement/decision/by-attrib-boolean",
        methods: POST,
        who: WHO_CONNECTS_WSO2,
        what: "decides about the same without `environment`, and answers `true` or `false`",
        endpoint: Endpoint::Pdp(Dialect::Wso2(Wso2::Truth)),
    },
    Route {
        path: "/api/identity/entitlement/decision/home",
        methods: READ,
        who: WHO_CONNECTS_WSO2,
        what: "returns WSO2's home document",
        endpoint: Endpoint::Wso2Home,
    },
    Route {
        path: "/domains/{domain}/pdp",
        methods: POST,
        who: WHO_CONNECTS_AUTHZFORCE,
        what: "decides an XACML request, XML or JSON, as AuthzForce does",
        endpoint: Endpoint::Pdp(Dialect::Authzforce),
    },
    Route {
        path: "/authzforce-ce/domains/{domain}/pdp",
        methods: POST,
        who: WHO_CONNECTS_AUTHZFORCE,
        what: "does the same, at the usual path of AuthzForce's web application",
        endpoint: Endpoint::Pdp(Dialect::Authzforce),
    },
    Route {
        path: "/scim/v2/Users",
        methods: &["GET", "POST"],
        who: WHO_PROVISIONS,
        what: "finds users, or creates one (SCIM 2.0)",
        endpoint: Endpoint::Scim(scim::Ask::Users),
    },
    Route {
        path: "/scim/v2/Users/{id}",
        methods: &["GET", "PUT", "PATCH", "DELETE"],
        who: WHO_PROVISIONS,
        what: "returns, replaces, changes or removes a user (SCIM 2.0)",
        endpoint: Endpoint::Scim(scim::Ask::User),
    },
    Route {
        path: "/scim/v2/Groups",
        methods: &["GET", "POST"],
        who: WHO_PROVISIONS,
        what: "finds groups, or puts users into a new one (SCIM 2.0)",
        endpoint: Endpoint::Scim(scim::Ask::Groups),
    },
    Route {
        path: "/scim/v2/Groups/{id}",
        methods: &["GET", "PUT", "PATCH", "DELETE"],
        who: WHO_PROVISIONS,
        what: "returns or changes the members of a group, or removes it (SCIM 2.0)",
        endpoint: Endpoint::Scim(scim::Ask::Group),
    },
    Route {
        path: "/scim/v2/ServiceProviderConfig",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "tells what of SCIM is supported",
        endpoint: Endpoint::Scim(scim::Ask::Config),
    },
    Route {
        path: "/scim/v2/Schemas",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "describes users and groups, as SCIM does",
        endpoint: Endpoint::Scim(scim::Ask::Schemas),
    },
    Route {
        path: "/scim/v2/Schemas/{id}",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "describes one of them",
        endpoint: Endpoint::Scim(scim::Ask::Schema),
    },
    Route {
        path: "/scim/v2/ResourceTypes",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "lists the kinds of resources: users and groups",
        endpoint: Endpoint::Scim(scim::Ask::Types),
    },
    Route {
        path: "/scim/v2/ResourceTypes/{id}",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "returns one of them",
        endpoint: Endpoint::Scim(scim::Ask::Type),
    },
    Route {
        path: "/{tenant}/access/v1/evaluation",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/evaluation`",
        endpoint: Endpoint::Authzen(authzen::Ask::Evaluation),
    },
    Route {
        path: "/{tenant}/access/v1/evaluations",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/evaluations`",
        endpoint: Endpoint::Authzen(authzen::Ask::Evaluations),
    },
    Route {
        path: "/{tenant}/access/v1/search/subject",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/search/subject`",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchSubject),
    },
    Route {
        path: "/{tenant}/access/v1/search/resource",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/search/resource`",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchResource),
    },
    Route {
        path: "/{tenant}/access/v1/search/action",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/search/action`",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchAction),
    },
];

/// What a request is counted under: its route, or what there is beside routes. A number, so that counting needs no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteName(usize);

impl RouteName {
    /// Names beside those of routes.
    const MORE: [&str; 2] = ["openam", "other"];

    /// One of the paths of OpenAM.
    pub(crate) const OPENAM: RouteName = RouteName(ROUTES.len());

    /// Nothing that has a name.
    pub(crate) const OTHER: RouteName = RouteName(ROUTES.len() + 1);

    /// All names, each in the place of its number.
    pub(crate) fn all() -> Vec<&'static str> {
        ROUTES.iter().map(|route| route.path).chain(RouteName::MORE).collect()
    }

    /// From 0 on, below as many as there are of [`RouteName::all`].
    pub(crate) fn number(self) -> usize {
        self.0
    }
}

/// The route of a path, and what it is counted under. A few dozen comparisons, most of them of lengths, cost less than
/// hashing the path would.
pub(crate) fn find(path: &str, settings: &Settings) -> Option<(RouteName, &'static Route)> {
    let (number, route) = ROUTES.iter().enumerate().find(|(_, route)| route.is_at(path, settings))?;
    route.is_on(settings).then_some((RouteName(number), route))
}

/// The setting that opens a path of the table where the settings do not let it be there; `None` where there is no such path, or
/// nothing to set.
pub(crate) fn opened_by(path: &str, settings: &Settings) -> Option<&'static str> {
    let is_openam = |path: &str| {
        path.strip_prefix(settings.openam.path.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    if !settings.openam.on && is_openam(path) {
        return Some("`openam.on`");
    }
    let route = ROUTES.iter().find(|route| route.has_form_of(path))?;
    match route.endpoint {
        Endpoint::Sapl(Ask::Plan) => Some("`plan.columns`, together with `sapl.http` and `[auth]`,"),
        Endpoint::Sapl(_) => Some("`sapl.http`, together with `[auth]`,"),
        Endpoint::Authzen(_) => Some("`authzen.on`, together with `[auth]`,"),
        Endpoint::Identity(_) => Some("`identity.users` or `[[identity.ldap]]`"),
        Endpoint::Oauth(_) => Some("`oauth.issuer`"),
        Endpoint::Oidc(oidc::Ask::UpstreamCallback | oidc::Ask::UpstreamLogout) => {
            Some("`identity.upstreams`")
        }
        Endpoint::Oidc(_) => Some("`oauth.issuer`, together with `identity.users` or `[[identity.ldap]]`,"),
        Endpoint::Scim(_) => Some("`identity.scim.on`"),
        Endpoint::Pdp(Dialect::Wso2(_)) | Endpoint::Wso2Home => Some("`xacml.wso2_paths`"),
        // Which domain it is, is not for everybody to know.
        Endpoint::Pdp(Dialect::Authzforce) => {
            settings.xacml.authzforce_domain.is_none().then_some("`xacml.authzforce_domain`")
        }
        Endpoint::Home
        | Endpoint::Pdp(Dialect::Rest)
        | Endpoint::Live
        | Endpoint::Ready
        | Endpoint::Metrics => None,
    }
}

impl Route {
    /// Whether this is its path, with anything in the place of what stands in braces.
    fn has_form_of(&self, path: &str) -> bool {
        let parts =
            self.path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?.1)));
        let Some((before, behind)) = parts else { return self.path == path };
        let named = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        named.is_some_and(|named| !named.is_empty() && !named.contains('/'))
    }

    /// Whether this is its path.
    fn is_at(&self, path: &str, settings: &Settings) -> bool {
        // Most paths are compared as they are, on the way to every answer.
        if self.path.ends_with('}')
            || self.path.starts_with("/{")
            || self.endpoint == Endpoint::Identity(Act::UserReset)
        {
            return self.has_form_of(path);
        }
        if self.endpoint != Endpoint::Pdp(Dialect::Authzforce) {
            return self.path == path;
        }
        let domain = settings.xacml.authzforce_domain.as_deref();
        domain.is_some_and(|domain| self.path.replace(DOMAIN, domain) == path)
    }

    /// Whether the settings let it be there.
    fn is_on(&self, settings: &Settings) -> bool {
        match self.endpoint {
            Endpoint::Sapl(Ask::Plan) => settings.answers_sapl() && !settings.plan.columns.is_empty(),
            Endpoint::Sapl(_) => settings.answers_sapl(),
            Endpoint::Authzen(_) => settings.answers_authzen(),
            Endpoint::Identity(_) => settings.identity.is_on(),
            Endpoint::Oauth(_) => settings.oauth.is_on(),
            Endpoint::Oidc(oidc::Ask::UpstreamCallback | oidc::Ask::UpstreamLogout) => {
                !settings.identity.upstreams.is_empty()
            }
            Endpoint::Oidc(_) => settings.oauth.is_on() && settings.identity.is_on(),
            Endpoint::Scim(_) => settings.identity.scim.on,
            Endpoint::Pdp(Dialect::Wso2(_)) | Endpoint::Wso2Home => settings.xacml.wso2_paths,
            Endpoint::Pdp(Dialect::Authzforce) => settings.xacml.authzforce_domain.is_some(),
            Endpoint::Home
            | Endpoint::Pdp(Dialect::Rest)
            | Endpoint::Live
            | Endpoint::Ready
            | Endpoint::Metrics => true,
        }
    }

    pub(crate) fn allows(&self, method: &str) -> bool {
        self.methods.contains(&method)
    }
}
