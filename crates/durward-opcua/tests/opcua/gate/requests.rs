//! What reaches the plant, and what comes back.

use std::time::{Duration, Instant};

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::permission::Permission::{Browse, Call, Read, Write};
use opcua_types::*;

use super::support::{
    Clock, Plant, Running, call, children, eventually, issued, node, publish, read, subscribe, write,
};
use crate::fixture::{CLIENT, OTHER, status};

async fn start() -> (Plant, Running) {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let running = Running::start(&clock, plant.address).await;
    (plant, running)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_granted_refused_and_mixed() {
    let (_plant, running) = start().await;
    let granted: &[(&str, &[_])] = &[("Boiler.Temperature", &[Browse, Read]), ("Boiler.Pressure", &[Browse])];
    let session = running.session(granted).await;
    let one = read(&session, &["Boiler.Temperature"]).await.unwrap();
    assert_eq!(one, [StatusCode::Good]);
    let mixed =
        ["Boiler.Pressure", "Boiler.Temperature", "Boiler.Level", "Boiler.Temperature", "No.Such.Node"];
    assert_eq!(
        read(&session, &mixed).await.unwrap(),
        [
            StatusCode::BadUserAccessDenied,
            StatusCode::Good,
            // What may not be browsed is as if it were not there.
            StatusCode::BadNodeIdUnknown,
            StatusCode::Good,
            StatusCode::BadNodeIdUnknown,
        ]
    );
    assert_eq!(read(&session, &["Boiler.Pressure"]).await.unwrap(), [StatusCode::BadUserAccessDenied]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_and_calls_are_granted_and_refused() {
    let (plant, running) = start().await;
    let granted: &[(&str, &[_])] = &[
        ("Boiler.Mode", &[Browse, Write]),
        ("Boiler.Burner.SetPoint", &[Browse, Read]),
        ("Boiler.Motor", &[Browse, Call]),
        ("Boiler.Motor.Start", &[Browse, Call]),
        ("Boiler.Motor.Stop", &[Browse]),
        ("Boiler.Motor.Running", &[Browse, Read]),
    ];
    let session = running.session(granted).await;
    assert_eq!(write(&session, "Boiler.Mode", Variant::from("Manual")).await, StatusCode::Good);
    assert_eq!(
        write(&session, "Boiler.Burner.SetPoint", Variant::from(50.0)).await,
        StatusCode::BadUserAccessDenied
    );
    let value = |name: &str| plant.host.with(|server| server.space().stored(&node(name)).cloned());
    assert_eq!(value("Boiler.Mode"), Some(Variant::from("Manual")));
    assert_eq!(value("Boiler.Burner.SetPoint"), Some(Variant::from(0.0)));
    assert_eq!(call(&session, "Boiler.Motor", "Boiler.Motor.Start").await, StatusCode::Good);
    assert!(call(&session, "Boiler.Motor", "Boiler.Motor.Stop").await.is_bad());
    assert_eq!(value("Boiler.Motor.Running"), Some(Variant::from(true)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_browsed_is_not_there() {
    let (_plant, running) = start().await;
    let granted: &[(&str, &[_])] =
        &[("Boiler", &[Browse]), ("Boiler.Temperature", &[Browse]), ("Boiler.Motor", &[Browse])];
    let session = running.session(granted).await;
    assert_eq!(children(&session, "Boiler").await, ["Motor", "Temperature"]);
    assert_eq!(children(&session, "Plant").await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_delivers_and_ends_with_the_right() {
    let (plant, running) = start().await;
    let granted: &[(&str, &[_])] = &[("Boiler.Temperature", &[Browse, Read]), ("Boiler.Pressure", &[Browse])];
    let session = running.session(granted).await;
    let (_, statuses) = subscribe(&session, &["Boiler.Temperature", "Boiler.Pressure"]).await;
    assert_eq!(statuses, [StatusCode::Good, StatusCode::BadUserAccessDenied]);
    let mut count = 0;
    while count < 3 {
        count += publish(&session).await.unwrap();
    }
    let other = running.connect(&CLIENT).await;
    other.activate(&running.token("bert", granted)).await.unwrap();
    let (recalled, last) = tokio::join!(
        async {
            tokio::time::sleep(Duration::from_millis(120)).await;
            running.recall(1, "anna");
            Instant::now()
        },
        async {
            loop {
                if let Err(error) = publish(&session).await {
                    return (error, Instant::now());
                }
            }
        }
    );
    let closed = [StatusCode::BadSessionClosed, StatusCode::BadSessionIdInvalid];
    assert!(closed.contains(&last.0.status()), "{:?}", last.0);
    let late = last.1.saturating_duration_since(recalled);
    assert!(late < Duration::from_millis(50), "{late:?}: longer than a publishing interval");
    assert_eq!(status(read(&session, &["Boiler.Temperature"]).await), StatusCode::BadSessionIdInvalid);
    assert!(running.audited("urn:test:client anna ended: the right was recalled"));
    // The other subject's rights are as they were, and the recalled session is closed upstream as well.
    assert_eq!(read(&other, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    eventually("the session upstream is closed", async || plant.server.session_count() == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recalled_right_is_refused_in_every_try() {
    let (_plant, running) = start().await;
    let granted: &[(&str, &[_])] = &[("Boiler.Temperature", &[Browse, Read])];
    for try_number in 1..=20 {
        let subject = format!("user-{try_number}");
        let session = running.connect(&CLIENT).await;
        session.activate(&running.token(&subject, granted)).await.unwrap();
        subscribe(&session, &["Boiler.Temperature"]).await;
        while publish(&session).await.unwrap() == 0 {}
        running.recall(try_number, &subject);
        assert!(read(&session, &["Boiler.Temperature"]).await.is_err());
        assert!(publish(&session).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_rights_after_reactivation_stop_what_they_do_not_cover() {
    let (_plant, running) = start().await;
    let both: &[(&str, &[_])] =
        &[("Boiler.Temperature", &[Browse, Read]), ("Boiler.Pressure", &[Browse, Read])];
    let session = running.session(both).await;
    subscribe(&session, &["Boiler.Temperature"]).await;
    while publish(&session).await.unwrap() == 0 {}
    session.activate(&running.token("anna", &[("Boiler.Pressure", &[Browse, Read])])).await.unwrap();
    let read_both = read(&session, &["Boiler.Temperature", "Boiler.Pressure"]).await.unwrap();
    assert_eq!(read_both, [StatusCode::BadNodeIdUnknown, StatusCode::Good]);
    // Values that changed meanwhile stay where they are; a Publish that waits gets none of them.
    for _ in 0..3 {
        let values = tokio::time::timeout(Duration::from_millis(300), publish(&session)).await;
        assert!(matches!(values, Err(_) | Ok(Ok(0))), "{values:?}");
    }
    session.activate(&running.token("anna", both)).await.unwrap();
    assert_eq!(read(&session, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    eventually("values come again", async || publish(&session).await.unwrap() > 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_do_not_reach_each_others_subscriptions() {
    let (_plant, running) = start().await;
    let granted: &[(&str, &[_])] = &[("Boiler.Temperature", &[Browse, Read])];
    let anna = running.session(granted).await;
    let (subscription, _) = subscribe(&anna, &["Boiler.Temperature"]).await;
    let eve = running.connect(&OTHER).await;
    let token = running.token_for(&OTHER, "anna", granted, Duration::from_secs(600));
    eve.activate(&issued(token)).await.unwrap();
    let delete = DeleteSubscriptionsRequest {
        subscription_ids: Some(vec![subscription]),
        ..DeleteSubscriptionsRequest::default()
    };
    let deleted: DeleteSubscriptionsResponse = eve.call(&delete).await.unwrap();
    assert_eq!(deleted.results, Some(vec![StatusCode::BadSubscriptionIdInvalid]));
    let transfer = TransferSubscriptionsRequest {
        subscription_ids: Some(vec![subscription]),
        ..TransferSubscriptionsRequest::default()
    };
    let transferred: TransferSubscriptionsResponse = eve.call(&transfer).await.unwrap();
    assert_eq!(transferred.results.unwrap()[0].status_code, StatusCode::BadSubscriptionIdInvalid);
    assert!(publish(&eve).await.is_err());
    eventually("values still come", async || publish(&anna).await.unwrap() > 0).await;
    // Another session of the same client and user may take it (Part 4, 5.14.7).
    let second = running.session(granted).await;
    let transferred: TransferSubscriptionsResponse = second.call(&transfer).await.unwrap();
    assert_eq!(transferred.results.unwrap()[0].status_code, StatusCode::Good);
    eventually("values come to the other session", async || publish(&second).await.unwrap() > 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_outlives_its_session_for_its_owner_alone() {
    let (_plant, running) = start().await;
    let granted: &[(&str, &[_])] = &[("Boiler.Temperature", &[Browse, Read])];
    let first = running.session(granted).await;
    let (subscription, _) = subscribe(&first, &["Boiler.Temperature"]).await;
    first.close(false).await.unwrap();
    let transfer = TransferSubscriptionsRequest {
        subscription_ids: Some(vec![subscription]),
        send_initial_values: true,
        ..TransferSubscriptionsRequest::default()
    };
    let bert = running.connect(&CLIENT).await;
    bert.activate(&running.token("bert", granted)).await.unwrap();
    let refused: TransferSubscriptionsResponse = bert.call(&transfer).await.unwrap();
    assert_eq!(refused.results.unwrap()[0].status_code, StatusCode::BadSubscriptionIdInvalid);
    let second = running.session(granted).await;
    let taken: TransferSubscriptionsResponse = second.call(&transfer).await.unwrap();
    assert_eq!(taken.results.unwrap()[0].status_code, StatusCode::Good);
    eventually("values come", async || publish(&second).await.unwrap() > 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_publish_is_cancelled_upstream() {
    let (_plant, running) = start().await;
    let session = running.session(&[("Boiler.Temperature", &[Browse, Read])]).await;
    subscribe(&session, &[]).await;
    // More of them than the plant lets wait: each is cancelled before the next.
    for handle in 1_000..1_040 {
        let mut request = PublishRequest::default();
        request.request_header.request_handle = handle;
        let cancel = CancelRequest { request_handle: handle, ..CancelRequest::default() };
        let publish = session.call::<_, PublishResponse>(&request);
        let cancelled = async {
            loop {
                let response: CancelResponse = session.call(&cancel).await.unwrap();
                if response.cancel_count == 1 {
                    return;
                }
            }
        };
        let (published, ()) = tokio::join!(publish, cancelled);
        assert!(matches!(
            status(published),
            StatusCode::BadRequestCancelledByClient | StatusCode::BadRequestCancelledByRequest
        ));
    }
    assert_eq!(running.gate.figures().refusals_of(ServiceKind::Read), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_sessions_are_served_and_leave_nothing() {
    let (plant, running) = start().await;
    let granted: &[(&str, &[_])] = &[("Boiler.Temperature", &[Browse, Read])];
    let mut sessions = Vec::new();
    for _ in 0..100 {
        sessions.push(running.session(granted).await);
    }
    let reads = sessions.iter().map(|session| read(session, &["Boiler.Temperature", "Boiler.Pressure"]));
    for statuses in futures_util::future::join_all(reads).await {
        assert_eq!(statuses.unwrap(), [StatusCode::Good, StatusCode::BadNodeIdUnknown]);
    }
    let count = || running.gate.figures().sessions.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(count(), 100);
    for session in sessions {
        session.close(true).await.unwrap();
    }
    eventually("all are gone upstream", async || plant.server.session_count() == 1).await;
    assert_eq!(count(), 0);
}

/// What clients read to connect, and to learn whether the server lives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_session_may_read_the_servers_state_unless_the_settings_say_no() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let ids = [
        VariableId::Server_NamespaceArray,
        VariableId::Server_ServerArray,
        VariableId::Server_ServerStatus,
        VariableId::Server_ServerStatus_State,
        VariableId::Server_ServerCapabilities_OperationLimits_MaxNodesPerRead,
    ];
    for shows in [true, false] {
        let running =
            Running::with(&clock, plant.address, |settings| settings.shows_server_state = shows).await;
        let session = running.session(&[("Boiler.Temperature", &[Browse, Read])]).await;
        let nodes = ids.iter().map(|id| ReadValueId::new_value((*id).into())).collect();
        let request = ReadRequest { nodes_to_read: Some(nodes), ..ReadRequest::default() };
        let response: ReadResponse = session.call(&request).await.unwrap();
        let status = |value: DataValue| value.status.unwrap_or(StatusCode::Good);
        let expected = if shows { StatusCode::Good } else { StatusCode::BadNodeIdUnknown };
        let statuses: Vec<StatusCode> = response.results.unwrap().into_iter().map(status).collect();
        assert_eq!(statuses, [expected; 5]);
        // Nothing else of the Server object, and nothing may be changed or called.
        let others = [
            (NodeId::from(VariableId::Server_ServerDiagnostics_EnabledFlag), AttributeId::Value),
            (NodeId::from(MethodId::Server_GetMonitoredItems), AttributeId::Executable),
        ];
        let nodes = others.map(|(node_id, attribute)| ReadValueId {
            attribute_id: attribute as u32,
            ..ReadValueId::new_value(node_id)
        });
        let request = ReadRequest { nodes_to_read: Some(nodes.to_vec()), ..ReadRequest::default() };
        let response: ReadResponse = session.call(&request).await.unwrap();
        assert!(
            response.results.unwrap().into_iter().all(|value| status(value) == StatusCode::BadNodeIdUnknown)
        );
        let write = WriteValue::value_attr(ids[0].into(), Variant::from("urn:other"));
        let request = WriteRequest { nodes_to_write: Some(vec![write]), ..WriteRequest::default() };
        let response: WriteResponse = session.call(&request).await.unwrap();
        let refused = if shows { StatusCode::BadUserAccessDenied } else { StatusCode::BadNodeIdUnknown };
        assert_eq!(response.results.unwrap(), [refused]);
    }
}

/// A value changes while the right to it is gone, and not again: it comes when the right does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_comes_back_brings_the_present_value() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let running = Running::start(&clock, plant.address).await;
    let less: &[(&str, &[_])] = &[("Boiler.Temperature", &[Browse, Read])];
    let more: &[(&str, &[_])] = &[("Boiler.Mode", &[Browse, Read])];
    let session = running.session(more).await;
    subscribe(&session, &["Boiler.Mode"]).await;
    while publish(&session).await.unwrap() == 0 {}
    session.activate(&running.token("anna", less)).await.unwrap();
    plant.host.with_mut(|server| {
        assert!(server.space_mut().set(&node("Boiler.Mode"), Variant::from("Manual"), clock.now()));
    });
    assert_eq!(publish(&session).await.unwrap(), 0);
    session.activate(&running.token("anna", more)).await.unwrap();
    let mut values = 0;
    for _ in 0..5 {
        values += publish(&session).await.unwrap();
        if values > 0 {
            break;
        }
    }
    assert_eq!(values, 1);
}
