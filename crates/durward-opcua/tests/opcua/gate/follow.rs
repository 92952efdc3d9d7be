//! The gate follows an authorization service over its wire: cutoffs, heartbeats, snapshots, the node table.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use durward_identity::Moment;
use durward_opcua::authority::{
    AccessTokenRequest, Authority, FinishRequest, MethodCaller, NodeTableUpload, PublishedCutoffs,
    RefreshRequest, Reply, Resource, ServiceDescription, StartRequest, Tokens, feed, serve,
};
use durward_opcua::gate::GateAuthoritySettings;
use durward_opcua::permission::Permission::{Browse, Read};
use durward_opcua::plant::{HostService, PasswordUsers, PlantHost};
use durward_opcua::session::{PinnedApplication, SessionServer};
use durward_opcua::token::{CutoffTarget, Cutoffs, FeedMessage, NodeTable};
use opcua_types::*;
use tokio::net::TcpListener;

use super::support::{Clock, GATE, ISSUER, Plant, Running, eventually, publish, read, subscribe};
use crate::fixture::{CLIENT, client_settings_of, server_settings, status};

const TEMPERATURE: &[(&str, &[durward_opcua::permission::Permission])] =
    &[("Boiler.Temperature", &[Browse, Read])];

/// Knows one gate; issues nothing.
#[derive(Default)]
struct Office {
    recalled: Mutex<(u64, Cutoffs<Arc<str>>)>,
    table: Mutex<Option<NodeTable>>,
    asked: Mutex<Vec<u64>>,
}

fn refused<T: Send + 'static>() -> Reply<T> {
    Box::pin(async { Err(StatusCode::BadUserAccessDenied) })
}

impl Authority for Office {
    fn describe(&self) -> ServiceDescription {
        ServiceDescription {
            service_uri: ISSUER.to_owned(),
            service_certificate: Vec::new(),
            user_token_policies: Vec::new(),
        }
    }

    fn resource(&self, resource_id: &str) -> Option<Resource> {
        let certificate = Some(Arc::from(GATE.certificate().der()));
        (resource_id == "urn:test:gate").then_some(Resource { certificate })
    }

    fn request_access_token(&self, _: &MethodCaller, _: AccessTokenRequest, _: Moment) -> Reply<String> {
        refused()
    }

    fn start_request_token(&self, _: &MethodCaller, _: &StartRequest, _: Moment) -> Reply<ByteString> {
        refused()
    }

    fn finish_request_token(&self, _: &MethodCaller, _: FinishRequest, _: Moment) -> Reply<Tokens> {
        refused()
    }

    fn refresh_token(&self, _: &MethodCaller, _: RefreshRequest, _: Moment) -> Reply<Tokens> {
        refused()
    }

    fn publish_node_table(&self, _: &MethodCaller, table: NodeTableUpload, _: Moment) -> Reply<()> {
        *self.table.lock().unwrap() = NodeTable::read(table.table.value.as_deref().unwrap()).ok();
        Box::pin(async { Ok(()) })
    }

    fn ask_cutoffs(&self, _: &MethodCaller, question: u64, time: Moment) -> Reply<ByteString> {
        self.asked.lock().unwrap().push(question);
        let (sequence, cutoffs) = self.recalled.lock().unwrap().clone();
        let cutoffs = Arc::new(cutoffs);
        let snapshot = feed::encode(&FeedMessage::Snapshot { epoch: 1, sequence, time, question, cutoffs });
        Box::pin(async { Ok(snapshot.into()) })
    }

    fn may_follow(&self, caller: &MethodCaller) -> bool {
        caller.certificate.as_deref() == Some(GATE.certificate().der())
    }
}

/// The service's certificate is the one that [`server_settings`] has.
fn the_service() -> PinnedApplication {
    PinnedApplication::ApplicationUri("urn:test:server".to_owned())
}

struct Service {
    office: Arc<Office>,
    host: Arc<PlantHost>,
    shown: Mutex<PublishedCutoffs>,
    server: SessionServer<HostService<PasswordUsers>>,
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Service {
    async fn start(clock: &Clock, office: Arc<Office>, address: &str) -> Service {
        let (space, nodes) = serve("urn:test:server", Arc::clone(&office), || [7; 16], clock.now()).unwrap();
        let own = clock.clone();
        let host = PlantHost::new(space, move || own.now());
        let login = PasswordUsers { anonymous: true, ..PasswordUsers::default() };
        let entrance = Arc::new(HostService::new(Arc::clone(&host), login));
        let server = SessionServer::new(server_settings(), entrance).unwrap();
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (serving, running) = (server.clone(), Arc::clone(&host));
        let task = tokio::spawn(async move {
            tokio::select! { () = serving.serve(listener) => {}, () = running.run() => {} }
        });
        Service { office, host, shown: Mutex::new(PublishedCutoffs::new(&nodes)), server, address, task }
    }

    fn recall(&self, clock: &Clock, subject: &str) {
        let (target, before) =
            (CutoffTarget::Subject(Arc::from(subject)), clock.now().plus(Duration::from_secs(1)));
        let sequence = {
            let mut recalled = self.office.recalled.lock().unwrap();
            recalled.0 += 1;
            recalled.1.add(target.clone(), before);
            recalled.0
        };
        let message = feed::encode(&FeedMessage::Cutoff { epoch: 1, sequence, target, before });
        let mut shown = self.shown.lock().unwrap();
        self.host.with_mut(|server| shown.publish(server, sequence, message.into(), clock.now()));
    }

    fn beat(&self, clock: &Clock) {
        let (sequence, time) = (self.office.recalled.lock().unwrap().0, clock.now());
        let message = feed::encode(&FeedMessage::Heartbeat { epoch: 1, sequence, time });
        let shown = self.shown.lock().unwrap();
        self.host.with_mut(|server| shown.beat(server, message.into(), time));
    }

    async fn kill(self) {
        self.server.shutdown();
        self.task.abort();
        let _ = self.task.await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cutoffs_heartbeats_and_the_table_go_over_the_kept_session() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let office = Arc::new(Office::default());
    let service = Service::start(&clock, Arc::clone(&office), "127.0.0.1:0").await;
    let address = service.address;
    let running = Running::with(&clock, plant.address, |settings| {
        let client = client_settings_of(&GATE);
        let mut authority = GateAuthoritySettings::new(format!("opc.tcp://{address}"), client);
        authority.server = Some(the_service());
        authority.publishing_interval = Duration::from_millis(50);
        (authority.backoff_min, authority.backoff_max) =
            (Duration::from_millis(50), Duration::from_millis(100));
        settings.authority = Some(authority);
        settings.ask_interval = Duration::from_millis(100);
    })
    .await;
    let session = running.connect(&CLIENT).await;
    eventually("the first snapshot is heard", async || {
        session.activate(&running.token("anna", TEMPERATURE)).await.is_ok()
    })
    .await;
    assert!(office.asked.lock().unwrap().iter().all(|question| *question == running.gate.question()));
    eventually("the table is published", async || {
        office.table.lock().unwrap().as_ref().is_some_and(|table| table.version() == running.table.version())
    })
    .await;
    subscribe(&session, &["Boiler.Temperature"]).await;
    while publish(&session).await.unwrap() == 0 {}
    clock.advance(Duration::from_secs(10));
    service.beat(&clock);
    eventually("the heartbeat is heard", async || {
        running.gate.figures().staleness_ms.load(Ordering::Relaxed) < 5_000
    })
    .await;

    service.recall(&clock, "anna");
    let recalled = Instant::now();
    while publish(&session).await.is_ok() {}
    let late = recalled.elapsed();
    // Two publishing intervals of 50 ms, and a machine that does other things as well.
    assert!(late < Duration::from_millis(400), "{late:?} after the recall the subscription still delivered");
    assert!(read(&session, &["Boiler.Temperature"]).await.is_err());
    assert_eq!(running.gate.figures().cutoffs.load(Ordering::Relaxed), 1);

    // Out of reach, tokens hold until they end; a service that is back is followed again, and what it recalled meanwhile is known.
    let bert = running.connect(&CLIENT).await;
    bert.activate(&running.token("bert", TEMPERATURE)).await.unwrap();
    service.kill().await;
    assert_eq!(read(&bert, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    let mut recalled = office.recalled.lock().unwrap().clone();
    recalled.0 += 1;
    recalled.1.add(CutoffTarget::Subject(Arc::from("bert")), clock.now().plus(Duration::from_secs(1)));
    *office.recalled.lock().unwrap() = recalled;
    let _service = Service::start(&clock, Arc::clone(&office), &address.to_string()).await;
    eventually("the recall is heard", async || read(&bert, &["Boiler.Temperature"]).await.is_err()).await;
    let again = bert.activate(&running.token("bert", TEMPERATURE)).await;
    assert_eq!(status(again), StatusCode::BadSessionIdInvalid);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_word_of_the_authorization_service_nobody_comes_in() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let running = Running::with(&clock, plant.address, |settings| {
        settings.authority =
            Some(GateAuthoritySettings::new(format!("opc.tcp://{nobody}"), client_settings_of(&GATE)));
    })
    .await;
    let session = running.connect(&CLIENT).await;
    let refused = session.activate(&running.token("anna", TEMPERATURE)).await;
    assert_eq!(status(refused), StatusCode::BadIdentityTokenRejected);
    assert!(running.audited("has not heard from the authorization service yet: is it running?"));
    eventually("the audit says why", async || {
        running.audited("the authorization service cannot be followed")
    })
    .await;
}

/// Every device of a plant may have a certificate that is trusted. One that answers in place of the service could keep recalls back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trusted_application_that_is_not_the_service_is_not_followed() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let office = Arc::new(Office::default());
    let service = Service::start(&clock, Arc::clone(&office), "127.0.0.1:0").await;
    let address = service.address;
    let running = Running::with(&clock, plant.address, |settings| {
        let client = client_settings_of(&GATE);
        // The issuer of the gate's tokens is expected, whose certificate this service has not.
        settings.authority = Some(GateAuthoritySettings::new(format!("opc.tcp://{address}"), client));
    })
    .await;
    eventually("the audit says why", async || {
        running.audited("the server is `urn:test:server`, and `urn:test:authority` is expected there")
    })
    .await;
    assert_eq!(service.server.session_count(), 0);
    assert!(office.asked.lock().unwrap().is_empty());
}
