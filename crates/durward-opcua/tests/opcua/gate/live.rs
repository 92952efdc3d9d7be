//! What a token leaves to the gate, at the gate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durward_identity::SystemEntropy;
use durward_opcua::permission::{Permission, PermissionRuling};
use durward_opcua::plant::PLANT_NAMESPACE;
use durward_opcua::token::{GrantVerdict, Grants, IssueRequest, LiveDecider, LiveQuestion, Thumbprint};
use opcua_types::{Identifier, StatusCode};

use super::support::{Clock, ISSUER, Plant, Running, issued, publish, read, subscribe};
use crate::fixture::CLIENT;

const TEMPERATURE: &str = "Boiler.Temperature";

/// Grants reading while it is switched on.
#[derive(Default)]
struct Switch(AtomicBool);

impl LiveDecider for Switch {
    fn rule(&self, question: &LiveQuestion<'_>) -> PermissionRuling {
        let node = format!("nsu={PLANT_NAMESPACE};s={TEMPERATURE}");
        assert_eq!((question.node().unwrap(), question.token.subject()), (node, "anna"));
        let is_on = self.0.load(Ordering::SeqCst) && question.permission == Permission::Read;
        if is_on { PermissionRuling::Granted } else { PermissionRuling::DENIED }
    }
}

/// A token that grants to see a node, and leaves reading it to the gate.
fn token(running: &Running) -> String {
    let mut grants = Grants::none(&running.table);
    let row = running.table.row(PLANT_NAMESPACE, &Identifier::String(TEMPERATURE.into())).unwrap();
    grants.set(row, Permission::Browse, GrantVerdict::Granted);
    grants.set(row, Permission::Read, GrantVerdict::Ask);
    let issue = IssueRequest {
        issuer: ISSUER,
        subject: "anna",
        resource: "urn:test:gate",
        lifetime: Duration::from_secs(600),
        client: Thumbprint::of(CLIENT.certificate().der()),
        roles: &[],
        session: None,
        policy: "policy-1",
        grants: &grants,
        live: None,
    };
    issue.sign(&running.keys, running.clock.now(), &SystemEntropy).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_stop_when_the_decision_turns_and_go_on_when_it_turns_back() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let switch = Arc::new(Switch::default());
    let live = Arc::clone(&switch);
    let running = Running::with(&clock, plant.address, |settings| settings.live = Some(live)).await;
    let session = running.connect(&CLIENT).await;
    session.activate(&issued(token(&running))).await.unwrap();
    assert_eq!(read(&session, &[TEMPERATURE]).await.unwrap(), [StatusCode::BadUserAccessDenied]);

    switch.0.store(true, Ordering::SeqCst);
    assert_eq!(read(&session, &[TEMPERATURE]).await.unwrap(), [StatusCode::Good]);
    let (_, statuses) = subscribe(&session, &[TEMPERATURE]).await;
    assert_eq!(statuses, [StatusCode::Good]);
    while publish(&session).await.unwrap() == 0 {}

    switch.0.store(false, Ordering::SeqCst);
    // Keep alives come, with nothing in them.
    for _ in 0..3 {
        assert_eq!(publish(&session).await.unwrap(), 0);
    }
    assert_eq!(read(&session, &[TEMPERATURE]).await.unwrap(), [StatusCode::BadUserAccessDenied]);
    switch.0.store(true, Ordering::SeqCst);
    while publish(&session).await.unwrap() == 0 {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_decision_point_it_is_refused() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let running = Running::start(&clock, plant.address).await;
    let session = running.connect(&CLIENT).await;
    session.activate(&issued(token(&running))).await.unwrap();
    assert_eq!(read(&session, &[TEMPERATURE]).await.unwrap(), [StatusCode::BadUserAccessDenied]);
}
