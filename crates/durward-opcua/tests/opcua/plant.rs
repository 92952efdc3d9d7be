//! The plant behind sessions, over TCP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_opcua::plant::{HostService, PLANT_NAMESPACE, PasswordUsers, PlantHost, boiler};
use durward_opcua::session::{ClientIdentity, ClientSession, SessionServer};
use opcua_types::{
    CallMethodRequest, CallRequest, CallResponse, CreateMonitoredItemsRequest, CreateMonitoredItemsResponse,
    CreateSubscriptionRequest, CreateSubscriptionResponse, MonitoredItemCreateRequest, MonitoringMode,
    MonitoringParameters, NodeId, PublishRequest, PublishResponse, ReadRequest, ReadResponse, ReadValueId,
    StatusCode, TimestampsToReturn, Variant, WriteRequest, WriteResponse, WriteValue,
};
use tokio::net::TcpListener;

use crate::fixture::{NOW, USUAL, client_settings, server_settings, status};

/// Starts a boiler behind sessions and gives the URL and the boiler's host.
async fn start() -> (String, Arc<PlantHost>) {
    let began = Instant::now();
    let host = PlantHost::new(boiler("urn:test:server", 10, NOW).unwrap(), move || NOW.plus(began.elapsed()));
    let login =
        PasswordUsers { anonymous: false, passwords: [("ada".to_owned(), b"engine".to_vec().into())].into() };
    let server =
        SessionServer::new(server_settings(), Arc::new(HostService::new(Arc::clone(&host), login))).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("opc.tcp://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { server.serve(listener).await });
    let running = Arc::clone(&host);
    tokio::spawn(async move { running.run().await });
    (url, host)
}

fn ada(password: &str) -> ClientIdentity {
    ClientIdentity::UserName { name: "ada".to_owned(), password: password.to_owned().into() }
}

async fn connect(url: &str) -> ClientSession {
    let session = ClientSession::connect(url, Some(USUAL), client_settings()).await.unwrap();
    session.activate(&ada("engine")).await.unwrap();
    session
}

fn node(host: &PlantHost, name: &str) -> NodeId {
    NodeId::new(host.with(|server| server.space().namespace_index(PLANT_NAMESPACE).unwrap()), name)
}

async fn read(session: &ClientSession, node: &NodeId) -> Variant {
    let request = ReadRequest {
        nodes_to_read: Some(vec![ReadValueId::new_value(node.clone())]),
        ..ReadRequest::default()
    };
    let response: ReadResponse = session.call(&request).await.unwrap();
    response.results.unwrap().remove(0).value.unwrap()
}

#[tokio::test]
async fn only_known_users_come_in() {
    let (url, _host) = start().await;
    let session = ClientSession::connect(&url, Some(USUAL), client_settings()).await.unwrap();
    assert_eq!(status(session.activate(&ada("wrong")).await), StatusCode::BadUserAccessDenied);
    assert_eq!(
        status(session.activate(&ClientIdentity::Anonymous).await),
        StatusCode::BadIdentityTokenRejected
    );
    session.activate(&ada("engine")).await.unwrap();
}

#[tokio::test]
async fn values_are_read_written_and_methods_called() {
    let (url, host) = start().await;
    let session = connect(&url).await;
    let mode = node(&host, "Boiler.Mode");
    let write = WriteValue::value_attr(mode.clone(), Variant::from("Manual"));
    let request = WriteRequest { nodes_to_write: Some(vec![write]), ..WriteRequest::default() };
    let response: WriteResponse = session.call(&request).await.unwrap();
    assert_eq!(response.results, Some(vec![StatusCode::Good]));
    assert_eq!(read(&session, &mode).await, Variant::from("Manual"));
    let call = CallMethodRequest {
        object_id: node(&host, "Boiler.Motor"),
        method_id: node(&host, "Boiler.Motor.Start"),
        input_arguments: None,
    };
    let request = CallRequest { methods_to_call: Some(vec![call]), ..CallRequest::default() };
    let response: CallResponse = session.call(&request).await.unwrap();
    assert_eq!(response.results.unwrap().remove(0).status_code, StatusCode::Good);
    assert_eq!(read(&session, &node(&host, "Boiler.Motor.Running")).await, Variant::from(true));
}

#[tokio::test]
async fn subscriptions_deliver_while_time_passes() {
    let (url, host) = start().await;
    let session = connect(&url).await;
    let request = CreateSubscriptionRequest {
        requested_publishing_interval: 20.0,
        requested_lifetime_count: 1_000,
        requested_max_keep_alive_count: 100,
        publishing_enabled: true,
        ..CreateSubscriptionRequest::default()
    };
    let subscription: CreateSubscriptionResponse = session.call(&request).await.unwrap();
    let parameters =
        MonitoringParameters { sampling_interval: 10.0, queue_size: 5, ..MonitoringParameters::default() };
    let what = ReadValueId::new_value(node(&host, "Boiler.Temperature"));
    let request = CreateMonitoredItemsRequest {
        subscription_id: subscription.subscription_id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some(vec![MonitoredItemCreateRequest::new(
            what,
            MonitoringMode::Reporting,
            parameters,
        )]),
        ..CreateMonitoredItemsRequest::default()
    };
    session.call::<_, CreateMonitoredItemsResponse>(&request).await.unwrap();
    let mut notified = 0;
    for _ in 0..3 {
        let request = PublishRequest::default();
        let publish = session.call::<_, PublishResponse>(&request);
        let response = tokio::time::timeout(Duration::from_secs(20), publish).await.unwrap().unwrap();
        notified += usize::from(response.notification_message.notification_data.is_some());
    }
    assert_eq!(notified, 3, "the temperature moves");
    session.close(true).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn reads_in_a_second() {
    let (url, host) = start().await;
    let session = connect(&url).await;
    let node = node(&host, "Boiler.Temperature");
    let began = Instant::now();
    let mut count = 0u32;
    while began.elapsed() < Duration::from_secs(2) {
        read(&session, &node).await;
        count += 1;
    }
    println!("{} reads/s, one session, one after the other", count / 2);
}
