//! JSON Web Tokens: what a token says, and whether it may be believed. A source of attributes asks [`inspect`]; policies
//! do not call this themselves.
//!
//! The states and their order are those of the Java engine's `<jwt.token>`. Keys are asymmetric only: a text that is no
//! public key is never taken for the secret of an HMAC, or everybody who has that text could sign. EdDSA is not among
//! the algorithms there and is not here.

use std::fmt;

use durward_functions::jvm::{is_blank, length, trim};
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::json;
use durward_ir::value::{Object, Value};
use durward_jwt::{Base64Url, Jwk, JwkSet, Jws, JwsAlgorithm, VerifyingJwk};
use durward_library_time::text_of_second;

use crate::crypto::{JavaPublicKey, read_base64_url};

/// The longest token, in UTF-16 code units. Servers of the web take headers of some kilobytes.
pub const TOKEN_LENGTH_MAX: usize = 1 << 20;
/// The longest header of a token, in UTF-16 code units, as the Java engine has it.
const HEADER_LENGTH_MAX: usize = 20_000;
/// The last second of the year 9999: times beyond it stay numbers.
const SECOND_MAX: i64 = 253_402_300_799;

/// Whether a token may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// It is signed by a trusted key and its time is now.
    Valid,
    /// Its time is over.
    Expired,
    /// Its time is yet to come.
    Immature,
    /// There is no time at which it is valid, or it would be valid for too long.
    NeverValid,
    /// No trusted key signed it.
    Untrusted,
    /// It demands that its reader understands extensions.
    Incompatible,
    /// It does not say which key signed it.
    Incomplete,
    /// It is no signed token.
    Malformed,
    /// There is none.
    MissingToken,
}

impl Validity {
    /// The word for it in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Validity::Valid => "VALID",
            Validity::Expired => "EXPIRED",
            Validity::Immature => "IMMATURE",
            Validity::NeverValid => "NEVER_VALID",
            Validity::Untrusted => "UNTRUSTED",
            Validity::Incompatible => "INCOMPATIBLE",
            Validity::Incomplete => "INCOMPLETE",
            Validity::Malformed => "MALFORMED",
            Validity::MissingToken => "MISSING_TOKEN",
        }
    }
}

impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A public key that tokens may be signed with. Cloning copies some hundred octets.
#[derive(Clone, Debug)]
pub struct TrustedKey(Trusted);

#[derive(Clone, Debug)]
enum Trusted {
    /// Of a configuration: for every algorithm of its kind.
    Plain(JavaPublicKey),
    /// Of a key set: for the algorithms that it says.
    Published(VerifyingJwk),
}

impl TrustedKey {
    /// Reads a key as configurations and key servers write it: X.509 in Base64 of either alphabet, without the lines of
    /// PEM around.
    ///
    /// # Errors
    /// The text is no such key.
    pub fn read(text: &str) -> Evaluated<TrustedKey> {
        let text = text.replace('+', "-").replace(['/', ','], "_");
        let key = read_base64_url(&text).ok_or_else(|| "it is not Base64".to_owned());
        let key = key.and_then(|octets| JavaPublicKey::from_der(&octets));
        key.map(|key| TrustedKey(Trusted::Plain(key)))
            .map_err(|reason| Fault::processing(format!("not a public key: {reason}")))
    }

    /// The key of a name in what a key server answered: in a set of keys (RFC 7517), or one key alone, whatever its name. `None` where
    /// the set has none of this name.
    ///
    /// # Errors
    /// It is neither, or the key is not for verifying signatures: of another kind, for encryption, RSA of less than 2048 bits.
    pub fn published(json: &str, id: &str) -> Evaluated<Option<TrustedKey>> {
        let key = |key: &Jwk| match key.verifying() {
            Ok(key) => Ok(Some(TrustedKey(Trusted::Published(key.clone())))),
            Err(error) => Err(Fault::processing(error.to_string())),
        };
        if let Ok(set) = JwkSet::read(json.as_bytes()) {
            return set.keys().iter().find(|key| key.id() == Some(id)).map_or(Ok(None), key);
        }
        let alone = Jwk::read(json.as_bytes()).map_err(|error| Fault::processing(error.to_string()))?;
        key(&alone)
    }

    fn verifies(&self, jws: &Jws<'_>) -> bool {
        let Some(algorithm) = jws.algorithm() else { return false };
        let key = match &self.0 {
            Trusted::Plain(JavaPublicKey::Usable(key)) => key,
            Trusted::Published(key) if key.allows(algorithm) => key.public(),
            Trusted::Plain(JavaPublicKey::OtherCurve { .. } | JavaPublicKey::Ed448)
            | Trusted::Published(_) => {
                return false;
            }
        };
        jws.verify(key, &JwsAlgorithm::ALL).is_ok()
    }
}

/// What holds besides signatures and times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// How far clocks may be apart, in seconds.
    pub clock_skew_s: i64,
    /// How long a token may be valid in all, in seconds; 0 is no limit.
    pub lifetime_s_max: i64,
}

/// What can be said of a token at one moment.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// `{header, payload, valid, validity}` for policies, with the times of the payload in ISO 8601.
    pub value: Value,
    /// Whether it may be believed.
    pub validity: Validity,
    /// When that changes by itself, in milliseconds since the epoch: then it must be inspected again.
    pub changes_at_ms: Option<i64>,
}

/// The key a token says it is signed with: what a source of keys has to be asked for.
pub fn key_id(token: &str) -> Option<String> {
    let token = Token::read(token)?;
    token.key_id().filter(|id| !is_blank(id)).map(str::to_owned)
}

/// Reads a token and judges it: `token` is what stands where a token should be, `keys` gives the trusted key of an
/// identifier, `now_ms` are milliseconds since the epoch.
pub fn inspect(
    token: &Value,
    keys: impl Fn(&str) -> Option<TrustedKey>,
    now_ms: i64,
    rules: &Rules,
) -> Inspection {
    let Value::Text(text) = token else { return Inspection::without_token(Validity::MissingToken) };
    let Some(token) = Token::read(text) else { return Inspection::without_token(Validity::Malformed) };
    let (validity, changes_at_ms) = match token.trusted_claims(keys) {
        Ok(claims) => claims.judge(now_ms, rules),
        Err(validity) => (validity, None),
    };
    let payload = token.payload.as_ref().map_or(Value::Null, shown);
    Inspection::new(Value::Object(token.header.into()), payload, validity, changes_at_ms)
}

impl Inspection {
    fn without_token(validity: Validity) -> Inspection {
        let empty = || Value::object::<&str>([]);
        Inspection::new(empty(), empty(), validity, None)
    }

    fn new(header: Value, payload: Value, validity: Validity, changes_at_ms: Option<i64>) -> Inspection {
        let value = Value::object([
            ("header", header),
            ("payload", payload),
            ("valid", Value::Boolean(validity == Validity::Valid)),
            ("validity", Value::Text(validity.as_str().into())),
        ]);
        Inspection { value, validity, changes_at_ms }
    }
}

/// A token whose parts could be read.
struct Token<'t> {
    jws: Jws<'t>,
    header: Object,
    /// `None` when it is no object.
    payload: Option<Object>,
}

impl<'t> Token<'t> {
    fn read(text: &'t str) -> Option<Token<'t>> {
        let text = trim(text);
        if length(text) > TOKEN_LENGTH_MAX {
            return None;
        }
        let jws = Jws::read(text, Base64Url::Java).ok()?;
        let (header, payload) = (object(jws.header_json())?, object(jws.untrusted_payload()));
        (is_header(&header) && !jws.signature().is_empty()).then_some(Token { jws, header, payload })
    }

    fn key_id(&self) -> Option<&str> {
        self.jws.key_id()
    }

    /// The times in the payload, once it is sure that they may be believed.
    fn trusted_claims(&self, keys: impl Fn(&str) -> Option<TrustedKey>) -> Result<Claims, Validity> {
        let claims = self.payload.as_ref().and_then(Claims::read).ok_or(Validity::Malformed)?;
        if self.jws.is_critical() {
            return Err(Validity::Incompatible);
        }
        let key_id = self.key_id().filter(|id| !is_blank(id)).ok_or(Validity::Incomplete)?;
        let key = keys(key_id).ok_or(Validity::Untrusted)?;
        if key.verifies(&self.jws) { Ok(claims) } else { Err(Validity::Untrusted) }
    }
}

fn object(octets: &[u8]) -> Option<Object> {
    let Ok(Value::Object(object)) = json::read(octets) else { return None };
    Some(Object::clone(&object))
}

fn text<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    if let Some(Value::Text(text)) = object.get(key) { Some(text) } else { None }
}

/// Whether this is the header of a signed token: other kinds of tokens have `enc` or no algorithm.
fn is_header(header: &Object) -> bool {
    let is_signed = text(header, "alg")
        .is_some_and(|algorithm| !algorithm.is_empty() && !algorithm.eq_ignore_ascii_case("none"));
    let are_texts = ["kid", "typ", "cty", "jku", "x5u", "x5t", "x5t#S256"]
        .iter()
        .all(|key| header.get(key).is_none_or(|value| matches!(value, Value::Text(_))));
    let is_short = length(&Value::Object(header.clone().into()).to_json()) <= HEADER_LENGTH_MAX;
    is_signed && are_texts && is_short && !header.contains_key("enc")
}

/// The times in a payload, in milliseconds since the epoch.
struct Claims {
    not_before_ms: Option<i64>,
    expires_ms: Option<i64>,
    issued_ms: Option<i64>,
}

impl Claims {
    /// `None` when a registered claim (RFC 7519, section 4.1) is of the wrong type.
    fn read(payload: &Object) -> Option<Claims> {
        let are_texts = ["iss", "jti"]
            .iter()
            .all(|key| payload.get(key).is_none_or(|value| matches!(value, Value::Text(_) | Value::Null)));
        let has_subject = payload
            .get("sub")
            .is_none_or(|value| matches!(value, Value::Text(_) | Value::Number(_) | Value::Null));
        if !are_texts || !has_subject || !payload.get("aud").is_none_or(is_audience) {
            return None;
        }
        Some(Claims {
            not_before_ms: time(payload, "nbf")?,
            expires_ms: time(payload, "exp")?,
            issued_ms: time(payload, "iat")?,
        })
    }

    /// The validity at a moment, and when it changes.
    fn judge(&self, now_ms: i64, rules: &Rules) -> (Validity, Option<i64>) {
        if self.is_never_valid(now_ms, rules.lifetime_s_max) {
            return (Validity::NeverValid, None);
        }
        let skew_ms = rules.clock_skew_s.saturating_mul(1000);
        let ends = self.expires_ms.map(|expires| expires.saturating_add(skew_ms));
        if ends.is_some_and(|ends| ends <= now_ms) {
            return (Validity::Expired, None);
        }
        let begins = self.not_before_ms.map(|not_before| not_before.saturating_sub(skew_ms));
        match begins.filter(|begins| *begins > now_ms) {
            Some(begins) => (Validity::Immature, Some(begins)),
            None => (Validity::Valid, ends),
        }
    }

    fn is_never_valid(&self, now_ms: i64, lifetime_s_max: i64) -> bool {
        let Some(expires) = self.expires_ms else { return false };
        if self.not_before_ms.is_some_and(|not_before| not_before > expires) {
            return true;
        }
        let lifetime = expires.saturating_sub(self.issued_ms.unwrap_or(now_ms));
        lifetime_s_max > 0 && lifetime > lifetime_s_max.saturating_mul(1000)
    }
}

/// A text or an array of them.
fn is_audience(value: &Value) -> bool {
    if let Value::Array(values) = value {
        return values.iter().all(|value| matches!(value, Value::Text(_)));
    }
    matches!(value, Value::Text(_) | Value::Null)
}

/// A claim in seconds as milliseconds; `None` for one that is no number.
#[expect(clippy::option_option, reason = "a claim may be absent, right or wrong")]
fn time(payload: &Object, key: &str) -> Option<Option<i64>> {
    match payload.get(key) {
        None => Some(None),
        Some(Value::Number(number)) => Some(Some(whole_seconds(number).saturating_mul(1000))),
        Some(_) => None,
    }
}

/// The number without its fraction.
#[expect(clippy::cast_possible_truncation, reason = "numbers beyond 64 bits become the largest there is")]
fn whole_seconds(number: &Decimal) -> i64 {
    number.to_i64().unwrap_or_else(|| number.to_f64() as i64)
}

/// The payload with its times in ISO 8601, but for times that no calendar has.
fn shown(payload: &Object) -> Value {
    let entries = payload.iter().map(|(key, value)| {
        let is_time = matches!(key.as_str(), "nbf" | "exp" | "iat");
        let text = if is_time { time_text(value) } else { None };
        (key.clone(), text.map_or_else(|| value.clone(), |text| Value::Text(text.into())))
    });
    Value::object(entries)
}

fn time_text(value: &Value) -> Option<String> {
    let Value::Number(number) = value else { return None };
    let second = whole_seconds(number);
    (0..=SECOND_MAX).contains(&second).then(|| text_of_second(second))
}
