//! Logouts here and there.

use serde_json::{Value, json};

use super::world::{came_back_in, path_at, sign_in, two, with_fake};
use crate::oauth::world::encoded;
use crate::oidc::world::{FORM, ISSUER, Seen, World, parts, send};

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

fn post(world: &World, token: &str) -> Seen {
    send(&world.server, "POST", "/oauth2/upstream/logout/corp", &[FORM], &encoded(&[("logout_token", token)]))
}

#[test]
fn who_logs_out_here_is_logged_out_there_where_that_is_wanted() {
    let (world, provider, _secrets) = two("", "create = true\nend_session = true");
    let (mut here, mut there) = (world.browser(), provider.browser());
    let seen = sign_in(&mut here, &mut there, &provider.issuer(), "ulla");
    assert!(here.cookies.contains_key("__Host-durward_upstream_login"));
    let id_token = world.exchange(&seen.code()).member("id_token");
    let query = encoded(&[
        ("id_token_hint", &id_token),
        ("post_logout_redirect_uri", "https://app.example/bye"),
        ("state", "s 1"),
    ]);
    let away = here.get(&format!("/oauth2/logout?{query}")).leads();
    assert_eq!((here.session(), here.cookies.get("__Host-durward_upstream_login")), (None, None));
    let (place, asked) = parts(&away);
    assert_eq!((place, &*asked["client_id"]), (format!("{}/oauth2/logout", provider.issuer()), "durward-a"));
    let returned = there.get(path_at(&away, &provider.issuer()));
    assert_eq!(there.session(), None, "it is over there too");
    let (place, parameters) = here.get(path_at(&returned.leads(), ISSUER)).back();
    assert_eq!((place.as_str(), &*parameters["state"]), ("https://app.example/bye", "s 1"));
}

#[test]
fn who_logs_out_there_is_logged_out_here() {
    let (world, provider, _secrets) = two("", "create = true");
    let (mut here, mut there) = (world.browser(), provider.browser());
    sign_in(&mut here, &mut there, &provider.issuer(), "ulla").code();
    let mut other = world.browser();
    sign_in(&mut other, &mut provider.browser(), &provider.issuer(), "ulla").code();
    here.authorize(&[("prompt", "none")]).code();
    let form = there.get("/oauth2/logout");
    let csrf = form.csrf();
    assert_eq!(there.post("/oauth2/logout", &[("csrf", &csrf)]).status, 200);
    world.server.eventually("the session here has ended", |_| {
        let mut here = here.clone();
        here.authorize(&[("prompt", "none")]).back().1.contains_key("error")
    });
    // It was one session of the user, and not all.
    other.authorize(&[("prompt", "none")]).code();
}

#[test]
fn a_logout_token_ends_what_it_names_and_once() {
    let (world, fake) = with_fake("", "create = true");
    let now_s = world.now().ms() / 1000;
    let log_in = |sub: &'static str, sid: &'static str| {
        let mut browser = world.browser();
        came_back_in(&mut browser, &world, &fake, |claims| {
            claims["sub"] = json!(sub);
            claims["preferred_username"] = json!(format!("u{sub}"));
            claims["sid"] = json!(sid);
        })
        .code();
        browser
    };
    let token = |jti: &str, more: &Value| {
        let mut claims = json!({
            "iss": fake.issuer, "aud": "durward", "iat": now_s, "exp": now_s + 120, "jti": jti, "events": { EVENT: {} },
        });
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        fake.sign_as(&json!({ "alg": "EdDSA", "kid": "one", "typ": "logout+jwt" }), &claims)
    };
    let is_in = |browser: &crate::oidc::world::Browser<'_>| {
        browser.clone().authorize(&[("prompt", "none")]).back().1.contains_key("code")
    };
    let (one, two, three) = (log_in("1", "a"), log_in("1", "b"), log_in("2", "c"));
    for (jti, more) in [
        ("1", json!({ "sub": "1", "nonce": "n" })),
        ("2", json!({ "sub": "1", "events": {} })),
        ("3", json!({ "sub": "1", "aud": "other" })),
        ("4", json!({ "sub": "1", "iss": "https://other.example" })),
        ("5", json!({ "sub": "1", "exp": now_s - 100 })),
        ("6", json!({})),
        ("", json!({ "sub": "1" })),
    ] {
        let seen = post(&world, &token(jti, &more));
        assert_eq!(seen.status, 400, "{more}: {}", seen.text);
    }
    let strangers = super::fake::Fake::start();
    assert_eq!(post(&world, &strangers.sign(&json!({ "iss": fake.issuer }))).status, 400);
    assert_eq!(post(&world, "").status, 400);
    assert!(is_in(&one) && is_in(&two) && is_in(&three));
    // Of another user, there is no such session.
    assert_eq!(post(&world, &token("7", &json!({ "sub": "2", "sid": "a" }))).status, 200);
    assert!(is_in(&one) && is_in(&three));
    let by_sid = token("8", &json!({ "sid": "a" }));
    assert_eq!(post(&world, &by_sid).status, 200);
    assert!(!is_in(&one) && is_in(&two) && is_in(&three));
    assert_eq!(post(&world, &by_sid).status, 400, "it was used");
    assert_eq!(post(&world, &token("9", &json!({ "sub": "1" }))).status, 200);
    assert!(!is_in(&two) && is_in(&three));
}
