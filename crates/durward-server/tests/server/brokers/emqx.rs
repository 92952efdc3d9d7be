//! EMQX 5: requests as it makes them of the manual's templates. Whatever comes, the answer is 200, and `allow` or `deny`.

use serde_json::{Value, json};

use super::world::{PASSWORD, session, start};
use crate::support::TestServer;

const HEADING: &str = "EMQX in fifteen minutes";

fn post(server: &TestServer, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Value {
    let reply = server.send("POST", &format!("/doors/emqx/{path}"), headers, body);
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"), "{}", reply.text());
    let answer = reply.json();
    assert!(answer["result"] == "allow" || answer["result"] == "deny", "{answer}");
    answer
}

fn ask(server: &TestServer, path: &str, body: &Value) -> Value {
    post(server, path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
}

fn login(server: &TestServer, user: &str, password: &str) -> Value {
    let body = json!({ "username": user, "password": password, "clientid": "c1", "peerhost": "192.0.2.7" });
    ask(server, "authentication", &body)
}

fn topic(server: &TestServer, user: &str, action: &str, topic: &str) -> Value {
    let body = json!({ "username": user, "clientid": "c1", "peerhost": "192.0.2.7", "action": action, "topic": topic,
                       "qos": "1", "retain": "false" });
    ask(server, "authorization", &body)
}

fn deny() -> Value {
    json!({ "result": "deny" })
}

#[test]
fn a_device_logs_in_with_its_topics_and_an_end() {
    let server = start(HEADING, "decision_log.to = 'file'\n");
    server.eventually("a login", |server| login(server, "line1", PASSWORD)["result"] == "allow");
    let answer = login(&server, "line1", PASSWORD);
    let now = crate::support::clock()().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let until = answer["expire_at"].as_u64().unwrap();
    assert!(until > now + 3000 && until <= now + 3600, "{until} {now}");
    assert_eq!(answer["is_superuser"], false);
    assert_eq!(
        answer["acl"],
        json!([
            { "permission": "allow", "action": "publish", "topic": "plant/line1" },
            { "permission": "allow", "action": "subscribe", "topic": "orders/line1" },
            { "permission": "deny", "action": "all", "topic": "#" },
        ])
    );
    let answer = login(&server, "ada", PASSWORD);
    assert_eq!(answer, json!({ "result": "allow", "is_superuser": false }));
    assert_eq!(topic(&server, "ada", "subscribe", "plant/#"), json!({ "result": "allow" }));
    for (user, action, name) in [
        ("ada", "publish", "plant/line1"),
        ("ada", "subscribe", "other/1"),
        ("line1", "subscribe", "plant/line2"),
        ("nobody", "subscribe", "plant/1"),
        ("gone", "subscribe", "plant/1"),
        ("ada", "delete", "plant/1"),
    ] {
        assert_eq!(topic(&server, user, action, name), deny(), "{user} {action} {name}");
    }
    server.eventually("decisions are in the log", |server| {
        let log = std::fs::read_to_string(server.directory.path("decisions.jsonl")).unwrap_or_default();
        log.contains(r#""surface":"emqx","route":"authentication""#)
            && log.contains(r#""surface":"emqx","route":"authorization""#)
    });
}

#[test]
fn only_who_shows_the_password_or_a_token_of_their_own_is_let_in() {
    let server = start(HEADING, "");
    let token = session(&server, "ada");
    let answer = login(&server, "ada", &token);
    assert_eq!(answer["result"], "allow");
    assert!(answer["expire_at"].is_u64(), "no longer than the session: {answer}");
    for (user, password) in [
        ("line1", token.as_str()),
        ("line1", "wrong"),
        ("line1", ""),
        ("gone", PASSWORD),
        ("nobody", PASSWORD),
        ("+", PASSWORD),
        ("ada", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.AA"),
        ("undefined", PASSWORD),
    ] {
        assert_eq!(login(&server, user, password), deny(), "{user} {password}");
    }
    let without = json!({ "username": "line1", "clientid": "c1" });
    assert_eq!(ask(&server, "authentication", &without), deny());
    let reply = crate::identity::post(&server, "/v1/sessions/logout", Some(&token), &json!({}));
    assert!(reply.status < 300, "{}", reply.text());
    assert_eq!(login(&server, "ada", &token), deny(), "the session is over");
}

#[test]
fn whatever_goes_wrong_is_an_explicit_deny() {
    let server = start(HEADING, "");
    let whole = json!({ "username": "ada", "password": PASSWORD, "clientid": "c1" }).to_string();
    let json = ("Content-Type", "application/json");
    for body in [
        "",
        "[]",
        "7",
        &whole[1..],
        &whole.replace("\"ada\"", "7"),
        &whole.replace('}', ",\"username\":\"eve\"}"),
    ] {
        for path in ["authentication", "authorization"] {
            assert_eq!(post(&server, path, &[json], body.as_bytes()), deny(), "{body}");
        }
    }
    assert_eq!(post(&server, "authentication", &[], whole.as_bytes()), deny(), "no type");
    let long = format!("{{\"username\":\"{}\"}}", "a".repeat(2 << 20));
    assert_eq!(post(&server, "authentication", &[json], long.as_bytes()), deny());
    assert_eq!(
        post(&server, "authentication", &[json, ("X-Forwarded-For", "::1")], whole.as_bytes()),
        deny()
    );
    assert_eq!(
        post(&server, "authentication", &[json, ("Authorization", "Basic YTpi")], whole.as_bytes()),
        deny()
    );
}

/// EMQX hands on the name that a client chose.
#[test]
fn a_name_without_a_password_is_nobodys_also_where_users_are_of_elsewhere() {
    let files = super::world::manual(HEADING);
    let text = super::world::settings(&files, "");
    let text = text.replace("emqx = true", "emqx = true\nauthenticated_elsewhere = true");
    let server = TestServer::start_in(super::world::directory(&files), &text).unwrap();
    server.eventually("ready", |server| server.get("/health/ready").status == 200);
    for password in [json!(null), json!(""), json!("undefined")] {
        let body = json!({ "username": "line1", "password": password, "clientid": "c1" });
        assert_eq!(ask(&server, "authentication", &body), deny(), "{password}");
    }
    assert_eq!(login(&server, "sensor-7", "secret"), deny(), "a password is still verified");
}
