//! The plans `oidcc-basic-certification-test-plan` and `oidcc-config-certification-test-plan`.

use serde_json::{Value, json};

use super::{
    CALLBACK, Case, ISSUER, SECOND_CALLBACK, STATE, Seen, Suite, VERIFIER, address, asks_to_log_in, brought,
    code, encoded, error, request, send,
};
use crate::oidc::world::FORM;

pub(super) const CASES: &[Case] = &[
    ("oidcc-server", server),
    ("oidcc-response-type-missing", response_type_missing),
    ("oidcc-idtoken-signature", server),
    ("oidcc-userinfo-get", userinfo_get),
    ("oidcc-userinfo-post-header", userinfo_post_header),
    ("oidcc-userinfo-post-body", userinfo_post_body),
    ("oidcc-ensure-request-without-nonce-succeeds-for-code-flow", without_nonce),
    ("oidcc-scope-profile", scope_profile),
    ("oidcc-scope-email", scope_email),
    ("oidcc-scope-address", scope_address),
    ("oidcc-scope-phone", scope_phone),
    ("oidcc-scope-all", scope_all),
    ("oidcc-alternate-happy-flow", alternate_happy_flow),
    ("oidcc-display-page", display_page),
    ("oidcc-display-popup", display_popup),
    ("oidcc-prompt-login", prompt_login),
    ("oidcc-prompt-none-not-logged-in", prompt_none_not_logged_in),
    ("oidcc-prompt-none-logged-in", prompt_none_logged_in),
    ("oidcc-max-age-1", max_age_1),
    ("oidcc-max-age-10000", max_age_10000),
    ("oidcc-ensure-request-with-unknown-parameter-succeeds", unknown_parameter),
    ("oidcc-id-token-hint", id_token_hint),
    ("oidcc-login-hint", login_hint),
    ("oidcc-ui-locales", ui_locales),
    ("oidcc-claims-locales", claims_locales),
    ("oidcc-ensure-request-with-acr-values-succeeds", acr_values),
    ("oidcc-codereuse", code_reuse),
    ("oidcc-codereuse-30seconds", code_reuse_after_30_seconds),
    ("oidcc-ensure-registered-redirect-uri", registered_redirect_uri),
    ("oidcc-ensure-post-request-succeeds", post_request),
    ("oidcc-server-client-secret-post", client_secret_post),
    ("oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported", request_uri_unsigned),
    ("oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported", request_unsigned),
    ("oidcc-claims-essential", claims_essential),
    ("oidcc-ensure-request-object-with-redirect-uri", request_with_redirect_uri),
    ("oidcc-refresh-token", refresh_token),
    ("oidcc-ensure-request-with-valid-pkce-succeeds", valid_pkce),
    ("oidcc-discovery-endpoint-verification", discovery),
];

/// A whole flow with these parameters; the claims of the ID token and of `userinfo`.
fn flow(suite: &Suite, changes: &[(&str, &str)]) -> (Value, Value) {
    let (_, back) = suite.signed_in(changes);
    let tokens = suite.tokens(&back);
    let (id_token, said) = (suite.id_token(&tokens), suite.userinfo(&tokens));
    assert_eq!(id_token["sub"], said["sub"]);
    (id_token, said)
}

fn server(suite: &Suite) {
    let (id_token, _) = flow(suite, &[]);
    assert_eq!((&id_token["sub"], &id_token["nonce"]), (&json!("anna"), &json!("n-1")));
    assert!(id_token["at_hash"].is_string());
}

fn response_type_missing(suite: &Suite) {
    assert_eq!(error(&suite.browser().get(&address(&[("response_type", "")]))), "invalid_request");
}

fn userinfo_get(suite: &Suite) {
    let (_, said) = flow(suite, &[("scope", "openid profile email")]);
    assert_eq!((&said["name"], &said["email"]), (&json!("anna of House"), &json!("anna@example.org")));
}

/// `userinfo`, asked with POST.
fn posted(suite: &Suite, headers: &[(&str, &str)], body: &str) -> Seen {
    send(&suite.world.server, "POST", "/oauth2/userinfo", headers, body)
}

fn userinfo_post_header(suite: &Suite) {
    let (_, back) = suite.signed_in(&[]);
    let bearer = format!("Bearer {}", suite.tokens(&back).member("access_token"));
    assert_eq!(posted(suite, &[("Authorization", &bearer)], "").json()["sub"], "anna");
}

fn userinfo_post_body(suite: &Suite) {
    let (_, back) = suite.signed_in(&[]);
    let token = suite.tokens(&back).member("access_token");
    let body = encoded(&[("access_token", &token)]);
    assert_eq!(posted(suite, &[FORM], &body).json()["sub"], "anna");
}

fn without_nonce(suite: &Suite) {
    let (id_token, _) = flow(suite, &[("nonce", "")]);
    assert_eq!(id_token.get("nonce"), None);
}

fn scope_profile(suite: &Suite) {
    let (_, said) = flow(suite, &[("scope", "openid profile")]);
    assert_eq!((&said["name"], &said["preferred_username"]), (&json!("anna of House"), &json!("anna")));
}

fn scope_email(suite: &Suite) {
    assert_eq!(flow(suite, &[("scope", "openid email")]).1["email"], "anna@example.org");
}

fn scope_address(suite: &Suite) {
    let said = flow(suite, &[("scope", "openid address")]).1;
    assert_eq!(said["address"]["formatted"], "1 High Street, Ely");
}

fn scope_phone(suite: &Suite) {
    assert_eq!(flow(suite, &[("scope", "openid phone")]).1["phone_number"], "+44 1632 960001");
}

fn scope_all(suite: &Suite) {
    let said = flow(suite, &[("scope", "openid profile email address phone")]).1;
    for claim in ["name", "email", "address", "phone_number"] {
        assert!(said.get(claim).is_some(), "{claim} in {said}");
    }
}

/// Scopes and parameters in the opposite order.
fn alternate_happy_flow(suite: &Suite) {
    let mut parameters = request(&[("scope", "email openid")]);
    parameters.reverse();
    let mut browser = suite.browser();
    let page = browser.get(&format!("/oauth2/authorize?{}", encoded(&parameters)));
    let tokens = suite.tokens(&browser.login(&page, "anna"));
    assert_eq!(suite.id_token(&tokens)["sub"], "anna");
    assert_eq!(suite.userinfo(&tokens)["email"], "anna@example.org");
}

fn display_page(suite: &Suite) {
    flow(suite, &[("display", "page")]);
}

fn display_popup(suite: &Suite) {
    flow(suite, &[("display", "popup")]);
}

/// A second login, which the user is asked for: the claims of the ID tokens of both.
fn logged_in_twice(suite: &Suite, again: &[(&str, &str)]) {
    let (mut browser, back) = suite.signed_in(&[]);
    let first = suite.id_token(&suite.tokens(&back));
    suite.world.pass(2);
    let page = browser.get(&address(again));
    assert!(asks_to_log_in(&page), "{}", page.text);
    let second = suite.id_token(&suite.tokens(&browser.login(&page, "anna")));
    assert_eq!(first["sub"], second["sub"]);
    assert!(second["auth_time"].as_u64() > first["auth_time"].as_u64());
}

fn prompt_login(suite: &Suite) {
    logged_in_twice(suite, &[("prompt", "login")]);
}

fn prompt_none_not_logged_in(suite: &Suite) {
    assert_eq!(error(&suite.browser().get(&address(&[("prompt", "none")]))), "login_required");
}

/// A second answer without a word to the user: the same user, and the same login.
fn answered_twice(
    suite: &Suite,
    first: &[(&str, &str)],
    second: impl FnOnce(&Seen) -> Vec<(&'static str, String)>,
) {
    let (mut browser, back) = suite.signed_in(first);
    let tokens = suite.tokens(&back);
    let before = suite.id_token(&tokens);
    suite.world.pass(2);
    let changes = second(&tokens);
    let changes: Vec<(&str, &str)> = changes.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let after = suite.id_token(&suite.tokens(&browser.get(&address(&changes))));
    assert_eq!((&before["sub"], &before["auth_time"]), (&after["sub"], &after["auth_time"]));
}

fn prompt_none_logged_in(suite: &Suite) {
    answered_twice(suite, &[], |_| vec![("prompt", "none".to_owned())]);
}

fn max_age_1(suite: &Suite) {
    logged_in_twice(suite, &[("max_age", "1")]);
}

fn max_age_10000(suite: &Suite) {
    answered_twice(suite, &[("max_age", "15000")], |_| vec![("max_age", "10000".to_owned())]);
}

fn unknown_parameter(suite: &Suite) {
    flow(suite, &[("extra", "foobar")]);
}

fn id_token_hint(suite: &Suite) {
    answered_twice(suite, &[], |tokens| {
        vec![("prompt", "none".to_owned()), ("id_token_hint", tokens.member("id_token"))]
    });
}

fn login_hint(suite: &Suite) {
    let page = suite.browser().get(&address(&[("login_hint", "buffy@id.example.org")]));
    assert!(asks_to_log_in(&page) && page.text.contains("value=\"buffy@id.example.org\""), "{}", page.text);
    flow(suite, &[("login_hint", "anna")]);
}

/// A language that there is not is no error; one that there is, is that of every page.
fn ui_locales(suite: &Suite) {
    flow(suite, &[("ui_locales", "se")]);
    for (locales, language) in
        [("de", "de"), ("se de-AT en", "de"), ("se", "en"), ("de<x>", "en"), ("en de", "en")]
    {
        let mut browser = suite.browser();
        let page = browser.get(&address(&[("ui_locales", locales)]));
        assert!(page.text.contains(&format!("<html lang=\"{language}\"")), "{locales}: {}", page.text);
        let again = browser.answer(&page, &[("username", "anna"), ("password", "wrong")]);
        assert!(again.text.contains(&format!("<html lang=\"{language}\"")), "{locales}: {}", again.text);
    }
}

fn claims_locales(suite: &Suite) {
    flow(suite, &[("claims_locales", "se")]);
}

fn acr_values(suite: &Suite) {
    let (id_token, _) = flow(suite, &[("acr_values", "1 2 urn:durward:acr:level:0")]);
    assert_eq!(id_token["acr"], "urn:durward:acr:level:0");
}

/// The code a second time, some seconds later.
fn reused(suite: &Suite, seconds: u64) {
    let (_, back) = suite.signed_in(&[]);
    let tokens = suite.tokens(&back);
    suite.world.pass(seconds);
    suite.exchange(&code(&back)).is_refused(400, "invalid_grant");
    assert_eq!(suite.world.userinfo(&tokens.member("access_token")).status, 401);
}

fn code_reuse(suite: &Suite) {
    reused(suite, 0);
}

fn code_reuse_after_30_seconds(suite: &Suite) {
    reused(suite, 30);
}

fn registered_redirect_uri(suite: &Suite) {
    suite.browser().get(&address(&[("redirect_uri", &format!("{CALLBACK}/x"))])).stays();
    suite.browser().get(&address(&[("redirect_uri", SECOND_CALLBACK)])).stays();
}

/// The suite's form comes from another site, so that the browser brings no cookies at first, and is sent to ask again.
fn post_request(suite: &Suite) {
    let mut browser = suite.browser();
    let headers = [FORM, ("Sec-Fetch-Site", "cross-site")];
    let mut seen = browser.send("POST", "/oauth2/authorize", &headers, &encoded(&request(&[])));
    if let Some(place) = seen.location.clone() {
        seen = browser.get(&place);
    }
    let back = browser.login(&seen, "anna");
    assert_eq!(suite.id_token(&suite.tokens(&back))["sub"], "anna");
}

fn client_secret_post(suite: &Suite) {
    let (_, back) = suite.signed_in(&[]);
    let code = code(&back);
    let with = |secret: &str| {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", CALLBACK),
            ("client_id", "first"),
            ("client_secret", secret),
        ];
        suite.world.token(&form)
    };
    with("s3cret!").is_refused(401, "invalid_client");
    assert_eq!(suite.id_token(&with("s3cret"))["sub"], "anna");
}

fn request_uri_unsigned(suite: &Suite) {
    let mut browser = suite.browser();
    for uri in ["https://suite.example/request.jwt#x", "http://127.0.0.1:1/", "urn:else"] {
        assert_eq!(error(&browser.get(&address(&[("request_uri", uri)]))), "request_uri_not_supported");
    }
    // Where the browser may not be sent, no error sends it there.
    let elsewhere = [("request_uri", "https://suite.example/request.jwt"), ("redirect_uri", SECOND_CALLBACK)];
    browser.get(&address(&elsewhere)).stays();
}

/// An object with these claims, unsigned.
fn unsigned(claims: &Value) -> String {
    use base64::Engine as _;
    let part = |value: &Value| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.", part(&json!({ "alg": "none" })), part(claims))
}

fn request_unsigned(suite: &Suite) {
    let object =
        unsigned(&json!({ "client_id": "first", "redirect_uri": CALLBACK, "response_type": "code" }));
    assert_eq!(error(&suite.browser().get(&address(&[("request", &object)]))), "request_not_supported");
}

fn claims_essential(suite: &Suite) {
    let claims = json!({ "userinfo": { "name": { "essential": true } } }).to_string();
    flow(suite, &[("claims", &claims)]);
}

/// One address beside the object, and another one in it.
fn request_with_redirect_uri(suite: &Suite) {
    let object = unsigned(&json!({ "redirect_uri": SECOND_CALLBACK }));
    assert_eq!(error(&suite.browser().get(&address(&[("request", &object)]))), "request_not_supported");
}

fn refresh_token(suite: &Suite) {
    let (_, back) = suite.signed_in(&[("scope", "openid email")]);
    let tokens = suite.tokens(&back);
    let before = suite.id_token(&tokens);
    let form = [("grant_type", "refresh_token"), ("refresh_token", &tokens.member("refresh_token"))];
    suite.world.ask("second", "/oauth2/token", &form).is_refused(400, "invalid_grant");
    suite.world.pass(1);
    let fresh = suite.token(&form);
    assert_ne!(fresh.member("access_token"), tokens.member("access_token"));
    assert_eq!(suite.userinfo(&fresh)["email"], "anna@example.org");
    let after = suite.id_token(&fresh);
    for claim in ["iss", "sub", "aud", "auth_time"] {
        assert_eq!(before[claim], after[claim], "{claim}");
    }
    assert!(after["iat"].as_u64() > before["iat"].as_u64());
}

fn valid_pkce(suite: &Suite) {
    let challenge = super::fapi::challenge();
    let (_, back) = suite.signed_in(&[("code_challenge", &challenge), ("code_challenge_method", "S256")]);
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &code(&back)),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    assert_eq!(suite.id_token(&suite.token(&form))["sub"], "anna");
    assert_eq!(brought(&back)["state"], STATE);
}

fn discovery(suite: &Suite) {
    let reply = suite.world.server.get("/.well-known/openid-configuration");
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
    let document = reply.json();
    assert_eq!(document["issuer"], ISSUER);
    for name in ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"] {
        assert!(document[name].as_str().unwrap().starts_with("https://"), "{name}");
    }
    for (name, member) in document.as_object().unwrap() {
        assert!(!name.ends_with("_endpoint") || member.as_str().unwrap().starts_with("https://"), "{name}");
    }
    for (name, value) in [
        ("response_types_supported", "code"),
        ("subject_types_supported", "public"),
        ("id_token_signing_alg_values_supported", "RS256"),
        ("grant_types_supported", "authorization_code"),
        ("scopes_supported", "openid"),
        ("code_challenge_methods_supported", "S256"),
        ("claims_supported", "sub"),
    ] {
        assert!(document[name].as_array().unwrap().contains(&json!(value)), "{name}");
    }
    assert_eq!(document["request_uri_parameter_supported"], false, "it would be true if it were left out");
    let keys = suite.world.server.get("/.well-known/jwks.json").json();
    for key in keys["keys"].as_array().unwrap() {
        let members = key.as_object().unwrap();
        assert!(key["kid"].is_string() && key["use"] == "sig", "{key}");
        assert!(!["d", "p", "q", "k"].iter().any(|secret| members.contains_key(*secret)), "{key}");
    }
}
