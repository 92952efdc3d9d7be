//! The server's NamespaceArray changes: rights are on nodes, whatever index their namespace has.

use std::time::Duration;

use durward_opcua::gate::AnonymousRights;
use durward_opcua::permission::Permission::{Browse, Read};
use durward_opcua::plant::{NewNode, PlantEvent, PlantHost, PlantServer, SpaceBuilder};
use durward_opcua::session::{ClientIdentity, ClientSession};
use durward_opcua::token::{GrantVerdict, Grants};
use opcua_types::*;

use super::support::{Clock, Plant, Running, eventually, issued};
use crate::fixture::{CLIENT, NOW};

/// A server with these namespaces from index 2 on; in each is a node `Value`, whose value is the name of the namespace.
async fn plant(clock: &Clock, address: &str, namespaces: &[&str]) -> Plant {
    let mut builder = SpaceBuilder::new("urn:test:server", NOW);
    for uri in namespaces {
        let namespace = builder.namespace(uri);
        let node = NewNode::data(NodeId::new(namespace, "Value"), "Value", DataTypeId::String, *uri);
        builder.add(node.organized_by(ObjectId::ObjectsFolder));
    }
    let (server, clock) = (PlantServer::new(builder.build().unwrap()), clock.clone());
    Plant::of(PlantHost::new(server, move || clock.now()), address).await
}

/// Nothing but what a session finds out itself, and what it says to the session that browses.
async fn gate(clock: &Clock, plant: &Plant) -> Running {
    Running::with(clock, plant.address, |settings| {
        settings.table.look_every = Duration::from_secs(3_600);
        let value = "nsu=urn:a;s=Value".parse().unwrap();
        settings.anonymous =
            Some(AnonymousRights { everywhere: Vec::new(), nodes: vec![(value, vec![Read])] });
    })
    .await
}

/// May read the value of namespace `urn:a`.
fn token(running: &Running) -> ClientIdentity {
    let mut grants = Grants::none(&running.table);
    let row = running.table.row("urn:a", &Identifier::from("Value")).unwrap();
    [Browse, Read].into_iter().for_each(|permission| grants.set(row, permission, GrantVerdict::Granted));
    issued(running.token_of(&CLIENT, "anna", &grants, Duration::from_secs(600)))
}

/// What is read at each index.
async fn values(session: &ClientSession) -> Vec<Option<String>> {
    let read = |namespace| ReadValueId::new_value(NodeId::new(namespace, "Value"));
    let nodes = (2..5).map(read).collect();
    let request = ReadRequest { nodes_to_read: Some(nodes), ..ReadRequest::default() };
    let response: ReadResponse = session.call(&request).await.unwrap();
    let text = |value: DataValue| match value.value {
        Some(Variant::String(text)) => Some(text.as_ref().to_owned()),
        _ => None,
    };
    response.results.unwrap().into_iter().map(text).collect()
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

/// After a restart, the index that was that of `urn:a` is that of `urn:b`: who may read the one must not read the other, not even at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_stay_on_their_nodes_when_the_server_comes_back_with_other_indexes() {
    let clock = Clock::new();
    let before = plant(&clock, "127.0.0.1:0", &["urn:a", "urn:b"]).await;
    let running = gate(&clock, &before).await;
    let session = running.connect(&CLIENT).await;
    session.activate(&token(&running)).await.unwrap();
    assert_eq!(values(&session).await, [text("urn:a"), None, None]);
    let address = before.address.to_string();
    before.kill().await;
    let _after = plant(&clock, &address, &["urn:c", "urn:b", "urn:a"]).await;
    for identity in [token(&running), ClientIdentity::Anonymous] {
        let session = running.connect(&CLIENT).await;
        eventually("the server is back", async || session.activate(&identity).await.is_ok()).await;
        assert_eq!(values(&session).await, [None, None, text("urn:a")]);
    }
    eventually("the nodes are browsed again", async || {
        running.gate.table().unwrap().row("urn:c", &Identifier::from("Value")).is_some()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_outlives_new_namespaces_but_no_other_change() {
    let clock = Clock::new();
    let plant = plant(&clock, "127.0.0.1:0", &["urn:a", "urn:b"]).await;
    let running = gate(&clock, &plant).await;
    let session = running.connect(&CLIENT).await;
    session.activate(&token(&running)).await.unwrap();
    let set = |uris: &[&str]| {
        let uris: Vec<UAString> = uris.iter().map(|uri| UAString::from(*uri)).collect();
        let array = NodeId::from(VariableId::Server_NamespaceArray);
        plant.host.with_mut(|server| assert!(server.space_mut().set(&array, uris, NOW)));
        running.gate.browse_again();
    };
    let standard = "http://opcfoundation.org/UA/";
    set(&[standard, "urn:test:server", "urn:a", "urn:b", "urn:c"]);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(values(&session).await, [text("urn:a"), None, None]);
    set(&[standard, "urn:test:server", "urn:b", "urn:a", "urn:c"]);
    eventually("the session is ended", async || {
        running.audited("the server behind the gate has changed its namespaces: connect again")
    })
    .await;
    let request = ReadRequest::default();
    assert!(session.call::<_, ReadResponse>(&request).await.is_err());
}

/// A program download: the same namespaces, another node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_nodes_are_browsed_again_when_the_server_says_that_they_have_changed() {
    let clock = Clock::new();
    let plant = plant(&clock, "127.0.0.1:0", &["urn:a"]).await;
    let running = gate(&clock, &plant).await;
    let before = running.gate.table().unwrap().version();
    let mut builder = SpaceBuilder::new("urn:test:server", NOW);
    let namespace = builder.namespace("urn:a");
    for name in ["Value", "Downloaded"] {
        let node = NewNode::data(NodeId::new(namespace, name), name, DataTypeId::String, name);
        builder.add(node.organized_by(ObjectId::ObjectsFolder));
    }
    let space = builder.build().unwrap();
    plant.host.with_mut(|server| *server.space_mut() = space);
    eventually("the change is told and the nodes are browsed", async || {
        plant.host.with_mut(|server| {
            let kind = NodeId::from(ObjectTypeId::BaseModelChangeEventType);
            let source = NodeId::from(ObjectId::Server);
            let event = PlantEvent::new(server.space(), &kind, &source, [1; 16], "download", 1, NOW);
            server.raise(&[event]);
        });
        running.gate.table().unwrap().version() != before
    })
    .await;
    assert!(running.gate.table().unwrap().row("urn:a", &Identifier::from("Downloaded")).is_some());
}
