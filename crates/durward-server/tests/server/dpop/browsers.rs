//! For users with browsers: codes, refresh tokens and `userinfo`, and whoever steals one of them.

use serde_json::{Value, json};

use super::key::ProofKey;
use crate::oauth::world::{ISSUER, basic, encoded, part};
use crate::oidc::world::{Browser, CALLBACK, FORM, World, clients, exchange, request};
use crate::support::Reply;

const REFRESH: &str = "refresh_token";

fn post(world: &World, path: &str, form: &[(&str, &str)], headers: &[(&str, &str)]) -> Reply {
    let mut all = vec![FORM];
    all.extend(headers);
    world.server.send("POST", path, &all, encoded(form).as_bytes())
}

fn token(world: &World, form: &[(&str, &str)], proof: Option<&str>) -> Reply {
    let headers: Vec<(&str, &str)> = proof.map(|proof| ("DPoP", proof)).into_iter().collect();
    post(world, "/oauth2/token", form, &headers)
}

fn refresh(world: &World, refresh_token: &str, proof: Option<&str>) -> Reply {
    token(world, &[("grant_type", REFRESH), ("client_id", "app"), (REFRESH, refresh_token)], proof)
}

fn member(reply: &Reply, name: &str) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()[name].as_str().unwrap().to_owned()
}

fn is_refused(reply: &Reply, error: &str) {
    assert_eq!((reply.status, &reply.json()["error"]), (400, &json!(error)), "{}", reply.text());
}

fn userinfo(world: &World, scheme: &str, token: &str, proofs: &[&str]) -> Reply {
    let authorization = format!("{scheme} {token}");
    let mut headers = vec![("Authorization", authorization.as_str())];
    headers.extend(proofs.iter().map(|proof| ("DPoP", *proof)));
    world.server.send("GET", "/oauth2/userinfo", &headers, b"")
}

fn at_userinfo(key: &ProofKey, token: &str) -> String {
    key.proof_at("GET", &format!("{ISSUER}/oauth2/userinfo"), Some(token))
}

/// What is wrong, as the challenge says it.
fn is_challenged(reply: &Reply, error: &str) {
    let challenge = reply.header("www-authenticate");
    assert_eq!(reply.status, 401, "{challenge}");
    assert!(challenge.contains(&format!("error=\"{error}\"")), "{challenge}");
}

/// The tokens of a new login, bound to the key.
fn bound(world: &World, key: &ProofKey) -> (String, String) {
    let (_, code) = world.logged_in();
    let reply = token(world, &exchange(&code), Some(&key.proof()));
    assert_eq!(reply.json()["token_type"], "DPoP", "{}", reply.text());
    (member(&reply, "access_token"), member(&reply, REFRESH))
}

#[test]
fn a_stolen_token_is_worth_nothing_without_its_key() {
    let (world, key, thief) = (World::new(), ProofKey::new(), ProofKey::new());
    let (access, _) = bound(&world, &key);
    assert_eq!(part(&access, 1)["cnf"], json!({ "jkt": key.thumbprint() }));
    let proof = at_userinfo(&key, &access);
    let reply = userinfo(&world, "DPoP", &access, &[&proof]);
    assert_eq!((reply.status, &reply.json()["sub"]), (200, &json!("anna")), "{}", reply.text());
    assert_eq!(userinfo(&world, "dpop", &access, &[&at_userinfo(&key, &access)]).status, 200);
    // As a bearer token, also with a proof.
    is_challenged(&userinfo(&world, "Bearer", &access, &[]), "invalid_token");
    is_challenged(&userinfo(&world, "Bearer", &access, &[&at_userinfo(&key, &access)]), "invalid_token");
    let (other, _) = bound(&world, &key);
    let place = format!("{ISSUER}/oauth2/userinfo");
    let (first, second) = (at_userinfo(&key, &access), at_userinfo(&key, &access));
    for (what, proofs) in [
        ("no proof", vec![]),
        ("the proof that was seen", vec![proof]),
        ("a proof of another key", vec![at_userinfo(&thief, &access)]),
        ("a proof for another token", vec![at_userinfo(&key, &other)]),
        ("a proof for no token", vec![key.proof_at("GET", &place, None)]),
        ("a proof for another method", vec![key.proof_at("POST", &place, Some(&access))]),
        ("a proof for another address", vec![key.proof_at("GET", "https://else.example/", Some(&access))]),
        ("a proof for the token endpoint", vec![key.proof()]),
        ("two proofs", vec![first, second]),
    ] {
        let proofs: Vec<&str> = proofs.iter().map(String::as_str).collect();
        let reply = userinfo(&world, "DPoP", &access, &proofs);
        assert_eq!(reply.status, 401, "{what}");
        is_challenged(&reply, "invalid_dpop_proof");
    }
    // Nor does a proof make more of a token that is bound to nothing.
    let (_, code) = world.logged_in();
    let bearer = member(&token(&world, &exchange(&code), None), "access_token");
    is_challenged(&userinfo(&world, "DPoP", &bearer, &[&at_userinfo(&key, &bearer)]), "invalid_token");
    assert_eq!(userinfo(&world, "Bearer", &bearer, &[]).status, 200);
    let unshown = world.server.get("/oauth2/userinfo");
    assert_eq!(unshown.all("www-authenticate").len(), 2);
    assert!(unshown.all("www-authenticate")[1].starts_with("DPoP algs="));
}

#[test]
fn a_refresh_token_of_a_public_client_needs_its_key() {
    let (world, key, thief) = (World::new(), ProofKey::new(), ProofKey::new());
    let (_, first) = bound(&world, &key);
    is_refused(&refresh(&world, &first, Some(&thief.proof())), "invalid_grant");
    is_refused(&refresh(&world, &first, None), "invalid_grant");
    // What was tried with it used up nothing.
    let reply = refresh(&world, &first, Some(&key.proof()));
    let second = member(&reply, REFRESH);
    assert_eq!(reply.json()["token_type"], "DPoP");
    is_refused(&refresh(&world, &second, Some(&thief.proof())), "invalid_grant");
    let proof = key.proof();
    assert_eq!(refresh(&world, &second, Some(&proof)).status, 200);
    // From a bearer token there is a way to a bound one, and no way back.
    let (_, code) = world.logged_in();
    let unbound = member(&token(&world, &exchange(&code), None), REFRESH);
    is_refused(&refresh(&world, &unbound, Some(&proof)), "invalid_dpop_proof");
    let bound = member(&refresh(&world, &unbound, Some(&key.proof())), REFRESH);
    is_refused(&refresh(&world, &bound, None), "invalid_grant");
}

/// `shop` has a secret: that is what its refresh tokens are bound to.
#[test]
fn a_client_with_a_secret_may_change_its_key() {
    let (world, old, new) = (World::new(), ProofKey::new(), ProofKey::new());
    let shop = basic("shop", "s3cret");
    let ask = |form: &[(&str, &str)], proof: &str| {
        post(&world, "/oauth2/token", form, &[("Authorization", &shop), ("DPoP", proof)])
    };
    let mut browser = world.browser();
    let changes = [
        ("client_id", "shop"),
        ("redirect_uri", "https://shop.example/cb"),
        ("code_challenge", ""),
        ("code_challenge_method", ""),
    ];
    let form = browser.authorize(&changes);
    let code = browser.login(&form, "anna").back().1["code"].clone();
    let form =
        [("grant_type", "authorization_code"), ("redirect_uri", "https://shop.example/cb"), ("code", &code)];
    let first = ask(&form, &old.proof());
    let second = ask(&[("grant_type", REFRESH), (REFRESH, &member(&first, REFRESH))], &new.proof());
    let claims = part(&member(&second, "access_token"), 1);
    assert_eq!(claims["cnf"]["jkt"], new.thumbprint());
}

fn code_for(browser: &mut Browser<'_>, key: &str) -> String {
    browser.authorize(&[("prompt", "none"), ("dpop_jkt", key)]).code()
}

#[test]
fn a_code_that_was_asked_for_with_a_key_is_for_that_key() {
    let (world, key, thief) = (World::new(), ProofKey::new(), ProofKey::new());
    let (mut browser, _) = world.logged_in();
    let code = code_for(&mut browser, &key.thumbprint());
    is_refused(&token(&world, &exchange(&code), Some(&thief.proof())), "invalid_grant");
    is_refused(&token(&world, &exchange(&code), None), "invalid_grant");
    let reply = token(&world, &exchange(&code), Some(&key.proof()));
    assert_eq!(part(&member(&reply, "access_token"), 1)["cnf"]["jkt"], key.thumbprint());
    let long = format!("{}A", key.thumbprint());
    for wrong in ["short", &long, "not/base64/not/base64/not/base64/not/base64"] {
        assert_eq!(browser.authorize(&[("dpop_jkt", wrong)]).error(), "invalid_request", "{wrong}");
    }
    // A login in between keeps it.
    let mut browser = world.browser();
    let form = browser.authorize(&[("dpop_jkt", &key.thumbprint())]);
    let code = browser.login(&form, "anna").code();
    is_refused(&token(&world, &exchange(&code), Some(&thief.proof())), "invalid_grant");
    assert_eq!(token(&world, &exchange(&code), Some(&key.proof())).status, 200);
}

#[test]
fn a_pushed_request_binds_its_code_to_the_key_of_its_proof() {
    let (world, key, thief) = (World::new(), ProofKey::new(), ProofKey::new());
    let (mut browser, _) = world.logged_in();
    let push = |changes: &[(&str, &str)], proof: Option<&str>| {
        let mut headers = vec![FORM];
        headers.extend(proof.map(|proof| ("DPoP", proof)));
        world.server.send("POST", "/oauth2/par", &headers, request(changes).as_bytes())
    };
    let at_par = |key: &ProofKey| key.proof_at("POST", &format!("{ISSUER}/oauth2/par"), None);
    let name_of = |reply: &Reply| {
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply.json()["request_uri"].as_str().unwrap().to_owned()
    };
    let mut code_of = |name: &str| {
        let place = encoded(&[("client_id", "app"), ("request_uri", name)]);
        browser.get(&format!("/oauth2/authorize?{place}")).code()
    };
    let proof = at_par(&key);
    let code = code_of(&name_of(&push(&[], Some(&proof))));
    is_refused(&token(&world, &exchange(&code), Some(&thief.proof())), "invalid_grant");
    is_refused(&token(&world, &exchange(&code), None), "invalid_grant");
    assert_eq!(token(&world, &exchange(&code), Some(&key.proof())).status, 200);
    is_refused(&push(&[], Some(&proof)), "invalid_dpop_proof");
    is_refused(&push(&[], Some(&key.proof())), "invalid_dpop_proof");
    is_refused(&token(&world, &exchange("x"), Some(&proof)), "invalid_grant");
    let own = key.thumbprint();
    is_refused(&push(&[("dpop_jkt", &own)], Some(&at_par(&thief))), "invalid_dpop_proof");
    let code = code_of(&name_of(&push(&[("dpop_jkt", &own)], Some(&at_par(&key)))));
    assert_eq!(token(&world, &exchange(&code), Some(&key.proof())).status, 200);
    // Without a proof, by the name of the key alone.
    let code = code_of(&name_of(&push(&[("dpop_jkt", &own)], None)));
    is_refused(&token(&world, &exchange(&code), Some(&thief.proof())), "invalid_grant");
}

/// The proof that came with a stolen code, and a proof that was seen at the other endpoint.
#[test]
fn a_proof_that_was_seen_helps_nobody() {
    let (world, key) = (World::new(), ProofKey::new());
    let (mut browser, code) = world.logged_in();
    let proof = key.proof();
    assert_eq!(token(&world, &exchange(&code), Some(&proof)).status, 200);
    let code = browser.authorize(&[("prompt", "none")]).code();
    is_refused(&token(&world, &exchange(&code), Some(&proof)), "invalid_dpop_proof");
    // The code was not used up by that.
    let access = member(&token(&world, &exchange(&code), Some(&key.proof())), "access_token");
    let seen = at_userinfo(&key, &access);
    let code = browser.authorize(&[("prompt", "none")]).code();
    is_refused(&token(&world, &exchange(&code), Some(&seen)), "invalid_dpop_proof");
    // One name for two requests: the second is refused though all else is right.
    let named = |htm: &str, htu: String, ath: Value| {
        let claims = [("jti", json!("same")), ("htm", json!(htm)), ("htu", json!(htu)), ("ath", ath)];
        key.changed(&claims, &[])
    };
    let at_token = named("POST", format!("{ISSUER}/oauth2/token"), Value::Null);
    let access = member(&token(&world, &exchange(&code), Some(&at_token)), "access_token");
    let there = key.proof_at("GET", &format!("{ISSUER}/oauth2/userinfo"), Some(&access));
    let ath = part(&there, 1)["ath"].clone();
    let there = named("GET", format!("{ISSUER}/oauth2/userinfo"), ath);
    is_challenged(&userinfo(&world, "DPoP", &access, &[&there]), "invalid_dpop_proof");
}

/// Else whoever has an old refresh token fills the memory in which proofs are remembered.
#[test]
fn a_proof_beside_a_token_that_was_used_is_not_remembered() {
    let (world, key) = (World::new(), ProofKey::new());
    let (_, spent) = bound(&world, &key);
    assert_eq!(refresh(&world, &spent, Some(&key.proof())).status, 200);
    let proof = key.proof();
    for _ in 0..2 {
        is_refused(&refresh(&world, &spent, Some(&proof)), "invalid_grant");
    }
    let (_, code) = world.logged_in();
    assert_eq!(token(&world, &exchange(&code), Some(&proof)).status, 200);
    is_refused(&refresh(&world, &spent, Some(&proof)), "invalid_dpop_proof");
}

#[test]
fn a_client_whose_tokens_must_be_bound_gets_no_others() {
    let clients = clients().replacen("public = true", "public = true\ndpop = 'required'", 1);
    let (world, key) = (World::with("", &clients), ProofKey::new());
    let (mut browser, code) = world.logged_in();
    is_refused(&token(&world, &exchange(&code), None), "invalid_dpop_proof");
    assert_eq!(token(&world, &exchange(&code), Some(&key.proof())).status, 200);
    assert_eq!(browser.authorize(&[("prompt", "none")]).back().0, CALLBACK);
}

#[test]
fn userinfo_gives_out_nonces_where_they_are_needed() {
    let clients = format!("dpop_nonces_required = true\n{}", clients());
    let (world, key) = (World::with("", &clients), ProofKey::new());
    let (_, code) = world.logged_in();
    let refused = token(&world, &exchange(&code), Some(&key.proof()));
    is_refused(&refused, "use_dpop_nonce");
    let nonce = json!(refused.header("dpop-nonce"));
    let proof = key.changed(&[("nonce", nonce)], &[]);
    let access = member(&token(&world, &exchange(&code), Some(&proof)), "access_token");
    let refused = userinfo(&world, "DPoP", &access, &[&at_userinfo(&key, &access)]);
    is_challenged(&refused, "use_dpop_nonce");
    let nonce = json!(refused.header("dpop-nonce"));
    let claims = part(&at_userinfo(&key, &access), 1);
    let claims = ["htm", "htu", "ath"].map(|name| (name, claims[name].clone()));
    let proof = key.changed(&[&claims[..], &[("nonce", nonce)]].concat(), &[]);
    assert_eq!(userinfo(&world, "DPoP", &access, &[&proof]).status, 200);
}
