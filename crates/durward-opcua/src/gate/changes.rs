//! Changes of the server's nodes, as the server tells them (Part 3, 9.32): after a program download of a PLC, its new nodes are browsed at once, not when
//! somebody says so.

use std::convert::Infallible;
use std::time::Duration;

use opcua_types::type_loader::ByteStringBody;
use opcua_types::{
    AttributeId, ContentFilter, ContentFilterElement, CreateMonitoredItemsRequest,
    CreateMonitoredItemsResponse, CreateSubscriptionRequest, CreateSubscriptionResponse, EventFilter,
    ExtensionObject, FilterOperator, LiteralOperand, MonitoredItemCreateRequest, MonitoringMode,
    MonitoringParameters, NodeId, NumericRange, ObjectId, ObjectTypeId, PublishRequest, PublishResponse,
    QualifiedName, ReadValueId, RequestHeader, SimpleAttributeOperand, StatusCode,
    SubscriptionAcknowledgement, TimestampsToReturn, Variant,
};
use tokio::time::sleep;

use super::core::GateCore;
use super::upstream::UpstreamSession;
use crate::error::Error;

/// Changes come in crowds: so long after the first one the nodes are browsed again.
const SETTLE: Duration = Duration::from_secs(1);
const INTERVAL_MAX: Duration = Duration::from_secs(1);
/// Intervals without anything new after which the server says that it lives.
const KEEP_ALIVE_COUNT: u32 = 2;
const LIFETIME_COUNT: u32 = 60;

/// Has the nodes browsed again when the server says that they have changed. A server that says no such thing is browsed as the settings say.
pub(super) async fn follow(core: &GateCore, session: &UpstreamSession) -> Infallible {
    if let Err(error) = subscribe(core, session).await {
        tracing::debug!(%error, "the server does not tell of changes of its nodes");
        return std::future::pending().await;
    }
    let mut acknowledged = None;
    loop {
        match publish(session, acknowledged.take()).await {
            Ok(PublishedValues { acknowledge, has_changed }) => {
                acknowledged = acknowledge;
                if has_changed {
                    sleep(SETTLE).await;
                    core.browse.notify_one();
                }
            }
            // Nothing was new.
            Err(error) if error.status() == StatusCode::BadTimeout => {}
            Err(error) => {
                tracing::debug!(%error, "changes of the server's nodes are not followed any more");
                sleep(core.settings.table.look_every).await;
                // Where the session is gone, whoever browses over it notices.
                if let Err(error) = subscribe(core, session).await {
                    tracing::debug!(%error, "the server does not tell of changes of its nodes");
                    return std::future::pending().await;
                }
            }
        }
    }
}

async fn subscribe(core: &GateCore, session: &UpstreamSession) -> Result<(), Error> {
    // Each Publish is answered before it is given up.
    let interval = (core.settings.upstream.client.request_max / 4).min(INTERVAL_MAX);
    let request = CreateSubscriptionRequest {
        request_header: RequestHeader::default(),
        requested_publishing_interval: interval.as_secs_f64() * 1_000.0,
        requested_lifetime_count: LIFETIME_COUNT,
        requested_max_keep_alive_count: KEEP_ALIVE_COUNT,
        max_notifications_per_publish: 0,
        publishing_enabled: true,
        priority: 0,
    };
    let response: CreateSubscriptionResponse = session.call(&request).await?;
    let request = CreateMonitoredItemsRequest {
        request_header: RequestHeader::default(),
        subscription_id: response.subscription_id,
        timestamps_to_return: TimestampsToReturn::Neither,
        items_to_create: Some(vec![item()]),
    };
    let response: CreateMonitoredItemsResponse = session.call(&request).await?;
    let refused = response.results.iter().flatten().find(|result| result.status_code.is_bad());
    refused
        .map_or(Ok(()), |result| Err(Error::new(result.status_code, "the server tells no events of changes")))
}

/// Events of the object Server that tell of changes of nodes and references.
fn item() -> MonitoredItemCreateRequest {
    let of_type =
        LiteralOperand { value: Variant::from(NodeId::from(ObjectTypeId::BaseModelChangeEventType)) };
    let element = ContentFilterElement {
        filter_operator: FilterOperator::OfType,
        filter_operands: Some(vec![ExtensionObject::new(of_type)]),
    };
    let event_type = SimpleAttributeOperand {
        type_definition_id: NodeId::from(ObjectTypeId::BaseEventType),
        browse_path: Some(vec![QualifiedName::new(0, "EventType")]),
        attribute_id: AttributeId::Value as u32,
        index_range: NumericRange::None,
    };
    let filter = EventFilter {
        select_clauses: Some(vec![event_type]),
        where_clause: ContentFilter { elements: Some(vec![element]) },
    };
    MonitoredItemCreateRequest {
        item_to_monitor: ReadValueId {
            node_id: NodeId::from(ObjectId::Server),
            attribute_id: AttributeId::EventNotifier as u32,
            index_range: NumericRange::None,
            data_encoding: QualifiedName::null(),
        },
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: MonitoringParameters {
            client_handle: 1,
            sampling_interval: 0.0,
            filter: ExtensionObject::new(filter),
            queue_size: 1,
            discard_oldest: true,
        },
    }
}

struct PublishedValues {
    acknowledge: Option<SubscriptionAcknowledgement>,
    has_changed: bool,
}

async fn publish(
    session: &UpstreamSession,
    acknowledge: Option<SubscriptionAcknowledgement>,
) -> Result<PublishedValues, Error> {
    let request = PublishRequest {
        request_header: RequestHeader::default(),
        subscription_acknowledgements: Some(acknowledge.into_iter().collect()),
    };
    let response: PublishResponse = session.call(&request).await?;
    let message = response.notification_message;
    let data = message.notification_data.unwrap_or_default();
    let events = NodeId::from(ObjectId::EventNotificationList_Encoding_DefaultBinary);
    let tells = |data: &ExtensionObject| {
        data.inner_as::<ByteStringBody>().is_some_and(|body| *body.encoding_id() == events)
    };
    let has_changed = data.iter().any(tells);
    if !has_changed && !data.is_empty() {
        return Err(Error::new(StatusCode::BadNoSubscription, "the subscription has ended"));
    }
    let acknowledge = has_changed.then_some(SubscriptionAcknowledgement {
        subscription_id: response.subscription_id,
        sequence_number: message.sequence_number,
    });
    Ok(PublishedValues { acknowledge, has_changed })
}
