//! A user logs in, and an application learns who they are, for as long as their session lives.

use serde_json::json;

use super::world::{CALLBACK, ISSUER, VERIFIER, World, clients, exchange};
use crate::oauth::world::part;

#[test]
fn an_application_learns_who_logged_in() {
    let world = World::new();
    let mut browser = world.browser();
    let form = browser.authorize(&[("login_hint", "an\"na")]);
    assert!(
        form.text.contains("value=\"an&#34;na\"") && form.text.contains("name=\"password\""),
        "{}",
        form.text
    );
    assert!(form.policy.contains("form-action 'self' https://app.example;"), "{}", form.policy);
    assert_eq!(browser.session(), None);
    let back = browser.login(&form, "anna");
    assert_eq!(back.back().1["state"], "s&t=1");
    let session = browser.session().unwrap().to_owned();
    assert!(!back.location.as_deref().unwrap().contains(&session), "a session's name is in no address");
    let tokens = world.exchange(&back.code());
    assert_eq!(tokens.json()["token_type"], "Bearer");
    assert_eq!(tokens.json()["scope"], "openid profile");
    let (access, id) = (tokens.member("access_token"), tokens.member("id_token"));
    assert_eq!(part(&id, 0)["typ"], "JWT");
    let claims = part(&id, 1);
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(ISSUER), &json!("app")));
    assert_eq!((&claims["sub"], &claims["nonce"]), (&json!("anna"), &json!("n-1")));
    assert_eq!((&claims["acr"], &claims["amr"]), (&json!("urn:durward:acr:level:0"), &json!(["pwd"])));
    assert_eq!(claims["sid"], part(&access, 1)["sid"]);
    assert_eq!(claims["exp"].as_u64().unwrap(), claims["iat"].as_u64().unwrap() + 300);
    assert!(claims["auth_time"].as_u64().unwrap() <= claims["iat"].as_u64().unwrap());
    // Ed25519 is made with SHA-512, of which the half has 43 characters.
    assert_eq!(claims["at_hash"].as_str().unwrap().len(), 43);
    assert_eq!(part(&access, 1)["aud"], json!([format!("{ISSUER}/oauth2/userinfo")]));
    let said = world.userinfo(&access);
    assert_eq!(said.json(), json!({ "sub": "anna", "preferred_username": "anna", "name": "anna of House" }));
    // The next application is served without a word.
    let second = browser.authorize(&[("scope", "openid email groups"), ("prompt", "none")]);
    let tokens = world.exchange(&second.code());
    let said = world.userinfo(&tokens.member("access_token"));
    assert_eq!(said.json(), json!({ "sub": "anna", "email": "anna@example.org", "groups": ["staff"] }));
}

#[test]
fn the_metadata_names_what_there_is() {
    let world = World::new();
    let reply = world.server.get("/.well-known/openid-configuration");
    assert_eq!(reply.header("access-control-allow-origin"), "*");
    let document = reply.json();
    for (name, path) in [
        ("authorization_endpoint", "authorize"),
        ("token_endpoint", "token"),
        ("userinfo_endpoint", "userinfo"),
        ("end_session_endpoint", "logout"),
        ("pushed_authorization_request_endpoint", "par"),
    ] {
        assert_eq!(document[name], format!("{ISSUER}/oauth2/{path}"));
    }
    assert_eq!(document["response_types_supported"], json!(["code"]));
    assert_eq!(document["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(document["id_token_signing_alg_values_supported"], json!(["EdDSA"]));
    assert!(document["token_endpoint_auth_methods_supported"].as_array().unwrap().contains(&json!("none")));
}

#[test]
fn a_client_with_a_secret_shows_it_and_needs_no_challenge() {
    let world = World::new();
    let mut browser = world.browser();
    let changes = [
        ("client_id", "shop"),
        ("redirect_uri", "https://shop.example/cb"),
        ("code_challenge", ""),
        ("code_challenge_method", ""),
    ];
    let form = browser.authorize(&changes);
    let code = browser.login(&form, "anna").back().1["code"].clone();
    let form = [
        ("grant_type", "authorization_code"),
        ("redirect_uri", "https://shop.example/cb"),
        ("code", code.as_str()),
    ];
    let mut unshown = form.to_vec();
    unshown.push(("client_id", "shop"));
    world.token(&unshown).is_refused(401, "invalid_client");
    let mut with_verifier = form.to_vec();
    with_verifier.push(("code_verifier", VERIFIER));
    world.ask("shop", "/oauth2/token", &with_verifier).is_refused(400, "invalid_grant");
    assert_eq!(part(&world.ask("shop", "/oauth2/token", &form).member("id_token"), 1)["aud"], "shop");
}

#[test]
fn a_code_is_good_once_and_used_again_it_ends_what_came_of_it() {
    let world = World::new();
    let (mut browser, code) = world.logged_in();
    let tokens = world.exchange(&code);
    let access = tokens.member("access_token");
    assert_eq!(world.userinfo(&access).status, 200);
    world.exchange(&code).is_refused(400, "invalid_grant");
    assert_eq!(world.userinfo(&access).status, 401);
    world.refresh(&tokens.member("refresh_token")).is_refused(400, "invalid_grant");
    // The user is still logged in.
    let again = browser.authorize(&[("prompt", "none")]).code();
    assert_eq!(world.exchange(&again).status, 200);
}

#[test]
fn refresh_tokens_follow_each_other_and_used_again_they_end() {
    let world = World::new();
    let (_, code) = world.logged_in();
    let first = world.exchange(&code);
    let second = world.refresh(&first.member("refresh_token"));
    let claims = part(&second.member("id_token"), 1);
    assert_eq!((&claims["sub"], claims.get("nonce")), (&json!("anna"), None));
    assert_eq!(claims["auth_time"], part(&first.member("id_token"), 1)["auth_time"]);
    let third = world.refresh(&second.member("refresh_token"));
    let access = third.member("access_token");
    assert_eq!(world.userinfo(&access).status, 200);
    world.refresh(&first.member("refresh_token")).is_refused(400, "invalid_grant");
    // Somebody has a token that was used: whoever has the newest one loses it too.
    world.refresh(&third.member("refresh_token")).is_refused(400, "invalid_grant");
    assert_eq!(world.userinfo(&access).status, 401);
}

#[test]
fn grants_of_one_session_do_not_end_each_other() {
    let world = World::new();
    let (mut browser, code) = world.logged_in();
    let other = browser.authorize(&[("prompt", "none")]).code();
    let (one, two) = (world.exchange(&code), world.exchange(&other));
    world.exchange(&code).is_refused(400, "invalid_grant");
    world.refresh(&one.member("refresh_token")).is_refused(400, "invalid_grant");
    assert_eq!(world.refresh(&two.member("refresh_token")).status, 200);
}

#[test]
fn an_old_grant_of_many_is_over_and_no_theft() {
    let world = World::new();
    let (mut browser, code) = world.logged_in();
    let oldest = world.exchange(&code);
    let access = oldest.member("access_token");
    for _ in 0..32 {
        let code = browser.authorize(&[("prompt", "none")]).code();
        assert_eq!(world.exchange(&code).status, 200);
    }
    world.refresh(&oldest.member("refresh_token")).is_refused(400, "invalid_grant");
    // Nothing was recalled: what it has given is good for its few minutes.
    assert_eq!(world.userinfo(&access).status, 200);
}

#[test]
fn scopes_may_be_fewer_with_a_refresh_token_and_not_more() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    let code = browser.authorize(&[("scope", "openid email unknown")]).code();
    let tokens = world.exchange(&code);
    assert_eq!(tokens.member("scope"), "openid email");
    let ask = |token: &str, scope: &str| {
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", "app"),
            ("refresh_token", token),
            ("scope", scope),
        ];
        world.token(&form)
    };
    // Who asks for too much has used up nothing.
    ask(&tokens.member("refresh_token"), "openid groups").is_refused(400, "invalid_scope");
    let fewer = ask(&tokens.member("refresh_token"), "email");
    assert_eq!(fewer.member("scope"), "email");
    assert_eq!(fewer.json().get("id_token"), None, "it is none of OpenID Connect");
    assert_eq!(world.userinfo(&fewer.member("access_token")).status, 403);
    ask(&fewer.member("refresh_token"), "openid groups").is_refused(400, "invalid_scope");
}

#[test]
fn what_a_client_may_not_have_any_more_is_in_no_later_token() {
    let world = World::new();
    let (mut browser, code) = world.logged_in();
    let with_resource = browser.authorize(&[("resource", "orders")]).code();
    world.take_from_app("openid", "orders");
    let tokens = world.exchange(&code);
    assert_eq!((tokens.member("scope").as_str(), tokens.json().get("id_token")), ("profile", None));
    world.exchange(&with_resource).is_refused(400, "invalid_target");
    assert_eq!(world.userinfo(&tokens.member("access_token")).status, 403);
}

#[test]
fn a_token_is_for_those_that_were_named() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    let code = browser.authorize(&[("resource", "orders")]).code();
    let access = world.exchange(&code).member("access_token");
    assert_eq!(part(&access, 1)["aud"], json!([format!("{ISSUER}/oauth2/userinfo"), "orders"]));
    let told = world.ask("orders", "/oauth2/introspect", &[("token", &access)]);
    assert_eq!((&told.json()["active"], &told.json()["username"]), (&json!(true), &json!("anna")));
    assert_eq!(browser.authorize(&[("resource", "else")]).error(), "invalid_target");
}

#[test]
fn a_token_for_userinfo_is_no_subject_of_a_decision() {
    let more = format!("audiences = ['orders', '{ISSUER}']");
    let clients = clients().replace("audiences = ['orders']", &more);
    let world = World::with("", &format!("decision_audiences = ['orders']\n{clients}"));
    let (mut browser, _) = world.logged_in();
    let mut decided = |resource: &str| {
        let code = browser.authorize(&[("resource", resource), ("scope", "openid")]).code();
        let access = world.exchange(&code).member("access_token");
        let subject = json!([{ "AttributeId": "urn:durward:subject:jwt", "Value": access }]);
        let body = json!({ "Request": { "AccessSubject": { "Attribute": subject } } }).to_string();
        let reply = world.server.post(&[("Content-Type", "application/xacml+json")], body);
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["Response"][0]["Decision"].as_str().unwrap().to_owned()
    };
    assert_eq!(decided(""), "Deny", "an application was to learn who logged in, and no more");
    assert_eq!([decided("orders"), decided(ISSUER)], ["Permit", "Permit"]);
}

#[test]
fn codes_and_refresh_tokens_are_over_in_their_time() {
    let world = World::new();
    let (_, code) = world.logged_in();
    world.pass(61);
    world.exchange(&code).is_refused(400, "invalid_grant");
    let (_, code) = world.logged_in();
    let refresh = world.exchange(&code).member("refresh_token");
    // An application that is not used does not keep a session.
    world.pass(31 * 60 + 60);
    world.refresh(&refresh).is_refused(400, "invalid_grant");
}

#[test]
fn a_client_ends_what_it_was_given() {
    let world = World::new();
    let (_, code) = world.logged_in();
    let tokens = world.exchange(&code);
    let (access, refresh) = (tokens.member("access_token"), tokens.member("refresh_token"));
    let of_other = world.ask("orders", "/oauth2/revoke", &[("token", &refresh)]);
    assert_eq!((of_other.status, world.userinfo(&access).status), (200, 200));
    assert_eq!(world.token(&[]).status, 401);
    let own = [("client_id", "app"), ("token", refresh.as_str())];
    let body = crate::oauth::world::encoded(&own);
    let reply = super::world::send(&world.server, "POST", "/oauth2/revoke", &[super::world::FORM], &body);
    assert_eq!((reply.status, world.userinfo(&access).status), (200, 401));
    world.refresh(&refresh).is_refused(400, "invalid_grant");
}

#[test]
fn a_pushed_request_is_good_once_and_for_its_client() {
    let world = World::new();
    let pushed = super::world::request(&[("state", "pushed")]);
    let push =
        |body: &str| super::world::send(&world.server, "POST", "/oauth2/par", &[super::world::FORM], body);
    let answer = push(&pushed);
    assert_eq!(answer.status, 201, "{}", answer.text);
    let name = answer.json()["request_uri"].as_str().unwrap().to_owned();
    assert!(name.starts_with("urn:ietf:params:oauth:request_uri:"));
    let place = |client: &str| {
        format!(
            "/oauth2/authorize?{}",
            crate::oauth::world::encoded(&[("client_id", client), ("request_uri", &name)])
        )
    };
    let mut browser = world.browser();
    browser.get(&place("asks")).stays();
    // A page that is loaded again does not use it up.
    let _ = browser.get(&place("app"));
    let form = browser.get(&place("app"));
    let back = browser.login(&form, "anna");
    assert_eq!(back.back().1["state"], "pushed");
    assert_eq!(world.exchange(&back.code()).status, 200);
    assert_eq!(browser.get(&place("app")).error(), "invalid_request");
    push(&super::world::request(&[("redirect_uri", "https://evil.example/")]))
        .is_refused(400, "invalid_request");
    push(&super::world::request(&[("code_challenge_method", "plain")])).is_refused(400, "invalid_request");
    let late = push(&pushed).json()["request_uri"].as_str().unwrap().to_owned();
    world.pass(91);
    let late = crate::oauth::world::encoded(&[("client_id", "app"), ("request_uri", &late)]);
    browser.get(&format!("/oauth2/authorize?{late}")).stays();
}

#[test]
fn a_program_of_this_machine_listens_where_it_can() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    let place = "http://127.0.0.1:49152/cb";
    let back = browser.authorize(&[("redirect_uri", place)]);
    assert_eq!(back.back().0, place);
    let code = back.back().1["code"].clone();
    let with = |redirect_uri| {
        let mut form = exchange(&code);
        form[2] = ("redirect_uri", redirect_uri);
        world.token(&form)
    };
    for other in [CALLBACK, "http://127.0.0.1/cb", "http://127.0.0.1:49153/cb"] {
        with(other).is_refused(400, "invalid_grant");
    }
    assert_eq!(with(place).status, 200);
}
