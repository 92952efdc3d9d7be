//! Tokens: made, and verified.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_jwt::{Base64Url, Jws, JwsRefusal, PublicKey};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::key::Algorithm;
use super::keys::SigningKeys;
use crate::entropy::{Entropy, bytes};
use crate::error::failed;
use crate::{CLOCK_SKEW_MAX, IdentityError, Moment};

/// The longest JWT, in characters. Longer ones are neither issued nor accepted.
pub const JWT_LENGTH_MAX: usize = 16 * 1024;

/// The claims that a token has of its own: nobody else may set them.
const OWN: [&str; 10] = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "client_id", "scope", "sid"];

#[derive(Serialize)]
struct Header<'h> {
    typ: &'static str,
    alg: &'static str,
    kid: &'h str,
}

/// A token that is no access token, as its header says (RFC 8725, 3.11): none is taken for one of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Who logged in (OpenID Connect Core, 2).
    Id,
    /// That a session has ended (OpenID Connect Back-Channel Logout, 2.4).
    Logout,
    /// What a server is and where it answers (RFC 8414, 2.1), so that it is taken for nothing else.
    Metadata,
}

impl TokenKind {
    const fn name(self) -> &'static str {
        match self {
            TokenKind::Id => "JWT",
            TokenKind::Logout => "logout+jwt",
            TokenKind::Metadata => "metadata+jwt",
        }
    }
}

/// The kind of access tokens (RFC 9068, 2.1).
const ACCESS: &str = "at+jwt";

/// What a token is asked for.
#[derive(Clone, Debug)]
pub struct Request<'r> {
    /// Who gives it: an address.
    pub issuer: &'r str,
    /// Whom it is about.
    pub subject: &'r str,
    /// Whom it is for. At least one: a token for everybody could be carried from one service to the next.
    pub audience: &'r [&'r str],
    /// How long it is good for.
    pub lifetime: Duration,
    /// Which client asked.
    pub client: Option<&'r str>,
    /// What it allows, separated by spaces.
    pub scope: Option<&'r str>,
    /// The session it comes from, by its handle.
    pub session: Option<&'r str>,
    /// What else it says.
    pub more: Map<String, Value>,
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claims {
    /// Who gave it.
    pub iss: String,
    /// Whom it is about.
    pub sub: String,
    /// Whom it is for.
    #[serde(deserialize_with = "one_or_many")]
    pub aud: Vec<String>,
    /// When it ends, in seconds since 1970 began.
    pub exp: u64,
    /// From when on it is good.
    pub nbf: u64,
    /// When it was made.
    pub iat: u64,
    /// What names it.
    pub jti: String,
    /// Which client asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// What it allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The session it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
    /// What else it says.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Texts::deserialize(from)? {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    })
}

/// What a token must say to be believed.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'e> {
    /// Who must have given it.
    pub issuer: &'e str,
    /// Whom it must be for.
    pub audience: &'e str,
}

/// Why a token is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtRefusal {
    /// It is no token, or too long a one.
    Malformed,
    /// No key in use has the name that it gives.
    UnknownKey,
    /// It gives another algorithm than its key is for.
    Algorithm,
    /// The signature is wrong.
    Signature,
    /// It has ended.
    Expired,
    /// It is not good yet.
    Future,
    /// Somebody else gave it.
    Issuer,
    /// It is for somebody else.
    Audience,
}

impl fmt::Display for JwtRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JwtRefusal::Malformed => "no token",
            JwtRefusal::UnknownKey => "signed with a key that is not in use",
            JwtRefusal::Algorithm => "another algorithm than its key is for",
            JwtRefusal::Signature => "a wrong signature",
            JwtRefusal::Expired => "the token has ended",
            JwtRefusal::Future => "the token is not good yet: compare the clocks",
            JwtRefusal::Issuer => "given by somebody else",
            JwtRefusal::Audience => "meant for somebody else",
        })
    }
}

impl std::error::Error for JwtRefusal {}

impl SigningKeys {
    /// Makes a token.
    ///
    /// # Errors
    /// No audience, a claim that is not the caller's to set, a lifetime beyond the longest, too long a token, no key, or no
    /// randomness.
    pub fn issue(
        &self,
        now: Moment,
        request: Request<'_>,
        entropy: &dyn Entropy,
    ) -> Result<String, IdentityError> {
        self.signed(now, ACCESS, &self.claims(now, request, entropy)?)
    }

    /// Signs the claims of a token that is no access token.
    ///
    /// # Errors
    /// No key, too long a token, or no randomness.
    pub fn sign(
        &self,
        now: Moment,
        kind: TokenKind,
        claims: &Map<String, Value>,
    ) -> Result<String, IdentityError> {
        self.signed(now, kind.name(), claims)
    }

    fn signed(
        &self,
        now: Moment,
        typ: &'static str,
        claims: &impl Serialize,
    ) -> Result<String, IdentityError> {
        let Some(key) = self.signing(now) else { return failed("there is no key yet that signs tokens") };
        let header = Header { typ, alg: key.algorithm().name(), kid: key.id() };
        let signed = format!("{}.{}", part(&header)?, part(claims)?);
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes())?));
        if token.len() > JWT_LENGTH_MAX {
            return failed(format!("the token would be longer than {JWT_LENGTH_MAX} characters"));
        }
        Ok(token)
    }

    fn claims(
        &self,
        now: Moment,
        request: Request<'_>,
        entropy: &dyn Entropy,
    ) -> Result<Claims, IdentityError> {
        let Request { issuer, subject, audience, lifetime, client, scope, session, more } = request;
        if audience.is_empty() || audience.iter().any(|audience| audience.is_empty()) {
            return failed("a token needs an audience: whom is it for?");
        }
        if lifetime > self.lifetime_max() {
            let most = self.lifetime_max().as_secs();
            return failed(format!("a token lives for {most} seconds at most"));
        }
        if let Some(name) = OWN.iter().find(|name| more.contains_key(**name)) {
            return failed(format!("the claim `{name}` is not to be set"));
        }
        let iat = now.ms() / 1000;
        let id: [u8; 16] = bytes(entropy)?;
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Ok(Claims {
            iss: issuer.to_owned(),
            sub: subject.to_owned(),
            aud: audience.iter().map(|audience| (*audience).to_owned()).collect(),
            exp: iat.saturating_add(lifetime.as_secs()),
            nbf: iat,
            iat,
            jti: URL_SAFE_NO_PAD.encode(id),
            client_id: owned(client),
            scope: owned(scope),
            sid: owned(session),
            more,
        })
    }

    /// What a token says, if it may be believed.
    ///
    /// # Errors
    /// It may not.
    pub fn verify(&self, now: Moment, token: &str, expected: Expected<'_>) -> Result<Claims, JwtRefusal> {
        is_for(self.verify_own(now, token, expected.issuer)?, expected.audience)
    }

    /// What a token of this issuer says, whomever it is for: for the issuer itself, whom others ask about it. Whoever acts on a
    /// token wants [`SigningKeys::verify`].
    ///
    /// # Errors
    /// It may not be believed.
    // Of a token that is the subject of a decision: `inline`, and so optimised where it is called.
    #[inline]
    pub fn verify_own(&self, now: Moment, token: &str, issuer: &str) -> Result<Claims, JwtRefusal> {
        let find = |id: &str| self.find(id, now).map(|key| (key.public(), key.algorithm()));
        let claims = open(token, find)?;
        believe(now, claims, issuer, CLOCK_SKEW_MAX)
    }

    /// What an ID token of this issuer says, also one that has ended: a client shows it to say whom it means, and it opens nothing.
    ///
    /// # Errors
    /// It was not signed here, or is of another kind.
    pub fn read_id_token(
        &self,
        now: Moment,
        token: &str,
        issuer: &str,
    ) -> Result<Map<String, Value>, JwtRefusal> {
        let find = |id: &str| self.find(id, now).map(|key| (key.public(), key.algorithm()));
        let claims = verified(token, TokenKind::Id.name(), find)?;
        match claims.get("iss").and_then(Value::as_str) {
            Some(iss) if iss == issuer => Ok(claims),
            Some(_) | None => Err(JwtRefusal::Issuer),
        }
    }
}

/// The claims of a token that the key verifies which its header names, by that key's algorithm; nothing of them is looked at.
#[inline]
pub(super) fn open<'k>(
    token: &str,
    find: impl FnOnce(&str) -> Option<(&'k PublicKey, Algorithm)>,
) -> Result<Claims, JwtRefusal> {
    // RFC 9068, 4: the kind is told, so that no token for something else is taken for one.
    let claims = verified(token, ACCESS, find)?;
    Claims::deserialize(Value::Object(claims)).map_err(|_| JwtRefusal::Malformed)
}

/// The claims of a token of this kind, whatever they are.
fn verified<'k>(
    token: &str,
    kind: &str,
    find: impl FnOnce(&str) -> Option<(&'k PublicKey, Algorithm)>,
) -> Result<Map<String, Value>, JwtRefusal> {
    if token.len() > JWT_LENGTH_MAX {
        return Err(JwtRefusal::Malformed);
    }
    let token = Jws::read(token, Base64Url::Exact)?;
    let (key, algorithm) = token.key_id().and_then(find).ok_or(JwtRefusal::UnknownKey)?;
    let algorithm = algorithm.of_jws();
    if token.algorithm() != Some(algorithm) {
        return Err(JwtRefusal::Algorithm);
    }
    if !token.kind().is_some_and(|said| said.eq_ignore_ascii_case(kind)) {
        return Err(JwtRefusal::Malformed);
    }
    Ok(token.verify(key, &[algorithm])?.claims()?)
}

impl From<JwsRefusal> for JwtRefusal {
    fn from(refusal: JwsRefusal) -> JwtRefusal {
        match refusal {
            JwsRefusal::Malformed | JwsRefusal::Critical => JwtRefusal::Malformed,
            JwsRefusal::Algorithm => JwtRefusal::Algorithm,
            JwsRefusal::Signature => JwtRefusal::Signature,
        }
    }
}

/// The claims, if they are of this issuer and hold now. A token ends in the moment that `exp` names, without a skew.
pub(super) fn believe(
    now: Moment,
    claims: Claims,
    issuer: &str,
    skew: Duration,
) -> Result<Claims, JwtRefusal> {
    let (now_s, skew_s) = (now.ms() / 1000, skew.as_secs());
    if claims.exp <= now_s {
        return Err(JwtRefusal::Expired);
    }
    if claims.nbf > now_s.saturating_add(skew_s) || claims.iat > now_s.saturating_add(skew_s) {
        return Err(JwtRefusal::Future);
    }
    if claims.iss != issuer {
        return Err(JwtRefusal::Issuer);
    }
    Ok(claims)
}

/// The claims, if the token is for this audience.
pub(super) fn is_for(claims: Claims, audience: &str) -> Result<Claims, JwtRefusal> {
    if audience.is_empty() || !claims.aud.iter().any(|one| one == audience) {
        return Err(JwtRefusal::Audience);
    }
    Ok(claims)
}

fn part(value: &impl Serialize) -> Result<String, IdentityError> {
    let json = serde_json::to_vec(value).map_err(|error| IdentityError::new(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(json))
}
