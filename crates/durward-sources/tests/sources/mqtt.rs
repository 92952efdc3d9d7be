//! `mqtt.messages`, with a real broker: mosquitto, and its command to publish.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use durward_pdp::stream::Invocation;
use durward_sources::SourceSettings;
use tokio::time::sleep;

use crate::world::{World, attribute, surroundings};

/// A broker that ends when it is dropped.
struct Broker {
    port: u16,
    child: Child,
    folder: std::path::PathBuf,
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether the broker is there; without it the test is passed over, except on the build machine.
fn is_there() -> bool {
    let how = "apt-get install mosquitto mosquitto-clients";
    ["mosquitto", "mosquitto_pub"].iter().all(|name| durward_testdata::has_program(name, "--help", how))
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Broker {
    async fn start(port: u16, more: &str) -> Broker {
        let folder = std::env::temp_dir().join(format!("durward-mqtt-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let config = folder.join("mosquitto.conf");
        let anonymous = if more.contains("password_file") { "false" } else { "true" };
        let more = more.replace("FOLDER", &folder.display().to_string());
        std::fs::write(&config, format!("listener {port} 127.0.0.1\nallow_anonymous {anonymous}\n{more}\n"))
            .unwrap();
        if more.contains("password_file") {
            let passwords = folder.join("passwords");
            let mut make = Command::new("mosquitto_passwd");
            make.arg("-b").arg("-c").arg(&passwords).args(["u", "SECRET"]);
            assert!(make.status().unwrap().success());
        }
        let child = Command::new("mosquitto")
            .arg("-c")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let broker = Broker { port, child, folder };
        for _ in 0..250 {
            if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return broker;
            }
            sleep(Duration::from_millis(20)).await;
        }
        panic!("mosquitto does not listen");
    }

    fn publish(&self, topic: &str, message: &str, more: &[&str]) {
        let port = self.port.to_string();
        let mut command = Command::new("mosquitto_pub");
        command.args(["-V", "mqttv5", "-h", "127.0.0.1", "-p", &port, "-q", "2", "-t", topic, "-m", message]);
        assert!(command.args(more).status().unwrap().success());
    }

    fn world(&self, more: &str) -> World {
        world(self.port, more, "{}")
    }
}

fn world(port: u16, more: &str, secrets: &str) -> World {
    let variables = format!(
        r#"{{"mqttPipConfig": {{"brokerConfig": [
            {{"name": "default", "brokerAddress": "127.0.0.1", "brokerPort": {port}}}]{more}}}}}"#
    );
    World::with(&SourceSettings::default(), surroundings(&variables, secrets))
}

fn messages(topic: &str, arguments: &[&str]) -> Invocation {
    attribute(Some(topic), "mqtt.messages", arguments)
}

/// So that no default comes between.
const PATIENT: &str = r#", "defaultResponseTimeout": 15000"#;

#[tokio::test]
async fn messages_are_values_in_every_quality() {
    if !is_there() {
        return;
    }
    let broker = Broker::start(free_port(), "").await;
    let world = broker.world(PATIENT);
    for qos in ["0", "1", "2"] {
        broker.publish("a/b", &format!("first {qos}"), &["-r"]);
        let mut asked = world.ask(messages(r#"["x", "a/+"]"#, &[qos]));
        assert_eq!(asked.next().await, format!(r#""first {qos}""#), "what is retained comes at once");
        broker.publish("a/c", "second", &[]);
        assert_eq!(asked.next().await, r#""second""#);
        broker.publish("x", "third", &[]);
        assert_eq!(asked.next().await, r#""third""#);
        broker.publish("y", "not heard", &[]);
        assert!(asked.is_quiet(200).await);
    }
}

#[tokio::test]
async fn a_message_says_what_it_is() {
    if !is_there() {
        return;
    }
    let broker = Broker::start(free_port(), "").await;
    let json = [
        "-r",
        "-D",
        "publish",
        "payload-format-indicator",
        "1",
        "-D",
        "publish",
        "content-type",
        "application/json",
    ];
    broker.publish("json", r#"{"a": 1.50}"#, &json);
    broker.publish("broken", "{", &json);
    let world = broker.world(PATIENT);
    assert_eq!(world.ask(messages(r#""json""#, &[])).next().await, r#"{"a":1.50}"#);
    assert!(world.ask(messages(r#""broken""#, &[])).next().await.contains("a message is no JSON"));
}

#[tokio::test]
async fn all_share_one_connection_and_newcomers_hear_what_is_retained() {
    if !is_there() {
        return;
    }
    let broker = Broker::start(free_port(), "sys_interval 1").await;
    let world = broker.world(PATIENT);
    broker.publish("t", "old", &["-r"]);
    let mut first = world.ask(messages(r#""t""#, &[]));
    assert_eq!(first.next().await, r#""old""#);
    broker.publish("t", "new", &[]);
    assert_eq!(first.next().await, r#""new""#);
    // Another stream of the same topic: the broker says what it retained, which is news to the newcomer only.
    let mut second = world.ask(messages(r#"["t", "u"]"#, &["1"]));
    assert_eq!(second.next().await, r#""old""#);
    assert!(first.is_quiet(200).await);
    broker.publish("t", "newer", &[]);
    assert_eq!((first.next().await, second.next().await), (r#""newer""#.into(), r#""newer""#.into()));
    drop(first);
    broker.publish("u", "other", &[]);
    assert_eq!(second.next().await, r#""other""#);
    // One for all, and none for mosquitto_pub, which has gone.
    let mut clients = world.ask(messages(r#""$SYS/broker/clients/connected""#, &[]));
    clients.until(|count| count == r#""1""#).await;
}

#[tokio::test]
async fn silence_is_the_default_response() {
    if !is_there() {
        return;
    }
    let broker = Broker::start(free_port(), "").await;
    let world = broker.world(r#", "defaultResponseTimeout": 50"#);
    let mut asked = world.ask(messages(r#""t""#, &[]));
    assert_eq!(asked.next().await, "undefined");
    broker.publish("t", "1", &[]);
    assert_eq!(asked.next().await, r#""1""#);
    let world = broker.world(r#", "defaultResponseTimeout": 50, "defaultResponse": "error""#);
    assert!(world.ask(messages(r#""t""#, &[])).next().await.contains("no message has come"));
}

#[tokio::test]
async fn a_broker_that_comes_back_is_listened_to_again() {
    if !is_there() {
        return;
    }
    let port = free_port();
    let broker = Broker::start(port, "").await;
    let world = broker.world(PATIENT);
    let mut asked = world.ask(messages(r#""t""#, &["1"]));
    broker.publish("t", "before", &["-r"]);
    assert_eq!(asked.next().await, r#""before""#);
    drop(broker);
    assert_eq!(asked.next().await, "undefined", "nobody knows what is true now");
    let broker = Broker::start(port, "").await;
    broker.publish("t", "after", &["-r"]);
    assert_eq!(asked.next().await, r#""after""#);
    broker.publish("t", "later", &[]);
    assert_eq!(asked.next().await, r#""later""#);
    // Who does not want to be told keeps the last message.
    let world = world_keeping(port);
    let mut asked = world.ask(messages(r#""t""#, &["1"]));
    assert_eq!(asked.next().await, r#""after""#);
    drop(broker);
    assert!(asked.is_quiet(300).await);
}

fn world_keeping(port: u16) -> World {
    world(port, &format!(r#", "emitAtRetry": "false"{PATIENT}"#), "{}")
}

#[tokio::test]
async fn an_absent_broker_is_an_error_until_it_is_there() {
    if !is_there() {
        return;
    }
    let port = free_port();
    let world = world(port, PATIENT, "{}");
    let mut asked = world.ask(messages(r#""t""#, &[]));
    let message = asked.next().await;
    assert!(
        message.starts_with("ERROR: `mqtt.messages`") && message.contains(&port.to_string()),
        "{message}"
    );
    let broker = Broker::start(port, "").await;
    broker.publish("t", "1", &["-r"]);
    assert_eq!(asked.until(|answer| answer == r#""1""#).await.len(), 0);
}

#[tokio::test]
async fn logins_come_from_secrets_and_do_not_show() {
    if !is_there() {
        return;
    }
    let broker = Broker::start(free_port(), "password_file FOLDER/passwords").await;
    let login = ["-u", "u", "-P", "SECRET", "-r"];
    broker.publish("t", "1", &login);
    let good = r#"{"mqtt": {"default": {"username": "u", "password": "SECRET"}}}"#;
    assert_eq!(world(broker.port, PATIENT, good).ask(messages(r#""t""#, &[])).next().await, r#""1""#);
    for bad in [r#"{"mqtt": {"username": "u", "password": "SECRET-NOT"}}"#, "{}"] {
        let message = world(broker.port, PATIENT, bad).ask(messages(r#""t""#, &[])).next().await;
        assert!(message.contains("refuses us"), "{message}");
        assert!(!message.contains("SECRET"), "{message}");
    }
}

#[tokio::test]
async fn what_is_no_broker_is_an_error() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for nonsense in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"\x20\xff\xff\xff\x7f",
        b"\x20\x03\x00\x00",
        b"\x30\x02\xff\xff",
    ] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut hello = [0; 1024];
                let _ = stream.read(&mut hello).await;
                let _ = stream.write_all(nonsense).await;
            }
        });
        let message = world(port, PATIENT, "{}").ask(messages(r#""t""#, &[])).next().await;
        assert!(message.starts_with("ERROR: `mqtt.messages`"), "{nonsense:?}: {message}");
        task.abort();
    }
}

#[tokio::test]
async fn unfit_topics_are_errors() {
    let world = world(1, PATIENT, "{}");
    for topic in ["1", "[]", r#"["a", 1]"#, r#""a#""#, r#""""#] {
        let message = world.ask(messages(topic, &[])).next().await;
        assert!(message.contains("topic"), "{topic}: {message}");
    }
}
