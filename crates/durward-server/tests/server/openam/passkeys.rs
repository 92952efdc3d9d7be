//! Passkeys on `/UI/Login`: alone, as the second step, and what is none.

use base64::Engine as _;
use serde_json::json;

use super::browser::{Browser, place};
use super::world::RECORDED;
use crate::authenticator::PRESENT;
use crate::oidc::passkeys::{ON, enrolled, offers, options};
use crate::oidc::world::{World, clients};

const LOGIN: &str = "/openam/UI/Login";

fn world(more: &str) -> World {
    World::with(&format!("{ON}{more}"), &format!("{}{RECORDED}\n", clients()))
}

/// The user and the level of the browser's session.
fn session(world: &World, browser: &Browser<'_>) -> (String, u64) {
    let token = browser.token().unwrap();
    let reply = crate::identity::post(&world.server, "/v1/sessions/validate", Some(token), &json!({}));
    let said = reply.json();
    assert_eq!(said["valid"], true, "{said}");
    (said["user"].as_str().unwrap().to_owned(), said["level"].as_u64().unwrap())
}

#[test]
fn a_user_signs_in_by_a_passkey_alone_and_is_sent_back() {
    let world = world("");
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = Browser::of(&world.server);
    let page = browser.get(&format!("{LOGIN}?goto=https%3A%2F%2Fapp.openam.local%2Frecords"));
    assert!(offers(&page) && page.text.contains("name=\"password\""), "{}", page.text);
    let credential = authenticator.get(&options(&page)).to_string();
    let back = browser.answer(&page, LOGIN, &[("passkey", &credential)]);
    assert_eq!(place(&back), "https://app.openam.local/records");
    assert_eq!(session(&world, &browser), ("anna".to_owned(), 1));
    assert!(browser.cookies.contains_key("durward_device"));
    // The password is as good, and asks for the second step.
    let page = browser.get(&format!("{LOGIN}?ForceAuth=true"));
    let step = browser.log_in(&page, "anna", "secret");
    assert!(offers(&step) && !step.text.contains("name=\"code\""), "{}", step.text);
}

#[test]
fn the_script_is_let_in_by_its_hash_and_only_where_a_passkey_is_offered() {
    let world = world("");
    let page = Browser::of(&world.server).get(LOGIN);
    let (_, rest) = page.text.split_once("<script>").unwrap();
    let script = rest.split("</script>").next().unwrap();
    let hash = ring::digest::digest(&ring::digest::SHA256, script.as_bytes());
    let hash = base64::engine::general_purpose::STANDARD.encode(hash);
    assert!(page.policy.starts_with("default-src 'none';"), "{}", page.policy);
    assert!(page.policy.contains(&format!("script-src 'sha256-{hash}';")), "{}", page.policy);
    assert!(page.policy.contains("frame-ancestors 'none'"), "{}", page.policy);
    assert_eq!(page.text.matches("<script").count(), 1);
    // Where it is not the only step, the first page offers none, and the second one does.
    let only = "identity.passkeys = { rp_id = 'example.org', origins = ['https://id.example.org'], only_step = false }";
    let world = World::with(only, &format!("{}{RECORDED}\n", clients()));
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = Browser::of(&world.server);
    let page = browser.get(LOGIN);
    assert!(!offers(&page) && !page.policy.contains("script-src"), "{}", page.text);
    let step = browser.log_in(&page, "anna", "secret");
    let credential = authenticator.get(&options(&step)).to_string();
    assert_eq!(place(&browser.answer(&step, LOGIN, &[("passkey", &credential)])), "/openam/console");
}

#[test]
fn a_passkey_is_the_second_step_and_a_code_is_as_good() {
    let world = world("");
    let mut of_anna = enrolled(&world, "anna");
    let mut browser = Browser::of(&world.server);
    let form = browser.get(&format!("{LOGIN}?goto=/app"));
    let step = browser.log_in(&form, "anna", "secret");
    assert_eq!(browser.token(), None);
    // Verified by the password already.
    of_anna.flags = PRESENT;
    let credential = of_anna.get(&options(&step)).to_string();
    assert_eq!(place(&browser.answer(&step, LOGIN, &[("passkey", &credential)])), "/app");
    assert_eq!(session(&world, &browser), ("anna".to_owned(), 1));
    let mut of_berta = enrolled(&world, "berta");
    for by_code in [false, true] {
        world.pass(60);
        let mut browser = Browser::of(&world.server);
        let form = browser.get(LOGIN);
        let step = browser.log_in(&form, "berta", "secret");
        assert!(offers(&step) && step.text.contains("name=\"code\""), "{}", step.text);
        let (code, credential) = (world.totp.code(world.now()), of_berta.get(&options(&step)).to_string());
        let field = if by_code { ("code", code.as_str()) } else { ("passkey", credential.as_str()) };
        assert_eq!(place(&browser.answer(&step, LOGIN, &[field])), "/openam/console");
        assert_eq!(session(&world, &browser), ("berta".to_owned(), 1));
    }
}

#[test]
fn what_is_wrong_is_shown_with_a_new_challenge_and_opens_nothing() {
    let world = world("");
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = Browser::of(&world.server);
    let page = browser.get(LOGIN);
    let first = options(&page);
    let origin = std::mem::replace(&mut authenticator.origin, "https://evil.example".to_owned());
    let credential = authenticator.get(&first).to_string();
    let again = browser.answer(&page, LOGIN, &[("passkey", &credential)]);
    assert!(again.text.contains("role=\"alert\"") && browser.token().is_none(), "{}", again.text);
    assert_ne!(options(&again)["challenge"], first["challenge"]);
    authenticator.origin = origin;
    // What an authenticator said to another form's challenge.
    let credential = authenticator.get(&first).to_string();
    assert!(offers(&browser.answer(&again, LOGIN, &[("passkey", &credential)])));
    assert_eq!(browser.token(), None);
    let credential = authenticator.get(&options(&again)).to_string();
    // In another browser, the form is none.
    let mut other = Browser::of(&world.server);
    other.get(LOGIN);
    other.answer(&again, LOGIN, &[("passkey", &credential)]).stays();
    place(&browser.answer(&again, LOGIN, &[("passkey", &credential)]));
    // The same form and credential once more.
    let token = browser.token().map(str::to_owned);
    let replayed = browser.answer(&again, LOGIN, &[("passkey", &credential)]);
    assert!(replayed.text.contains("role=\"alert\""), "{}", replayed.text);
    assert_eq!(browser.token(), token.as_deref());
    // A form of OpenID Connect is none of OpenAM, whoever's passkey comes with it.
    let mut app = world.browser();
    let foreign = app.authorize(&[]);
    let credential = authenticator.get(&options(&foreign)).to_string();
    browser.answer(&foreign, LOGIN, &[("passkey", &credential)]).stays();
    for nothing in ["x", "{}", "[]"] {
        let page = browser.get(&format!("{LOGIN}?ForceAuth=true"));
        assert!(browser.answer(&page, LOGIN, &[("passkey", nothing)]).text.contains("role=\"alert\""));
    }
    // A login that failed has an address of its own.
    let page = browser.get(&format!("{LOGIN}?ForceAuth=true&gotoOnFail=https://app.openam.local/failed"));
    let failed = browser.answer(&page, LOGIN, &[("passkey", "{}")]);
    assert_eq!(place(&failed), "https://app.openam.local/failed");
}

/// Nobody's passkey is the second step of somebody else.
#[test]
fn the_second_step_wants_the_users_own_passkey() {
    let world = world("");
    let (mut of_anna, mut of_carl) = (enrolled(&world, "anna"), enrolled(&world, "carl"));
    let mut browser = Browser::of(&world.server);
    let form = browser.get(LOGIN);
    let step = browser.log_in(&form, "anna", "secret");
    let credential = of_carl.get(&options(&step)).to_string();
    let wrong = browser.answer(&step, LOGIN, &[("passkey", &credential)]);
    assert!(wrong.text.contains("role=\"alert\"") && browser.token().is_none(), "{}", wrong.text);
    let credential = of_anna.get(&options(&wrong)).to_string();
    place(&browser.answer(&wrong, LOGIN, &[("passkey", &credential)]));
}

#[test]
fn a_login_of_one_realm_takes_no_passkey_of_another() {
    let world = world("identity.realms = ['/', '/sales']\n");
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = Browser::of(&world.server);
    let page = browser.get(&format!("{LOGIN}?realm=/sales"));
    let credential = authenticator.get(&options(&page)).to_string();
    let refused = browser.answer(&page, LOGIN, &[("passkey", &credential)]);
    assert!(refused.text.contains("role=\"alert\"") && browser.token().is_none(), "{}", refused.text);
    for realm in ["?realm=/", ""] {
        let mut browser = Browser::of(&world.server);
        let page = browser.get(&format!("{LOGIN}{realm}"));
        let credential = authenticator.get(&options(&page)).to_string();
        place(&browser.answer(&page, LOGIN, &[("passkey", &credential)]));
        assert_eq!(session(&world, &browser), ("anna".to_owned(), 1), "{realm}");
    }
}
