//! The plans `oidcc-rp-initiated-logout-certification-test-plan` and `oidcc-backchannel-rp-initiated-logout-certification-test-plan`.

use serde_json::{Value, json};

use super::{Browser, Case, ISSUER, POST_LOGOUT, STATE, Seen, Suite, address, encoded, error};
use crate::oauth::world::{part, with_part};
use crate::oidc::logout::listener;
use crate::support::PATIENCE;

pub(super) const CASES: &[Case] = &[
    ("oidcc-rp-initiated-logout-discovery-endpoint-verification", discovery),
    ("oidcc-rp-initiated-logout", logout),
    ("oidcc-rp-initiated-logout-bad-post-logout-redirect-uri", bad_redirect_uri),
    ("oidcc-rp-initiated-logout-modified-id-token-hint", modified_hint),
    ("oidcc-rp-initiated-logout-no-id-token-hint", no_hint),
    ("oidcc-rp-initiated-logout-no-params", no_parameters),
    ("oidcc-rp-initiated-logout-no-post-logout-redirect-uri", no_redirect_uri),
    ("oidcc-rp-initiated-logout-no-state", no_state),
    ("oidcc-rp-initiated-logout-only-state", only_state),
    ("oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri", query_added),
    ("oidcc-rp-initiated-logout-bad-id-token-hint", bad_hint),
    ("oidcc-backchannel-logout-discovery-endpoint-verification", backchannel_discovery),
    ("oidcc-backchannel-rp-initiated-logout", backchannel),
];

fn document(suite: &Suite) -> Value {
    suite.world.server.get("/.well-known/openid-configuration").json()
}

fn discovery(suite: &Suite) {
    assert_eq!(document(suite)["end_session_endpoint"], format!("{ISSUER}/oauth2/logout"));
}

/// A browser that is signed in, and its ID token.
fn signed_in(suite: &Suite) -> (Browser<'_>, String) {
    let (browser, back) = suite.signed_in(&[]);
    let id_token = suite.tokens(&back).member("id_token");
    (browser, id_token)
}

fn leave(browser: &mut Browser<'_>, parameters: &[(&str, &str)]) -> Seen {
    browser.get(&format!("/oauth2/logout?{}", encoded(parameters)))
}

fn is_signed_in(browser: &mut Browser<'_>) -> bool {
    let back = browser.get(&address(&[("prompt", "none")])).back().1;
    if back.contains_key("code") {
        return true;
    }
    assert_eq!(back["error"], "login_required");
    false
}

/// Longer than most.
fn state() -> String {
    STATE.repeat(10)
}

fn logout(suite: &Suite) {
    let (mut browser, hint) = signed_in(suite);
    let state = state();
    let out = leave(
        &mut browser,
        &[("id_token_hint", &hint), ("post_logout_redirect_uri", POST_LOGOUT), ("state", &state)],
    );
    let (place, with) = out.back();
    assert_eq!((place.as_str(), &with["state"]), (POST_LOGOUT, &state));
    assert_eq!(error(&browser.get(&address(&[("prompt", "none")]))), "login_required");
}

/// The browser is not sent back, and nobody is signed out.
fn refused(suite: &Suite, parameters: impl FnOnce(&str) -> Vec<(&'static str, String)>) {
    let (mut browser, hint) = signed_in(suite);
    let parameters = parameters(&hint);
    let parameters: Vec<(&str, &str)> =
        parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    leave(&mut browser, &parameters).stays();
    assert!(is_signed_in(&mut browser));
}

fn to(uri: &str) -> (&'static str, String) {
    ("post_logout_redirect_uri", uri.to_owned())
}

fn bad_redirect_uri(suite: &Suite) {
    refused(suite, |hint| {
        vec![
            ("id_token_hint", hint.to_owned()),
            to("https://suite.example/test/a/durward/post_logout_redirect/x"),
        ]
    });
}

fn query_added(suite: &Suite) {
    refused(suite, |hint| vec![("id_token_hint", hint.to_owned()), to(&format!("{POST_LOGOUT}?foo=bar"))]);
}

/// `alg` becomes `none`.
fn modified_hint(suite: &Suite) {
    refused(suite, |hint| {
        let unsigned = with_part(hint, 0, |head| head["alg"] = json!("none"));
        let (signed, _) = unsigned.rsplit_once('.').unwrap();
        vec![("id_token_hint", format!("{signed}.")), to(POST_LOGOUT)]
    });
}

fn bad_hint(suite: &Suite) {
    refused(suite, |_| vec![("id_token_hint", "bad".to_owned()), to(POST_LOGOUT)]);
}

fn no_hint(suite: &Suite) {
    refused(suite, |_| vec![to(POST_LOGOUT)]);
}

/// The user is asked, and then reads that they are signed out.
fn asked(suite: &Suite, parameters: &[(&str, &str)]) {
    let (mut browser, _) = signed_in(suite);
    let form = leave(&mut browser, parameters);
    assert!(is_signed_in(&mut browser), "not before the user has said so");
    let out = browser.post("/oauth2/logout", &[("csrf", &form.csrf())]);
    assert!(out.status == 200 && out.text.contains("You are signed out"), "{}", out.text);
    assert!(!is_signed_in(&mut browser));
}

fn no_parameters(suite: &Suite) {
    asked(suite, &[]);
}

fn only_state(suite: &Suite) {
    asked(suite, &[("state", "s")]);
}

fn no_redirect_uri(suite: &Suite) {
    let (mut browser, hint) = signed_in(suite);
    let out = leave(&mut browser, &[("id_token_hint", &hint), ("state", "s")]);
    assert!(out.status == 200 && out.text.contains("You are signed out"), "{}", out.text);
    assert!(!is_signed_in(&mut browser));
}

fn no_state(suite: &Suite) {
    let (mut browser, hint) = signed_in(suite);
    let out = leave(&mut browser, &[("id_token_hint", &hint), ("post_logout_redirect_uri", POST_LOGOUT)]);
    assert_eq!(out.location.as_deref(), Some(POST_LOGOUT));
    assert!(!is_signed_in(&mut browser));
}

fn backchannel_discovery(suite: &Suite) {
    assert_eq!(document(suite)["backchannel_logout_supported"], true);
    assert_eq!(document(suite)["backchannel_logout_session_supported"], true);
}

fn backchannel(_: &Suite) {
    let (uri, told) = listener();
    let suite = Suite::with(&format!("backchannel_logout_uri = '{uri}'"));
    let (mut browser, hint) = signed_in(&suite);
    let out = leave(&mut browser, &[("id_token_hint", &hint), ("post_logout_redirect_uri", POST_LOGOUT)]);
    assert_eq!(out.location.as_deref(), Some(POST_LOGOUT));
    let body = told.recv_timeout(PATIENCE).unwrap();
    let token = body.strip_prefix("logout_token=").unwrap();
    assert_eq!(part(token, 0)["alg"], "RS256");
    let (claims, of_login) = (part(token, 1), part(&hint, 1));
    for claim in ["iss", "aud", "sub", "sid"] {
        assert_eq!(claims[claim], of_login[claim], "{claim}");
    }
    assert!(claims["jti"].is_string() && claims["iat"].is_u64() && claims["exp"].is_u64());
    assert_eq!(claims["events"], json!({ "http://schemas.openid.net/event/backchannel-logout": {} }));
    assert_eq!(claims.get("nonce"), None);
    assert!(!is_signed_in(&mut browser));
}
