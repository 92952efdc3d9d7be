//! `jwt`: the token among the secrets of a subscription, and whether it is valid now.

use std::fmt;
use std::sync::Arc;

use durward_ir::fault::Evaluated;
use durward_ir::value::Object;
use durward_ir::{Fault, Value};
use durward_library::jwt::{Rules, TrustedKey, inspect};
use durward_sapl::check::Attribute;

use super::or_error;
use crate::stream::finder::{Reading, Reads, TimedFinder};
use crate::stream::invocation::{Context, Invocation};

/// The variable that configures the library, and the key of the token among the secrets unless it says otherwise.
const JWT: &str = "jwt";

/// Gives the key of an identifier that is not among the trusted ones of the configuration, the variable `jwt`.
type Keys = Arc<dyn Fn(&str, &Object) -> Option<TrustedKey> + Send + Sync>;

/// The attribute `jwt.token`. It changes when the token becomes valid and when it expires.
///
/// Keys are those of `whitelist` in the variable `jwt`. A server that fetches keys gives [`JwtFinder::with_keys`] those
/// it has; when it gets others, it sets the finder anew.
#[derive(Clone, Default)]
pub struct JwtFinder {
    keys: Option<Keys>,
}

/// For whoever checks policies.
pub(super) fn attributes() -> Vec<Attribute> {
    vec![Attribute { name: "jwt.token".into(), of_value: false, arguments: 0..=1 }]
}

impl fmt::Debug for JwtFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JwtFinder")
    }
}

impl JwtFinder {
    /// `keys` gives the key of an identifier that is not in the whitelist, where it knows it already; it must not wait.
    pub fn with_keys(
        keys: impl Fn(&str, &Object) -> Option<TrustedKey> + Send + Sync + 'static,
    ) -> JwtFinder {
        JwtFinder { keys: Some(Arc::new(keys)) }
    }

    fn try_read(&self, invocation: &Invocation, context: &Context, now_ms: i64) -> Evaluated<Reading> {
        let variables = context.surroundings.as_deref().map(|surroundings| &surroundings.variables);
        let config = variables.and_then(Value::as_object).and_then(|variables| variables.get(JWT));
        let config = config.and_then(Value::as_object);
        let name = match &*invocation.arguments {
            [] => config.and_then(|config| config.get("secretsKey")).and_then(Value::as_text).unwrap_or(JWT),
            [name] => name.as_text().ok_or_else(|| Fault::processing("the name of a secret is a text"))?,
            _ => return Err(Fault::processing("`jwt.token` takes the name of a secret, or nothing")),
        };
        let secrets = context.secrets.as_deref().and_then(Value::as_object);
        let token = secrets.and_then(|secrets| secrets.get(name)).unwrap_or(&Value::Undefined);
        let setting = |key| config.and_then(|config| config.get(key)).and_then(whole).unwrap_or(0);
        let rules = Rules {
            clock_skew_s: setting("clockSkewSeconds"),
            lifetime_s_max: setting("maxTokenLifetimeSeconds"),
        };
        let inspection = inspect(token, |id| self.key(id, config?), now_ms, &rules);
        Ok(Reading { value: Ok(inspection.value), next_ms: inspection.changes_at_ms })
    }

    fn key(&self, id: &str, config: &Object) -> Option<TrustedKey> {
        let listed = config.get("whitelist").and_then(Value::as_object).and_then(|keys| keys.get(id));
        let listed = listed.and_then(Value::as_text).and_then(|key| TrustedKey::read(key).ok());
        listed.or_else(|| self.keys.as_ref()?(id, config))
    }
}

impl TimedFinder for JwtFinder {
    fn serves(&self, invocation: &Invocation) -> bool {
        invocation.name == "jwt.token" && invocation.entity.is_none() && invocation.arguments.len() <= 1
    }

    fn reads(&self, _: &Invocation) -> Reads {
        Reads::EVERYTHING
    }

    fn read(&self, invocation: &Invocation, context: &Context, _: i64, now_ms: i64) -> Reading {
        or_error(self.try_read(invocation, context, now_ms))
    }
}

/// A number without what is behind its point.
fn whole(value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    Some(number.to_i64().unwrap_or(number.to_f64() as i64))
}
