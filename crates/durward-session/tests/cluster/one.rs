//! A store of one server: what is refused, and how it is reached.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream::stream::Config;
use durward_identity::protocol::{Lack, Mode};
use durward_session::nats::NatsLogin;
use tokio::time::sleep;

use crate::nodes::Plan;
use crate::servers::Servers;
use crate::{cannot_say, certificates, turn};

#[tokio::test]
async fn a_record_that_cannot_be_read_keeps_nodes_from_going_on_without_it() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("garbage", "").await else { return };
    let plan = Plan::one(servers.addresses(), "garbage", Mode::AssuredWrite);
    let node = plan.ready().await;
    let token = node.login().await;
    let client = async_nats::connect(servers.addresses()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let garbage = context.publish("durward.garbage.r.end", "\u{1}not a record".into()).await.unwrap();
    let number = garbage.await.unwrap().sequence;
    node.until(&token, cannot_say).await;
    context.get_stream("garbage").await.unwrap().delete_message(number).await.unwrap();
    node.until(&token, Result::is_ok).await;
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

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
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
    std::fs::write(&password, "s3cret\n").unwrap();
    let good = Plan {
        ca_file: Some(folder.0.join("ca.pem")),
        login: NatsLogin::Password("durward".to_owned(), password),
        ..Plan::one(addresses, "tls", Mode::AssuredWrite)
    };
    good.ready().await.login().await;
    let wrong = folder.0.join("wrong");
    std::fs::write(&wrong, "other\n").unwrap();
    let stranger = Plan { login: NatsLogin::Password("durward".to_owned(), wrong), ..good.clone() }.start();
    let distrustful = Plan { ca_file: None, ..good.clone() }.start();
    sleep(Duration::from_secs(1)).await;
    for node in [&stranger, &distrustful] {
        assert_eq!(node.service.outlook().lack, Some(Lack::Starting));
    }
}
