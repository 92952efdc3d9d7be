//! The authorization service, seen by clients and gates.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::{
    AnonymousIdentityToken, AttributeId, ByteString, CallMethodResult, CreateSubscriptionRequest,
    CreateSubscriptionResponse, DateTime, EventFilter, ExtensionObject, Guid, NodeClass, NodeId, ObjectId,
    QualifiedName, Range, ReadValueId, ReferenceTypeId, SignatureData, SimpleAttributeOperand, StatusCode,
    UserTokenPolicy, Variant,
};

use super::{
    AccessTokenRequest, Authority, AuthorityNodes, CallerSessionId, FinishRequest, GDS_NAMESPACE, Identity,
    MethodCaller, NodeTableUpload, PublishedCutoffs, RECENT_MAX, REQUEST_LIFETIME, REQUESTOR_DATA_BYTES_MAX,
    RefreshRequest, Reply, Resource, ServiceDescription, StartRequest, Tokens, serve,
};
use crate::plant::test_client::{BEGIN, TestClient, below, caller};

/// Issues tokens that say what they are for, and writes down what it was asked.
#[derive(Default)]
struct Recorder {
    asked: Mutex<Vec<String>>,
}

impl Recorder {
    fn note(&self, text: String) {
        self.asked.lock().unwrap().push(text);
    }
}

fn tokens(text: String) -> Tokens {
    let expiry = DateTime::ymd(2030, 1, 1);
    Tokens {
        access_token: text,
        access_token_expiry: expiry,
        refresh_token: "next".into(),
        refresh_token_expiry: expiry,
    }
}

impl Authority for Recorder {
    fn describe(&self) -> ServiceDescription {
        ServiceDescription {
            service_uri: "urn:test:as".into(),
            service_certificate: vec![1, 2, 3],
            user_token_policies: vec![UserTokenPolicy {
                policy_id: "names".into(),
                ..UserTokenPolicy::default()
            }],
        }
    }

    fn resource(&self, resource_id: &str) -> Option<Resource> {
        let certificate = Some(Arc::from(*b"plc"));
        match resource_id {
            "urn:plc" => Some(Resource { certificate }),
            "urn:bare" => Some(Resource { certificate: None }),
            _ => None,
        }
    }

    fn request_access_token(
        &self,
        caller: &MethodCaller,
        request: AccessTokenRequest,
        _now: Moment,
    ) -> Reply<String> {
        self.note(format!("request {:?} {:?}", caller.user, request.identity));
        Box::pin(async move { Ok(format!("token for {}", request.resource_id)) })
    }

    fn start_request_token(
        &self,
        _caller: &MethodCaller,
        request: &StartRequest,
        _now: Moment,
    ) -> Reply<ByteString> {
        let refused = request.requestor_data.as_ref() == b"refuse";
        Box::pin(async move {
            if refused { Err(StatusCode::BadUserAccessDenied) } else { Ok(ByteString::from(vec![7])) }
        })
    }

    fn finish_request_token(
        &self,
        _caller: &MethodCaller,
        request: FinishRequest,
        _now: Moment,
    ) -> Reply<Tokens> {
        Box::pin(async move {
            Ok(tokens(format!("{} {:?}", request.started.resource_id, request.requested_roles)))
        })
    }

    fn refresh_token(&self, _caller: &MethodCaller, request: RefreshRequest, _now: Moment) -> Reply<Tokens> {
        Box::pin(async move { Ok(tokens(format!("after {}", request.refresh_token))) })
    }

    fn publish_node_table(&self, _caller: &MethodCaller, table: NodeTableUpload, _now: Moment) -> Reply<()> {
        self.note(format!("table {} of {} bytes", table.version, table.table.as_ref().len()));
        Box::pin(async { Ok(()) })
    }

    fn ask_cutoffs(&self, _caller: &MethodCaller, question: u64, _now: Moment) -> Reply<ByteString> {
        Box::pin(async move { Ok(ByteString::from(question.to_be_bytes().to_vec())) })
    }

    fn may_follow(&self, caller: &MethodCaller) -> bool {
        caller.certificate.as_deref() == Some(b"plc")
    }
}

/// A session with the service, its nodes, and what the service was asked.
fn service() -> (TestClient, AuthorityNodes, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    let counter = AtomicU64::new(1);
    let chance = move || u128::from(counter.fetch_add(1, Ordering::Relaxed)).to_be_bytes();
    let (server, nodes) = serve("urn:test:as", Arc::clone(&recorder), chance, BEGIN).unwrap();
    (TestClient::new(server), nodes, recorder)
}

fn gds(client: &TestClient, number: u32) -> NodeId {
    NodeId::new(client.server.space().namespace_index(GDS_NAMESPACE).unwrap(), number)
}

fn texts(result: &CallMethodResult) -> Vec<Variant> {
    assert_eq!(result.status_code, StatusCode::Good);
    result.output_arguments.clone().unwrap()
}

#[test]
fn clients_find_the_service_and_its_methods_by_browsing() {
    let (mut client, nodes, _) = service();
    let found = |client: &mut TestClient, node: &NodeId| {
        let references = client
            .browse(below(node.clone(), ReferenceTypeId::HierarchicalReferences), 0)
            .references
            .unwrap();
        references
            .into_iter()
            .map(|reference| (reference.browse_name.name.to_string(), reference.node_id.node_id))
            .collect::<Vec<_>>()
    };
    let objects = found(&mut client, &ObjectId::ObjectsFolder.into());
    assert!(objects.contains(&("AuthorizationServices".to_owned(), gds(&client, 959))));
    assert_eq!(
        found(&mut client, &nodes.folder),
        [("AuthorizationService".to_owned(), nodes.service.clone())]
    );
    let expected = [
        "ServiceUri",
        "ServiceCertificate",
        "UserTokenPolicies",
        "GetServiceDescription",
        "RequestAccessToken",
        "StartRequestToken",
        "FinishRequestToken",
        "RefreshToken",
        "Gates",
    ];
    let names: Vec<String> = found(&mut client, &nodes.service).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, expected);
    let service_type = gds(&client, 966);
    let types: Vec<NodeId> = found(&mut client, &service_type).into_iter().map(|(_, id)| id).collect();
    assert_eq!(
        types,
        [1003, 968, 967, 1004, 969, 95, 98, 64].map(|number| gds(&client, number)),
        "ids as in the standard"
    );
    let class =
        client.read(ReadValueId::new(nodes.methods.refresh_token.clone(), AttributeId::NodeClass)).value;
    assert_eq!(class, Some(Variant::from(NodeClass::Method as i32)));
    for number in [970, 971, 1005, 96, 97, 99, 100, 65, 66] {
        let node = gds(&client, number);
        assert!(client.value(node).is_array(), "{number} has arguments");
    }
}

#[test]
fn the_service_describes_itself() {
    let (mut client, nodes, _) = service();
    let outputs = texts(&client.call(nodes.service, nodes.methods.get_service_description, Vec::new()));
    assert_eq!(outputs[..2], [Variant::from("urn:test:as"), Variant::from(ByteString::from(vec![1, 2, 3]))]);
    let Variant::Array(policies) = &outputs[2] else { panic!("an array") };
    let [Variant::ExtensionObject(policy)] = policies.values.as_slice() else { panic!("one policy") };
    assert_eq!(policy.inner_as::<UserTokenPolicy>().unwrap().policy_id.as_ref(), "names");
}

#[test]
fn a_token_is_requested_by_the_method_of_the_instance_and_of_the_type() {
    let (mut client, nodes, recorder) = service();
    let of_type = gds(&client, 969);
    for method in [nodes.methods.request_access_token.clone(), of_type] {
        let anonymous = ExtensionObject::new(AnonymousIdentityToken { policy_id: "names".into() });
        for identity in [Variant::Empty, Variant::from(ExtensionObject::null()), Variant::from(anonymous)] {
            let result =
                client.call(nodes.service.clone(), method.clone(), vec![identity, Variant::from("urn:plc")]);
            assert_eq!(texts(&result), [Variant::from("token for urn:plc")]);
        }
    }
    let asked = recorder.asked.lock().unwrap();
    assert_eq!(asked.len(), 6);
    assert!(asked[1].ends_with("Session") && asked[2].contains("Anonymous("), "{asked:?}");
}

#[test]
fn nothing_is_said_on_a_channel_that_is_not_encrypted() {
    let (mut client, nodes, recorder) = service();
    client.caller.encrypted = false;
    let token = vec![Variant::Empty, Variant::from("urn:plc")];
    let result = client.call(nodes.service.clone(), nodes.methods.request_access_token, token);
    assert_eq!(result.status_code, StatusCode::BadSecurityModeInsufficient);
    let result = client.call(nodes.service, nodes.methods.get_service_description, Vec::new());
    assert_eq!(result.status_code, StatusCode::BadSecurityModeInsufficient);
    assert_eq!(recorder.asked.lock().unwrap().len(), 0);
}

#[test]
fn unknown_resources_and_wrong_identities_have_their_own_status() {
    let (mut client, nodes, _) = service();
    let mut status = |inputs| {
        client.call(nodes.service.clone(), nodes.methods.request_access_token.clone(), inputs).status_code
    };
    assert_eq!(status(vec![Variant::Empty, Variant::from("urn:nobody")]), StatusCode::BadNotFound);
    assert_eq!(status(vec![Variant::Empty, Variant::Empty]), StatusCode::BadNotFound);
    assert_eq!(status(vec![Variant::Empty, Variant::from("x".repeat(5_000))]), StatusCode::BadNotFound);
    let range = Variant::from(ExtensionObject::new(Range { low: 0.0, high: 1.0 }));
    assert_eq!(status(vec![range, Variant::from("urn:plc")]), StatusCode::BadIdentityTokenInvalid);
    assert_eq!(status(vec![Variant::from(1i32), Variant::from("urn:plc")]), StatusCode::BadInvalidArgument);
    assert_eq!(status(vec![Variant::Empty]), StatusCode::BadArgumentsMissing);
}

fn start(client: &mut TestClient, nodes: &AuthorityNodes, policy: &str, data: &[u8]) -> CallMethodResult {
    let inputs =
        vec![Variant::from("urn:plc"), Variant::from(policy), Variant::from(ByteString::from(data.to_vec()))];
    client.call(nodes.service.clone(), nodes.methods.start_request_token.clone(), inputs)
}

fn finish(client: &mut TestClient, nodes: &AuthorityNodes, id: &Variant) -> CallMethodResult {
    let roles = Variant::from(vec!["Operator".to_owned()]);
    let signature = Variant::from(ExtensionObject::new(SignatureData::null()));
    let inputs = vec![id.clone(), roles, Variant::Empty, signature];
    client.call(nodes.service.clone(), nodes.methods.finish_request_token.clone(), inputs)
}

#[test]
fn a_request_is_started_and_finished_once() {
    let (mut client, nodes, _) = service();
    let started = texts(&start(&mut client, &nodes, "names", b""));
    assert_eq!(started[0], Variant::from(ByteString::from(vec![7])));
    let finished = texts(&finish(&mut client, &nodes, &started[1]));
    assert_eq!(finished[0], Variant::from("urn:plc [\"Operator\"]"));
    assert_eq!(finished[2], Variant::from("next"));
    assert_eq!(
        finish(&mut client, &nodes, &started[1]).status_code,
        StatusCode::BadNotFound,
        "it is used up"
    );
}

#[test]
fn a_request_belongs_to_its_session_and_ends() {
    let (mut client, nodes, _) = service();
    let id = texts(&start(&mut client, &nodes, "names", b""))[1].clone();
    client.caller.session = CallerSessionId(2);
    assert_eq!(finish(&mut client, &nodes, &id).status_code, StatusCode::BadNotFound);
    client.caller.session = CallerSessionId(1);
    client.now = BEGIN.plus(REQUEST_LIFETIME - Duration::from_millis(1));
    assert_eq!(
        finish(&mut client, &nodes, &id).status_code,
        StatusCode::Good,
        "the other session did not use it up"
    );
    client.now = BEGIN;
    let id = texts(&start(&mut client, &nodes, "names", b""))[1].clone();
    client.now = BEGIN.plus(REQUEST_LIFETIME);
    assert_eq!(finish(&mut client, &nodes, &id).status_code, StatusCode::BadNotFound);
    let unknown = Variant::from(Guid::from_bytes([9; 16]));
    assert_eq!(finish(&mut client, &nodes, &unknown).status_code, StatusCode::BadNotFound);
}

#[test]
fn a_session_has_few_requests_open() {
    let (mut client, nodes, _) = service();
    let ids: Vec<Variant> = (0..5)
        .map(|_| {
            client.advance(1);
            texts(&start(&mut client, &nodes, "names", b""))[1].clone()
        })
        .collect();
    assert_eq!(finish(&mut client, &nodes, &ids[0]).status_code, StatusCode::BadNotFound, "the oldest went");
    for id in &ids[1..] {
        assert_eq!(finish(&mut client, &nodes, id).status_code, StatusCode::Good);
    }
}

#[test]
fn wrong_starts_open_no_request() {
    let (mut client, nodes, _) = service();
    assert_eq!(start(&mut client, &nodes, "other", b"").status_code, StatusCode::BadIdentityTokenInvalid);
    assert_eq!(start(&mut client, &nodes, "names", b"refuse").status_code, StatusCode::BadUserAccessDenied);
    let long = vec![0; REQUESTOR_DATA_BYTES_MAX + 1];
    assert_eq!(start(&mut client, &nodes, "names", &long).status_code, StatusCode::BadInvalidArgument);
    assert_eq!(start(&mut client, &nodes, "names", &long[1..]).status_code, StatusCode::Good);
}

#[test]
fn tokens_are_refreshed() {
    let (mut client, nodes, _) = service();
    let mut refresh = |resource: &str, token: &str| {
        let inputs = vec![Variant::from(resource), Variant::from(token)];
        client.call(nodes.service.clone(), nodes.methods.refresh_token.clone(), inputs)
    };
    let outputs = texts(&refresh("urn:plc", "first"));
    assert_eq!(outputs[0], Variant::from("after first"));
    assert_eq!(outputs.len(), 4);
    assert_eq!(refresh("urn:nobody", "first").status_code, StatusCode::BadNotFound);
    assert_eq!(refresh("urn:plc", "").status_code, StatusCode::BadIdentityTokenInvalid);
}

#[test]
fn only_the_resource_itself_publishes_its_node_table() {
    let (mut client, nodes, recorder) = service();
    let publish = |client: &mut TestClient, resource: &str, table: Vec<u8>| {
        let inputs =
            vec![Variant::from(resource), Variant::from(3u32), Variant::from(ByteString::from(table))];
        client.call(nodes.gates.clone(), nodes.methods.publish_node_table.clone(), inputs).status_code
    };
    assert_eq!(publish(&mut client, "urn:plc", vec![1]), StatusCode::BadUserAccessDenied);
    client.caller = caller(1, "plc");
    assert_eq!(publish(&mut client, "urn:plc", vec![1; 9]), StatusCode::Good);
    assert_eq!(publish(&mut client, "urn:plc", Vec::new()), StatusCode::BadInvalidArgument);
    assert_eq!(
        publish(&mut client, "urn:bare", vec![1]),
        StatusCode::BadUserAccessDenied,
        "its certificate is not known"
    );
    client.caller.certificate = None;
    assert_eq!(
        publish(&mut client, "urn:bare", vec![1]),
        StatusCode::BadUserAccessDenied,
        "no certificate is not that of a resource"
    );
    assert_eq!(publish(&mut client, "urn:nobody", vec![1]), StatusCode::BadNotFound);
    assert_eq!(*recorder.asked.lock().unwrap(), ["table 3 of 9 bytes"]);
}

#[test]
fn only_gates_see_cutoffs() {
    let (mut client, nodes, _) = service();
    let status =
        |client: &mut TestClient| client.read(ReadValueId::new_value(nodes.revocations.clone())).status();
    assert_eq!(status(&mut client), StatusCode::BadUserAccessDenied);
    client.caller = caller(1, "plc");
    assert_eq!(status(&mut client), StatusCode::Good);
    client.caller.encrypted = false;
    assert_eq!(status(&mut client), StatusCode::BadSecurityModeInsufficient);
    let parameters = || opcua_types::MonitoringParameters {
        filter: ExtensionObject::new(revocations(&nodes)),
        ..Default::default()
    };
    for node in [nodes.gates.clone(), nodes.service.clone(), ObjectId::Server.into()] {
        client.caller = caller(1, "plc");
        let id = client.subscribe(100, 5);
        let what = ReadValueId::new(node, AttributeId::EventNotifier);
        client.caller = caller(1, "anna");
        let denied = client.create(id, what.clone(), parameters());
        assert_eq!(denied.unwrap_err(), StatusCode::BadUserAccessDenied);
        client.caller = caller(1, "plc");
        assert_eq!(client.create(id, what, parameters()).unwrap().status_code, StatusCode::Good);
    }
}

/// Selects sequence number and cutoffs.
fn revocations(nodes: &AuthorityNodes) -> EventFilter {
    let field = |name: &str| SimpleAttributeOperand {
        type_definition_id: nodes.event_type.clone(),
        browse_path: Some(vec![QualifiedName::new(nodes.namespace, name)]),
        attribute_id: AttributeId::Value as u32,
        index_range: opcua_types::NumericRange::None,
    };
    EventFilter { select_clauses: Some(vec![field("Sequence"), field("Cutoffs")]), ..EventFilter::default() }
}

#[test]
fn a_cutoff_reaches_a_gate_within_one_publishing_interval() {
    let (mut client, nodes, _) = service();
    client.caller = caller(1, "plc");
    let id = client.subscribe(100, 50);
    let parameters = opcua_types::MonitoringParameters {
        filter: ExtensionObject::new(revocations(&nodes)),
        client_handle: 4,
        ..opcua_types::MonitoringParameters::default()
    };
    client.create(id, ReadValueId::new(nodes.gates.clone(), AttributeId::EventNotifier), parameters).unwrap();
    client.publish();
    client.run(100);
    client.message();
    client.publish();
    let mut cutoffs = PublishedCutoffs::new(&nodes);
    let now = client.now;
    let cutoff = ByteString::from(vec![5; 12]);
    cutoffs.publish(&mut client.server, 1, cutoff.clone(), now);
    client.run(100);
    let message = client.message();
    let data = message.notification_message.notification_data.unwrap();
    let list = data[0].inner_as::<opcua_types::EventNotificationList>().unwrap();
    let fields = list.events.as_ref().unwrap()[0].event_fields.clone().unwrap();
    assert_eq!(fields, [Variant::from(1u64), Variant::from(vec![cutoff])]);
    assert_eq!(client.value(nodes.sequence.clone()), Variant::from(1u64));
}

#[test]
fn the_last_cutoffs_are_shown() {
    let (mut client, nodes, _) = service();
    client.caller = caller(1, "plc");
    let mut cutoffs = PublishedCutoffs::new(&nodes);
    let bytes = |number: usize| ByteString::from(vec![number as u8]);
    for number in 1..=RECENT_MAX + 1 {
        cutoffs.publish(&mut client.server, number as u64, bytes(number), BEGIN);
    }
    let expected: Vec<ByteString> = (2..=RECENT_MAX + 1).map(bytes).collect();
    assert_eq!(client.value(nodes.revocations.clone()), Variant::from(expected));
    assert_eq!(client.value(nodes.sequence.clone()), Variant::from(RECENT_MAX as u64 + 1));
    cutoffs.beat(&mut client.server, bytes(9), BEGIN);
    assert_eq!(client.value(nodes.heartbeat.clone()), Variant::from(bytes(9)));
}

#[test]
fn only_gates_ask_for_all_cutoffs() {
    let (mut client, nodes, _) = service();
    let mut ask = |name: &str| {
        client.caller = caller(1, name);
        client.call(nodes.gates.clone(), nodes.methods.ask_cutoffs.clone(), vec![Variant::from(7u64)])
    };
    assert_eq!(ask("anna").status_code, StatusCode::BadUserAccessDenied);
    assert_eq!(texts(&ask("plc")), [Variant::from(ByteString::from(7u64.to_be_bytes().to_vec()))]);
}

#[test]
fn identities_keep_their_type() {
    // What is told to the decision is what was sent: nothing is taken for somebody else's.
    let (mut client, nodes, recorder) = service();
    let issued = opcua_types::IssuedIdentityToken {
        policy_id: "p".into(),
        token_data: ByteString::from(vec![1]),
        encryption_algorithm: "".into(),
    };
    let inputs = vec![Variant::from(ExtensionObject::new(issued.clone())), Variant::from("urn:plc")];
    texts(&client.call(nodes.service.clone(), nodes.methods.request_access_token.clone(), inputs));
    let expected = format!("request Name(\"anna\") {:?}", Identity::Issued(issued));
    assert_eq!(recorder.asked.lock().unwrap()[0], expected);
}

/// Anybody could have taken all places for subscriptions, for years: a gate that restarted heard of no recall any more.
#[test]
fn only_gates_subscribe_and_within_a_quota() {
    let (mut client, nodes, _) = service();
    let create = |client: &mut TestClient, interval: f64, lifetime: u32| {
        let request = CreateSubscriptionRequest {
            requested_publishing_interval: interval,
            requested_lifetime_count: lifetime,
            requested_max_keep_alive_count: 10_000,
            ..CreateSubscriptionRequest::default()
        };
        client.ask::<_, CreateSubscriptionResponse>(&request)
    };
    assert_eq!(create(&mut client, 3_600_000.0, 100_000).unwrap_err(), StatusCode::BadUserAccessDenied);
    client.caller = caller(2, "plc");
    client.caller.encrypted = false;
    assert_eq!(create(&mut client, 50.0, 100).unwrap_err(), StatusCode::BadSecurityModeInsufficient);

    // A gate's own subscriptions are few, and live for ten minutes at most.
    client.caller.encrypted = true;
    let first = create(&mut client, 3_600_000.0, 100_000).unwrap();
    let lifetime_ms = first.revised_publishing_interval * f64::from(first.revised_lifetime_count);
    assert!(lifetime_ms <= 600_000.0, "{first:?}");
    assert!(first.revised_lifetime_count >= 3 * first.revised_max_keep_alive_count, "{first:?}");
    for _ in 1..8 {
        create(&mut client, 50.0, 100).unwrap();
    }
    assert_eq!(create(&mut client, 50.0, 100).unwrap_err(), StatusCode::BadTooManySubscriptions);
    client.caller = caller(3, "plc");
    assert_eq!(
        create(&mut client, 50.0, 100).unwrap_err(),
        StatusCode::BadTooManySubscriptions,
        "another session of the same gate"
    );
    // What a session left behind makes room.
    client.server.close_session(CallerSessionId(2), false);
    let id = create(&mut client, 50.0, 100).unwrap().subscription_id;
    assert_eq!(first.subscription_id + 8, id);

    let what = || ReadValueId::new_value(nodes.heartbeat.clone());
    let parameters = |queue_size| opcua_types::MonitoringParameters { queue_size, ..Default::default() };
    let status =
        |client: &mut TestClient, size| client.create(id, what(), parameters(size)).unwrap().status_code;
    for _ in 0..3 {
        assert_eq!(status(&mut client, 1_000), StatusCode::Good);
    }
    assert_eq!(status(&mut client, 990), StatusCode::Good);
    assert_eq!(status(&mut client, 11), StatusCode::BadTooManyMonitoredItems, "4,000 places in queues");
    let ones = (0..31).map(|_| status(&mut client, 1)).collect::<Vec<_>>();
    assert_eq!(ones.iter().filter(|status| **status == StatusCode::Good).count(), 10, "{ones:?}");
}
