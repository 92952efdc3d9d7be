//! `jwt`: the token among the secrets of a subscription, and whether it is valid now.

use std::fmt;
use std::sync::Arc;

use durward_ir::Value;
use durward_ir::value::Object;

use super::{iso_seconds, or_error};
use crate::stream::finder::{Reading, Reads, TimedFinder};
use crate::stream::invocation::{Context, Invocation};

/// The variable that configures the library, and the key of the token among the secrets unless it says otherwise.
const JWT: &str = "jwt";

/// A token that could be read.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its header, an object.
    pub header: Value,
    /// Its payload, an object.
    pub payload: Value,
    /// What its signature is worth.
    pub trust: Trust,
}

/// What the signature of a token is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It was made with a key that is trusted.
    Trusted,
    /// It was not, or the key is not known.
    Untrusted,
    /// The header demands what is not understood (`crit`).
    Incompatible,
    /// The header does not name the key (`kid`).
    Incomplete,
}

/// Reads and verifies a token with the configuration, the variable `jwt`; `None` where the text is no token.
type Verify = Arc<dyn Fn(&str, Option<&Object>) -> Option<Token> + Send + Sync>;

/// The attribute `jwt.token`. It changes when the token becomes valid and when it expires.
#[derive(Clone)]
pub struct JwtFinder {
    verify: Verify,
}

impl fmt::Debug for JwtFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JwtFinder")
    }
}

impl JwtFinder {
    /// `verify` reads a token, verifies its signature with the configuration (the variable `jwt`, if it is an object),
    /// and gives `None` where the text is no token. It is called anew whenever the token's state changes.
    pub fn new(verify: impl Fn(&str, Option<&Object>) -> Option<Token> + Send + Sync + 'static) -> JwtFinder {
        JwtFinder { verify: Arc::new(verify) }
    }

    fn try_read(
        &self,
        invocation: &Invocation,
        context: &Context,
        opened_ms: i64,
        now_ms: i64,
    ) -> Result<Reading, String> {
        let surroundings = context.surroundings.as_deref();
        let variables = surroundings.and_then(|surroundings| object(&surroundings.variables));
        let config = variables.and_then(|variables| variables.get(JWT)).and_then(object);
        let name = match (&*invocation.arguments, config.and_then(|config| config.get("secretsKey"))) {
            ([Value::Text(name)], _) | ([], Some(Value::Text(name))) => name.as_str(),
            ([], _) => JWT,
            _ => return Err("the name of a secret is a text".into()),
        };
        let secrets = context.secrets.as_deref().and_then(object);
        let Some(Value::Text(text)) = secrets.and_then(|secrets| secrets.get(name)) else {
            return Ok(Reading::lasting(Ok(missing(State::MissingToken))));
        };
        let Some(token) = (self.verify)(text, config) else {
            return Ok(Reading::lasting(Ok(missing(State::Malformed))));
        };
        let (state, next_ms) = state(&token, config, opened_ms, now_ms);
        Ok(Reading { value: Ok(described(token.header, payload(&token.payload), state)), next_ms })
    }
}

impl TimedFinder for JwtFinder {
    fn serves(&self, invocation: &Invocation) -> bool {
        invocation.name == "jwt.token" && invocation.entity.is_none() && invocation.arguments.len() <= 1
    }

    fn reads(&self, _: &Invocation) -> Reads {
        Reads::EVERYTHING
    }

    fn read(&self, invocation: &Invocation, context: &Context, opened_ms: i64, now_ms: i64) -> Reading {
        or_error(self.try_read(invocation, context, opened_ms, now_ms))
    }
}

/// What a token is worth now, in SAPL's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Valid,
    Expired,
    NeverValid,
    Immature,
    Untrusted,
    Incompatible,
    Incomplete,
    Malformed,
    MissingToken,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Valid => "VALID",
            State::Expired => "EXPIRED",
            State::NeverValid => "NEVER_VALID",
            State::Immature => "IMMATURE",
            State::Untrusted => "UNTRUSTED",
            State::Incompatible => "INCOMPATIBLE",
            State::Incomplete => "INCOMPLETE",
            State::Malformed => "MALFORMED",
            State::MissingToken => "MISSING_TOKEN",
        }
    }
}

fn state(token: &Token, config: Option<&Object>, opened_ms: i64, now_ms: i64) -> (State, Option<i64>) {
    let Some(times) = Times::of(&token.payload) else { return (State::Malformed, None) };
    match token.trust {
        Trust::Incompatible => (State::Incompatible, None),
        Trust::Incomplete => (State::Incomplete, None),
        Trust::Untrusted => (State::Untrusted, None),
        Trust::Trusted => times.state(config, opened_ms, now_ms),
    }
}

/// The times in a token, in milliseconds since 1970.
struct Times {
    not_before: Option<i64>,
    expires: Option<i64>,
    issued: Option<i64>,
}

impl Times {
    /// `None` where one is there that is no number.
    fn of(payload: &Value) -> Option<Times> {
        let read = |key: &str| match object(payload)?.get(key) {
            None | Some(Value::Null) => Some(None),
            Some(value) => seconds(value).map(|seconds| Some(seconds.saturating_mul(1_000))),
        };
        Some(Times { not_before: read("nbf")?, expires: read("exp")?, issued: read("iat")? })
    }

    fn state(&self, config: Option<&Object>, opened_ms: i64, now_ms: i64) -> (State, Option<i64>) {
        let setting = |key| config.and_then(|config| config.get(key)).and_then(seconds).unwrap_or(0);
        let skew = setting("clockSkewSeconds").saturating_mul(1_000);
        let longest = setting("maxTokenLifetimeSeconds").saturating_mul(1_000);
        let lifetime = self.expires.map(|end| end.saturating_sub(self.issued.unwrap_or(opened_ms)));
        let is_backwards = matches!((self.not_before, self.expires), (Some(from), Some(to)) if from > to);
        if is_backwards || (longest > 0 && lifetime.is_some_and(|lifetime| lifetime > longest)) {
            return (State::NeverValid, None);
        }
        let from = self.not_before.map(|from| from.saturating_sub(skew));
        let until = self.expires.map(|until| until.saturating_add(skew));
        match (from, until) {
            (_, Some(until)) if until <= now_ms => (State::Expired, None),
            (Some(from), _) if now_ms < from => (State::Immature, Some(from)),
            (_, until) => (State::Valid, until),
        }
    }
}

fn missing(state: State) -> Value {
    let nothing = || Value::Object(Arc::default());
    described(nothing(), nothing(), state)
}

fn described(header: Value, payload: Value, state: State) -> Value {
    Value::object([
        ("header", header),
        ("payload", payload),
        ("valid", Value::Boolean(state == State::Valid)),
        ("validity", Value::Text(state.name().into())),
    ])
}

/// The payload with its times as ISO 8601 has them.
fn payload(payload: &Value) -> Value {
    let Some(claims) = object(payload) else { return payload.clone() };
    Value::object(claims.iter().map(|(key, value)| {
        let is_time = matches!(key.as_str(), "nbf" | "exp" | "iat");
        let time = if is_time { seconds(value).and_then(iso_seconds) } else { None };
        (key.clone(), time.map_or_else(|| value.clone(), |time| Value::Text(time.into())))
    }))
}

fn seconds(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else { return None };
    Some(number.to_i64().unwrap_or(number.to_f64() as i64))
}

fn object(value: &Value) -> Option<&Object> {
    if let Value::Object(object) = value { Some(object) } else { None }
}
