//! Who may call a route, in the words of `docs/routes.md`, and sets of methods.

/// Whoever may open a connection: the address listened on, TLS client certificates and the proxy in front decide
/// about that, not the route.
pub(super) const WHO_CONNECTS: &str = "anyone who can connect";

/// Whoever may open a connection, or whoever `[auth]` lets in where it guards this.
pub(super) const WHO_CONNECTS_UNGUARDED: &str =
    "anyone who can connect; with `auth.guards`, callers that `[auth]` accepts";

/// Whoever `[auth]` lets in. Not there unless `sapl.http` is set, or only this machine can connect.
pub(super) const WHO_AUTHENTICATES: &str =
    "callers that `[auth]` accepts; if `sapl.http` is set, or on a loopback address";

/// Whoever `[auth]` lets in. Not there unless `plan.columns` names columns.
pub(super) const WHO_PLANS: &str =
    "callers that `[auth]` accepts; if `plan.columns` is set, and `sapl.http`, or on a loopback address";

/// The same where AuthZEN's clients are let in.
pub(super) const WHO_AUTHENTICATES_AUTHZEN: &str =
    "callers that `[auth]` accepts; if `authzen.on` is set, or on a loopback address";

/// The same, of the tenant in the path.
pub(super) const WHO_IS_OF_TENANT: &str =
    "callers that `[auth]` accepts, of this tenant; if `authzen.on` is set, or on a loopback address";

/// A gateway. Not there unless `doors.on` is set.
pub(super) const WHO_IS_GATEWAY: &str = "gateways: of `doors.proxies`, with a client certificate, or with credentials that `[auth]` accepts; if `doors.on` is set";

/// Whether the server can decide is not secret.
pub(super) const WHO_CONNECTS_TO_DOORS: &str = "anyone who can connect; if `doors.on` is set";

/// Metadata is not secret.
pub(super) const WHO_CONNECTS_AUTHZEN: &str =
    "anyone who can connect; if AuthZEN is on and `authzen.url` is set";

/// Not there unless `kubernetes.on` is set.
pub(super) const WHO_IS_API_SERVER: &str =
    "callers that `[auth]` or `[kubernetes.callers]` accepts; if `kubernetes.on` is set";

/// Not there unless `brokers.rabbitmq` is set.
pub(super) const WHO_IS_RABBITMQ: &str =
    "callers that `[auth]` or `[brokers.callers]` accepts; if `brokers.rabbitmq` is set";

/// Not there unless `brokers.emqx` is set.
pub(super) const WHO_IS_EMQX: &str =
    "callers that `[auth]` or `[brokers.callers]` accepts; if `brokers.emqx` is set";

/// Whoever knows a password. Not there unless `identity.users` or `identity.ldap` is set.
pub(super) const WHO_LOGS_IN: &str = "a user who logs in; if `[identity]` has users";

/// Whoever shows the token of a session.
pub(super) const WHO_HOLDS: &str = "the holder of a session token; if `[identity]` has users";

/// Whoever shows the token of a session of a user in the group of administrators.
pub(super) const WHO_ADMINISTERS: &str =
    "the holder of an administrator's session token; if `[identity]` has users";

/// Whoever shows the secret of a client. Not there unless `oauth.issuer` is set.
pub(super) const WHO_IS_CLIENT: &str = "a client of `[[oauth.clients]]`; if `oauth.issuer` is set";

/// Not there unless `oauth.issuer` is set and there are users.
pub(super) const WHO_BROWSES: &str =
    "anyone who can connect; if `oauth.issuer` is set and `[identity]` has users";

/// Whoever a provider sends back. Not there unless `identity.upstreams` is set.
pub(super) const WHO_COMES_BACK: &str = "anyone who can connect; if `identity.upstreams` is set";

/// Whoever shows an access token that a client got for a user.
pub(super) const WHO_HAS_TOKEN: &str =
    "the holder of an access token for the issuer; if `oauth.issuer` is set and `[identity]` has users";

/// Not there unless `oauth.issuer` is set.
pub(super) const WHO_CONNECTS_OAUTH: &str = "anyone who can connect; if `oauth.issuer` is set";

/// Not there unless `xacml.wso2_paths` is set.
pub(super) const WHO_CONNECTS_WSO2: &str = "anyone who can connect; if `xacml.wso2_paths` is set";

/// Not there unless `xacml.authzforce_domain` is set.
pub(super) const WHO_CONNECTS_AUTHZFORCE: &str =
    "anyone who can connect; if `xacml.authzforce_domain` is set";

/// A program of `[[auth.users]]` that may administer. Not there unless `identity.scim.on` is set.
pub(super) const WHO_PROVISIONS: &str =
    "callers of `[[auth.users]]` with `may_administer`; if `identity.scim.on` is set";

pub(super) const POST: &[&str] = &["POST"];

pub(super) const GET_POST: &[&str] = &["GET", "POST"];

pub(super) const READ: &[&str] = &["GET", "HEAD", "OPTIONS"];
