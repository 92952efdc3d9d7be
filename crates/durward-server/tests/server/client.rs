//! The client against the server, and against what is none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use durward_net::client::{Client, ClientError, Credentials, Security, ServerAddress, Settings};
use durward_pdp::Value;
use durward_server::decider::{Decision, Outcome, Subscription};
use durward_wire::sapl::json::subscription_text;
use tokio::runtime::{Builder, Runtime};

use crate::auth::{ROBOT, users};
use crate::sapl::start;
use crate::support::{Directory, PATIENCE, TestServer};

const OPEN: &str = "sapl.http = true\nrsocket.listen = '127.0.0.1:0'\nauth.danger_allow_no_auth = true\n";

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn settings() -> Settings {
    Settings { answer_time_max: PATIENCE, ..Settings::default() }
}

/// A server's two doors.
fn addresses(server: &TestServer) -> [ServerAddress; 2] {
    [
        ServerAddress::http(&format!("http://{}", server.address)).unwrap(),
        ServerAddress::rsocket(&server.rsocket.unwrap().to_string(), false).unwrap(),
    ]
}

fn about(subject: &str) -> Subscription {
    let text = |text: &str| Value::Text(text.into());
    Subscription::new(text(subject), text("read"), text("document"), Value::Undefined)
}

fn ask(address: ServerAddress, settings: &Settings, subject: &str) -> Result<Decision, ClientError> {
    let mut client = Client::new(address, settings)?;
    runtime().block_on(client.decide_once(&about(subject)))
}

#[test]
fn one_question_gets_one_answer_through_either_door() {
    let (server, _) = start(OPEN);
    for address in addresses(&server) {
        let runtime = runtime();
        let mut client = Client::new(address, &settings()).unwrap();
        for (subject, expected) in [
            ("bob", r#"{"decision":"NOT_APPLICABLE"}"#),
            (
                "alice",
                r#"{"decision":"PERMIT","obligations":[{"type":"log","n":1.50}],"advice":["hint"],"resource":{"big":"#,
            ),
        ] {
            let decision = runtime.block_on(client.decide_once(&about(subject))).unwrap();
            assert!(decision.to_json().starts_with(expected), "{}", decision.to_json());
        }
    }
}

#[test]
fn every_change_is_seen_through_either_door() {
    for door in 0..2 {
        let (server, world) = start(OPEN);
        let [http, rsocket] = addresses(&server);
        let mut client = Client::new(if door == 0 { http } else { rsocket }, &settings()).unwrap();
        runtime().block_on(async {
            client.watch(&about("alice")).await.unwrap();
            assert_eq!(client.next().await.unwrap().unwrap().outcome, Outcome::Permit);
            world.close(true);
            assert_eq!(client.next().await.unwrap().unwrap().outcome, Outcome::Deny);
            // The server says that it stops; nothing comes after that.
            drop(server);
            assert!(client.next().await.unwrap().is_none(), "{door}");
            assert!(client.next().await.unwrap().is_none());
        });
    }
}

#[test]
fn credentials_open_the_door_or_are_at_fault() {
    let (server, _) = start(&format!("rsocket.listen = '127.0.0.1:0'\n{}", users()));
    let with = |credentials| Settings { credentials, ..settings() };
    let wrong = [Credentials::None, Credentials::Bearer("sapl_abcdefghij_wrong".into())];
    for address in addresses(&server) {
        let robot = with(Credentials::Bearer(ROBOT.into()));
        assert_eq!(
            ask(address.clone(), &robot, "tenant").unwrap().resource().unwrap().to_json(),
            "\"default\""
        );
        let anna = with(Credentials::Basic { user: "anna".into(), password: "secret".into() });
        assert_eq!(ask(address.clone(), &anna, "tenant").unwrap().resource().unwrap().to_json(), "\"plant\"");
        for credentials in wrong.clone() {
            let refused = ask(address.clone(), &with(credentials), "tenant");
            assert!(matches!(refused, Err(ClientError::Credentials(_))), "{refused:?}");
        }
    }
}

#[test]
fn credentials_are_not_sent_in_the_clear_unless_told_to() {
    let elsewhere = || ServerAddress::http("http://192.0.2.1:8080").unwrap();
    let settings = Settings { credentials: Credentials::Bearer("token".into()), ..Settings::default() };
    let refused = Client::new(elsewhere(), &settings);
    assert!(matches!(&refused, Err(ClientError::Settings(message)) if message.contains("unencrypted")));
    assert!(Client::new(ServerAddress::rsocket("pdp.example.org:7000", false).unwrap(), &settings).is_err());
    assert!(Client::new(ServerAddress::rsocket("pdp.example.org:7000", true).unwrap(), &settings).is_ok());
    assert!(Client::new(ServerAddress::rsocket("/run/pdp.sock", false).unwrap(), &settings).is_ok());
    assert!(Client::new(elsewhere(), &Settings { security: Security::DangerInsecure, ..settings }).is_ok());
}

#[cfg(unix)]
#[test]
fn a_connection_that_was_lost_is_opened_again() {
    let folder = Directory::new();
    let socket = folder.path("sock").display().to_string();
    let text = format!("rsocket.socket = '{socket}'\nauth.danger_allow_no_auth = true\n");
    let runtime = runtime();
    let mut client = Client::new(ServerAddress::rsocket(&socket, false).unwrap(), &settings()).unwrap();
    for _ in 0..3 {
        let (server, _) = start(&text);
        assert!(runtime.block_on(client.decide_once(&about("alice"))).is_ok());
        drop(server);
    }
    let gone = runtime.block_on(client.decide_once(&about("alice")));
    assert!(matches!(gone, Err(ClientError::Network(_))), "{:?}", gone.map(|decision| decision.to_json()));
}

/// Something that is listened to and says this to whoever asks, for as long as they listen.
fn impostor(says: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(says);
            thread::spawn(move || {
                let _ = stream.read_to_end(&mut Vec::new());
            });
        }
    });
    address
}

fn soon() -> Settings {
    Settings { answer_time_max: Duration::from_millis(300), ..Settings::default() }
}

#[test]
fn what_is_no_decision_is_the_servers_fault() {
    for says in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull"[..],
        b"HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n{\"decision\":\"ALLOWED\" }",
        b"HTTP/1.1 200 OK\r\ncontent-length: 39\r\n\r\n{\"decision\":\"PERMIT\",\"obligations\":\"log\"}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n{",
        b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 21\r\n\r\n{\"decision\":\"PERMIT\"",
        b"nonsense\r\n\r\n",
        b"",
    ] {
        let address = ServerAddress::http(&format!("http://{}", impostor(says))).unwrap();
        let refused = ask(address, &soon(), "alice");
        let text = String::from_utf8_lossy(says);
        assert!(
            matches!(refused, Err(ClientError::Server(_) | ClientError::Network(_))),
            "{text:?}: {:?}",
            refused.map(|decision| decision.to_json())
        );
    }
}

#[test]
fn a_server_of_another_protocol_or_none_gives_no_decision() {
    for says in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"\0\0\x06\0\0\0\0\xff\xff", b"\xff\xff\xff", b""]
    {
        let address = ServerAddress::rsocket(&impostor(says).to_string(), false).unwrap();
        let start = Instant::now();
        let refused = ask(address, &soon(), "alice").unwrap_err();
        assert!(matches!(refused, ClientError::Server(_) | ClientError::Network(_)), "{says:?}: {refused:?}");
        assert!(start.elapsed() < PATIENCE);
    }
}

#[test]
fn refusals_say_whose_fault_they_are() {
    let refused = |says| {
        let address = ServerAddress::http(&format!("http://{}", impostor(says))).unwrap();
        ask(address, &settings(), "alice").unwrap_err()
    };
    let error =
        refused(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 28\r\n\r\n{\"detail\":\"no\\u001b \\u0041\"}");
    assert!(
        matches!(&error, ClientError::Question(message) if message.ends_with(": HTTP 400: no A")),
        "{error:?}"
    );
    let error = refused(b"HTTP/1.1 503 Later\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n");
    assert!(matches!(&error, ClientError::Busy(message) if message.ends_with("ask again: 7")), "{error:?}");
    let error = refused(b"HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n");
    assert!(matches!(error, ClientError::Credentials(_)), "{error:?}");
}

#[test]
fn a_stream_that_breaks_off_is_not_taken_for_its_end() {
    let says = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
                 1d\r\ndata:{\"decision\":\"PERMIT\"}\n\n\n\r\n5\r\ndata:\r\nrubbish";
    let address = ServerAddress::http(&format!("http://{}", impostor(says))).unwrap();
    let mut client = Client::new(address, &settings()).unwrap();
    runtime().block_on(async {
        client.watch(&about("alice")).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap().outcome, Outcome::Permit);
        assert!(matches!(client.next().await, Err(ClientError::Network(_))));
        assert!(client.next().await.unwrap().is_none());
    });
}

#[test]
fn places_are_read_strictly_and_without_secrets() {
    for url in [
        "",
        "pdp",
        "ftp://x",
        "http://",
        "http://u:SECRET@h/",
        "https://h/?SECRET",
        "http://h/#SECRET",
        "http:// h",
    ] {
        let error = ServerAddress::http(url).unwrap_err().to_string();
        assert!(!error.contains("SECRET"), "{error}");
    }
    for address in ["", "7000", "host", "host:", "host:0", "host:x", ":7000", "::1:7000", "host:70000"] {
        assert!(ServerAddress::rsocket(address, false).is_err(), "{address}");
    }
    for address in ["host:7000", "[::1]:7000", "./sock", "/run/sock"] {
        assert!(ServerAddress::rsocket(address, false).is_ok(), "{address}");
    }
    assert!(ServerAddress::rsocket("/run/sock", true).is_err());
}

#[test]
fn a_subscription_is_written_as_it_was_read() {
    for text in [
        r#"{"subject":"a","action":1.50,"resource":null}"#,
        r#"{"subject":{"n":[1E+3]},"action":true,"resource":"\"","environment":{},"secrets":{"k":"v"}}"#,
    ] {
        let subscription = Subscription::from_json(text.as_bytes()).unwrap();
        let again = Subscription::from_json(subscription_text(&subscription).as_bytes()).unwrap();
        assert_eq!(subscription_text(&again), subscription_text(&subscription));
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&subscription_text(&subscription)), value(text));
    }
}
