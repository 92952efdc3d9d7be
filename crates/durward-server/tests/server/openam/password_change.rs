//! A password that must be changed, by callbacks.

use durward_session::Administrator;
use durward_session::identity::session::User;
use serde_json::{Value, json};

use super::world::{RECORDED, World, now};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn mark(world: &World, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (by, user) = (Administrator::operator("test"), User::new("/", name).unwrap());
    let marked = world.service.accounts();
    let marked = marked.change(&by, &user, None, |account| account.must_change_password = true);
    runtime.block_on(marked).unwrap();
}

fn filled(asked: &Value, values: &[&str]) -> String {
    let mut filled = asked.clone();
    for (at, value) in values.iter().enumerate() {
        filled["callbacks"][at]["input"][0]["value"] = (*value).into();
    }
    filled.to_string()
}

fn prompts(asked: &Value) -> Vec<&str> {
    let callbacks = asked["callbacks"].as_array().unwrap();
    callbacks.iter().map(|callback| callback["output"][0]["value"].as_str().unwrap()).collect()
}

#[test]
fn another_password_is_asked_for_by_callbacks_before_there_is_a_token() {
    let world = World::new(RECORDED);
    mark(&world, "demo");
    let asked = world.login_at("/json/authenticate", "demo", "changeit");
    assert_eq!((asked.status, asked.header("set-cookie")), (200, ""));
    let asked = asked.json();
    assert_eq!(asked["tokenId"], Value::Null);
    assert_eq!(prompts(&asked), ["New Password", "Confirm Password"]);
    assert_eq!(world.service.live_count(), 0);
    let answer = |values: &[&str]| world.post("/json/authenticate", &[JSON], filled(&asked, values));
    // What can be mended is asked with the same `authId` again.
    for wrong in [&["another one", "another two"][..], &["changeit", "changeit"], &["", ""], &["one"]] {
        let reply = answer(wrong);
        assert_eq!(reply.status, 400, "{wrong:?} {}", reply.text());
    }
    let done = answer(&["another one", "another one"]);
    assert_eq!(done.status, 200, "{}", done.text());
    assert!(world.is_valid(done.json()["tokenId"].as_str().unwrap()));
    assert_eq!(answer(&["a third one", "a third one"]).status, 408, "it was used");
    assert_eq!(world.login_at("/json/authenticate", "demo", "changeit").status, 401);
    assert_eq!(world.login_at("/json/authenticate", "demo", "another one").status, 200);
}

#[test]
fn the_code_comes_first_and_who_wants_no_session_gets_none() {
    let world = World::new(RECORDED);
    mark(&world, "berta");
    let asked = world.login_at("/json/authenticate?noSession=true", "berta", "changeit").json();
    assert_eq!(prompts(&asked), ["Enter your verification code:"]);
    let code = world.totp.code(now());
    let path = "/json/authenticate?noSession=true";
    let asked = world.post(path, &[JSON], filled(&asked, &[&code])).json();
    assert_eq!(prompts(&asked), ["New Password", "Confirm Password"], "{asked}");
    let done = world.post(path, &[JSON], filled(&asked, &["another one", "another one"]));
    let expected = json!({
        "message": "Authentication Successful", "successUrl": "/openam/console", "realm": "/"
    });
    assert_eq!(done.json(), expected);
    assert_eq!(world.service.live_count(), 0);
}
