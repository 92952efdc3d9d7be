//! Whoever would be somebody else by way of another provider.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::hmac;
use serde_json::{Value, json};

use super::fake::{Fake, unsigned};
use super::world::{UNDELAYED, back, came_back, leave, of_fake, with_fake};
use crate::oidc::world::{Browser, FORM, Seen, World, clients, send};

/// A page that says that it came to nothing; nobody is logged in.
#[track_caller]
fn comes_to_nothing(browser: &Browser<'_>, seen: &Seen, status: u16) {
    assert_eq!((seen.status, seen.location.as_deref()), (status, None), "{}", seen.text);
    assert_eq!(browser.session(), None);
}

#[test]
fn an_id_token_that_is_wrong_in_any_way_logs_nobody_in() {
    let (world, fake) = with_fake("", "create = true");
    let now_s = world.now().ms() / 1000;
    for (name, value) in [
        ("iss", json!("https://other.example")),
        ("aud", json!("other")),
        ("aud", json!(["durward", "other"])),
        ("azp", json!("other")),
        ("nonce", json!("other")),
        ("nonce", Value::Null),
        ("exp", json!(now_s - 61)),
        ("exp", Value::Null),
        ("iat", json!(now_s + 120)),
        ("iat", json!(now_s - 3600)),
        ("at_hash", json!("other")),
        ("sub", json!("")),
        ("sub", Value::Null),
    ] {
        let mut browser = world.browser();
        let away = leave(&mut browser, "corp", &[]);
        let mut claims = fake.claims(away.nonce(), now_s);
        claims[name] = value.clone();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        }
        fake.gives(&fake.sign(&claims));
        let seen = back(&mut browser, "corp", &[("code", "c"), ("state", away.state())]);
        comes_to_nothing(&browser, &seen, 403);
    }
    assert_eq!(world.server.metric("durward_upstream_logins_total{result=\"refused\"}"), 13.0);
    came_back(&world, &fake, |_| {}).code();
}

#[test]
fn an_id_token_that_the_provider_did_not_sign_logs_nobody_in() {
    let (world, fake) = with_fake("", "create = true");
    let stranger = Fake::start();
    let refused = |make: &dyn Fn(&Value) -> String| {
        let mut browser = world.browser();
        let away = leave(&mut browser, "corp", &[]);
        fake.gives(&make(&fake.claims(away.nonce(), world.now().ms() / 1000)));
        let seen = back(&mut browser, "corp", &[("code", "c"), ("state", away.state())]);
        comes_to_nothing(&browser, &seen, 403);
    };
    refused(&|claims| format!("{}.", unsigned(&json!({ "alg": "none" }), claims)));
    refused(&|claims| format!("{}.", unsigned(&json!({ "alg": "EdDSA", "kid": "one" }), claims)));
    // The secret of the client, and what everybody can read, sign nothing.
    for secret in ["s3cret", "durward", ""] {
        refused(&|claims| {
            let message = unsigned(&json!({ "alg": "HS256", "kid": "one" }), claims);
            let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
            format!("{message}.{}", BASE64.encode(hmac::sign(&key, message.as_bytes())))
        });
    }
    refused(&|claims| stranger.sign(claims));
    refused(&|claims| fake.sign_as(&json!({ "alg": "EdDSA", "kid": "another" }), claims));
    refused(&|claims| fake.sign_as(&json!({ "alg": "ES256", "kid": "one" }), claims));
    refused(&|claims| fake.sign_as(&json!({ "alg": "EdDSA", "kid": "one", "crit": ["x"], "x": 1 }), claims));
    refused(&|claims| fake.sign_as(&json!({ "alg": "EdDSA", "kid": "one", "typ": "logout+jwt" }), claims));
    refused(&|claims| fake.sign(&json!({ "nothing": claims["nonce"] })));
    refused(&|_| "no.token".to_owned());
    // A key is not taken from the token itself.
    refused(&|claims| {
        let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": BASE64.encode([9; 32]) });
        stranger.sign_as(&json!({ "alg": "EdDSA", "jwk": jwk }), claims)
    });
    refused(&|claims| {
        let (head, signature) =
            fake.sign(claims).rsplit_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let mut other = claims.clone();
        other["sub"] = json!("somebody else");
        let header = head.split('.').next().unwrap();
        format!("{header}.{}.{signature}", BASE64.encode(other.to_string()))
    });
}

#[test]
fn algorithms_that_are_not_wanted_are_not_taken() {
    let (world, fake) = with_fake("", "create = true\nalgorithms = ['RS256']");
    assert_eq!(came_back(&world, &fake, |_| {}).status, 403, "it is signed by Ed25519");
}

#[test]
fn an_answer_is_for_the_browser_and_the_state_that_it_left_with() {
    let (world, fake) = with_fake("", "create = true");
    let (mut browser, mut other) = (world.browser(), world.browser());
    let away = leave(&mut browser, "corp", &[]);
    let other_away = leave(&mut other, "corp", &[]);
    fake.gives(&fake.sign(&fake.claims(away.nonce(), world.now().ms() / 1000)));
    let code = |state: &'static str| [("code", "c"), ("state", state)];
    for state in ["", "0", "00000000000000000000000000000000"] {
        let seen = back(&mut browser, "corp", &code(state));
        comes_to_nothing(&browser, &seen, 400);
    }
    // Somebody else's state, and the right one in a browser that has not left with it.
    let seen = back(&mut browser, "corp", &[("code", "c"), ("state", other_away.state())]);
    comes_to_nothing(&browser, &seen, 400);
    let mut nobody = world.browser();
    let seen = back(&mut nobody, "corp", &[("code", "c"), ("state", away.state())]);
    comes_to_nothing(&nobody, &seen, 400);
    // The cookie alone does not do: the browser has a name of its own.
    let mut thief = other.clone();
    let stolen = browser.cookies["__Host-durward_upstream"].clone();
    thief.cookies.insert("__Host-durward_upstream".to_owned(), stolen.clone());
    let seen = back(&mut thief, "corp", &[("code", "c"), ("state", away.state())]);
    comes_to_nothing(&thief, &seen, 400);
    let (before, behind) = stolen.split_at(stolen.len() / 2);
    let other_letter = if behind.starts_with('A') { "B" } else { "A" };
    let mut forged = browser.clone();
    forged
        .cookies
        .insert("__Host-durward_upstream".to_owned(), format!("{before}{other_letter}{}", &behind[1..]));
    let seen = back(&mut forged, "corp", &[("code", "c"), ("state", away.state())]);
    comes_to_nothing(&forged, &seen, 400);
    assert!(fake.asked("/token").is_empty(), "nobody asks for any of these");
    // All this has ended no login.
    back(&mut browser, "corp", &[("code", "c"), ("state", away.state())]).code();
}

#[test]
fn an_answer_is_taken_once() {
    let (world, fake) = with_fake("", "create = true");
    let mut browser = world.browser();
    let away = leave(&mut browser, "corp", &[]);
    fake.gives(&fake.sign(&fake.claims(away.nonce(), world.now().ms() / 1000)));
    let mut before = browser.clone();
    let brought = [("code", "c"), ("state", away.state())];
    back(&mut browser, "corp", &brought).code();
    let seen = back(&mut before, "corp", &brought);
    comes_to_nothing(&before, &seen, 400);
    assert_eq!(fake.asked("/token").len(), 1, "the code is not shown again either");
}

#[test]
fn an_answer_is_over_in_its_time() {
    let (world, fake) = with_fake("", "create = true");
    let mut browser = world.browser();
    let away = leave(&mut browser, "corp", &[]);
    world.pass(15 * 60);
    fake.gives(&fake.sign(&fake.claims(away.nonce(), world.now().ms() / 1000)));
    let seen = back(&mut browser, "corp", &[("code", "c"), ("state", away.state())]);
    comes_to_nothing(&browser, &seen, 400);
}

/// RFC 9700, 4.4: an evil provider has the honest one's answer brought to itself, or its own to the honest one's place.
#[test]
fn answers_of_two_providers_are_not_mixed_up() {
    let (honest, evil) = (Fake::start(), Fake::start());
    let providers = format!(
        "{}{}",
        of_fake(&honest, "create = true"),
        of_fake(&evil, "create = true").replace("'corp'", "'evil'")
    );
    let world = World::with(UNDELAYED, &format!("{providers}{}", clients()));
    let now_s = world.now().ms() / 1000;
    let mut browser = world.browser();
    let away = leave(&mut browser, "evil", &[]);
    honest.gives(&honest.sign(&honest.claims(away.nonce(), now_s)));
    evil.gives(&honest.sign(&honest.claims(away.nonce(), now_s)));
    // The browser left for the one and comes back to the place of the other.
    let brought = [("code", "c"), ("state", away.state())];
    let seen = back(&mut browser, "corp", &brought);
    comes_to_nothing(&browser, &seen, 400);
    // It says that it is the other's answer.
    let mut of_other = brought.to_vec();
    of_other.push(("iss", &honest.issuer));
    let seen = back(&mut browser.clone(), "evil", &of_other);
    comes_to_nothing(&browser, &seen, 403);
    assert!(
        honest.asked("/token").is_empty() && evil.asked("/token").is_empty(),
        "the code is shown to nobody"
    );
    // A token of the other is none of this one.
    let away = leave(&mut browser, "evil", &[]);
    evil.gives(&honest.sign(&honest.claims(away.nonce(), now_s)));
    let seen = back(&mut browser, "evil", &[("code", "c"), ("state", away.state())]);
    comes_to_nothing(&browser, &seen, 403);
    assert!(honest.asked("/token").is_empty());
}

#[test]
fn a_provider_that_says_whose_its_answers_are_says_it_always() {
    let (world, fake) = with_fake("", "create = true");
    fake.publish(|document| document["authorization_response_iss_parameter_supported"] = json!(true));
    assert_eq!(came_back(&world, &fake, |_| {}).status, 403);
    assert!(fake.asked("/token").is_empty());
    let mut browser = world.browser();
    let away = leave(&mut browser, "corp", &[]);
    fake.gives(&fake.sign(&fake.claims(away.nonce(), world.now().ms() / 1000)));
    back(&mut browser, "corp", &[("code", "c"), ("state", away.state()), ("iss", &fake.issuer)]).code();
}

#[test]
fn what_a_provider_publishes_is_bounded_and_its_own() {
    for (what, publish) in [
        (
            "another's",
            &(|fake: &Fake| fake.publish(|document| document["issuer"] = json!("https://other.example")))
                as &dyn Fn(&Fake),
        ),
        ("huge", &|fake: &Fake| fake.publish(|document| document["more"] = json!("x".repeat(2 << 20)))),
        ("no JSON", &|fake: &Fake| fake.put("/.well-known/openid-configuration", 200, "<html>")),
        ("elsewhere", &|fake: &Fake| {
            fake.publish(|document| {
                document["authorization_endpoint"] = json!("http://idp.example/authorize")
            });
        }),
        ("a script", &|fake: &Fake| {
            fake.publish(|document| document["authorization_endpoint"] = json!("javascript:alert(1)"));
        }),
        ("nowhere", &|fake: &Fake| {
            fake.publish(|document| drop(document.as_object_mut().unwrap().remove("token_endpoint")));
        }),
        ("no keys", &|fake: &Fake| fake.put("/keys", 200, "{}")),
    ] {
        let (world, fake) = with_fake("", "create = true");
        publish(&fake);
        let mut browser = world.browser();
        let form = browser.authorize(&[]);
        let seen = browser.answer(&form, &[("upstream", "corp")]);
        assert_eq!(seen.status, 503, "{what}: {}", seen.text);
        assert!(!browser.cookies.contains_key("__Host-durward_upstream"), "{what}");
    }
}

#[test]
fn an_answer_of_a_provider_is_bounded() {
    let (world, fake) = with_fake("", "create = true");
    let mut browser = world.browser();
    let away = leave(&mut browser, "corp", &[]);
    fake.put("/token", 200, &json!({ "id_token": "x".repeat(300 * 1024), "access_token": "a" }).to_string());
    let seen = back(&mut browser, "corp", &[("code", "c"), ("state", away.state())]);
    comes_to_nothing(&browser, &seen, 503);
}

#[test]
fn who_is_let_in_there_is_not_let_in_here_by_another_domain_or_user() {
    let (world, fake) = with_fake("", "create = true\nemail_domains = ['corp.example']\nuserinfo = true");
    let about =
        |sub: &str, email: &str| json!({ "sub": sub, "email": email, "email_verified": true }).to_string();
    for said in [about("4711", "u@evil.example"), about("4712", "u@corp.example"), "{}".to_owned()] {
        fake.put("/userinfo", 200, &said);
        assert_eq!(came_back(&world, &fake, |_| {}).status, 403, "{said}");
    }
    fake.put("/userinfo", 500, "");
    assert_eq!(came_back(&world, &fake, |_| {}).status, 503);
    // What is signed counts more than what is not.
    fake.put("/userinfo", 200, &about("4711", "u@corp.example"));
    let signed = |claims: &mut Value| claims["email"] = json!("u@evil.example");
    assert_eq!(came_back(&world, &fake, signed).status, 403);
    came_back(&world, &fake, |_| {}).code();
    assert_eq!(fake.asked("/userinfo").last().unwrap().authorization, "Bearer at");
}

/// Whoever brings codes that are none is asked about less and less, and nobody else is.
#[test]
fn callbacks_that_come_to_nothing_are_bounded() {
    let fake = Fake::start();
    let world = World::with("", &format!("{}{}", of_fake(&fake, "create = true"), clients()));
    fake.put("/token", 400, r#"{"error":"invalid_grant"}"#);
    let mut statuses = Vec::new();
    for _ in 0..8 {
        let mut browser = world.browser();
        let away = leave(&mut browser, "corp", &[]);
        statuses.push(back(&mut browser, "corp", &[("code", "x"), ("state", away.state())]).status);
    }
    assert!(statuses.starts_with(&[403, 403, 403]) && statuses.contains(&503), "{statuses:?}");
    assert!(fake.asked("/token").len() < 8, "{statuses:?}");
    // Passwords are not counted with them.
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    browser.login(&form, "anna").code();
}

#[test]
fn a_provider_that_is_none_and_a_form_of_another_site_lead_nowhere() {
    let (world, fake) = with_fake("", "create = true");
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let seen = browser.answer(&form, &[("upstream", "nobody")]);
    comes_to_nothing(&browser, &seen, 400);
    assert_eq!(back(&mut browser, "nobody", &[("code", "c"), ("state", "s")]).status, 400);
    let cookies: Vec<String> =
        browser.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let (cookies, csrf) = (cookies.join("; "), form.csrf());
    let body = crate::oauth::world::encoded(&[("csrf", &csrf), ("upstream", "corp")]);
    let headers = [FORM, ("Cookie", &cookies), ("Sec-Fetch-Site", "cross-site")];
    let seen = send(&world.server, "POST", "/oauth2/login", &headers, &body);
    seen.stays();
    assert!(fake.asked("/.well-known/openid-configuration").is_empty());
}
