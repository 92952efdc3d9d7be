//! A real NATS server that asks at each login, with the configuration of the manual.

use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, Subscriber};
use futures_util::StreamExt;
use nkeys::KeyPair;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::world::{PASSWORD, directory, file, manual, session, settings};
use crate::nats_servers::Servers;
use crate::support::{Directory, PATIENCE, TestServer};

const HEADING: &str = "NATS in fifteen minutes";

/// A server of NATS and a durward that it asks.
struct World {
    server: TestServer,
    nats: Servers,
}

/// A client, and what its server complains of.
struct Connected {
    client: Client,
    complaints: mpsc::UnboundedReceiver<String>,
}

impl World {
    /// With what a test does to the files of the manual.
    async fn start(name: &str, prepare: impl FnOnce(&Directory)) -> Option<World> {
        let files = manual(HEADING);
        let issuer = KeyPair::new_account();
        let (_, configuration) = file(&files, "nats.conf").split_once("listen: 127.0.0.1:4222\n").unwrap();
        let configuration = configuration.replace("ACCOUNTPUBLICKEY", &issuer.public_key());
        let nats = Servers::start_one(name, &configuration).await?;
        let directory = directory(&files);
        directory.write_secret("issuer.seed", &issuer.seed().unwrap());
        directory.write_secret("nats.password", "a password of durward\n");
        prepare(&directory);
        let mut text = settings(&files, "decision_log.to = 'file'\n");
        for (from, to) in [
            ("nats://127.0.0.1:4222", nats.address(0)),
            ("nats.password", directory.path("nats.password").display().to_string()),
            ("issuer.seed", directory.path("issuer.seed").display().to_string()),
        ] {
            text = text.replace(from, &to);
        }
        let server = TestServer::start_in(directory, &text).unwrap();
        let world = World { server, nats };
        // Until durward has connected, nobody gets in.
        world.eventually_in("ada").await;
        Some(world)
    }

    async fn eventually_in(&self, user: &str) {
        let begun = std::time::Instant::now();
        while self.connect(user, PASSWORD).await.is_err() {
            assert!(begun.elapsed() < PATIENCE, "{user} never gets in");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn connect(&self, user: &str, password: &str) -> Result<Connected, String> {
        self.connect_with(ConnectOptions::with_user_and_password(user.to_owned(), password.to_owned())).await
    }

    async fn connect_with(&self, options: ConnectOptions) -> Result<Connected, String> {
        let (sender, complaints) = mpsc::unbounded_channel();
        let options = options.connection_timeout(PATIENCE).max_reconnects(1).event_callback(move |event| {
            if let Event::ServerError(error) = event {
                let _ = sender.send(error.to_string());
            }
            std::future::ready(())
        });
        let client = options.connect(self.nats.addresses()).await.map_err(|error| error.to_string())?;
        Ok(Connected { client, complaints })
    }
}

impl Connected {
    async fn publish(&self, subject: &str, text: &str) {
        self.client.publish(subject.to_owned(), text.to_owned().into()).await.unwrap();
        self.client.flush().await.unwrap();
    }

    async fn subscribe(&self, subject: &str) -> Subscriber {
        let subscriber = self.client.subscribe(subject.to_owned()).await.unwrap();
        self.client.flush().await.unwrap();
        subscriber
    }

    async fn complaint(&mut self) -> String {
        timeout(PATIENCE, self.complaints.recv()).await.unwrap().unwrap()
    }
}

async fn next(subscriber: &mut Subscriber) -> String {
    let message = timeout(PATIENCE, subscriber.next()).await.unwrap().unwrap();
    format!("{} {}", message.subject, String::from_utf8_lossy(&message.payload))
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn clients_may_do_what_their_lists_say_and_nothing_else() {
    run(async {
        let Some(world) = World::start("callout", |_| {}).await else { return };
        let mut ada = world.connect("ada", PASSWORD).await.unwrap();
        let mut line1 = world.connect("line1", PASSWORD).await.unwrap();
        let mut plant = ada.subscribe("plant.>").await;
        line1.publish("plant.line2.temperature", "of another").await;
        assert!(line1.complaint().await.contains("plant.line2.temperature"));
        line1.publish("plant.line1.secret", "a secret").await;
        line1.publish("plant.line1.temperature", "20").await;
        assert_eq!(next(&mut plant).await, "plant.line1.temperature 20");
        // She has no list of what to publish, and so nothing.
        ada.publish("plant.line1.temperature", "21").await;
        assert!(ada.complaint().await.contains("plant.line1.temperature"));
        let _ = ada.subscribe("other.>").await;
        assert!(ada.complaint().await.contains("other.>"));
        let _ = line1.subscribe("plant.>").await;
        assert!(line1.complaint().await.contains("plant.>"));
        let log = std::fs::read_to_string(world.server.directory.path("decisions.jsonl")).unwrap();
        let line = log.lines().find(|line| line.contains(r#""surface":"nats","route":"login""#)).unwrap();
        assert!(line.contains(r#""caller":"nats","tenant":"default""#), "{line}");
    });
}

#[test]
fn only_who_shows_a_password_or_a_token_gets_in() {
    run(async {
        let Some(world) = World::start("credentials", |_| {}).await else { return };
        let token = session(&world.server, "line1");
        let by_token = world.connect_with(ConnectOptions::with_token(token.clone())).await.unwrap();
        by_token.publish("plant.line1.temperature", "20").await;
        assert!(world.connect("line1", &token).await.is_ok(), "a token in the place of the password");
        for (user, password) in [
            ("line2", token.as_str()),
            ("line1", "wrong"),
            ("line1", ""),
            ("gone", PASSWORD),
            ("nobody", PASSWORD),
            ("+", PASSWORD),
        ] {
            assert!(world.connect(user, password).await.is_err(), "{user} {password}");
        }
        assert!(world.connect_with(ConnectOptions::new()).await.is_err(), "nobody");
        assert!(world.connect_with(ConnectOptions::with_token("guess".to_owned())).await.is_err());
        let key = KeyPair::new_user().seed().unwrap();
        assert!(world.connect_with(ConnectOptions::with_nkey(key)).await.is_err(), "a key of NATS' own");
        let World { server, nats } = world;
        drop(server);
        // The server ends a login that durward does not answer, which the client may take for a connection that was lost.
        let ada = ConnectOptions::with_user_and_password("ada".to_owned(), PASSWORD.to_owned());
        if let Ok(client) = ada.max_reconnects(1).connect(nats.addresses()).await {
            let begun = std::time::Instant::now();
            while client.connection_state() == State::Connected {
                assert!(begun.elapsed() < PATIENCE, "durward is down");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    });
}

#[test]
fn a_permit_without_lists_is_one_to_connect_and_an_unknown_obligation_is_none() {
    run(async {
        let policies = "policy \"all\"\npermit\n    action == \"login\";\n    subject.id != \"line2\";\n\n";
        let marked = "policy \"marked\"\npermit\n    subject.id == \"line2\";\nobligation\n    { \"type\": \"watermark\" }\n";
        let world = World::start("without-lists", |directory| {
            directory.write("policies/broker.sapl", policies);
            directory.write("policies/marked.sapl", marked);
        });
        let Some(world) = world.await else { return };
        let mut ada = world.connect("ada", PASSWORD).await.unwrap();
        ada.publish("plant.line1.temperature", "20").await;
        assert!(ada.complaint().await.contains("Publish"), "nothing may be published");
        let _ = ada.subscribe("plant.>").await;
        assert!(ada.complaint().await.contains("Subscription"), "nothing may be read");
        assert!(world.connect("line2", PASSWORD).await.is_err());
    });
}
