//! The authorization service over TCP, as clients and gates use it: a service with all that it is made of.
//!
//! | file | tests |
//! |---|---|
//! | `tokens` | who gets which token |
//! | `requests` | the methods of 1.05.07, garbage |
//! | `recall` | cutoffs, heartbeats, restarts |
//! | `hostile` | trusted applications that mean no good |

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "tests"
)]

mod hostile;
mod recall;
mod requests;
mod tokens;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use durward_identity::Moment;
use durward_identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_identity::user::HashCosts;
use durward_opcua::authority::decide::{RightsDecider, RightsDecision, RightsQuestion, SubjectKind};
use durward_opcua::authority::{
    AuthorityAudit, AuthorityAuditNote, AuthorityStore, AuthorizationServer, AuthorizationService,
    AuthorizationServiceParts, AuthorizationServiceSettings, MemoryAuthorityStore, RefusalReason,
    RegisteredResource, SubjectTable, feed,
};
use durward_opcua::channel::{ChannelSettings, SecurityOffer, Workers};
use durward_opcua::crypto::{self, OwnCertificate, SecurityPolicy};
use durward_opcua::error::Error;
use durward_opcua::permission::Permission;
use durward_opcua::protocol::AuthorityRecord;
use durward_opcua::session::{ClientIdentity, ClientSession, Endpoint, ServerSettings, UserTokenKind};
use durward_opcua::token::{
    CutoffTarget, FeedMessage, GrantVerdict, NodeTable, TableNode, Thumbprint, TokenRefusal, TokenVerifier,
    VerifiedToken,
};
use opcua_types::{
    AnonymousIdentityToken, ByteString, CallMethodRequest, CallMethodResult, CallRequest, CallResponse,
    CreateMonitoredItemsRequest, CreateMonitoredItemsResponse, CreateSubscriptionRequest,
    CreateSubscriptionResponse, DataChangeNotification, ExtensionObject, MessageSecurityMode,
    MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters, NodeId, PublishRequest,
    PublishResponse, ReadRequest, ReadResponse, ReadValueId, SignatureData, StatusCode,
    SubscriptionAcknowledgement, TimestampsToReturn, UserNameIdentityToken, Variant, X509IdentityToken,
};
use tokio::net::TcpListener;

use crate::fixture::{CLIENT, NOW, OTHER, USUAL, channel_settings, client_settings_of, own, status};

const PLC: &str = "urn:plc";
const HISTORIAN: &str = "urn:historian";
const AS: &str = "urn:test:as";
const PUBLISHING: Duration = Duration::from_millis(50);
const NODES: [&str; 4] = ["Boiler.Temperature", "Boiler.Setpoint", "Boiler.Start", "Public.Name"];

static SERVICE: std::sync::LazyLock<OwnCertificate> = std::sync::LazyLock::new(|| own(AS));

/// Operators read everything, write setpoints, and may start things as live values allow. Others read what is public; guests nothing.
#[derive(Default)]
struct ByRole {
    version: AtomicU64,
    asked: Mutex<Vec<String>>,
    reusable: AtomicBool,
    down: AtomicBool,
    /// How long a decision takes.
    slow_ms: AtomicU64,
}

fn expected(roles: &[&str], node: &str, permission: Permission) -> GrantVerdict {
    let operator = roles.contains(&"operator");
    match permission {
        _ if roles.contains(&"guest") => GrantVerdict::Refused,
        Permission::Browse | Permission::Read if operator || node.contains("Public") => GrantVerdict::Granted,
        Permission::Write if operator && node.contains("Setpoint") => GrantVerdict::Granted,
        Permission::Call if operator && node.contains("Start") => GrantVerdict::Ask,
        _ => GrantVerdict::Refused,
    }
}

impl RightsDecider for ByRole {
    fn policy_version(&self) -> Arc<str> {
        format!("v{}", self.version.load(Ordering::SeqCst)).into()
    }

    fn decide(&self, question: &RightsQuestion<'_>) -> Result<RightsDecision, Error> {
        let subject = question.subject;
        std::thread::sleep(Duration::from_millis(self.slow_ms.load(Ordering::SeqCst)));
        self.asked.lock().unwrap().push(format!("{} {}", subject.name, question.resource));
        if self.down.load(Ordering::SeqCst) {
            return Err(Error::new(StatusCode::BadResourceUnavailable, "down"));
        }
        assert!(question.client.application_uri.starts_with("urn:test:"));
        assert_eq!(subject.kind == SubjectKind::Application, subject.name.starts_with("application:"));
        let roles: Vec<&str> = subject.roles.iter().map(|role| &**role).collect();
        let ask = |node: String| {
            let roles = roles.clone();
            question
                .permissions
                .iter()
                .map(move |permission| expected(&roles, &node, *permission))
                .collect::<Vec<_>>()
        };
        Ok(RightsDecision {
            verdicts: question.nodes().flat_map(ask).collect(),
            roles: subject.roles.clone(),
            policy: self.policy_version(),
            lifetime: Duration::from_secs(600),
            reusable: if self.reusable.load(Ordering::SeqCst) {
                Duration::from_secs(60)
            } else {
                Duration::ZERO
            },
        })
    }
}

/// A store that can fail.
#[derive(Default)]
struct Disk {
    memory: MemoryAuthorityStore,
    full: AtomicBool,
}

impl AuthorityStore for Disk {
    fn load(&self) -> io::Result<Vec<AuthorityRecord<Arc<str>>>> {
        self.memory.load()
    }

    fn append(&self, record: &AuthorityRecord<Arc<str>>) -> io::Result<()> {
        if self.full.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is full"));
        }
        self.memory.append(record)
    }

    fn replace(&self, records: &[AuthorityRecord<Arc<str>>]) -> io::Result<()> {
        if self.full.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is full"));
        }
        self.memory.replace(records)
    }

    fn tables(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        self.memory.tables()
    }

    fn keep_table(&self, resource: &str, table: &[u8]) -> io::Result<()> {
        self.memory.keep_table(resource, table)
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl AuthorityAudit for Notes {
    fn note(&self, _now: Moment, note: &AuthorityAuditNote<'_>) {
        self.0.lock().unwrap().push(format!("{note:?}"));
    }
}

/// A running service, and all that it is made of.
struct World {
    url: String,
    server: Arc<AuthorizationServer>,
    decider: Arc<ByRole>,
    subjects: Arc<SubjectTable>,
    disk: Arc<Disk>,
    notes: Arc<Notes>,
    keys: SigningKeys,
    began: Instant,
}

fn subjects() -> Arc<SubjectTable> {
    let subjects = SubjectTable::new(HashCosts { memory_kib: 8, passes: 1, lanes: 1 }).unwrap();
    subjects.set_user("anna", "engine", &["operator", "engineer"]).unwrap();
    subjects.set_user("bert", "steam", &["guest"]).unwrap();
    subjects.set_certificate(OTHER.certificate().der(), &["operator"]);
    Arc::new(subjects)
}

fn resources() -> [RegisteredResource; 2] {
    [
        RegisteredResource { id: PLC.to_owned(), certificate: Some(OTHER.certificate().der().to_vec()) },
        RegisteredResource { id: HISTORIAN.to_owned(), certificate: None },
    ]
}

impl World {
    async fn start() -> World {
        World::on(Arc::default(), Instant::now()).await
    }

    async fn on(disk: Arc<Disk>, began: Instant) -> World {
        World::with(disk, began, |_| {}).await
    }

    async fn with(disk: Arc<Disk>, began: Instant, change: impl FnOnce(&mut ServerSettings)) -> World {
        let keys = SigningKeys::new(Duration::from_secs(7_200));
        let keys = keys.with(SigningKey::generate(Algorithm::EdDsa).unwrap(), NOW, NOW).unwrap();
        let (decider, subjects, notes) = (Arc::<ByRole>::default(), subjects(), Arc::<Notes>::default());
        let clock: durward_opcua::channel::Clock = Arc::new(move || NOW.plus(began.elapsed()));
        let parts = AuthorizationServiceParts {
            decider: Arc::clone(&decider) as _,
            subjects: Arc::clone(&subjects) as _,
            keep: Arc::clone(&disk) as _,
            audit: Arc::clone(&notes) as _,
            keys: Arc::new(ArcSwap::from_pointee(keys.clone())),
            clock: Arc::clone(&clock),
            workers: Workers::new(2),
        };
        let mut settings = AuthorizationServiceSettings::new(AS, SERVICE.certificate().der());
        settings.protocol.heartbeat_interval = Duration::from_millis(200);
        let service = AuthorizationService::new(settings, parts, resources()).unwrap();
        let channel = ChannelSettings { clock, ..channel_settings(&SERVICE) };
        let mut settings = AuthorizationServer::settings(channel, AS, "opc.tcp://localhost:4840");
        let signed = Endpoint::new(
            SecurityPolicy::Basic256Sha256,
            MessageSecurityMode::Sign,
            &[UserTokenKind::Anonymous],
        );
        settings.endpoints.push(signed);
        change(&mut settings);
        let server = Arc::new(AuthorizationServer::new(settings, service).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("opc.tcp://{}", listener.local_addr().unwrap());
        let serving = Arc::clone(&server);
        tokio::spawn(async move { serving.serve(listener).await });
        World { url, server, decider, subjects, disk, notes, keys, began }
    }

    fn now(&self) -> Moment {
        NOW.plus(self.began.elapsed())
    }

    fn service(&self) -> &AuthorizationService {
        self.server.service()
    }

    async fn connect_as(
        &self,
        certificate: &OwnCertificate,
        offer: SecurityOffer,
        identity: &ClientIdentity,
    ) -> ClientSession {
        let session =
            ClientSession::connect(&self.url, Some(offer), client_settings_of(certificate)).await.unwrap();
        session.activate(identity).await.unwrap();
        session
    }

    async fn client(&self, identity: &ClientIdentity) -> ClientSession {
        self.connect_as(&CLIENT, USUAL, identity).await
    }

    async fn gate(&self) -> ClientSession {
        self.connect_as(&OTHER, USUAL, &ClientIdentity::Anonymous).await
    }

    async fn call(&self, session: &ClientSession, method: &NodeId, inputs: Vec<Variant>) -> CallMethodResult {
        let nodes = self.server.nodes();
        let of_gates = *method == nodes.methods.publish_node_table || *method == nodes.methods.ask_cutoffs;
        let object = if of_gates { &nodes.gates } else { &nodes.service };
        let call = CallMethodRequest {
            object_id: object.clone(),
            method_id: method.clone(),
            input_arguments: Some(inputs),
        };
        let request = CallRequest { methods_to_call: Some(vec![call]), ..CallRequest::default() };
        let response: CallResponse = session.call(&request).await.unwrap();
        response.results.unwrap().remove(0)
    }

    async fn publish(&self, session: &ClientSession, resource: &str, table: Vec<u8>) -> StatusCode {
        let inputs =
            vec![Variant::from(resource), Variant::from(1u32), Variant::from(ByteString::from(table))];
        self.call(session, &self.server.nodes().methods.publish_node_table, inputs).await.status_code
    }

    /// The gate publishes its nodes.
    async fn with_nodes(self) -> World {
        let gate = self.gate().await;
        assert_eq!(self.publish(&gate, PLC, table().pack()).await, StatusCode::Good);
        gate.close(true).await.unwrap();
        self
    }

    async fn request(
        &self,
        session: &ClientSession,
        identity: Variant,
        resource: &str,
    ) -> Result<String, StatusCode> {
        let method = &self.server.nodes().methods.request_access_token;
        let result = self.call(session, method, vec![identity, Variant::from(resource)]).await;
        one_text(result)
    }

    async fn token(&self, session: &ClientSession) -> Result<String, StatusCode> {
        self.request(session, Variant::Empty, PLC).await
    }

    fn verifier(&self, resource: &str) -> TokenVerifier {
        let keys = self.keys.verifying(self.now()).unwrap();
        TokenVerifier::new(keys, AS, resource, Duration::from_secs(3_600))
    }

    fn verify(&self, token: &str) -> VerifiedToken {
        let client = Thumbprint::of(CLIENT.certificate().der());
        self.verifier(PLC).verify(self.now(), token.as_bytes(), client, &table()).unwrap()
    }

    async fn start_request(
        &self,
        session: &ClientSession,
        policy: &str,
        data: &[u8],
    ) -> Result<Vec<Variant>, StatusCode> {
        let data = ByteString::from(data.to_vec());
        let inputs = vec![Variant::from(PLC), Variant::from(policy), Variant::from(data)];
        outputs(self.call(session, &self.server.nodes().methods.start_request_token, inputs).await)
    }

    async fn finish_request(
        &self,
        session: &ClientSession,
        id: &Variant,
        roles: &[&str],
        identity: Variant,
        signature: SignatureData,
    ) -> Result<Vec<Variant>, StatusCode> {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let signature = Variant::from(ExtensionObject::new(signature));
        let inputs = vec![id.clone(), Variant::from(roles), identity, signature];
        outputs(self.call(session, &self.server.nodes().methods.finish_request_token, inputs).await)
    }

    /// Start and finish for a name with a password.
    async fn login(
        &self,
        session: &ClientSession,
        name: &str,
        password: &str,
    ) -> Result<Vec<Variant>, StatusCode> {
        let started = self.start_request(session, "username", b"").await?;
        self.finish_request(session, &started[1], &[], named(name, password), SignatureData::null()).await
    }

    async fn refresh(
        &self,
        session: &ClientSession,
        resource: &str,
        token: &Variant,
    ) -> Result<Vec<Variant>, StatusCode> {
        let inputs = vec![Variant::from(resource), token.clone()];
        outputs(self.call(session, &self.server.nodes().methods.refresh_token, inputs).await)
    }

    async fn snapshot(&self, gate: &ClientSession, question: u64) -> FeedMessage<Arc<str>> {
        let method = &self.server.nodes().methods.ask_cutoffs;
        let outputs = outputs(self.call(gate, method, vec![Variant::from(question)]).await).unwrap();
        message(&outputs[0])
    }
}

fn message(value: &Variant) -> FeedMessage<Arc<str>> {
    let Variant::ByteString(bytes) = value else { panic!("{value:?} is no message") };
    feed::decode(bytes.as_ref()).unwrap()
}

fn outputs(result: CallMethodResult) -> Result<Vec<Variant>, StatusCode> {
    if result.status_code == StatusCode::Good {
        Ok(result.output_arguments.unwrap())
    } else {
        Err(result.status_code)
    }
}

fn one_text(result: CallMethodResult) -> Result<String, StatusCode> {
    outputs(result).map(|outputs| text(&outputs[0]))
}

fn text(value: &Variant) -> String {
    let Variant::String(text) = value else { panic!("{value:?} is no text") };
    text.as_ref().to_owned()
}

fn table() -> NodeTable {
    NodeTable::new(NODES.map(|name| TableNode::new("urn:nodes", name).unwrap())).unwrap()
}

fn anna() -> ClientIdentity {
    ClientIdentity::UserName { name: "anna".to_owned(), password: "engine".to_owned().into() }
}

fn named(name: &str, password: &str) -> Variant {
    Variant::from(ExtensionObject::new(UserNameIdentityToken {
        policy_id: "username".into(),
        user_name: name.into(),
        password: ByteString::from(password.as_bytes().to_vec()),
        encryption_algorithm: opcua_types::UAString::null(),
    }))
}

fn assert_grants(token: &VerifiedToken, roles: &[&str]) {
    let table = table();
    for (row, (_, identifier)) in (0..).zip(table.iter()) {
        for permission in Permission::ALL {
            let said = token.grants().get(row, permission);
            assert_eq!(
                said,
                expected(roles, &identifier.to_string(), permission),
                "{permission:?} on {identifier}"
            );
        }
    }
}
