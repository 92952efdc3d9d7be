//! What a client is set to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::channel::SecurityOffer;
use crate::crypto::random_bytes;
use crate::session::{ClientIdentity, ExpectedServer, SessionClientSettings};

/// At how many hundredths of a token's life it is renewed.
pub type RenewalJitter = Arc<dyn Fn() -> u8 + Send + Sync>;

/// How tokens are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenFlow {
    /// `RequestAccessToken`: the session with the authorization service says who the user is (Part 12, 9.3).
    #[default]
    Request,
    /// `StartRequestToken` and `FinishRequestToken` (1.05.07), and then `RefreshToken` for as long as the service gives a refresh token;
    /// `RequestAccessToken` where the service has no such methods.
    StartFinish,
}

/// The authorization service, as far as the resource does not say it.
#[derive(Clone, Debug)]
pub struct TokenAuthoritySettings {
    /// Its URL; nothing: the one that the resource names, once a session with the resource has proved that it did.
    pub url: Option<String>,
    /// Who it is. Without a pin it is the application that the resource names as issuer of its tokens: but only where `session.server` says who
    /// the resource is.
    pub server: ExpectedServer,
    /// Whom tokens are for; nothing: what the resource says, and if it does not, its ApplicationUri.
    pub resource_id: Option<String>,
    /// Policy and mode; nothing: the best that encrypts.
    pub wish: Option<SecurityOffer>,
    /// Who the user is. Anonymous: the application, by its certificate.
    pub identity: ClientIdentity,
    /// How tokens are asked for.
    pub flow: TokenFlow,
}

impl Default for TokenAuthoritySettings {
    fn default() -> TokenAuthoritySettings {
        TokenAuthoritySettings {
            url: None,
            server: ExpectedServer::default(),
            resource_id: None,
            wish: None,
            identity: ClientIdentity::Anonymous,
            flow: TokenFlow::Request,
        }
    }
}

/// What a client is set to.
#[derive(Clone)]
pub struct TokenClientSettings {
    /// The resource: a gate, or any server that takes issued tokens.
    pub url: String,
    /// Policy and mode; nothing: the best that takes tokens.
    pub wish: Option<SecurityOffer>,
    /// Certificate, trust, clock, names and times of both sessions; who the resource is.
    pub session: SessionClientSettings,
    /// The authorization service.
    pub authority: TokenAuthoritySettings,
    /// How long a connection, a token or an activation is waited for before it is tried again.
    pub patience: Duration,
    /// The pause after a failure, at first.
    pub retry_min: Duration,
    /// The longest pause.
    pub retry_max: Duration,
    /// When tokens are renewed.
    pub jitter: RenewalJitter,
}

impl TokenClientSettings {
    /// The usual: patience of 15 s, pauses from 0.5 to 30 s, renewal at 75 to 85 % of a token's life by chance.
    pub fn new(url: &str, session: SessionClientSettings) -> TokenClientSettings {
        TokenClientSettings {
            url: url.to_owned(),
            wish: None,
            session,
            authority: TokenAuthoritySettings::default(),
            patience: Duration::from_secs(15),
            retry_min: Duration::from_millis(500),
            retry_max: Duration::from_secs(30),
            jitter: Arc::new(by_chance),
        }
    }

    /// Settings of a session that does not time out while nobody uses it.
    pub(super) fn kept_session(&self) -> SessionClientSettings {
        let keep_alive = self.session.session_timeout / 3;
        let every = self.session.keep_alive.map_or(keep_alive, |every| every.min(keep_alive));
        SessionClientSettings { keep_alive: Some(every), ..self.session.clone() }
    }
}

impl fmt::Debug for TokenClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenClientSettings")
            .field("url", &self.url)
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

/// 75 to 85. Without randomness 80: renewals of a fleet may then come at once, and that is all.
fn by_chance() -> u8 {
    random_bytes::<1>().map_or(80, |[byte]| 75 + byte % 11)
}
