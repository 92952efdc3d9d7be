//! What the server says is mediated in the order in which it says it, whatever the scheduler does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use durward_opcua::channel::{ChannelRequest, SecurityOffer, ServerChannel};
use durward_opcua::crypto::SecurityPolicy;
use durward_opcua::permission::Permission::{Browse, Read};
use durward_opcua::plant::PlantHost;
use durward_opcua::session::ClientSession;
use durward_opcua::wire::{self, ChunkKind, RequestPeek};
use opcua_types::*;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::support::{Clock, Running, node, plant_host};
use super::upstream::answer_without_security;
use crate::fixture::{NOW, SERVER, channel_settings};

const TEMPERATURE: &[(&str, &[durward_opcua::permission::Permission])] =
    &[("Boiler.Temperature", &[Browse, Read])];
const PAIRS: usize = 100;

/// A server whose Publish responses come two at a time, in one segment; each has one value, and each value is higher than the one before.
/// A Publish that came before CreateSubscription is answered in one segment with that.
struct Bursts {
    host: Arc<PlantHost>,
    address: SocketAddr,
    /// How many Publish requests wait.
    waiting: Semaphore,
    /// The first message of a subscription comes before the response to CreateSubscription.
    is_hasty: AtomicBool,
}

impl Bursts {
    async fn start(clock: &Clock) -> Arc<Bursts> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let bursts = Arc::new(Bursts {
            host: plant_host(clock),
            address,
            waiting: Semaphore::new(0),
            is_hasty: AtomicBool::new(false),
        });
        let serving = Arc::clone(&bursts);
        tokio::spawn(async move {
            for number in 1.. {
                let (stream, _) = listener.accept().await.unwrap();
                let serving = Arc::clone(&serving);
                tokio::spawn(async move { serving.serve(stream, number).await });
            }
        });
        bursts
    }

    async fn serve(&self, stream: TcpStream, number: u32) {
        let offer = SecurityOffer { policy: SecurityPolicy::None, mode: MessageSecurityMode::None };
        let settings = Arc::new(channel_settings(&SERVER));
        let channel = ServerChannel::accept(stream, None, settings, Arc::from([offer]), number).await;
        let Ok(mut channel) = channel else { return };
        let owned = wire::context();
        let (mut waiting, mut subscriptions, mut item, mut value) = (Vec::new(), 0, None, 0);
        while let Ok(Some(ChannelRequest::Service { request_id, body })) = channel.next().await {
            let peek = RequestPeek::read(&body).unwrap();
            let outbox = Arc::clone(channel.outbox());
            let response_header = wire::response_header(peek.handle, StatusCode::Good, NOW);
            let is = |id: ObjectId| peek.type_id == id as u32;
            let push = |request_id, body: Bytes| outbox.push(ChunkKind::Message, request_id, body).unwrap();
            if is(ObjectId::PublishRequest_Encoding_DefaultBinary) {
                waiting.push((request_id, peek.handle));
                self.waiting.add_permits(1);
                if item.is_some() && waiting.len() == 2 {
                    for (request_id, handle) in waiting.drain(..) {
                        value += 1;
                        push(request_id, published(handle, subscriptions, item.map(|item| (item, value))));
                    }
                }
            } else if is(ObjectId::CreateSubscriptionRequest_Encoding_DefaultBinary) {
                subscriptions += 1;
                let response = CreateSubscriptionResponse {
                    response_header,
                    subscription_id: subscriptions,
                    revised_publishing_interval: 100.0,
                    revised_lifetime_count: 1_000,
                    revised_max_keep_alive_count: 100,
                };
                let created = wire::encode_service(&owned.context(), &response).unwrap();
                let first = waiting.drain(..);
                let first = first.map(|(id, handle)| (id, published(handle, subscriptions, None)));
                let mut both: Vec<(u32, Bytes)> = [(request_id, created)].into_iter().chain(first).collect();
                if self.is_hasty.load(Ordering::Relaxed) {
                    both.reverse();
                }
                both.into_iter().for_each(|(request_id, body)| push(request_id, body));
            } else if is(ObjectId::CreateMonitoredItemsRequest_Encoding_DefaultBinary) {
                let request: CreateMonitoredItemsRequest =
                    wire::decode_service(&owned.context(), &body).unwrap();
                item = Some(request.items_to_create.unwrap()[0].requested_parameters.client_handle);
                let result = MonitoredItemCreateResult { monitored_item_id: 1, ..Default::default() };
                let results = Some(vec![result]);
                let response =
                    CreateMonitoredItemsResponse { response_header, results, diagnostic_infos: None };
                push(request_id, wire::encode_service(&owned.context(), &response).unwrap());
            } else {
                push(request_id, answer_without_security(&self.host, &body, number, self.address).await);
            }
            channel.outbox().flush();
        }
    }
}

/// A message with one value of an item, or a keep alive.
fn published(handle: u32, subscription_id: u32, value: Option<(u32, u32)>) -> Bytes {
    let data = value.map(|(client_handle, value)| {
        let value = DataValue::value_only(Variant::from(value));
        let change = DataChangeNotification {
            monitored_items: Some(vec![MonitoredItemNotification { client_handle, value }]),
            diagnostic_infos: None,
        };
        vec![ExtensionObject::new(change)]
    });
    let response = PublishResponse {
        response_header: wire::response_header(handle, StatusCode::Good, NOW),
        subscription_id,
        notification_message: NotificationMessage {
            sequence_number: value.map_or(1, |(_, value)| value),
            publish_time: DateTime::now(),
            notification_data: data,
        },
        ..PublishResponse::default()
    };
    wire::encode_service(&wire::context().context(), &response).unwrap()
}

async fn start() -> (Arc<Bursts>, ClientSession, Running) {
    let clock = Clock::new();
    let bursts = Bursts::start(&clock).await;
    let running = Running::with(&clock, bursts.address, |settings| {
        settings.upstream.danger_upstream_without_security = true;
    })
    .await;
    let session = running.session(TEMPERATURE).await;
    (bursts, session, running)
}

async fn create_subscription(session: &ClientSession) -> u32 {
    let request = CreateSubscriptionRequest {
        requested_publishing_interval: 100.0,
        requested_lifetime_count: 1_000,
        requested_max_keep_alive_count: 100,
        publishing_enabled: true,
        ..CreateSubscriptionRequest::default()
    };
    let response: CreateSubscriptionResponse = session.call(&request).await.unwrap();
    response.subscription_id
}

/// The client's sequence number of one message, and its value.
async fn publish(session: &ClientSession) -> (u32, u32) {
    let response: PublishResponse = session.call(&PublishRequest::default()).await.unwrap();
    let message = response.notification_message;
    let data = message.notification_data.unwrap();
    let body = data[0].inner_as::<type_loader::ByteStringBody>().unwrap();
    let mut raw = body.raw_body().value.as_deref().unwrap();
    let change = DataChangeNotification::decode(&mut raw, &wire::context().context()).unwrap();
    match change.monitored_items.unwrap().remove(0).value.value {
        Some(Variant::UInt32(value)) => (message.sequence_number, value),
        other => panic!("no value: {other:?}"),
    }
}

/// The gate numbers messages anew. Were it to take the second of two before the first, an old value would come as the newest, and no gap would
/// tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_numbered_as_they_arrive() {
    let (_bursts, session, _running) = start().await;
    let subscription_id = create_subscription(&session).await;
    let item = MonitoredItemCreateRequest {
        item_to_monitor: ReadValueId::new_value(node("Boiler.Temperature")),
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: MonitoringParameters { queue_size: 5, ..MonitoringParameters::default() },
    };
    let request = CreateMonitoredItemsRequest {
        subscription_id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some(vec![item]),
        ..CreateMonitoredItemsRequest::default()
    };
    let _: CreateMonitoredItemsResponse = session.call(&request).await.unwrap();
    let mut messages = Vec::new();
    for _ in 0..PAIRS {
        let (one, other) = tokio::join!(publish(&session), publish(&session));
        messages.extend([one, other]);
    }
    messages.sort();
    let as_sent: Vec<(u32, u32)> = (1..=2 * PAIRS as u32).map(|number| (number, number)).collect();
    assert_eq!(messages, as_sent);
}

/// The first message of a subscription comes right behind the response that made it, or before it from a server of many threads: it is not one of a subscription that nobody knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_message_of_a_subscription_finds_it() {
    let (bursts, session, _running) = start().await;
    for number in 0..50 {
        bursts.is_hasty.store(number % 2 == 1, Ordering::Relaxed);
        let request = PublishRequest::default();
        let publish = session.call::<_, PublishResponse>(&request);
        let create = async {
            bursts.waiting.acquire().await.unwrap().forget();
            create_subscription(&session).await
        };
        let (published, created) = tokio::join!(publish, create);
        assert_eq!(
            published.map(|response| response.subscription_id).map_err(|error| error.status()),
            Ok(created)
        );
    }
}
