//! Watching values: a subscription that follows the client from session to session, and says where something may be missing.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use opcua_types::{
    CreateMonitoredItemsRequest, CreateMonitoredItemsResponse, CreateSubscriptionRequest,
    CreateSubscriptionResponse, DataChangeNotification, DataValue, DeleteSubscriptionsRequest,
    DeleteSubscriptionsResponse, ExtensionObject, MonitoredItemCreateRequest, MonitoringMode,
    MonitoringParameters, NodeId, NotificationMessage, ObjectId, RepublishRequest, RepublishResponse,
    RequestHeader, StatusChangeNotification, StatusCode, TimestampsToReturn, TransferSubscriptionsRequest,
    TransferSubscriptionsResponse, VariableId, Variant,
};
use tokio::sync::mpsc;

use super::calls::{read, results, structure, value_of};
use super::publish::{SubscriptionDelivery, SubscriptionRouter};
use super::shared::{ClientShared, LiveSession};
use crate::crypto::random_bytes;
use crate::error::Error;

/// Values that wait for a watcher. A watcher that is too slow for long misses some, and is told so.
const WAITING_MAX: usize = 1_024;
/// Messages that are asked for again one by one.
const REPUBLISH_MAX: u32 = 64;
/// The pause before a subscription that could not be made is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// What is watched how.
#[derive(Clone, Debug)]
pub struct WatchSettings {
    /// How often messages come at most.
    pub publishing: Duration,
    /// How often values are looked at.
    pub sampling: Duration,
    /// Values that the server keeps between two messages.
    pub queue: u32,
    /// Publishing intervals without a value after which the server says that it lives.
    pub keep_alive: u32,
    /// Publishing intervals after which the server forgets the subscription of a client that is away.
    pub lifetime: u32,
}

impl Default for WatchSettings {
    fn default() -> WatchSettings {
        WatchSettings {
            publishing: Duration::from_millis(500),
            sampling: Duration::from_millis(250),
            queue: 10,
            keep_alive: 10,
            lifetime: 600,
        }
    }
}

/// What a watcher hears.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// A value, with its status and its times.
    Value {
        /// Which of the nodes, from 0.
        index: usize,
        /// The value.
        value: DataValue,
    },
    /// The server does not watch that node.
    Refused {
        /// Which of the nodes, from 0.
        index: usize,
        /// Why.
        status: StatusCode,
    },
    /// The server says something about the subscription.
    Status(StatusCode),
    /// The subscription goes on, on another session.
    Resumed,
    /// Values may be missing here.
    Gap(WatchGap),
    /// There is no subscription at the moment; it is tried again.
    Waiting(Error),
}

/// Why values may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchGap {
    /// The subscription had to be made anew: nothing is known of the time between.
    Anew,
    /// So many messages were lost, and the server has them no more.
    Lost(u32),
}

/// A stream of values. Ends when the client is stopped; the subscription ends when this is dropped.
#[derive(Debug)]
pub struct ValueWatch {
    events: mpsc::Receiver<WatchEvent>,
}

impl ValueWatch {
    /// The next event; nothing when the client was stopped.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        self.events.recv().await
    }
}

impl Stream for ValueWatch {
    type Item = WatchEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<WatchEvent>> {
        self.events.poll_recv(context)
    }
}

pub(super) fn start(
    shared: Arc<ClientShared>,
    router: Arc<SubscriptionRouter>,
    nodes: Vec<NodeId>,
    settings: WatchSettings,
) -> ValueWatch {
    let (sender, events) = mpsc::channel(WAITING_MAX);
    let mut task = WatchTask {
        shared,
        router,
        nodes,
        settings,
        events: sender,
        last: None,
        subscription: None,
        had: false,
        handles: 0,
        server_started: None,
    };
    tokio::spawn(async move { task.run().await });
    ValueWatch { events }
}

/// The watch was dropped, or the client was stopped.
struct WatchOver;

struct WatchTask {
    shared: Arc<ClientShared>,
    router: Arc<SubscriptionRouter>,
    nodes: Vec<NodeId>,
    settings: WatchSettings,
    events: mpsc::Sender<WatchEvent>,
    /// The subscription, and the session it is or was on.
    subscription: Option<(u64, u32)>,
    /// Whether there was one that worked.
    had: bool,
    /// The handle of the first node. By chance: so a subscription that is somebody else's is seen by its handles.
    handles: u32,
    /// When the server started that made the subscription. After a restart, ids name other subscriptions.
    server_started: Option<Variant>,
    /// The number of the last message that was taken.
    last: Option<u32>,
}

impl WatchTask {
    async fn run(&mut self) {
        let events = self.events.clone();
        tokio::select! {
            _over = self.follow() => {}
            () = events.closed() => {}
        }
        self.delete().await;
    }

    async fn follow(&mut self) -> WatchOver {
        let mut told = None;
        loop {
            let shared = Arc::clone(&self.shared);
            let session = tokio::select! {
                session = shared.ready(Duration::from_secs(3_600), false) => session,
                denied = shared.denied() => Err(denied),
            };
            let live = match session {
                Ok(live) => live,
                Err(error) if error.status() == StatusCode::BadShutdown => return WatchOver,
                Err(error) => {
                    // Each reason once: it is tried again all the time.
                    if told.replace(error.status()) != Some(error.status())
                        && self.tell(WatchEvent::Waiting(error)).await.is_err()
                    {
                        return WatchOver;
                    }
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            told = None;
            match self.subscribe(&live).await {
                Ok(deliveries) => {
                    if self.take(&live, deliveries).await.is_err() {
                        return WatchOver;
                    }
                }
                Err(error) => {
                    self.shared.note(&live, &error).await;
                    if self.tell(WatchEvent::Waiting(error)).await.is_err() {
                        return WatchOver;
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn tell(&self, event: WatchEvent) -> Result<(), WatchOver> {
        self.events.send(event).await.map_err(|_| WatchOver)
    }

    /// Takes the subscription over to this session, or makes it anew.
    async fn subscribe(&mut self, live: &LiveSession) -> Result<mpsc::Receiver<SubscriptionDelivery>, Error> {
        let router = Arc::clone(&self.router);
        let subscribing = router.subscribing.lock().await;
        let server_started = server_started(live).await?;
        if let Some((generation, id)) = self.subscription.take()
            && generation != live.generation
            && server_started.is_some()
            && server_started == self.server_started
            && !self.router.has(live.generation, id)
            && self.transfer(live, id).await
        {
            self.subscription = Some((live.generation, id));
            let deliveries = self.router.add(live.generation, id);
            drop(subscribing);
            let _ = self.tell(WatchEvent::Resumed).await;
            return Ok(deliveries);
        }
        let id = self.create(live).await?;
        (self.subscription, self.last, self.server_started) =
            (Some((live.generation, id)), None, server_started);
        let deliveries = self.router.add(live.generation, id);
        drop(subscribing);
        if self.had {
            let _ = self.tell(WatchEvent::Gap(WatchGap::Anew)).await;
        }
        if let Err(error) = self.monitor(live, id).await {
            // Nothing of it is watched: away with it.
            self.delete().await;
            return Err(error);
        }
        self.had = true;
        Ok(deliveries)
    }

    async fn transfer(&self, live: &LiveSession, id: u32) -> bool {
        let request = TransferSubscriptionsRequest {
            request_header: RequestHeader::default(),
            subscription_ids: Some(vec![id]),
            send_initial_values: true,
        };
        let response: Result<TransferSubscriptionsResponse, Error> = live.session.call(&request).await;
        let result =
            response.ok().and_then(|response| response.results).and_then(|mut results| results.pop());
        result.is_some_and(|result| result.status_code.is_good())
    }

    async fn create(&self, live: &LiveSession) -> Result<u32, Error> {
        let request = CreateSubscriptionRequest {
            request_header: RequestHeader::default(),
            requested_publishing_interval: self.settings.publishing.as_secs_f64() * 1_000.0,
            requested_lifetime_count: self.settings.lifetime,
            requested_max_keep_alive_count: self.settings.keep_alive,
            max_notifications_per_publish: 0,
            publishing_enabled: true,
            priority: 0,
        };
        let response: CreateSubscriptionResponse = live.session.call(&request).await?;
        Ok(response.subscription_id)
    }

    async fn monitor(&mut self, live: &LiveSession, id: u32) -> Result<(), Error> {
        self.handles = u32::from_le_bytes(random_bytes()?);
        let handles = self.handles;
        let sampling_interval = self.settings.sampling.as_secs_f64() * 1_000.0;
        let item = |(index, node): (usize, &NodeId)| MonitoredItemCreateRequest {
            item_to_monitor: value_of(node),
            monitoring_mode: MonitoringMode::Reporting,
            requested_parameters: MonitoringParameters {
                client_handle: handles.wrapping_add(u32::try_from(index).unwrap_or(u32::MAX)),
                sampling_interval,
                filter: ExtensionObject::null(),
                queue_size: self.settings.queue,
                discard_oldest: true,
            },
        };
        let request = CreateMonitoredItemsRequest {
            request_header: RequestHeader::default(),
            subscription_id: id,
            timestamps_to_return: TimestampsToReturn::Both,
            items_to_create: Some(self.nodes.iter().enumerate().map(item).collect()),
        };
        let response: CreateMonitoredItemsResponse = live.session.call(&request).await?;
        for (index, result) in results(response.results, self.nodes.len())?.into_iter().enumerate() {
            if result.status_code.is_bad() {
                let _ = self.tell(WatchEvent::Refused { index, status: result.status_code }).await;
            }
        }
        Ok(())
    }

    /// Takes messages until the subscription is lost, or the right to it: nobody publishes where no session is to be had.
    async fn take(
        &mut self,
        live: &LiveSession,
        mut deliveries: mpsc::Receiver<SubscriptionDelivery>,
    ) -> Result<(), WatchOver> {
        let shared = Arc::clone(&self.shared);
        loop {
            let delivery = tokio::select! {
                delivery = deliveries.recv() => delivery,
                _denied = shared.denied() => None,
            };
            let Some(SubscriptionDelivery::Message(message)) = delivery else { break };
            if !self.message(live, message).await? {
                break;
            }
        }
        if let Some((generation, id)) = self.subscription {
            self.router.remove(generation, id);
        }
        Ok(())
    }

    /// Whether the subscription goes on.
    async fn message(&mut self, live: &LiveSession, message: NotificationMessage) -> Result<bool, WatchOver> {
        let is_keep_alive = message.notification_data.as_ref().is_none_or(Vec::is_empty);
        let number = message.sequence_number;
        let expected = self.last.map(next_number);
        if let Some(expected) = expected {
            let ahead = number.wrapping_sub(expected);
            if ahead > u32::MAX / 2 {
                // It was there already.
                return Ok(true);
            }
            self.fetch(live, expected, ahead).await?;
        }
        // A keep-alive carries the number that the next message will have.
        self.last = Some(if is_keep_alive { previous_number(number) } else { number });
        self.notifications(message).await
    }

    /// Asks again for messages that did not come.
    async fn fetch(&mut self, live: &LiveSession, first: u32, count: u32) -> Result<(), WatchOver> {
        let Some((_, subscription_id)) = self.subscription else { return Ok(()) };
        let skipped = count.saturating_sub(REPUBLISH_MAX);
        let (mut lost, mut number) = (skipped, first.wrapping_add(skipped));
        for _ in skipped..count {
            let request = RepublishRequest {
                request_header: RequestHeader::default(),
                subscription_id,
                retransmit_sequence_number: number,
            };
            let response: Result<RepublishResponse, Error> = live.session.call(&request).await;
            match response {
                Ok(response) => drop(self.notifications(response.notification_message).await?),
                Err(_) => lost += 1,
            }
            number = next_number(number);
        }
        if lost > 0 { self.tell(WatchEvent::Gap(WatchGap::Lost(lost))).await } else { Ok(()) }
    }

    async fn notifications(&self, message: NotificationMessage) -> Result<bool, WatchOver> {
        let mut goes_on = true;
        for object in message.notification_data.iter().flatten() {
            let changes: Option<DataChangeNotification> =
                structure(object, ObjectId::DataChangeNotification_Encoding_DefaultBinary);
            for item in changes.and_then(|changes| changes.monitored_items).unwrap_or_default() {
                let index = item.client_handle.wrapping_sub(self.handles) as usize;
                if index < self.nodes.len() {
                    self.tell(WatchEvent::Value { index, value: item.value }).await?;
                } else {
                    tracing::warn!("a subscription brings values that were not asked for: it is made anew");
                    goes_on = false;
                }
            }
            let change: Option<StatusChangeNotification> =
                structure(object, ObjectId::StatusChangeNotification_Encoding_DefaultBinary);
            if let Some(change) = change {
                self.tell(WatchEvent::Status(change.status)).await?;
                goes_on &=
                    change.status.is_good() && change.status != StatusCode::GoodSubscriptionTransferred;
            }
        }
        Ok(goes_on)
    }

    async fn delete(&mut self) {
        let Some((generation, id)) = self.subscription.take() else { return };
        self.router.remove(generation, id);
        let Some(live) = self.shared.usable().filter(|live| live.generation == generation) else { return };
        let request = DeleteSubscriptionsRequest {
            request_header: RequestHeader::default(),
            subscription_ids: Some(vec![id]),
        };
        let deleted: Result<DeleteSubscriptionsResponse, Error> = live.session.call(&request).await;
        if let Err(error) = deleted {
            tracing::debug!(%error, "a subscription was not deleted");
        }
    }
}

/// When the server says that it started; nothing when it does not say so.
async fn server_started(live: &LiveSession) -> Result<Option<Variant>, Error> {
    let node = NodeId::from(VariableId::Server_ServerStatus_StartTime);
    Ok(read(&live.session, vec![value_of(&node)]).await?.pop().and_then(|value| value.value))
}

/// Numbers of messages go from the largest one to 1.
fn next_number(number: u32) -> u32 {
    number.checked_add(1).unwrap_or(1)
}

fn previous_number(number: u32) -> u32 {
    number.checked_sub(1).filter(|number| *number > 0).unwrap_or(u32::MAX)
}
