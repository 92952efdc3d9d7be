//! The server behind the gate: gone, back, and without security.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durward_identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_opcua::authority::{CallerSessionId, CallerUser, MethodCaller};
use durward_opcua::channel::{ChannelRequest, SecurityOffer, ServerChannel};
use durward_opcua::crypto::SecurityPolicy;
use durward_opcua::gate::{Gate, GateSettings, UpstreamSettings};
use durward_opcua::permission::Permission::{Browse, Read, Write};
use durward_opcua::plant::{PLANT_NAMESPACE, PlantHost};
use durward_opcua::session::{ExpectedServer, PinnedApplication};
use durward_opcua::wire::{self, ChunkKind, RequestPeek};
use opcua_types::*;
use tokio::net::TcpListener;

use super::support::{
    Clock, GATE, Plant, Running, Wire, eventually, gate_channel, plant_host, publish, read, subscribe, write,
};
use crate::fixture::{CLIENT, NOW, SERVER, channel_settings, client_settings_of, server_settings, status};

const TEMPERATURE: &[(&str, &[durward_opcua::permission::Permission])] =
    &[("Boiler.Temperature", &[Browse, Read])];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_and_restarted_ends_its_sessions_and_serves_new_ones() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let address = plant.address;
    let running = Running::start(&clock, address).await;
    let session = running.session(TEMPERATURE).await;
    subscribe(&session, &["Boiler.Temperature"]).await;
    while publish(&session).await.unwrap() == 0 {}
    plant.kill().await;
    let gone =
        [StatusCode::BadServerNotConnected, StatusCode::BadSessionClosed, StatusCode::BadSessionIdInvalid];
    assert!(gone.contains(&status(read(&session, &["Boiler.Temperature"]).await)));
    let waiting = running.connect(&CLIENT).await;
    assert_eq!(
        status(waiting.activate(&running.token("anna", TEMPERATURE)).await),
        StatusCode::BadServerNotConnected
    );
    let _plant = Plant::start(&clock, &address.to_string()).await;
    // The session is not served on as if nothing had happened: its subscriptions are gone.
    eventually("the session is closed", async || {
        running.gate.figures().sessions.load(Ordering::Relaxed) == 0
    })
    .await;
    assert_eq!(status(read(&session, &["Boiler.Temperature"]).await), StatusCode::BadSessionIdInvalid);
    assert_eq!(running.gate.figures().upstream_lost.load(Ordering::Relaxed), 1);
    assert!(running.audited("anna ended: the server behind the gate has lost the session"));
    waiting.activate(&running.token("anna", TEMPERATURE)).await.unwrap();
    assert_eq!(read(&waiting, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_survives_a_cut_wire_with_its_subscriptions() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let wire = Wire::to(plant.address).await;
    let running = Running::start(&clock, wire.address).await;
    let session = running.session(TEMPERATURE).await;
    subscribe(&session, &["Boiler.Temperature"]).await;
    while publish(&session).await.unwrap() == 0 {}
    wire.cut();
    eventually("the session is served again", async || {
        read(&session, &["Boiler.Temperature"]).await.is_ok_and(|statuses| statuses == [StatusCode::Good])
    })
    .await;
    eventually("values come", async || publish(&session).await.is_ok_and(|count| count > 0)).await;
    assert_eq!(running.gate.figures().upstream_lost.load(Ordering::Relaxed), 0);
}

/// The table of the tokens in use counts on when nodes come to the server: only the new ones need a new token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_starts_without_its_server_and_without_a_table_nothing_is_granted() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let address = plant.address;
    let running = Running::start(&clock, address).await;
    let before = running.table.version();
    assert!(running.table.row(PLANT_NAMESPACE, &Identifier::from("Boiler.Temperature")).is_some());
    assert!(running.table.row(PLANT_NAMESPACE, &Identifier::from("Tag00010")).is_some());
    assert!(running.table.len() > 50, "{}", running.table.len());
    plant.kill().await;
    let _plant = Plant::start(&clock, &address.to_string()).await;
    running.gate.browse_again();
    let session = running.connect(&CLIENT).await;
    eventually("the server is back", async || {
        session.activate(&running.token("anna", TEMPERATURE)).await.is_ok()
    })
    .await;
    assert_eq!(running.gate.table().unwrap().version(), before, "the same nodes are the same table");
}

static READS_WITHOUT_SECURITY: AtomicU64 = AtomicU64::new(0);

/// A server that has no security at all, as many PLCs.
async fn without_security(host: Arc<PlantHost>) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 1.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve_without_security(stream, Arc::clone(&host), number, address));
        }
    });
    address
}

async fn serve_without_security(
    stream: tokio::net::TcpStream,
    host: Arc<PlantHost>,
    number: u32,
    address: std::net::SocketAddr,
) {
    let offer = SecurityOffer { policy: SecurityPolicy::None, mode: MessageSecurityMode::None };
    let settings = Arc::new(channel_settings(&SERVER));
    let Ok(mut channel) = ServerChannel::accept(stream, None, settings, Arc::from([offer]), number).await
    else {
        return;
    };
    while let Ok(Some(ChannelRequest::Service { request_id, body })) = channel.next().await {
        let (outbox, host) = (Arc::clone(channel.outbox()), Arc::clone(&host));
        tokio::spawn(async move {
            let response = answer_without_security(&host, &body, number, address).await;
            let _ = outbox.send(ChunkKind::Message, request_id, response);
        });
    }
}

pub(super) async fn answer_without_security(
    host: &PlantHost,
    body: &[u8],
    number: u32,
    address: std::net::SocketAddr,
) -> bytes::Bytes {
    if RequestPeek::read(body).unwrap().type_id == ObjectId::ReadRequest_Encoding_DefaultBinary as u32 {
        READS_WITHOUT_SECURITY.fetch_add(1, Ordering::Relaxed);
    }
    let owned = wire::context();
    let peek = RequestPeek::read(body).unwrap();
    let response_header = wire::response_header(peek.handle, StatusCode::Good, NOW);
    let is = |id: ObjectId| peek.type_id == id as u32;
    if is(ObjectId::GetEndpointsRequest_Encoding_DefaultBinary) {
        let endpoint = EndpointDescription {
            endpoint_url: format!("opc.tcp://{address}").into(),
            security_mode: MessageSecurityMode::None,
            security_policy_uri: SecurityPolicy::None.uri().into(),
            user_identity_tokens: Some(vec![UserTokenPolicy {
                policy_id: "anonymous".into(),
                token_type: UserTokenType::Anonymous,
                ..UserTokenPolicy::default()
            }]),
            ..EndpointDescription::default()
        };
        let response = GetEndpointsResponse { response_header, endpoints: Some(vec![endpoint]) };
        return wire::encode_service(&owned.context(), &response).unwrap();
    }
    if is(ObjectId::CreateSessionRequest_Encoding_DefaultBinary) {
        let response = CreateSessionResponse {
            response_header,
            session_id: NodeId::new(1, number),
            authentication_token: NodeId::new(1, 7_000 + number),
            // Much less than the gate asks for.
            revised_session_timeout: 600.0,
            ..CreateSessionResponse::default()
        };
        return wire::encode_service(&owned.context(), &response).unwrap();
    }
    if is(ObjectId::ActivateSessionRequest_Encoding_DefaultBinary) {
        let response = ActivateSessionResponse { response_header, ..ActivateSessionResponse::default() };
        return wire::encode_service(&owned.context(), &response).unwrap();
    }
    if is(ObjectId::CloseSessionRequest_Encoding_DefaultBinary) {
        return wire::encode_service(&owned.context(), &CloseSessionResponse { response_header }).unwrap();
    }
    let caller = MethodCaller {
        session: CallerSessionId(u64::from(number)),
        certificate: None,
        application_uri: Arc::from("urn:test:gate"),
        user: CallerUser::Anonymous,
        encrypted: false,
    };
    match host.answer(&caller, peek.type_id, body).await {
        Ok(response) => response.into(),
        Err(status) => wire::fault(peek.handle, status, NOW),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_security_is_served_only_where_the_settings_say_so() {
    let clock = Clock::new();
    let host = plant_host(&clock);
    let running_host = Arc::clone(&host);
    tokio::spawn(async move { running_host.run().await });
    let address = without_security(Arc::clone(&host)).await;
    let running = Running::with(&clock, address, |settings| {
        settings.upstream.danger_upstream_without_security = true;
        settings.table.look_every = Duration::from_secs(60);
    })
    .await;
    let granted: &[(&str, &[_])] =
        &[("Boiler.Temperature", &[Browse, Read]), ("Boiler.Mode", &[Browse, Write])];
    let session = running.session(granted).await;
    assert_eq!(
        read(&session, &["Boiler.Temperature", "Boiler.Pressure"]).await.unwrap(),
        [StatusCode::Good, StatusCode::BadNodeIdUnknown]
    );
    assert_eq!(write(&session, "Boiler.Mode", Variant::from("Manual")).await, StatusCode::Good);
    subscribe(&session, &["Boiler.Temperature"]).await;
    while publish(&session).await.unwrap() == 0 {}
    // The quiet session is kept alive five times a second, as the server wants it.
    let before = READS_WITHOUT_SECURITY.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let reads = READS_WITHOUT_SECURITY.load(Ordering::Relaxed) - before;
    assert!(reads >= 3, "{reads} reads in 2 s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_security_is_refused_by_default() {
    let clock = Clock::new();
    let address = without_security(plant_host(&clock)).await;
    let started = Running::with(&clock, address, |settings| settings.limits.sessions_max = 10);
    let started = tokio::time::timeout(Duration::from_secs(2), started).await;
    assert!(started.is_err(), "the table was browsed without security");
}

/// A device with a certificate that is trusted must not get the password of the gate, nor feed it values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trusted_application_that_is_not_the_server_is_not_talked_to() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let pinned = |uri: &'static str| {
        move |settings: &mut GateSettings| {
            settings.upstream.client.server =
                ExpectedServer::pinned(PinnedApplication::ApplicationUri(uri.to_owned()));
        }
    };
    let refused = Running::with(&clock, plant.address, pinned("urn:test:plc"));
    let refused = tokio::time::timeout(Duration::from_secs(2), refused).await;
    assert!(refused.is_err(), "the table of another server was browsed");
    assert_eq!(plant.server.session_count(), 0);
    Running::with(&clock, plant.address, pinned("urn:test:server")).await;
    assert!(plant.server.session_count() > 0);
}

/// Servers want shorter timeouts than they are asked for. The session of a client that says nothing must outlive them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quiet_sessions_are_kept_alive_as_the_server_wants_it() {
    let clock = Clock::new();
    let mut settings = server_settings();
    settings.limits.session_timeout_min = Duration::from_millis(1_500);
    settings.limits.session_timeout_max = Duration::from_millis(1_500);
    let plant = Plant::with(&clock, "127.0.0.1:0", settings).await;
    let running = Running::start(&clock, plant.address).await;
    let session = running.session(TEMPERATURE).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(read(&session, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    assert_eq!(running.gate.figures().upstream_lost.load(Ordering::Relaxed), 0);
}

/// Whether there is security is for the operator to say. Were it for the server's answer, whoever changed it would be told the gate's password.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn security_is_not_chosen_by_what_the_server_offers() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let insecure = Running::with(&clock, plant.address, |settings| {
        settings.upstream.danger_upstream_without_security = true;
    });
    assert!(
        tokio::time::timeout(Duration::from_secs(2), insecure).await.is_err(),
        "a plant that has only security"
    );
    assert_eq!(plant.server.session_count(), 0);

    let signing = SigningKey::generate(Algorithm::EdDsa).unwrap();
    let keys = SigningKeys::new(Duration::from_secs(60)).with(signing, NOW, NOW).unwrap();
    let keys = keys.verifying(NOW).unwrap();
    let mut upstream = UpstreamSettings::new("opc.tcp://127.0.0.1:1", client_settings_of(&GATE));
    upstream.danger_upstream_without_security = true;
    upstream.client.server =
        ExpectedServer::pinned(PinnedApplication::ApplicationUri("urn:test:server".to_owned()));
    let settings = GateSettings::new(gate_channel(&clock), "urn:test:gate", upstream, "urn:test:as", keys);
    assert_eq!(Gate::start(settings).unwrap_err().status(), StatusCode::BadConfigurationError);
}
