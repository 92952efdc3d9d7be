//! What one session must not get from another, from a server that lies, or by a way around; one story each.

use std::sync::{Arc, Mutex};

use durward_opcua::gate::mediate::service::Service;
use durward_opcua::gate::mediate::{Limits, Mediator, NoTransfers, Owners, Reply, Subscription};
use durward_opcua::permission::{Permission, Rights, Ruling};
use opcua_types::*;

use super::answers::answer;
use super::support::{
    All, Grants, answered, forward, mediator, node, read_of, refused, reply, request, request_body, response,
    response_body,
};
use super::table::{ITEM, OWN, create_item, event_filter, history_read, samples, with_subscription};

fn sample(service: Service) -> Vec<u8> {
    samples().into_iter().find(|(of, _)| *of == service).expect("a sample").1
}

fn read(ids: Vec<ReadValueId>) -> Vec<u8> {
    request_body(&ReadRequest {
        request_header: RequestHeader::dummy(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(ids),
    })
}

fn read_response(results: Vec<DataValue>) -> Vec<u8> {
    response_body(&ReadResponse {
        response_header: ResponseHeader::null(),
        results: Some(results),
        diagnostic_infos: None,
    })
}

fn message(handle: u32, value: i32) -> NotificationMessage {
    NotificationMessage {
        sequence_number: 1,
        publish_time: DateTime::epoch(),
        notification_data: Some(vec![ExtensionObject::from_message(DataChangeNotification {
            monitored_items: Some(vec![MonitoredItemNotification {
                client_handle: handle,
                value: DataValue::from(value),
            }]),
            diagnostic_infos: None,
        })]),
    }
}

fn publish_response(subscription: u32, message: NotificationMessage) -> Vec<u8> {
    response_body(&PublishResponse {
        response_header: ResponseHeader::null(),
        subscription_id: subscription,
        available_sequence_numbers: Some(vec![message.sequence_number]),
        more_notifications: false,
        notification_message: message,
        results: None,
        diagnostic_infos: None,
    })
}

fn fault<'a>(
    mediator: &mut Mediator,
    rights: &dyn Rights,
    service: Service,
    request: &[u8],
    answer: &'a [u8],
) -> Reply<'a> {
    forward(mediator, rights, 50, service, request);
    mediator.on_response(rights, 50, service.response_id(), answer)
}

const LIE: Reply<'static> = Reply::Fault(StatusCode::BadUnknownResponse);

#[test]
fn a_server_with_more_or_fewer_results_is_answered_by_a_fault() {
    let body = read(vec![read_of(&node(1), 13), read_of(&node(2), 13)]);
    let some = Grants::of(&[(Permission::Read, node(1))]);
    let values = |count: i32| read_response((0..count).map(DataValue::from).collect());
    assert_eq!(fault(&mut mediator(), &All, Service::Read, &body, &values(1)), LIE);
    assert_eq!(fault(&mut mediator(), &All, Service::Read, &body, &values(3)), LIE);
    // One entry went upstream; the server answers for the refused one as well.
    assert_eq!(fault(&mut mediator(), &some, Service::Read, &body, &values(2)), LIE);
    assert_eq!(fault(&mut mediator(), &some, Service::Read, &body, &values(0)), LIE);
}

#[test]
fn a_right_told_in_a_wrong_type_is_not_told() {
    let grants = Grants::of(&[(Permission::Browse, node(1))]);
    let body = read(vec![read_of(&node(1), 18)]);
    let answer = read_response(vec![DataValue::from(Variant::UInt32(0x7f))]);
    let mut mediator = mediator();
    forward(&mut mediator, &grants, 1, Service::Read, &body);
    let read: ReadResponse = response(&reply(&mut mediator, &grants, 1, Service::Read, &answer));
    let result = &read.results.expect("results")[0];
    assert_eq!((result.status, &result.value), (Some(StatusCode::BadUserAccessDenied), &None));
}

/// A refusal with another reason keeps it; one that claims to be good is none.
#[test]
fn the_reason_of_a_refusal_reaches_the_client() {
    struct Says(StatusCode);
    impl Rights for Says {
        fn rule(&self, _: Permission, _: &NodeId) -> Ruling {
            Ruling::Refused(self.0)
        }
    }
    for (says, told) in [
        (StatusCode::BadSessionClosed, StatusCode::BadSessionClosed),
        (StatusCode::BadUserAccessDenied, StatusCode::BadNodeIdUnknown),
        (StatusCode::Good, StatusCode::BadUserAccessDenied),
    ] {
        let outcome = answered(&mut mediator(), &Says(says), 1, Service::Read, &sample(Service::Read));
        let read: ReadResponse = response(&outcome);
        assert_eq!(read.results.expect("results")[0].status, Some(told));
    }
}

/// A vendor's structure in a written value goes upstream byte for byte, also when its neighbour is cut out.
#[test]
fn unknown_extension_objects_pass_unharmed() {
    let vendor = [&[0x01, 9, 0x39, 0x30, 1][..], &5i32.to_le_bytes(), &[1, 2, 3, 4, 5]].concat();
    let value = [&[0x01, 0x16][..], &vendor].concat();
    let entry =
        |number: u8| [&[1, 2, number, 0][..], &13u32.to_le_bytes(), &(-1i32).to_le_bytes(), &value].concat();
    let list = |entries: &[Vec<u8>]| [&(entries.len() as i32).to_le_bytes()[..], &entries.concat()].concat();
    let grants = Grants::of(&[(Permission::Write, node(2))]);
    let sent = forward(&mut mediator(), &grants, 1, Service::Write, &list(&[entry(1), entry(2), entry(3)]));
    assert_eq!(sent, list(&[entry(2)]));
}

#[test]
fn session_diagnostics_are_not_there_whatever_is_granted() {
    for number in [3706u32, 3707, 3708, 2289, 2290] {
        let hidden = NodeId::new(0, number);
        let outcome = answered(&mut mediator(), &All, 1, Service::Read, &read(vec![read_of(&hidden, 13)]));
        let read: ReadResponse = response(&outcome);
        assert_eq!(read.results.expect("results")[0].status, Some(StatusCode::BadNodeIdUnknown));
    }
    let to = |target: ExpandedNodeId, type_definition: NodeId| ReferenceDescription {
        node_id: target,
        type_definition: type_definition.into(),
        ..Default::default()
    };
    let foreign = |namespace_uri: &str, server_index| ExpandedNodeId {
        node_id: node(5),
        namespace_uri: namespace_uri.into(),
        server_index,
    };
    let references = vec![
        to(node(4).into(), NodeId::null()),
        to(NodeId::new(0, 3706u32).into(), NodeId::null()),
        // A session's own object, under its own id, and arrays of a vendor's server.
        to(node(6).into(), NodeId::new(0, 2029u32)),
        to(node(7).into(), NodeId::new(0, 2171u32)),
        // Nodes that the rights cannot speak of.
        to(foreign("urn:elsewhere", 0), NodeId::null()),
        to(foreign("", 3), NodeId::null()),
    ];
    let answer = response_body(&BrowseResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![BrowseResult { references: Some(references), ..Default::default() }]),
        diagnostic_infos: None,
    });
    let mut mediator = mediator();
    forward(&mut mediator, &All, 1, Service::Browse, &sample(Service::Browse));
    let browsed: BrowseResponse = response(&reply(&mut mediator, &All, 1, Service::Browse, &answer));
    let references = browsed.results.expect("results").remove(0).references.expect("references");
    let seen: Vec<NodeId> = references.into_iter().map(|reference| reference.node_id.node_id).collect();
    assert_eq!(seen, [node(4)]);
}

#[test]
fn targets_in_other_servers_end_no_path() {
    let target =
        |id: ExpandedNodeId, remaining_path_index| BrowsePathTarget { target_id: id, remaining_path_index };
    let remote = ExpandedNodeId { node_id: node(3), namespace_uri: UAString::null(), server_index: 1 };
    let answer = response_body(&TranslateBrowsePathsToNodeIdsResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![BrowsePathResult {
            status_code: StatusCode::Good,
            targets: Some(vec![target(remote, u32::MAX), target(node(4).into(), 0)]),
        }]),
        diagnostic_infos: None,
    });
    let service = Service::TranslateBrowsePathsToNodeIds;
    let mut mediator = mediator();
    forward(&mut mediator, &All, 1, service, &sample(service));
    let translated: TranslateBrowsePathsToNodeIdsResponse =
        response(&reply(&mut mediator, &All, 1, service, &answer));
    assert_eq!(translated.results.expect("results")[0].status_code, StatusCode::BadNoMatch);
}

#[test]
fn one_alias_for_two_nodes_is_a_lie() {
    let register = |number| {
        request_body(&RegisterNodesRequest {
            request_header: RequestHeader::dummy(),
            nodes_to_register: Some(vec![node(number)]),
        })
    };
    let answer = response_body(&RegisterNodesResponse {
        response_header: ResponseHeader::null(),
        registered_node_ids: Some(vec![node(99)]),
    });
    let mut mediator = mediator();
    forward(&mut mediator, &All, 1, Service::RegisterNodes, &register(1));
    reply(&mut mediator, &All, 1, Service::RegisterNodes, &answer);
    assert_eq!(fault(&mut mediator, &All, Service::RegisterNodes, &register(2), &answer), LIE);
    // The first node may still be read under it, by the right on the first node; the alias itself is no node.
    let grants = Grants::of(&[(Permission::Read, node(1))]);
    forward(&mut mediator, &grants, 3, Service::Read, &read(vec![read_of(&node(99), 13)]));
    let grants = Grants::of(&[(Permission::Read, node(99)), (Permission::Read, node(2))]);
    let outcome = answered(&mut mediator, &grants, 4, Service::Read, &read(vec![read_of(&node(99), 13)]));
    assert_eq!(outcome[4..6], [2, 0], "refused");
    // Given back, it is nobody's.
    let unregister = request_body(&UnregisterNodesRequest {
        request_header: RequestHeader::dummy(),
        nodes_to_unregister: Some(vec![node(1), node(99)]),
    });
    let sent: UnregisterNodesRequest =
        request(&forward(&mut mediator, &All, 5, Service::UnregisterNodes, &unregister));
    assert_eq!(sent.nodes_to_unregister, Some(vec![node(99)]));
    let grants = Grants::of(&[(Permission::Read, node(1))]);
    answered(&mut mediator, &grants, 6, Service::Read, &read(vec![read_of(&node(99), 13)]));
}

#[test]
fn notifications_of_unknown_subscriptions_and_items_do_not_pass() {
    let publish = sample(Service::Publish);
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    assert_eq!(
        fault(&mut mediator, &All, Service::Publish, &publish, &publish_response(OWN + 1, message(1, 1))),
        LIE
    );
    // The item's handle is 1. What comes under another handle, or is of an unknown kind, is not delivered.
    let mut unknown_kind = message(1, 1);
    unknown_kind.notification_data = Some(vec![
        ExtensionObject::from_message(Range { low: 0.0, high: 1.0 }),
        ExtensionObject::from_message(EventNotificationList {
            events: Some(vec![EventFieldList {
                client_handle: 1,
                event_fields: Some(vec![Variant::from(1), Variant::from(NodeId::null())]),
            }]),
        }),
    ]);
    for lie in [message(2, 1), unknown_kind] {
        forward(&mut mediator, &All, 7, Service::Publish, &publish);
        let answer = publish_response(OWN, lie);
        let got: PublishResponse = response(&reply(&mut mediator, &All, 7, Service::Publish, &answer));
        assert_eq!(got.notification_message.notification_data.unwrap_or_default(), []);
        assert_eq!(got.notification_message.sequence_number, 1, "a keep alive tells the next number");
        assert_eq!(got.available_sequence_numbers.unwrap_or_default(), [0; 0]);
        // The gate acknowledges it with the next request; the server's result of that is not the client's.
        let sent: PublishRequest = request(&forward(&mut mediator, &All, 8, Service::Publish, &publish));
        assert_eq!(sent.subscription_acknowledgements.map(|acks| acks.len()), Some(1));
        mediator.on_fault(8);
    }
    forward(&mut mediator, &All, 7, Service::Publish, &publish);
    let got: PublishResponse =
        response(&reply(&mut mediator, &All, 7, Service::Publish, &publish_response(OWN, message(1, 5))));
    let data = got.notification_message.notification_data.expect("data").remove(0);
    let changes = *data.into_inner_as::<DataChangeNotification>().expect("changes");
    assert_eq!(changes.monitored_items.expect("items")[0].client_handle, 5, "the client's own handle");
}

#[test]
fn items_that_failed_deliver_nothing() {
    let publish = sample(Service::Publish);
    let create = create_item(OWN, &node(1), 13, ExtensionObject::null());
    let failed = response_body(&CreateMonitoredItemsResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![MonitoredItemCreateResult {
            status_code: StatusCode::BadMonitoredItemFilterUnsupported,
            ..Default::default()
        }]),
        diagnostic_infos: None,
    });
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    forward(&mut mediator, &All, 3, Service::CreateMonitoredItems, &create);
    reply(&mut mediator, &All, 3, Service::CreateMonitoredItems, &failed);
    forward(&mut mediator, &All, 4, Service::CreateMonitoredItems, &create);
    mediator.on_fault(4);
    forward(&mut mediator, &All, 5, Service::CreateMonitoredItems, &create);
    assert_eq!(mediator.on_response(&All, 5, Service::CreateMonitoredItems.response_id(), &[1]), LIE);
    for handle in [2, 3, 4] {
        forward(&mut mediator, &All, 6, Service::Publish, &publish);
        let answer = publish_response(OWN, message(handle, 1));
        let got: PublishResponse = response(&reply(&mut mediator, &All, 6, Service::Publish, &answer));
        assert_eq!(got.notification_message.notification_data.unwrap_or_default(), [], "handle {handle}");
        mediator.on_fault(6);
        forward(&mut mediator, &All, 6, Service::Publish, &publish);
        mediator.on_fault(6);
    }
}

#[test]
fn an_event_filter_gets_the_source_and_its_result_loses_it() {
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    let create = create_item(OWN, &node(1), 12, ExtensionObject::from_message(event_filter()));
    let sent: CreateMonitoredItemsRequest =
        request(&forward(&mut mediator, &All, 3, Service::CreateMonitoredItems, &create));
    let filter = sent.items_to_create.expect("items").remove(0).requested_parameters.filter;
    let filter = *filter.into_inner_as::<EventFilter>().expect("a filter");
    let clauses = filter.select_clauses.expect("clauses");
    assert_eq!(clauses.len(), 2);
    assert_eq!(clauses[1].browse_path, Some(vec![QualifiedName::new(0, "SourceNode")]));
    let got =
        reply(&mut mediator, &All, 3, Service::CreateMonitoredItems, &answer(Service::CreateMonitoredItems));
    let got: CreateMonitoredItemsResponse = response(&got);
    let result = got.results.expect("results").remove(0).filter_result;
    let result = *result.into_inner_as::<EventFilterResult>().expect("a result");
    assert_eq!(result.select_clause_results, Some(vec![StatusCode::Good]));
}

/// A filter could ask yes-or-no questions about nodes that may not be read.
#[test]
fn event_filters_look_at_nothing_but_the_event() {
    let element = |filter_operator, operand| {
        let mut filter = event_filter();
        filter.where_clause.elements =
            Some(vec![ContentFilterElement { filter_operator, filter_operands: Some(vec![operand]) }]);
        filter
    };
    let literal = || ExtensionObject::from_message(LiteralOperand { value: Variant::from(node(9)) });
    let of_node = ExtensionObject::from_message(AttributeOperand {
        node_id: node(9),
        alias: UAString::null(),
        browse_path: RelativePath { elements: None },
        attribute_id: 13,
        index_range: NumericRange::None,
    });
    let mut nothing = event_filter();
    nothing.select_clauses = None;
    for (filter, status) in [
        (element(FilterOperator::Equals, of_node), StatusCode::BadFilterOperandInvalid),
        (element(FilterOperator::InView, literal()), StatusCode::BadFilterOperatorUnsupported),
        (element(FilterOperator::RelatedTo, literal()), StatusCode::BadFilterOperatorUnsupported),
        (nothing, StatusCode::BadEventFilterInvalid),
    ] {
        let mut mediator = mediator();
        with_subscription(&mut mediator);
        let create = create_item(OWN, &node(1), 12, ExtensionObject::from_message(filter));
        let outcome = answered(&mut mediator, &All, 3, Service::CreateMonitoredItems, &create);
        let got: CreateMonitoredItemsResponse = response(&outcome);
        assert_eq!(got.results.expect("results")[0].status_code, status);
    }
    // An item for values has no such filter, and one for events no other.
    for (attribute, filter, status) in [
        (13, ExtensionObject::from_message(event_filter()), StatusCode::BadFilterNotAllowed),
        (12, ExtensionObject::null(), StatusCode::BadMonitoredItemFilterInvalid),
    ] {
        let mut mediator = mediator();
        with_subscription(&mut mediator);
        let create = create_item(OWN, &node(1), attribute, filter);
        let outcome = answered(&mut mediator, &All, 3, Service::CreateMonitoredItems, &create);
        let got: CreateMonitoredItemsResponse = response(&outcome);
        assert_eq!(got.results.expect("results")[0].status_code, status);
    }
}

#[test]
fn events_of_history_are_filtered_by_source_with_their_modifications() {
    let event = |number: i32, source: u32| HistoryEventFieldList {
        event_fields: Some(vec![Variant::from(number), Variant::from(node(source))]),
    };
    let modified = |user: &str| ModificationInfo { user_name: user.into(), ..Default::default() };
    let answer = response_body(&HistoryReadResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![HistoryReadResult {
            status_code: StatusCode::Good,
            continuation_point: ByteString::null(),
            history_data: ExtensionObject::from_message(HistoryModifiedEvent {
                events: Some(vec![event(1, 2), event(2, 3), event(3, 2)]),
                modification_infos: Some(vec![modified("a"), modified("b"), modified("c")]),
            }),
        }]),
        diagnostic_infos: None,
    });
    let grants = Grants::of(&[(Permission::ReadHistory, node(1)), (Permission::ReceiveEvents, node(2))]);
    let details =
        ExtensionObject::from_message(ReadEventDetails { filter: event_filter(), ..Default::default() });
    let mut mediator = mediator();
    forward(&mut mediator, &grants, 1, Service::HistoryRead, &history_read(details));
    let got: HistoryReadResponse = response(&reply(&mut mediator, &grants, 1, Service::HistoryRead, &answer));
    let data = got.results.expect("results").remove(0).history_data;
    let data = *data.into_inner_as::<HistoryModifiedEvent>().expect("events");
    let events: Vec<_> = data.events.into_iter().flatten().map(|event| event.event_fields).collect();
    assert_eq!(events, [Some(vec![Variant::from(1)]), Some(vec![Variant::from(3)])]);
    let users: Vec<_> = data.modification_infos.into_iter().flatten().map(|info| info.user_name).collect();
    assert_eq!(users, [UAString::from("a"), UAString::from("c")]);
}

#[test]
fn lists_of_items_are_told_in_the_clients_handles() {
    let call = samples().into_iter().find(|(service, body)| {
        let server: NodeId = MethodId::Server_GetMonitoredItems.into();
        *service == Service::Call && {
            let call: CallRequest = request(body);
            call.methods_to_call.expect("calls")[0].method_id == server
        }
    });
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    forward(&mut mediator, &All, 3, Service::Call, &call.expect("a sample").1);
    // The server lists the item, and one that is not this session's.
    let answer = response_body(&CallResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![CallMethodResult {
            output_arguments: Some(vec![Variant::from(vec![ITEM, 999u32]), Variant::from(vec![1u32, 42])]),
            ..Default::default()
        }]),
        diagnostic_infos: None,
    });
    let got: CallResponse = response(&reply(&mut mediator, &All, 3, Service::Call, &answer));
    let outputs = got.results.expect("results").remove(0).output_arguments;
    assert_eq!(outputs, Some(vec![Variant::from(vec![ITEM]), Variant::from(vec![5u32])]));
}

/// Two sessions of one gate.
#[derive(Clone)]
struct Pair {
    first: Arc<Mutex<Option<Mediator>>>,
    same_user: bool,
}

impl Owners for Pair {
    fn may_take(&self, _: u32) -> bool {
        self.same_user
    }

    fn take(&self, id: u32) -> Option<Subscription> {
        self.first.lock().expect("no panic").as_mut()?.release(id)
    }
}

fn pair(same_user: bool) -> (Pair, Mediator) {
    let mut first = mediator();
    with_subscription(&mut first);
    forward(&mut first, &All, 7, Service::Publish, &sample(Service::Publish));
    reply(&mut first, &All, 7, Service::Publish, &publish_response(OWN, message(1, 1)));
    let pair = Pair { first: Arc::new(Mutex::new(Some(first))), same_user };
    let second = Mediator::new(Limits::default(), Arc::new(pair.clone()));
    (pair, second)
}

#[test]
fn a_subscription_moves_with_its_items_and_numbers_and_is_checked_again() {
    let transfer = sample(Service::TransferSubscriptions);
    let (pair, mut second) = pair(true);
    forward(&mut second, &All, 1, Service::TransferSubscriptions, &transfer);
    let transferred = answer(Service::TransferSubscriptions);
    let got: TransferSubscriptionsResponse =
        response(&reply(&mut second, &All, 1, Service::TransferSubscriptions, &transferred));
    assert_eq!(got.results.expect("results")[0].available_sequence_numbers, Some(vec![1]));
    // The second session gets the values, under the client's handle, and only as long as its own rights say so.
    let publish = sample(Service::Publish);
    for (rights, count) in [(&All as &dyn Rights, 1), (&Grants::default(), 0)] {
        forward(&mut second, rights, 2, Service::Publish, &publish);
        let body = publish_response(OWN, message(1, 2));
        let got: PublishResponse = response(&reply(&mut second, rights, 2, Service::Publish, &body));
        assert_eq!(got.notification_message.notification_data.unwrap_or_default().len(), count);
    }
    // The first session is told that it has gone, and nothing else of it.
    let mut first = pair.first.lock().expect("no panic").take().expect("a mediator");
    let gone = NotificationMessage {
        notification_data: Some(vec![ExtensionObject::from_message(StatusChangeNotification {
            status: StatusCode::GoodSubscriptionTransferred,
            diagnostic_info: DiagnosticInfo::null(),
        })]),
        ..message(1, 1)
    };
    forward(&mut first, &All, 2, Service::Publish, &publish);
    let body = publish_response(OWN, gone);
    let got: PublishResponse = response(&reply(&mut first, &All, 2, Service::Publish, &body));
    assert_eq!(got.notification_message.notification_data.map(|data| data.len()), Some(1));
    let body = publish_response(OWN, message(1, 3));
    assert_eq!(fault(&mut first, &All, Service::Publish, &publish, &body), LIE);
}

#[test]
fn subscriptions_of_others_cannot_be_taken() {
    let transfer = sample(Service::TransferSubscriptions);
    let (_, mut second) = pair(false);
    let got = answered(&mut second, &All, 1, Service::TransferSubscriptions, &transfer);
    let got: TransferSubscriptionsResponse = response(&got);
    assert_eq!(got.results.expect("results")[0].status_code, StatusCode::BadSubscriptionIdInvalid);
    // Allowed when it was asked, gone when the server had done it.
    let (pair, mut second) = pair_that_loses();
    forward(&mut second, &All, 1, Service::TransferSubscriptions, &transfer);
    *pair.first.lock().expect("no panic") = None;
    let got =
        reply(&mut second, &All, 1, Service::TransferSubscriptions, &answer(Service::TransferSubscriptions));
    let got: TransferSubscriptionsResponse = response(&got);
    assert_eq!(got.results.expect("results")[0].status_code, StatusCode::BadSubscriptionIdInvalid);
    let body = publish_response(OWN, message(1, 3));
    assert_eq!(fault(&mut second, &All, Service::Publish, &sample(Service::Publish), &body), LIE);
}

fn pair_that_loses() -> (Pair, Mediator) {
    pair(true)
}

#[test]
fn what_a_session_may_keep_is_bounded() {
    let limits = Limits {
        nodes_per_request: 3,
        outstanding: 2,
        outstanding_entries: 4,
        continuation_points: 1,
        subscriptions: 1,
        monitored_items: 1,
        aliases: 1,
        path_elements: 1,
    };
    let bounded = || Mediator::new(limits, Arc::new(NoTransfers));
    let reads = |count: u32| read((1..=count).map(|number| read_of(&node(number), 13)).collect());
    let too_many = StatusCode::BadTooManyOperations;
    let mut mediator = bounded();
    assert_eq!(refused(&mut mediator, 1, Service::Read, &reads(4)), too_many, "entries of a request");
    forward(&mut mediator, &All, 1, Service::Read, &reads(3));
    assert_eq!(refused(&mut mediator, 2, Service::Read, &reads(2)), too_many, "entries of all requests");
    let again = refused(&mut mediator, 1, Service::Read, &reads(1));
    assert_eq!(again, StatusCode::BadRequestHeaderInvalid, "a request under the id of another");
    forward(&mut mediator, &All, 2, Service::Read, &reads(1));
    assert_eq!(refused(&mut mediator, 3, Service::Read, &reads(0)), too_many, "requests");
    let publish = refused(&mut mediator, 3, Service::Publish, &sample(Service::Publish));
    assert_eq!(publish, StatusCode::BadTooManyPublishRequests);
    mediator.on_fault(1);
    mediator.on_fault(2);
    forward(&mut mediator, &All, 3, Service::Read, &reads(3));

    let mut mediator = bounded();
    with_subscription(&mut mediator);
    let create = sample(Service::CreateSubscription);
    let status = refused(&mut mediator, 5, Service::CreateSubscription, &create);
    assert_eq!(status, StatusCode::BadTooManySubscriptions);
    let create = create_item(OWN, &node(1), 13, ExtensionObject::null());
    let outcome = answered(&mut mediator, &All, 5, Service::CreateMonitoredItems, &create);
    let got: CreateMonitoredItemsResponse = response(&outcome);
    assert_eq!(got.results.expect("results")[0].status_code, StatusCode::BadTooManyMonitoredItems);
    let register = request_body(&RegisterNodesRequest {
        request_header: RequestHeader::dummy(),
        nodes_to_register: Some(vec![node(1), node(2)]),
    });
    assert_eq!(refused(&mut mediator, 5, Service::RegisterNodes, &register), too_many);
}

/// The oldest continuation point is the server's to keep and the gate's to forget.
#[test]
fn the_oldest_of_too_many_continuation_points_is_refused() {
    let limits = Limits { continuation_points: 2, ..Limits::default() };
    let mut mediator = Mediator::new(limits, Arc::new(NoTransfers));
    for point in 1..=3u8 {
        let answer = response_body(&BrowseResponse {
            response_header: ResponseHeader::null(),
            results: Some(vec![BrowseResult {
                continuation_point: ByteString::from(vec![point]),
                ..Default::default()
            }]),
            diagnostic_infos: None,
        });
        forward(&mut mediator, &All, 1, Service::Browse, &sample(Service::Browse));
        reply(&mut mediator, &All, 1, Service::Browse, &answer);
    }
    let next = request_body(&BrowseNextRequest {
        request_header: RequestHeader::dummy(),
        release_continuation_points: false,
        continuation_points: Some((1..=3u8).map(|point| ByteString::from(vec![point])).collect()),
    });
    let sent: BrowseNextRequest = request(&forward(&mut mediator, &All, 1, Service::BrowseNext, &next));
    let points = sent.continuation_points.expect("points");
    assert_eq!(points, [ByteString::from(vec![2]), ByteString::from(vec![3])]);
}

/// The right to browse the node from which was browsed has ended meanwhile.
#[test]
fn a_continuation_point_is_worth_no_more_than_the_right_on_its_node() {
    let mut mediator = mediator();
    forward(&mut mediator, &All, 1, Service::Browse, &sample(Service::Browse));
    reply(&mut mediator, &All, 1, Service::Browse, &answer(Service::Browse));
    let next = request_body(&BrowseNextRequest {
        request_header: RequestHeader::dummy(),
        release_continuation_points: false,
        continuation_points: Some(vec![ByteString::from(vec![1, 2, 3])]),
    });
    let outcome = answered(&mut mediator, &Grants::default(), 1, Service::BrowseNext, &next);
    let got: BrowseNextResponse = response(&outcome);
    assert_eq!(got.results.expect("results")[0].status_code, StatusCode::BadNodeIdUnknown);
}

#[test]
fn a_changed_item_is_told_under_its_new_handle() {
    let mut mediator = mediator();
    with_subscription(&mut mediator);
    let mut modify: ModifyMonitoredItemsRequest = request(&sample(Service::ModifyMonitoredItems));
    modify.items_to_modify.as_mut().expect("items")[0].requested_parameters.client_handle = 77;
    let sent = forward(&mut mediator, &All, 3, Service::ModifyMonitoredItems, &request_body(&modify));
    let sent: ModifyMonitoredItemsRequest = request(&sent);
    assert_eq!(
        sent.items_to_modify.expect("items")[0].requested_parameters.client_handle,
        1,
        "the gate's own"
    );
    reply(&mut mediator, &All, 3, Service::ModifyMonitoredItems, &answer(Service::ModifyMonitoredItems));
    forward(&mut mediator, &All, 4, Service::Publish, &sample(Service::Publish));
    let got: PublishResponse =
        response(&reply(&mut mediator, &All, 4, Service::Publish, &publish_response(OWN, message(1, 1))));
    let data = got.notification_message.notification_data.expect("data").remove(0);
    let changes = *data.into_inner_as::<DataChangeNotification>().expect("changes");
    assert_eq!(changes.monitored_items.expect("items")[0].client_handle, 77);
}
