//! The authorization service over TCP, as clients and gates use it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use durward_identity::Moment;
use durward_identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_identity::user::HashCosts;
use durward_opcua::authority::decide::{Decider, Decision, Question, SubjectKind};
use durward_opcua::authority::{
    Audit, AuditNote, AuthorizationServer, AuthorizationService, Keep, MemoryKeep, Parts, Reason,
    RegisteredResource, ServiceSettings, SubjectTable, feed,
};
use durward_opcua::channel::{ChannelSettings, Offer, Workers};
use durward_opcua::crypto::{self, OwnCertificate, SecurityPolicy};
use durward_opcua::error::Error;
use durward_opcua::permission::Permission;
use durward_opcua::protocol::Record;
use durward_opcua::session::{ClientIdentity, ClientSession, Endpoint, TokenKind};
use durward_opcua::token::{
    FeedMessage, NodeTable, TableNode, Target, Thumbprint, TokenRefusal, Verdict, VerifiedToken, Verifier,
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
}

fn expected(roles: &[&str], node: &str, permission: Permission) -> Verdict {
    let operator = roles.contains(&"operator");
    match permission {
        _ if roles.contains(&"guest") => Verdict::Refused,
        Permission::Browse | Permission::Read if operator || node.contains("Public") => Verdict::Granted,
        Permission::Write if operator && node.contains("Setpoint") => Verdict::Granted,
        Permission::Call if operator && node.contains("Start") => Verdict::Ask,
        _ => Verdict::Refused,
    }
}

impl Decider for ByRole {
    fn policy_version(&self) -> Arc<str> {
        format!("v{}", self.version.load(Ordering::SeqCst)).into()
    }

    fn decide(&self, question: &Question<'_>) -> Result<Decision, Error> {
        let subject = question.subject;
        self.asked.lock().unwrap().push(format!("{} {}", subject.name, question.resource));
        if self.down.load(Ordering::SeqCst) {
            return Err(Error::new(StatusCode::BadResourceUnavailable, "down"));
        }
        assert_eq!(question.client.application_uri.starts_with("urn:test:"), true);
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
        Ok(Decision {
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
    memory: MemoryKeep,
    full: AtomicBool,
}

impl Keep for Disk {
    fn load(&self) -> io::Result<Vec<Record<Arc<str>>>> {
        self.memory.load()
    }

    fn append(&self, record: &Record<Arc<str>>) -> io::Result<()> {
        if self.full.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is full"));
        }
        self.memory.append(record)
    }

    fn replace(&self, records: &[Record<Arc<str>>]) -> io::Result<()> {
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

impl Audit for Notes {
    fn note(&self, _now: Moment, note: &AuditNote<'_>) {
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
        let keys = SigningKeys::new(Duration::from_secs(7_200));
        let keys = keys.with(SigningKey::generate(Algorithm::EdDsa).unwrap(), NOW, NOW).unwrap();
        let (decider, subjects, notes) = (Arc::<ByRole>::default(), subjects(), Arc::<Notes>::default());
        let clock: durward_opcua::channel::Clock = Arc::new(move || NOW.plus(began.elapsed()));
        let parts = Parts {
            decider: Arc::clone(&decider) as _,
            subjects: Arc::clone(&subjects) as _,
            keep: Arc::clone(&disk) as _,
            audit: Arc::clone(&notes) as _,
            keys: Arc::new(ArcSwap::from_pointee(keys.clone())),
            clock: Arc::clone(&clock),
            workers: Workers::new(2),
        };
        let mut settings = ServiceSettings::new(AS, SERVICE.certificate().der());
        settings.protocol.heartbeat_interval = Duration::from_millis(200);
        let service = AuthorizationService::new(settings, parts, resources()).unwrap();
        let channel = ChannelSettings { clock, ..channel_settings(&SERVICE) };
        let mut settings = AuthorizationServer::settings(channel, AS, "opc.tcp://localhost:4840");
        let signed =
            Endpoint::new(SecurityPolicy::Basic256Sha256, MessageSecurityMode::Sign, &[TokenKind::Anonymous]);
        settings.endpoints.push(signed);
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
        offer: Offer,
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

    fn verifier(&self, resource: &str) -> Verifier {
        let keys = self.keys.verifying(self.now()).unwrap();
        Verifier::new(keys, AS, resource, Duration::from_secs(3_600))
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

#[tokio::test]
async fn an_application_gets_a_token_for_what_the_decision_point_says() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let token = world.token(&session).await.unwrap();
    let verified = world.verify(&token);
    assert_eq!(verified.subject(), "application:urn:test:client");
    assert_grants(&verified, &[]);
    let other = Thumbprint::of(OTHER.certificate().der());
    let stolen = world.verifier(PLC).verify(world.now(), token.as_bytes(), other, &table());
    assert_eq!(stolen.unwrap_err(), TokenRefusal::OtherClient);
    assert!(
        world.verifier(HISTORIAN).verify(world.now(), token.as_bytes(), other, &table()).is_err(),
        "the audience"
    );
    let figures = world.service().figures();
    assert_eq!((figures.issued(), figures.decisions(), figures.tables()), (1, 1, 1));
    assert!(
        world
            .notes
            .0
            .lock()
            .unwrap()
            .iter()
            .any(|note| note.starts_with("Issued") && note.contains("urn:plc"))
    );
}

#[tokio::test]
async fn a_user_gets_a_token_by_session_or_by_call() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    let verified = world.verify(&world.token(&session).await.unwrap());
    assert_eq!(
        (verified.subject(), verified.roles()),
        ("anna", &["operator".to_owned(), "engineer".to_owned()][..])
    );
    assert_grants(&verified, &["operator"]);
    // Explicit: the call names another user, and proves it; or says that the application alone is meant.
    let alone = world.client(&ClientIdentity::Anonymous).await;
    let verified = world.verify(&world.request(&alone, named("anna", "engine"), PLC).await.unwrap());
    assert_eq!(verified.subject(), "anna");
    let nobody = Variant::from(ExtensionObject::new(AnonymousIdentityToken { policy_id: "session".into() }));
    let verified = world.verify(&world.request(&session, nobody, PLC).await.unwrap());
    assert_eq!(verified.subject(), "application:urn:test:client");
    // A server that knows only roles.
    let token = world.request(&session, Variant::Empty, HISTORIAN).await.unwrap();
    let (client, none) = (Thumbprint::of(CLIENT.certificate().der()), NodeTable::new([]).unwrap());
    let verified = world.verifier(HISTORIAN).verify(world.now(), token.as_bytes(), client, &none).unwrap();
    assert_eq!(verified.roles()[0], "operator");
}

#[tokio::test]
async fn who_proves_nothing_gets_nothing() {
    let world = World::start().await.with_nodes().await;
    let session = ClientSession::connect(&world.url, Some(USUAL), client_settings_of(&CLIENT)).await.unwrap();
    let wrong = ClientIdentity::UserName { name: "anna".to_owned(), password: "wrong".to_owned().into() };
    assert_eq!(status(session.activate(&wrong).await), StatusCode::BadIdentityTokenRejected);
    session.activate(&ClientIdentity::Anonymous).await.unwrap();
    for (name, password) in [("anna", "wrong"), ("nobody", "engine"), ("anna", ""), ("", "engine")] {
        let refused = world.request(&session, named(name, password), PLC).await;
        assert_eq!(refused, Err(StatusCode::BadIdentityTokenRejected), "{name}/{password}");
    }
    // A certificate without a proof, and a password that claims to be encrypted.
    let certificate = X509IdentityToken {
        policy_id: "certificate_Basic256Sha256".into(),
        certificate_data: ByteString::from(OTHER.certificate().der().to_vec()),
    };
    let certificate = Variant::from(ExtensionObject::new(certificate));
    assert_eq!(world.request(&session, certificate, PLC).await, Err(StatusCode::BadIdentityTokenRejected));
    let sealed = UserNameIdentityToken {
        policy_id: "username".into(),
        user_name: "anna".into(),
        password: ByteString::from(vec![1; 256]),
        encryption_algorithm: SecurityPolicy::Basic256Sha256.encryption_uri().into(),
    };
    let sealed = Variant::from(ExtensionObject::new(sealed));
    assert_eq!(world.request(&session, sealed, PLC).await, Err(StatusCode::BadIdentityTokenInvalid));
    // A guest proves who they are, and may do nothing.
    let guest = world.request(&session, named("bert", "steam"), HISTORIAN).await;
    assert!(guest.is_ok(), "a role is granted");
    world.subjects.set_user("bert", "steam", &[]).unwrap();
    let guest = world.request(&session, named("bert", "steam"), HISTORIAN).await;
    assert_eq!(guest, Err(StatusCode::BadUserAccessDenied));
    let figures = world.service().figures();
    assert_eq!((figures.refused(Reason::Identity), figures.refused(Reason::Denied)), (7, 1));
}

#[tokio::test]
async fn a_user_who_is_removed_gets_no_token_in_an_open_session() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    assert!(world.token(&session).await.is_ok());
    world.subjects.remove_user("anna");
    assert_eq!(world.token(&session).await, Err(StatusCode::BadUserAccessDenied));
}

#[tokio::test]
async fn channels_that_are_only_signed_and_unknown_resources_get_nothing() {
    let world = World::start().await.with_nodes().await;
    let signed = Offer { mode: MessageSecurityMode::Sign, ..USUAL };
    let session = world.connect_as(&CLIENT, signed, &ClientIdentity::Anonymous).await;
    assert_eq!(world.token(&session).await, Err(StatusCode::BadSecurityModeInsufficient));
    let session = world.client(&ClientIdentity::Anonymous).await;
    assert_eq!(world.request(&session, Variant::Empty, "urn:else").await, Err(StatusCode::BadNotFound));
    assert_eq!(world.service().figures().refused(Reason::UnknownResource), 1);
}

#[tokio::test]
async fn only_the_gate_of_a_resource_publishes_its_nodes() {
    let world = World::start().await;
    let client = world.client(&anna()).await;
    assert_eq!(world.token(&client).await, Err(StatusCode::BadResourceUnavailable), "no nodes yet");
    assert_eq!(world.publish(&client, PLC, table().pack()).await, StatusCode::BadUserAccessDenied);
    let gate = world.gate().await;
    assert_eq!(world.service().figures().gates(), 1);
    assert_eq!(world.publish(&gate, HISTORIAN, table().pack()).await, StatusCode::BadUserAccessDenied);
    assert_eq!(world.publish(&gate, PLC, b"no table".to_vec()).await, StatusCode::BadInvalidArgument);
    assert_eq!(world.token(&client).await, Err(StatusCode::BadResourceUnavailable));
    assert_eq!(world.publish(&gate, PLC, table().pack()).await, StatusCode::Good);
    world.verify(&world.token(&client).await.unwrap());
    // Tokens follow the table.
    let next = NodeTable::new([TableNode::new("urn:nodes", "Boiler.Setpoint").unwrap()]).unwrap();
    assert_eq!(world.publish(&gate, PLC, next.pack()).await, StatusCode::Good);
    let (token, client) = (world.token(&client).await.unwrap(), Thumbprint::of(CLIENT.certificate().der()));
    let verified = world.verifier(PLC).verify(world.now(), token.as_bytes(), client, &next).unwrap();
    assert_eq!(verified.grants().get(0, Permission::Write), Verdict::Granted);
    gate.close(true).await.unwrap();
    assert_eq!(world.service().figures().gates(), 0);
}

#[tokio::test]
async fn requests_are_started_finished_once_and_renewed() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let started = world.start_request(&session, "username", b"").await.unwrap();
    let finish =
        || world.finish_request(&session, &started[1], &[], named("anna", "engine"), SignatureData::null());
    let tokens = finish().await.unwrap();
    assert_eq!(world.verify(&text(&tokens[0])).subject(), "anna");
    assert_eq!(finish().await, Err(StatusCode::BadNotFound), "the request is used up");
    // From another session of the same client, with a request that is not its own.
    let started = world.start_request(&session, "username", b"").await.unwrap();
    let second = world.client(&ClientIdentity::Anonymous).await;
    let stolen =
        world.finish_request(&second, &started[1], &[], named("anna", "engine"), SignatureData::null()).await;
    assert_eq!(stolen, Err(StatusCode::BadNotFound));
    // Renewal: from another session, not from another certificate, not for another resource, once.
    let other = world.gate().await;
    assert_eq!(world.refresh(&other, PLC, &tokens[2]).await, Err(StatusCode::BadIdentityTokenRejected));
    assert_eq!(
        world.refresh(&second, HISTORIAN, &tokens[2]).await,
        Err(StatusCode::BadIdentityTokenRejected)
    );
    let renewed = world.refresh(&second, PLC, &tokens[2]).await.unwrap();
    assert_eq!(world.verify(&text(&renewed[0])).subject(), "anna");
    assert_eq!(renewed[3], tokens[3], "the end does not move");
    assert_eq!(world.refresh(&second, PLC, &tokens[2]).await, Err(StatusCode::BadIdentityTokenRejected));
    assert_eq!(
        world.refresh(&second, PLC, &renewed[2]).await,
        Err(StatusCode::BadIdentityTokenRejected),
        "its family ended"
    );
    assert_eq!(world.service().figures().refused(Reason::Repeated), 1);
    // A recall of the subject ends what was given.
    let tokens = world.login(&session, "anna", "engine").await.unwrap();
    world.service().revoke(Target::Subject("anna".into())).await.unwrap();
    assert_eq!(world.refresh(&session, PLC, &tokens[2]).await, Err(StatusCode::BadIdentityTokenRejected));
    assert_eq!(world.login(&session, "anna", "wrong").await, Err(StatusCode::BadIdentityTokenRejected));
}

#[tokio::test]
async fn a_refresh_token_outlives_a_decision_point_that_is_down() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let tokens = world.login(&session, "anna", "engine").await.unwrap();
    world.decider.down.store(true, Ordering::SeqCst);
    assert_eq!(world.refresh(&session, PLC, &tokens[2]).await, Err(StatusCode::BadResourceUnavailable));
    world.decider.down.store(false, Ordering::SeqCst);
    assert!(world.refresh(&session, PLC, &tokens[2]).await.is_ok());
}

#[tokio::test]
async fn roles_that_are_asked_for_narrow_a_token() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let finish = async |roles: &'static [&'static str]| {
        let started = world.start_request(&session, "username", b"").await.unwrap();
        let tokens = world.finish_request(
            &session,
            &started[1],
            roles,
            named("anna", "engine"),
            SignatureData::null(),
        );
        tokens.await.map(|tokens| world.verify(&text(&tokens[0])))
    };
    let narrow = finish(&["engineer", "manager"]).await.unwrap();
    assert_eq!(narrow.roles(), ["engineer"]);
    assert_grants(&narrow, &["engineer"]);
    assert_grants(&finish(&["operator"]).await.unwrap(), &["operator"]);
}

#[tokio::test]
async fn a_certificate_needs_a_proof_over_the_service_data() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let policy = SecurityPolicy::Basic256Sha256;
    let id = "certificate_Basic256Sha256";
    assert_eq!(world.start_request(&session, id, &[7; 31]).await, Err(StatusCode::BadInvalidArgument));
    let identity = Variant::from(ExtensionObject::new(X509IdentityToken {
        policy_id: id.into(),
        certificate_data: ByteString::from(OTHER.certificate().der().to_vec()),
    }));
    let proof = |service_data: &Variant, key: &OwnCertificate| {
        let Variant::ByteString(data) = service_data else { panic!("service data") };
        let signed = [SERVICE.certificate().der(), data.as_ref()].concat();
        let signature = crypto::sign(policy, key.key(), &signed).unwrap();
        SignatureData { algorithm: policy.signature_uri().into(), signature: ByteString::from(signature) }
    };
    let started = world.start_request(&session, id, &[7; 32]).await.unwrap();
    let first = proof(&started[0], &OTHER);
    let tokens =
        world.finish_request(&session, &started[1], &[], identity.clone(), first.clone()).await.unwrap();
    let verified = world.verify(&text(&tokens[0]));
    assert!(
        verified.subject().starts_with("certificate:"),
        "bound to the channel's certificate, not to the user's"
    );
    assert_grants(&verified, &["operator"]);
    // The proof of an earlier request, another key's, none.
    let started = world.start_request(&session, id, &[7; 32]).await.unwrap();
    let refused = StatusCode::BadUserSignatureInvalid;
    for wrong in [first, proof(&started[0], &CLIENT), SignatureData::null()] {
        let started = world.start_request(&session, id, &[7; 32]).await.unwrap();
        assert_eq!(
            world.finish_request(&session, &started[1], &[], identity.clone(), wrong).await,
            Err(refused)
        );
    }
    // A password where a certificate was agreed.
    let other = world
        .finish_request(&session, &started[1], &[], named("anna", "engine"), SignatureData::null())
        .await;
    assert_eq!(other, Err(StatusCode::BadIdentityTokenInvalid));
}

#[tokio::test]
async fn garbage_is_refused_and_the_service_goes_on() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    let methods = world.server.nodes().methods.clone();
    let long = Variant::from("x".repeat(60_000));
    let garbage = [
        Variant::Empty,
        Variant::from(f64::NAN),
        Variant::from("\u{0}\u{feff}"),
        long,
        Variant::from(vec!["a".to_owned(); 2_000]),
        Variant::from(ByteString::from(vec![0xff; 50_000])),
        Variant::from(ExtensionObject::new(opcua_types::Range { low: 1.0, high: 0.0 })),
        Variant::from(opcua_types::Guid::new()),
    ];
    for method in methods.all() {
        if method == methods.get_service_description {
            continue;
        }
        for count in 0..5 {
            for value in &garbage {
                let result = world.call(&session, &method, vec![value.clone(); count]).await;
                assert!(result.status_code.is_bad(), "{method} of {count} times {value:?}");
            }
        }
    }
    assert!(world.token(&session).await.is_ok());
    assert_eq!(world.service().figures().issued(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_clients_at_once() {
    let world = Arc::new(World::start().await.with_nodes().await);
    let clients = (0..50).map(|_| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let session = world.client(&anna()).await;
            world.token(&session).await.unwrap()
        })
    });
    for client in clients.collect::<Vec<_>>() {
        let token = client.await.unwrap();
        assert_eq!(world.verify(&token).subject(), "anna");
    }
    assert_eq!(world.service().figures().issued(), 50);
}

#[tokio::test]
async fn decisions_are_used_again_until_something_is_recalled() {
    let world = World::start().await.with_nodes().await;
    world.decider.reusable.store(true, Ordering::SeqCst);
    let session = world.client(&anna()).await;
    let asked = || world.decider.asked.lock().unwrap().len();
    for _ in 0..3 {
        world.token(&session).await.unwrap();
    }
    assert_eq!((asked(), world.service().figures().reused()), (1, 2));
    // Other facts, another question.
    world.subjects.set_user("anna", "engine", &["operator"]).unwrap();
    world.token(&session).await.unwrap();
    assert_eq!(asked(), 2);
    // Other policies: tokens of the old ones are dead, and the next one is of the new.
    let old = world.verify(&world.token(&session).await.unwrap());
    world.decider.version.store(1, Ordering::SeqCst);
    world.service().policies_changed("v0").await.unwrap();
    let new = world.verify(&world.token(&session).await.unwrap());
    assert_eq!(asked(), 3);
    let gate = world.gate().await;
    let FeedMessage::Snapshot { question: 5, cutoffs, .. } = world.snapshot(&gate, 5).await else {
        panic!("a snapshot")
    };
    use durward_opcua::token::Bearer;
    assert_eq!((cutoffs.end(old.facts()), cutoffs.end(new.facts())), (true, false));
    world.service().session_ended("handle").await.unwrap();
    world.token(&session).await.unwrap();
    assert_eq!(asked(), 4, "any recall drops what was decided");
}

/// A subscription of a gate to cutoffs and heartbeats.
struct Following {
    gate: ClientSession,
    subscription: u32,
    acknowledge: Option<u32>,
}

impl Following {
    async fn begin(world: &World, gate: ClientSession) -> Following {
        let request = CreateSubscriptionRequest {
            requested_publishing_interval: PUBLISHING.as_secs_f64() * 1_000.0,
            requested_lifetime_count: 10_000,
            requested_max_keep_alive_count: 1_000,
            publishing_enabled: true,
            ..CreateSubscriptionRequest::default()
        };
        let created: CreateSubscriptionResponse = gate.call(&request).await.unwrap();
        let item = |(node, client_handle): (&NodeId, u32)| {
            let parameters = MonitoringParameters {
                sampling_interval: 0.0,
                queue_size: 1,
                client_handle,
                ..Default::default()
            };
            MonitoredItemCreateRequest::new(
                ReadValueId::new_value(node.clone()),
                MonitoringMode::Reporting,
                parameters,
            )
        };
        let nodes = world.server.nodes();
        let request = CreateMonitoredItemsRequest {
            subscription_id: created.subscription_id,
            timestamps_to_return: TimestampsToReturn::Both,
            items_to_create: Some([(&nodes.revocations, 1), (&nodes.heartbeat, 2)].map(item).into()),
            ..CreateMonitoredItemsRequest::default()
        };
        let items: CreateMonitoredItemsResponse = gate.call(&request).await.unwrap();
        assert!(items.results.unwrap().iter().all(|result| result.status_code == StatusCode::Good));
        Following { gate, subscription: created.subscription_id, acknowledge: None }
    }

    /// The next messages.
    async fn next(&mut self) -> Vec<FeedMessage<Arc<str>>> {
        let acknowledgements = self.acknowledge.take().map(|sequence_number| {
            vec![SubscriptionAcknowledgement { subscription_id: self.subscription, sequence_number }]
        });
        let request =
            PublishRequest { subscription_acknowledgements: acknowledgements, ..PublishRequest::default() };
        let response: PublishResponse = self.gate.call(&request).await.unwrap();
        self.acknowledge = Some(response.notification_message.sequence_number);
        let mut messages = Vec::new();
        for data in response.notification_message.notification_data.unwrap_or_default() {
            let changes = decoded(&data);
            for item in changes.monitored_items.unwrap_or_default() {
                match item.value.value {
                    Some(Variant::Array(array)) => messages.extend(array.values.iter().map(message)),
                    Some(value @ Variant::ByteString(_)) => messages.push(message(&value)),
                    _ => {}
                }
            }
        }
        messages
    }

    /// How long it takes until a cutoff for a subject is there.
    async fn wait_for(&mut self, name: &str) -> Duration {
        let began = Instant::now();
        loop {
            let is_it = |message: &FeedMessage<Arc<str>>| matches!(message, FeedMessage::Cutoff { target: Target::Subject(subject), .. } if **subject == *name);
            if self.next().await.iter().any(is_it) {
                return began.elapsed();
            }
            assert!(began.elapsed() < Duration::from_secs(5), "the cutoff does not come");
        }
    }
}

fn decoded(data: &ExtensionObject) -> DataChangeNotification {
    use opcua_types::BinaryDecodable as _;
    use opcua_types::type_loader::ByteStringBody;
    if let Some(changes) = data.inner_as::<DataChangeNotification>() {
        return changes.clone();
    }
    let raw = data.inner_as::<ByteStringBody>().unwrap().raw_body().value.clone().unwrap();
    let owned = durward_opcua::wire::context();
    DataChangeNotification::decode(&mut raw.as_slice(), &owned.context()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cutoff_reaches_a_gate_within_a_publishing_interval() {
    let world = World::start().await;
    let mut following = Following::begin(&world, world.gate().await).await;
    following.next().await;
    let mut times = Vec::new();
    for number in 0..20 {
        let name = format!("user {number}");
        world.service().revoke(Target::Subject(name.as_str().into())).await.unwrap();
        times.push(following.wait_for(&name).await);
    }
    times.sort_unstable();
    println!("cutoffs took {:?} (half of them) to {:?}", times[10], times[19]);
    // What this machine's other work adds is not the service's.
    assert!(times[10] <= PUBLISHING + Duration::from_millis(30), "{times:?}");
    assert_eq!(world.service().figures().cutoffs(), 20);
}

#[tokio::test]
async fn heartbeats_go_on_and_count_the_cutoffs() {
    let world = World::start().await;
    let mut following = Following::begin(&world, world.gate().await).await;
    world.service().revoke(Target::All).await.unwrap();
    let (mut times, mut last) = (Vec::new(), 0);
    while times.len() < 3 {
        for message in following.next().await {
            if let FeedMessage::Heartbeat { sequence, time, .. } = message {
                times.push(time);
                last = sequence;
            }
        }
    }
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    assert_eq!(last, 2, "the recall of a new store, and this one");
}

#[tokio::test]
async fn others_do_not_hear_of_cutoffs() {
    let world = World::start().await;
    let client = world.client(&anna()).await;
    let nodes = world.server.nodes();
    let denied = world.call(&client, &nodes.methods.ask_cutoffs, vec![Variant::from(1u64)]).await;
    assert_eq!(denied.status_code, StatusCode::BadUserAccessDenied);
    let request = ReadRequest {
        nodes_to_read: Some(vec![ReadValueId::new_value(nodes.revocations.clone())]),
        ..Default::default()
    };
    let response: ReadResponse = client.call(&request).await.unwrap();
    assert_eq!(response.results.unwrap()[0].status, Some(StatusCode::BadUserAccessDenied));
}

#[tokio::test]
async fn a_restart_forgets_nothing_that_matters() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    let old = world.verify(&world.token(&session).await.unwrap());
    world.service().revoke(Target::Subject("anna".into())).await.unwrap();
    let gate = world.gate().await;
    let FeedMessage::Snapshot { epoch, sequence, cutoffs, .. } = world.snapshot(&gate, 1).await else {
        panic!()
    };
    world.server.shutdown();
    let again = World::on(Arc::clone(&world.disk), world.began).await;
    let gate = again.gate().await;
    let FeedMessage::Snapshot {
        epoch: epoch_again, sequence: sequence_again, cutoffs: cutoffs_again, ..
    } = again.snapshot(&gate, 1).await
    else {
        panic!()
    };
    assert_eq!((epoch, sequence, cutoffs), (epoch_again, sequence_again, cutoffs_again));
    // Node tables are there as well, and tokens are not dated before a cutoff.
    let session = again.client(&anna()).await;
    let new = again.verify(&again.token(&session).await.unwrap());
    let FeedMessage::Snapshot { cutoffs, .. } = again.snapshot(&gate, 2).await else { panic!() };
    use durward_opcua::token::Bearer;
    assert_eq!((cutoffs.end(old.facts()), cutoffs.end(new.facts())), (true, false));
    // A lost store begins a later epoch, and recalls everything.
    let lost = World::on(Arc::default(), world.began).await;
    let gate = lost.gate().await;
    let FeedMessage::Snapshot { epoch: later, cutoffs, .. } = lost.snapshot(&gate, 1).await else { panic!() };
    assert!(later >= epoch && cutoffs.end(old.facts()));
}

#[tokio::test]
async fn without_its_store_the_service_issues_no_tokens() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    world.disk.full.store(true, Ordering::SeqCst);
    assert!(world.service().revoke(Target::Subject("bert".into())).await.is_err(), "the caller hears of it");
    let gate = world.gate().await;
    let FeedMessage::Snapshot { cutoffs, .. } = world.snapshot(&gate, 1).await else { panic!() };
    assert!(cutoffs.iter().any(|(target, _)| *target == Target::Subject("bert".into())), "gates do as well");
    assert_eq!(world.token(&session).await, Err(StatusCode::BadResourceUnavailable));
    world.disk.full.store(false, Ordering::SeqCst);
    assert!(world.token(&session).await.is_ok());
    let records = world.disk.load().unwrap();
    let is_kept = |record: &Record<Arc<str>>| matches!(record, Record::Cutoff { target: Target::Subject(name), .. } if **name == *"bert");
    assert!(records.iter().any(is_kept), "what could not be stored was stored later");
}

#[tokio::test]
async fn many_recalls_at_once_do_not_date_tokens_ahead() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    for number in 0..200 {
        world.service().session_ended(&format!("session {number}")).await.unwrap();
    }
    let began = Instant::now();
    let token = world.token(&session).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
    world.verify(&token);
}
