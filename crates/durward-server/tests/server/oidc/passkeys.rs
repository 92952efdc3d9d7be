//! Passkeys in the login pages: alone, as the second step, to step up; and the page where users look after theirs.

use serde_json::Value;

use super::world::{Seen, World, clients};
use crate::authenticator::{Authenticator, PRESENT, VERIFIED};
use crate::oauth::world::part;

const ORIGIN: &str = "https://id.example.org";

const ACCOUNT: &str = "/oauth2/account/passkeys";

pub(crate) const ON: &str =
    "identity.passkeys = { rp_id = 'example.org', origins = ['https://id.example.org'] }\n";

fn world(more: &str) -> World {
    World::with(&format!("{ON}{more}"), &clients())
}

/// What a page asks an authenticator.
pub(crate) fn options(page: &Seen) -> Value {
    assert_eq!(page.status, 200, "{}", page.text);
    let (_, rest) = page.text.split_once("data-options=\"").unwrap_or_else(|| panic!("{}", page.text));
    let text = rest.split('"').next().unwrap().replace("&#34;", "\"").replace("&#38;", "&");
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn offers(page: &Seen) -> bool {
    page.text.contains("id=\"passkey\"")
}

/// `user` of a world, with a passkey that was enrolled in a browser.
pub(crate) fn enrolled(world: &World, user: &str) -> Authenticator {
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let mut page = browser.login(&form, user);
    if page.status == 200 {
        page = browser.answer(&page, &[("code", &world.totp.code(world.now()))]);
    }
    page.code();
    let mut authenticator = Authenticator::new(ORIGIN);
    let list = browser.get(ACCOUNT);
    assert!(!offers(&list) && !list.policy.contains("script-src"), "{}", list.text);
    let csrf = list.csrf();
    let add = [("csrf", csrf.as_str()), ("password", "secret"), ("name", "my <phone>"), ("add", "yes")];
    let new = browser.post(ACCOUNT, &add);
    let credential = authenticator.create(&options(&new)).to_string();
    let done = browser.post(ACCOUNT, &[("csrf", &new.csrf()), ("passkey", &credential)]);
    assert!(done.text.contains("Your passkeys are changed"), "{}", done.text);
    assert_eq!(browser.session(), None, "the session is over");
    authenticator
}

#[test]
fn a_user_signs_in_by_a_passkey_alone() {
    let world = world("");
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = world.browser();
    let page = browser.authorize(&[("acr_values", "urn:durward:acr:level:1")]);
    assert!(page.text.contains("name=\"password\""), "the password is as good");
    assert_eq!(page.text.matches("<script>").count(), 1);
    let credential = authenticator.get(&options(&page)).to_string();
    let back = browser.answer(&page, &[("passkey", &credential)]);
    let claims = part(&world.exchange(&back.code()).member("id_token"), 1);
    assert_eq!(claims["sub"], "anna");
    assert_eq!(claims["acr"], "urn:durward:acr:level:1");
    assert_eq!(claims["amr"], serde_json::json!(["hwk", "user", "mfa"]));
    assert!(browser.cookies.contains_key("durward_device"));
}

#[test]
fn the_script_is_let_in_by_its_hash_and_only_where_a_passkey_is_offered() {
    use base64::Engine as _;
    let world = world("");
    let page = world.browser().authorize(&[]);
    let (_, rest) = page.text.split_once("<script>").unwrap();
    let script = rest.split("</script>").next().unwrap();
    let hash = ring::digest::digest(&ring::digest::SHA256, script.as_bytes());
    let hash = base64::engine::general_purpose::STANDARD.encode(hash);
    assert!(page.policy.contains(&format!("script-src 'sha256-{hash}';")), "{}", page.policy);
    assert!(page.policy.starts_with("default-src 'none';"));
    let off = World::new();
    let page = off.browser().authorize(&[]);
    assert!(!page.text.contains("<script") && !page.policy.contains("script-src"), "{}", page.text);
    assert_eq!(off.browser().get(ACCOUNT).status, 404);
}

#[test]
fn a_passkey_is_the_second_step_and_a_code_is_as_good() {
    let world = world("");
    let mut of_anna = enrolled(&world, "anna");
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let page = browser.login(&form, "anna");
    assert!(offers(&page) && !page.text.contains("name=\"code\""), "{}", page.text);
    of_anna.flags = PRESENT;
    let credential = of_anna.get(&options(&page)).to_string();
    let back = browser.answer(&page, &[("passkey", &credential)]);
    let claims = part(&world.exchange(&back.code()).member("id_token"), 1);
    assert_eq!(claims["amr"], serde_json::json!(["pwd", "hwk", "user", "mfa"]));
    let mut of_berta = enrolled(&world, "berta");
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let page = browser.login(&form, "berta");
    assert!(offers(&page) && page.text.contains("name=\"code\""), "{}", page.text);
    let credential = of_berta.get(&options(&page)).to_string();
    browser.answer(&page, &[("passkey", &credential)]).code();
    world.pass(60);
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let page = browser.login(&form, "berta");
    browser.answer(&page, &[("code", &world.totp.code(world.now()))]).code();
}

#[test]
fn a_session_is_raised_by_a_passkey() {
    let world = world("identity.second_step = 'step-up'\n");
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    browser.login(&form, "anna").code();
    let page = browser.authorize(&[("acr_values", "urn:durward:acr:level:1")]);
    let credential = authenticator.get(&options(&page)).to_string();
    let back = browser.answer(&page, &[("passkey", &credential)]);
    let claims = part(&world.exchange(&back.code()).member("id_token"), 1);
    assert_eq!((&claims["acr"], &claims["amr"][1]), (&"urn:durward:acr:level:1".into(), &"hwk".into()));
}

#[test]
fn what_is_wrong_is_shown_with_a_new_challenge() {
    let world = world("");
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = world.browser();
    let page = browser.authorize(&[]);
    let first = options(&page);
    authenticator.origin = "https://evil.example".to_owned();
    let credential = authenticator.get(&first).to_string();
    let again = browser.answer(&page, &[("passkey", &credential)]);
    assert!(again.text.contains("role=\"alert\"") && browser.session().is_none(), "{}", again.text);
    assert_ne!(options(&again)["challenge"], first["challenge"]);
    authenticator.origin = ORIGIN.to_owned();
    // What an authenticator said to another form's challenge.
    let credential = authenticator.get(&first).to_string();
    assert!(offers(&browser.answer(&again, &[("passkey", &credential)])));
    let credential = authenticator.get(&options(&again)).to_string();
    let back = browser.answer(&again, &[("passkey", &credential)]);
    back.code();
    // The same form and credential, in this browser and in another one.
    let replayed = browser.answer(&again, &[("passkey", &credential)]);
    assert!(replayed.text.contains("role=\"alert\""), "{}", replayed.text);
    let mut other = world.browser();
    other.authorize(&[]);
    other.answer(&again, &[("passkey", &credential)]).stays();
    for nothing in ["x", "{}", "[]"] {
        let page = browser.authorize(&[("prompt", "login")]);
        assert!(browser.answer(&page, &[("passkey", nothing)]).text.contains("role=\"alert\""));
    }
}

#[test]
fn an_application_that_wants_no_only_step_has_none() {
    let world = World::with(
        "identity.passkeys = { rp_id = 'example.org', origins = ['https://id.example.org'], only_step = false }",
        &clients(),
    );
    let page = world.browser().authorize(&[]);
    assert!(!offers(&page) && !page.policy.contains("script-src"), "{}", page.text);
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let page = browser.login(&form, "anna");
    let credential = authenticator.get(&options(&page)).to_string();
    browser.answer(&page, &[("passkey", &credential)]).code();
}

#[test]
fn the_page_of_passkeys_wants_a_session_its_own_form_and_the_password() {
    let world = world("");
    assert_eq!(world.browser().get(ACCOUNT).status, 401);
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = world.browser();
    let page = browser.authorize(&[]);
    let credential = authenticator.get(&options(&page)).to_string();
    browser.answer(&page, &[("passkey", &credential)]).code();
    let list = browser.get(ACCOUNT);
    assert!(list.text.contains("my &#60;phone&#62;"), "{}", list.text);
    let id =
        list.text.split("name=\"remove\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let csrf = list.csrf();
    let wrong = browser.post(ACCOUNT, &[("csrf", &csrf), ("password", "wrong"), ("remove", &id)]);
    assert!(wrong.text.contains("role=\"alert\"") && wrong.text.contains(&id), "{}", wrong.text);
    let unnamed =
        browser.post(ACCOUNT, &[("csrf", &csrf), ("password", "secret"), ("name", " "), ("add", "yes")]);
    assert!(unnamed.text.contains("role=\"alert\"") && !offers(&unnamed), "{}", unnamed.text);
    browser.post(ACCOUNT, &[("csrf", "x"), ("password", "secret"), ("remove", &id)]).stays();
    // A form of another session.
    let mut other = world.browser();
    let page = other.authorize(&[]);
    let credential = authenticator.get(&options(&page)).to_string();
    other.answer(&page, &[("passkey", &credential)]).code();
    other.post(ACCOUNT, &[("csrf", &csrf), ("password", "secret"), ("remove", &id)]).stays();
    let form = crate::oauth::world::encoded(&[("csrf", &csrf), ("password", "secret"), ("remove", &id)]);
    let headers = [super::world::FORM, ("Sec-Fetch-Site", "cross-site")];
    browser.send("POST", ACCOUNT, &headers, &form).stays();
    let done = browser.post(ACCOUNT, &[("csrf", &csrf), ("password", "secret"), ("remove", &id)]);
    assert!(done.text.contains("Your passkeys are changed"), "{}", done.text);
    assert_eq!((browser.session(), other.get(ACCOUNT).status), (None, 401));
    // It opens nothing any more, and a password is enough.
    authenticator.flags = PRESENT | VERIFIED;
    let page = browser.authorize(&[]);
    let credential = authenticator.get(&options(&page)).to_string();
    assert!(browser.answer(&page, &[("passkey", &credential)]).text.contains("role=\"alert\""));
    let page = browser.authorize(&[]);
    browser.login(&page, "anna").code();
}
