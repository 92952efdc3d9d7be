//! Of the plan `fapi2-security-profile-final-test-plan`, what needs neither keys of clients nor tokens that are bound to them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

use super::{
    CALLBACK, Case, SECOND_CALLBACK, Seen, Suite, VERIFIER, address, asks_to_log_in, code, encoded, error,
    of_pushed, request, send,
};

pub(super) const CASES: &[Case] = &[
    ("fapi2-security-profile-final-user-rejects-authentication", user_rejects),
    ("fapi2-security-profile-final-ensure-authorization-request-without-state-success", without_state),
    ("fapi2-security-profile-final-ensure-authorization-request-without-nonce-success", without_nonce),
    ("fapi2-security-profile-final-ensure-authorization-request-with-64-char-nonce-success", nonce_of_64),
    ("fapi2-security-profile-final-ensure-authorization-request-with-long-nonce", long_nonce),
    ("fapi2-security-profile-final-ensure-authorization-request-with-long-state", long_state),
    ("fapi2-security-profile-final-ensure-other-scope-order-succeeds", other_scope_order),
    ("fapi2-security-profile-final-access-token-type-header-case-sensitivity", bearer_in_any_case),
    ("fapi2-security-profile-final-ensure-registered-redirect-uri", registered_redirect_uri),
    ("fapi2-security-profile-final-ensure-redirect-uri-in-authorization-request", redirect_uri_missing),
    ("fapi2-security-profile-final-ensure-response-type-code-idtoken-fails", code_id_token),
    ("fapi2-security-profile-final-ensure-response-type-token-fails", token),
    ("fapi2-security-profile-final-ensure-authorization-code-is-bound-to-client", code_of_other_client),
    ("fapi2-security-profile-final-attempt-reuse-authorization-code-after-one-second", code_reused),
    ("fapi2-security-profile-final-ensure-token-endpoint-fails-with-expired-auth-code", code_expired),
    ("fapi2-security-profile-final-refresh-token", refresh_token),
    (
        "fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds",
        seen_twice,
    ),
    ("fapi2-security-profile-final-par-attempt-reuse-request_uri", pushed_reused),
    ("fapi2-security-profile-final-par-attempt-to-use-expired-request_uri", pushed_expired),
    (
        "fapi2-security-profile-final-par-attempt-to-use-request_uri-for-different-client",
        pushed_of_other_client,
    ),
    (
        "fapi2-security-profile-final-par-authorization-request-containing-request_uri-form-param",
        pushed_in_pushed,
    ),
    ("fapi2-security-profile-final-par-attempt-invalid-http-method", pushed_with_get),
    ("fapi2-security-profile-final-ensure-pkce-code-verifier-required", verifier_missing),
    ("fapi2-security-profile-final-incorrect-pkce-code-verifier-rejected", verifier_wrong),
    ("fapi2-security-profile-final-par-plain-pkce-rejected", plain),
    ("fapi2-security-profile-final-par-without-duplicate-parameters", only_the_name),
];

pub(super) fn challenge() -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, VERIFIER.as_bytes()))
}

/// A login for a pushed request with these changes, with PKCE: what the browser brings.
fn pushed_flow(suite: &Suite, changes: &[(&str, &str)]) -> Seen {
    let challenge = challenge();
    let pkce = [("code_challenge", challenge.as_str()), ("code_challenge_method", "S256")];
    let name = suite.pushed(&[&pkce[..], changes].concat());
    let mut browser = suite.browser();
    let page = browser.get(&of_pushed("first", &name));
    browser.login(&page, "anna")
}

fn exchange(suite: &Suite, client: &str, code: &str, verifier: &str) -> Seen {
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", verifier),
    ];
    let form: Vec<(&str, &str)> = form.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    suite.world.ask(client, "/oauth2/token", &form)
}

fn succeeds(suite: &Suite, changes: &[(&str, &str)]) -> Seen {
    let tokens = exchange(suite, "first", &code(&pushed_flow(suite, changes)), VERIFIER);
    assert_eq!(suite.id_token(&tokens)["sub"], "anna");
    tokens
}

/// The request is refused where it is pushed.
fn not_pushed(suite: &Suite, changes: &[(&str, &str)], why: &str) {
    suite.world.ask("first", "/oauth2/par", &request(changes)).is_refused(400, why);
}

fn user_rejects(suite: &Suite) {
    let asked = request(&[("client_id", "asks")]);
    let answer = suite.world.ask("asks", "/oauth2/par", &asked);
    let name = answer.json()["request_uri"].as_str().unwrap().to_owned();
    let mut browser = suite.browser();
    let page = browser.get(&of_pushed("asks", &name));
    let consent = browser.login(&page, "anna");
    assert_eq!(error(&browser.answer(&consent, &[("consent", "no")])), "access_denied");
}

fn without_state(suite: &Suite) {
    let (_, brought) = pushed_flow(suite, &[("state", "")]).back();
    assert!(brought.contains_key("code") && !brought.contains_key("state"), "{brought:?}");
}

fn without_nonce(suite: &Suite) {
    succeeds(suite, &[("nonce", "")]);
}

fn nonce_of_64(suite: &Suite) {
    let nonce = "n".repeat(64);
    assert_eq!(suite.id_token(&succeeds(suite, &[("nonce", &nonce)]))["nonce"], nonce);
}

/// It may be refused, and if not, it comes back whole.
fn long_nonce(suite: &Suite) {
    let nonce = "n".repeat(384);
    assert_eq!(suite.id_token(&succeeds(suite, &[("nonce", &nonce)]))["nonce"], nonce);
    not_pushed(suite, &[("nonce", &"n".repeat(4096))], "invalid_request");
}

fn long_state(suite: &Suite) {
    let state = "s".repeat(384);
    assert_eq!(pushed_flow(suite, &[("state", &state)]).back().1["state"], state);
    not_pushed(suite, &[("state", &"s".repeat(4096))], "invalid_request");
}

fn other_scope_order(suite: &Suite) {
    let tokens = succeeds(suite, &[("scope", "email openid")]);
    assert_eq!(suite.userinfo(&tokens)["email"], "anna@example.org");
}

fn bearer_in_any_case(suite: &Suite) {
    let access = succeeds(suite, &[]).member("access_token");
    for scheme in ["bearer", "BEARER", "bEaReR"] {
        let shown = format!("{scheme} {access}");
        let said = send(&suite.world.server, "GET", "/oauth2/userinfo", &[("Authorization", &shown)], "");
        assert_eq!(said.json()["sub"], "anna");
    }
}

fn registered_redirect_uri(suite: &Suite) {
    for uri in [SECOND_CALLBACK, "https://suite.example/", "https://evil.example/"] {
        not_pushed(suite, &[("redirect_uri", uri)], "invalid_request");
    }
}

fn redirect_uri_missing(suite: &Suite) {
    not_pushed(suite, &[("redirect_uri", "")], "invalid_request");
}

fn code_id_token(suite: &Suite) {
    not_pushed(suite, &[("response_type", "code id_token")], "unsupported_response_type");
    let back = suite.browser().get(&address(&[("response_type", "code id_token")]));
    assert_eq!(error(&back), "unsupported_response_type");
}

fn token(suite: &Suite) {
    not_pushed(suite, &[("response_type", "token")], "unsupported_response_type");
    assert_eq!(
        error(&suite.browser().get(&address(&[("response_type", "token")]))),
        "unsupported_response_type"
    );
}

fn code_of_other_client(suite: &Suite) {
    let code = code(&pushed_flow(suite, &[]));
    exchange(suite, "second", &code, VERIFIER).is_refused(400, "invalid_grant");
    assert_eq!(exchange(suite, "first", &code, VERIFIER).status, 200);
}

fn code_reused(suite: &Suite) {
    let code = code(&pushed_flow(suite, &[]));
    let tokens = exchange(suite, "first", &code, VERIFIER);
    suite.world.pass(1);
    exchange(suite, "first", &code, VERIFIER).is_refused(400, "invalid_grant");
    assert_eq!(suite.world.userinfo(&tokens.member("access_token")).status, 401);
}

fn code_expired(suite: &Suite) {
    let code = code(&pushed_flow(suite, &[]));
    suite.world.pass(61);
    exchange(suite, "first", &code, VERIFIER).is_refused(400, "invalid_grant");
}

fn refresh_token(suite: &Suite) {
    let tokens = succeeds(suite, &[]);
    let form = [("grant_type", "refresh_token"), ("refresh_token", &tokens.member("refresh_token"))];
    suite.world.ask("second", "/oauth2/token", &form).is_refused(400, "invalid_grant");
    assert_eq!(suite.id_token(&suite.token(&form))["sub"], "anna");
}

/// It is used up when the user has logged in, and not when the page is looked at.
fn seen_twice(suite: &Suite) {
    let name = suite.pushed(&[]);
    let mut browser = suite.browser();
    assert!(asks_to_log_in(&browser.get(&of_pushed("first", &name))));
    let page = browser.get(&of_pushed("first", &name));
    assert!(!code(&browser.login(&page, "anna")).is_empty());
}

fn pushed_reused(suite: &Suite) {
    let name = suite.pushed(&[]);
    let mut browser = suite.browser();
    let page = browser.get(&of_pushed("first", &name));
    assert!(!code(&browser.login(&page, "anna")).is_empty());
    assert_eq!(error(&browser.get(&of_pushed("first", &name))), "invalid_request");
}

fn pushed_expired(suite: &Suite) {
    let name = suite.pushed(&[]);
    suite.world.pass(91);
    suite.browser().get(&of_pushed("first", &name)).stays();
}

fn pushed_of_other_client(suite: &Suite) {
    let name = suite.pushed(&[]);
    suite.browser().get(&of_pushed("second", &name)).stays();
}

fn pushed_in_pushed(suite: &Suite) {
    let name = suite.pushed(&[]);
    for uri in [name.as_str(), "https://suite.example/request.jwt"] {
        not_pushed(suite, &[("request_uri", uri)], "invalid_request");
    }
}

fn pushed_with_get(suite: &Suite) {
    let place = format!("/oauth2/par?{}", encoded(&request(&[])));
    for method in ["GET", "PUT"] {
        let body = if method == "PUT" { encoded(&request(&[])) } else { String::new() };
        assert_eq!(send(&suite.world.server, method, &place, &[], &body).status, 405, "{method}");
    }
}

fn verifier_missing(suite: &Suite) {
    let code = code(&pushed_flow(suite, &[]));
    exchange(suite, "first", &code, "").is_refused(400, "invalid_grant");
}

fn verifier_wrong(suite: &Suite) {
    let code = code(&pushed_flow(suite, &[]));
    exchange(suite, "first", &code, &VERIFIER.replace('d', "e")).is_refused(400, "invalid_grant");
}

fn plain(suite: &Suite) {
    let changes = [("code_challenge", VERIFIER), ("code_challenge_method", "plain")];
    not_pushed(suite, &changes, "invalid_request");
    not_pushed(suite, &changes[..1], "invalid_request");
}

fn only_the_name(suite: &Suite) {
    succeeds(suite, &[]);
}
