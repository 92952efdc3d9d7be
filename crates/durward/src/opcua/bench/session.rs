//! What a client does, step by step, so that each step can be timed: a session, a token, an activation, requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_opcua::channel::SecurityOffer;
use durward_opcua::crypto::SecurityPolicy;
use durward_opcua::error::Error;
use durward_opcua::session::{
    ClientIdentity, ClientSession, SessionClientSettings, choose, connect_channel, discover,
};
use durward_opcua::wire;
use opcua_types::type_loader::ByteStringBody;
use opcua_types::{
    AttributeId, BinaryDecodable, CallMethodRequest, CallRequest, CallResponse, CreateMonitoredItemsRequest,
    CreateMonitoredItemsResponse, CreateSubscriptionRequest, CreateSubscriptionResponse,
    DataChangeNotification, DataValue, EndpointDescription, ExtensionObject, MessageSecurityMode,
    MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters, NodeId, NumericRange, ObjectId,
    PublishRequest, PublishResponse, QualifiedName, ReadRequest, ReadResponse, ReadValueId, RequestHeader,
    StatusCode, SubscriptionAcknowledgement, TimestampsToReturn, Variant, WriteRequest, WriteResponse,
    WriteValue,
};
use tokio::sync::mpsc;

use crate::failure::CommandError;
use crate::opcua::application;

/// Policy and mode of every channel.
pub(super) const OFFER: SecurityOffer =
    SecurityOffer { policy: SecurityPolicy::Basic256Sha256, mode: MessageSecurityMode::SignAndEncrypt };

/// The namespace of the plant's nodes, behind the standard's and the server's own.
const PLANT: u16 = 2;
/// Publish requests under way.
const PUBLISHING: usize = 3;

/// A server whose endpoints are known, as they are to any client that connects again.
#[derive(Clone)]
pub(super) struct KnownServer {
    url: String,
    endpoints: Vec<EndpointDescription>,
    endpoint: EndpointDescription,
    client: SessionClientSettings,
}

impl KnownServer {
    pub(super) async fn find(url: &str, client: SessionClientSettings) -> Result<KnownServer, CommandError> {
        let endpoints = discover(url, &client).await.map_err(application::failure)?;
        let endpoint = choose(&endpoints, Some(OFFER)).map_err(application::failure)?.clone();
        Ok(KnownServer { url: url.to_owned(), endpoints, endpoint, client })
    }

    /// The same server, at another address.
    pub(super) fn at(&self, url: &str) -> KnownServer {
        KnownServer { url: url.to_owned(), ..self.clone() }
    }

    /// The server's ApplicationUri.
    pub(super) fn uri(&self) -> &str {
        self.endpoint.server.application_uri.as_ref()
    }

    /// Whose secrets are encrypted in another format.
    pub(super) fn with_format(&self, format: durward_opcua::crypto::SecretFormat) -> KnownServer {
        let mut place = self.clone();
        place.client.secret_format = format;
        place
    }

    /// TCP, channel and session.
    pub(super) async fn open(&self) -> Result<ClientSession, Error> {
        let channel = connect_channel(&self.url, &self.endpoint, &self.client).await?;
        ClientSession::create(channel, self.endpoint.clone(), &self.endpoints, self.client.clone()).await
    }

    /// A session that is activated.
    pub(super) async fn enter(&self, identity: &ClientIdentity) -> Result<ClientSession, CommandError> {
        let session = self.open().await.map_err(application::failure)?;
        session.activate(identity).await.map_err(application::failure)?;
        Ok(session)
    }
}

/// A user of the authorization service.
pub(super) fn user(name: &str) -> ClientIdentity {
    ClientIdentity::UserName { name: name.to_owned(), password: super::role::PASSWORD.to_owned().into() }
}

/// A session with the authorization service.
pub(super) struct TokenSession {
    session: ClientSession,
    namespace: u16,
}

impl TokenSession {
    /// Opens one, as this user.
    pub(super) async fn open(
        authority: &KnownServer,
        namespace: u16,
        identity: &ClientIdentity,
    ) -> Result<TokenSession, Error> {
        let session = authority.open().await?;
        session.activate(identity).await?;
        Ok(TokenSession { session, namespace })
    }

    /// `RequestAccessToken`.
    pub(super) async fn request(&self, resource: &str) -> Result<ClientIdentity, Error> {
        let inputs = vec![Variant::ExtensionObject(ExtensionObject::null()), Variant::from(resource)];
        let id = |name: &str| NodeId::new(self.namespace, name);
        let method = id("AuthorizationService.RequestAccessToken");
        let outputs = call(&self.session, id("AuthorizationService"), method, inputs).await?;
        let Some(Variant::String(token)) = outputs.first() else {
            return Err(Error::new(
                StatusCode::BadUnknownResponse,
                "the authorization service gave no token",
            ));
        };
        Ok(ClientIdentity::Issued { token: token.as_ref().as_bytes().to_vec().into() })
    }

    pub(super) async fn close(self) {
        let _ = self.session.close(true).await;
    }
}

/// The number of a namespace at a server.
pub(super) async fn namespace(session: &ClientSession, uri: &str) -> Result<u16, CommandError> {
    let array = NodeId::new(0, opcua_types::VariableId::Server_NamespaceArray as u32);
    let values = read(session, &reading(&[array])).await.map_err(application::failure)?;
    let names = values.into_iter().next().and_then(|value| value.value);
    let names = names.as_ref().and_then(Variant::as_array).cloned().unwrap_or_default();
    let is = |name: &Variant| matches!(name, Variant::String(name) if name.as_ref() == uri);
    let at = names.iter().position(is).and_then(|at| u16::try_from(at).ok());
    at.ok_or_else(|| CommandError::new(format!("the server has no namespace {uri}")))
}

/// A node of the plant.
pub(super) fn node(name: &str) -> NodeId {
    NodeId::new(PLANT, name)
}

/// One of its tags, from 0.
pub(super) fn tag(number: usize) -> NodeId {
    node(&format!("Tag{:05}", number + 1))
}

/// A request to read the values of nodes.
pub(super) fn reading(nodes: &[NodeId]) -> ReadRequest {
    ReadRequest {
        request_header: RequestHeader::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(nodes.iter().map(value_of).collect()),
    }
}

fn value_of(node: &NodeId) -> ReadValueId {
    ReadValueId {
        node_id: node.clone(),
        attribute_id: AttributeId::Value as u32,
        index_range: NumericRange::None,
        data_encoding: QualifiedName::null(),
    }
}

/// Reads; a value with a bad status is an error.
pub(super) async fn read(session: &ClientSession, request: &ReadRequest) -> Result<Vec<DataValue>, Error> {
    let response: ReadResponse = session.call(request).await?;
    let values = response.results.unwrap_or_default();
    let bad = values.iter().filter_map(|value| value.status).find(StatusCode::is_bad);
    match bad {
        Some(status) => Err(Error::new(status, "a value was not read")),
        None if values.is_empty() => Err(Error::new(StatusCode::BadUnknownResponse, "no value was read")),
        None => Ok(values),
    }
}

/// A request to write a number to nodes.
pub(super) fn writing(nodes: &[NodeId], value: f64) -> WriteRequest {
    let one = |node: &NodeId| WriteValue {
        node_id: node.clone(),
        attribute_id: AttributeId::Value as u32,
        index_range: NumericRange::None,
        value: DataValue::value_only(Variant::from(value)),
    };
    WriteRequest {
        request_header: RequestHeader::default(),
        nodes_to_write: Some(nodes.iter().map(one).collect()),
    }
}

/// Writes; a node that is not written is an error.
pub(super) async fn write(session: &ClientSession, request: &WriteRequest) -> Result<(), Error> {
    let response: WriteResponse = session.call(request).await?;
    let bad = response.results.unwrap_or_default().into_iter().find(StatusCode::is_bad);
    bad.map_or(Ok(()), |status| Err(Error::new(status, "a value was not written")))
}

/// Calls a method.
pub(super) async fn call(
    session: &ClientSession,
    object: NodeId,
    method: NodeId,
    inputs: Vec<Variant>,
) -> Result<Vec<Variant>, Error> {
    let request = CallRequest {
        request_header: RequestHeader::default(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: object,
            method_id: method,
            input_arguments: Some(inputs),
        }]),
    };
    let response: CallResponse = session.call(&request).await?;
    let result = response.results.unwrap_or_default().into_iter().next();
    let result = result.ok_or_else(|| Error::new(StatusCode::BadUnknownResponse, "no result of a call"))?;
    if result.status_code.is_bad() {
        return Err(Error::new(result.status_code, "a method was not called"));
    }
    Ok(result.output_arguments.unwrap_or_default())
}

/// Loads a recipe: the method that can always be called.
pub(super) async fn execute(session: &ClientSession) -> Result<(), Error> {
    let inputs = vec![Variant::from("Pasteurise")];
    call(session, node("Boiler.Recipe"), node("Boiler.Recipe.Load"), inputs).await.map(drop)
}

/// A value that a subscription brought.
#[derive(Clone, Debug)]
pub(super) struct ValueArrival {
    pub(super) at: Instant,
    pub(super) value: DataValue,
}

/// Watches values; each message is asked for as soon as the one before came. Ends with the session, or when nobody takes values.
pub(super) async fn watch(
    session: &Arc<ClientSession>,
    nodes: &[NodeId],
    interval: Duration,
) -> Result<mpsc::UnboundedReceiver<ValueArrival>, Error> {
    let interval = interval.as_secs_f64() * 1e3;
    let request = CreateSubscriptionRequest {
        request_header: RequestHeader::default(),
        requested_publishing_interval: interval,
        requested_lifetime_count: 10_000,
        requested_max_keep_alive_count: 100,
        max_notifications_per_publish: 0,
        publishing_enabled: true,
        priority: 0,
    };
    let created: CreateSubscriptionResponse = session.call(&request).await?;
    let item = |(handle, node): (u32, &NodeId)| MonitoredItemCreateRequest {
        item_to_monitor: value_of(node),
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: MonitoringParameters {
            client_handle: handle,
            sampling_interval: interval,
            filter: ExtensionObject::null(),
            queue_size: 10,
            discard_oldest: true,
        },
    };
    let request = CreateMonitoredItemsRequest {
        request_header: RequestHeader::default(),
        subscription_id: created.subscription_id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some((0..).zip(nodes).map(item).collect()),
    };
    let items: CreateMonitoredItemsResponse = session.call(&request).await?;
    if let Some(bad) = items.results.into_iter().flatten().find(|item| item.status_code.is_bad()) {
        return Err(Error::new(bad.status_code, "a value is not watched"));
    }
    let (sender, arrivals) = mpsc::unbounded_channel();
    for _ in 0..PUBLISHING {
        tokio::spawn(publish(Arc::clone(session), sender.clone()));
    }
    Ok(arrivals)
}

async fn publish(session: Arc<ClientSession>, arrivals: mpsc::UnboundedSender<ValueArrival>) {
    let mut acknowledgements = Vec::new();
    while !arrivals.is_closed() {
        let request = PublishRequest {
            request_header: RequestHeader::default(),
            subscription_acknowledgements: Some(std::mem::take(&mut acknowledgements)),
        };
        let response: PublishResponse = match session.call(&request).await {
            Ok(response) => response,
            Err(error) if error.status() == StatusCode::BadTimeout => continue,
            Err(_) => return,
        };
        let at = Instant::now();
        acknowledgements.push(SubscriptionAcknowledgement {
            subscription_id: response.subscription_id,
            sequence_number: response.notification_message.sequence_number,
        });
        for object in response.notification_message.notification_data.iter().flatten() {
            for item in
                changes(object).into_iter().flat_map(|changes| changes.monitored_items.unwrap_or_default())
            {
                let _ = arrivals.send(ValueArrival { at, value: item.value });
            }
        }
    }
}

/// A notification of values; others are nothing.
fn changes(object: &ExtensionObject) -> Option<DataChangeNotification> {
    if let Some(changes) = object.inner_as::<DataChangeNotification>() {
        return Some(changes.clone());
    }
    let raw = object.inner_as::<ByteStringBody>()?;
    let id = ObjectId::DataChangeNotification_Encoding_DefaultBinary as u32;
    if *raw.encoding_id() != NodeId::new(0, id) {
        return None;
    }
    let mut bytes = raw.raw_body().value.as_deref().unwrap_or_default();
    let context = wire::context();
    DataChangeNotification::decode(&mut bytes, &context.context()).ok()
}
