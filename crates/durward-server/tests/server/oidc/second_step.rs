//! The page where users set up and remove the codes of their authenticator app.

use super::passkeys::{ON, offers};
use super::world::{Browser, FORM, Seen, World, clients};
use crate::oauth::world::{encoded, part};
use crate::users_http::device;

pub(crate) const PAGE: &str = "/oauth2/account/second-step";

/// A browser in which the user has signed in, with a code where one is asked for.
pub(crate) fn signed_in<'w>(world: &'w World, user: &str, code: Option<&str>) -> Browser<'w> {
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let mut page = browser.login(&form, user);
    if let Some(code) = code {
        assert!(page.text.contains("name=\"code\""), "{}", page.text);
        page = browser.answer(&page, &[("code", code)]);
    }
    page.code();
    browser
}

fn send(browser: &mut Browser<'_>, form: &Seen, fields: &[(&str, &str)]) -> Seen {
    let csrf = form.csrf();
    let mut all = vec![("csrf", csrf.as_str())];
    all.extend(fields);
    browser.post(PAGE, &all)
}

/// What stands between two texts of a page.
fn between<'p>(page: &'p Seen, start: &str, end: &str) -> &'p str {
    let (_, rest) = page.text.split_once(start).unwrap_or_else(|| panic!("no {start} in {}", page.text));
    rest.split_once(end).unwrap().0
}

fn is_wrong(page: &Seen) -> bool {
    page.status == 200 && page.text.contains("role=\"alert\"")
}

/// Sets codes up for whoever is signed in: the recovery codes.
pub(crate) fn set_up(world: &World, browser: &mut Browser<'_>) -> Vec<String> {
    let off = browser.get(PAGE);
    assert!(off.text.contains("name=\"password\"") && !off.policy.contains("script-src"), "{}", off.text);
    assert!(is_wrong(&send(browser, &off, &[("password", "wrong")])));
    let new = send(browser, &off, &[("password", "secret")]);
    let secret = between(&new, "translate=\"no\">", "</p>").to_owned();
    let totp = device(&secret.replace(' ', ""));
    let uri = between(&new, "href=\"otpauth", "\"").replace("&#38;", "&");
    assert!(uri.contains(&format!("secret={}", secret.replace(' ', ""))), "{uri}");
    let wrong = send(browser, &new, &[("code", "000000")]);
    assert!(is_wrong(&wrong) && wrong.text.contains(&secret), "{}", wrong.text);
    let done = send(browser, &wrong, &[("code", &totp.code(world.now()))]);
    let codes = between(&done, "translate=\"no\">", "</ul>");
    let codes = codes.split("<li>").skip(1).map(|code| code.split('<').next().unwrap().to_owned());
    let codes: Vec<String> = codes.collect();
    assert_eq!(codes.len(), 10, "{}", done.text);
    assert_eq!(browser.session(), None, "the session began without the codes");
    codes
}

#[test]
fn a_user_sets_up_codes_signs_in_with_one_and_removes_them() {
    let world = World::new();
    let mut browser = signed_in(&world, "anna", None);
    let codes = set_up(&world, &mut browser);
    let mut browser = signed_in(&world, "anna", Some(&codes[0]));
    let on = browser.get(PAGE);
    assert_eq!(between(&on, "Recovery codes left: <bdi>", "</bdi>"), "9", "{}", on.text);
    let back = browser.authorize(&[("acr_values", "urn:durward:acr:level:1")]);
    assert_eq!(part(&world.exchange(&back.code()).member("id_token"), 1)["acr"], "urn:durward:acr:level:1");
    assert!(is_wrong(&send(&mut browser, &on, &[("code", &codes[0])])), "it was used");
    // Who has codes is not shown others for the password.
    let again = send(&mut browser, &on, &[("password", "secret")]);
    assert!(again.text.contains("name=\"code\"") && !again.text.contains("otpauth"), "{}", again.text);
    let done = send(&mut browser, &on, &[("code", &codes[1])]);
    assert!(done.text.contains("The codes are removed"), "{}", done.text);
    assert_eq!(browser.session(), None);
    signed_in(&world, "anna", None);
}

#[test]
fn the_page_wants_a_session_and_its_own_form() {
    let world = World::with(ON, &clients());
    assert_eq!(world.browser().get(PAGE).status, 401);
    let mut browser = signed_in(&world, "anna", None);
    let off = browser.get(PAGE);
    send(&mut browser, &off, &[("password", "secret")]);
    let own = off.csrf();
    // Of another session, another user, another page, and sent from elsewhere.
    signed_in(&world, "anna", None).post(PAGE, &[("csrf", &own), ("password", "secret")]).stays();
    signed_in(&world, "carl", None).post(PAGE, &[("csrf", &own), ("password", "secret")]).stays();
    let passkeys = browser.get("/oauth2/account/passkeys");
    assert!(!offers(&passkeys));
    browser.post(PAGE, &[("csrf", &passkeys.csrf()), ("password", "secret")]).stays();
    browser.post("/oauth2/account/passkeys", &[("csrf", &own), ("password", "secret")]).stays();
    let body = encoded(&[("csrf", own.as_str()), ("password", "secret")]);
    for site in ["cross-site", "same-site"] {
        browser.send("POST", PAGE, &[FORM, ("Sec-Fetch-Site", site)], &body).stays();
    }
    // A form that was shown for the password is over with the time.
    let new = send(&mut browser, &off, &[("password", "secret")]);
    world.pass(16 * 60);
    send(&mut browser, &new, &[("code", "000000")]).stays();
}

#[test]
fn guesses_at_the_first_code_are_delayed() {
    let world = World::new();
    let mut browser = signed_in(&world, "anna", None);
    let off = browser.get(PAGE);
    let mut page = send(&mut browser, &off, &[("password", "secret")]);
    for _ in 0..30 {
        if page.status == 429 {
            break;
        }
        page = send(&mut browser, &page, &[("code", "000000")]);
    }
    assert_eq!(page.status, 429, "{}", page.text);
}

/// With the password alone nobody sets up codes beside a passkey.
#[test]
fn who_has_a_passkey_sets_up_codes_in_a_session_of_its_level() {
    let world = World::with(&format!("{ON}identity.second_step = 'step-up'\n"), &clients());
    super::passkeys::enrolled(&world, "anna");
    let mut browser = signed_in(&world, "anna", None);
    let off = browser.get(PAGE);
    let refused = send(&mut browser, &off, &[("password", "secret")]);
    assert!(is_wrong(&refused) && !refused.text.contains("otpauth"), "{}", refused.text);
    assert!(refused.text.contains("without your second step"), "{}", refused.text);
}
