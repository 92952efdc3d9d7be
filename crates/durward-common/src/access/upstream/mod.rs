//! Other OpenID providers at which users log in: what they are asked, what may be believed of what they say, and as whom somebody of theirs
//! logs in here.
//!
//! ```text
//!   a code --provider--> claims that are believed --mapping--> what counts of them here --linking--> a user
//! ```
//!
//! How browsers go there and come back is the affair of `surfaces/oidc`.

mod linking;
mod mapping;
#[cfg_attr(not(feature = "tls"), path = "provider_absent.rs")]
mod provider;
#[cfg(feature = "tls")]
mod verify;

use durward_session::identity::Moment;
use durward_settings::{ConfigError, UpstreamSettings};
use serde_json::{Map, Value};

pub use linking::{NotLinked, user};
pub use mapping::{Mapped, map};
pub use provider::Provider;

/// How far the clocks of a provider and of this server may differ, in seconds.
pub const LEEWAY_S: u64 = 60;

/// All providers of the settings.
pub struct Upstreams(Vec<Provider>);

/// What a provider says about where it is asked for what.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// The authorization endpoint.
    pub authorization: String,
    /// The token endpoint.
    pub token: String,
    /// The userinfo endpoint, where there is one.
    pub userinfo: Option<String>,
    /// Where users log out, where there is such a page.
    pub end_session: Option<String>,
    /// Whether it says in its answers that they are its own (RFC 9207).
    pub says_issuer: bool,
}

/// What a browser brought back, and what has to be in the ID token for it.
#[derive(Clone, Copy)]
pub struct BroughtCode<'b> {
    /// The code that the browser brought.
    pub code: &'b str,
    /// The address it came back to.
    pub redirect_uri: &'b str,
    /// Of what the challenge was made (RFC 7636).
    pub verifier: &'b str,
    /// What the ID token must repeat.
    pub nonce: &'b str,
    /// How long ago the user may have authenticated, in seconds.
    pub max_age_s: Option<u64>,
    /// The user must not have authenticated before this, in seconds since 1970 began.
    pub not_before_s: Option<u64>,
    /// The time that the ID token is checked at.
    pub now: Moment,
}

/// What a provider says about a user, verified.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Vouched {
    /// What the ID token, and userinfo, say of the user.
    pub claims: Map<String, Value>,
    /// The ID token as it came, which logging out shows.
    pub id_token: String,
}

/// Sessions that have ended at a provider, verified. At least one of the two is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedUpstream {
    /// Whose sessions end.
    pub sub: Option<String>,
    /// Which session of the provider ends.
    pub sid: Option<String>,
    /// The name of the message, by which it is taken once.
    pub jti: String,
    /// From when on nobody takes it any more, in seconds since 1970 began.
    pub until_s: u64,
}

/// Why a provider vouches for nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotVouched {
    /// It cannot be asked, or does not answer as a provider does: the reason is for the operator.
    Unreachable(String),
    /// What was brought is not good: the reason is for the audit.
    Refused(String),
}

impl Upstreams {
    /// # Errors
    /// Secrets or authorities that cannot be used.
    pub fn new(settings: &[UpstreamSettings]) -> Result<Upstreams, ConfigError> {
        settings.iter().map(Provider::new).collect::<Result<_, _>>().map(Upstreams)
    }

    /// The provider of a name.
    pub fn find(&self, id: &str) -> Option<&Provider> {
        self.0.iter().find(|provider| provider.settings().id == id)
    }

    /// All of them, in the order of the settings.
    pub fn all(&self) -> &[Provider] {
        &self.0
    }
}
