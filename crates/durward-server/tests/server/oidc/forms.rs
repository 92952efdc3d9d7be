//! What users are asked, and when.

use super::world::World;
use crate::oauth::world::part;

#[test]
fn nothing_is_asked_where_nothing_may_be() {
    let world = World::new();
    let mut browser = world.browser();
    assert_eq!(browser.authorize(&[("prompt", "none")]).error(), "login_required");
    let form = browser.authorize(&[]);
    browser.login(&form, "anna");
    assert!(!browser.authorize(&[("prompt", "none")]).code().is_empty());
    assert_eq!(browser.authorize(&[("prompt", "none login")]).error(), "invalid_request");
}

#[test]
fn whoever_is_logged_in_logs_in_again_where_it_is_asked_for() {
    let world = World::new();
    let (mut browser, first) = world.logged_in();
    let first = world.exchange(&first);
    let before = browser.session().unwrap().to_owned();
    let form = browser.authorize(&[("prompt", "login")]);
    world.pass(5);
    let back = browser.login(&form, "anna");
    assert_ne!(browser.session().unwrap(), before, "a login has a session of its own");
    let second = world.exchange(&back.code());
    let of = |tokens: &super::world::Seen, name: &str| part(&tokens.member("id_token"), 1)[name].clone();
    assert!(of(&second, "auth_time").as_u64() > of(&first, "auth_time").as_u64());
    assert_ne!(of(&second, "sid"), of(&first, "sid"));
}

#[test]
fn a_login_that_is_too_old_is_made_again() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    world.pass(100);
    assert!(!browser.authorize(&[("max_age", "200")]).code().is_empty());
    assert_eq!(browser.authorize(&[("max_age", "50"), ("prompt", "none")]).error(), "login_required");
    assert_eq!(browser.authorize(&[("max_age", "soon")]).error(), "invalid_request");
    let form = browser.authorize(&[("max_age", "50")]);
    world.pass(70);
    assert!(!browser.login(&form, "anna").code().is_empty());
    // 0 is too old in any case.
    let form = browser.authorize(&[("max_age", "0")]);
    assert!(!browser.login(&form, "anna").code().is_empty());
}

#[test]
fn a_wrong_password_is_asked_again() {
    let world = World::new();
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let again = browser.answer(&form, &[("username", "anna"), ("password", "wrong")]);
    assert!(again.text.contains("role=\"alert\"") && again.text.contains("value=\"anna\""), "{}", again.text);
    assert_eq!(browser.session(), None);
    let nobody = browser.answer(&again, &[("username", "nobody"), ("password", "wrong")]);
    assert!(nobody.text.contains("role=\"alert\""));
    let none = browser.answer(&nobody, &[]);
    assert!(!browser.login(&none, "anna").code().is_empty());
}

#[test]
fn the_second_step_is_a_form_of_its_own() {
    let world = World::new();
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let form = browser.login(&form, "berta");
    assert!(form.text.contains("name=\"code\"") && browser.session().is_none(), "{}", form.text);
    let again = browser.answer(&form, &[("code", "000000")]);
    assert!(again.text.contains("role=\"alert\"") && again.text.contains("berta"), "{}", again.text);
    let code = world.totp.code(world.now());
    let back = browser.answer(&again, &[("code", &code)]);
    let claims = part(&world.exchange(&back.code()).member("id_token"), 1);
    assert_eq!(claims["acr"], "urn:durward:acr:level:1");
    assert_eq!(claims["amr"], serde_json::json!(["pwd", "otp", "mfa"]));
}

#[test]
fn a_level_that_is_wished_for_is_reached_by_those_who_can() {
    let world = World::with("identity.second_step = 'step-up'", &super::world::clients());
    let level = ("acr_values", "urn:else urn:durward:acr:level:1");
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let code = browser.login(&form, "berta").code();
    assert_eq!(part(&world.exchange(&code).member("id_token"), 1)["acr"], "urn:durward:acr:level:0");
    assert_eq!(browser.authorize(&[level, ("prompt", "none")]).error(), "interaction_required");
    let form = browser.authorize(&[level]);
    assert!(form.text.contains("name=\"code\""), "{}", form.text);
    let code = world.totp.code(world.now());
    let back = browser.answer(&form, &[("code", &code)]);
    assert_eq!(part(&world.exchange(&back.code()).member("id_token"), 1)["acr"], "urn:durward:acr:level:1");
    // Anna has no second step: the application reads that in `acr`.
    let (mut browser, _) = world.logged_in();
    let code = browser.authorize(&[level]).code();
    assert_eq!(part(&world.exchange(&code).member("id_token"), 1)["acr"], "urn:durward:acr:level:0");
}

#[test]
fn consent_is_asked_once_for_a_client_its_scopes_and_services() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    let asks = [("client_id", "asks"), ("redirect_uri", "https://asks.example/cb"), ("scope", "openid")];
    let with = |more: &[(&'static str, &'static str)]| [&asks[..], more].concat();
    assert_eq!(browser.authorize(&with(&[("prompt", "none")])).error(), "consent_required");
    // Whoever the application says it is, it is asked of whoever has logged in.
    let form = browser.authorize(&with(&[("login_hint", "mallory")]));
    assert!(form.text.contains("The &#60;asking&#62; one"), "{}", form.text);
    assert!(form.text.contains("anna") && !form.text.contains("mallory"), "{}", form.text);
    assert_eq!(browser.answer(&form, &[("consent", "no")]).error(), "access_denied");
    let form = browser.authorize(&asks);
    let back = browser.answer(&form, &[("consent", "yes")]);
    assert!(back.back().1.contains_key("code"));
    assert!(browser.authorize(&with(&[("prompt", "none")])).back().1.contains_key("code"));
    // More is another consent, and who asks for it is asked.
    let more = with(&[("scope", "openid email"), ("prompt", "none")]);
    assert_eq!(browser.authorize(&more).error(), "consent_required");
    let service = with(&[("resource", "orders")]);
    assert_eq!(
        browser.authorize(&[&service[..], &[("prompt", "none")]].concat()).error(),
        "consent_required"
    );
    let form = browser.authorize(&service);
    assert!(form.text.contains("use the service “<bdi>orders</bdi>” in your name"), "{}", form.text);
    assert!(browser.answer(&form, &[("consent", "yes")]).back().1.contains_key("code"));
    assert!(browser.authorize(&with(&[("prompt", "none")])).back().1.contains_key("code"));
    assert!(browser.authorize(&with(&[("prompt", "consent")])).text.contains("name=\"consent\""));
    // It was Anna's.
    let form = browser.authorize(&[("prompt", "login")]);
    browser.login(&form, "carl");
    assert_eq!(browser.authorize(&with(&[("prompt", "none")])).error(), "consent_required");
}

#[test]
fn the_user_whom_an_application_knows_must_be_the_one() {
    let world = World::new();
    let (mut browser, code) = world.logged_in();
    let hint = world.exchange(&code).member("id_token");
    let with_hint = [("id_token_hint", hint.as_str()), ("prompt", "none")];
    assert!(!browser.authorize(&with_hint).code().is_empty());
    let form = browser.authorize(&[("prompt", "login")]);
    browser.login(&form, "carl");
    assert_eq!(browser.authorize(&with_hint).error(), "login_required");
    let form = browser.authorize(&[("id_token_hint", &hint)]);
    assert_eq!(browser.login(&form, "carl").error(), "login_required");
    assert_eq!(browser.authorize(&[("id_token_hint", "x")]).error(), "invalid_request");
}

#[test]
fn a_login_ends_the_session_that_the_browser_had_before() {
    let world = World::new();
    for user in ["carl", "anna"] {
        let (mut browser, code) = world.logged_in();
        let tokens = world.exchange(&code);
        let (mut other, _) = world.logged_in();
        let form = browser.authorize(&[("prompt", "login")]);
        browser.answer(&form, &[("username", user), ("password", "wrong")]);
        assert_eq!(world.userinfo(&tokens.member("access_token")).status, 200, "nobody has logged in");
        assert_eq!(world.exchange(&browser.login(&form, user).code()).status, 200);
        assert_eq!(world.userinfo(&tokens.member("access_token")).status, 401, "{user}");
        world.refresh(&tokens.member("refresh_token")).is_refused(400, "invalid_grant");
        assert!(!other.authorize(&[("prompt", "none")]).code().is_empty(), "another browser's lives");
    }
}

/// Guesses at a user until nobody of whom nothing is known may try.
fn besiege(world: &World, user: &str) {
    let mut stranger = world.browser();
    let form = stranger.authorize(&[]);
    let mut guess = || stranger.answer(&form, &[("username", user), ("password", "wrong")]).status;
    assert!((0..40).any(|_| guess() == 429));
}

#[test]
fn a_browser_in_which_a_user_has_logged_in_waits_for_no_stranger() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    besiege(&world, "anna");
    let form = browser.authorize(&[("prompt", "login")]);
    assert!(!browser.login(&form, "anna").code().is_empty());
    // The second step likewise.
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let form = browser.login(&form, "berta");
    assert!(!browser.cookies.contains_key("durward_device"), "the login is half done");
    let code = world.totp.code(world.now());
    assert!(!browser.answer(&form, &[("code", &code)]).code().is_empty());
    world.pass(60);
    let form = browser.authorize(&[("prompt", "login")]);
    let form = browser.login(&form, "berta");
    let mut stranger = browser.clone();
    stranger.cookies.remove("durward_device");
    let mut guess = || stranger.answer(&form, &[("code", "000000")]).status;
    assert!((0..40).any(|_| guess() == 429));
    let code = world.totp.code(world.now());
    assert!(!browser.answer(&form, &[("code", &code)]).code().is_empty());
}

#[test]
fn guesses_are_delayed_as_everywhere() {
    let world = World::new();
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let answers: Vec<u16> = (0..6)
        .map(|_| browser.answer(&form, &[("username", "anna"), ("password", "wrong")]).status)
        .collect();
    assert!(answers.contains(&429), "{answers:?}");
}
