//! A plant behind a gate, over TCP, with tokens made here.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use durward_identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_identity::{Moment, SystemEntropy};
use durward_opcua::channel::{ChannelSettings, Workers};
use durward_opcua::crypto::OwnCertificate;
use durward_opcua::error::Error;
use durward_opcua::gate::{Gate, GateAudit, GateAuditEvent, GateSettings, UpstreamSettings};
use durward_opcua::permission::Permission;
use durward_opcua::plant::{HostService, PLANT_NAMESPACE, PasswordUsers, PlantHost, boiler};
use durward_opcua::session::{ClientIdentity, ClientSession, ServerSettings, SessionServer};
use durward_opcua::token::{
    CutoffTarget, Cutoffs, FeedMessage, GrantVerdict, Grants, IssueRequest, NodeTable, Thumbprint,
};
use opcua_types::*;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::fixture::{Anybody, CLIENT, NOW, USUAL, client_settings_of, own, server_settings};

pub(crate) static GATE: LazyLock<OwnCertificate> = LazyLock::new(|| own("urn:test:gate"));
pub(super) const ISSUER: &str = "urn:test:authority";
const LIFETIME: Duration = Duration::from_secs(3_600);

/// Time goes on by itself from [`NOW`], and can be made to pass. The wall clock can be wrong.
#[derive(Clone)]
pub(crate) struct Clock {
    began: Instant,
    ahead_ms: Arc<AtomicU64>,
    wrong_ms: Arc<AtomicI64>,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { began: Instant::now(), ahead_ms: Arc::default(), wrong_ms: Arc::default() }
    }

    /// What has truly passed.
    pub(crate) fn uptime(&self) -> Duration {
        self.began.elapsed() + Duration::from_millis(self.ahead_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn now(&self) -> Moment {
        NOW.plus(self.uptime())
    }

    fn wall(&self) -> Moment {
        Moment::from_ms(self.now().ms().saturating_add_signed(self.wrong_ms.load(Ordering::Relaxed)))
    }

    /// Sets the gate's wall clock so many seconds ahead of the truth.
    pub(super) fn set_wrong(&self, seconds: i64) {
        self.wrong_ms.store(seconds * 1_000, Ordering::Relaxed);
    }

    /// Lets time pass.
    pub(super) fn advance(&self, by: Duration) {
        self.ahead_ms.fetch_add(by.as_millis() as u64, Ordering::Relaxed);
    }
}

/// A boiler behind sessions. Anonymous clients may do everything: whoever reaches it needs no token.
pub(crate) struct Plant {
    pub(super) host: Arc<PlantHost>,
    pub(super) server: SessionServer<HostService<PasswordUsers>>,
    pub(crate) address: SocketAddr,
    tasks: [JoinHandle<()>; 2],
}

pub(super) fn plant_host(clock: &Clock) -> Arc<PlantHost> {
    let clock = clock.clone();
    PlantHost::new(boiler("urn:test:server", 10, NOW).unwrap(), move || clock.now())
}

impl Plant {
    pub(crate) async fn start(clock: &Clock, address: &str) -> Plant {
        Plant::of(plant_host(clock), address).await
    }

    pub(super) async fn of(host: Arc<PlantHost>, address: &str) -> Plant {
        Plant::run(host, address, server_settings()).await
    }

    pub(super) async fn with(clock: &Clock, address: &str, settings: ServerSettings) -> Plant {
        Plant::run(plant_host(clock), address, settings).await
    }

    async fn run(host: Arc<PlantHost>, address: &str, settings: ServerSettings) -> Plant {
        let login = PasswordUsers { anonymous: true, ..PasswordUsers::default() };
        let service = HostService::new(Arc::clone(&host), login);
        let server = SessionServer::new(settings, Arc::new(service)).unwrap();
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (serving, running) = (server.clone(), Arc::clone(&host));
        let tasks = [
            tokio::spawn(async move { serving.serve(listener).await }),
            tokio::spawn(async move { running.run().await }),
        ];
        Plant { host, server, address, tasks }
    }

    /// Ends as a process that is killed does: its port is free again when this returns.
    pub(super) async fn kill(self) {
        self.server.shutdown();
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
    }
}

/// Remembers what was recorded.
#[derive(Default)]
pub(super) struct Recorded(pub(super) Mutex<Vec<String>>);

impl GateAudit for Recorded {
    fn record(&self, event: &GateAuditEvent<'_>) {
        self.0.lock().unwrap().push(format!("{} {} {}", event.client, event.subject, event.what));
    }
}

/// A gate, and what makes tokens for it.
pub(super) struct Running {
    pub(super) gate: Arc<Gate>,
    pub(super) url: String,
    pub(super) table: Arc<NodeTable>,
    pub(super) keys: SigningKeys,
    pub(super) clock: Clock,
    pub(super) audit: Arc<Recorded>,
}

pub(super) fn gate_channel(clock: &Clock) -> ChannelSettings {
    let clock = clock.clone();
    ChannelSettings::new(GATE.clone(), Arc::new(Anybody), Arc::new(move || clock.wall()), Workers::new(2))
}

impl Running {
    pub(super) async fn start(clock: &Clock, upstream: SocketAddr) -> Running {
        Running::with(clock, upstream, |_| {}).await
    }

    pub(super) async fn with(
        clock: &Clock,
        upstream: SocketAddr,
        set: impl FnOnce(&mut GateSettings),
    ) -> Running {
        let signing = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let keys = SigningKeys::new(LIFETIME).with(signing, NOW, NOW).unwrap();
        let audit = Arc::new(Recorded::default());
        let channel = gate_channel(clock);
        let mut client = client_settings_of(&GATE);
        client.channel = Arc::new(channel.clone());
        let mut upstream = UpstreamSettings::new(format!("opc.tcp://{upstream}"), client);
        (upstream.backoff_min, upstream.backoff_max) =
            (Duration::from_millis(20), Duration::from_millis(100));
        let verifying = keys.verifying(NOW).unwrap();
        let mut settings = GateSettings::new(channel, "urn:test:gate", upstream, ISSUER, verifying);
        settings.audit = Arc::clone(&audit) as Arc<dyn GateAudit>;
        let uptime = clock.clone();
        settings.uptime = Arc::new(move || uptime.uptime());
        settings.table.look_every = Duration::from_millis(200);
        set(&mut settings);
        let is_followed_by_hand = settings.authority.is_none();
        let gate = Arc::new(Gate::start(settings).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("opc.tcp://{}", listener.local_addr().unwrap());
        let serving = Arc::clone(&gate);
        tokio::spawn(async move { serving.serve(listener).await });
        let table = tokio::time::timeout(Duration::from_secs(20), gate.table_ready()).await.unwrap();
        let running = Running { gate, url, table, keys, clock: clock.clone(), audit };
        if is_followed_by_hand {
            running.beat(0, Cutoffs::default());
        }
        running
    }

    /// What the authorization service says: all cutoffs, up to now.
    pub(super) fn beat(&self, sequence: u64, cutoffs: Cutoffs<Arc<str>>) {
        let (time, question) = (self.clock.now(), self.gate.question());
        self.gate.hear(FeedMessage::Snapshot {
            epoch: 1,
            sequence,
            time,
            question,
            cutoffs: Arc::new(cutoffs),
        });
    }

    pub(super) fn recall(&self, sequence: u64, subject: &str) {
        let (target, before) =
            (CutoffTarget::Subject(Arc::from(subject)), self.clock.now().plus(Duration::from_secs(1)));
        self.gate.hear(FeedMessage::Cutoff { epoch: 1, sequence, target, before });
    }

    /// A token for a client that grants these permissions on these nodes of the plant.
    pub(super) fn token_for(
        &self,
        client: &OwnCertificate,
        subject: &str,
        granted: &[(&str, &[Permission])],
        lifetime: Duration,
    ) -> String {
        let mut grants = Grants::none(&self.table);
        for (name, permissions) in granted {
            let row = self.table.row(PLANT_NAMESPACE, &Identifier::String((*name).into()));
            let row = row.unwrap_or_else(|| panic!("`{name}` is not in the table"));
            permissions.iter().for_each(|permission| grants.set(row, *permission, GrantVerdict::Granted));
        }
        self.token_of(client, subject, &grants, lifetime)
    }

    pub(super) fn token_of(
        &self,
        client: &OwnCertificate,
        subject: &str,
        grants: &Grants,
        lifetime: Duration,
    ) -> String {
        let issue = IssueRequest {
            issuer: ISSUER,
            subject,
            resource: "urn:test:gate",
            lifetime,
            client: Thumbprint::of(client.certificate().der()),
            roles: &[],
            session: None,
            policy: "policy-1",
            grants,
            live: None,
        };
        issue.sign(&self.keys, self.clock.now(), &SystemEntropy).unwrap()
    }

    pub(super) fn token(&self, subject: &str, granted: &[(&str, &[Permission])]) -> ClientIdentity {
        issued(self.token_for(&CLIENT, subject, granted, Duration::from_secs(600)))
    }

    pub(super) async fn connect(&self, client: &OwnCertificate) -> ClientSession {
        ClientSession::connect(&self.url, Some(USUAL), client_settings_of(client)).await.unwrap()
    }

    /// A session of the usual client.
    pub(super) async fn session(&self, granted: &[(&str, &[Permission])]) -> ClientSession {
        let session = self.connect(&CLIENT).await;
        session.activate(&self.token("anna", granted)).await.unwrap();
        session
    }

    pub(super) fn audited(&self, text: &str) -> bool {
        self.audit.0.lock().unwrap().iter().any(|line| line.contains(text))
    }
}

pub(super) fn issued(token: String) -> ClientIdentity {
    ClientIdentity::Issued { token: token.into_bytes().into() }
}

/// A node of the plant, whose namespace has the index 2.
pub(super) fn node(name: &str) -> NodeId {
    NodeId::new(2, name)
}

pub(super) async fn read(session: &ClientSession, names: &[&str]) -> Result<Vec<StatusCode>, Error> {
    let nodes = names.iter().map(|name| ReadValueId::new_value(node(name))).collect();
    let request = ReadRequest { nodes_to_read: Some(nodes), ..ReadRequest::default() };
    let response: ReadResponse = session.call(&request).await?;
    let statuses = response.results.unwrap().into_iter().map(|value| {
        let status = value.status.unwrap_or(StatusCode::Good);
        assert_eq!(status.is_good(), value.value.is_some());
        status
    });
    Ok(statuses.collect())
}

pub(super) async fn write(session: &ClientSession, name: &str, value: Variant) -> StatusCode {
    let write = WriteValue::value_attr(node(name), value);
    let request = WriteRequest { nodes_to_write: Some(vec![write]), ..WriteRequest::default() };
    let response: WriteResponse = session.call(&request).await.unwrap();
    response.results.unwrap().remove(0)
}

pub(super) async fn call(session: &ClientSession, object: &str, method: &str) -> StatusCode {
    let call = CallMethodRequest { object_id: node(object), method_id: node(method), input_arguments: None };
    let request = CallRequest { methods_to_call: Some(vec![call]), ..CallRequest::default() };
    let response: CallResponse = session.call(&request).await.unwrap();
    response.results.unwrap().remove(0).status_code
}

/// The names of what stands below a node.
pub(super) async fn children(session: &ClientSession, name: &str) -> Vec<String> {
    let request = BrowseRequest {
        nodes_to_browse: Some(vec![BrowseDescription {
            node_id: node(name),
            browse_direction: BrowseDirection::Forward,
            reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
            include_subtypes: true,
            node_class_mask: 0,
            result_mask: 63,
        }]),
        ..BrowseRequest::default()
    };
    let response: BrowseResponse = session.call(&request).await.unwrap();
    let references = response.results.unwrap().remove(0).references.unwrap_or_default();
    let mut names: Vec<String> =
        references.iter().map(|reference| reference.browse_name.name.as_ref().to_owned()).collect();
    names.sort();
    names
}

/// A subscription with one item on each node, published every 50 ms.
pub(super) async fn subscribe(session: &ClientSession, names: &[&str]) -> (u32, Vec<StatusCode>) {
    let request = CreateSubscriptionRequest {
        requested_publishing_interval: 50.0,
        requested_lifetime_count: 1_000,
        requested_max_keep_alive_count: 20,
        publishing_enabled: true,
        ..CreateSubscriptionRequest::default()
    };
    let subscription: CreateSubscriptionResponse = session.call(&request).await.unwrap();
    let item = |(client_handle, name): (u32, &&str)| MonitoredItemCreateRequest {
        item_to_monitor: ReadValueId::new_value(node(name)),
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: MonitoringParameters {
            client_handle,
            sampling_interval: 10.0,
            queue_size: 5,
            discard_oldest: true,
            ..MonitoringParameters::default()
        },
    };
    if names.is_empty() {
        return (subscription.subscription_id, Vec::new());
    }
    let request = CreateMonitoredItemsRequest {
        subscription_id: subscription.subscription_id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some((0..).zip(names).map(item).collect()),
        ..CreateMonitoredItemsRequest::default()
    };
    let items: CreateMonitoredItemsResponse = session.call(&request).await.unwrap();
    let statuses = items.results.unwrap().iter().map(|result| result.status_code).collect();
    (subscription.subscription_id, statuses)
}

/// One Publish: how many values came.
pub(super) async fn publish(session: &ClientSession) -> Result<usize, Error> {
    let response: PublishResponse = session.call(&PublishRequest::default()).await?;
    let owned = durward_opcua::wire::context();
    let data = response.notification_message.notification_data.unwrap_or_default();
    let values = data.iter().map(|notification| {
        let body = notification.inner_as::<type_loader::ByteStringBody>().unwrap();
        let mut raw = body.raw_body().value.as_deref().unwrap();
        let change = DataChangeNotification::decode(&mut raw, &owned.context()).unwrap();
        change.monitored_items.unwrap_or_default().len()
    });
    Ok(values.sum())
}

/// Waits until something is so.
pub(super) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..500 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what}: not within 10 s");
}

/// Carries bytes to the plant, until its connections are cut.
pub(super) struct Wire {
    pub(crate) address: SocketAddr,
    connections: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Wire {
    pub(super) async fn to(plant: SocketAddr) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections: Arc<Mutex<Vec<JoinHandle<()>>>> = Arc::default();
        let all = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let carry = tokio::spawn(async move {
                    let mut server = TcpStream::connect(plant).await.unwrap();
                    let (_, _) = (client.set_nodelay(true), server.set_nodelay(true));
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
                all.lock().unwrap().push(carry);
            }
        });
        Wire { address, connections }
    }

    pub(super) fn cut(&self) {
        self.connections.lock().unwrap().drain(..).for_each(|connection| connection.abort());
    }
}
