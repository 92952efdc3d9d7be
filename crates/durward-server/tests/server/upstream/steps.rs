//! What else is asked here of users who come back from another provider: codes, passkeys, and no password.

use serde_json::json;

use super::world::{came_back, came_back_in, users, with_fake};
use crate::oauth::world::part;
use crate::oidc::passkeys::{ON, enrolled, offers, options};

const BY_NAME: &str = "link_by = 'user-name'";

#[test]
fn a_password_that_must_be_changed_does_not_stop_a_login_without_it() {
    let (world, fake) = with_fake("", BY_NAME);
    for name in ["anna", "berta"] {
        let mut account = users(&world).list().into_iter().find(|account| account.subject == name).unwrap();
        account.must_change_password = true;
        users(&world).put(account).unwrap();
    }
    came_back(&world, &fake, |claims| claims["preferred_username"] = json!("anna")).code();
    let mut browser = world.browser();
    let form = came_back_in(&mut browser, &world, &fake, |claims| {
        claims["sub"] = json!("4712");
        claims["preferred_username"] = json!("berta");
    });
    assert!(form.text.contains("name=\"code\""), "{}", form.text);
    browser.answer(&form, &[("code", &world.totp.code(world.now()))]).code();
    // It stops one with the password.
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let form = browser.login(&form, "anna");
    assert!(form.text.contains("name=\"new_password\"") && browser.session().is_none(), "{}", form.text);
}

#[test]
fn a_passkey_is_the_second_step_after_a_login_there() {
    let (world, fake) = with_fake(ON, BY_NAME);
    let mut authenticator = enrolled(&world, "anna");
    let mut browser = world.browser();
    let page = came_back_in(&mut browser, &world, &fake, |claims| {
        claims["preferred_username"] = json!("anna");
        claims["amr"] = json!(["face"]);
    });
    assert!(offers(&page) && browser.session().is_none(), "{}", page.text);
    let credential = authenticator.get(&options(&page)).to_string();
    let claims = part(
        &world.exchange(&browser.answer(&page, &[("passkey", &credential)]).code()).member("id_token"),
        1,
    );
    assert_eq!((&claims["sub"], &claims["acr"]), (&json!("anna"), &json!("urn:durward:acr:level:1")));
    assert_eq!(claims["amr"], json!(["face", "hwk", "user", "mfa"]));
}

#[test]
fn passkeys_stay_where_there_is_no_form_for_passwords() {
    let reset = "identity.reset = { command = ['true'], link = 'https://id.example.org/oauth2/reset' }\n";
    let (world, _fake) = with_fake(&format!("{ON}{reset}"), "");
    let page = world.browser().authorize(&[]);
    assert!(page.text.contains("name=\"password\"") && page.text.contains("/oauth2/reset"), "{}", page.text);
    let (world, _fake) = with_fake(&format!("{ON}{reset}identity.password_form = false\n"), "");
    let page = world.browser().authorize(&[]);
    assert!(offers(&page) && page.text.contains("value=\"corp\""), "{}", page.text);
    assert!(
        !page.text.contains("name=\"password\"") && !page.text.contains("/oauth2/reset"),
        "{}",
        page.text
    );
}
