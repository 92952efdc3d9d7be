//! Watching values over renewals, cuts and restarts.

use std::time::Duration;

use durward_opcua::client::{TokenClient, ValueWatch, WatchEvent, WatchGap, WatchSettings};
use opcua_types::{NodeId, StatusCode};

use super::world::{Issuer, Setup, Wire, authority, client, resource};

fn nodes() -> Vec<NodeId> {
    ["Boiler.Temperature", "Nothing", "Boiler.Level"].map(|name| NodeId::new(2, name)).to_vec()
}

fn fast() -> WatchSettings {
    WatchSettings {
        publishing: Duration::from_millis(50),
        sampling: Duration::from_millis(50),
        queue: 100,
        ..WatchSettings::default()
    }
}

async fn next(watch: &mut ValueWatch) -> WatchEvent {
    tokio::time::timeout(Duration::from_secs(5), watch.next())
        .await
        .expect("an event in time")
        .expect("an event")
}

/// Waits for so many values; gives what else came.
async fn values(watch: &mut ValueWatch, mut count: usize) -> Vec<WatchEvent> {
    let mut others = Vec::new();
    while count > 0 {
        match next(watch).await {
            WatchEvent::Value { index, value } => {
                assert!(index != 1 && value.source_timestamp.is_some(), "{index} {value:?}");
                count -= 1;
            }
            other => others.push(other),
        }
    }
    others
}

#[tokio::test(flavor = "multi_thread")]
async fn values_come_while_tokens_are_renewed_and_connections_cut() {
    let issuer = Issuer::new(Duration::from_millis(1_500));
    let authority = authority(None, &issuer).await;
    let server = resource(None, &Setup::new(&authority)).await;
    let wire = Wire::to(server.address).await;
    let client = TokenClient::connect(client(&wire.url())).await.unwrap();
    let mut watch = client.watch(nodes(), fast());
    let others = values(&mut watch, 20).await;
    let refused = WatchEvent::Refused { index: 1, status: StatusCode::BadNodeIdUnknown };
    assert_eq!(others, [refused], "and nothing was missing over renewals");
    wire.cut();
    // The session is the same one, and the server kept what was not acknowledged.
    let others = values(&mut watch, 20).await;
    assert_eq!(others, []);
    let status = client.status().borrow().clone();
    assert_eq!(status.sessions, 1, "{status:?}");
    drop(watch);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_server_is_a_gap() {
    let issuer = Issuer::new(Duration::from_secs(60));
    let authority = authority(None, &issuer).await;
    let setup = Setup::new(&authority);
    let mut server = resource(None, &setup).await;
    let client = TokenClient::connect(client(&server.url())).await.unwrap();
    let mut watch = client.watch(vec![nodes()[0].clone()], fast());
    let mut second = client.watch(vec![nodes()[2].clone()], fast());
    assert_eq!(values(&mut watch, 5).await, []);
    assert_eq!(values(&mut second, 5).await, []);
    server.stop().await;
    let address = server.address;
    drop(server);
    let _server = resource(Some(address), &setup).await;
    for watch in [&mut watch, &mut second] {
        let event = loop {
            match next(watch).await {
                WatchEvent::Value { .. } | WatchEvent::Waiting(_) => {}
                other => break other,
            }
        };
        assert_eq!(event, WatchEvent::Gap(WatchGap::Anew));
        assert_eq!(values(watch, 5).await, []);
    }
    client.stop().await;
    let ended = async { while watch.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(2), ended).await.expect("the stream ends with the client");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_session_takes_subscriptions_over() {
    let issuer = Issuer::new(Duration::from_secs(60));
    let authority = authority(None, &issuer).await;
    let server = resource(None, &Setup::new(&authority)).await;
    let client = TokenClient::connect(client(&server.url())).await.unwrap();
    let mut watch = client.watch(vec![nodes()[0].clone()], fast());
    assert_eq!(values(&mut watch, 5).await, []);
    let last = server.server.service().last.lock().unwrap().clone().unwrap();
    // The server ends the session, and keeps its subscriptions for a while.
    last.close();
    let event = loop {
        match next(&mut watch).await {
            WatchEvent::Value { .. } => {}
            other => break other,
        }
    };
    assert_eq!(event, WatchEvent::Resumed);
    assert_eq!(values(&mut watch, 5).await, [], "nothing was missing");
    let status = client.status().borrow().clone();
    assert_eq!((status.sessions, status.tokens), (2, 1), "{status:?}");
}
