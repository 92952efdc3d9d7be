//! A token as the client sees it: its text, and its claims without verification. The client has no key of the issuer and need not have
//! one: it only has to know when to come for the next token.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::Moment;
use opcua_types::StatusCode;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::token::{CLAIM_GRANTS, Grants, GrantsSummary, TableVersion};

/// Bytes of a token; the gate takes none that is longer.
const TOKEN_BYTES_MAX: usize = 65_536;

/// An access token that an authorization service gave.
#[derive(Clone)]
pub struct AccessToken {
    text: Zeroizing<String>,
    claims: Value,
    received: Moment,
    lifetime: Duration,
}

impl AccessToken {
    /// Reads a token. Nothing is verified but that it has an end, and that it has not ended when it comes.
    ///
    /// # Errors
    /// `BadIdentityTokenInvalid` for what is no JWT, has no `exp`, or lives for no time at all.
    pub fn read(text: String, received: Moment) -> Result<AccessToken, Error> {
        let text = Zeroizing::new(text);
        let invalid = |reason: &'static str| Error::new(StatusCode::BadIdentityTokenInvalid, reason);
        if text.len() > TOKEN_BYTES_MAX {
            return Err(invalid("the authorization service gave a token that is too long"));
        }
        let mut parts = text.split('.');
        let (Some(_), Some(claims), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(invalid("what the authorization service gave is no JWT"));
        };
        let claims =
            URL_SAFE_NO_PAD.decode(claims).ok().and_then(|json| serde_json::from_slice::<Value>(&json).ok());
        let claims = claims
            .filter(Value::is_object)
            .ok_or_else(|| invalid("the claims of the token cannot be read"))?;
        let ends = claim_ms(&claims, "exp").ok_or_else(|| invalid("the token has no end (claim `exp`)"))?;
        // Not by this machine's clock where it can be told without: clocks differ.
        let begins = claim_ms(&claims, "iat").unwrap_or_else(|| received.ms());
        let lifetime = Duration::from_millis(ends.saturating_sub(begins));
        if lifetime.is_zero() {
            return Err(invalid("the token has ended already"));
        }
        Ok(AccessToken { text, claims, received, lifetime })
    }

    /// The token. A secret: whoever has it and the client's key has the client's rights.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The claims. **Not verified**: whoever gave the token may have written anything there.
    pub fn unverified_claims(&self) -> &Value {
        &self.claims
    }

    /// How long it lives, by its own claims.
    pub fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// When it came, by the client's clock.
    pub fn received(&self) -> Moment {
        self.received
    }

    /// When it ends, by the client's clock.
    pub fn ends(&self) -> Moment {
        self.received.plus(self.lifetime)
    }

    /// How much it grants; nothing when it says nothing of single nodes. Not verified either.
    pub fn grants_summary(&self) -> Option<GrantsSummary> {
        Grants::summary(self.claims.get(CLAIM_GRANTS)?.as_str()?)
    }

    /// The version of the node table that its permissions are written for; nothing when it has none. Not verified either.
    pub fn table_version(&self) -> Option<TableVersion> {
        Grants::table_version(self.claims.get(CLAIM_GRANTS)?.as_str()?)
    }
}

/// Secrets do not show.
impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessToken").field("ends", &self.ends()).finish_non_exhaustive()
    }
}

fn claim_ms(claims: &Value, name: &str) -> Option<u64> {
    let claim = claims.get(name)?;
    // RFC 7519, 2: a NumericDate may have a fraction.
    let fraction = || {
        claim
            .as_f64()
            .filter(|seconds| *seconds >= 0.0 && *seconds < 1e15)
            .map(|seconds| (seconds * 1_000.0) as u64)
    };
    claim.as_u64().map(|seconds| seconds.saturating_mul(1_000)).or_else(fraction)
}
