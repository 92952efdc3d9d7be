//! Subscriptions in simulated time.

mod events;
mod items;
mod publishing;
mod transfer;

use opcua_types::{
    CreateMonitoredItemsRequest, CreateMonitoredItemsResponse, CreateSubscriptionRequest,
    CreateSubscriptionResponse, DataChangeNotification, DataTypeId, DataValue, DeleteSubscriptionsRequest,
    DeleteSubscriptionsResponse, ExtensionObject, MonitoredItemCreateRequest, MonitoredItemCreateResult,
    MonitoringMode, MonitoringParameters, NodeId, ObjectId, PublishRequest, PublishResponse, ReadValueId,
    SetPublishingModeRequest, SetPublishingModeResponse, StatusChangeNotification, StatusCode,
    SubscriptionAcknowledgement, TimestampsToReturn, Variant,
};

use crate::plant::test_client::{BEGIN, TestClient};
use crate::plant::{LateResponseTicket, NewNode, PlantServer, SpaceBuilder, access};

/// The variables `a` and `b`, which only change when a test sets them.
pub(super) fn still() -> TestClient {
    let mut builder = SpaceBuilder::new("urn:test:subscriptions", BEGIN);
    for name in ["a", "b"] {
        let node = NewNode::data(node(name), name, DataTypeId::Double, 0.0).access(access::READ_WRITE);
        builder.add(node.component_of(ObjectId::Server));
    }
    let text = NewNode::data(node("text"), "text", DataTypeId::String, "x").access(access::READ_WRITE);
    builder.add(text.component_of(ObjectId::Server));
    TestClient::new(PlantServer::new(builder.build().unwrap()))
}

pub(super) fn node(name: &str) -> NodeId {
    NodeId::new(1, name)
}

impl TestClient {
    pub(super) fn set(&mut self, name: &str, value: f64) {
        let now = self.now;
        assert!(self.server.space_mut().set(&node(name), value, now));
    }

    /// A subscription that publishes every 100 ms: how many intervals until its end, until a keep alive.
    pub(crate) fn subscribe(&mut self, lifetime: u32, keep_alive: u32) -> u32 {
        let request = CreateSubscriptionRequest {
            requested_publishing_interval: 100.0,
            requested_lifetime_count: lifetime,
            requested_max_keep_alive_count: keep_alive,
            publishing_enabled: true,
            ..CreateSubscriptionRequest::default()
        };
        self.ask::<_, CreateSubscriptionResponse>(&request).unwrap().subscription_id
    }

    pub(crate) fn create(
        &mut self,
        subscription_id: u32,
        what: ReadValueId,
        parameters: MonitoringParameters,
    ) -> Result<MonitoredItemCreateResult, StatusCode> {
        let item = MonitoredItemCreateRequest::new(what, MonitoringMode::Reporting, parameters);
        let request = CreateMonitoredItemsRequest {
            subscription_id,
            timestamps_to_return: TimestampsToReturn::Both,
            items_to_create: Some(vec![item]),
            ..CreateMonitoredItemsRequest::default()
        };
        self.ask::<_, CreateMonitoredItemsResponse>(&request)
            .map(|response| response.results.unwrap().pop().unwrap())
    }

    /// An item that samples every 10 ms, with that handle and a queue of that size.
    pub(super) fn watch(
        &mut self,
        subscription: u32,
        name: &str,
        client_handle: u32,
        queue_size: u32,
        discard_oldest: bool,
    ) -> u32 {
        let parameters = sampled(client_handle, queue_size, discard_oldest, ExtensionObject::null());
        let result = self.create(subscription, ReadValueId::new_value(node(name)), parameters).unwrap();
        assert_eq!(result.status_code, StatusCode::Good);
        result.monitored_item_id
    }

    pub(crate) fn publish(&mut self) -> LateResponseTicket {
        self.park(&PublishRequest::default()).unwrap()
    }

    pub(super) fn acknowledge(&mut self, subscription_id: u32, sequence_number: u32) -> LateResponseTicket {
        let acknowledgement = SubscriptionAcknowledgement { subscription_id, sequence_number };
        self.park(&PublishRequest {
            subscription_acknowledgements: Some(vec![acknowledgement]),
            ..PublishRequest::default()
        })
        .unwrap()
    }

    /// What came for publish requests, in the order in which it came.
    pub(crate) fn published(&mut self) -> Vec<(LateResponseTicket, Result<PublishResponse, StatusCode>)> {
        let deliveries = self.server.take_deliveries();
        deliveries
            .into_iter()
            .map(|delivery| (delivery.ticket, delivery.response.map(|bytes| self.decode(&bytes))))
            .collect()
    }

    /// The only response that came.
    pub(crate) fn message(&mut self) -> PublishResponse {
        let mut all = self.published();
        assert_eq!(all.len(), 1, "{all:?}");
        all.pop().unwrap().1.unwrap()
    }

    pub(super) fn enable(&mut self, subscription: u32, publishing_enabled: bool) {
        let subscription_ids = Some(vec![subscription]);
        let request = SetPublishingModeRequest {
            publishing_enabled,
            subscription_ids,
            ..SetPublishingModeRequest::default()
        };
        let response: SetPublishingModeResponse = self.ask(&request).unwrap();
        assert_eq!(response.results, Some(vec![StatusCode::Good]));
    }

    pub(super) fn delete(&mut self, subscription: u32) -> StatusCode {
        let request = DeleteSubscriptionsRequest {
            subscription_ids: Some(vec![subscription]),
            ..DeleteSubscriptionsRequest::default()
        };
        self.ask::<_, DeleteSubscriptionsResponse>(&request).unwrap().results.unwrap().pop().unwrap()
    }
}

pub(super) fn sampled(
    client_handle: u32,
    queue_size: u32,
    discard_oldest: bool,
    filter: ExtensionObject,
) -> MonitoringParameters {
    MonitoringParameters { client_handle, sampling_interval: 10.0, filter, queue_size, discard_oldest }
}

/// Handles and values of a message; none for a keep alive.
pub(super) fn changes(message: &PublishResponse) -> Vec<(u32, DataValue)> {
    let data = message.notification_message.notification_data.as_deref().unwrap_or_default();
    let lists = data.iter().filter_map(|data| data.inner_as::<DataChangeNotification>());
    let items = lists.flat_map(|list| list.monitored_items.clone().unwrap());
    items.map(|item| (item.client_handle, item.value)).collect()
}

pub(super) fn numbers(message: &PublishResponse) -> Vec<f64> {
    changes(message)
        .into_iter()
        .map(|(_, value)| value.value.as_ref().and_then(Variant::as_f64).unwrap())
        .collect()
}

/// The status of a message that says that a subscription changed.
pub(super) fn ending(message: &PublishResponse) -> Option<StatusCode> {
    let data = message.notification_message.notification_data.as_deref().unwrap_or_default();
    data.iter().find_map(|data| data.inner_as::<StatusChangeNotification>()).map(|change| change.status)
}
