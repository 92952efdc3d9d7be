//! The persistent session with the authorization service: receives revocations, publishes the node table.
//!
//! Encodings and nodes are those of [`feed`](crate::authority::feed).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use opcua_types::type_loader::ByteStringBody;
use opcua_types::{
    Array, AttributeId, BinaryDecodable as _, ByteString, CallMethodRequest, CallMethodResult, CallRequest,
    CallResponse, ContextOwned, CreateMonitoredItemsRequest, CreateMonitoredItemsResponse,
    CreateSubscriptionRequest, CreateSubscriptionResponse, DataChangeNotification, ExtensionObject,
    MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters, NodeId, NumericRange, ObjectId,
    PublishRequest, PublishResponse, QualifiedName, ReadValueId, RequestHeader, StatusCode,
    SubscriptionAcknowledgement, TimestampsToReturn, Variant,
};

use super::audit::GateAuditKind;
use super::core::GateCore;
use super::nodes::{SessionTable, namespace_request, namespaces_of};
use super::settings::GateAuthoritySettings;
use crate::authority::{AUTHORITY_NAMESPACE, feed};
use crate::error::Error;
use crate::protocol::GateEvent;
use crate::session::{ClientSession, PinnedApplication};
use crate::token::FeedMessage;
use crate::wire;

/// Publish requests under way: one answered, one waiting.
const PUBLISHES: usize = 2;
/// A table that the service did not take is published again after this time.
const PUBLISH_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Intervals without anything new after which the service says that it lives. Heartbeats come more often.
const KEEP_ALIVE_COUNT: u32 = 10;
/// Intervals without a Publish after which the subscription ends.
const LIFETIME_COUNT: u32 = 100;

/// Follows the service for ever.
pub(super) async fn keep(core: Arc<GateCore>, settings: GateAuthoritySettings) {
    let mut backoff = settings.backoff_min;
    loop {
        if let Err(error) = follow(&core, &settings, &mut backoff).await {
            let text = format!("the authorization service cannot be followed: {error}");
            tracing::warn!(url = settings.url, "{text}");
            core.tell(core.watch.now(), None, GateAuditKind::Note { text: &text });
        }
        tokio::time::sleep(backoff).await;
        backoff = backoff.saturating_mul(2).min(settings.backoff_max);
    }
}

/// A session with the service, and its namespace there.
struct FeedSession<'a> {
    core: &'a GateCore,
    session: ClientSession,
    namespace: u16,
    context: ContextOwned,
}

async fn follow(
    core: &GateCore,
    settings: &GateAuthoritySettings,
    backoff: &mut Duration,
) -> Result<(), Error> {
    let mut client = settings.client.clone();
    let issuer = || PinnedApplication::ApplicationUri(core.settings.issuer.clone());
    client.server.pin = Some(settings.server.clone().unwrap_or_else(issuer));
    let session = ClientSession::connect(&settings.url, None, client).await?;
    session.activate(&settings.identity).await?;
    let namespaces = namespaces_of(session.call(&namespace_request()).await?)?;
    let namespace = namespaces.iter().position(|uri| uri == AUTHORITY_NAMESPACE);
    let namespace = namespace.and_then(|index| u16::try_from(index).ok()).ok_or_else(|| {
        Error::new(StatusCode::BadConfigurationError, "the server is no authorization service of durward")
    })?;
    let following = FeedSession { core, session, namespace, context: wire::context() };
    following.subscribe(settings).await?;
    *backoff = settings.backoff_min;
    let _ = core.step(GateEvent::AuthorityConnected);
    let error = tokio::select! {
        error = following.publish() => error,
        error = following.ask() => error,
        never = following.publish_tables() => match never {},
    };
    let _ = following.session.close(true).await;
    Err(error)
}

impl FeedSession<'_> {
    fn id(&self, name: &str) -> NodeId {
        NodeId::new(self.namespace, name)
    }

    async fn subscribe(&self, settings: &GateAuthoritySettings) -> Result<(), Error> {
        let request = CreateSubscriptionRequest {
            request_header: RequestHeader::default(),
            // A little more often, so that what was recalled right after a notification is on the way and put in force within the interval.
            requested_publishing_interval: settings.publishing_interval.as_secs_f64() * 1_000.0 * 0.8,
            requested_lifetime_count: LIFETIME_COUNT,
            requested_max_keep_alive_count: KEEP_ALIVE_COUNT,
            max_notifications_per_publish: 0,
            publishing_enabled: true,
            priority: 0,
        };
        let response: CreateSubscriptionResponse = self.session.call(&request).await?;
        let item = |(client_handle, name): (u32, &str)| MonitoredItemCreateRequest {
            item_to_monitor: ReadValueId {
                node_id: self.id(name),
                attribute_id: AttributeId::Value as u32,
                index_range: NumericRange::None,
                data_encoding: QualifiedName::null(),
            },
            monitoring_mode: MonitoringMode::Reporting,
            requested_parameters: MonitoringParameters {
                client_handle,
                sampling_interval: 0.0,
                filter: ExtensionObject::null(),
                queue_size: 1,
                discard_oldest: true,
            },
        };
        let request = CreateMonitoredItemsRequest {
            request_header: RequestHeader::default(),
            subscription_id: response.subscription_id,
            timestamps_to_return: TimestampsToReturn::Neither,
            items_to_create: Some([(1, "Gates.Revocations"), (2, "Gates.Heartbeat")].map(item).to_vec()),
        };
        let response: CreateMonitoredItemsResponse = self.session.call(&request).await?;
        let refused = response.results.iter().flatten().find(|result| result.status_code.is_bad());
        match refused {
            Some(result) => Err(Error::new(
                result.status_code,
                "the authorization service does not let this gate follow: is its certificate registered there?",
            )),
            None => Ok(()),
        }
    }

    /// Hears what the service publishes. Gives back why that has ended.
    async fn publish(&self) -> Error {
        let mut under_way = FuturesUnordered::new();
        let mut acknowledged = Vec::new();
        loop {
            while under_way.len() < PUBLISHES {
                under_way.push(self.publish_once(std::mem::take(&mut acknowledged)));
            }
            let response = match under_way.next().await {
                Some(Ok(response)) => response,
                Some(Err(error)) => return error,
                None => return Error::new(StatusCode::BadInternalError, "no Publish is under way"),
            };
            let message = response.notification_message;
            let data = message.notification_data.unwrap_or_default();
            if !data.is_empty() {
                acknowledged.push(SubscriptionAcknowledgement {
                    subscription_id: response.subscription_id,
                    sequence_number: message.sequence_number,
                });
            }
            for notification in &data {
                if let Err(error) = self.notified(notification) {
                    return error;
                }
            }
        }
    }

    async fn publish_once(
        &self,
        acknowledged: Vec<SubscriptionAcknowledgement>,
    ) -> Result<PublishResponse, Error> {
        let request = PublishRequest {
            request_header: RequestHeader::default(),
            subscription_acknowledgements: Some(acknowledged),
        };
        self.session.call(&request).await
    }

    fn notified(&self, notification: &ExtensionObject) -> Result<(), Error> {
        let wrong = || Error::decoding("a notification of the authorization service cannot be read");
        let body = notification.inner_as::<ByteStringBody>().ok_or_else(wrong)?;
        let data_change = NodeId::from(ObjectId::DataChangeNotification_Encoding_DefaultBinary);
        if *body.encoding_id() != data_change {
            return Err(Error::new(
                StatusCode::BadNoSubscription,
                "the subscription with the service has ended",
            ));
        }
        let mut raw = body.raw_body().value.as_deref().unwrap_or_default();
        let change = DataChangeNotification::decode(&mut raw, &self.context.context())?;
        for item in change.monitored_items.unwrap_or_default() {
            if let Some(status) = item.value.status.filter(|status| status.is_bad()) {
                return Err(Error::new(status, "the authorization service has no cutoffs to follow"));
            }
            match item.value.value {
                Some(Variant::ByteString(message)) => self.hear(&message)?,
                Some(Variant::Array(array)) => {
                    let Array { values, .. } = *array;
                    for value in values {
                        let Variant::ByteString(message) = value else { return Err(wrong()) };
                        self.hear(&message)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn hear(&self, message: &ByteString) -> Result<(), Error> {
        let Some(bytes) = message.value.as_deref().filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        let message: FeedMessage<Arc<str>> =
            feed::decode(bytes).map_err(|error| Error::decoding(error.to_string()))?;
        self.core.hear(message);
        Ok(())
    }

    async fn call(
        &self,
        object: &str,
        method: &str,
        arguments: Vec<Variant>,
    ) -> Result<CallMethodResult, Error> {
        let request = CallRequest {
            request_header: RequestHeader::default(),
            methods_to_call: Some(vec![CallMethodRequest {
                object_id: self.id(object),
                method_id: self.id(method),
                input_arguments: Some(arguments),
            }]),
        };
        let response: CallResponse = self.session.call(&request).await?;
        let result = response.results.and_then(|results| results.into_iter().next());
        let result =
            result.ok_or_else(|| Error::decoding("a call of the authorization service has no result"))?;
        if result.status_code.is_bad() {
            return Err(Error::new(
                result.status_code,
                format!("the authorization service refuses {method}"),
            ));
        }
        Ok(result)
    }

    /// Asks for all cutoffs when the machine says so.
    async fn ask(&self) -> Error {
        loop {
            self.core.ask.notified().await;
            let answer =
                self.call("Gates", "Gates.AskCutoffs", vec![Variant::from(self.core.question())]).await;
            let snapshot =
                answer.and_then(|answer| match answer.output_arguments.unwrap_or_default().first() {
                    Some(Variant::ByteString(snapshot)) => self.hear(snapshot),
                    _ => Err(Error::decoding("AskCutoffs gives no snapshot")),
                });
            if let Err(error) = snapshot {
                return error;
            }
        }
    }

    /// Publishes the table whenever it has changed, at first at once. A service that does not take it is told again later: tokens of the table
    /// before count meanwhile.
    async fn publish_tables(&self) -> Infallible {
        let mut changes = self.core.table_changes.subscribe();
        loop {
            changes.borrow_and_update();
            let table = self.core.tables.load().current.clone();
            let published = match table {
                Some(table) => self.publish_table(&table).await,
                None => Ok(()),
            };
            // The sender lives as long as the core.
            let changed = changes.changed();
            let Err(error) = published else {
                let _ = changed.await;
                continue;
            };
            let text = format!("the authorization service does not take the node table: {error}");
            tracing::warn!("{text}");
            self.core.tell(self.core.watch.now(), None, GateAuditKind::Note { text: &text });
            let _ = tokio::time::timeout(PUBLISH_AGAIN_AFTER, changed).await;
        }
    }

    async fn publish_table(&self, table: &SessionTable) -> Result<(), Error> {
        let table = table.rows.table();
        let [a, b, c, d, ..] = table.version().bytes();
        let arguments = vec![
            Variant::from(self.core.settings.application_uri.as_str()),
            Variant::from(u32::from_le_bytes([a, b, c, d])),
            Variant::from(ByteString::from(table.pack())),
        ];
        self.call("Gates", "Gates.PublishNodeTable", arguments).await?;
        tracing::info!(nodes = table.len(), version = %table.version(), "the node table was published");
        Ok(())
    }
}
