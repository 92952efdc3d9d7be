use super::*;
use crate::jwt::{Inspection, Rules, TrustedKey, Validity, inspect, key_id};

/// 2023-11-14T22:13:20Z, when the tokens were issued that say so.
const ISSUED_MS: i64 = 1_700_000_000_000;

fn token(name: &str) -> &'static str {
    file("tokens").lines().find_map(|line| line.strip_prefix(&format!("{name} "))).unwrap()
}

fn trusted(id: &str) -> Option<TrustedKey> {
    FILES.iter().any(|(name, _)| *name == format!("{id}.pub")).then(|| TrustedKey::read(&bare(id)).unwrap())
}

fn inspected(token: &str, now_ms: i64, rules: &Rules) -> Inspection {
    inspect(&text(token), trusted, now_ms, rules)
}

fn validity(token: &str) -> Validity {
    inspected(token, ISSUED_MS, &Rules::default()).validity
}

/// A token of these parts, with a signature that nobody made.
fn forged(header: &str, payload: &str) -> String {
    use base64::Engine;
    let encode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.{}", encode(header), encode(payload), encode("signature"))
}

#[test]
fn tokens_signed_by_a_trusted_key_are_valid() {
    for name in [
        "rs256", "rs384", "rs512", "ps256", "ps384", "ps512", "es256", "es384", "es512", "eddsa", "forever",
        "later",
    ] {
        assert_eq!(validity(token(name)), Validity::Valid, "{name}");
    }
}

#[test]
fn a_valid_token_is_shown_with_its_times_in_iso_8601() {
    let inspection = inspected(token("rs256"), ISSUED_MS, &Rules::default());
    assert_eq!(
        inspection.value.to_json(),
        r#"{"header":{"kid":"rsa2048","alg":"RS256"},"payload":{"sub":"ann","roles":["admin"],"iat":"2023-11-14T22:13:20Z","nbf":"2023-11-14T22:13:20Z","exp":"2023-11-14T23:13:20Z","n":1.50},"valid":true,"validity":"VALID"}"#
    );
    assert_eq!(inspection.changes_at_ms, Some(ISSUED_MS + 3_600_000));
    let far = inspected(token("far"), ISSUED_MS, &Rules::default());
    assert!(
        far.value.to_json().contains(r#""payload":{"exp":999999999999,"iat":-1}"#),
        "{}",
        far.value.to_json()
    );
    assert_eq!(key_id(token("rs256")).as_deref(), Some("rsa2048"));
}

#[test]
fn what_no_trusted_key_signed_is_untrusted() {
    let rs256 = token("rs256");
    let (signed, signature) = rs256.rsplit_once('.').unwrap();
    let (header, _) = signed.split_once('.').unwrap();
    let other_payload = format!("{header}.eyJzdWIiOiJib2IifQ.{signature}");
    let other_algorithm = forged(r#"{"kid":"rsa2048","alg":"RS256"}"#, "{}");
    let other_key = forged(r#"{"kid":"missing","alg":"RS256"}"#, "{}");
    let unknown = forged(r#"{"kid":"rsa2048","alg":"XY256"}"#, "{}");
    for (name, token) in [
        ("payload", other_payload.as_str()),
        ("signature", &other_algorithm),
        ("key", &other_key),
        ("unknown algorithm", &unknown),
        ("secret", token("hs256")),
        ("curve", token("es256-on-p384")),
    ] {
        let inspection = inspected(token, ISSUED_MS, &Rules::default());
        assert_eq!(inspection.validity, Validity::Untrusted, "{name}");
        assert!(inspection.value.to_json().ends_with(r#""valid":false,"validity":"UNTRUSTED"}"#), "{name}");
        assert_eq!(inspection.changes_at_ms, None, "{name}");
    }
    assert_eq!(inspect(&text(rs256), |_| None, ISSUED_MS, &Rules::default()).validity, Validity::Untrusted);
    assert_eq!(
        inspect(&text(rs256), |_| trusted("rsa4096"), ISSUED_MS, &Rules::default()).validity,
        Validity::Untrusted
    );
    assert_eq!(
        inspect(&text(rs256), |_| trusted("p256"), ISSUED_MS, &Rules::default()).validity,
        Validity::Untrusted
    );
}

/// The public key of RS256 as the secret of HS256: the oldest attack there is.
#[test]
fn no_token_is_signed_with_a_public_key_as_a_secret() {
    let forged = forged(r#"{"kid":"rsa2048","alg":"HS256"}"#, r#"{"sub":"admin"}"#);
    assert_eq!(validity(&forged), Validity::Untrusted);
    for wrong in ["", "secret", "c2VjcmV0", key("p256")] {
        assert!(TrustedKey::read(wrong).unwrap_err().message.starts_with("not a public key: "), "{wrong}");
    }
}

#[test]
fn keys_are_read_in_either_alphabet() {
    let standard = bare("rsa2048");
    assert!(standard.contains(['+', '/']), "the fixture has both");
    for written in
        [standard.clone(), standard.replace('+', "-").replace('/', "_"), standard.replace('/', ",")]
    {
        let key = TrustedKey::read(&written).unwrap();
        let inspection = inspect(&text(token("rs256")), |_| Some(key.clone()), ISSUED_MS, &Rules::default());
        assert_eq!(inspection.validity, Validity::Valid, "{written}");
    }
}

#[test]
fn what_is_no_signed_token_is_malformed_and_shows_nothing() {
    let rs256 = token("rs256");
    let (signed, _) = rs256.rsplit_once('.').unwrap();
    for token in [
        "",
        "MALFORMED TOKEN",
        "50000",
        "a.b",
        "a.b.c",
        "a.b.c.d.e",
        signed,
        &format!("{signed}."),
        &format!("{rs256}.x"),
        &forged("{}", "{}"),
        &forged("[]", "{}"),
        &forged(r#"{"alg":"none","kid":"rsa2048"}"#, "{}"),
        &forged(r#"{"alg":"NONE","kid":"rsa2048"}"#, "{}"),
        &forged(r#"{"alg":5,"kid":"rsa2048"}"#, "{}"),
        &forged(r#"{"alg":"RS256","kid":5}"#, "{}"),
        &forged(r#"{"alg":"RSA-OAEP","enc":"A128GCM","kid":"rsa2048"}"#, "{}"),
        &forged(&format!(r#"{{"alg":"RS256","kid":"{}"}}"#, "x".repeat(20_000)), "{}"),
        &"a".repeat(2 << 20),
    ] {
        let inspection = inspected(token, ISSUED_MS, &Rules::default());
        let shown = inspection.value.to_json();
        assert_eq!(
            shown, r#"{"header":{},"payload":{},"valid":false,"validity":"MALFORMED"}"#,
            "{token:.80}"
        );
        assert_eq!(key_id(token), None, "{token:.80}");
    }
    // White space around a token is none of it.
    assert_eq!(validity(&format!(" {rs256}\n")), Validity::Valid);
}

#[test]
fn claims_of_a_wrong_type_make_a_token_malformed_though_it_is_shown() {
    let header = r#"{"kid":"rsa2048","alg":"RS256"}"#;
    for payload in [
        "[1]",
        "not JSON",
        "",
        r#"{"exp":"1700000000"}"#,
        r#"{"nbf":null}"#,
        r#"{"iat":[1]}"#,
        r#"{"iss":1}"#,
        r#"{"sub":{}}"#,
        r#"{"aud":1}"#,
        r#"{"aud":["a",1]}"#,
        r#"{"jti":false}"#,
    ] {
        let inspection = inspected(&forged(header, payload), ISSUED_MS, &Rules::default());
        assert_eq!(inspection.validity, Validity::Malformed, "{payload}");
        assert!(
            inspection.value.to_json().contains(r#""header":{"kid":"rsa2048","alg":"RS256"}"#),
            "{payload}"
        );
    }
    assert_eq!(validity(token("text-exp")), Validity::Malformed);
    assert_eq!(validity(token("array")), Validity::Malformed);
    let fine = forged(header, r#"{"iss":null,"sub":5,"aud":["a"],"exp":1700000000.9,"x":{"exp":"y"}}"#);
    assert_eq!(validity(&fine), Validity::Untrusted, "well formed, but nobody signed it");
}

#[test]
fn missing_parts_have_states_of_their_own() {
    for missing in [Value::Undefined, Value::Null, Value::Boolean(true), Value::number(42)] {
        let inspection = inspect(&missing, trusted, ISSUED_MS, &Rules::default());
        let shown = inspection.value.to_json();
        assert_eq!(shown, r#"{"header":{},"payload":{},"valid":false,"validity":"MISSING_TOKEN"}"#);
    }
    for (header, expected) in [
        (r#"{"alg":"RS256"}"#, Validity::Incomplete),
        (r#"{"alg":"RS256","kid":""}"#, Validity::Incomplete),
        (r#"{"alg":"RS256","kid":" \t"}"#, Validity::Incomplete),
        (r#"{"alg":"RS256","kid":"rsa2048","crit":["exp"]}"#, Validity::Incompatible),
        (r#"{"alg":"RS256","crit":["exp"]}"#, Validity::Incompatible),
    ] {
        assert_eq!(validity(&forged(header, "{}")), expected, "{header}");
        if expected == Validity::Incomplete {
            assert_eq!(key_id(&forged(header, "{}")), None, "{header}");
        }
    }
}

/// Before, at and after each of the two bounds, and when the state changes next.
#[test]
fn validity_follows_the_clock() {
    let (begins, ends) = (ISSUED_MS, ISSUED_MS + 3_600_000);
    for (now, expected, next) in [
        (begins - 1, Validity::Immature, Some(begins)),
        (begins, Validity::Valid, Some(ends)),
        (ends - 1, Validity::Valid, Some(ends)),
        (ends, Validity::Expired, None),
        (i64::MAX, Validity::Expired, None),
        (i64::MIN, Validity::Immature, Some(begins)),
    ] {
        let inspection = inspected(token("es256"), now, &Rules::default());
        assert_eq!((inspection.validity, inspection.changes_at_ms), (expected, next), "{now}");
    }
    let later = inspected(token("later"), ISSUED_MS, &Rules::default());
    assert_eq!((later.validity, later.changes_at_ms), (Validity::Valid, None));
    assert_eq!(validity(token("never")), Validity::NeverValid);
}

#[test]
fn clocks_may_be_apart() {
    let rules = Rules { clock_skew_s: 60, lifetime_s_max: 0 };
    for (now, expected) in [
        (ISSUED_MS - 60_001, Validity::Immature),
        (ISSUED_MS - 60_000, Validity::Valid),
        (ISSUED_MS + 3_659_999, Validity::Valid),
        (ISSUED_MS + 3_660_000, Validity::Expired),
    ] {
        assert_eq!(inspected(token("es384"), now, &rules).validity, expected, "{now}");
    }
    // Skews beyond all time do not overflow.
    let endless = Rules { clock_skew_s: i64::MAX, lifetime_s_max: i64::MAX };
    assert_eq!(inspected(token("es384"), i64::MAX - 1, &endless).validity, Validity::Valid);
}

#[test]
fn tokens_that_live_for_too_long_are_never_valid() {
    let bounded = |lifetime_s_max| Rules { clock_skew_s: 0, lifetime_s_max };
    let bound = token("bound");
    assert_eq!(inspected(bound, ISSUED_MS, &bounded(86_400)).validity, Validity::NeverValid);
    assert_eq!(inspected(bound, ISSUED_MS, &bounded(86_401)).validity, Validity::Valid);
    assert_eq!(inspected(bound, ISSUED_MS, &bounded(0)).validity, Validity::Valid);
    // Without a time of issue it is the time from now on that counts.
    let far = token("far");
    assert_eq!(inspected(far, ISSUED_MS, &bounded(86_400)).validity, Validity::NeverValid);
    assert_eq!(inspected(token("forever"), ISSUED_MS, &bounded(1)).validity, Validity::Valid);
}
