//! Second steps of users in a real directory, on every way to log in: over `/v1`, in the login pages, by OpenAM's callbacks and pages.

use serde_json::{Value, json};

use crate::identity::{agrees_as, get, post};
use crate::oidc::second_step::{PAGE, set_up, signed_in};
use crate::oidc::world::{World, clients};
use crate::openam::browser::{Browser, place};
use crate::openam::world::RECORDED;
use crate::slapd::{BASE, Far, GROUPS, SEARCHER, Slapd};
use crate::support::Reply;
use crate::users_http::device;

fn slapd(runtime: &tokio::runtime::Runtime) -> Option<Slapd> {
    runtime.block_on(Slapd::start(Far::Nowhere))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A server whose users are in the directory. Its file keeps a second step of `berta`, who administers.
fn world(slapd: &Slapd, realms: &str) -> World {
    let settings = format!(
        "identity.users = 'users'\nidentity.realms = []\n[[identity.ldap]]\nservers = ['{}']\nbase = '{BASE}'\n\
         authorities = '{}'\nsearch_as = '{SEARCHER}'\nsearch_password_path = '{}'\ngroups_base = '{GROUPS}'\n\
         realms = {realms}\nrest_s = 0\n",
        slapd.tls_url(),
        slapd.ca().display(),
        slapd.password().display()
    );
    World::of(&settings, &format!("{}{RECORDED}\n", clients()))
}

fn ok(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

impl World {
    fn log_in(&self, user: &str) -> Reply {
        post(&self.server, "/v1/login", None, &json!({ "user": user, "password": "secret" }))
    }

    fn challenge(&self, user: &str) -> Value {
        let half = self.log_in(user);
        assert_eq!(half.status, 202, "{}", half.text());
        half.json()["challenge"].clone()
    }

    fn answer(&self, challenge: &Value, code: &str) -> Reply {
        post(&self.server, "/v1/login/code", None, &json!({ "challenge": challenge, "code": code }))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn codes_are_set_up_asked_for_and_removed_over_http() {
    let runtime = runtime();
    let Some(slapd) = slapd(&runtime) else { return };
    let world = world(&slapd, "['/']");
    let server = &world.server;
    let description = server.get("/v1/openapi.json").json();
    let own = "/v1/users/me/second-step";
    let anna = text(&ok(&world.log_in("anna"))["token"]);
    assert_eq!(ok(&get(server, own, &anna)), json!({ "second_step": false, "recovery_codes_left": 0 }));
    let enrol =
        |password: &str| post(server, &format!("{own}/enrol"), Some(&anna), &json!({ "password": password }));
    assert_eq!(enrol("wrong").status, 403);
    let begun = ok(&enrol("secret"));
    assert!(text(&begun["uri"]).contains("durward:anna"), "{begun}");
    let totp = device(&text(&begun["secret"]));
    let body = json!({ "enrolment": begun["enrolment"], "code": totp.code(world.now()) });
    let confirmed = ok(&post(server, &format!("{own}/confirm"), Some(&anna), &body));
    let recovery: Vec<String> = confirmed["recovery_codes"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(get(server, "/v1/session", &anna).status, 401, "sessions end");
    world.pass(60);
    let challenge = world.challenge("anna");
    assert_eq!(world.answer(&challenge, "000000").status, 401);
    let code = totp.code(world.now());
    let granted = ok(&world.answer(&challenge, &code));
    assert_eq!((&granted["user"], &granted["level"]), (&json!("anna"), &json!(1)));
    assert_eq!(world.answer(&world.challenge("anna"), &code).status, 401, "replayed");
    let of_berta = world.totp.code(world.now());
    assert_eq!(world.answer(&world.challenge("anna"), &of_berta).status, 401, "another user's");
    let anna = text(&granted["token"]);
    // Who has lost the device is helped by an administrator, who needs their own.
    assert_eq!(ok(&world.answer(&world.challenge("berta"), &of_berta))["level"], 1);
    world.pass(60);
    let berta = ok(&world.answer(&world.challenge("berta"), &world.totp.code(world.now())));
    let berta = text(&berta["token"]);
    let whose = json!({ "user": "anna" });
    let path = "/v1/admin/second-step";
    assert_eq!(post(server, path, Some(&anna), &whose).status, 403);
    let seen = post(server, path, Some(&berta), &whose);
    agrees_as(&description, path, "post", &seen);
    assert_eq!(ok(&seen), json!({ "second_step": true, "recovery_codes_left": 10 }));
    let path = "/v1/admin/second-step/remove";
    assert_eq!(post(server, path, Some(&anna), &whose).status, 403);
    let removed = post(server, path, Some(&berta), &whose);
    agrees_as(&description, path, "post", &removed);
    assert_eq!(ok(&removed), json!({ "done": true }));
    let again = post(server, path, Some(&berta), &whose);
    agrees_as(&description, path, "post", &again);
    assert_eq!(again.status, 409);
    assert_eq!(get(server, "/v1/session", &anna).status, 401);
    assert_eq!(world.answer(&challenge, &recovery[0]).status, 401);
    ok(&world.log_in("anna"));
}

#[test]
fn a_directory_of_several_realms_has_no_second_steps() {
    let runtime = runtime();
    let Some(slapd) = slapd(&runtime) else { return };
    let world = world(&slapd, "['/', '/corp']");
    let server = &world.server;
    // Not asked in one realm, and let in without in the next one.
    let berta = text(&ok(&world.log_in("berta"))["token"]);
    let path = "/v1/users/me/second-step/enrol";
    let refused = post(server, path, Some(&berta), &json!({ "password": "secret" }));
    agrees_as(&server.get("/v1/openapi.json").json(), path, "post", &refused);
    assert_eq!(refused.status, 409);
    let mut browser = signed_in(&world, "anna", None);
    assert_eq!(browser.get(PAGE).status, 404);
}

#[test]
fn codes_are_set_up_in_the_login_pages_and_asked_for_there() {
    let runtime = runtime();
    let Some(mut slapd) = slapd(&runtime) else { return };
    let world = world(&slapd, "['/']");
    let mut browser = signed_in(&world, "anna", None);
    let codes = set_up(&world, &mut browser);
    let mut browser = signed_in(&world, "anna", Some(&codes[0]));
    world.pass(60);
    signed_in(&world, "berta", Some(&world.totp.code(world.now())));
    let on = browser.get(PAGE);
    assert!(on.text.contains("name=\"code\""), "{}", on.text);
    // Nobody can say whether she is still there.
    slapd.end();
    let csrf = on.csrf();
    assert_eq!(browser.post(PAGE, &[("csrf", &csrf), ("code", &codes[1])]).status, 503);
    slapd.remove(&format!("uid=anna,{BASE}"));
    slapd.begin();
    assert!(runtime.block_on(slapd.listens()));
    assert_eq!(browser.post(PAGE, &[("csrf", &csrf), ("code", &codes[1])]).status, 401);
    assert_eq!(world.log_in("anna").status, 401);
}

#[test]
fn openams_callbacks_and_pages_ask_for_the_code() {
    let runtime = runtime();
    let Some(slapd) = slapd(&runtime) else { return };
    let world = world(&slapd, "['/']");
    let json_type = ("Content-Type", "application/json");
    let credentials = [("X-OpenAM-Username", "berta"), ("X-OpenAM-Password", "secret"), json_type];
    let send = |headers: &[(&str, &str)], body: &str| {
        world.server.send("POST", "/openam/json/authenticate", headers, body.as_bytes())
    };
    let asked = ok(&send(&credentials, ""));
    assert_eq!(
        (&asked["tokenId"], &asked["callbacks"][0]["type"]),
        (&Value::Null, &json!("PasswordCallback"))
    );
    let filled = |asked: &Value, code: &str| {
        let mut filled = asked.clone();
        filled["callbacks"][0]["input"][0]["value"] = code.into();
        filled.to_string()
    };
    assert_eq!(send(&[json_type], &filled(&asked, "000000")).status, 401);
    let code = world.totp.code(world.now());
    let asked = ok(&send(&credentials, ""));
    assert!(ok(&send(&[json_type], &filled(&asked, &code)))["tokenId"].is_string());
    let asked = ok(&send(&credentials, ""));
    assert_eq!(send(&[json_type], &filled(&asked, &code)).status, 401, "replayed");
    world.pass(60);
    let mut browser = Browser::of(&world.server);
    let form = browser.get("/openam/UI/Login?goto=/app");
    let step = browser.log_in(&form, "berta", "secret");
    assert!(step.text.contains("name=\"code\"") && browser.token().is_none(), "{}", step.text);
    let code = world.totp.code(world.now());
    assert_eq!(place(&browser.answer(&step, "/openam/UI/Login", &[("code", &code)])), "/app");
    assert!(browser.token().is_some());
}
