//! Proofs that whoever shows a token has the key that the token is bound to (DPoP, RFC 9449).
//!
//! A proof is signed with the key that stands in it. By itself it says only that somebody has that key, and what they ask for with it;
//! that the key counts, the token says, or the server that binds one to it. What is not looked at here, because it takes a memory or a
//! secret: whether the proof was shown before, and whether its `nonce` is one that was given out.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_jwt::{Base64Url, Jwk, Jws, JwsAlgorithm, JwsRefusal};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq;

use super::proof_address::normal;
use crate::Moment;

/// The longest proof, in bytes: one with the largest key of RSA takes half of it.
pub const PROOF_LENGTH_MAX: usize = 8 * 1024;

/// The longest name of a proof (`jti`), and the longest `nonce`, in bytes.
const TEXT_LENGTH_MAX: usize = 512;

/// How old a proof may be, and how far ahead the clock of whoever made it.
pub const PROOF_AGE_MAX: Duration = Duration::from_secs(60);

/// How proofs may be signed: everything with a public key.
pub const PROOF_ALGORITHMS: [JwsAlgorithm; 10] = JwsAlgorithm::ALL;

/// The kind of proofs (RFC 9449, 4.2).
const KIND: &str = "dpop+jwt";

/// The members of keys that are nobody else's (RFC 7518, 6.2.2, 6.3.2 and 6.4; RFC 8037, 2).
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A proof whose signature was verified, by the key that stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    thumbprint: String,
    id: String,
    method: String,
    address: String,
    issued_s: u64,
    token_digest: Option<String>,
    nonce: Option<String>,
}

/// What a proof must be made for.
#[derive(Clone, Copy, Debug)]
pub struct ProofExpected<'e> {
    /// The request's method.
    pub method: &'e str,
    /// Where the request may have been sent to: one place, under each of its names.
    pub addresses: &'e [String],
    /// The token beside the proof, where there is one.
    pub token: Option<&'e str>,
    /// The time.
    pub now: Moment,
}

/// Why a proof is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofRefusal {
    /// It is no proof, or too long a one, or one of its claims is missing or of another form.
    Malformed,
    /// Its `typ` is another.
    Kind,
    /// Its algorithm is unknown, or needs no public key.
    Algorithm,
    /// There is no public key in it that can verify.
    Key,
    /// There is a private key in it.
    PrivateKey,
    /// The signature is not by its key.
    Signature,
    /// It was made for another method.
    Method,
    /// It was made for another address.
    Address,
    /// It is too old, or from a clock that is ahead.
    Time,
    /// It was made for another token, or for none.
    Token,
}

impl ProofRefusal {
    /// In words for a developer: ASCII, without quotation marks.
    pub const fn words(self) -> &'static str {
        match self {
            ProofRefusal::Malformed => "it is no proof, or a claim of it is missing or wrong",
            ProofRefusal::Kind => "its typ is not dpop+jwt",
            ProofRefusal::Algorithm => {
                "its algorithm is not one of those in dpop_signing_alg_values_supported"
            }
            ProofRefusal::Key => "its jwk is no public key that can verify it",
            ProofRefusal::PrivateKey => {
                "its jwk holds a private key: make another one, this one is known now"
            }
            ProofRefusal::Signature => "its signature is not by its jwk",
            ProofRefusal::Method => "its htm is not the method of the request",
            ProofRefusal::Address => "its htu is not the address of the request: compare the issuer",
            ProofRefusal::Time => "its iat is more than a minute away: compare the clocks",
            ProofRefusal::Token => "its ath is not the digest of the token",
        }
    }
}

impl fmt::Display for ProofRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl std::error::Error for ProofRefusal {}

impl From<JwsRefusal> for ProofRefusal {
    fn from(refusal: JwsRefusal) -> ProofRefusal {
        match refusal {
            JwsRefusal::Malformed | JwsRefusal::Critical => ProofRefusal::Malformed,
            JwsRefusal::Algorithm => ProofRefusal::Algorithm,
            JwsRefusal::Signature => ProofRefusal::Signature,
        }
    }
}

impl Proof {
    /// Reads a proof (RFC 9449, 4.3, points 2 to 7).
    ///
    /// # Errors
    /// It is none, or was not signed with the key in it.
    pub fn read(text: &str) -> Result<Proof, ProofRefusal> {
        if text.len() > PROOF_LENGTH_MAX {
            return Err(ProofRefusal::Malformed);
        }
        let token = Jws::read(text, Base64Url::Exact)?;
        if !token.kind().is_some_and(|kind| kind.eq_ignore_ascii_case(KIND)) {
            return Err(ProofRefusal::Kind);
        }
        let algorithm = token.algorithm().ok_or(ProofRefusal::Algorithm)?;
        let header = token.header()?;
        let members = header.get("jwk").and_then(Value::as_object).ok_or(ProofRefusal::Key)?;
        if PRIVATE.iter().any(|name| members.contains_key(*name)) {
            return Err(ProofRefusal::PrivateKey);
        }
        let jwk = Jwk::of(members);
        let key = jwk.verifying().map_err(|_| ProofRefusal::Key)?;
        if !key.allows(algorithm) {
            return Err(ProofRefusal::Algorithm);
        }
        let claims = token.verify(key.public(), &PROOF_ALGORITHMS)?.claims()?;
        let text = |name: &str| text_of(&claims, name);
        let need = |name: &str| text(name)?.ok_or(ProofRefusal::Malformed);
        Ok(Proof {
            thumbprint: key.public().thumbprint(),
            id: need("jti")?,
            method: need("htm")?,
            address: need("htu")?,
            issued_s: claims.get("iat").and_then(seconds).ok_or(ProofRefusal::Malformed)?,
            token_digest: text("ath")?,
            nonce: text("nonce")?,
        })
    }

    /// Whether the proof was made for this request, and just now (points 8 to 12, but for `nonce`).
    ///
    /// # Errors
    /// It was not.
    pub fn check(&self, expected: &ProofExpected<'_>) -> Result<(), ProofRefusal> {
        if self.method != expected.method {
            return Err(ProofRefusal::Method);
        }
        let address = normal(&self.address).ok_or(ProofRefusal::Address)?;
        if !expected.addresses.iter().any(|one| normal(one).is_some_and(|one| one == address)) {
            return Err(ProofRefusal::Address);
        }
        let (now_s, age_s) = (expected.now.ms() / 1000, PROOF_AGE_MAX.as_secs());
        if self.issued_s.abs_diff(now_s) > age_s {
            return Err(ProofRefusal::Time);
        }
        match (expected.token, &self.token_digest) {
            (None, _) => Ok(()),
            (Some(token), Some(shown)) => {
                let wanted = URL_SAFE_NO_PAD.encode(digest(&SHA256, token.as_bytes()));
                let is_same: bool = wanted.as_bytes().ct_eq(shown.as_bytes()).into();
                if is_same { Ok(()) } else { Err(ProofRefusal::Token) }
            }
            (Some(_), None) => Err(ProofRefusal::Token),
        }
    }

    /// What names the key by its content (RFC 7638).
    pub fn thumbprint(&self) -> &str {
        &self.thumbprint
    }

    /// What names the proof among those of its key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// When it was made, by the clock of whoever made it, in seconds since 1970.
    pub fn issued_s(&self) -> u64 {
        self.issued_s
    }

    /// What a server gave out for it.
    pub fn nonce(&self) -> Option<&str> {
        self.nonce.as_deref()
    }
}

/// Whether a text can name a key by its content: a digest by SHA-256 in Base64 for URLs.
pub fn is_thumbprint(text: &str) -> bool {
    Base64Url::Exact.decode(text).is_some_and(|bytes| bytes.len() == 32)
}

/// A claim that is a text; one of another kind, or one that is empty or too long, is wrong.
fn text_of(claims: &Map<String, Value>, name: &str) -> Result<Option<String>, ProofRefusal> {
    let length_max = if name == "htu" { PROOF_LENGTH_MAX } else { TEXT_LENGTH_MAX };
    match claims.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if (1..=length_max).contains(&text.len()) => Ok(Some(text.clone())),
        Some(_) => Err(ProofRefusal::Malformed),
    }
}

/// A time, whole or not (RFC 7519, 2).
fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let since = Duration::try_from_secs_f64(value.as_f64()?).ok()?;
        Some(since.as_secs())
    })
}
