//! A store of one server: what is refused, and how it is reached.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::jetstream::stream::Config;
use async_nats::{HeaderMap, header};
use durward_identity::Stamp;
use durward_identity::protocol::{Lack, Mode};
use durward_identity::session::{Revocation, SessionRecord};
use durward_session::Service;
use durward_session::nats::NatsLogin;
use ring::hmac;
use tokio::time::sleep;

use crate::nodes::Plan;
use crate::servers::Servers;
use crate::{cannot_say, certificates, is_refused, turn};

#[tokio::test]
async fn a_record_that_cannot_be_read_keeps_nodes_from_going_on_without_it() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("garbage", "").await else { return };
    let plan = Plan::one(servers.addresses(), "garbage", Mode::AssuredWrite);
    let node = plan.ready().await;
    let token = node.login().await;
    let client = async_nats::connect(servers.addresses()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    // A newer node has the secret, and writes what this one does not know.
    let name = "00ff000012345678-1";
    let mut headers = HeaderMap::new();
    headers.insert(header::NATS_MESSAGE_ID, name);
    let content = b"\x01not a record".as_slice();
    let record = signed(&plan.secret, &format!("record garbage {name}"), content);
    let sent = context.publish_with_headers("durward.garbage.r.end", headers, record.into());
    let number = sent.await.unwrap().await.unwrap().sequence;
    node.until(&token, cannot_say).await;
    context.get_stream("garbage").await.unwrap().delete_message(number).await.unwrap();
    node.until(&token, Result::is_ok).await;
}

/// As nodes sign.
fn signed(secret: &[u8; 32], place: &str, content: &[u8]) -> Vec<u8> {
    let key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), b"durward 1 records");
    let said = [place.as_bytes(), b"\0", content].concat();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()), &said);
    [content, tag.as_ref()].concat()
}

#[tokio::test]
async fn a_stream_that_was_made_anew_is_not_taken_for_the_one_before() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("anew", "").await else { return };
    let plan = Plan::one(servers.addresses(), "anew", Mode::AssuredWrite);
    let node = plan.ready().await;
    let token = node.login().await;
    let client = async_nats::connect(servers.addresses()).await.unwrap();
    async_nats::jetstream::new(client).delete_stream("anew").await.unwrap();
    node.until(&token, cannot_say).await;
    // It makes another one, and would find itself ahead of it, or worse, behind: it does not go on.
    let other = plan.ready().await;
    for _ in 0..20 {
        other.login().await;
    }
    assert!(cannot_say(&node.validate(&token).await));
}

#[tokio::test]
async fn a_stream_that_would_lose_records_is_not_used() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("small", "").await else { return };
    let client = async_nats::connect(servers.addresses()).await.unwrap();
    let config = Config {
        name: "small".to_owned(),
        subjects: vec!["durward.small.r.>".to_owned(), "durward.small.f.*".to_owned()],
        max_messages: 10,
        allow_message_ttl: true,
        ..Config::default()
    };
    async_nats::jetstream::new(client).create_stream(config).await.unwrap();
    let node = Plan::one(servers.addresses(), "small", Mode::BestEffort).start();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(node.service.outlook().lack, Some(Lack::Starting));
}

/// Waits until the node says this of its store.
async fn complains(service: &Service, of: &str) {
    while !service.store_complaint().is_some_and(|said| said.contains(of)) {
        sleep(Duration::from_millis(20)).await;
    }
}

/// Health once said "has just started" for ever, and "no connection" where there was one.
#[tokio::test]
async fn a_node_says_why_its_store_cannot_be_used_until_it_can() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("why", "").await else { return };
    let plan = Plan::one(servers.addresses(), "why", Mode::AssuredWrite);
    let too_many = Plan { replicas: 3, ..plan.clone() }.start();
    complains(&too_many.service, "`identity.nats.replicas`").await;
    let nobody_there = Plan { servers: vec!["nats://127.0.0.1:1".to_owned()], ..plan.clone() }.start();
    complains(&nobody_there.service, "127.0.0.1:1").await;
    let node = plan.ready().await;
    assert_eq!(node.service.store_complaint(), None);
    let client = async_nats::connect(servers.addresses()).await.unwrap();
    async_nats::jetstream::new(client).delete_stream("why").await.unwrap();
    complains(&node.service, "is another one than before").await;
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn write_secret(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

#[tokio::test]
async fn the_store_is_reached_under_tls_with_a_password_from_a_file() {
    let _turn = turn().await;
    let folder = Folder(std::env::temp_dir().join(format!("durward-nats-tls-{}", std::process::id())));
    if !certificates::can_be_made() {
        return;
    }
    std::fs::create_dir_all(&folder.0).unwrap();
    certificates::authority(&folder.0);
    certificates::certificate(&folder.0, "own", "IP:127.0.0.1");
    let path = folder.0.display();
    let more = format!(
        "tls {{ cert_file: \"{path}/own.pem\", key_file: \"{path}/own.key\" }}\n\
         authorization {{ user: durward, password: \"s3cret\" }}"
    );
    let Some(servers) = Servers::start_one("tls", &more).await else { return };
    let addresses = servers.addresses().iter().map(|it| it.replace("nats://", "tls://")).collect();
    let password = folder.0.join("password");
    write_secret(&password, "s3cret\n");
    let good = Plan {
        ca_file: Some(folder.0.join("ca.pem")),
        login: NatsLogin::Password("durward".to_owned(), password),
        ..Plan::one(addresses, "tls", Mode::AssuredWrite)
    };
    good.ready().await.login().await;
    let wrong = folder.0.join("wrong");
    write_secret(&wrong, "other\n");
    let stranger = Plan { login: NatsLogin::Password("durward".to_owned(), wrong), ..good.clone() }.start();
    let distrustful = Plan { ca_file: None, ..good.clone() }.start();
    sleep(Duration::from_secs(1)).await;
    for node in [&stranger, &distrustful] {
        assert_eq!(node.service.outlook().lack, Some(Lack::Starting));
    }
}

/// Whoever may publish at the servers and does not have the secret changes nothing, and keeps nobody from anything.
#[tokio::test]
async fn what_no_node_has_signed_is_passed_over() {
    let _turn = turn().await;
    for mode in [Mode::None, Mode::AssuredWrite] {
        let name = format!("forged-{mode:?}").to_lowercase();
        let Some(servers) = Servers::start_one(&name, "").await else { return };
        let plan = Plan::one(servers.addresses(), &name, mode);
        let (one, other) = (plan.ready().await, plan.ready().await);
        let token = one.login().await;
        other.until(&token, Result::is_ok).await;
        let before = Stamp::from_us(u64::MAX / 2);
        let end = SessionRecord::Revoked(Revocation::All { before });
        let client = async_nats::connect(servers.addresses()).await.unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::NATS_MESSAGE_ID, "00ff000012345678-1");
        headers.insert("Durward-Node", "00ff000012345678");
        for subject in ["r.all", "tell"] {
            let subject = format!("durward.{name}.{subject}");
            let unsigned = [&end.to_bytes()[..], &[0; 32]].concat();
            client.publish_with_headers(subject, headers.clone(), unsigned.into()).await.unwrap();
        }
        client.flush().await.unwrap();
        // What was said before is heard by now.
        let last = one.login().await;
        assert_eq!(one.logout(&last).await, Ok(()));
        other.until(&last, is_refused).await;
        assert!(other.validate(&token).await.is_ok() && one.validate(&token).await.is_ok(), "{mode:?}");
        // A node with another secret is a stranger to the others, and they to it: where it can see that, it is not ready.
        let stranger = Plan { secret: [8; 32], ..plan.clone() }.start();
        sleep(Duration::from_secs(1)).await;
        assert!(stranger.validate(&token).await.is_err());
        assert!(mode == Mode::None || stranger.service.outlook().lack == Some(Lack::Starting));
        assert!(other.validate(&token).await.is_ok(), "{mode:?}");
    }
}

/// Whoever floods the stream's subjects, and first of all a new stream, keeps nobody from logging in.
#[tokio::test]
async fn a_flood_of_what_no_node_has_signed_stops_no_login() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("flood", "").await else { return };
    let plan = Plan::one(servers.addresses(), "flood", Mode::AssuredWrite);
    let client = async_nats::connect(servers.addresses()).await.unwrap();
    let flood = tokio::spawn(async move {
        for number in 0_u64.. {
            let mut headers = HeaderMap::new();
            // Every other one is named as records are.
            if number % 2 == 0 {
                headers.insert(header::NATS_MESSAGE_ID, format!("00ff000012345678-{number}").as_str());
            }
            let junk = vec![7_u8; 512].into();
            client.publish_with_headers("durward.flood.r.login", headers, junk).await.unwrap();
            if number % 100 == 0 {
                client.flush().await.unwrap();
                // Some 20,000 a second: the server has a disk.
                sleep(Duration::from_millis(5)).await;
            }
        }
    });
    let (one, other) = (plan.ready().await, plan.ready().await);
    for _ in 0..20 {
        let token = one.login().await;
        other.until(&token, Result::is_ok).await;
    }
    flood.abort();
}
