//! What has to be in an ID token (OpenID Connect Core, 3.1.3.7) and in a logout token (OpenID Connect Back-Channel Logout, 2.6) whose
//! signature was verified.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use durward_jwt::JwsAlgorithm;
use durward_session::identity::Moment;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use super::{BroughtCode, EndedUpstream, LEEWAY_S};

/// How long ago a token may have been made, in seconds: it was asked for a moment ago.
const AGE_S_MAX: u64 = 600;

/// The longest `sub`, `sid` and `jti`, in bytes (OpenID Connect Core, 2).
const NAME_LENGTH_MAX: usize = 255;

/// What a logout token says has happened.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// What an ID token has to say.
pub(super) struct IdTokenRules<'r> {
    pub(super) issuer: &'r str,
    pub(super) client_id: &'r str,
    pub(super) access_token: &'r str,
    /// By what the token is signed.
    pub(super) algorithm: JwsAlgorithm,
    pub(super) brought: BroughtCode<'r>,
}

type Claims = Map<String, Value>;

/// # Errors
/// What is wrong with it.
pub(super) fn id_token(claims: &Claims, rules: &IdTokenRules<'_>) -> Result<(), &'static str> {
    let BroughtCode { nonce, max_age_s, not_before_s, now, .. } = rules.brought;
    let now_s = now.ms() / 1000;
    is_meant(claims, (rules.issuer, rules.client_id))?;
    if claims.contains_key("events") {
        return Err("it is no ID token, but tells of events");
    }
    let expires = seconds(claims, "exp")?.ok_or("it has no `exp`")?;
    is_in_time(claims, Some(expires), now_s)?;
    name(claims, "sub")?.ok_or("it has no `sub`")?;
    if claims.get("nonce").and_then(Value::as_str) != Some(nonce) {
        return Err("its `nonce` is another");
    }
    if let Some(hash) = claims.get("at_hash")
        && hash.as_str() != Some(half_digest(rules.algorithm, rules.access_token).as_str())
    {
        return Err("its `at_hash` is that of another access token");
    }
    let authenticated = seconds(claims, "auth_time")?;
    if authenticated.is_some_and(|at| at > now_s + LEEWAY_S) {
        return Err("its `auth_time` is in the future");
    }
    match (max_age_s, authenticated) {
        (Some(_), None) => return Err("`max_age` was asked for, and it has no `auth_time`"),
        (Some(max), Some(at)) if now_s.saturating_sub(at) > max.saturating_add(LEEWAY_S) => {
            return Err("the user authenticated longer ago than `max_age`");
        }
        (_, _) => {}
    }
    let is_before = |limit: u64| authenticated.is_some_and(|at| at.saturating_add(LEEWAY_S) < limit);
    if not_before_s.is_some_and(is_before) {
        return Err("the user was to authenticate again, and did not");
    }
    Ok(())
}

/// # Errors
/// What is wrong with it.
pub(super) fn logout_token(
    claims: &Claims,
    (issuer, client_id): (&str, &str),
    now: Moment,
) -> Result<EndedUpstream, &'static str> {
    let now_s = now.ms() / 1000;
    is_meant(claims, (issuer, client_id))?;
    let event = claims.get("events").and_then(|events| events.get(LOGOUT_EVENT));
    if !event.is_some_and(Value::is_object) {
        return Err("it does not tell of a logout");
    }
    if claims.contains_key("nonce") {
        return Err("it has a `nonce`: it is an ID token");
    }
    let expires = seconds(claims, "exp")?;
    let made = is_in_time(claims, expires, now_s)?;
    let (sub, sid) = (name(claims, "sub")?, name(claims, "sid")?);
    if sub.is_none() && sid.is_none() {
        return Err("it names neither a user nor a session");
    }
    let jti = name(claims, "jti")?.ok_or("it has no `jti`")?;
    // As long as it would be taken again.
    let until_s = made.saturating_add(AGE_S_MAX).saturating_add(2 * LEEWAY_S);
    Ok(EndedUpstream { sub, sid, jti, until_s })
}

/// Whether the token is of the issuer, and for this client and nobody else.
fn is_meant(claims: &Claims, (issuer, client_id): (&str, &str)) -> Result<(), &'static str> {
    if claims.get("iss").and_then(Value::as_str) != Some(issuer) {
        return Err("it is of another issuer");
    }
    let party = claims.get("azp");
    if party.is_some_and(|party| party.as_str() != Some(client_id)) {
        return Err("it was given to another client (`azp`)");
    }
    match claims.get("aud") {
        Some(Value::String(audience)) if audience == client_id => Ok(()),
        Some(Value::Array(audiences)) => {
            let is_ours = |audience: &Value| audience.as_str() == Some(client_id);
            match (audiences.iter().any(is_ours), audiences.len(), party) {
                (false, _, _) => Err("it is for another client (`aud`)"),
                (true, 1, _) | (true, _, Some(_)) => Ok(()),
                (true, _, None) => {
                    Err("it is for several clients, and does not say whom it was given to (`azp`)")
                }
            }
        }
        Some(_) | None => Err("it is for another client (`aud`)"),
    }
}

/// Whether it was made a moment ago and has not ended. When it was made.
fn is_in_time(claims: &Claims, expires: Option<u64>, now_s: u64) -> Result<u64, &'static str> {
    if expires.is_some_and(|expires| expires.saturating_add(LEEWAY_S) <= now_s) {
        return Err("its time is over (`exp`)");
    }
    if seconds(claims, "nbf")?.is_some_and(|begins| begins > now_s + LEEWAY_S) {
        return Err("its time has not come (`nbf`)");
    }
    let made = seconds(claims, "iat")?.ok_or("it has no `iat`")?;
    if made > now_s + LEEWAY_S {
        return Err("it was made in the future (`iat`)");
    }
    if now_s.saturating_sub(made) > AGE_S_MAX + LEEWAY_S {
        return Err("it was made too long ago (`iat`)");
    }
    Ok(made)
}

/// A time in seconds since 1970 began, where there is one; also one that is no whole number.
fn seconds(claims: &Claims, name: &str) -> Result<Option<u64>, &'static str> {
    let Some(claim) = claims.get(name) else { return Ok(None) };
    let whole = claim.as_u64().or_else(|| {
        let since = std::time::Duration::try_from_secs_f64(claim.as_f64()?).ok()?;
        Some(since.as_secs())
    });
    whole.map(Some).ok_or("a time in it is none")
}

/// What names somebody or something, where it is there.
fn name(claims: &Claims, name: &str) -> Result<Option<String>, &'static str> {
    let Some(claim) = claims.get(name) else { return Ok(None) };
    let is_name = |text: &&str| (1..=NAME_LENGTH_MAX).contains(&text.len());
    let text = claim.as_str().filter(is_name).ok_or("`sub`, `sid` or `jti` is empty, too long or no text")?;
    Ok(Some(text.to_owned()))
}

/// The left half of the digest that the signature's algorithm is made with (OpenID Connect Core, 3.1.3.6): for Ed25519 that is SHA-512.
fn half_digest(algorithm: JwsAlgorithm, text: &str) -> String {
    let whole = match algorithm {
        JwsAlgorithm::Rs256 | JwsAlgorithm::Ps256 | JwsAlgorithm::Es256 => Sha256::digest(text).to_vec(),
        JwsAlgorithm::Rs384 | JwsAlgorithm::Ps384 | JwsAlgorithm::Es384 => Sha384::digest(text).to_vec(),
        JwsAlgorithm::Rs512 | JwsAlgorithm::Ps512 | JwsAlgorithm::Es512 | JwsAlgorithm::EdDsa => {
            Sha512::digest(text).to_vec()
        }
    };
    let (half, _) = whole.split_at(whole.len() / 2);
    BASE64_URL_SAFE_NO_PAD.encode(half)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Moment = Moment::from_ms(1_800_000_000_000);
    const NOW_S: u64 = 1_800_000_000;

    fn right() -> Value {
        json!({
            "iss": "https://idp", "aud": "me", "sub": "4711", "nonce": "n", "iat": NOW_S, "exp": NOW_S + 300,
            "auth_time": NOW_S - 30,
            "at_hash": half_digest(JwsAlgorithm::Es256, "token"),
        })
    }

    fn check(claims: &Value, max_age_s: Option<u64>, not_before_s: Option<u64>) -> Result<(), &'static str> {
        let brought = BroughtCode {
            code: "c",
            redirect_uri: "r",
            verifier: "v",
            nonce: "n",
            max_age_s,
            not_before_s,
            now: NOW,
        };
        let rules = IdTokenRules {
            issuer: "https://idp",
            client_id: "me",
            access_token: "token",
            algorithm: JwsAlgorithm::Es256,
            brought,
        };
        id_token(claims.as_object().unwrap(), &rules)
    }

    fn with(name: &str, value: Value) -> Value {
        let mut claims = right();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value;
        }
        claims
    }

    #[test]
    fn an_id_token_is_for_this_client_of_this_login_and_of_now() {
        assert_eq!(check(&right(), None, None), Ok(()));
        for (name, value) in [
            ("aud", json!(["me"])),
            ("azp", json!("me")),
            ("exp", json!(NOW_S - 59)),
            ("iat", json!(NOW_S + 60)),
            ("iat", json!(NOW_S - 600)),
            ("iat", json!(1_799_999_999.5)),
            ("at_hash", Value::Null),
            ("auth_time", Value::Null),
        ] {
            assert_eq!(check(&with(name, value.clone()), None, None), Ok(()), "{name} {value}");
        }
        for (name, value) in [
            ("iss", json!("https://idp/")),
            ("iss", Value::Null),
            ("aud", json!("other")),
            ("aud", json!(["other"])),
            ("aud", json!(["me", "other"])),
            ("aud", json!([])),
            ("aud", json!({ "me": 1 })),
            ("aud", Value::Null),
            ("azp", json!("other")),
            ("azp", json!(["me"])),
            ("sub", json!("")),
            ("sub", json!(7)),
            ("sub", json!("s".repeat(256))),
            ("sub", Value::Null),
            ("nonce", json!("other")),
            ("nonce", json!(["n"])),
            ("nonce", Value::Null),
            ("exp", json!(NOW_S - 60)),
            ("exp", json!("later")),
            ("exp", json!(-1)),
            ("exp", Value::Null),
            ("iat", json!(NOW_S + 61)),
            ("iat", json!(NOW_S - 661)),
            ("iat", Value::Null),
            ("nbf", json!(NOW_S + 61)),
            ("at_hash", json!("other")),
            ("at_hash", json!(1)),
            ("auth_time", json!(NOW_S + 61)),
            ("events", json!({})),
        ] {
            assert!(check(&with(name, value.clone()), None, None).is_err(), "{name} {value}");
        }
        let mut several = with("aud", json!(["other", "me"]));
        several["azp"] = json!("me");
        assert_eq!(check(&several, None, None), Ok(()));
    }

    #[test]
    fn an_authentication_that_was_to_be_new_is() {
        assert_eq!(check(&right(), Some(0), None), Ok(()));
        assert_eq!(check(&with("auth_time", json!(NOW_S - 90)), Some(30), None), Ok(()));
        assert!(check(&with("auth_time", json!(NOW_S - 91)), Some(30), None).is_err());
        assert!(check(&with("auth_time", Value::Null), Some(30), None).is_err());
        assert_eq!(check(&right(), None, Some(NOW_S + 30)), Ok(()));
        assert!(check(&right(), None, Some(NOW_S + 31)).is_err());
        assert_eq!(check(&with("auth_time", Value::Null), None, Some(NOW_S)), Ok(()), "many do not say it");
    }

    #[test]
    fn a_logout_token_tells_of_a_logout_and_is_no_id_token() {
        let event = json!({ LOGOUT_EVENT: {} });
        let token = json!({ "iss": "https://idp", "aud": "me", "sub": "4711", "iat": NOW_S, "jti": "1", "events": event });
        let read = |token: &Value| logout_token(token.as_object().unwrap(), ("https://idp", "me"), NOW);
        let ended = read(&token).unwrap();
        assert_eq!((ended.sub.as_deref(), ended.sid, ended.jti.as_str()), (Some("4711"), None, "1"));
        assert!(ended.until_s >= NOW_S + AGE_S_MAX);
        for (name, value) in [
            ("nonce", json!("n")),
            ("events", json!({ "other": {} })),
            ("events", json!({ LOGOUT_EVENT: true })),
            ("events", Value::Null),
            ("jti", Value::Null),
            ("iat", json!(NOW_S - 700)),
            ("exp", json!(NOW_S - 60)),
            ("aud", json!("other")),
            ("iss", json!("https://other")),
            ("sub", Value::Null),
        ] {
            let mut token = token.clone();
            token[name] = value.clone();
            if value.is_null() {
                token.as_object_mut().unwrap().remove(name);
            }
            assert!(read(&token).is_err(), "{name} {value}");
        }
    }
}
