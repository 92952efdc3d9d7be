//! A password that must be changed, as a form of the login.

use serde_json::json;

use super::world::{Browser, Seen, World, clients, send};

/// `anna` administers.
pub(super) const ADMINISTERED: &str = "identity.administrators_group = 'staff'\n";

/// The token of a session of `anna`, for calls of an administrator.
pub(super) fn administrator(world: &World) -> String {
    let body = json!({ "user": "anna", "password": "secret" }).to_string();
    let json = [("Content-Type", "application/json")];
    send(&world.server, "POST", "/v1/login", &json, &body).member("token")
}

pub(super) fn change(world: &World, user: &str, changes: &serde_json::Value) {
    let bearer = format!("Bearer {}", administrator(world));
    let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
    let seen = send(&world.server, "PATCH", &format!("/v1/users/{user}"), &headers, &changes.to_string());
    assert_eq!(seen.status, 200, "{}", seen.text);
}

fn choose(browser: &mut Browser<'_>, form: &Seen, password: &str, again: &str) -> Seen {
    browser.answer(form, &[("new_password", password), ("new_password_again", again)])
}

#[test]
fn there_is_a_form_for_another_password_before_there_is_a_session() {
    let world = World::with(ADMINISTERED, &clients());
    change(&world, "carl", &json!({ "must_change_password": true }));
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let form = browser.login(&form, "carl");
    assert!(form.text.contains("name=\"new_password\"") && browser.session().is_none(), "{}", form.text);
    let mut last = form;
    for (password, again, field) in [
        ("another one", "another two", "new_password_again"),
        ("short", "short", "new_password"),
        ("", "", "new_password"),
    ] {
        last = choose(&mut browser, &last, password, again);
        let problem = format!("href=\"#{field}\"");
        assert!(last.text.contains("role=\"alert\"") && last.text.contains(&problem), "{}", last.text);
        assert!(browser.session().is_none());
    }
    let back = choose(&mut browser, &last, "another one", "another one");
    assert!(!back.code().is_empty() && browser.session().is_some());
    let mut other = world.browser();
    let form = other.authorize(&[]);
    let form = other.login(&form, "carl");
    assert!(form.text.contains("name=\"password\""), "the old one is over: {}", form.text);
    let back = other.answer(&form, &[("username", "carl"), ("password", "another one")]);
    assert!(!back.code().is_empty());
}

#[test]
fn the_old_password_is_not_taken_as_the_new_one_and_a_code_comes_first() {
    let world = World::with(&format!("{ADMINISTERED}identity.password_length_min = 5\n"), &clients());
    change(&world, "berta", &json!({ "must_change_password": true }));
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let form = browser.login(&form, "berta");
    assert!(form.text.contains("name=\"code\""), "{}", form.text);
    let form = browser.answer(&form, &[("code", &world.totp.code(world.now()))]);
    let form = choose(&mut browser, &form, "secret", "secret");
    assert!(form.text.contains("role=\"alert\"") && browser.session().is_none(), "{}", form.text);
    assert!(!choose(&mut browser, &form, "another one", "another one").code().is_empty());
}

#[test]
fn a_form_of_a_password_that_was_replaced_meanwhile_begins_anew() {
    let world = World::with(ADMINISTERED, &clients());
    change(&world, "carl", &json!({ "must_change_password": true }));
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let form = browser.login(&form, "carl");
    change(&world, "carl", &json!({ "password": "of the administrator" }));
    let form = choose(&mut browser, &form, "of a thief", "of a thief");
    assert!(form.text.contains("name=\"password\"") && browser.session().is_none(), "{}", form.text);
    let form = browser.answer(&form, &[("username", "carl"), ("password", "of the administrator")]);
    assert!(form.text.contains("name=\"new_password\""), "{}", form.text);
}
