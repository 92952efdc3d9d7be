//! Users of a directory outside, which tells nobody when it removes one.

use super::world::{World, clients};
use crate::slapd::{BASE, Far, SEARCHER, Slapd};

fn settings(slapd: &Slapd) -> String {
    format!(
        "[[identity.ldap]]\nservers = ['{}']\nbase = '{BASE}'\nauthorities = '{}'\nsearch_as = '{SEARCHER}'\n\
         search_password_path = '{}'",
        slapd.tls_url(),
        slapd.ca().display(),
        slapd.password().display()
    )
}

/// Nobody binds as them for a refresh token: the entry says it.
#[test]
fn whoever_was_disabled_gets_nothing_more() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Some(mut slapd) = runtime.block_on(Slapd::start(Far::Nowhere)) else { return };
    let world = World::of(&settings(&slapd), &clients());
    let (mut browser, code) = world.logged_in();
    let tokens = world.exchange(&code);
    let (access, refresh) = (tokens.member("access_token"), tokens.member("refresh_token"));
    let mut is_locked = |value: &str| {
        let classes = [("objectClass", "inetOrgPerson"), ("objectClass", "ofOthers")];
        let values = [classes[0], classes[1], ("nsAccountLock", value)];
        runtime.block_on(slapd.set(&format!("uid=anna,{BASE}"), &values));
    };
    is_locked("TRUE");
    assert_eq!(browser.authorize(&[("prompt", "none")]).error(), "login_required");
    world.refresh(&refresh).is_refused(400, "invalid_grant");
    assert_eq!(world.userinfo(&access).status, 401);
    is_locked("FALSE");
    assert_eq!(world.userinfo(&access).status, 200);
    world.refresh(&refresh).member("refresh_token");
}

#[test]
fn whoever_was_removed_gets_nothing_more_and_nobody_is_guessed() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Some(mut slapd) = runtime.block_on(Slapd::start(Far::Nowhere)) else { return };
    let world = World::of(&settings(&slapd), &clients());
    let (mut browser, code) = world.logged_in();
    let tokens = world.exchange(&code);
    let (access, refresh) = (tokens.member("access_token"), tokens.member("refresh_token"));
    let for_orders = browser.authorize(&[("prompt", "none"), ("resource", "orders")]).code();
    let for_orders = world.exchange(&for_orders).member("access_token");
    let introspect = || world.ask("orders", "/oauth2/introspect", &[("token", &for_orders)]);
    assert_eq!(introspect().json()["active"], true);
    let code = browser.authorize(&[("prompt", "none")]).code();
    slapd.end();
    assert_eq!(browser.authorize(&[("prompt", "none")]).error(), "temporarily_unavailable");
    world.exchange(&code).is_refused(503, "temporarily_unavailable");
    world.refresh(&refresh).is_refused(503, "temporarily_unavailable");
    assert_eq!(world.userinfo(&access).status, 503);
    introspect().is_refused(503, "temporarily_unavailable");
    slapd.begin();
    assert!(runtime.block_on(slapd.listens()));
    // What could not be looked at was not used up either.
    let refresh = world.refresh(&refresh).member("refresh_token");
    assert_eq!(world.userinfo(&access).status, 200);
    slapd.end();
    slapd.remove(&format!("uid=anna,{BASE}"));
    slapd.begin();
    assert!(runtime.block_on(slapd.listens()));
    assert_eq!(browser.authorize(&[("prompt", "none")]).error(), "login_required");
    assert!(browser.authorize(&[]).text.contains("name=\"password\""));
    world.exchange(&code).is_refused(400, "invalid_grant");
    world.refresh(&refresh).is_refused(400, "invalid_grant");
    assert_eq!(world.userinfo(&access).status, 401);
    assert_eq!(introspect().json(), serde_json::json!({ "active": false }));
}
