use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::jwt::{Algorithm, JwtRefusal, Request, SigningKeys};
use durward_identity::{Moment, SystemEntropy};
use durward_opcua::permission::Permission;
use durward_opcua::token::{
    GrantVerdict, GrantsError, HasTokenFacts, IssueRequest, NodeTable, Thumbprint, TokenRefusal,
    VerifiedToken,
};
use opcua_types::StatusCode;
use serde_json::{Map, Value, json};

use super::{GATE, ISSUER, LIFETIME, NOW, client, issue, keys, later, some_grants, table, verifier};

fn verify(
    keys: &SigningKeys,
    token: &str,
    now: Moment,
    table: &NodeTable,
) -> Result<VerifiedToken, TokenRefusal> {
    verifier(keys).verify(now, token.as_bytes(), client(), table)
}

#[test]
fn tokens_of_every_algorithm_are_verified_and_say_what_was_issued() {
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256, Algorithm::Rs256] {
        let (keys, table) = (keys(algorithm), table(100));
        let grants = some_grants(&table);
        let token = issue(&grants).sign(&keys, NOW, &SystemEntropy).unwrap();
        let verified = verify(&keys, &token, NOW, &table).unwrap();
        assert_eq!((verified.subject(), verified.grants()), ("anna", &grants));
        assert_eq!(verified.roles(), ["Operator"]);
        assert!(!verified.id().is_empty());
        let facts = verified.facts();
        assert_eq!((facts.session.as_deref(), &*facts.policy), (Some("session-1"), "policy-1"));
        assert_eq!((facts.issued, facts.expires), (NOW, later(600)));
        assert_eq!(&*facts.client, client().to_string());
    }
}

#[test]
fn a_token_ends_in_the_moment_it_names() {
    let (keys, table) = (keys(Algorithm::EdDsa), table(10));
    let token = issue(&some_grants(&table)).sign(&keys, NOW, &SystemEntropy).unwrap();
    let at = |ms: u64| verify(&keys, &token, Moment::from_ms(ms), &table).map(|_| ());
    assert_eq!(at(NOW.ms() + 599_999), Ok(()));
    assert_eq!(at(NOW.ms() + 600_000), Err(TokenRefusal::Jwt(JwtRefusal::Expired)));
    assert_eq!(at(NOW.ms() + 600_001), Err(TokenRefusal::Jwt(JwtRefusal::Expired)));
}

#[test]
fn a_token_from_the_future_is_refused_beyond_the_skew() {
    let (keys, table) = (keys(Algorithm::EdDsa), table(10));
    let token = issue(&some_grants(&table)).sign(&keys, NOW, &SystemEntropy).unwrap();
    let at = |skew: u64, ms: u64| {
        let mut verifier = verifier(&keys);
        verifier.skew = Duration::from_secs(skew);
        verifier.verify(Moment::from_ms(ms), token.as_bytes(), client(), &table).map(|_| ())
    };
    let future = Err(TokenRefusal::Jwt(JwtRefusal::Future));
    assert_eq!(at(0, NOW.ms()), Ok(()));
    assert_eq!(at(0, NOW.ms() - 1), future);
    assert_eq!(at(5, NOW.ms() - 5_000), Ok(()));
    assert_eq!(at(5, NOW.ms() - 5_001), future);
}

#[test]
fn other_audiences_issuers_clients_tables_and_keys_are_refused() {
    let (keys, table) = (keys(Algorithm::Es256), table(10));
    let grants = some_grants(&table);
    let signed = |issue: IssueRequest<'_>| issue.sign(&keys, NOW, &SystemEntropy).unwrap();
    let refused = |token: &str| verify(&keys, token, NOW, &table).unwrap_err();
    let other = "urn:plant:other";
    let cases = [
        (signed(IssueRequest { resource: other, ..issue(&grants) }), TokenRefusal::Jwt(JwtRefusal::Audience)),
        (signed(IssueRequest { issuer: other, ..issue(&grants) }), TokenRefusal::Jwt(JwtRefusal::Issuer)),
        (
            signed(IssueRequest { client: Thumbprint::of(b"another certificate"), ..issue(&grants) }),
            TokenRefusal::OtherClient,
        ),
        (
            signed(issue(&some_grants(&super::table::other(10)))),
            TokenRefusal::Grants(GrantsError::OtherTable),
        ),
        (
            issue(&grants).sign(&self::keys(Algorithm::Es256), NOW, &SystemEntropy).unwrap(),
            TokenRefusal::Jwt(JwtRefusal::UnknownKey),
        ),
    ];
    for (token, refusal) in cases {
        assert_eq!(refused(&token), refusal);
        assert_eq!(refusal.status(), StatusCode::BadIdentityTokenRejected);
        assert!(!refusal.to_string().is_empty());
    }
}

/// A token of our key with whatever claims.
fn with_claims(keys: &SigningKeys, claims: Value) -> String {
    let Value::Object(more) = claims else { panic!("an object") };
    let request = Request {
        issuer: ISSUER,
        subject: "anna",
        audience: &[GATE],
        lifetime: Duration::from_secs(60),
        client: None,
        scope: None,
        session: None,
        more,
    };
    keys.issue(NOW, request, &SystemEntropy).unwrap()
}

#[test]
fn claims_of_a_wrong_shape_are_refused() {
    let (keys, table) = (keys(Algorithm::EdDsa), table(10));
    let grants = some_grants(&table).encode();
    let bound = json!({ "x5t#S256": client().to_string() });
    let refused = |claims| verify(&keys, &with_claims(&keys, claims), NOW, &table).map(|_| ());
    assert_eq!(refused(json!({ "cnf": bound, "dwg": grants })), Ok(()));
    assert_eq!(refused(json!({ "dwg": grants })), Err(TokenRefusal::Unbound));
    assert_eq!(refused(json!({ "cnf": {}, "dwg": grants })), Err(TokenRefusal::Unbound));
    assert_eq!(refused(json!({ "cnf": "x", "dwg": grants })), Err(TokenRefusal::Unbound));
    for thumbprint in [json!(7), json!(""), json!("AAAA"), json!(null), json!("x".repeat(43))] {
        let claims = json!({ "cnf": { "x5t#S256": thumbprint }, "dwg": grants });
        let refusal = refused(claims).unwrap_err();
        assert!(
            refusal == TokenRefusal::Claim("cnf") || refusal == TokenRefusal::OtherClient,
            "{thumbprint}: {refusal}"
        );
    }
    assert_eq!(refused(json!({ "cnf": bound })), Err(TokenRefusal::NoGrants));
    assert_eq!(refused(json!({ "cnf": bound, "dwg": 7 })), Err(TokenRefusal::Claim("dwg")));
    assert_eq!(
        refused(json!({ "cnf": bound, "dwg": &grants[..grants.len() - 2] })),
        Err(TokenRefusal::Grants(GrantsError::Malformed))
    );
    assert_eq!(refused(json!({ "cnf": bound, "dwg": grants, "dwp": 7 })), Err(TokenRefusal::Claim("dwp")));
    let many: Vec<String> = (0..65).map(|at| at.to_string()).collect();
    for roles in [json!("Operator"), json!([7]), json!({}), json!(many), json!(["x".repeat(257)])] {
        let claims = json!({ "cnf": bound, "dwg": grants, "roles": roles });
        assert_eq!(refused(claims), Err(TokenRefusal::Claim("roles")), "{roles}");
    }
}

#[test]
fn what_is_no_token_is_told_from_one_that_is_refused() {
    let (keys, table) = (keys(Algorithm::EdDsa), table(10));
    let verifier = verifier(&keys);
    let refused = |token: &[u8]| verifier.verify(NOW, token, client(), &table).unwrap_err();
    for token in [&b""[..], b"x", b"a.b.c", b"..", b"\xff\xfe", "ä.ö.ü".as_bytes()] {
        assert_eq!(refused(token).status(), StatusCode::BadIdentityTokenInvalid, "{token:?}");
    }
    assert_eq!(refused(&vec![b'x'; 16 * 1024 + 1]), TokenRefusal::TooLong);
    assert_eq!(refused(&vec![b'.'; 500_000]), TokenRefusal::TooLong);
    assert_eq!(refused(b"\xff\xfe"), TokenRefusal::NoText);
}

#[test]
fn every_token_that_is_cut_or_changed_is_refused() {
    let (keys, table) = (keys(Algorithm::EdDsa), table(10));
    let token = issue(&some_grants(&table)).sign(&keys, NOW, &SystemEntropy).unwrap();
    for at in 0..token.len() {
        let letter = if token.as_bytes()[at] == b'A' { "B" } else { "A" };
        let changed = format!("{}{letter}{}", &token[..at], &token[at + 1..]);
        assert!(verify(&keys, &changed, NOW, &table).is_err(), "{at}");
        assert!(verify(&keys, &token[..at], NOW, &table).is_err(), "{at}");
    }
}

#[test]
fn the_longest_token_is_a_setting() {
    let (keys, table) = (keys(Algorithm::EdDsa), table(10));
    let token = issue(&some_grants(&table)).sign(&keys, NOW, &SystemEntropy).unwrap();
    let mut verifier = verifier(&keys);
    let mut with_max = |most: usize| {
        verifier.token_length_max = most;
        verifier.verify(NOW, token.as_bytes(), client(), &table).map(|_| ())
    };
    assert_eq!(with_max(token.len()), Ok(()));
    assert_eq!(with_max(token.len() - 1), Err(TokenRefusal::TooLong));
}

/// A token that lives longer than cutoffs are kept would come to life again after a recall.
#[test]
fn tokens_that_live_longer_than_cutoffs_are_kept_are_refused() {
    let (keys, table) = (keys(Algorithm::EdDsa), table(10));
    let grants = some_grants(&table);
    let token = |lifetime: Duration| {
        IssueRequest { lifetime, ..issue(&grants) }.sign(&keys, NOW, &SystemEntropy).unwrap()
    };
    let mut verifier = verifier(&keys);
    verifier.token_lifetime_max = Duration::from_secs(600);
    let verify = |token: &str| verifier.verify(NOW, token.as_bytes(), client(), &table).map(|_| ());
    assert_eq!(verify(&token(Duration::from_secs(600))), Ok(()));
    assert_eq!(verify(&token(Duration::from_secs(601))), Err(TokenRefusal::LivesTooLong));
    assert!(
        IssueRequest { lifetime: LIFETIME * 2, ..issue(&grants) }.sign(&keys, NOW, &SystemEntropy).is_err()
    );
}

/// The payload of a signed token is what other servers read as well.
#[test]
fn a_token_has_the_claims_of_the_standard() {
    let (keys, table) = (keys(Algorithm::EdDsa), table(10));
    let token = issue(&some_grants(&table)).sign(&keys, NOW, &SystemEntropy).unwrap();
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    let claims: Map<String, Value> = serde_json::from_slice(&payload).unwrap();
    assert_eq!(claims["iss"], ISSUER);
    assert_eq!(claims["aud"], json!([GATE]));
    assert_eq!((&claims["sub"], &claims["sid"]), (&json!("anna"), &json!("session-1")));
    assert_eq!(claims["roles"], json!(["Operator"]));
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 600);
    assert_eq!(claims["cnf"]["x5t#S256"].as_str().unwrap().len(), 43);
    assert!(claims["nbf"].is_u64() && claims["jti"].is_string());
    let verified = Arc::new(verify(&keys, &token, NOW, &table).unwrap());
    assert_eq!(verified.grants().get(1, Permission::Write), GrantVerdict::Ask);
}
