//! A user logs in at another provider, and an application learns who they are here.

use serde_json::json;

use super::fake::Fake;
use super::world::{
    UNDELAYED, back, came_back, came_back_in, leave, of_fake, path_at, sign_in, two, users, with_fake,
};
use crate::oauth::world::part;
use crate::oidc::world::{CALLBACK, ISSUER, World, clients, parts};
use crate::support::Directory;

#[test]
fn a_user_of_another_durward_logs_in_here() {
    let more = "create = true\ngroups_claim = 'groups'\ngroups = { engineers = 'partners' }\nattributes = { mail = 'email' }";
    let (world, provider, _secrets) = two("", more);
    let (mut here, mut there) = (world.browser(), provider.browser());
    let form = here.authorize(&[("login_hint", "ulla"), ("max_age", "600")]);
    assert!(form.text.contains("name=\"upstream\" value=\"corp\""), "{}", form.text);
    assert!(form.text.contains("Continue with <bdi>corp</bdi>"), "{}", form.text);
    let leaving = here.answer(&form, &[("upstream", "corp")]);
    assert!(leaving.text.contains("http-equiv=\"refresh\""), "{}", leaving.text);
    let away = leaving.leads();
    let (place, asked) = parts(&away);
    assert_eq!(place, format!("{}/oauth2/authorize", provider.issuer()));
    assert_eq!(
        (&*asked["login_hint"], &*asked["max_age"], &*asked["response_type"]),
        ("ulla", "600", "code")
    );
    assert_eq!((asked["state"].len(), &*asked["code_challenge_method"]), (32, "S256"));
    assert_eq!(asked["redirect_uri"], format!("{ISSUER}/oauth2/upstream/callback/corp"));
    let form = there.get(path_at(&away, &provider.issuer()));
    let returned = there.login(&form, "ulla");
    let (_, brought) = returned.back();
    assert_eq!(brought["iss"], provider.issuer());
    let seen = here.get(path_at(&returned.leads(), ISSUER));
    assert!(!here.cookies.contains_key("__Host-durward_upstream"), "it is over");
    assert!(!here.cookies.contains_key("__Host-durward_upstream_login"), "no logout there is wanted");
    let tokens = world.exchange(&seen.code());
    let claims = part(&tokens.member("id_token"), 1);
    assert_eq!(
        (&claims["sub"], &claims["amr"], &claims["nonce"]),
        (&json!("ulla"), &json!(["pwd"]), &json!("n-1"))
    );
    assert_eq!(claims["acr"], "urn:durward:acr:level:0");
    // The user is one of this server now.
    let found = users(&world).list().into_iter().find(|account| account.subject == "ulla").unwrap();
    assert_eq!((found.groups, found.password), (vec!["partners".to_owned()], None));
    assert_eq!(found.attributes["mail"], ["ulla@there.example"]);
    assert_eq!((found.links[0].issuer.clone(), &*found.links[0].subject), (provider.issuer(), "ulla"));
    assert_eq!(world.server.metric("durward_upstream_logins_total{result=\"granted\"}"), 1.0);
    // The next application is served without a word.
    let second = here.authorize(&[("scope", "openid groups"), ("prompt", "none")]);
    let said = world.userinfo(&world.exchange(&second.code()).member("access_token"));
    assert_eq!(said.json(), json!({ "sub": "ulla", "groups": ["partners"] }));
}

#[test]
fn what_the_provider_settles_is_as_it_says_at_each_login() {
    let more = "create = true\ngroups_claim = 'groups'\ngroups = { engineers = 'partners', lead = 'leads' }\nattributes = { mail = 'email' }";
    let (world, provider, _secrets) = two("", more);
    sign_in(&mut world.browser(), &mut provider.browser(), &provider.issuer(), "ulla").code();
    let find = || users(&world).list().into_iter().find(|account| account.subject == "ulla").unwrap();
    let mut account = find();
    account.groups.push("night".to_owned());
    users(&world).put(account).unwrap();
    let there = provider.users();
    let mut account = there.list().into_iter().find(|account| account.subject == "ulla").unwrap();
    account.groups = vec!["lead".to_owned(), "administrators".to_owned()];
    account.attributes.clear();
    there.put(account).unwrap();
    drop(there);
    sign_in(&mut world.browser(), &mut provider.browser(), &provider.issuer(), "ulla").code();
    assert_eq!(
        (find().groups, find().attributes.get("mail")),
        (vec!["night".to_owned(), "leads".to_owned()], None)
    );
}

#[test]
fn the_time_and_the_methods_are_those_of_the_provider() {
    let (world, fake) = with_fake("", "create = true\nsecond_step_amr = ['hwk']");
    let at = world.now().ms() / 1000 - 100;
    let seen = came_back(&world, &fake, |claims| {
        claims["auth_time"] = json!(at);
        claims["amr"] = json!(["pwd", "hwk"]);
    });
    let claims = part(&world.exchange(&seen.code()).member("id_token"), 1);
    assert_eq!((&claims["auth_time"], &claims["amr"]), (&json!(at), &json!(["pwd", "hwk"])));
    assert_eq!(claims["acr"], "urn:durward:acr:level:1", "its second step counts");
    // It was too long ago for somebody: there, too, it is to be made again.
    let mut browser = world.browser();
    let away = leave(&mut browser, "corp", &[("max_age", "60")]);
    let mut claims = fake.claims(away.nonce(), world.now().ms() / 1000);
    claims["auth_time"] = json!(at - 100);
    fake.gives(&fake.sign(&claims));
    assert_eq!(back(&mut browser, "corp", &[("code", "c"), ("state", away.state())]).status, 403);
}

#[test]
fn a_second_step_here_is_taken_after_a_login_there() {
    let (world, provider, _secrets) = two("", "link_by = 'user-name'");
    let (mut here, mut there) = (world.browser(), provider.browser());
    let form = sign_in(&mut here, &mut there, &provider.issuer(), "berta");
    assert!(form.text.contains("name=\"code\""), "{}", form.text);
    assert_eq!(here.session(), None);
    let code = world.totp.code(world.now());
    let seen = here.answer(&form, &[("code", &code)]);
    let claims = part(&world.exchange(&seen.code()).member("id_token"), 1);
    assert_eq!((&claims["sub"], &claims["acr"]), (&json!("berta"), &json!("urn:durward:acr:level:1")));
    assert_eq!(claims["amr"], json!(["pwd", "otp", "mfa"]));
}

#[test]
fn without_a_form_for_passwords_the_browser_goes_to_the_one_provider_at_once() {
    let (world, fake) = with_fake("identity.password_form = false", "create = true");
    let mut browser = world.browser();
    let seen = browser.authorize(&[]);
    assert_eq!(parts(&seen.leads()).0, format!("{}/authorize", fake.issuer));
    let (_, asked) = parts(&seen.leads());
    fake.gives(&fake.sign(&fake.claims(&asked["nonce"], world.now().ms() / 1000)));
    let seen = back(&mut browser, "corp", &[("code", "c"), ("state", &asked["state"])]);
    assert_eq!(seen.back().0, CALLBACK);
    assert_eq!(world.browser().authorize(&[("prompt", "none")]).error(), "login_required");
}

#[test]
fn without_a_form_for_passwords_no_password_is_taken() {
    let (fake, other) = (Fake::start(), Fake::start());
    let two = format!("{}{}", of_fake(&fake, ""), of_fake(&other, "").replace("'corp'", "'other'"));
    let world = World::with("identity.password_form = false", &format!("{two}{}", clients()));
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    assert!(!form.text.contains("type=\"password\""), "{}", form.text);
    assert!(form.text.contains("value=\"corp\"") && form.text.contains("value=\"other\""), "{}", form.text);
    assert!(form.text.contains("<bdi>Corp &#38; Co</bdi>"), "{}", form.text);
    let seen = browser.login(&form, "anna");
    assert_eq!((seen.status, browser.session()), (200, None));
    assert!(!seen.text.contains("type=\"password\""), "{}", seen.text);
}

#[test]
fn what_the_provider_says_instead_of_a_code_is_told() {
    let (world, fake) = with_fake("", "");
    let mut browser = world.browser();
    let mut told = |parameters: &[(&str, &str)]| {
        let away = leave(&mut browser, "corp", &[]);
        let mut all = vec![("state", away.state())];
        all.extend(parameters);
        back(&mut browser, "corp", &all)
    };
    assert_eq!(told(&[("error", "access_denied")]).error(), "access_denied");
    assert_eq!(told(&[("error", "login_required")]).error(), "login_required");
    assert_eq!(told(&[("error", "server_error")]).error(), "temporarily_unavailable");
    let seen = told(&[("error", "<script>")]);
    assert_eq!((seen.status, seen.text.contains("script")), (403, false), "{}", seen.text);
    assert!(seen.text.contains("<bdi>Corp &#38; Co</bdi> did not sign you in"), "{}", seen.text);
    assert_eq!(told(&[]).status, 403);
    assert!(fake.asked("/token").is_empty());
}

#[test]
fn a_provider_that_does_not_answer_is_told_of() {
    let (world, fake) = with_fake("", "create = true");
    fake.put("/.well-known/openid-configuration", 500, "");
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let seen = browser.answer(&form, &[("upstream", "corp")]);
    assert_eq!(seen.status, 503, "{}", seen.text);
    assert!(seen.text.contains("cannot be reached"), "{}", seen.text);
    // Passwords are taken all the same.
    assert_eq!(browser.login(&form, "anna").back().0, CALLBACK);
}

#[test]
fn tokens_that_cannot_be_had_are_no_fault_of_the_user() {
    let (world, fake) = with_fake("", "create = true");
    let mut browser = world.browser();
    for (status, body) in
        [(500, ""), (401, r#"{"error":"invalid_client"}"#), (200, "[]"), (200, "{}"), (302, "")]
    {
        let away = leave(&mut browser, "corp", &[]);
        fake.put("/token", status, body);
        let seen = back(&mut browser, "corp", &[("code", "c"), ("state", away.state())]);
        assert_eq!(seen.status, 503, "{status} {body}: {}", seen.text);
    }
    let away = leave(&mut browser, "corp", &[]);
    fake.put("/token", 400, r#"{"error":"invalid_grant"}"#);
    assert_eq!(back(&mut browser, "corp", &[("code", "c"), ("state", away.state())]).status, 403);
}

#[test]
fn the_secret_is_shown_as_the_provider_wants_it() {
    let secrets = Directory::new();
    secrets.write_secret("secret", "p&s: t\n");
    let path = secrets.path("secret").display().to_string();
    for (auth, authorization, in_body) in [
        // RFC 6749, 2.3.1: encoded, and then as Base64.
        ("basic", "Basic ZHVyd2FyZDpwJTI2cyUzQSt0", false),
        ("post", "", true),
    ] {
        let more = format!("create = true\nclient_secret_path = '{path}'\nclient_auth = '{auth}'");
        let (world, fake) = with_fake("", &more);
        came_back(&world, &fake, |_| {}).code();
        let asked = fake.asked("/token");
        let [asked] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!(asked.authorization, authorization);
        assert_eq!(asked.body.contains("client_secret=p%26s%3A+t"), in_body, "{}", asked.body);
        assert!(
            asked.body.contains("code_verifier=") && asked.body.contains("grant_type=authorization_code")
        );
    }
}

#[test]
fn the_settings_of_a_provider_are_used_by_all_of_its_logins() {
    let fake = Fake::start();
    let more = "create = true\nscopes = ['openid', 'x:y']\nsecond_step_acr = ['gold', 'platinum']";
    let world = World::with(UNDELAYED, &format!("{}{}", of_fake(&fake, more), clients()));
    let mut browser = world.browser();
    let away = leave(&mut browser, "corp", &[("acr_values", "urn:durward:acr:level:1"), ("prompt", "login")]);
    assert_eq!(away.place, format!("{}/authorize", fake.issuer));
    assert_eq!((&*away.asked["scope"], &*away.asked["acr_values"]), ("openid x:y", "gold platinum"));
    assert_eq!((&*away.asked["prompt"], &*away.asked["client_id"]), ("login", "durward"));
    // It was to ask for a login, and did not.
    let now_s = world.now().ms() / 1000;
    let mut claims = fake.claims(away.nonce(), now_s);
    claims["auth_time"] = json!(now_s - 120);
    fake.gives(&fake.sign(&claims));
    assert_eq!(back(&mut browser, "corp", &[("code", "c"), ("state", away.state())]).status, 403);
    let seen = came_back_in(&mut browser, &world, &fake, |claims| claims["acr"] = json!("gold"));
    let claims = part(&world.exchange(&seen.code()).member("id_token"), 1);
    assert_eq!((&claims["acr"], claims.get("amr")), (&json!("urn:durward:acr:level:1"), None));
}
