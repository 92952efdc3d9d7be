//! A login with a time-based code as its second step.

use serde_json::{Value, json};

use super::world::{CODE_STEP, RECORDED, World, now};

fn code_callbacks(asked: &Value, code: &str) -> String {
    let mut filled = asked.clone();
    filled["callbacks"][0]["input"][0]["value"] = code.into();
    filled.to_string()
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn a_password_alone_is_not_enough_where_a_second_step_is_set() {
    let world = World::new(RECORDED);
    let asked = world.login_at("/json/authenticate", "berta", "changeit");
    assert_eq!(asked.status, 200);
    assert_eq!(asked.header("set-cookie"), "");
    let asked = asked.json();
    assert_eq!(asked["tokenId"], Value::Null);
    assert_eq!(asked["callbacks"][0]["type"], "PasswordCallback");
    assert_eq!(asked["callbacks"][1], Value::Null);

    let wrong = world.post("/json/authenticate", &[JSON], code_callbacks(&asked, "000000"));
    assert_eq!((wrong.status, wrong.json()["message"].as_str()), (401, Some("Authentication Failed")));
    let again = world.totp.code(now());
    let spent = world.post("/json/authenticate", &[JSON], code_callbacks(&asked, &again));
    assert_eq!(spent.status, 408, "an authId is good for one answer");

    let asked = world.login_at("/json/authenticate", "berta", "changeit").json();
    let done = world.post("/json/authenticate", &[JSON], code_callbacks(&asked, &again));
    assert_eq!(done.status, 200, "{}", done.text());
    let token = done.json()["tokenId"].as_str().unwrap().to_owned();
    assert!(world.is_valid(&token));

    let asked = world.login_at("/json/authenticate", "berta", "changeit").json();
    let used = world.post("/json/authenticate", &[JSON], code_callbacks(&asked, &again));
    assert_eq!(used.status, 401, "a code is good once");
}

#[test]
fn credentials_then_code_by_callbacks() {
    let world = World::new(RECORDED);
    let mut asked = world.post("/json/authenticate", &[JSON], "{}").json();
    asked["callbacks"][0]["input"][0]["value"] = "berta".into();
    asked["callbacks"][1]["input"][0]["value"] = "changeit".into();
    let asked = world.post("/json/authenticate", &[JSON], asked.to_string()).json();
    assert_ne!(asked["authId"], Value::Null, "{asked}");
    // The code of the step before is still taken: clocks differ.
    let code = world.totp.code(now().plus(CODE_STEP));
    let done = world.post("/json/authenticate?noSession=true", &[JSON], code_callbacks(&asked, &code));
    let expected = json!({
        "message": "Authentication Successful", "successUrl": "/openam/console", "realm": "/"
    });
    assert_eq!(done.json(), expected);
    assert_eq!(world.service.live_count(), 0, "no session was wanted");
}

#[test]
fn the_first_step_of_one_login_does_not_pass_for_the_second_of_another() {
    let world = World::new(RECORDED);
    let asked = world.post("/json/authenticate", &[JSON], "").json();
    let code = world.totp.code(now());
    // There it is a name without a password.
    assert_eq!(world.post("/json/authenticate", &[JSON], code_callbacks(&asked, &code)).status, 401);
    let of_step_two = world.login_at("/json/authenticate", "berta", "changeit").json();
    let mut mixed = asked;
    mixed["authId"] = of_step_two["authId"].clone();
    mixed["callbacks"][0]["input"][0]["value"] = "demo".into();
    mixed["callbacks"][1]["input"][0]["value"] = "changeit".into();
    assert_eq!(world.post("/json/authenticate", &[JSON], mixed.to_string()).status, 400);
    assert_eq!(world.service.live_count(), 0);
}

/// A load balancer sends each call wherever it likes.
#[test]
fn each_step_of_a_login_may_go_to_another_node_of_the_cluster() {
    let nodes = World::nodes(RECORDED, &[[7; 32], [7; 32], [8; 32]]);
    let [first, second, stranger] = nodes.as_slice() else { panic!() };
    let post = |world: &World, body: String| world.post("/json/authenticate", &[JSON], body);
    let mut asked = first.post("/json/authenticate", &[JSON], "{}").json();
    asked["callbacks"][0]["input"][0]["value"] = "berta".into();
    asked["callbacks"][1]["input"][0]["value"] = "changeit".into();
    assert_eq!(post(stranger, asked.to_string()).status, 400, "of another cluster");
    let asked = post(second, asked.to_string()).json();
    assert_eq!(asked["callbacks"][0]["type"], "PasswordCallback", "{asked}");
    let code = first.totp.code(now());
    assert_eq!(post(stranger, code_callbacks(&asked, &code)).status, 400);
    let done = post(first, code_callbacks(&asked, &code));
    assert_eq!(done.status, 200, "{}", done.text());
    // The second node has not taken this one; it asks for a code all the same, and that one was used.
    assert_eq!(post(second, code_callbacks(&asked, &code)).status, 401);
    assert_eq!(post(first, code_callbacks(&asked, &code)).status, 408);
    assert_eq!((first.service.live_count(), second.service.live_count()), (1, 0));
}

#[test]
fn a_login_goes_on_in_the_realm_and_at_the_stage_where_it_began() {
    let world = World::new(RECORDED);
    let mut asked = world.post("/json/sales/authenticate", &[JSON], "{}").json();
    asked["callbacks"][0]["input"][0]["value"] = "demo".into();
    asked["callbacks"][1]["input"][0]["value"] = "salespassword".into();
    let done = world.post("/json/authenticate", &[JSON], asked.to_string());
    assert_eq!(done.json()["realm"], "/sales", "{}", done.text());
    let mut asked = world.post("/json/authenticate", &[JSON], "{}").json();
    asked["callbacks"][0]["input"][0]["value"] = "demo".into();
    asked["callbacks"][1]["input"][0]["value"] = "salespassword".into();
    let done = world.post("/json/sales/authenticate", &[JSON], asked.to_string());
    assert_eq!(done.status, 401, "the password of another realm's user: {}", done.text());
}
