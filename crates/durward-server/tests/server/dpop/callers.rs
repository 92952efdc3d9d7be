//! Callers whose tokens (`[auth.jwt]`) are bound to a key: over HTTP with a proof, and nowhere without.

use durward_server::Settings;
use durward_wire::rsocket::frame::Interaction;
use serde_json::{Value, json};

use super::key::ProofKey;
use crate::jwt::Signed;
use crate::oauth::world::{now_s, part};
use crate::rsocket::Client;
use crate::sapl::start;
use crate::support::{Directory, Reply, TestServer, request_xml};

const BASE: &str = "https://pdp.example.org/authz";

const SUBSCRIPTION: &str = r#"{"subject":"tenant","action":1,"resource":1}"#;

struct World {
    server: TestServer,
    issuer: Signed,
    key: ProofKey,
    _keys: Directory,
}

impl World {
    fn new(more: &str) -> World {
        let (issuer, keys) = (Signed::new(), Directory::new());
        keys.write("keys.json", &issuer.keys());
        let text = format!(
            "sapl.http = true\nrsocket.listen = '127.0.0.1:0'\nauth.guards = ['pdp', 'metrics']\n{more}\n\
             [auth.jwt]\nissuer = 'https://idp'\naudiences = ['durward']\nkeys = '{}'\n",
            keys.path("keys.json").display()
        );
        let (server, _) = start(&text);
        World { server, issuer, key: ProofKey::new(), _keys: keys }
    }

    fn here() -> World {
        World::new(&format!("auth.addresses = ['https://inside:8443', '{BASE}']"))
    }

    fn token(&self, confirmation: &Value) -> String {
        self.issuer.of(&json!({ "cnf": confirmation }))
    }

    fn bound(&self) -> String {
        self.token(&json!({ "jkt": self.key.thumbprint() }))
    }

    fn ask(&self, place: &Place, authorization: &str, proofs: &[&str]) -> Reply {
        let mut headers = vec![("Authorization", authorization), ("Content-Type", place.media_type)];
        headers.extend(proofs.iter().map(|proof| ("DPoP", *proof)));
        self.server.send(place.method, place.path, &headers, place.body.as_bytes())
    }

    fn with_proof(&self, place: &Place, token: &str, proof: &str) -> u16 {
        self.ask(place, &format!("DPoP {token}"), &[proof]).status
    }
}

/// Where callers authenticate.
struct Place {
    method: &'static str,
    path: &'static str,
    media_type: &'static str,
    body: String,
}

impl Place {
    fn all() -> [Place; 4] {
        let json = "application/json";
        let body = || SUBSCRIPTION.to_owned();
        [
            Place { method: "POST", path: "/api/pdp/decide-once", media_type: json, body: body() },
            Place {
                method: "POST",
                path: "/api/pdp/multi-decide-all-once",
                media_type: json,
                body: format!("{{\"one\":{SUBSCRIPTION}}}"),
            },
            Place {
                method: "POST",
                path: "/pdp",
                media_type: "application/xml",
                body: request_xml("doctor"),
            },
            Place { method: "GET", path: "/metrics", media_type: json, body: String::new() },
        ]
    }

    fn proof(&self, key: &ProofKey, token: &str) -> String {
        key.proof_at(self.method, &format!("{BASE}{}", self.path), Some(token))
    }
}

#[test]
fn a_caller_shows_the_key_of_their_token() {
    let world = World::here();
    let token = world.bound();
    for place in Place::all() {
        // The second time the token is remembered, and the proof is another.
        for _ in 0..2 {
            let reply = world.ask(&place, &format!("DPoP {token}"), &[&place.proof(&world.key, &token)]);
            assert_eq!(reply.status, 200, "{}: {}", place.path, reply.text());
        }
        let inside = format!("https://inside:8443{}", place.path);
        let proof = world.key.proof_at(place.method, &inside, Some(&token));
        assert_eq!(world.with_proof(&place, &token, &proof), 200, "by another of the server's addresses");
    }
}

#[test]
fn without_its_key_a_token_opens_nothing() {
    let world = World::here();
    let (token, other, thief) = (world.bound(), world.issuer.of(&json!({ "n": 1 })), ProofKey::new());
    for place in Place::all() {
        let seen = place.proof(&world.key, &token);
        assert_eq!(world.with_proof(&place, &token, &seen), 200);
        // It was verified a moment ago, and is remembered.
        let refused = world.ask(&place, &format!("Bearer {token}"), &[]);
        assert_eq!(refused.status, 401, "{}", place.path);
        let ways = refused.all("www-authenticate");
        assert!(ways.len() == 2 && ways[0] == "Bearer" && ways[1].starts_with("DPoP algs="), "{ways:?}");
        let proof = || place.proof(&world.key, &token);
        assert_eq!(world.ask(&place, &format!("Bearer {token}"), &[&proof()]).status, 401);
        let there = format!("{BASE}{}", place.path);
        for (what, proof) in [
            ("seen before", seen),
            ("by another key", place.proof(&thief, &token)),
            ("for another token", place.proof(&world.key, &other)),
            ("for no token", world.key.proof_at(place.method, &there, None)),
            ("for another method", world.key.proof_at("PUT", &there, Some(&token))),
            ("for another path", world.key.proof_at(place.method, &format!("{BASE}/else"), Some(&token))),
            ("for another host", {
                let address = format!("https://evil.example{}", place.path);
                world.key.proof_at(place.method, &address, Some(&token))
            }),
            ("for where it came to", {
                let address = format!("http://{}{}", world.server.address, place.path);
                world.key.proof_at(place.method, &address, Some(&token))
            }),
            ("none", "nonsense".to_owned()),
        ] {
            assert_eq!(world.with_proof(&place, &token, &proof), 401, "{}: {what}", place.path);
        }
        let authorization = format!("DPoP {token}");
        assert_eq!(world.ask(&place, &authorization, &[]).status, 401);
        assert_eq!(world.ask(&place, &authorization, &[&proof(), &proof()]).status, 401);
        // A token that is bound to nothing is not shown so, and one that is bound to something else is not taken.
        assert_eq!(world.ask(&place, &format!("Bearer {other}"), &[]).status, 200);
        assert_eq!(world.with_proof(&place, &other, &place.proof(&world.key, &other)), 401);
        for confirmation in [json!({ "x5t#S256": "abc" }), json!({}), json!("x"), Value::Null] {
            let token = world.token(&confirmation);
            assert_eq!(world.ask(&place, &format!("Bearer {token}"), &[]).status, 401, "{confirmation}");
            assert_eq!(world.with_proof(&place, &token, &place.proof(&world.key, &token)), 401);
        }
    }
}

/// It may have been shown before this server was started, which forgets with its end what it has seen.
#[test]
fn a_proof_of_before_the_start_is_refused() {
    let world = World::here();
    let token = world.bound();
    for place in Place::all() {
        let there = format!("{BASE}{}", place.path);
        let claims = part(&world.key.proof_at(place.method, &there, Some(&token)), 1);
        let claims = ["htm", "htu", "ath"].map(|name| (name, claims[name].clone()));
        let at = |ago: u64| world.key.changed(&[&claims[..], &[("iat", json!(now_s() - ago))]].concat(), &[]);
        assert_eq!(world.with_proof(&place, &token, &at(30)), 401, "{}", place.path);
        assert_eq!(world.with_proof(&place, &token, &at(0)), 200, "{}", place.path);
    }
}

#[test]
fn where_no_proof_can_be_shown_a_bound_token_is_refused() {
    let world = World::here();
    let setup = |token: &str| [b"\x81", token.as_bytes()].concat();
    Client::open(&world.server, Some(&setup(&world.bound()))).expect_refusal("Authentication failed");
    // Nor after it was shown elsewhere.
    let (place, token) = (&Place::all()[0], world.bound());
    assert_eq!(world.with_proof(place, &token, &place.proof(&world.key, &token)), 200);
    Client::open(&world.server, Some(&setup(&token))).expect_refusal("Authentication failed");
    let bearer = world.issuer.of(&json!({}));
    let mut client = Client::open(&world.server, Some(&setup(&bearer)));
    client.ask(1, Interaction::Response, "decide-once", "tenant");
    assert!(!client.payload(1, true).is_empty());
}

#[test]
fn a_server_that_does_not_know_its_address_takes_no_proofs() {
    let world = World::new("");
    let token = world.bound();
    for place in Place::all() {
        let proof = place.proof(&world.key, &token);
        let refused = world.ask(&place, &format!("DPoP {token}"), &[&proof]);
        assert_eq!((refused.status, refused.all("www-authenticate")), (401, vec!["Bearer"]));
    }
}

#[test]
fn the_issuer_is_the_address_where_no_other_is_named() {
    let world = World::new(&format!("oauth.issuer = '{BASE}'"));
    let token = world.bound();
    for place in Place::all() {
        assert_eq!(world.with_proof(&place, &token, &place.proof(&world.key, &token)), 200);
    }
}

#[test]
fn an_address_that_is_none_stops_the_start() {
    for address in ["pdp.example.org", "https://pdp.example.org/", "https://a/?b", ""] {
        let text = format!("auth.addresses = ['{address}']\n");
        let error = Settings::from_toml(&text, "test.toml").err().unwrap().to_string();
        assert!(error.contains("auth.addresses"), "{error}");
    }
}
