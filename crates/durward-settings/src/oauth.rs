//! `[oauth]`: short-lived tokens for other services.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use durward_session::identity::jwt::Algorithm;
use serde::{Deserialize, Serialize};

use super::{BoundSubjects, ClientDpop, ConfigError};

/// The longest lifetime of a token, in seconds: a token that cannot be revoked everywhere must expire soon.
const TOKEN_LIFETIME_S_MAX: u64 = 86_400;

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TokenAlgorithm {
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
    /// ECDSA over P-256.
    #[serde(rename = "ES256")]
    Es256,
    /// RSA, with keys that are brought.
    #[serde(rename = "RS256")]
    Rs256,
}

impl TokenAlgorithm {
    /// The algorithm of the signing keys.
    pub const fn of_keys(self) -> Algorithm {
        match self {
            TokenAlgorithm::EdDsa => Algorithm::EdDsa,
            TokenAlgorithm::Es256 => Algorithm::Es256,
            TokenAlgorithm::Rs256 => Algorithm::Rs256,
        }
    }
}

/// A way to get a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientGrant {
    /// For the client itself (RFC 6749, 4.4).
    ClientCredentials,
    /// For the user of a session, whose token the client shows (RFC 8693).
    TokenExchange,
    /// For a user who logs in with a browser (RFC 6749, 4.1).
    AuthorizationCode,
    /// Again, for as long as the session of that user lives (RFC 6749, 6).
    RefreshToken,
}

/// Tokens for other services. Without `issuer` there are none, and `/oauth2` is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OauthSettings {
    /// What tokens say of who gave them: the address at which others reach this server. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// How tokens are signed; the first one, unless a client has another. Default: `EdDSA`.
    pub algorithms: Vec<TokenAlgorithm>,
    /// The directory of the signing keys and of the list of tokens that were revoked. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    /// Private RSA keys: the first signs, the others are published.
    pub rs256_key_paths: Vec<PathBuf>,
    /// How long a key signs. Default: 30 days.
    pub key_period_s: u64,
    /// How long before it signs a key is published. Default: a day.
    pub key_overlap_s: u64,
    /// How long a token lives. Default: 5 minutes.
    pub token_lifetime_s: u64,
    /// Tokens for one of these, or for the issuer itself, may name the subject of a decision. Default: none.
    pub decision_audiences: Vec<String>,
    /// Whether a token that is bound to a key may name the subject of a decision. Default: it is refused.
    pub bound_subjects: BoundSubjects,
    /// Whether proofs of DPoP must have a `nonce` that this server gave out. Default: no.
    pub dpop_nonces_required: bool,
    /// Who may ask for tokens, and about tokens.
    pub clients: Vec<OauthClientSettings>,
}

/// A client: a service that asks for tokens, or about them.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OauthClientSettings {
    /// Its name.
    pub id: String,
    /// What users read where they are asked for their consent. Default: the `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its secret, as Argon2id writes it (`$argon2id$...`). A public client has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Whether it can keep no secret, as what runs in a browser or on a telephone.
    #[serde(default)]
    pub public: bool,
    /// The ways in which it gets tokens. Default: none.
    #[serde(default)]
    pub grants: Vec<ClientGrant>,
    /// Whom it may ask tokens for.
    #[serde(default)]
    pub audiences: Vec<String>,
    /// What it may ask for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The audiences that it is itself: about tokens for these it may ask.
    #[serde(default)]
    pub serves: Vec<String>,
    /// Where browsers may be sent with an authorization code, each exactly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_uris: Vec<String>,
    /// Where browsers may be sent after a logout, each exactly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_logout_redirect_uris: Vec<String>,
    /// Where it is told that a session has ended. Default: it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backchannel_logout_uri: Option<String>,
    /// Whether users are asked before it gets tokens for them. Default: no.
    #[serde(default)]
    pub consent: bool,
    /// How its tokens are signed. Default: as the first of `algorithms` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<TokenAlgorithm>,
    /// Whether its tokens are bound to a key that it shows to have (DPoP). Default: where it does.
    #[serde(default)]
    pub dpop: ClientDpop,
}

impl Default for OauthSettings {
    fn default() -> OauthSettings {
        OauthSettings {
            issuer: None,
            algorithms: vec![TokenAlgorithm::EdDsa],
            data: None,
            rs256_key_paths: Vec::new(),
            key_period_s: 30 * 86_400,
            key_overlap_s: 86_400,
            token_lifetime_s: 300,
            decision_audiences: Vec::new(),
            bound_subjects: BoundSubjects::Refused,
            dpop_nonces_required: false,
            clients: Vec::new(),
        }
    }
}

impl fmt::Debug for OauthClientSettings {
    /// Even digests of secrets are not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthClientSettings").field("id", &self.id).finish_non_exhaustive()
    }
}

/// RFC 6749, 3.3: printable, without space, quotation mark and backslash.
pub fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

impl OauthSettings {
    /// Whether tokens are given.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.issuer.is_some()
    }

    /// How long a token lives.
    pub fn token_lifetime(&self) -> Duration {
        Duration::from_secs(self.token_lifetime_s)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: String| Err(ConfigError::of_setting(name, message));
        let Some(issuer) = &self.issuer else {
            return if self.clients.is_empty() {
                Ok(())
            } else {
                wrong(
                    "oauth.clients",
                    "are there, and no `oauth.issuer`: they would get no tokens".to_owned(),
                )
            };
        };
        if !is_issuer(issuer) {
            let message = format!("is `{issuer}`; it must be an address such as `https://id.example.org`");
            return wrong("oauth.issuer", message + ", without `?`, `#` and a slash at its end");
        }
        if self.algorithms.is_empty() {
            return wrong("oauth.algorithms", "is empty; name `EdDSA`, `ES256` or `RS256`".to_owned());
        }
        if self.algorithms.contains(&TokenAlgorithm::Rs256) == self.rs256_key_paths.is_empty() {
            let message = "and `RS256` among `oauth.algorithms` need each other: keys for it are brought, not made \
                           (`openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072`)";
            return wrong("oauth.rs256_key_paths", message.to_owned());
        }
        if self.decision_audiences.iter().any(String::is_empty) {
            return wrong("oauth.decision_audiences", "has an empty audience".to_owned());
        }
        self.check_times()?;
        let mut ids = BTreeSet::new();
        for client in &self.clients {
            client.check(&self.algorithms)?;
            if !ids.insert(&client.id) {
                return wrong(&format!("oauth.clients.{}", client.id), "is there twice".to_owned());
            }
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: String| Err(ConfigError::of_setting(name, message));
        let lifetime = self.token_lifetime_s;
        if !(1..=TOKEN_LIFETIME_S_MAX).contains(&lifetime) {
            return wrong(
                "oauth.token_lifetime_s",
                format!("is {lifetime}; 1 to {TOKEN_LIFETIME_S_MAX} may be"),
            );
        }
        let least = self.key_overlap_s.max(lifetime).max(60);
        if self.key_period_s < least {
            let message =
                format!("is {}; the least is {least}, with this overlap and lifetime", self.key_period_s);
            return wrong("oauth.key_period_s", message);
        }
        Ok(())
    }

    pub(super) fn weaknesses(&self) -> Vec<String> {
        let issuer = self.issuer.as_deref().unwrap_or_default();
        let is_local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
        let is_plain =
            issuer.starts_with("http://") && !is_local.iter().any(|local| issuer.starts_with(local));
        let message =
            "`oauth.issuer` is not `https`: whoever is on the way can give out keys and read tokens";
        if is_plain { vec![message.to_owned()] } else { Vec::new() }
    }
}

/// Whether this is the address of a server, as it can stand before paths.
pub(super) fn is_issuer(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let is_plain =
            |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'"' | b'\\' | b'@');
        !rest.is_empty() && !rest.starts_with('/') && !rest.ends_with('/') && rest.bytes().all(is_plain)
    })
}

/// Whether it has only what addresses are made of, and no fragment.
fn is_plain(uri: &str) -> bool {
    uri.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'"' | b'\\' | b'<' | b'>'))
}

/// Whether browsers may be sent there: over TLS, to this very machine, or to a program by a scheme of its own, which is named after a
/// domain (RFC 8252, 7.1).
fn is_redirect(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else { return false };
    if !is_plain(uri) || rest.is_empty() {
        return false;
    }
    let authority = rest.strip_prefix("//").map(|rest| rest.split(['/', '?']).next().unwrap_or_default());
    match scheme {
        "https" => authority.is_some_and(|host| !host.is_empty() && !host.contains('@')),
        "http" => authority.is_some_and(|host| {
            let is_local = |name: &&str| {
                host.strip_prefix(*name).is_some_and(|port| port.is_empty() || port.starts_with(':'))
            };
            ["127.0.0.1", "[::1]", "localhost"].iter().any(is_local) && !host.contains('@')
        }),
        _ => {
            scheme.contains('.')
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+".contains(&byte))
        }
    }
}

impl OauthClientSettings {
    /// Whether it may use a grant.
    pub fn may(&self, grant: ClientGrant) -> bool {
        self.grants.contains(&grant)
    }

    /// What users read.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// What concerns browsers.
    fn check_browsers(&self) -> Result<(), &'static str> {
        let has_codes = self.may(ClientGrant::AuthorizationCode);
        if has_codes == self.redirect_uris.is_empty() {
            return Err("must have `redirect_uris` and the grant `authorization-code` both, or neither");
        }
        if self.may(ClientGrant::RefreshToken) && !has_codes {
            return Err("has the grant `refresh-token` without `authorization-code`: it could never use it");
        }
        if !self.redirect_uris.iter().chain(&self.post_logout_redirect_uris).all(|uri| is_redirect(uri)) {
            return Err(
                "has a redirect URI that is not absolute, has a `#`, or is `http` other than to `127.0.0.1`, `[::1]` \
                 or `localhost`",
            );
        }
        // It may have a query (OpenID Connect Back-Channel Logout, 2.2): mod_auth_openidc's is told by its query from where browsers come back.
        let without_query = |uri: &str| is_issuer(uri.split('?').next().unwrap_or_default());
        if !self.backchannel_logout_uri.iter().all(|uri| without_query(uri) && is_plain(uri)) {
            return Err(
                "has a `backchannel_logout_uri` that is not `https://...` or `http://...`, or has a `#`",
            );
        }
        Ok(())
    }

    fn check(&self, algorithms: &[TokenAlgorithm]) -> Result<(), ConfigError> {
        let wrong = |message: &str| {
            Err(ConfigError::of_setting(&format!("oauth.clients.{}", self.id), message.into()))
        };
        // RFC 6749, appendix A.1, and what RFC 9068 takes for a subject.
        if self.id.is_empty() || !self.id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return wrong("has an `id` that is empty or has blanks or other than ASCII letters in it");
        }
        match &self.secret {
            Some(_) if self.public => return wrong("is `public`, and has a `secret`: it could not keep one"),
            Some(secret) if !secret.starts_with("$argon2id$") => {
                return wrong(
                    "has a `secret` that is not an Argon2id digest: `durward generate basic` makes both",
                );
            }
            None if !self.public => {
                return wrong("has no `secret`: give it one, or say that it is `public`");
            }
            Some(_) | None => {}
        }
        let names_audiences = |grant: &ClientGrant| match grant {
            ClientGrant::ClientCredentials | ClientGrant::TokenExchange => true,
            ClientGrant::AuthorizationCode | ClientGrant::RefreshToken => false,
        };
        let needs_secret = self.grants.iter().any(names_audiences);
        if needs_secret && self.public {
            return wrong(
                "is `public`: it may have the grants `authorization-code` and `refresh-token` only",
            );
        }
        if needs_secret && self.audiences.is_empty() {
            return wrong("may get tokens, and has no `audiences` that they could be for");
        }
        if let Err(message) = self.check_browsers() {
            return wrong(message);
        }
        if self.audiences.iter().chain(&self.serves).any(String::is_empty) {
            return wrong("has an empty audience");
        }
        if !self.scopes.iter().all(|scope| is_scope(scope)) {
            return wrong("has a scope that is empty or has a blank, `\"` or `\\` in it");
        }
        match self.algorithm {
            Some(algorithm) if !algorithms.contains(&algorithm) => {
                wrong("has an `algorithm` that is not among `oauth.algorithms`")
            }
            Some(_) | None => Ok(()),
        }
    }
}
