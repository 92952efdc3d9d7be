//! Tokens that are given, and to whom not.

use serde_json::json;

use super::world::{EXCHANGE, ISSUER, SESSION, World, basic, encoded, now_s, part, token_of};
use crate::support::Reply;

fn is_refused(reply: &Reply, status: u16, error: &str) {
    assert_eq!((reply.status, &reply.json()["error"]), (status, &json!(error)), "{}", reply.text());
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(reply.header("pragma"), "no-cache");
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("www-authenticate").starts_with("Basic realm="), status == 401);
}

const FOR_ITSELF: [(&str, &str); 2] = [("grant_type", "client_credentials"), ("audience", "orders")];

#[test]
fn a_client_gets_a_token_for_itself() {
    let world = World::new("");
    let reply = world.ask("shop", "/oauth2/token", &FOR_ITSELF);
    let token = token_of(&reply);
    let answer = reply.json();
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(300)));
    assert_eq!(answer["scope"], "read write");
    assert_eq!((reply.header("cache-control"), reply.header("pragma")), ("no-store", "no-cache"));
    let (header, claims) = (part(&token, 0), part(&token, 1));
    assert_eq!((&header["typ"], &header["alg"]), (&json!("at+jwt"), &json!("EdDSA")));
    assert_eq!(claims["iss"], ISSUER);
    assert_eq!(claims["sub"], "client:shop");
    assert_eq!(claims["client_id"], "shop");
    assert_eq!(claims["aud"], json!(["orders"]));
    assert_eq!(claims["scope"], "read write");
    assert_eq!(claims["exp"].as_u64().unwrap(), claims["iat"].as_u64().unwrap() + 300);
    assert!(now_s().abs_diff(claims["iat"].as_u64().unwrap()) < 120);
    assert_eq!(claims.get("sid"), None);
    assert_ne!(part(&token, 1)["jti"], part(&world.token(), 1)["jti"]);
}

#[test]
fn a_client_gets_a_token_for_the_user_of_a_session() {
    let world = World::new("");
    let reply = world.exchange(&world.login("/", "anna"));
    let claims = part(&token_of(&reply), 1);
    assert_eq!(reply.json()["issued_token_type"], "urn:ietf:params:oauth:token-type:access_token");
    assert_eq!((&claims["sub"], &claims["client_id"]), (&json!("anna"), &json!("shop")));
    assert_eq!((&claims["realm"], &claims["level"]), (&json!("/"), &json!(0)));
    assert_eq!(claims["scope"], "read");
    assert_eq!(claims["sid"].as_str().unwrap().len(), 32);
    assert!(claims["auth_time"].as_u64().unwrap() <= claims["iat"].as_u64().unwrap());
}

#[test]
fn no_two_who_are_somebody_else_have_the_same_subject() {
    let world = World::new("");
    let subject = |realm, user| part(&world.exchanged(&world.login(realm, user)), 1)["sub"].clone();
    assert_eq!(subject("/sales", "anna"), "anna@/sales");
    // A user who is named as a client is called.
    assert_eq!(subject("/", "client:shop"), "client:shop@/");
    assert_eq!(part(&world.token(), 1)["sub"], "client:shop");
}

#[test]
fn a_token_does_not_outlive_its_session() {
    let world = World::new("token_lifetime_s = 3600");
    let session = world.login("/", "anna");
    // Used now and then, the session lasts two hours from its login.
    for _ in 0..6 {
        world.pass(1_140);
        world.exchanged(&session);
    }
    let reply = world.exchange(&session);
    let left = reply.json()["expires_in"].as_u64().unwrap();
    assert!((1..=360).contains(&left), "{left}");
    world.pass(360);
    is_refused(&world.exchange(&session), 400, "invalid_request");
}

#[test]
fn clients_authenticate_in_one_of_two_ways() {
    let world = World::new("");
    let body = encoded(&FOR_ITSELF);
    let in_body = format!("{body}&client_id=shop&client_secret=s3cret");
    assert_eq!(world.post("/oauth2/token", &[], &in_body).status, 200);
    // RFC 6749, 2.3.1: id and secret are escaped before they are joined.
    assert_eq!(
        world.post("/oauth2/token", &[("Authorization", &basic("%73hop", "s3cre%74"))], &body).status,
        200
    );
    let wrong = [
        basic("shop", "wrong"),
        basic("nobody", "s3cret"),
        basic("shop", ""),
        basic("", "s3cret"),
        "Bearer s3cret".to_owned(),
        "Basic !!".to_owned(),
        basic("sh%op", "s3cret"),
    ];
    for header in &wrong {
        is_refused(&world.post("/oauth2/token", &[("Authorization", header)], &body), 401, "invalid_client");
    }
    for missing in ["", "&client_id=shop", "&client_secret=s3cret", "&client_id=shop&client_secret="] {
        is_refused(&world.post("/oauth2/token", &[], &format!("{body}{missing}")), 401, "invalid_client");
    }
    let header = basic("shop", "s3cret");
    let twice = world.post("/oauth2/token", &[("Authorization", &header)], &in_body);
    is_refused(&twice, 400, "invalid_request");
    let other =
        world.post("/oauth2/token", &[("Authorization", &header)], &format!("{body}&client_id=other"));
    is_refused(&other, 400, "invalid_request");
    let headers = [("Authorization", header.as_str()), ("Authorization", header.as_str())];
    is_refused(&world.post("/oauth2/token", &headers, &body), 400, "invalid_request");
}

#[test]
fn an_audience_is_always_said_and_always_one_of_the_clients() {
    let world = World::new("");
    let ask = |audiences: &[(&str, &str)]| {
        let mut form = vec![("grant_type", "client_credentials")];
        form.extend(audiences);
        world.ask("shop", "/oauth2/token", &form)
    };
    is_refused(&ask(&[]), 400, "invalid_request");
    is_refused(&ask(&[("audience", "")]), 400, "invalid_request");
    for audience in ["else", "Orders", "orders ", "orders stock"] {
        is_refused(&ask(&[("audience", audience)]), 400, "invalid_target");
    }
    is_refused(&ask(&[("audience", "orders"), ("audience", "else")]), 400, "invalid_target");
    let both = ask(&[("audience", "orders"), ("resource", "https://stock.example.org")]);
    assert_eq!(part(&token_of(&both), 1)["aud"], json!(["https://stock.example.org", "orders"]));
}

#[test]
fn scopes_are_those_of_the_client() {
    let world = World::new("");
    let ask = |scope: &str| {
        let mut form = FOR_ITSELF.to_vec();
        form.push(("scope", scope));
        world.ask("shop", "/oauth2/token", &form)
    };
    assert_eq!(ask("write").json()["scope"], "write");
    assert_eq!(ask(" write  write ").json()["scope"], "write");
    for scope in ["admin", "read admin", "Read", "re\"ad", "read,write", "read\nwrite"] {
        is_refused(&ask(scope), 400, "invalid_scope");
    }
}

#[test]
fn grants_are_those_there_are_and_those_of_the_client() {
    let world = World::new("");
    for grant in ["password", "implicit", "CLIENT_CREDENTIALS", "x\"\\\n"] {
        let form = [("grant_type", grant), ("audience", "orders")];
        is_refused(&world.ask("shop", "/oauth2/token", &form), 400, "unsupported_grant_type");
    }
    is_refused(&world.ask("shop", "/oauth2/token", &[("audience", "orders")]), 400, "invalid_request");
    for grant in ["authorization_code", "refresh_token"] {
        let form =
            [("grant_type", grant), ("code", "x"), ("refresh_token", "x"), ("redirect_uri", "https://x/")];
        is_refused(&world.ask("shop", "/oauth2/token", &form), 400, "unauthorized_client");
    }
    is_refused(&world.ask("orders", "/oauth2/token", &FOR_ITSELF), 400, "unauthorized_client");
    let form = [
        ("grant_type", EXCHANGE),
        ("audience", "else"),
        ("subject_token", "x"),
        ("subject_token_type", SESSION),
    ];
    is_refused(&world.ask("other", "/oauth2/token", &form), 400, "unauthorized_client");
}

#[test]
fn only_the_token_of_a_living_session_is_exchanged() {
    let world = World::new("");
    let session = world.login("/", "anna");
    let ended = world.login("/", "anna");
    world.logout(&ended);
    let access_token = world.exchanged(&session);
    for token in [ended.as_str(), "x", &session[1..], &access_token] {
        is_refused(&world.exchange(token), 400, "invalid_request");
    }
    let ask = |more: &[(&str, &str)]| {
        let mut form =
            vec![("grant_type", EXCHANGE), ("audience", "orders"), ("subject_token", session.as_str())];
        form.extend(more);
        world.ask("shop", "/oauth2/token", &form)
    };
    let jwt = "urn:ietf:params:oauth:token-type:jwt";
    is_refused(&ask(&[]), 400, "invalid_request");
    is_refused(&ask(&[("subject_token_type", jwt)]), 400, "invalid_request");
    let kind = ("subject_token_type", SESSION);
    is_refused(&ask(&[kind, ("actor_token", "x")]), 400, "invalid_request");
    is_refused(
        &ask(&[kind, ("requested_token_type", "urn:ietf:params:oauth:token-type:saml2")]),
        400,
        "invalid_request",
    );
    assert_eq!(ask(&[kind, ("requested_token_type", jwt)]).status, 200);
}
