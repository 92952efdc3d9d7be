//! Tokens that are asked about and recalled.

use std::sync::Arc;

use serde_json::json;

use super::world::{ISSUER, World, clients, part};
use crate::support::Directory;

#[test]
fn whoever_a_token_is_for_is_told_what_it_says() {
    let world = World::new("");
    let token = world.exchanged(&world.login("/sales", "anna"));
    let said = world.introspect(&token);
    assert_eq!(said["active"], true);
    let claims = part(&token, 1);
    for name in
        ["iss", "sub", "aud", "exp", "iat", "nbf", "jti", "client_id", "scope", "sid", "realm", "level"]
    {
        assert_eq!(said[name], claims[name], "{name}");
    }
    assert_eq!((&said["token_type"], &said["username"]), (&json!("Bearer"), &json!("anna")));
    // Whoever was given it may ask too; whoever has nothing to do with it is told nothing.
    let asked_by = |client: &str| world.ask(client, "/oauth2/introspect", &[("token", &token)]).json();
    assert_eq!(asked_by("shop")["active"], true);
    assert_eq!(asked_by("other"), json!({ "active": false }));
    assert_eq!(world.post("/oauth2/introspect", &[], &format!("token={token}")).status, 401);
}

#[test]
fn a_token_ends_with_the_session_it_comes_from() {
    let world = World::new("");
    let (session, other) = (world.login("/", "anna"), world.login("/", "anna"));
    let (token, of_other) = (world.exchanged(&session), world.exchanged(&other));
    assert!(world.is_active(&token));
    world.logout(&session);
    assert_eq!(world.introspect(&token), json!({ "active": false }));
    assert!(world.is_active(&of_other) && world.is_active(&world.token()));
}

#[test]
fn a_session_that_lay_unused_too_long_takes_its_tokens_along() {
    let world = World::new("token_lifetime_s = 7200");
    let session = world.login("/", "anna");
    let token = world.exchanged(&session);
    world.pass(29 * 60);
    // To be asked about is not to be used.
    assert!(world.is_active(&token));
    world.pass(3 * 60);
    assert!(!world.is_active(&token));
}

#[test]
fn a_token_has_an_end() {
    let world = World::new("token_lifetime_s = 60");
    let token = world.token();
    assert!(world.is_active(&token));
    world.pass(61);
    assert!(!world.is_active(&token));
}

#[test]
fn whoever_was_given_a_token_recalls_it_and_nobody_else_does() {
    let world = World::new("");
    let (token, other) = (world.token(), world.token());
    let revoke = |client: &str, token: &str| world.ask(client, "/oauth2/revoke", &[("token", token)]);
    let refused = revoke("orders", &token);
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("unauthorized_client")));
    assert!(world.is_active(&token));
    let done = revoke("shop", &token);
    assert_eq!((done.status, done.text().as_str(), done.header("cache-control")), (200, "", "no-store"));
    assert!(!world.is_active(&token) && world.is_active(&other));
    // RFC 7009, 2.2: what is no token needs no recalling; neither does one twice.
    assert_eq!((revoke("shop", &token).status, revoke("shop", "x").status), (200, 200));
    assert_eq!(world.ask("shop", "/oauth2/revoke", &[]).status, 400);
    assert_eq!(world.post("/oauth2/revoke", &[], &format!("token={other}")).status, 401);
    assert!(world.is_active(&other));
}

#[test]
fn what_was_recalled_stays_so_after_a_restart_and_keys_do_too() {
    let directory = Directory::new();
    let data = format!("data = '{}'", directory.path("oauth").display());
    let start = || World::start(Directory::new(), &data, &clients(), Arc::default()).unwrap();
    let world = start();
    let (token, other) = (world.token(), world.token());
    assert_eq!(world.ask("shop", "/oauth2/revoke", &[("token", &token)]).status, 200);
    let keys = world.keys();
    drop(world);
    let world = start();
    assert_eq!(world.keys(), keys);
    assert!(!world.is_active(&token) && world.is_active(&other));
    // An entry that a crash cut short is not in the way.
    drop(world);
    let path = directory.path("oauth/revoked-tokens");
    let mut journal = std::fs::read(&path).unwrap();
    journal.extend_from_slice(b"99999");
    std::fs::write(&path, journal).unwrap();
    let world = start();
    assert!(!world.is_active(&token) && world.is_active(&other));
}

#[test]
fn a_client_that_is_no_more_has_no_tokens_any_more() {
    let directory = Directory::new();
    let data = format!("data = '{}'", directory.path("oauth").display());
    let start = |clients: &str| World::start(Directory::new(), &data, clients, Arc::default()).unwrap();
    let token = start(&clients()).token();
    assert!(start(&clients()).is_active(&token));
    assert!(!start(&clients().replace("id = 'shop'", "id = 'store'")).is_active(&token));
}

#[test]
fn the_server_says_what_there_is_and_no_more() {
    let world = World::new("");
    let said = world.server.get("/.well-known/openid-configuration");
    assert_eq!(said.text(), world.server.get("/.well-known/oauth-authorization-server").text());
    let said = said.json();
    assert_eq!(said["issuer"], ISSUER);
    for (name, path) in [
        ("token_endpoint", "/oauth2/token"),
        ("introspection_endpoint", "/oauth2/introspect"),
        ("revocation_endpoint", "/oauth2/revoke"),
        ("jwks_uri", "/.well-known/jwks.json"),
    ] {
        assert_eq!(said[name], format!("{ISSUER}{path}"));
        assert_ne!(world.server.send("POST", path, &[], b"").status, 404, "{path}");
    }
    assert_eq!(said["response_types_supported"], json!([]));
    assert_eq!(said["scopes_supported"], json!(["read", "write"]));
    for absent in ["authorization_endpoint", "userinfo_endpoint", "id_token_signing_alg_values_supported"] {
        assert_eq!(said.get(absent), None);
    }
}
