//! What nobody gets in with, and what nobody takes the server down with.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::json;

use super::world::{World, basic, encoded, part, with_part};
use crate::support::Directory;

#[test]
fn a_token_that_was_changed_is_inactive() {
    let world = World::new("");
    let token = world.token();
    assert!(world.is_active(&token));
    let later = json!(part(&token, 1)["exp"].as_u64().unwrap() + 1);
    let parts: Vec<&str> = token.split('.').collect();
    let hostile = [
        with_part(&token, 1, |claims| claims["exp"] = later),
        with_part(&token, 1, |claims| claims["sub"] = json!("client:root")),
        with_part(&token, 1, |claims| claims["iss"] = json!("https://evil.example.org")),
        with_part(&token, 0, |header| header["alg"] = json!("ES256")),
        with_part(&token, 0, |header| header["kid"] = json!("../../etc/passwd")),
        with_part(&token, 0, |header| header["crit"] = json!(["exp"])),
        with_part(&token, 0, |header| header["jwk"] = json!({ "kty": "oct", "k": "AAAA" })),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{token}.{}", parts[2]),
        format!("{token}="),
        format!(" {token}"),
        token[..token.len() - 4].to_owned(),
        "..".to_owned(),
        "\0".to_owned(),
        "a".repeat(40_000),
    ];
    for (number, token) in hostile.iter().enumerate() {
        assert_eq!(world.introspect(token), json!({ "active": false }), "number {number}");
    }
}

#[test]
fn no_signature_and_a_public_key_taken_for_a_secret_lead_nowhere() {
    let world = World::new("");
    let token = world.token();
    for name in ["none", "None", "NONE", ""] {
        let unsigned = with_part(&token, 0, |header| header["alg"] = json!(name));
        let (signed, _) = unsigned.rsplit_once('.').unwrap();
        assert!(!world.is_active(&unsigned) && !world.is_active(&format!("{signed}.")), "{name}");
    }
    let keys = world.server.get("/.well-known/jwks.json").json();
    let public = URL_SAFE_NO_PAD.decode(keys["keys"][0]["x"].as_str().unwrap()).unwrap();
    let confused = with_part(&token, 0, |header| header["alg"] = json!("HS256"));
    let (signed, _) = confused.rsplit_once('.').unwrap();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &public), signed.as_bytes());
    assert!(!world.is_active(&format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))));
}

#[test]
fn a_token_of_another_server_is_inactive() {
    let (world, other) = (World::new(""), World::new(""));
    assert!(!world.is_active(&other.token()));
}

#[test]
fn a_token_from_a_clock_far_ahead_is_inactive() {
    let directory = Directory::new();
    let data = format!("data = '{}'", directory.path("oauth").display());
    let start = || {
        World::start(Directory::new(), &data, &super::world::clients(), std::sync::Arc::default()).unwrap()
    };
    let (world, ahead) = (start(), start());
    ahead.pass(60);
    assert!(world.is_active(&ahead.token()));
    ahead.pass(600);
    assert!(!world.is_active(&ahead.token()));
}

#[test]
fn public_keys_hold_nothing_private() {
    let keys = World::new("algorithms = ['EdDSA', 'ES256']").server.get("/.well-known/jwks.json");
    assert_eq!(keys.header("cache-control"), "public, max-age=3600");
    for key in keys.json()["keys"].as_array().unwrap() {
        let names: Vec<&str> = key.as_object().unwrap().keys().map(String::as_str).collect();
        assert!(
            names.iter().all(|name| ["kid", "use", "alg", "kty", "crv", "x", "y"].contains(name)),
            "{names:?}"
        );
    }
}

#[test]
fn requests_that_could_be_read_in_two_ways_are_refused() {
    let world = World::new("");
    let header = basic("shop", "s3cret");
    let headers = [("Authorization", header.as_str())];
    let form = encoded(&[("grant_type", "client_credentials"), ("audience", "orders")]);
    let bodies = [
        format!("{form}&grant_type=client_credentials"),
        format!("{form}&scope=read&scope=write"),
        format!("{form}&scope=read&scope="),
        format!("{form}&scope=%zz"),
        format!("{form}&scope=%ff"),
        format!("{form}{}", "&audience=orders".repeat(100)),
        (0..100).map(|number| format!("p{number}=1&")).collect::<String>() + &form,
        String::new(),
    ];
    for body in &bodies {
        let reply = world.post("/oauth2/token", &headers, body);
        assert_eq!((reply.status, &reply.json()["error"]), (400, &json!("invalid_request")), "{body}");
    }
    let in_address = world.post("/oauth2/token?client_secret=s3cret", &headers, &form);
    assert_eq!(in_address.status, 400);
    let as_json = [("Authorization", header.as_str()), ("Content-Type", "application/json")];
    let reply =
        world.server.send("POST", "/oauth2/token", &as_json, br#"{"grant_type":"client_credentials"}"#);
    assert_eq!((reply.status, &reply.json()["error"]), (400, &json!("invalid_request")));
    assert_eq!(world.post("/oauth2/token", &headers, &form).status, 200);
}

#[test]
fn a_body_has_a_bound_and_a_secret_too() {
    let world = World::new("");
    let reply = world.post("/oauth2/token", &[], &format!("client_secret={}", "a".repeat(1024 * 1024)));
    assert_eq!((reply.status, &reply.json()["error"]), (413, &json!("invalid_request")));
    assert_eq!(reply.header("cache-control"), "no-store");
    let body = format!("grant_type=client_credentials&client_id=shop&client_secret={}", "a".repeat(30_000));
    assert_eq!(world.post("/oauth2/token", &[], &body).status, 401);
    assert_eq!(world.server.metric("durward_panics_total"), 0.0);
}

#[test]
fn the_token_endpoint_takes_posts_alone() {
    let world = World::new("");
    for path in ["/oauth2/token", "/oauth2/introspect", "/oauth2/revoke"] {
        // Pages that show a proof ask first whether they may.
        let allowed = if path == "/oauth2/token" { "POST, OPTIONS" } else { "POST" };
        for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
            if method == "OPTIONS" && allowed.ends_with(method) {
                continue;
            }
            let reply = world.server.send(method, path, &[], b"");
            assert_eq!((reply.status, reply.header("allow")), (405, allowed), "{method} {path}");
            assert_eq!(reply.header("cache-control"), "no-store");
        }
    }
}

#[test]
fn settings_that_would_give_tokens_to_nobody_or_anybody_stop_the_start() {
    use durward_server::Settings;
    let with = |oauth: &str| {
        let text = format!("[oauth]\nissuer = 'https://id.example.org'\n{oauth}");
        Settings::from_toml(&text, "t").err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(with(&super::world::clients()), "");
    let client = "[[oauth.clients]]\nid = 'a'\nsecret = '$argon2id$x'\n";
    let cases = [
        ("issuer = 'x'".to_owned(), "duplicate"),
        ("algorithms = []".to_owned(), "oauth.algorithms"),
        ("algorithms = ['RS256']".to_owned(), "oauth.rs256_key_paths"),
        ("algorithms = ['HS256']".to_owned(), "HS256"),
        ("token_lifetime_s = 0".to_owned(), "oauth.token_lifetime_s"),
        ("token_lifetime_s = 1000000".to_owned(), "oauth.token_lifetime_s"),
        ("key_period_s = 3600".to_owned(), "oauth.key_period_s"),
        (format!("{client}grants = ['client-credentials']"), "audiences"),
        (format!("{client}grants = ['password']"), "password"),
        (format!("{client}scopes = ['a b']"), "scope"),
        (format!("{client}algorithm = 'ES256'"), "algorithm"),
        (format!("{client}{client}"), "twice"),
        (format!("{client}backchannel_logout_uri = 'https://a/b?c=d#e'"), "backchannel_logout_uri"),
        (format!("{client}backchannel_logout_uri = 'https://u@a/b?c=d'"), "backchannel_logout_uri"),
        (format!("{client}backchannel_logout_uri = '?c=d'"), "backchannel_logout_uri"),
        (client.replace("$argon2id$x", "plain"), "durward generate"),
    ];
    for (oauth, named) in cases {
        assert!(with(&oauth).contains(named), "{oauth}: {}", with(&oauth));
    }
    for issuer in
        ["id.example.org", "ftp://x", "https://", "https://x/", "https://x?y", "https://u@x", "https://x#y"]
    {
        assert!(Settings::from_toml(&format!("oauth.issuer = '{issuer}'"), "t").is_err(), "{issuer}");
    }
}

#[test]
fn guesses_at_a_secret_are_delayed_noted_and_in_nobodys_way_who_is_known() {
    let world = World::new("");
    let form = [("grant_type", "client_credentials"), ("audience", "else")];
    let guess = |secret: &str| {
        world.post("/oauth2/token", &[("Authorization", &basic("other", secret))], &encoded(&form))
    };
    assert_eq!(guess("guess").status, 401);
    assert_eq!(guess("guess").status, 401);
    assert_eq!(guess("guess").status, 401);
    // Each further one doubles the delay, which in the end is longer than a slow machine takes for the rest of this.
    for delay_s in [0, 1, 2, 4, 8, 16] {
        world.pass(delay_s + 1);
        assert_eq!(guess("guess").status, 401);
    }
    assert_eq!(guess("guess").status, 429);
    let delayed = guess("s3cret");
    assert_eq!((delayed.status, &delayed.json()["error"]), (429, &json!("temporarily_unavailable")));
    assert!(delayed.header("retry-after").parse::<u64>().unwrap() > 0, "the right one waits as well");
    world.token();
    world.pass(60);
    assert_eq!(guess("s3cret").status, 200);
    world.server.eventually("the audit", |server| {
        let text = std::fs::read_to_string(server.directory.path("audit/audit.jsonl")).unwrap_or_default();
        let of = |kind: &str| {
            let is_it = |line: &&str| line.contains(kind) && line.contains("\"by\":\"other\"");
            text.lines().filter(is_it).count()
        };
        of("login-failed") == 9 && of("login-delayed") > 0
    });
}
