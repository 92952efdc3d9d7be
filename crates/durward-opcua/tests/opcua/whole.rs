//! A client, the gate, the authorization service and a plant: all four over TCP, each with a certificate of its own.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use durward_identity::Moment;
use durward_identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_identity::user::HashCosts;
use durward_opcua::authority::decide::{RightsDecider, RightsDecision, RightsQuestion};
use durward_opcua::authority::{
    AuthorityAudit, AuthorityAuditNote, AuthorizationServer, AuthorizationService, AuthorizationServiceParts,
    AuthorizationServiceSettings, MemoryAuthorityStore, RegisteredResource, SubjectTable,
};
use durward_opcua::channel::{ChannelSettings, Workers};
use durward_opcua::client::{TokenClient, TokenClientSettings, WatchEvent, WatchSettings};
use durward_opcua::error::Error;
use durward_opcua::gate::{Gate, GateAuthoritySettings, GateSettings, UpstreamSettings};
use durward_opcua::permission::Permission;
use durward_opcua::session::{ClientIdentity, SessionClientSettings};
use durward_opcua::token::{CutoffTarget, GrantVerdict};
use opcua_types::{NodeId, StatusCode, Variant};
use tokio::net::TcpListener;

use crate::fixture::{Anybody, CLIENT, NOW, client_settings_of, own};
use crate::gate::support::{Clock, GATE, Plant};

const AS: &str = "urn:test:as";

/// Whoever is an operator reads and browses the boiler, and writes set points.
struct Operators;

impl RightsDecider for Operators {
    fn policy_version(&self) -> Arc<str> {
        "v1".into()
    }

    fn decide(&self, question: &RightsQuestion<'_>) -> Result<RightsDecision, Error> {
        let operator = question.subject.roles.iter().any(|role| &**role == "operator");
        let rule = |node: &str, permission: &Permission| match permission {
            Permission::Browse | Permission::Read if operator => GrantVerdict::Granted,
            Permission::Write if operator && node.contains("Mode") => GrantVerdict::Granted,
            _ => GrantVerdict::Refused,
        };
        let verdicts = question.nodes().flat_map(|node| {
            question.permissions.iter().map(|permission| rule(&node, permission)).collect::<Vec<_>>()
        });
        Ok(RightsDecision {
            verdicts: verdicts.collect(),
            roles: question.subject.roles.clone(),
            policy: self.policy_version(),
            lifetime: Duration::from_secs(600),
            reusable: Duration::ZERO,
        })
    }
}

struct Silent;

impl AuthorityAudit for Silent {
    fn note(&self, _now: Moment, _note: &AuthorityAuditNote<'_>) {}
}

/// All four, running.
struct World {
    clock: Clock,
    authority: Arc<AuthorizationServer>,
    _gate: Arc<Gate>,
    _plant: Plant,
    gate_url: String,
}

fn channel(clock: &Clock, own: &durward_opcua::crypto::OwnCertificate) -> ChannelSettings {
    let clock = clock.clone();
    ChannelSettings::new(own.clone(), Arc::new(Anybody), Arc::new(move || clock.now()), Workers::new(2))
}

fn as_client(clock: &Clock, own: &durward_opcua::crypto::OwnCertificate) -> SessionClientSettings {
    SessionClientSettings { channel: Arc::new(channel(clock, own)), ..client_settings_of(own) }
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("opc.tcp://{}", listener.local_addr().unwrap());
    (listener, url)
}

impl World {
    async fn start() -> World {
        let clock = Clock::new();
        let plant = Plant::start(&clock, "127.0.0.1:0").await;
        let keys = SigningKeys::new(Duration::from_secs(7_200));
        let keys = keys.with(SigningKey::generate(Algorithm::Es256).unwrap(), NOW, NOW).unwrap();
        let verifying = keys.verifying(NOW).unwrap();
        let (listener, authority_url) = listen().await;
        let authority = authority(&clock, keys, &authority_url);
        let serving = Arc::clone(&authority);
        tokio::spawn(async move { serving.serve(listener).await });

        let (listener, gate_url) = listen().await;
        let upstream =
            UpstreamSettings::new(format!("opc.tcp://{}", plant.address), as_client(&clock, &GATE));
        let mut settings =
            GateSettings::new(channel(&clock, &GATE), "urn:test:gate", upstream, AS, verifying);
        settings.endpoint_url.clone_from(&gate_url);
        settings.authority_url.clone_from(&authority_url);
        let mut follow = GateAuthoritySettings::new(authority_url, as_client(&clock, &GATE));
        follow.publishing_interval = Duration::from_millis(50);
        settings.authority = Some(follow);
        let gate = Arc::new(Gate::start(settings).unwrap());
        let serving = Arc::clone(&gate);
        tokio::spawn(async move { serving.serve(listener).await });
        tokio::time::timeout(Duration::from_secs(20), gate.table_ready()).await.unwrap();
        World { clock, authority, _gate: gate, _plant: plant, gate_url }
    }

    async fn client(&self, name: &str, password: &str) -> TokenClient {
        let mut settings = TokenClientSettings::new(&self.gate_url, as_client(&self.clock, &CLIENT));
        settings.authority.identity =
            ClientIdentity::UserName { name: name.to_owned(), password: password.to_owned().into() };
        let client = TokenClient::start(settings);
        // A gate that has just begun refuses tokens until it knows what was recalled; the client tries again by itself.
        let ready = async {
            while client.ready(Duration::from_secs(20)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), ready).await.unwrap();
        client
    }
}

fn authority(clock: &Clock, keys: SigningKeys, url: &str) -> Arc<AuthorizationServer> {
    let service = own(AS);
    let subjects = SubjectTable::new(HashCosts { memory_kib: 8, passes: 1, lanes: 1 }).unwrap();
    subjects.set_user("anna", "engine", &["operator"]).unwrap();
    subjects.set_user("bert", "steam", &["guest"]).unwrap();
    let parts = AuthorizationServiceParts {
        decider: Arc::new(Operators),
        subjects: Arc::new(subjects),
        keep: Arc::new(MemoryAuthorityStore::default()),
        audit: Arc::new(Silent),
        keys: Arc::new(ArcSwap::from_pointee(keys)),
        clock: channel(clock, &service).clock,
        workers: Workers::new(2),
    };
    let mut settings = AuthorizationServiceSettings::new(AS, service.certificate().der());
    settings.protocol.heartbeat_interval = Duration::from_millis(200);
    let gate = GATE.certificate().der().to_vec();
    let resources = [RegisteredResource { id: "urn:test:gate".to_owned(), certificate: Some(gate) }];
    let server = AuthorizationServer::settings(channel(clock, &service), AS, url);
    Arc::new(
        AuthorizationServer::new(server, AuthorizationService::new(settings, parts, resources).unwrap())
            .unwrap(),
    )
}

fn mode() -> NodeId {
    NodeId::new(2, "Boiler.Mode")
}

fn temperature() -> NodeId {
    NodeId::new(2, "Boiler.Temperature")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_reads_and_writes_what_its_token_grants_and_nothing_else() {
    let world = World::start().await;
    let anna = world.client("anna", "engine").await;
    let read = anna.read_values(&[temperature(), mode()]).await.unwrap();
    assert!(read.iter().all(|value| value.status.is_none_or(|status| status.is_good())), "{read:?}");
    anna.write(&mode(), Variant::from("Manual")).await.unwrap();
    let refused = anna.write(&temperature(), Variant::Double(1.0)).await.unwrap_err();
    assert_eq!(refused.status(), StatusCode::BadUserAccessDenied, "{refused}");

    let bert = world.client("bert", "steam").await;
    let read = bert.read_values(&[temperature()]).await.unwrap();
    assert!(
        read.iter().all(|value| value.value.is_none() && value.status.is_some_and(|it| it.is_bad())),
        "{read:?}"
    );
    // What the other session writes is there, and what is refused is not.
    let read = anna.read_values(&[mode()]).await.unwrap();
    assert!(read[0].value.is_some(), "{read:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recalled_rights_end_at_once_also_for_what_is_watched() {
    let world = World::start().await;
    let anna = world.client("anna", "engine").await;
    let mut watch = anna.watch(vec![temperature()], WatchSettings::default());
    let first = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            if let Some(WatchEvent::Value { .. }) = watch.next().await {
                return;
            }
        }
    });
    first.await.unwrap();
    world.authority.service().revoke(CutoffTarget::Subject("anna".into())).await.unwrap();
    // The token is dead; the client gets another one, which the same policies grant, so that it goes on under a new one.
    let renewed = async {
        let before = anna.token().map(|token| token.text().to_owned());
        loop {
            let now = anna.token().map(|token| token.text().to_owned());
            if now.is_some() && now != before {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), renewed).await.unwrap();
    let read = async {
        loop {
            match anna.read_values(&[temperature()]).await {
                Ok(read) if read[0].value.is_some() => return,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), read).await.unwrap();
}
