//! RabbitMQ: its forms, and the real one with the configuration of the manual.

use std::io::Read;

use super::rabbitmq_server::{self, RabbitMq};
use super::world::{PASSWORD, directory, file, manual, session, settings, start};
use crate::support::{Reply, TestServer};

const HEADING: &str = "RabbitMQ in fifteen minutes";

fn post(server: &TestServer, path: &str, headers: &[(&str, &str)], form: &str) -> Reply {
    let form_type = [("Content-Type", "application/x-www-form-urlencoded")];
    let headers: Vec<_> = form_type.iter().chain(headers).copied().collect();
    server.send("POST", &format!("/doors/rabbitmq/{path}"), &headers, form.as_bytes())
}

fn ask(server: &TestServer, path: &str, form: &str) -> String {
    let reply = post(server, path, &[], form);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.text()
}

fn login(server: &TestServer, user: &str, password: &str) -> String {
    let password = password.replace(' ', "+");
    ask(server, "user", &format!("username={user}&password={password}&vhost=%2F&client_id=d1"))
}

/// Forms as RabbitMQ 3.10.8 sends them for a client of MQTT.
#[test]
fn recorded_forms_are_answered() {
    let server = start(HEADING, "decision_log.to = 'file'\n");
    server.eventually("a login", |server| login(server, "line1", PASSWORD) == "allow");
    assert_eq!(login(&server, "ada", PASSWORD), "allow management");
    let vhost = "username=line1&vhost=%2F&ip=127.0.0.1&tags=&client_id=d1";
    assert_eq!(ask(&server, "vhost", vhost), "allow");
    assert_eq!(ask(&server, "vhost", &vhost.replace("%2F", "other")), "deny");
    let exchange =
        "username=line1&vhost=%2F&resource=exchange&name=amq.topic&permission=write&tags=&client_id=d1";
    assert_eq!(ask(&server, "resource", exchange), "allow");
    assert_eq!(ask(&server, "resource", &exchange.replace("amq.topic", "amq.fanout")), "deny");
    let queue = "username=line1&vhost=%2F&resource=queue&name=mqtt-subscription-d1qos0&permission=configure&tags=&client_id=d1";
    assert_eq!(ask(&server, "resource", queue), "allow");
    assert_eq!(
        ask(&server, "resource", &queue.replace("d1qos0", "d2qos0")),
        "deny",
        "another client's queue"
    );
    let topic = "username=line1&vhost=%2F&resource=topic&name=amq.topic&permission=write&tags=&routing_key=plant.line1\
                 &variable_map.client_id=d1&variable_map.username=line1&variable_map.vhost=%2F";
    assert_eq!(ask(&server, "topic", topic), "allow");
    assert_eq!(ask(&server, "topic", &topic.replace("plant.line1", "plant.line2")), "deny");
    assert_eq!(ask(&server, "topic", &topic.replace("permission=write", "permission=read")), "deny");
    let staff = topic
        .replace("username=line1", "username=ada")
        .replace("write", "read")
        .replace("plant.line1", "plant.*.%23");
    assert_eq!(ask(&server, "topic", &staff), "allow");
    for (path, form) in [
        ("topic", topic.replace("username=line1", "username=gone")),
        ("topic", topic.replace("username=line1", "username=nobody")),
        ("topic", topic.replace("resource=topic", "resource=queue")),
        ("topic", topic.replace("&routing_key=plant.line1", "")),
        ("topic", format!("{topic}&routing_key=plant.line1")),
        ("resource", exchange.replace("write", "delete")),
        ("resource", exchange.replace("username=line1&", "")),
        ("vhost", vhost.replace("line1", "%zz")),
        ("vhost", String::new()),
    ] {
        assert_eq!(ask(&server, path, &form), "deny", "{path} {form}");
    }
    server.eventually("decisions are in the log", |server| {
        let log = std::fs::read_to_string(server.directory.path("decisions.jsonl")).unwrap_or_default();
        ["user", "vhost", "resource", "topic"]
            .iter()
            .all(|route| log.contains(&format!(r#""surface":"rabbitmq","route":"{route}""#)))
    });
}

#[test]
fn only_who_shows_the_password_or_a_token_of_their_own_logs_in() {
    let server = start(HEADING, "");
    let token = session(&server, "ada");
    assert_eq!(login(&server, "ada", &token), "allow management");
    for (user, password) in [
        ("line1", token.as_str()),
        ("line1", "wrong"),
        ("line1", ""),
        ("gone", PASSWORD),
        ("nobody", PASSWORD),
        ("%2B", PASSWORD),
    ] {
        assert_eq!(login(&server, user, password), "deny", "{user} {password}");
    }
    assert_eq!(ask(&server, "user", "username=line1"), "deny", "without a password");
    let proxied = post(&server, "user", &[("X-Forwarded-For", "127.0.0.1")], "username=line1");
    assert_eq!(proxied.status, 401);
}

/// Guesses that come over one broker have one address, and must not keep others out.
#[test]
fn guesses_at_one_user_delay_no_other() {
    let files = manual(HEADING);
    let text = settings(&files, "").replace("_free = 1000", "_free = 3");
    let server = TestServer::start_in(directory(&files), &text).unwrap();
    server.eventually("a login", |server| login(server, "line1", PASSWORD) == "allow");
    for _ in 0..20 {
        assert_eq!(login(&server, "line2", "wrong"), "deny");
    }
    assert_eq!(login(&server, "line2", PASSWORD), "deny", "it is delayed");
    assert_eq!(login(&server, "ada", PASSWORD), "allow management");
}

/// A login by a certificate has no password; RabbitMQ has verified the certificate.
#[test]
fn users_of_elsewhere_are_let_in_on_rabbitmqs_word_where_that_counts() {
    let files = manual(HEADING);
    let text =
        settings(&files, "").replace("rabbitmq = true", "rabbitmq = true\nauthenticated_elsewhere = true");
    let server = TestServer::start_in(directory(&files), &text).unwrap();
    server.eventually("ready", |server| server.get("/health/ready").status == 200);
    assert_eq!(ask(&server, "user", "username=ada"), "allow management", "what is known of them counts");
    assert_eq!(ask(&server, "user", "username=sensor-7"), "allow");
    assert_eq!(ask(&server, "vhost", "username=sensor-7&vhost=%2F"), "allow");
    assert_eq!(ask(&server, "user", "username=gone"), "deny");
    assert_eq!(ask(&server, "user", "username=a%23b"), "deny");
    assert_eq!(ask(&server, "user", "username=ada&password="), "deny", "an empty one is none");
    assert_eq!(login(&server, "sensor-7", "secret"), "deny", "a password is still verified");
}

#[test]
fn a_real_rabbitmq_asks_and_does_as_it_is_told() {
    if !rabbitmq_server::is_there() {
        return;
    }
    let server = start(HEADING, "");
    let files = manual(HEADING);
    let rabbit = RabbitMq::start(file(&files, "rabbitmq.conf"), server.address.port());
    assert!(rabbit.publishes("line1", PASSWORD, "plant/line1"));
    assert!(!rabbit.publishes("line1", PASSWORD, "plant/line2"), "another device's topic");
    assert!(!rabbit.publishes("line1", "wrong", "plant/line1"));
    assert!(!rabbit.publishes("gone", PASSWORD, "plant/gone"));
    assert!(!rabbit.publishes("", "", "plant/line1"), "nobody");
    let token = session(&server, "line1");
    assert!(rabbit.publishes("line1", &token, "plant/line1"), "a token in the place of the password");
    assert!(!rabbit.publishes("line2", &token, "plant/line2"), "somebody else's token");
    let mut subscriber = rabbit.subscriber("ada", PASSWORD, "plant/+");
    let mut told = String::new();
    server.eventually("a message gets to her", |_| {
        rabbit.publishes("line1", PASSWORD, "plant/line1") && matches!(subscriber.try_wait(), Ok(Some(_)))
    });
    subscriber.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(told.trim(), "20");
    drop(server);
    assert!(!rabbit.publishes("line1", PASSWORD, "plant/line1"), "durward is down");
}
