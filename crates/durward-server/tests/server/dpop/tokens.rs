//! At the token endpoint: what a token is bound to, and what proves nothing.

use std::sync::Arc;

use serde_json::{Value, json};

use super::key::ProofKey;
use crate::oauth::world::{EXCHANGE, ISSUER, SESSION, World, basic, clients, encoded, now_s, part, token_of};
use crate::support::{Directory, Reply};

/// What `shop` asks for itself.
const FORM: [(&str, &str); 2] = [("grant_type", "client_credentials"), ("audience", "orders")];

fn ask(world: &World, form: &[(&str, &str)], proofs: &[&str]) -> Reply {
    let shop = basic("shop", "s3cret");
    let mut headers = vec![("Authorization", shop.as_str())];
    headers.extend(proofs.iter().map(|proof| ("DPoP", *proof)));
    world.post("/oauth2/token", &headers, &encoded(form))
}

fn is_refused(reply: &Reply, error: &str) {
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert_eq!(reply.json()["error"], error, "{}", reply.text());
    assert_eq!(reply.header("cache-control"), "no-store");
}

#[test]
fn a_token_is_bound_to_the_key_that_its_client_shows() {
    let (world, key) = (World::new(""), ProofKey::new());
    let bound = json!({ "jkt": key.thumbprint() });
    let session = world.login("/", "anna");
    let exchange = [
        ("grant_type", EXCHANGE),
        ("audience", "orders"),
        ("subject_token", session.as_str()),
        ("subject_token_type", SESSION),
    ];
    for form in [FORM.as_slice(), &exchange] {
        let reply = ask(&world, form, &[&key.proof()]);
        let token = token_of(&reply);
        assert_eq!(reply.json()["token_type"], "DPoP");
        assert_eq!(part(&token, 1)["cnf"], bound);
        let said = world.introspect(&token);
        assert_eq!(
            (&said["active"], &said["token_type"], &said["cnf"]),
            (&json!(true), &json!("DPoP"), &bound)
        );
        let reply = ask(&world, form, &[]);
        assert_eq!(
            (&reply.json()["token_type"], &part(&token_of(&reply), 1)["cnf"]),
            (&json!("Bearer"), &Value::Null)
        );
        assert_eq!(world.introspect(&token_of(&reply))["token_type"], "Bearer");
    }
}

#[test]
fn the_issuer_says_which_proofs_it_takes() {
    let said = World::new("").server.get("/.well-known/oauth-authorization-server").json();
    let algorithms = said["dpop_signing_alg_values_supported"].as_array().unwrap();
    assert!(algorithms.contains(&json!("ES256")) && algorithms.contains(&json!("EdDSA")));
    assert!(!algorithms.iter().any(|name| name == "none" || name.as_str().unwrap().starts_with("HS")));
    let off =
        clients().replace("grants =", "dpop = 'off'\ngrants =").replace("serves =", "dpop = 'off'\nserves =");
    let world = World::start(Directory::new(), "", &off, Arc::default()).unwrap();
    let said = world.server.get("/.well-known/oauth-authorization-server").json();
    assert_eq!(said.get("dpop_signing_alg_values_supported"), None);
}

#[test]
fn a_client_shows_a_proof_as_its_settings_say() {
    let key = ProofKey::new();
    let with = |dpop: &str| {
        let clients = clients().replacen("grants =", &format!("dpop = '{dpop}'\ngrants ="), 1);
        World::start(Directory::new(), "", &clients, Arc::default()).unwrap()
    };
    let world = with("required");
    is_refused(&ask(&world, &FORM, &[]), "invalid_dpop_proof");
    assert_eq!(ask(&world, &FORM, &[&key.proof()]).status, 200);
    let world = with("off");
    is_refused(&ask(&world, &FORM, &[&key.proof()]), "unauthorized_client");
    assert_eq!(ask(&world, &FORM, &[]).json()["token_type"], "Bearer");
}

#[test]
fn what_proves_nothing_gets_nothing() {
    let (world, key, other) = (World::new(""), ProofKey::new(), ProofKey::new());
    let claim = |name: &str, value: Value| key.changed(&[(name, value)], &[]);
    let member = |name: &str, value: Value| key.changed(&[], &[(name, value)]);
    let mut private = key.jwk();
    private["d"] = json!("c2VjcmV0");
    for (what, proof) in [
        ("no proof", "nonsense".to_owned()),
        ("another host", claim("htu", json!("https://evil.example/oauth2/token"))),
        ("another port", claim("htu", json!("https://id.example.org:8443/oauth2/token"))),
        ("another path", claim("htu", json!(format!("{ISSUER}/oauth2/par")))),
        ("another scheme", claim("htu", json!("http://id.example.org/oauth2/token"))),
        (
            "where the request came to",
            claim("htu", json!(format!("http://{}/oauth2/token", world.server.address))),
        ),
        ("another method", claim("htm", json!("GET"))),
        ("too old", claim("iat", json!(now_s() - 90))),
        ("of tomorrow", claim("iat", json!(now_s() + 90))),
        ("without a time", claim("iat", Value::Null)),
        ("without a name", claim("jti", Value::Null)),
        ("no algorithm", member("alg", json!("none"))),
        ("a shared secret", member("alg", json!("HS256"))),
        ("another kind of token", member("typ", json!("JWT"))),
        ("a private key", member("jwk", private)),
        ("another's key", member("jwk", other.jwk())),
        ("no key", member("jwk", Value::Null)),
    ] {
        let reply = ask(&world, &FORM, &[&proof]);
        assert_eq!((reply.status, &reply.json()["error"]), (400, &json!("invalid_dpop_proof")), "{what}");
    }
    is_refused(&ask(&world, &FORM, &[&key.proof(), &key.proof()]), "invalid_dpop_proof");
    is_refused(&ask(&world, &FORM, &[&format!("{}, {}", key.proof(), key.proof())]), "invalid_dpop_proof");
    // Query, fragment, case and the usual port make no other address.
    for address in ["HTTPS://ID.example.org:443/oauth2/token", "https://id.example.org/oauth2/%74oken?a=b#c"]
    {
        assert_eq!(ask(&world, &FORM, &[&claim("htu", json!(address))]).status, 200, "{address}");
    }
}

#[test]
fn a_proof_is_good_once() {
    let (world, key, other) = (World::new(""), ProofKey::new(), ProofKey::new());
    let proof = key.proof();
    assert_eq!(ask(&world, &FORM, &[&proof]).status, 200);
    is_refused(&ask(&world, &FORM, &[&proof]), "invalid_dpop_proof");
    world.pass(50);
    is_refused(&ask(&world, &FORM, &[&proof]), "invalid_dpop_proof");
    // Its name is, also in another proof of the key; another key has names of its own.
    let named = |key: &ProofKey| {
        let iat = json!(now_s() + 50);
        key.changed(&[("jti", json!("one")), ("iat", iat)], &[])
    };
    assert_eq!(ask(&world, &FORM, &[&named(&key)]).status, 200);
    is_refused(&ask(&world, &FORM, &[&named(&key)]), "invalid_dpop_proof");
    assert_eq!(ask(&world, &FORM, &[&named(&other)]).status, 200);
}

/// What was shown before a restart, nobody knows after it. A client whose clock is behind goes on with a nonce, at once.
#[test]
fn a_proof_of_before_the_start_needs_a_nonce_of_after_it() {
    let (world, key) = (World::new(""), ProofKey::new());
    let early = |nonce: Value| key.changed(&[("iat", json!(now_s() - 30)), ("nonce", nonce)], &[]);
    let reply = ask(&world, &FORM, &[&early(Value::Null)]);
    is_refused(&reply, "use_dpop_nonce");
    let nonce = json!(reply.header("dpop-nonce"));
    let proof = early(nonce);
    assert_eq!(ask(&world, &FORM, &[&proof]).status, 200);
    is_refused(&ask(&world, &FORM, &[&proof]), "invalid_dpop_proof");
}

#[test]
fn a_request_that_is_refused_uses_up_no_proof() {
    let (world, key) = (World::new(""), ProofKey::new());
    let proof = key.proof();
    let wrong = [("grant_type", "client_credentials"), ("audience", "nobody")];
    is_refused(&ask(&world, &wrong, &[&proof]), "invalid_target");
    assert_eq!(ask(&world, &FORM, &[&proof]).status, 200);
}

fn with_nonce(key: &ProofKey, nonce: &str) -> String {
    key.changed(&[("nonce", json!(nonce))], &[])
}

#[test]
fn where_a_nonce_is_needed_it_is_one_of_this_server_and_new() {
    let (world, stranger, key) = (
        World::new("dpop_nonces_required = true"),
        World::new("dpop_nonces_required = true"),
        ProofKey::new(),
    );
    let nonce_of = |world: &World| {
        let reply = ask(world, &FORM, &[&key.proof()]);
        is_refused(&reply, "use_dpop_nonce");
        reply.header("dpop-nonce").to_owned()
    };
    let (nonce, strange) = (nonce_of(&world), nonce_of(&stranger));
    let reply = ask(&world, &FORM, &[&with_nonce(&key, &nonce)]);
    assert_eq!((reply.status, &reply.json()["token_type"]), (200, &json!("DPoP")));
    assert!(!reply.header("dpop-nonce").is_empty(), "the next one comes along");
    assert_eq!(ask(&world, &FORM, &[]).header("dpop-nonce"), "", "whoever shows no proof needs none");
    let mut changed = nonce.clone();
    changed.replace_range(0..1, if nonce.starts_with('A') { "B" } else { "A" });
    for wrong in [&strange, &changed, "made up", &nonce[1..]] {
        let reply = ask(&world, &FORM, &[&with_nonce(&key, wrong)]);
        is_refused(&reply, "use_dpop_nonce");
        assert!(!reply.header("dpop-nonce").is_empty());
    }
    world.pass(301);
    let late = key.changed(&[("nonce", json!(nonce)), ("iat", json!(now_s() + 301))], &[]);
    let reply = ask(&world, &FORM, &[&late]);
    is_refused(&reply, "use_dpop_nonce");
    let again = [("nonce", json!(reply.header("dpop-nonce"))), ("iat", json!(now_s() + 301))];
    assert_eq!(ask(&world, &FORM, &[&key.changed(&again, &[])]).status, 200);
}

#[test]
fn where_none_is_needed_a_wrong_one_is_still_wrong() {
    let (world, key) = (World::new(""), ProofKey::new());
    assert_eq!(ask(&world, &FORM, &[&key.proof()]).header("dpop-nonce"), "");
    let reply = ask(&world, &FORM, &[&with_nonce(&key, "made up")]);
    is_refused(&reply, "use_dpop_nonce");
    let nonce = reply.header("dpop-nonce").to_owned();
    assert_eq!(ask(&world, &FORM, &[&with_nonce(&key, &nonce)]).status, 200);
}

#[test]
fn nodes_of_a_cluster_take_each_others_nonces() {
    const DRAWN: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85";
    let start = |secret: &str| {
        let directory = Directory::new();
        directory.write_secret("cluster.key", &format!("{secret}{DRAWN}"));
        World::start(directory, "dpop_nonces_required = true", &clients(), Arc::default()).unwrap()
    };
    let (one, other, stranger, key) = (start("a"), start("a"), start("b"), ProofKey::new());
    let nonce = ask(&one, &FORM, &[&key.proof()]).header("dpop-nonce").to_owned();
    assert_eq!(ask(&other, &FORM, &[&with_nonce(&key, &nonce)]).status, 200);
    is_refused(&ask(&stranger, &FORM, &[&with_nonce(&key, &nonce)]), "use_dpop_nonce");
}

#[test]
fn pages_may_show_proofs() {
    let world = World::new("dpop_nonces_required = true");
    let asked = [
        ("Origin", "https://app.example"),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "dpop"),
    ];
    let reply = world.server.send("OPTIONS", "/oauth2/token", &asked, b"");
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (204, "*"));
    assert_eq!(reply.header("access-control-allow-headers"), "authorization, dpop");
    let reply = ask(&world, &FORM, &[&ProofKey::new().proof()]);
    assert_eq!(reply.header("access-control-expose-headers"), "DPoP-Nonce");
}
