//! Recall: cutoffs, heartbeats, what a restart keeps.

use durward_opcua::token::HasTokenFacts as _;

use super::*;

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
    assert_eq!((cutoffs.end(old.facts()), cutoffs.end(new.facts())), (true, false));
    world.service().session_ended("handle").await.unwrap();
    world.token(&session).await.unwrap();
    assert_eq!(asked(), 4, "any recall drops what was decided");
}

/// A subscription of a gate to cutoffs and heartbeats.
pub(super) struct Following {
    gate: ClientSession,
    subscription: u32,
    acknowledge: Option<u32>,
}

impl Following {
    pub(super) async fn begin(world: &World, gate: ClientSession) -> Following {
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
    pub(super) async fn wait_for(&mut self, name: &str) -> Duration {
        let began = Instant::now();
        loop {
            let is_it = |message: &FeedMessage<Arc<str>>| matches!(message, FeedMessage::Cutoff { target: CutoffTarget::Subject(subject), .. } if **subject == *name);
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
        world.service().revoke(CutoffTarget::Subject(name.as_str().into())).await.unwrap();
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
    world.service().revoke(CutoffTarget::All).await.unwrap();
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
    world.service().revoke(CutoffTarget::Subject("anna".into())).await.unwrap();
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
    assert!(
        world.service().revoke(CutoffTarget::Subject("bert".into())).await.is_err(),
        "the caller hears of it"
    );
    let gate = world.gate().await;
    let FeedMessage::Snapshot { cutoffs, .. } = world.snapshot(&gate, 1).await else { panic!() };
    assert!(
        cutoffs.iter().any(|(target, _)| *target == CutoffTarget::Subject("bert".into())),
        "gates do as well"
    );
    assert_eq!(world.token(&session).await, Err(StatusCode::BadResourceUnavailable));
    world.disk.full.store(false, Ordering::SeqCst);
    assert!(world.token(&session).await.is_ok());
    let records = world.disk.load().unwrap();
    let is_kept = |record: &AuthorityRecord<Arc<str>>| matches!(record, AuthorityRecord::Cutoff { target: CutoffTarget::Subject(name), .. } if **name == *"bert");
    assert!(records.iter().any(is_kept), "what could not be stored was stored later");
}

#[tokio::test]
async fn what_a_store_missed_is_stored_when_it_works_again() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    world.disk.full.store(true, Ordering::SeqCst);
    for number in 0..2_500 {
        let target = CutoffTarget::Session(format!("{number}").into());
        assert!(world.service().revoke_now(target).is_err());
    }
    world.disk.full.store(false, Ordering::SeqCst);
    assert!(world.token(&session).await.is_ok());
    let records = world.disk.load().unwrap();
    let cutoffs = records.iter().filter(|record| matches!(record, AuthorityRecord::Cutoff { .. })).count();
    assert_eq!(cutoffs, 2_501, "these, and the first of a new store");
}

#[tokio::test]
async fn many_recalls_at_once_do_not_date_tokens_ahead() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    for number in 0..200 {
        world.service().session_ended(&format!("session {number}")).await.unwrap();
    }
    // A token is handed out when it is dated two seconds ahead at most: one that is dated 200 s ahead would not come.
    let token = tokio::time::timeout(Duration::from_secs(30), world.token(&session)).await.unwrap().unwrap();
    world.verify(&token);
}
