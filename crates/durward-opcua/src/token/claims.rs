//! The claims of a token: issue, and what verification makes of them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::jwt::{Claims, Expected, JWT_LENGTH_MAX, Request, SigningKeys, VerifyingKeys};
use durward_identity::{Entropy, IdentityError, Moment};
use serde_json::{Map, Value, json};

use super::error::TokenRefusal;
use super::facts::{HasTokenFacts, TokenFacts};
use super::grants::Grants;
use super::live::LiveFacts;
use super::table::NodeTable;

/// The claim with the permissions, as [`Grants::encode`] writes them.
pub const CLAIM_GRANTS: &str = "dwg";
/// The claim with the version of the policy that decided.
pub const CLAIM_POLICY: &str = "dwp";
/// The claim with what the gate has to know of the subject where it decides itself, as [`LiveFacts::to_json`] writes it.
pub const CLAIM_LIVE: &str = "dwl";
/// Most roles that a token is read with, and the longest of their names.
pub const ROLES_MAX: usize = 64;
const ROLE_BYTES_MAX: usize = 256;
/// How far ahead of the gate's clock a token may have been issued. After a recall tokens are dated up to a second ahead.
pub const TOKEN_SKEW_DEFAULT: Duration = Duration::from_secs(5);

/// The SHA-256 of a certificate (RFC 8705, 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thumbprint([u8; 32]);

impl Thumbprint {
    /// That of a certificate, which comes as DER.
    pub fn of(certificate: &[u8]) -> Thumbprint {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(digest(&SHA256, certificate).as_ref()).for_each(|(to, from)| *to = *from);
        Thumbprint(bytes)
    }

    fn read(text: &str) -> Option<Thumbprint> {
        Some(Thumbprint(URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?))
    }
}

/// As `x5t#S256` has it.
impl fmt::Display for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Thumbprint({self})")
    }
}

/// The input of token issuance.
#[derive(Clone, Copy, Debug)]
pub struct IssueRequest<'i> {
    /// The authorization service: its ServiceUri.
    pub issuer: &'i str,
    /// Whom the rights are of.
    pub subject: &'i str,
    /// The resource: the gate's ApplicationUri.
    pub resource: &'i str,
    /// How long the token lives: as long as the facts say that the state machine gives.
    pub lifetime: Duration,
    /// The certificate that it is bound to.
    pub client: Thumbprint,
    /// Roles, for servers that know only these.
    pub roles: &'i [&'i str],
    /// The durward session behind it, by its handle.
    pub session: Option<&'i str>,
    /// The version of the policy that decided.
    pub policy: &'i str,
    /// What it grants.
    pub grants: &'i Grants,
    /// What the gate has to know where it decides itself.
    pub live: Option<&'i LiveFacts>,
}

impl IssueRequest<'_> {
    /// Makes the token. `issued` is the moment that the authorization service's state machine gives, not the clock: it orders tokens
    /// and cutoffs.
    ///
    /// # Errors
    /// As of [`SigningKeys::issue`]; above all where the permissions do not fit into a token.
    pub fn sign(
        &self,
        keys: &SigningKeys,
        issued: Moment,
        entropy: &dyn Entropy,
    ) -> Result<String, IdentityError> {
        let mut more = Map::new();
        more.insert("cnf".to_owned(), json!({ "x5t#S256": self.client.to_string() }));
        if !self.roles.is_empty() {
            more.insert("roles".to_owned(), json!(self.roles));
        }
        if !self.policy.is_empty() {
            more.insert(CLAIM_POLICY.to_owned(), json!(self.policy));
        }
        more.insert(CLAIM_GRANTS.to_owned(), Value::String(self.grants.encode()));
        if let Some(live) = self.live {
            more.insert(CLAIM_LIVE.to_owned(), live.to_json());
        }
        let request = Request {
            issuer: self.issuer,
            subject: self.subject,
            audience: &[self.resource],
            lifetime: self.lifetime,
            client: None,
            scope: None,
            session: self.session,
            more,
        };
        keys.issue(issued, request, entropy)
    }
}

/// A token that was verified: for this resource, from its issuer, not ended, bound to the certificate of the channel that it came over,
/// made over the table in force. There is no other way to have one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    facts: TokenFacts<Arc<str>>,
    id: String,
    key: String,
    roles: Vec<String>,
    grants: Grants,
    live: Option<LiveFacts>,
}

impl VerifiedToken {
    /// Its name (`jti`), for log and audit.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the key that it is signed with.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whom the rights are of.
    pub fn subject(&self) -> &str {
        &self.facts.subject
    }

    /// The roles that it carries.
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// What it grants.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The thumbprint of the certificate that it is bound to, as text.
    pub fn client(&self) -> &str {
        &self.facts.client
    }

    /// What it says of the subject for decisions at the gate; `None` where it says nothing, and then nothing is to be granted by them.
    pub fn live_facts(&self) -> Option<&LiveFacts> {
        self.live.as_ref()
    }
}

impl HasTokenFacts for VerifiedToken {
    type Name = Arc<str>;

    fn facts(&self) -> &TokenFacts<Arc<str>> {
        &self.facts
    }
}

impl HasTokenFacts for Arc<VerifiedToken> {
    type Name = Arc<str>;

    fn facts(&self) -> &TokenFacts<Arc<str>> {
        &self.facts
    }
}

/// Verifies access tokens for a gate: the trusted issuer, its keys, the resource.
#[derive(Clone, Debug)]
pub struct TokenVerifier {
    /// The public keys of the issuer.
    pub keys: VerifyingKeys,
    /// The authorization service: its ServiceUri.
    pub issuer: String,
    /// The resource: the gate's ApplicationUri.
    pub resource: String,
    /// The longest token, in characters. Ask [`TokenVerifier::fits`] before anything is decrypted.
    pub token_length_max: usize,
    /// How long a token may live. Cutoffs are kept for so long.
    pub token_lifetime_max: Duration,
    /// How far ahead of the gate's clock a token may have been issued.
    pub skew: Duration,
}

impl TokenVerifier {
    /// A verifier with the usual limits, for tokens that live this long at most.
    pub fn new(
        keys: VerifyingKeys,
        issuer: &str,
        resource: &str,
        token_lifetime_max: Duration,
    ) -> TokenVerifier {
        let (issuer, resource) = (issuer.to_owned(), resource.to_owned());
        let (token_length_max, skew) = (JWT_LENGTH_MAX, TOKEN_SKEW_DEFAULT);
        TokenVerifier { keys, issuer, resource, token_length_max, token_lifetime_max, skew }
    }

    /// Whether a token of this length is looked at.
    pub fn fits(&self, length: usize) -> bool {
        length <= self.token_length_max.min(JWT_LENGTH_MAX)
    }

    /// Verifies a token that came over a channel with a client's certificate, against the table in force.
    ///
    /// The order is fixed: length, signature, time, issuer, audience, lifetime, binding, permissions. So a forged token learns nothing but
    /// that it is one. Cutoffs are not looked at here: the gate's state machine does, when it takes the token.
    ///
    /// # Errors
    /// It is refused; the reason has a status for the client and words for the log.
    pub fn verify(
        &self,
        now: Moment,
        token: &[u8],
        client: Thumbprint,
        table: &NodeTable,
    ) -> Result<VerifiedToken, TokenRefusal> {
        if !self.fits(token.len()) {
            return Err(TokenRefusal::TooLong);
        }
        let token = std::str::from_utf8(token).map_err(|_| TokenRefusal::NoText)?;
        let expected = Expected { issuer: &self.issuer, audience: &self.resource };
        let verified = self.keys.verify_with_key(now, token, expected, self.skew);
        let (claims, key) = verified.map_err(TokenRefusal::Jwt)?;
        if claims.exp.saturating_sub(claims.iat) > self.token_lifetime_max.as_secs() {
            return Err(TokenRefusal::LivesTooLong);
        }
        if bound_to(&claims)? != client {
            return Err(TokenRefusal::OtherClient);
        }
        let grants = text_of(&claims, CLAIM_GRANTS)?.ok_or(TokenRefusal::NoGrants)?;
        let grants = Grants::decode(grants, table).map_err(TokenRefusal::Grants)?;
        let facts = TokenFacts {
            subject: claims.sub.as_str().into(),
            session: claims.sid.as_deref().map(Into::into),
            client: client.to_string().into(),
            policy: text_of(&claims, CLAIM_POLICY)?.unwrap_or_default().into(),
            issued: Moment::from_ms(claims.iat.saturating_mul(1000)),
            expires: Moment::from_ms(claims.exp.saturating_mul(1000)),
        };
        let live = match claims.more.get(CLAIM_LIVE) {
            None => None,
            Some(said) => Some(LiveFacts::read(said).ok_or(TokenRefusal::Claim(CLAIM_LIVE))?),
        };
        let roles = roles_of(&claims)?;
        Ok(VerifiedToken { facts, roles, id: claims.jti, key: key.to_owned(), grants, live })
    }
}

fn text_of<'c>(claims: &'c Claims, name: &'static str) -> Result<Option<&'c str>, TokenRefusal> {
    match claims.more.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(TokenRefusal::Claim(name)),
    }
}

fn bound_to(claims: &Claims) -> Result<Thumbprint, TokenRefusal> {
    let confirmation = claims.more.get("cnf").ok_or(TokenRefusal::Unbound)?;
    let thumbprint = confirmation.get("x5t#S256").ok_or(TokenRefusal::Unbound)?;
    thumbprint.as_str().and_then(Thumbprint::read).ok_or(TokenRefusal::Claim("cnf"))
}

fn roles_of(claims: &Claims) -> Result<Vec<String>, TokenRefusal> {
    let wrong = TokenRefusal::Claim("roles");
    let roles = match claims.more.get("roles") {
        None => return Ok(Vec::new()),
        Some(Value::Array(roles)) if roles.len() <= ROLES_MAX => roles,
        Some(_) => return Err(wrong),
    };
    let role = |role: &Value| role.as_str().filter(|role| role.len() <= ROLE_BYTES_MAX).map(str::to_owned);
    roles.iter().map(role).collect::<Option<_>>().ok_or(wrong)
}
