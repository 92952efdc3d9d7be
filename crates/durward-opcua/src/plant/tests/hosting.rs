//! The server between sessions and a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::{
    CreateMonitoredItemsRequest, CreateMonitoredItemsResponse, CreateSubscriptionRequest,
    CreateSubscriptionResponse, MessageInfo, MonitoredItemCreateRequest, MonitoringMode,
    MonitoringParameters, PublishRequest, PublishResponse, ReadRequest, ReadResponse, ReadValueId,
    StatusCode, TimestampsToReturn,
};

use crate::authority::MethodCaller;
use crate::plant::test_client::{BEGIN, TestClient};
use crate::plant::{PlantHost, boiler};

/// A host whose clock a test moves, and a client that makes its requests' bytes.
fn host() -> (Arc<PlantHost>, Arc<AtomicU64>, TestClient) {
    let clock = Arc::new(AtomicU64::new(BEGIN.ms()));
    let shown = Arc::clone(&clock);
    let server = boiler("urn:test:host", 3, BEGIN).unwrap();
    (
        PlantHost::new(server, move || Moment::from_ms(shown.load(Ordering::Relaxed))),
        clock,
        TestClient::boiler(),
    )
}

async fn ask<R, T>(
    host: &PlantHost,
    client: &TestClient,
    caller: &MethodCaller,
    request: &R,
) -> Result<T, StatusCode>
where
    R: opcua_types::BinaryEncodable + MessageInfo,
    T: opcua_types::BinaryDecodable,
{
    let body = client.bytes(request);
    host.answer(caller, request.type_id() as u32, &body).await.map(|bytes| client.decode(&bytes))
}

async fn watch_level(host: &PlantHost, client: &TestClient) -> u32 {
    let request = CreateSubscriptionRequest {
        requested_publishing_interval: 100.0,
        requested_lifetime_count: 100,
        requested_max_keep_alive_count: 5,
        publishing_enabled: true,
        ..CreateSubscriptionRequest::default()
    };
    let subscription: CreateSubscriptionResponse = ask(host, client, &client.caller, &request).await.unwrap();
    let what = ReadValueId::new_value(client.plant("Boiler.Level"));
    let parameters =
        MonitoringParameters { sampling_interval: 10.0, queue_size: 5, ..MonitoringParameters::default() };
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
    ask::<_, CreateMonitoredItemsResponse>(host, client, &client.caller, &request).await.unwrap();
    subscription.subscription_id
}

#[tokio::test]
async fn a_publish_request_waits_for_a_tick() {
    let (host, clock, client) = host();
    let id = watch_level(&host, &client).await;
    let publish = PublishRequest::default();
    let answer = ask::<_, PublishResponse>(&host, &client, &client.caller, &publish);
    let advance = async {
        tokio::task::yield_now().await;
        clock.fetch_add(100, Ordering::Relaxed);
        host.tick();
    };
    let (response, ()) = tokio::join!(answer, advance);
    let response = response.unwrap();
    assert_eq!(
        (response.subscription_id, response.notification_message.notification_data.map(|data| data.len())),
        (id, Some(1))
    );
}

#[tokio::test]
async fn a_request_of_a_closed_session_ends() {
    let (host, _clock, client) = host();
    watch_level(&host, &client).await;
    let publish = PublishRequest::default();
    let answer = ask::<_, PublishResponse>(&host, &client, &client.caller, &publish);
    let close = async {
        tokio::task::yield_now().await;
        host.close_session(client.caller.session, true);
    };
    let (response, ()) = tokio::join!(answer, close);
    assert_eq!(response.unwrap_err(), StatusCode::BadSessionClosed);
}

#[tokio::test]
async fn requests_that_were_given_up_are_forgotten() {
    let (host, clock, client) = host();
    watch_level(&host, &client).await;
    let publish = PublishRequest::default();
    let answer = ask::<_, PublishResponse>(&host, &client, &client.caller, &publish);
    assert!(tokio::time::timeout(Duration::from_millis(1), answer).await.is_err());
    assert_eq!(host.waiting_count(), 1);
    clock.fetch_add(100, Ordering::Relaxed);
    host.tick();
    assert_eq!(host.waiting_count(), 0);
    let response: PublishResponse = ask(&host, &client, &client.caller, &publish).await.unwrap();
    assert_eq!(
        response.notification_message.sequence_number, 1,
        "the first message waited for a request that counts"
    );
}

#[tokio::test]
async fn time_passes_while_it_runs() {
    let (host, clock, client) = host();
    let motor = client.plant("Tag00001");
    let running = Arc::clone(&host);
    let task = tokio::spawn(async move { running.run().await });
    let read =
        ReadRequest { nodes_to_read: Some(vec![ReadValueId::new_value(motor)]), ..ReadRequest::default() };
    let value = async || {
        let response: ReadResponse = ask(&host, &client, &client.caller, &read).await.unwrap();
        response.results.unwrap().pop().unwrap().value.unwrap()
    };
    let before = value().await;
    clock.fetch_add(5_000, Ordering::Relaxed);
    let moved = async {
        while value().await == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), moved).await.expect("the tag moves");
    task.abort();
}
