//! The variable `jwt`: where the token is, which keys are trusted, and where others are.

use std::sync::Arc;

use durward_library::jwt::{Rules, TrustedKey};
use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::value::Object;
use durward_pdp::stream::{Context, Invocation};
use hyper::Method;

/// How long a fetched key is believed unless the configuration says otherwise, in milliseconds.
const KEY_MS: i64 = 300_000;
/// The shortest time between two fetches of one key.
const KEY_MS_MIN: i64 = 1_000;

/// What holds for one question.
pub(super) struct JwtSettings {
    /// The name of the token among the secrets.
    pub(super) secret: String,
    pub(super) rules: Rules,
    pub(super) server: Option<KeyServer>,
    keys: Option<Arc<Object>>,
}

/// Where keys come from.
#[derive(Clone)]
pub(super) struct KeyServer {
    uri: String,
    pub(super) method: Method,
    pub(super) key_ms: i64,
}

impl JwtSettings {
    /// # Errors
    /// An argument or a configuration that is unfit.
    pub(super) fn of(invocation: &Invocation, context: &Context) -> Evaluated<JwtSettings> {
        let surroundings = context.surroundings.as_deref();
        let variables = surroundings.and_then(|surroundings| surroundings.variables.as_object());
        let empty = Arc::default();
        let config = variables.and_then(|variables| variables.get("jwt")).and_then(Value::as_object);
        let config = config.unwrap_or(&empty);
        let secret = match (invocation.arguments.first(), config.get("secretsKey")) {
            (Some(name), _) => {
                name.as_text().ok_or_else(|| Fault::processing("the name of the secret is not a text"))?
            }
            (None, Some(name)) => {
                name.as_text().ok_or_else(|| Fault::processing("`secretsKey` is not a text"))?
            }
            (None, None) => "jwt",
        };
        let rules = Rules {
            clock_skew_s: seconds(config, "clockSkewSeconds")?,
            lifetime_s_max: seconds(config, "maxTokenLifetimeSeconds")?,
        };
        let server = config.get("publicKeyServer").and_then(Value::as_object);
        let server = server.map(|server| KeyServer::of(server)).transpose()?.flatten();
        let keys = config.get("whitelist").and_then(Value::as_object).cloned();
        Ok(JwtSettings { secret: secret.to_owned(), rules, server, keys })
    }

    /// The configured key of this name.
    pub(super) fn key(&self, id: &str) -> Option<TrustedKey> {
        let text = self.keys.as_ref()?.get(id)?.as_text()?;
        match TrustedKey::read(text) {
            Ok(key) => Some(key),
            Err(fault) => {
                tracing::warn!(
                    key = id,
                    reason = fault.message,
                    "a trusted key of the variable `jwt` cannot be read"
                );
                None
            }
        }
    }
}

impl KeyServer {
    /// `None` where no address is given.
    fn of(config: &Object) -> Evaluated<Option<KeyServer>> {
        let Some(uri) = config.get("uri") else { return Ok(None) };
        let uri = uri.as_text().ok_or_else(|| Fault::processing("`publicKeyServer.uri` is not a text"))?;
        let is_insecure_allowed = config.get("allowInsecureHttp").and_then(Value::as_boolean) == Some(true);
        let is_secure = uri.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
        if !is_secure && !is_insecure_allowed {
            return Err(Fault::processing(
                "`publicKeyServer.uri` is not `https://`: whoever is in between could sign tokens; \
                 set `allowInsecureHttp` for development",
            ));
        }
        let method = config.get("method").and_then(Value::as_text).unwrap_or("GET");
        let method = if method.eq_ignore_ascii_case("post") { Method::POST } else { Method::GET };
        let key_ms = match config.get("keyCachingTtlMillis") {
            None => KEY_MS,
            Some(value) => value
                .as_number()
                .and_then(|number| number.to_i64())
                .ok_or_else(|| Fault::processing("`keyCachingTtlMillis` is not a whole number"))?,
        };
        // As the engine has it: less than nothing is the default.
        let key_ms = if key_ms < 0 { KEY_MS } else { key_ms.max(KEY_MS_MIN) };
        Ok(Some(KeyServer { uri: uri.to_owned(), method, key_ms }))
    }

    /// Where to fetch a key, unless its name could lead elsewhere: it comes from a token that nobody has verified yet.
    pub(super) fn address(&self, id: &str) -> Option<String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let leads_elsewhere = matches!(id, "." | "..");
        let is_safe = !id.is_empty() && id.len() <= 256 && id.chars().all(is_plain) && !leads_elsewhere;
        is_safe.then(|| self.uri.replace("{kid}", id).replace("{id}", id))
    }
}

fn seconds(config: &Object, key: &str) -> Evaluated<i64> {
    let Some(value) = config.get(key) else { return Ok(0) };
    let number = value.as_number().and_then(|number| number.to_i64()).filter(|number| *number >= 0);
    number.ok_or_else(|| Fault::processing(format!("`{key}` is not a whole number of seconds")))
}
