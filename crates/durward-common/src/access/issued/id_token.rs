//! ID tokens: who logged in, when and how (OpenID Connect Core, 2); and logout tokens: that a session has ended.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_session::identity::jwt::TokenKind;
use durward_session::identity::session::{Properties, Session, SessionId};
use durward_session::identity::{Entropy, IdentityError, Moment, SystemEntropy};
use durward_session::{AMR, ServiceSettings};
use durward_settings::OauthClientSettings;
use durward_settings::upstream::PROPERTY;
use serde_json::{Map, Value, json};

use super::authorization::ACR;
use super::digest::half_digest;
use super::grant::Taken;
use super::{Issued, subject};

/// How long a logout token is good for: it is sent at once.
const LOGOUT_TOKEN_S: u64 = 120;

/// What a logout token says has happened (OpenID Connect Back-Channel Logout, 2.4).
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// How a level of authentication is called (`acr`).
pub fn acr(level: u8) -> String {
    format!("{ACR}{level}")
}

/// When the user of a session authenticated: at another provider, where that says it, and never after the session began.
pub fn authenticated_at(session: &Session) -> Moment {
    let said = session.properties.get(&format!("{PROPERTY}auth_time"));
    let said = said.and_then(|seconds| seconds.parse::<u64>().ok());
    let said = said.map(|seconds| Moment::from_ms(seconds.saturating_mul(1000)));
    let began = session.stamp.moment();
    said.map_or(began, |said| said.min(began))
}

fn has_second_step(level: u8, settings: &ServiceSettings) -> bool {
    level >= settings.second_step_level.0 && settings.second_step_level > settings.password_level
}

/// How the user authenticated (RFC 8176): as another provider says it, with the second step here where one was taken.
fn amr_upstream(said: &str, properties: &Properties, level: u8, settings: &ServiceSettings) -> Value {
    let mut methods: Vec<&str> = said.split(' ').filter(|method| !method.is_empty()).collect();
    let was_there = properties.get(&format!("{PROPERTY}second_step")).is_some();
    if has_second_step(level, settings) && !was_there {
        // A passkey says how it was used. No password was asked for here.
        let own = properties.get(AMR).unwrap_or("otp mfa").split(' ');
        let own: Vec<&str> = own.filter(|own| *own != "pwd" && !methods.contains(own)).collect();
        methods.extend(own);
    }
    json!(methods)
}

/// How the user authenticated (RFC 8176). A login with a passkey says it; the session of a level below has only a password behind it.
fn amr(level: u8, properties: &Properties, settings: &ServiceSettings) -> Value {
    let has_second_step = has_second_step(level, settings);
    if let Some(said) = properties.get(AMR).filter(|_| has_second_step) {
        json!(said.split(' ').collect::<Vec<&str>>())
    } else if has_second_step {
        json!(["pwd", "otp", "mfa"])
    } else {
        json!(["pwd"])
    }
}

impl Taken {
    /// The level of the token that was shown, and no more than the session has.
    pub fn level(&self) -> u8 {
        self.session.level.min(self.who.level).0
    }

    /// When the user logged in, in seconds since 1970 began.
    pub fn auth_time_s(&self) -> u64 {
        authenticated_at(&self.session).ms() / 1000
    }
}

impl Issued {
    /// An ID token for the client, beside an access token.
    ///
    /// # Errors
    /// There is no key, no randomness, or too much to say.
    pub fn id_token(
        &self,
        client: &OauthClientSettings,
        taken: &Taken,
        access_token: &str,
        lifetime: Duration,
        now: Moment,
    ) -> Result<String, IdentityError> {
        let now_s = now.ms() / 1000;
        let service = self.service.as_ref().ok_or_else(|| IdentityError::new("there are no users"))?;
        let level = taken.level();
        let algorithm = self.keys.algorithm(client.algorithm);
        let mut claims = Map::new();
        let mut say = |name: &str, value: Value| drop(claims.insert(name.to_owned(), value));
        say("iss", json!(self.issuer));
        say("sub", json!(subject::of_user(&taken.who.user)));
        say("aud", json!(client.id));
        say("iat", json!(now_s));
        say("exp", json!(now_s.saturating_add(lifetime.as_secs())));
        say("auth_time", json!(taken.auth_time_s()));
        say("acr", json!(acr(level)));
        let (settings, properties) = (service.settings(), &taken.session.properties);
        let methods = match properties.get(&format!("{PROPERTY}amr")) {
            Some(said) => amr_upstream(said, properties, level, settings),
            None => amr(level, properties, settings),
        };
        if methods != json!([]) {
            say("amr", methods);
        }
        say("sid", json!(taken.who.id.to_string()));
        say("at_hash", json!(half_digest(algorithm, access_token)));
        if let Some(nonce) = &taken.grant.nonce {
            say("nonce", json!(nonce));
        }
        self.keys.sign(client.algorithm, now, TokenKind::Id, &claims)
    }

    /// Tells a client that a session has ended.
    ///
    /// # Errors
    /// There is no key, or no randomness.
    pub fn logout_token(
        &self,
        client: &OauthClientSettings,
        sub: &str,
        session: SessionId,
        now: Moment,
    ) -> Result<String, IdentityError> {
        let now_s = now.ms() / 1000;
        let mut id = [0; 16];
        SystemEntropy.fill(&mut id)?;
        let claims = json!({
            "iss": self.issuer,
            "sub": sub,
            "aud": client.id,
            "iat": now_s,
            "exp": now_s + LOGOUT_TOKEN_S,
            "jti": URL_SAFE_NO_PAD.encode(id),
            "sid": session.to_string(),
            "events": { LOGOUT_EVENT: {} },
        });
        let claims = claims.as_object().cloned().unwrap_or_default();
        self.keys.sign(client.algorithm, now, TokenKind::Logout, &claims)
    }
}
