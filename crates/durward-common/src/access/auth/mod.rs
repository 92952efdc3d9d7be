//! Who asks over SAPL's protocols, and for which tenant: nobody in particular, a password, an API key, or a token.
//!
//! The tenant comes from the credentials alone; nothing else that a caller sends can choose it. What was verified is
//! remembered for a while, because verifying a secret is slow on purpose.

mod cache;
#[cfg_attr(not(feature = "tls"), path = "jwt_absent.rs")]
mod jwt;
mod secret;
mod verifier;

use std::future::Future;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use arc_swap::ArcSwap;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use durward_settings::{AuthSettings, ConfigError};
use durward_sources::{Claims, NotBelieved, TokenIssuer};
use hyper::Method;
use hyper::header::{AUTHORIZATION, HeaderMap};
use serde_json::Map;
use smol_str::SmolStr;
use tokio::sync::watch;

use crate::access::dpop;
use crate::base::Clock;
use crate::base::metrics::Metrics;
pub use jwt::Tokens;
pub use secret::{SecretDigestError, digest_of_secret};
pub use verifier::Verifier;

/// What a caller presents.
#[derive(Clone, PartialEq, Eq)]
pub enum Presented {
    /// Nothing.
    Nothing,
    /// A name and a password.
    Simple {
        /// The name that the caller gives.
        name: String,
        /// The password, as it was sent.
        password: String,
    },
    /// A token or an API key.
    Bearer(String),
    /// A token that is bound to a key, and a proof that whoever asks has that key.
    Dpop(PresentedProof),
    /// Something that cannot be understood.
    Unknown,
}

/// A token with a proof (RFC 9449, 7.1), and the request that the proof must be made for.
#[derive(Clone, PartialEq, Eq)]
pub struct PresentedProof {
    token: String,
    proof: String,
    method: Method,
    path: String,
}

/// Who asks. An [`Authenticator`] makes one of credentials; [`Identity::of_session`], [`Identity::of_program`] and [`Identity::of_gateway`] make one of what a
/// surface has verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Whose policies decide.
    pub tenant: SmolStr,
    /// The caller's name in logs.
    pub name: SmolStr,
    /// When the credentials end.
    pub expires: Option<Instant>,
    /// Whether the operator said that this caller may assert who a question is about.
    pub may_assert_subjects: bool,
    /// Whether the operator said that this caller may administer users.
    pub may_administer: bool,
    /// Whether the operator said that this caller may have decisions explained.
    pub may_explain: bool,
    /// How often this caller may ask, where the operator said so; 0 means any number.
    pub requests_per_second_max: Option<u32>,
    /// The thumbprint of the key that whoever has the credentials must have as well.
    bound: Option<SmolStr>,
    by: By,
    /// The number of the settings by which they were verified.
    settings: u64,
}

/// What somebody was let in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum By {
    /// Nothing: none is needed.
    Nothing,
    /// A password or an API key of `[[auth.users]]`.
    Secret,
    /// A token of `[auth.jwt]`.
    Token,
    /// The session of a user.
    Session,
    /// The operator's word: a certificate or an address that settings name.
    Program,
    /// The operator's word too: a gateway, which speaks of others.
    Gateway,
}

/// Which caller with credentials it is.
pub(super) struct CallerName<'i> {
    pub(super) by: By,
    pub(super) tenant: &'i str,
    pub(super) name: &'i str,
}

impl Identity {
    /// Which caller this is; `None` where nobody authenticated.
    pub(super) fn caller_name(&self) -> Option<CallerName<'_>> {
        let Identity { by, tenant, name, .. } = self;
        self.is_authenticated().then_some(CallerName { by: *by, tenant, name })
    }

    /// Whether there were credentials.
    pub fn is_authenticated(&self) -> bool {
        match self.by {
            By::Nothing | By::Gateway => false,
            By::Secret | By::Token | By::Session | By::Program => true,
        }
    }

    /// Whoever shows the token of a session, as far as decisions are concerned: their word about a subject counts as that of others with
    /// credentials.
    pub fn of_session(tenant: SmolStr, name: &str) -> Identity {
        Identity {
            tenant,
            name: name.into(),
            expires: None,
            may_assert_subjects: false,
            may_administer: false,
            may_explain: false,
            requests_per_second_max: None,
            bound: None,
            by: By::Session,
            settings: 0,
        }
    }

    /// A program that settings name by its certificate or its address. It asks about users of its own, so its word about a subject counts.
    pub fn of_program(tenant: SmolStr, name: &str) -> Identity {
        let by = By::Program;
        Identity { may_assert_subjects: true, by, ..Identity::of_session(tenant, name) }
    }

    /// Something in front of an application, such as a gateway, which is known by the place it asks from. Its word about a subject counts for
    /// nothing: a surface that lets it ask verifies subjects itself.
    pub fn of_gateway(tenant: SmolStr, name: &str) -> Identity {
        Identity { by: By::Gateway, ..Identity::of_session(tenant, name) }
    }
}

#[cfg(test)]
impl Identity {
    pub(crate) fn of_test(tenant: &str, name: &str) -> Identity {
        let (tenant, name) = (tenant.into(), name.into());
        Identity {
            tenant,
            name,
            expires: None,
            may_assert_subjects: false,
            may_administer: false,
            may_explain: false,
            requests_per_second_max: None,
            bound: None,
            by: By::Secret,
            settings: 0,
        }
    }

    pub(crate) fn of_nobody(tenant: &str) -> Identity {
        Identity { by: By::Nothing, ..Identity::of_test(tenant, "") }
    }
}

/// What a token of an identity provider says.
#[derive(Clone, Debug)]
pub struct TokenClaims {
    /// Who it is about: `sub`.
    pub subject: String,
    /// Whose policies decide, where it says so.
    pub tenant: Option<String>,
    /// All of it.
    pub all: Map<String, serde_json::Value>,
}

/// Why somebody may not ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The credentials are wrong, missing, or of a kind that is not taken.
    Wrong,
    /// Too many are being verified, or the keys of the issuer cannot be had: nothing is known about them.
    Busy,
}

/// Verifies credentials, by settings that can be replaced while it does.
pub struct Authenticator {
    verifier: ArcSwap<Verifier>,
    /// The number of the settings.
    changed: watch::Sender<u64>,
    metrics: Arc<Metrics>,
}

impl TokenIssuer for Tokens {
    fn claims<'a>(&'a self, token: &'a str, now: SystemTime) -> Claims<'a> {
        Box::pin(async move {
            Tokens::claims(self, token, now).await.map_err(|denied| match denied {
                Denied::Wrong => NotBelieved::Refused,
                Denied::Busy => NotBelieved::NoKeys,
            })
        })
    }
}

impl Presented {
    /// Reads the `Authorization` of a request.
    pub fn from_header(header: Option<&str>) -> Presented {
        let Some(header) = header else { return Presented::Nothing };
        let Some((scheme, rest)) = header.split_once(' ') else { return Presented::Unknown };
        let rest = rest.trim();
        if scheme.eq_ignore_ascii_case("Bearer") {
            return Presented::Bearer(rest.to_owned());
        }
        if !scheme.eq_ignore_ascii_case("Basic") {
            return Presented::Unknown;
        }
        let decoded = BASE64_STANDARD.decode(rest).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        match decoded.as_deref().and_then(|text| text.split_once(':')) {
            Some((name, password)) => {
                Presented::Simple { name: name.to_owned(), password: password.to_owned() }
            }
            None => Presented::Unknown,
        }
    }

    /// Reads the credentials of a request: its `Authorization`, and the proof beside a token that is bound to a key.
    pub fn from_request(method: &Method, path: &str, headers: &HeaderMap) -> Presented {
        let presented = Presented::from_headers(headers);
        if !matches!(presented, Presented::Unknown) {
            return presented;
        }
        Presented::with_proof(method, path, headers).unwrap_or(Presented::Unknown)
    }

    fn with_proof(method: &Method, path: &str, headers: &HeaderMap) -> Option<Presented> {
        let mut fields = headers.get_all(AUTHORIZATION).iter();
        let (scheme, token) = fields.next()?.to_str().ok()?.split_once(' ')?;
        if fields.next().is_some() || !scheme.eq_ignore_ascii_case("DPoP") {
            return None;
        }
        let proof = dpop::shown(headers).ok()??;
        Some(Presented::Dpop(PresentedProof {
            token: token.trim().to_owned(),
            proof: proof.to_owned(),
            method: method.clone(),
            path: path.to_owned(),
        }))
    }

    /// Reads the `Authorization` of a request with these fields. Which of several counts must not depend on who looks. A token that is bound
    /// to a key is not understood: see [`Presented::from_request`].
    pub fn from_headers(headers: &HeaderMap) -> Presented {
        let mut fields = headers.get_all(AUTHORIZATION).iter();
        match (fields.next(), fields.next()) {
            (None, _) => Presented::Nothing,
            (Some(field), None) => {
                field.to_str().map_or(Presented::Unknown, |text| Presented::from_header(Some(text)))
            }
            (Some(_), Some(_)) => Presented::Unknown,
        }
    }

    /// Reads the credentials of an RSocket setup.
    pub fn from_setup(credentials: &durward_wire::rsocket::Credentials) -> Presented {
        use durward_wire::rsocket::Credentials;
        let text = |bytes: &[u8]| str::from_utf8(bytes).map(str::to_owned);
        match credentials {
            Credentials::None => Presented::Nothing,
            Credentials::Unknown => Presented::Unknown,
            Credentials::Bearer(token) => text(token).map_or(Presented::Unknown, Presented::Bearer),
            Credentials::Simple { user, password } => match (text(user), text(password)) {
                (Ok(name), Ok(password)) => Presented::Simple { name, password },
                (Err(_), _) | (_, Err(_)) => Presented::Unknown,
            },
        }
    }

    fn length(&self) -> usize {
        match self {
            Presented::Nothing | Presented::Unknown => 0,
            Presented::Simple { name, password } => name.len() + password.len(),
            Presented::Bearer(token) => token.len(),
            Presented::Dpop(shown) => shown.token.len(),
        }
    }
}

impl std::fmt::Debug for Presented {
    /// Secrets are not for logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Presented::Nothing => "Nothing",
            Presented::Simple { .. } => "Simple(..)",
            Presented::Bearer(_) => "Bearer(..)",
            Presented::Dpop(_) => "Dpop(..)",
            Presented::Unknown => "Unknown",
        })
    }
}

impl Authenticator {
    /// # Errors
    /// A digest that cannot be read, keys that cannot be read, a build without the means to verify tokens.
    pub fn new(
        settings: &AuthSettings,
        metrics: &Arc<Metrics>,
        clock: &Clock,
    ) -> Result<Authenticator, ConfigError> {
        Ok(Authenticator {
            verifier: ArcSwap::from_pointee(Verifier::new(settings, clock)?),
            changed: watch::Sender::new(0),
            metrics: Arc::clone(metrics),
        })
    }

    /// Who this is.
    ///
    /// # Errors
    /// Whoever may not ask.
    pub async fn verify(&self, presented: Presented) -> Result<Identity, Denied> {
        let verifier = self.verifier.load_full();
        let verified = verifier.verified(presented).await;
        self.metrics.authenticated(match &verified {
            Ok(_) => "ok",
            Err(Denied::Wrong) => "refused",
            Err(Denied::Busy) => "busy",
        });
        verified
    }

    /// What a token of `[auth.jwt]` says, where there are such tokens. One that is bound to a key is not taken: whoever shows it to somebody else has
    /// not shown the key here.
    ///
    /// # Errors
    /// A token that is not accepted.
    pub async fn claims(&self, token: &str) -> Result<TokenClaims, Denied> {
        self.verifier.load_full().claims(token).await
    }

    /// Who this is, where that is known without verifying: credentials that were right a moment ago, or nobody where none are needed.
    pub fn remembered(&self, presented: &Presented, now: Instant) -> Option<Identity> {
        self.verifier.load().remembered(presented, now)
    }

    /// How callers may authenticate, as `WWW-Authenticate` says it.
    pub fn ways(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.verifier.load().ways()
    }

    /// What verifies by these settings; [`Authenticator::take_up`] puts it in the place of what did until then. Nothing where that would
    /// make no difference.
    ///
    /// # Errors
    /// As [`Authenticator::new`].
    pub fn prepare(&self, settings: &AuthSettings) -> Result<Option<Verifier>, ConfigError> {
        let verifier = self.verifier.load();
        if verifier.is_by(settings) { Ok(None) } else { verifier.next(settings).map(Some) }
    }

    /// Verifies by other settings from now on. Whoever was let in by credentials that are no longer good is told.
    pub fn take_up(&self, verifier: Verifier) {
        let number = verifier.number();
        self.verifier.store(Arc::new(verifier));
        self.changed.send_replace(number);
    }

    /// Whether the credentials of somebody who was verified are still good.
    pub fn holds(&self, identity: &Identity) -> bool {
        self.verifier.load().holds(identity)
    }

    /// Tells when that may have changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Ready when the credentials of somebody who was verified are no longer good.
    pub fn until_withdrawn(self: &Arc<Self>, identity: &Identity) -> impl Future<Output = ()> + Send + use<> {
        let (authenticator, identity) = (Arc::clone(self), identity.clone());
        async move {
            let mut changes = authenticator.changes();
            while authenticator.holds(&identity) {
                // The sender is held here.
                let _ = changes.changed().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_or_not_understood() {
        let simple =
            |name: &str, password: &str| Presented::Simple { name: name.into(), password: password.into() };
        let cases = [
            (None, Presented::Nothing),
            (Some("Basic dTpw"), simple("u", "p")),
            (Some("basic  dTpwOnE="), simple("u", "p:q")),
            (Some("Basic Og=="), simple("", "")),
            (Some("Bearer abc"), Presented::Bearer("abc".into())),
            (Some("BEARER abc "), Presented::Bearer("abc".into())),
            (Some(""), Presented::Unknown),
            (Some("Basic"), Presented::Unknown),
            (Some("Basic dXA="), Presented::Unknown),
            (Some("Basic !!"), Presented::Unknown),
            (Some("Digest abc"), Presented::Unknown),
        ];
        for (header, presented) in cases {
            assert!(Presented::from_header(header) == presented, "{header:?}");
        }
        assert_eq!(format!("{:?}", simple("u", "p")), "Simple(..)");
    }

    #[test]
    fn a_token_with_a_proof_is_read_with_the_request_or_not_understood() {
        let read = |fields: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, hyper::header::HeaderValue::from_static(value));
            }
            Presented::from_request(&Method::POST, "/pdp", &headers)
        };
        let shown = PresentedProof {
            token: "t.t.t".into(),
            proof: "p.p.p".into(),
            method: Method::POST,
            path: "/pdp".into(),
        };
        for scheme in ["DPoP t.t.t", "dpop t.t.t "] {
            assert!(read(&[("authorization", scheme), ("dpop", "p.p.p")]) == Presented::Dpop(shown.clone()));
        }
        assert!(
            read(&[("authorization", "Bearer t.t.t"), ("dpop", "p.p.p")])
                == Presented::Bearer("t.t.t".into())
        );
        let unknown: [&[(&'static str, &'static str)]; 4] = [
            &[("authorization", "DPoP t.t.t")],
            &[("authorization", "DPoP t.t.t"), ("dpop", "p.p.p"), ("dpop", "p.p.p")],
            &[("authorization", "DPoP t.t.t"), ("authorization", "DPoP t.t.t"), ("dpop", "p.p.p")],
            &[("authorization", "Digest t.t.t"), ("dpop", "p.p.p")],
        ];
        for fields in unknown {
            assert!(read(fields) == Presented::Unknown, "{fields:?}");
        }
    }
}
